//! Options that the kinds have in common whose messages are kept in keys until a receiver takes them.

use std::time::Duration;

use clap::{Args, ValueEnum};
use workload::{Delivery, DeliveryKind, PlanParts};

use super::sending::{CommonOptions, ExchangeOptions, begin_with, end_in_message, load_defaults};
use crate::UsageError;
use crate::run::{seconds, small_count};

/// Bytes of a payload where the command line does not say.
const PAYLOAD_BYTES: &str = "128";

/// Options of lists, sorted sets and streams.
#[derive(Debug, Clone, Args)]
pub(super) struct QueueOptions {
    /// Connections that send, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    senders: Option<u32>,
    /// Connections that wait for messages; of streams, those without groups [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "10",
          hide_default_value = true, value_parser = small_count)]
    pub(super) receivers: u32,
    /// Keys. Each message goes through one, drawn as -r draws keys (--key-dist) [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "1",
          hide_default_value = true, value_parser = small_count)]
    keys: u32,
    /// Keys that each receiver waits on, a number or all. Receivers take them in turn [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "1",
          hide_default_value = true, value_parser = number_or_all)]
    keys_per_receiver: u32,
    /// Most messages that one call takes, of commands that take several [default: 1; of streams 100]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    count: Option<u32>,
    /// Let a receiver's call wait this long, then ask again; 0 is for ever [default: 0]
    #[arg(long, value_name = "TIME", help_heading = "Messages", allow_hyphen_values = true,
          value_parser = seconds)]
    block: Option<Duration>,
    #[command(flatten)]
    exchange: ExchangeOptions,
    #[command(flatten)]
    pub(super) common: CommonOptions,
}

/// What stands for all.
const ALL: u32 = u32::MAX;

/// The command that an option names, in capitals.
pub(super) fn command_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_uppercase())
}

fn number_or_all(text: &str) -> Result<u32, String> {
    if text == "all" { Ok(ALL) } else { small_count(text) }
}

impl QueueOptions {
    /// Most messages that one call takes. `other` is what to use instead of a command that takes only one.
    ///
    /// # Errors
    /// It is to take more.
    pub(super) fn count_of(&self, command: &str, other: Option<&str>) -> Result<u32, UsageError> {
        match (self.count, other) {
            (Some(count), Some(other)) if count > 1 => Err(UsageError(format!(
                "--count {count}: {command} takes one message at a time; use {other}"
            ))),
            (count, _) => Ok(count.unwrap_or(1)),
        }
    }

    /// Most messages that one call takes, if the line says so.
    pub(super) fn count(&self) -> Option<u32> {
        self.count
    }

    pub(super) fn keys_per_receiver(&self) -> u32 {
        if self.keys_per_receiver == ALL { self.keys } else { self.keys_per_receiver }
    }

    /// Nanoseconds that a call waits.
    pub(super) fn block_ns(&self) -> u64 {
        let block = self.block.unwrap_or_default();
        u64::try_from(block.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Options of a run that are so unless the line has them.
    pub(super) fn defaults(&self, name: String) -> Vec<(&'static str, String)> {
        load_defaults(self.senders.unwrap_or(10), self.keys, PAYLOAD_BYTES, name)
    }

    /// Makes the first argument of what is sent a key that begins with `prefix`, ends the last in its message, and
    /// says who receives it.
    ///
    /// # Errors
    /// The payload is too small, or differs in size.
    pub(super) fn delivery(
        &self,
        kind: DeliveryKind,
        receivers: u32,
        prefix: String,
        parts: &mut PlanParts,
    ) -> Result<Delivery, UsageError> {
        begin_with(parts, 1, &prefix)?;
        let last = parts.sequence.first().map_or(0, |command| command.args.len() - 1);
        end_in_message(parts, last)?;
        let places = (self.keys, self.keys_per_receiver());
        let delivery = self.common.delivery(kind, receivers, prefix, places);
        Ok(Delivery { exchange: self.exchange.exchange(), ..delivery })
    }
}
