//! The words of `keystorm deliver replica`.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use naming::{Text, text};
use serde::{Deserialize, Serialize};
use workload::{Delivery, DeliveryKind, PlanParts, ReplicaWait};

use super::common::{CommonOptions, Kind, Senders, number};
use super::message::{end_in_message, tag, tagged};
use crate::Address;
use crate::text::as_text;
use crate::values::{Count, Seconds, written};

/// Measures how long a write at the primary takes until it can be read at each replica.
///
/// Each replica is read over and over. Values that are overwritten between two reads are overtaken, not lost. The time
/// between reads is reported: no latency is known better than that.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Messages", after_help = EXAMPLES)]
pub struct ReplicaLagOptions {
    /// Connections that write at the primary, as -c of a run [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Load")]
    #[serde(skip_serializing)]
    pub writers: Option<Count<u32>>,
    /// Keys that are written. Each is read at each replica over a connection of its own [default: 1]
    #[arg(long, value_name = "NUM")]
    pub keys: Option<Count<u32>>,
    /// After each message, wait until this many replicas have acknowledged it (WAIT)
    #[arg(long, value_name = "NUM", conflicts_with = "waitaof")]
    pub wait: Option<Count<u32>>,
    /// After each message, wait until it is on this many disks: the primary's (0 or 1) and replicas' (WAITAOF)
    #[arg(long, value_name = "LOCAL,REPLICAS")]
    pub waitaof: Option<Disks>,
    /// Time limit of --wait and --waitaof; 0 is for ever [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub wait_timeout: Option<Seconds>,
    /// Read here, instead of at the replicas that the primary names; repeatable
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub at: Vec<Address>,
    /// Options of every kind.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: CommonOptions,
}

const EXAMPLES: &str = include_str!("../../help/deliver-replica.txt").trim_ascii_end();

/// Default time that senders wait for replicas.
const WAIT_TIMEOUT_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// `--waitaof`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disks {
    /// The primary's disk: 0 or 1.
    pub local: u32,
    /// Replicas' disks.
    pub replicas: u32,
}

impl FromStr for Disks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("{text:?} is not LOCAL,REPLICAS with LOCAL 0 or 1, such as 1,1");
        let (local, replicas) = text.split_once(',').ok_or_else(fault)?;
        let (Ok(local @ 0..=1), Ok(replicas)) = (local.parse(), replicas.parse()) else {
            return Err(fault());
        };
        Ok(Self { local, replicas })
    }
}

written! {
    Disks Self { local, replicas } => format!("{local},{replicas}");
}

impl ReplicaLagOptions {
    fn replica_wait(&self) -> Result<Option<ReplicaWait>, Text> {
        let (local, replicas) = match (self.wait, self.waitaof) {
            (Some(Count(replicas)), _) => (None, replicas),
            (None, Some(Disks { local, replicas })) => (Some(local), replicas),
            (None, None) if self.wait_timeout.is_some() => {
                return Err(text!("--wait-timeout: requires --wait or --waitaof"));
            }
            (None, None) => return Ok(None),
        };
        if local.unwrap_or(0) + replicas == 0 {
            return Err(text!("--wait, --waitaof: no replica is waited for"));
        }
        let timeout_ns = self.wait_timeout.map_or(WAIT_TIMEOUT_NS, Seconds::ns);
        if (1..MS).contains(&timeout_ns) {
            return Err(text!("--wait-timeout: servers count in milliseconds"));
        }
        let timeout_ms = timeout_ns / MS;
        Ok(Some(ReplicaWait { local, replicas, timeout_ms }))
    }
}

/// Default number of bytes of a value.
const VALUE_BYTES: u32 = 128;

impl Kind for ReplicaLagOptions {
    fn senders(&self) -> Senders {
        let (connections, keys) = (number(self.writers, 1), number(self.keys, 1));
        let command = ["set", "__key__", "__data__"];
        Senders::new(connections, keys, VALUE_BYTES, "SET to GET at replicas", &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, Text> {
        let prefix = tagged(prefix, parts);
        tag(parts, 1, &prefix)?;
        end_in_message(parts, 2)?;
        let keys = number(self.keys, 1);
        let at: Vec<_> = self.at.iter().map(|at| (at.0.clone(), at.1)).collect();
        // As many as the primary names, where nobody else does: known when it is asked.
        let receivers = keys.saturating_mul(u32::try_from(at.len()).unwrap_or(u32::MAX).max(1));
        let read = self.common.delivery(DeliveryKind::Replica, receivers, prefix, keys, 1);
        Ok(Delivery { at, wait: self.replica_wait()?, ..read })
    }
}
