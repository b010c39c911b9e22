//! The words of `keystorm deliver replica`.

use std::time::Duration;

use clap::Args;
use workload::{Delivery, DeliveryKind, PlanParts, ReplicaWait};

use super::sending::{CommonOptions, KindOptions, Senders, end_in_message, tag, tagged};
use crate::UsageError;
use spec::Address;
use spec::values::{seconds, small_count};

/// Measures how long a write at the primary takes until it can be read at each replica.
///
/// Each replica is read over and over. Values that are overwritten between two reads are overtaken, not lost. The time
/// between reads is reported: no latency is known better than that.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages", after_help = EXAMPLES)]
pub(super) struct ReplicaOptions {
    /// Connections that write at the primary, as -c of a run [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Load", value_parser = small_count)]
    writers: Option<u32>,
    /// Keys that are written. Each is read at each replica over a connection of its own [default: 1]
    #[arg(long, value_name = "NUM", value_parser = small_count)]
    keys: Option<u32>,
    /// After each message, wait until this many replicas have acknowledged it (WAIT)
    #[arg(long, value_name = "NUM", value_parser = small_count, conflicts_with = "waitaof")]
    wait: Option<u32>,
    /// After each message, wait until it is on this many disks: the primary's (0 or 1) and replicas' (WAITAOF)
    #[arg(long, value_name = "LOCAL,REPLICAS", value_parser = disks)]
    waitaof: Option<(u32, u32)>,
    /// Time limit of --wait and --waitaof; 0 is for ever [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    wait_timeout: Option<Duration>,
    /// Read here, instead of at the replicas that the primary names; repeatable
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    at: Vec<Address>,
    #[command(flatten)]
    common: CommonOptions,
}

const EXAMPLES: &str = include_str!("../../help/deliver-replica.txt").trim_ascii_end();

/// Default time that senders wait for replicas.
const WAIT_TIMEOUT: Duration = Duration::from_secs(1);

fn disks(text: &str) -> Result<(u32, u32), String> {
    let fault = || format!("{text:?} is not LOCAL,REPLICAS with LOCAL 0 or 1, such as 1,1");
    let (local, replicas) = text.split_once(',').ok_or_else(fault)?;
    let (Ok(local @ 0..=1), Ok(replicas)) = (local.parse(), replicas.parse()) else {
        return Err(fault());
    };
    Ok((local, replicas))
}

impl ReplicaOptions {
    fn replica_wait(&self) -> Result<Option<ReplicaWait>, UsageError> {
        let (local, replicas) = match (self.wait, self.waitaof) {
            (Some(replicas), _) => (None, replicas),
            (None, Some((local, replicas))) => (Some(local), replicas),
            (None, None) if self.wait_timeout.is_some() => {
                return Err(UsageError("--wait-timeout: requires --wait or --waitaof".to_owned()));
            }
            (None, None) => return Ok(None),
        };
        if local.unwrap_or(0) + replicas == 0 {
            return Err(UsageError("--wait, --waitaof: no replica is waited for".to_owned()));
        }
        let timeout = self.wait_timeout.unwrap_or(WAIT_TIMEOUT);
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        if timeout_ms == 0 && !timeout.is_zero() {
            return Err(UsageError("--wait-timeout: servers count in milliseconds".to_owned()));
        }
        Ok(Some(ReplicaWait { local, replicas, timeout_ms }))
    }
}

/// Default number of bytes of a value.
const VALUE_BYTES: u32 = 128;

impl KindOptions for ReplicaOptions {
    const NAME: &'static str = "replica";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn senders(&self) -> Senders {
        let (connections, keys) = (self.writers.unwrap_or(1), self.keys.unwrap_or(1));
        let command = ["set", "__key__", "__data__"];
        Senders::new(connections, keys, VALUE_BYTES, "SET to GET at replicas", &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let prefix = tagged(prefix, parts);
        tag(parts, 1, &prefix)?;
        end_in_message(parts, 2)?;
        let keys = self.keys.unwrap_or(1);
        let at: Vec<_> = self.at.iter().map(|at| (at.0.clone(), at.1)).collect();
        // As many as the primary names, where nobody else does: known when it is asked.
        let receivers = keys.saturating_mul(u32::try_from(at.len()).unwrap_or(u32::MAX).max(1));
        let read = self.common.delivery(DeliveryKind::Replica, receivers, prefix, keys, 1);
        Ok(Delivery { at, wait: self.replica_wait()?, ..read })
    }
}
