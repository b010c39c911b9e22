//! The words of `keystorm deliver list`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use workload::{Delivery, DeliveryKind, ListPop, ListTake, PlanParts};

use super::queue::{QueueOptions, command_of};
use super::sending::{CommonOptions, KindOptions, words};
use crate::UsageError;
use crate::run::seconds;

/// Measures how long messages take from LPUSH to BRPOP, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every receiver waits and a message has come through
/// each list; at the end, messages under way are waited for, and the lists are removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListOptions {
    /// Command of the senders: lpush or rpush [default: lpush]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Messages",
        value_enum,
        default_value = "lpush",
        hide_default_value = true,
        hide_possible_values = true
    )]
    push: Push,
    /// Command of the receivers: brpop, blpop, blmpop, blmove with LREM (reliable queue), or lpop or rpop, which do not
    /// wait. blmove and blmpop take the oldest message [default: brpop]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Messages",
        value_enum,
        hide_possible_values = true
    )]
    pop: Option<Pop>,
    /// Pause of a receiver whose lists were all empty, with lpop or rpop: at most 8s [default: 0.1]
    #[arg(long, value_name = "TIME", help_heading = "Messages", allow_hyphen_values = true,
          value_parser = seconds)]
    poll: Option<Duration>,
    #[command(flatten)]
    queue: QueueOptions,
}

/// Pauses of receivers that look from time to time. A longer one would seem to be a server that does not answer.
const POLL: Duration = Duration::from_millis(100);
const POLL_MIN: Duration = Duration::from_millis(1);
const POLL_MAX: Duration = Duration::from_secs(8);

/// What senders send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Push {
    Lpush,
    Rpush,
}

/// What receivers wait with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pop {
    Brpop,
    Blpop,
    Blmpop,
    Blmove,
    Lpop,
    Rpop,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  5,000 jobs a second through one list to 20 workers:
    $ keystorm deliver list --rps 5k --duration 10s --receivers 20

  A reliable queue, in which a job stays in a list of its worker until it is done:
    $ keystorm deliver list --pop blmove --rps 2k --duration 10s";

impl ListOptions {
    /// The command that waits: the one that takes the oldest message unless the line says another.
    fn pop(&self) -> Pop {
        self.pop.unwrap_or(match self.push {
            Push::Lpush => Pop::Brpop,
            Push::Rpush => Pop::Blpop,
        })
    }

    /// Nanoseconds that a call waits, or that pass between two that do not.
    fn block_ns(&self, by: ListPop) -> Result<u64, UsageError> {
        let polls = by == ListPop::Poll;
        let refuse = |text: &str| Err(UsageError(text.to_owned()));
        match self.poll {
            Some(_) if !polls => {
                refuse("--poll is for receivers that do not wait: --pop lpop or rpop")
            }
            Some(poll) if poll > POLL_MAX || poll < POLL_MIN => {
                refuse("--poll: must be between 0.001 and 8 seconds")
            }
            _ if polls && self.queue.block_ns() > 0 => {
                refuse("--block: LPOP and RPOP do not wait; use --poll")
            }
            _ if polls => Ok(self.poll.unwrap_or(POLL).as_nanos() as u64),
            _ => Ok(self.queue.block_ns()),
        }
    }
}

impl KindOptions for ListOptions {
    const NAME: &'static str = "list";

    fn common(&self) -> &CommonOptions {
        &self.queue.common
    }

    fn defaults(&self) -> Vec<(&'static str, String)> {
        self.queue.defaults(format!("{} to {}", command_of(&self.push), command_of(&self.pop())))
    }

    fn sends(&self) -> Vec<String> {
        words(&[&command_of(&self.push).to_lowercase(), "__key__", "__data__"])
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let pop = self.pop();
        let pushed_left = self.push == Push::Lpush;
        let (by, from_left) = match pop {
            Pop::Brpop => (ListPop::Pop, false),
            Pop::Blpop => (ListPop::Pop, true),
            Pop::Blmpop => (ListPop::MultiPop, !pushed_left),
            Pop::Blmove => (ListPop::Move, !pushed_left),
            Pop::Lpop => (ListPop::Poll, true),
            Pop::Rpop => (ListPop::Poll, false),
        };
        let block_ns = self.block_ns(by)?;
        if pop == Pop::Blmove && self.queue.keys_per_receiver() > 1 {
            let text = "--keys-per-receiver: BLMOVE waits on one list; use --pop brpop";
            return Err(UsageError(text.to_owned()));
        }
        let other = (pop != Pop::Blmpop).then_some("--pop blmpop");
        let count = self.queue.count_of(&command_of(&pop), other)?;
        let take = ListTake { by, from_left, pushed_left };
        let kind = DeliveryKind::List { take, count, block_ns };
        self.queue.delivery(kind, self.queue.receivers, prefix, parts)
    }
}
