//! The words of `keystorm deliver zset`.

use clap::{Args, ValueEnum};
use workload::{Delivery, DeliveryKind, PlanParts, SortedSetTake};

use super::queue::{QueueOptions, command_of};
use super::sending::{CommonOptions, KindOptions, words};
use crate::UsageError;

/// Measures how long messages take from ZADD to BZPOPMIN, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every receiver waits and a message has come through
/// each sorted set; at the end, messages under way are waited for, and the sorted sets are removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ZsetOptions {
    /// Command of the receivers of a zset: bzpopmin, bzpopmax or bzmpop [default: bzpopmin]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Messages",
        value_enum,
        default_value = "bzpopmin",
        hide_default_value = true,
        hide_possible_values = true
    )]
    zpop: ZPop,
    #[command(flatten)]
    queue: QueueOptions,
}

/// What receivers wait with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ZPop {
    Bzpopmin,
    Bzpopmax,
    Bzmpop,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  5,000 jobs a second through one sorted set to 20 workers:
    $ keystorm deliver zset --rps 5k --duration 10s --receivers 20";

impl KindOptions for ZsetOptions {
    const NAME: &'static str = "zset";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        self.queue.defaults(format!("ZADD to {}", command_of(&self.zpop)))
    }

    /// All have one score, so that the order is that of members.
    fn sends(&self) -> Vec<String> {
        words(&["zadd", "__key__", "0", "__data__"])
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let multi = self.zpop == ZPop::Bzmpop;
        let other = (!multi).then_some("--zpop bzmpop");
        let count = self.queue.count_of(&command_of(&self.zpop), other)?;
        let mixed = parts.data.values.is_some();
        let take = SortedSetTake { multi, max: self.zpop == ZPop::Bzpopmax, mixed };
        let kind = DeliveryKind::SortedSet { take, count, block_ns: self.queue.block_ns() };
        self.queue.delivery(kind, self.queue.receivers, prefix, parts)
    }
}
