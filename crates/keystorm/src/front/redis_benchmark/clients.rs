//! Options of a load that several clients put on.

use clap::ValueEnum;
use fleet::{On, OnLoss};
use workload::{Endpoint, Plan};

use super::values::count;
use crate::front::Several;

#[derive(Debug, clap::Args)]
pub(super) struct ClientOptions {
    /// Put the load on from several clients that start as one and are reported as one: local:4 for
    /// four processes here, ssh:HOST,HOST,… over ssh, or NAME[:SETTINGS] by the program
    /// keystorm-on-NAME, such as ray. Requests, rate and connections are those of all together
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["shard", "start_at", "idle"])]
    pub(super) on: Option<On>,
    /// Whose clock --start-at is of, and the times in results: `server` for the server's (TIME), which
    /// all that load it reach [default: this machine's]
    #[arg(long, value_name = "WHOSE", conflicts_with = "on")]
    pub(super) clock: Option<ClockArg>,
    /// Measure with one more client meanwhile, of few connections and this rate: its latencies stand
    /// first in the report, since a client that loads to the brim measures its own queues. With --on
    /// it is here
    #[arg(long, value_name = "RATE", value_parser = count, conflicts_with_all = ["idle", "shard"])]
    pub(super) probe: Option<u64>,
    /// When a client of --on is lost: `stop` the others, or let them `go-on` [default: stop]
    #[arg(long, value_name = "WHAT", requires = "on")]
    pub(super) on_loss: Option<OnLossArg>,
}

/// `--clock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ClockArg {
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnLossArg {
    Stop,
    GoOn,
}

impl From<OnLossArg> for OnLoss {
    fn from(arg: OnLossArg) -> Self {
        match arg {
            OnLossArg::Stop => Self::Stop,
            OnLossArg::GoOn => Self::GoOn,
        }
    }
}

impl ClientOptions {
    /// Whether times are those of the server's clock.
    ///
    /// # Errors
    /// It has none that it tells.
    pub(super) fn server_clock(&self, plans: &[Plan]) -> Result<bool, String> {
        if self.clock.is_some() && plans.iter().any(|plan| plan.protocol.is_memcache()) {
            return Err("--clock server: memcached has no command that tells the time".to_owned());
        }
        Ok(self.clock.is_some())
    }

    /// The clients that these plans are carried out by, if they are several.
    ///
    /// # Errors
    /// The plans cannot be theirs.
    pub(super) fn several(&self, plans: &[Plan]) -> Result<Option<Several>, String> {
        let Some(on) = self.on.clone() else { return Ok(None) };
        let spawned =
            plans.iter().any(|plan| matches!(plan.target.endpoint, Endpoint::Spawned { .. }));
        if spawned && !on.is_here() {
            return Err(format!(
                "--on {on}: the server that --spawn starts listens on this machine only; name one \
                 that they all reach"
            ));
        }
        let on_loss = self.on_loss.map_or(OnLoss::default(), OnLoss::from);
        Ok(Some(Several { on, on_loss }))
    }
}
