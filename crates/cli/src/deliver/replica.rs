//! The words of `keystorm deliver replica`.

use clap::Parser;
use workload::{Delivery, DeliveryKind, Piece, PlanParts};

use super::sending::{CommonOptions, KindOptions, end_in_message, pieces};
use crate::UsageError;
use crate::run::{Address, small_count};

/// Measures how long a write at the primary takes until it can be read at each replica.
///
/// Each replica is read over and over. Values that are overwritten between two reads are overtaken, not lost. The time
/// between reads is reported: no latency is known better than that.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm deliver",
    bin_name = "keystorm deliver",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm deliver replica [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLES,
)]
pub(super) struct ReplicaOptions {
    /// Connections that write at the primary, as -c of a run [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    writers: Option<u32>,
    /// Keys that are written. Each is read at each replica over a connection of its own [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    keys: Option<u32>,
    /// Read here, instead of at the replicas that the primary names; repeatable
    #[arg(long, value_name = "HOST:PORT", help_heading = "Messages")]
    at: Vec<Address>,
    #[command(flatten)]
    common: CommonOptions,
}

const EXAMPLES: &str = "\
Examples:
  How far the replicas are behind at 1,000 writes a second:
    keystorm deliver replica --rps 1k --duration 10s";

/// Bytes of a value where the command line does not say.
const VALUE_BYTES: &str = "128";

impl KindOptions for ReplicaOptions {
    const NAME: &'static str = "replica";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        vec![
            ("-c", self.writers.unwrap_or(1).to_string()),
            ("-r", self.keys.unwrap_or(1).to_string()),
            ("-d", VALUE_BYTES.to_owned()),
            ("--name", "SET to GET at replicas".to_owned()),
        ]
    }

    fn sends(&self) -> Vec<String> {
        ["set", "__key__", "__data__"].map(str::to_owned).to_vec()
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        pieces(parts, 1)?.insert(0, Piece::Bytes(prefix.clone().into_bytes()));
        end_in_message(parts, 2)?;
        let keys = self.keys.unwrap_or(1);
        let at: Vec<_> = self.at.iter().map(|at| (at.0.clone(), at.1)).collect();
        Ok(Delivery {
            kind: DeliveryKind::Replica,
            // As many as the primary names, where nobody else does: known when it is asked.
            receivers: keys.saturating_mul(u32::try_from(at.len()).unwrap_or(u32::MAX).max(1)),
            threads: self.common.threads(),
            prefix,
            places: keys,
            places_each: 1,
            at,
            drain_ns: self.common.drain_ns(),
        })
    }
}
