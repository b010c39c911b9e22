//! Causes that made requests of a run wait, as data.

use serde::{Deserialize, Serialize};

/// Cause that made requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitCause {
    /// Slow commands of the server, forks, and events of its latency monitor.
    ServerCommands,
    /// Other programs used the CPU of client or server.
    CpuHeld,
    /// Client and server took each other's CPU.
    CpuShared,
    /// The hypervisor.
    CpuStolen,
    /// The client was stopped, by its quota or as a whole, or was late.
    Client,
    /// The network: this machine had to send TCP segments again.
    Network,
    /// None of the examined causes.
    Unexplained,
}

/// Share of one cause in the slow responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// The cause.
    pub cause: WaitCause,
    /// The share of all responses that were slow for this cause, 0 to 1; in a closed loop, its share of the
    /// time of all responses.
    pub share: f64,
}

/// Slow commands of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowCommands {
    /// The command, `fork`, or the event with its source, such as `expire-cycle (LATENCY)`.
    pub name: String,
    /// Number of these commands.
    pub count: usize,
    /// Total duration, in seconds.
    pub time_s: f64,
    /// Approximate interval in seconds, if they came regularly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
}

/// Causes that made requests of a run wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Causes {
    /// Response time in milliseconds from which responses are slow.
    pub slow_ms: f64,
    /// By cause, the largest first.
    pub shares: Vec<CauseShare>,
    /// Slow commands that the servers recorded, those with the longest total first.
    pub commands: Vec<SlowCommands>,
    /// Set if shares are of the time of all responses, as in a closed loop, and not of their number.
    #[serde(default)]
    pub of_time: bool,
    /// Calls that paused the server's clients, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<String>,
}

impl Causes {
    /// The cause with the largest share.
    pub(super) fn largest(&self) -> Option<WaitCause> {
        self.shares.first().map(|share| share.cause)
    }

    /// Total duration of the servers' slow commands, in seconds.
    pub(super) fn commands_s(&self) -> f64 {
        self.commands.iter().map(|commands| commands.time_s).sum()
    }

    /// The share of responses that were slow for this cause.
    pub(super) fn share(&self, cause: WaitCause) -> f64 {
        self.shares.iter().find(|share| share.cause == cause).map_or(0.0, |share| share.share)
    }
}
