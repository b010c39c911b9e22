//! Options that the kinds have in common whose messages are kept in keys until a receiver takes them.

use std::time::Duration;

use clap::Args;
use workload::{Delivery, DeliveryKind, Piece, PlanParts};

use super::sending::{CommonOptions, end_in_message, pieces};
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
}

/// What stands for all.
const ALL: u32 = u32::MAX;

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
        vec![
            ("-c", self.senders.unwrap_or(10).to_string()),
            ("-r", self.keys.to_string()),
            ("-d", PAYLOAD_BYTES.to_owned()),
            ("--name", name),
        ]
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
        common: &CommonOptions,
        (prefix, parts): (String, &mut PlanParts),
    ) -> Result<Delivery, UsageError> {
        pieces(parts, 1)?.insert(0, Piece::Bytes(prefix.clone().into_bytes()));
        let last = parts.sequence.first().map_or(0, |command| command.args.len() - 1);
        end_in_message(parts, last)?;
        Ok(Delivery {
            kind,
            receivers,
            threads: common.threads(),
            prefix,
            places: self.keys,
            places_each: self.keys_per_receiver(),
            at: Vec::new(),
            wait: None,
            drain_ns: common.drain_ns(),
        })
    }
}
