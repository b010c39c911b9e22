//! The words of `keystorm deliver notify`.

use clap::Args;
use naming::{Text, text};
use serde::{Deserialize, Serialize};
use workload::key_event::SET_AND_DELETE;
use workload::{Delivery, DeliveryKind, KeyEvent, Named, Piece, PlanParts, Slot};

use super::common::{CommonOptions, Kind, Senders, choice, named, number};
use super::message::{pieces, tagged};
use crate::values::{Count, Seconds};

/// Measures how long a server takes to publish what happens to keys, and how late it publishes that a key expired.
///
/// Each message is a key that did not exist; the payload of its event is the key. Latency counts from when the key
/// was due to be written; with --event expired, from when it was due to expire.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Messages", after_help = EXAMPLES)]
pub struct NotifyOptions {
    /// Connections that write keys, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load")]
    #[serde(skip_serializing)]
    pub writers: Option<Count<u32>>,
    /// Connections that subscribe [default: 1]
    #[arg(long, value_name = "NUM")]
    pub subscribers: Option<Count<u32>>,
    /// Event that is waited for: set, new (a key was added), del or expired [default: set]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = choice::<KeyEvent>())]
    #[serde(with = "named")]
    pub event: Option<KeyEvent>,
    /// Lifetime of the keys [default: 1s]
    #[arg(long = "ttl", value_name = "TIME", allow_hyphen_values = true)]
    pub lifetime: Option<Seconds>,
    /// Change notify-keyspace-events for the run if the server does not publish the event, and restore it afterwards
    #[arg(long)]
    pub enable_events: bool,
    /// Options of every kind.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: CommonOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = include_str!("../../help/deliver-notify.txt").trim_ascii_end();

/// Default number of bytes of a value.
const VALUE_BYTES: u32 = 3;

impl NotifyOptions {
    fn event(&self) -> KeyEvent {
        self.event.unwrap_or(KeyEvent::Set)
    }

    fn ttl_ms(&self) -> u64 {
        self.lifetime.map_or(1_000, |lifetime| lifetime.ns() / 1_000_000)
    }
}

impl Kind for NotifyOptions {
    fn senders(&self) -> Senders {
        let ttl = self.ttl_ms().to_string();
        let (title, command) = match self.event() {
            KeyEvent::Del => ("SET and DEL", ["eval", SET_AND_DELETE, "1", "key", "__data__"]),
            _ => ("SET", ["set", "key", "__data__", "px", &ttl]),
        };
        let name = format!("{title} to the event {}", self.event().name());
        Senders::new(number(self.writers, 10), 1, VALUE_BYTES, name, &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, Text> {
        let (event, ttl_ms) = (self.event(), self.ttl_ms());
        if !(1..=TTL_MS_MAX).contains(&ttl_ms) {
            return Err(text!("--ttl: must be between 1 ms and 1 hour"));
        }
        let receivers = number(self.subscribers, 1);
        if event == KeyEvent::Expired && receivers > RECEIVERS_OF_EXPIRED_MAX {
            return Err(text!(
                "--subscribers {receivers}: --event expired remembers all messages of each subscriber, because they \
                 come in no order; the maximum is {RECEIVERS_OF_EXPIRED_MAX}"
            ));
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
