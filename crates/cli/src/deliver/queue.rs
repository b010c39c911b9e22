//! The words of `keystorm deliver list`, `zset` and `stream`, whose messages are kept in keys until a receiver takes
//! them.

use std::time::Duration;

use clap::Args;
use workload::{
    Delivery, DeliveryKind, ListPop, ListPush, Named, PlanParts, Queue, SortedSetPop, StreamAck,
};

use super::choice;
use super::sending::{
    CommonOptions, ExchangeOptions, KindOptions, Senders, begin_with, end_in_message,
};
use crate::UsageError;
use spec::values::{seconds, small_count};

/// Default number of bytes of a payload.
const PAYLOAD_BYTES: u32 = 128;

/// Options of lists, sorted sets and streams.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Messages")]
struct QueueOptions {
    /// Connections that send, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load", value_parser = small_count)]
    senders: Option<u32>,
    /// Connections that wait for messages; for streams, only without groups [default: 10]
    #[arg(long, value_name = "NUM", default_value = "10", hide_default_value = true,
          value_parser = small_count)]
    receivers: u32,
    /// Keys. Each message goes through one, drawn as -r draws keys (--key-dist) [default: 1]
    #[arg(long, value_name = "NUM", default_value = "1", hide_default_value = true,
          value_parser = small_count)]
    keys: u32,
    /// Keys that each receiver waits on, a number or all. Receivers take them in turn [default: 1]
    #[arg(long, value_name = "NUM", default_value = "1", hide_default_value = true,
          value_parser = number_or_all)]
    keys_per_receiver: u32,
    /// Messages per call, for commands that can take several [default: 1; streams: 100]
    #[arg(long, value_name = "NUM", value_parser = small_count)]
    count: Option<u32>,
    /// Time that a receiver's call waits before the receiver asks again; 0 is for ever [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    block: Option<Duration>,
    #[command(flatten)]
    exchange: ExchangeOptions,
    #[command(flatten)]
    common: CommonOptions,
}

/// Keys per receiver that mean all keys.
const ALL: u32 = u32::MAX;

fn number_or_all(text: &str) -> Result<u32, String> {
    if text == "all" { Ok(ALL) } else { small_count(text) }
}

/// A time in nanoseconds.
fn nanoseconds(time: Option<Duration>) -> u64 {
    u64::try_from(time.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

impl QueueOptions {
    /// Maximum number of messages that one call takes. `several` is the command to use instead of one that
    /// takes only one.
    fn count_of(&self, command: &str, several: &str) -> Result<u32, UsageError> {
        let takes_one = !several.ends_with(command);
        match self.count {
            Some(count @ 2..) if takes_one => Err(UsageError(format!(
                "--count {count}: {} takes one message at a time; use {several}",
                command.to_uppercase()
            ))),
            count => Ok(count.unwrap_or(1)),
        }
    }

    fn keys_per_receiver(&self) -> u32 {
        if self.keys_per_receiver == ALL { self.keys } else { self.keys_per_receiver }
    }

    /// The load of senders with that command.
    fn senders(&self, command: &[&str], pop: &str) -> Senders {
        let push = command.first().copied().unwrap_or_default();
        let name = format!("{} to {}", push.to_uppercase(), pop.to_uppercase());
        Senders::new(self.senders.unwrap_or(10), self.keys, PAYLOAD_BYTES, name, command)
    }

    /// Makes the first argument of the command a key that begins with `prefix`, ends the last one with the
    /// message, and returns the receivers.
    ///
    /// # Errors
    /// Returns an error if the payload is too small, or varies in size.
    fn delivery(
        &self,
        kind: DeliveryKind,
        receivers: u32,
        prefix: String,
        parts: &mut PlanParts,
    ) -> Result<Delivery, UsageError> {
        begin_with(parts, 1, &prefix)?;
        let last = parts.sequence.first().map_or(0, |command| command.args.len() - 1);
        end_in_message(parts, last)?;
        let (keys, each) = (self.keys, self.keys_per_receiver());
        let delivery = self.common.delivery(kind, receivers, prefix, keys, each);
        Ok(Delivery { exchange: self.exchange.exchange(), ..delivery })
    }
}

/// Measures how long messages take from LPUSH to BRPOP, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every receiver waits and a message has come through
/// each list; at the end, messages under way are waited for, and the lists are removed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages", after_help = LIST_EXAMPLES)]
pub(super) struct ListOptions {
    /// Command of the senders: lpush or rpush [default: lpush]
    #[arg(long, value_name = "NAME", default_value = "lpush", hide_default_value = true,
          hide_possible_values = true, value_parser = choice::<ListPush>())]
    push: ListPush,
    /// Command of the receivers: brpop, blpop, blmpop, blmove with LREM (reliable queue), or lpop or rpop, which do not
    /// wait. blmove and blmpop take the oldest message [default: brpop]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = choice::<ListPop>())]
    pop: Option<ListPop>,
    /// Pause of a receiver whose lists were all empty, with lpop or rpop: at most 8s [default: 0.1]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    poll: Option<Duration>,
    #[command(flatten)]
    queue: QueueOptions,
}

/// Pauses of receivers that look from time to time. A longer one would seem to be a server that does not answer.
const POLL: Duration = Duration::from_millis(100);
const POLL_MIN: Duration = Duration::from_millis(1);
const POLL_MAX: Duration = Duration::from_secs(8);

/// Every line that begins with `$` is run by a test.
const LIST_EXAMPLES: &str = include_str!("../../help/deliver-list.txt").trim_ascii_end();

impl ListOptions {
    /// The command that waits: the one that takes the oldest message unless the line says another.
    fn pop(&self) -> ListPop {
        self.pop.unwrap_or(match self.push {
            ListPush::Lpush => ListPop::Brpop,
            ListPush::Rpush => ListPop::Blpop,
        })
    }

    /// Nanoseconds that a call waits, or that pass between two that do not.
    fn block_ns(&self) -> Result<u64, UsageError> {
        let (polls, block_ns) = (self.pop().polls(), nanoseconds(self.queue.block));
        let refuse = |text: &str| Err(UsageError(text.to_owned()));
        match self.poll {
            Some(_) if !polls => {
                refuse("--poll is for receivers that do not wait: --pop lpop or rpop")
            }
            Some(poll) if poll > POLL_MAX || poll < POLL_MIN => {
                refuse("--poll: must be between 0.001 and 8 seconds")
            }
            _ if polls && block_ns > 0 => refuse("--block: LPOP and RPOP do not wait; use --poll"),
            poll if polls => Ok(nanoseconds(poll.or(Some(POLL)))),
            _ => Ok(block_ns),
        }
    }
}

impl KindOptions for ListOptions {
    const NAME: &'static str = "list";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    fn senders(&self) -> Senders {
        self.queue.senders(&[self.push.name(), "__key__", "__data__"], self.pop().name())
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let (pop, block_ns) = (self.pop(), self.block_ns()?);
        if pop == ListPop::Blmove && self.queue.keys_per_receiver() > 1 {
            let text = "--keys-per-receiver: BLMOVE waits on one list; use --pop brpop";
            return Err(UsageError(text.to_owned()));
        }
        let count = self.queue.count_of(pop.name(), "--pop blmpop")?;
        let queue = Queue::List { push: self.push, pop };
        let kind = DeliveryKind::Queue { queue, count, block_ns };
        self.queue.delivery(kind, self.queue.receivers, prefix, parts)
    }
}

/// Measures how long messages take from ZADD to BZPOPMIN, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every receiver waits and a message has come through
/// each sorted set; at the end, messages under way are waited for, and the sorted sets are removed.
#[derive(Debug, Args)]
#[command(after_help = ZSET_EXAMPLES)]
pub(super) struct ZsetOptions {
    /// Command of the receivers of a zset: bzpopmin, bzpopmax or bzmpop [default: bzpopmin]
    #[arg(long, value_name = "NAME", help_heading = "Messages", default_value = "bzpopmin",
          hide_default_value = true, hide_possible_values = true,
          value_parser = choice::<SortedSetPop>())]
    zpop: SortedSetPop,
    #[command(flatten)]
    queue: QueueOptions,
}

/// Every line that begins with `$` is run by a test.
const ZSET_EXAMPLES: &str = include_str!("../../help/deliver-zset.txt").trim_ascii_end();

impl KindOptions for ZsetOptions {
    const NAME: &'static str = "zset";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    /// All messages have one score, so that the order is that of members.
    fn senders(&self) -> Senders {
        self.queue.senders(&["zadd", "__key__", "0", "__data__"], self.zpop.name())
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let count = self.queue.count_of(self.zpop.name(), "--zpop bzmpop")?;
        let queue = Queue::SortedSet { pop: self.zpop, mixed: parts.data.values.is_some() };
        let kind = DeliveryKind::Queue { queue, count, block_ns: nanoseconds(self.queue.block) };
        self.queue.delivery(kind, self.queue.receivers, prefix, parts)
    }
}

/// Measures how long messages take from XADD to XREAD or XREADGROUP, and counts those that are lost, doubled or out of
/// order.
///
/// Latency counts from when a message was due. Every receiver gets each message (XREAD); with --groups or --consumers
/// one consumer of each group does, and acknowledges it (XACK). Load begins when every receiver waits and a message has
/// come through each stream; at the end, messages under way are waited for, and the streams are removed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages", after_help = STREAM_EXAMPLES)]
pub(super) struct StreamOptions {
    /// Consumer groups of each stream [default: 1, if --consumers is given]
    #[arg(long, value_name = "NUM", value_parser = small_count)]
    groups: Option<u32>,
    /// Connections that consume, in each group [default: 10, if --groups is given]
    #[arg(long, value_name = "NUM", value_parser = small_count)]
    consumers: Option<u32>,
    /// Acknowledge with xack or xackdel, or not at all (noack) [default: xack]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = choice::<StreamAck>())]
    ack: Option<StreamAck>,
    /// Take over entries that another consumer has not acknowledged for this long (XAUTOCLAIM)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    claim: Option<Duration>,
    /// Trim streams to about this many entries (MAXLEN ~); 0 keeps all [default: 100000]
    #[arg(long, value_name = "NUM", default_value = "100000", hide_default_value = true,
          value_parser = small_count)]
    maxlen: u32,
    #[command(flatten)]
    queue: QueueOptions,
}

/// Every line that begins with `$` is run by a test.
const STREAM_EXAMPLES: &str = include_str!("../../help/deliver-stream.txt").trim_ascii_end();

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
}

impl KindOptions for StreamOptions {
    const NAME: &'static str = "stream";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    fn senders(&self) -> Senders {
        let maxlen = self.maxlen.to_string();
        let trim: &[&str] = if self.maxlen > 0 { &["MAXLEN", "~", &maxlen] } else { &[] };
        let command = [&["xadd", "__key__"], trim, &["*", "m", "__data__"]].concat();
        self.queue.senders(&command, if self.groups() == 0 { "XREAD" } else { "XREADGROUP" })
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let groups = self.groups();
        let grouped = [("--ack", self.ack.is_some()), ("--claim", self.claim.is_some())];
        if let Some((name, _)) = grouped.iter().find(|(_, given)| groups == 0 && *given) {
            return Err(UsageError(format!("{name} is for consumer groups: use --groups, too")));
        }
        let claim_ns = nanoseconds(self.claim);
        let block_ns = match nanoseconds(self.queue.block) {
            // A call that waits for ever returns in time to claim again.
            0 => claim_ns,
            block_ns => block_ns,
        };
        let queue = Queue::Stream { groups, ack: self.ack.unwrap_or(StreamAck::Xack), claim_ns };
        let count = self.queue.count.unwrap_or(100);
        let kind = DeliveryKind::Queue { queue, count, block_ns };
        self.queue.delivery(kind, self.total(), prefix, parts)
    }
}
