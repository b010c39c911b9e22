//! The words of `keystorm deliver invalidate`.

use clap::Parser;
use workload::key_event::SET_AND_DELETE;
use workload::{Delivery, DeliveryKind, Piece, PlanParts, ProtocolKind};

use super::sending::{CommonOptions, KindOptions, pieces};
use crate::UsageError;
use crate::run::small_count;

/// Measures how long a write takes until clients with a cache drop the key (CLIENT TRACKING in broadcast mode).
///
/// Each message is a key of its own, because an invalidation has nothing but the names of keys. Latency counts from
/// when the key was due to be written. Invalidations are pushes of RESP3.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm deliver",
    bin_name = "keystorm deliver",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm deliver invalidate [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLES,
)]
pub(super) struct InvalidateOptions {
    /// Connections that write keys, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    writers: Option<u32>,
    /// Connections that track the keys, as clients with a cache do [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    caches: Option<u32>,
    #[command(flatten)]
    common: CommonOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  How soon 100 caches drop what 1,000 writes a second change:
    $ keystorm deliver invalidate --caches 100 --rps 1k --duration 10s";

/// Bytes of a value where the command line does not say.
const VALUE_BYTES: &str = "3";

impl KindOptions for InvalidateOptions {
    const NAME: &'static str = "invalidate";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        vec![
            ("-c", self.writers.unwrap_or(10).to_string()),
            ("-d", VALUE_BYTES.to_owned()),
            ("--name", "SET and DEL to CLIENT TRACKING".to_owned()),
        ]
    }

    fn sends(&self) -> Vec<String> {
        // Both changes are in one push, and no key stays behind.
        ["eval", SET_AND_DELETE, "1", "key", "__data__"].map(str::to_owned).to_vec()
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        *pieces(parts, 3)? = vec![Piece::Bytes(prefix.clone().into_bytes()), Piece::Message];
        // The one place is the prefix.
        parts.data.keys.range = Some(1);
        if parts.protocol == ProtocolKind::Resp2 {
            parts.protocol = ProtocolKind::Resp3;
        }
        Ok(Delivery {
            kind: DeliveryKind::Invalidate,
            receivers: self.caches.unwrap_or(10),
            threads: self.common.threads(),
            prefix,
            places: 1,
            places_each: 1,
            at: Vec::new(),
            wait: None,
            drain_ns: self.common.drain_ns(),
        })
    }
}
