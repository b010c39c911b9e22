//! The words of `keystorm deliver notify`.

use std::time::Duration;

use clap::Args;
use workload::key_event::SET_AND_DELETE;
use workload::{Delivery, DeliveryKind, KeyEvent, Named, Piece, PlanParts, Slot};

use super::choice;
use super::sending::{CommonOptions, KindOptions, Senders, pieces, tagged};
use crate::UsageError;
use spec::values::{seconds, small_count};

/// Measures how long a server takes to publish what happens to keys, and how late it publishes that a key expired.
///
/// Each message is a key that did not exist; the payload of its event is the key. Latency counts from when the key
/// was due to be written; with --event expired, from when it was due to expire.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages", after_help = EXAMPLES)]
pub(super) struct NotifyOptions {
    /// Connections that write keys, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load", value_parser = small_count)]
    writers: Option<u32>,
    /// Connections that subscribe [default: 1]
    #[arg(long, value_name = "NUM", value_parser = small_count)]
    subscribers: Option<u32>,
    /// Event that is waited for: set, new (a key was added), del or expired [default: set]
    #[arg(long, value_name = "NAME", default_value = "set", hide_default_value = true,
          hide_possible_values = true, value_parser = choice::<KeyEvent>())]
    event: KeyEvent,
    /// Lifetime of the keys [default: 1s]
    #[arg(long, value_name = "TIME", default_value = "1s", hide_default_value = true,
          allow_hyphen_values = true, value_parser = seconds)]
    ttl: Duration,
    /// Change notify-keyspace-events for the run if the server does not publish the event, and restore it afterwards
    #[arg(long)]
    enable_events: bool,
    #[command(flatten)]
    common: CommonOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = include_str!("../../help/deliver-notify.txt").trim_ascii_end();

/// Default number of bytes of a value.
const VALUE_BYTES: u32 = 3;

impl NotifyOptions {
    fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }
}

impl KindOptions for NotifyOptions {
    const NAME: &'static str = "notify";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn senders(&self) -> Senders {
        let ttl = self.ttl_ms().to_string();
        let (title, command) = match self.event {
            KeyEvent::Del => ("SET and DEL", ["eval", SET_AND_DELETE, "1", "key", "__data__"]),
            _ => ("SET", ["set", "key", "__data__", "px", &ttl]),
        };
        let name = format!("{title} to the event {}", self.event.name());
        Senders::new(self.writers.unwrap_or(10), 1, VALUE_BYTES, name, &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        let (event, ttl_ms) = (self.event, self.ttl_ms());
        if !(1..=TTL_MS_MAX).contains(&ttl_ms) {
            return Err(UsageError("--ttl: must be between 1 ms and 1 hour".to_owned()));
        }
        let receivers = self.subscribers.unwrap_or(1);
        if event == KeyEvent::Expired && receivers > RECEIVERS_OF_EXPIRED_MAX {
            return Err(UsageError(format!(
                "--subscribers {receivers}: --event expired remembers all messages of each subscriber, because they \
                 come in no order; the maximum is {RECEIVERS_OF_EXPIRED_MAX}"
            )));
        }
        let (in_cluster, prefix) = (parts.target.is_cluster(), tagged(prefix, parts));
        let key = pieces(parts, if event == KeyEvent::Del { 3 } else { 1 })?;
        // The one place is the channel of the event; in a cluster keys are spread over its nodes by as many tags.
        let (places, mut named) = if in_cluster {
            (TAGS, vec![Piece::Number(Slot::Key), Piece::Bytes(b"}".to_vec())])
        } else {
            (1, Vec::new())
        };
        named.insert(0, Piece::Bytes(prefix.clone().into_bytes()));
        named.push(Piece::Message);
        *key = named;
        parts.data.keys.range = Some(places.into());
        let db = parts.target.db;
        let kind = DeliveryKind::Notify { event, db, ttl_ms, enable: self.enable_events };
        let mut delivery = self.common.delivery(kind, receivers, prefix, places, places);
        delivery.drain_ns = delivery.drain_ns.saturating_add(kind.delay_ns());
        Ok(delivery)
    }
}

/// Hash tags of the keys in a cluster.
pub(super) const TAGS: u32 = 100;

/// Longest life of a key.
const TTL_MS_MAX: u64 = 3_600_000;

/// Maximum number of subscribers whose messages come in no order: each takes 2 MB, and a bit for each message.
const RECEIVERS_OF_EXPIRED_MAX: u32 = 100;
