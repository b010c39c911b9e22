//! The words of `keystorm deliver zset`.

use clap::{Parser, ValueEnum};
use workload::{Delivery, DeliveryKind, PlanParts, SortedSetTake};

use super::queue::QueueOptions;
use super::sending::{CommonOptions, KindOptions};
use crate::UsageError;
use crate::run::small_count;

/// Measures how long messages take from ZADD to BZPOPMIN, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every receiver waits and a message has come through
/// each sorted set; at the end, messages under way are waited for, and the sorted sets are removed.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm deliver",
    bin_name = "keystorm deliver",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm deliver zset [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLES,
)]
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
    /// Connections that wait for messages [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "10",
          hide_default_value = true, value_parser = small_count)]
    receivers: u32,
    #[command(flatten)]
    queue: QueueOptions,
    #[command(flatten)]
    common: CommonOptions,
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

impl ZPop {
    fn name(self) -> &'static str {
        match self {
            Self::Bzpopmin => "BZPOPMIN",
            Self::Bzpopmax => "BZPOPMAX",
            Self::Bzmpop => "BZMPOP",
        }
    }
}

impl KindOptions for ZsetOptions {
    const NAME: &'static str = "zset";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        self.queue.defaults(format!("ZADD to {}", self.zpop.name()))
    }

    /// All have one score, so that the order is that of members.
    fn sends(&self) -> Vec<String> {
        ["zadd", "__key__", "0", "__data__"].map(str::to_owned).to_vec()
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let multi = self.zpop == ZPop::Bzmpop;
        let other = (!multi).then_some("--zpop bzmpop");
        let count = self.queue.count_of(self.zpop.name(), other)?;
        let mixed = parts.data.values.is_some();
        let take = SortedSetTake { multi, max: self.zpop == ZPop::Bzpopmax, mixed };
        let kind = DeliveryKind::SortedSet { take, count, block_ns: self.queue.block_ns() };
        self.queue.delivery(kind, self.receivers, &self.common, (prefix, parts))
    }
}
