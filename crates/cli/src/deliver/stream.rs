//! The words of `keystorm deliver stream`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use workload::{Delivery, DeliveryKind, PlanParts, StreamAck, StreamTake};

use super::queue::QueueOptions;
use super::sending::{CommonOptions, KindOptions, words};
use crate::UsageError;
use crate::run::{seconds, small_count};

/// Measures how long messages take from XADD to XREAD or XREADGROUP, and counts those that are lost, doubled or out of
/// order.
///
/// Latency counts from when a message was due. Every receiver gets each message (XREAD); with --groups or --consumers
/// one consumer of each group does, and acknowledges it (XACK). Load begins when every receiver waits and a message has
/// come through each stream; at the end, messages under way are waited for, and the streams are removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StreamOptions {
    /// Consumer groups of each stream [default: 1, if --consumers is given]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    groups: Option<u32>,
    /// Connections that consume, in each group [default: 10, if --groups is given]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    consumers: Option<u32>,
    /// How consumers acknowledge: xack, xackdel, or not (noack) [default: xack]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Messages",
        value_enum,
        hide_possible_values = true
    )]
    ack: Option<Ack>,
    /// Take over entries that another consumer had for so long and did not acknowledge (XAUTOCLAIM)
    #[arg(long, value_name = "TIME", help_heading = "Messages", allow_hyphen_values = true,
          value_parser = seconds)]
    claim: Option<Duration>,
    /// Trim streams to about this many entries (MAXLEN ~); 0 keeps all [default: 100000]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "100000",
          hide_default_value = true, value_parser = small_count)]
    maxlen: u32,
    #[command(flatten)]
    queue: QueueOptions,
}

/// How consumers acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ack {
    Xack,
    Xackdel,
    Noack,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  5,000 events a second through one stream to 3 readers, each of which gets all:
    $ keystorm deliver stream --rps 5k --duration 10s --receivers 3

  The same to 2 groups of 8 consumers, which acknowledge:
    $ keystorm deliver stream --rps 5k --duration 10s --groups 2 --consumers 8";

impl StreamOptions {
    fn groups(&self) -> u32 {
        self.groups.unwrap_or(u32::from(self.consumers.is_some()))
    }

    /// Receivers in all.
    fn total(&self) -> u32 {
        match self.groups() {
            0 => self.queue.receivers,
            groups => groups.saturating_mul(self.consumers.unwrap_or(10)),
        }
    }

    /// Nanoseconds that a call blocks; 0 for ever. With --claim it returns in time to claim again.
    fn block_ns(&self, claim_ns: u64) -> u64 {
        match self.queue.block_ns() {
            0 => claim_ns,
            block_ns => block_ns,
        }
    }
}

impl KindOptions for StreamOptions {
    const NAME: &'static str = "stream";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        let command = if self.groups() == 0 { "XREAD" } else { "XREADGROUP" };
        self.queue.defaults(format!("XADD to {command}"))
    }

    fn sends(&self) -> Vec<String> {
        let maxlen = self.maxlen.to_string();
        let trim: &[&str] = if self.maxlen > 0 { &["MAXLEN", "~", &maxlen] } else { &[] };
        words(&[&["xadd", "__key__"], trim, &["*", "m", "__data__"]].concat())
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let groups = self.groups();
        let grouped = [("--ack", self.ack.is_some()), ("--claim", self.claim.is_some())];
        if let Some((name, _)) = grouped.iter().find(|(_, given)| groups == 0 && *given) {
            return Err(UsageError(format!("{name} is for consumer groups: use --groups, too")));
        }
        let claim = u64::try_from(self.claim.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX);
        let ack = match self.ack.unwrap_or(Ack::Xack) {
            Ack::Xack => StreamAck::Xack,
            Ack::Xackdel => StreamAck::Xackdel,
            Ack::Noack => StreamAck::Noack,
        };
        let count = self.queue.count().unwrap_or(100);
        let take = StreamTake { groups, count, ack, claim_ns: claim };
        let kind = DeliveryKind::Stream { take, block_ns: self.block_ns(claim) };
        self.queue.delivery(kind, self.total(), prefix, parts)
    }
}
