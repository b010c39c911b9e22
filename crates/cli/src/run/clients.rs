//! Options of a load that several clients put on.

use crate::job::ClientFleet;
use clap::ValueEnum;
use fleet::{On, OnLoss};
use workload::{Endpoint, Plan};

use spec::values::count;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct ClientOptions {
    /// Generate the load from several clients, reported as one: local:4 for four local processes,
    /// ssh:HOST,HOST,… over SSH, or NAME[:SETTINGS] through the program keystorm-on-NAME, such as ray. -n,
    /// --rps and -c are totals over all clients
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["shard", "start_at", "idle"])]
    pub(super) on: Option<On>,
    /// Clock for --start-at and times in results: server for the server's (TIME), which all clients
    /// share [default: this machine's]
    #[arg(long, value_name = "WHOSE", conflicts_with = "on", hide_possible_values = true)]
    pub(super) clock: Option<ClockArg>,
    /// Also measure latency at this rate from a separate client with few connections, because a
    /// saturated client measures its own queues
    #[arg(long, value_name = "RATE", value_parser = count, conflicts_with_all = ["idle", "shard"])]
    pub(super) probe: Option<u64>,
    /// If a client of --on is lost, stop, or go-on without it [default: stop]
    #[arg(long, value_name = "WHAT", requires = "on", hide_possible_values = true)]
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
    /// Returns whether times are those of the server's clock.
    ///
    /// # Errors
    /// Returns an error if the server has no command for its time.
    pub(super) fn server_clock(&self, plans: &[Plan]) -> Result<bool, String> {
        if self.clock.is_some() && plans.iter().any(|plan| plan.protocol.is_memcache()) {
            return Err("--clock server: memcached has no command for the time".to_owned());
        }
        Ok(self.clock.is_some())
    }

    /// Returns the clients that carry out these plans, if there are several.
    ///
    /// # Errors
    /// Returns an error if several clients cannot carry out the plans.
    pub(super) fn several(&self, plans: &[Plan]) -> Result<Option<ClientFleet>, String> {
        let Some(on) = self.on.clone() else { return Ok(None) };
        let spawned =
            plans.iter().any(|plan| matches!(plan.target.endpoint, Endpoint::Spawned { .. }));
        if spawned && !on.is_here() {
            return Err(format!(
                "--on {on}: a spawned server listens on this machine only; name a server that \
                 all clients can reach"
            ));
        }
        let on_loss = self.on_loss.map_or(OnLoss::default(), OnLoss::from);
        Ok(Some(ClientFleet { on, on_loss }))
    }
}
