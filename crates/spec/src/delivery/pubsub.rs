//! The words of `keystorm deliver pubsub`.

use clap::Args;
use naming::Text;
use serde::{Deserialize, Serialize};
use workload::{Delivery, DeliveryKind, Exchange, PlanParts, Subscription};

use super::common::{CommonOptions, ExchangeOptions, Kind, Senders, number};
use super::message::{begin_with, end_in_message};
use crate::values::Count;

/// Measures how long messages take from PUBLISH to SUBSCRIBE, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every subscription is confirmed and a message has
/// come through each channel; at the end, messages under way are waited for.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub struct PubsubOptions {
    /// Connections that publish, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load")]
    #[serde(skip_serializing)]
    pub publishers: Option<Count<u32>>,
    /// Connections that subscribe [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages")]
    pub subscribers: Option<Count<u32>>,
    /// Channels. Each message goes to one, drawn as -r draws keys (--key-dist) [default: 10, or fewer if fewer are
    /// subscribed to]
    #[arg(long, value_name = "NUM", help_heading = "Messages")]
    pub channels: Option<Count<u32>>,
    /// Channels of each subscriber, which take them in turn [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages")]
    pub channels_per_subscriber: Option<Count<u32>>,
    /// Subscribe to patterns that match one channel each (PSUBSCRIBE)
    #[arg(long, help_heading = "Messages", conflicts_with = "sharded")]
    pub patterns: bool,
    /// Publish to shard channels, which belong to hash slots as keys do (SPUBLISH, SSUBSCRIBE)
    #[arg(long, help_heading = "Messages")]
    pub sharded: bool,
    /// Exchange of messages between clients.
    #[command(flatten)]
    #[serde(flatten)]
    pub exchange: ExchangeOptions,
    /// Options of every kind.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: CommonOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = include_str!("../../help/deliver-pubsub.txt").trim_ascii_end();

/// Default number of bytes of a payload.
const PAYLOAD_BYTES: u32 = 128;

/// Default number of channels.
const CHANNELS: u32 = 10;

impl PubsubOptions {
    /// Number of channels; by default none is without a subscriber, which would lose its messages.
    fn channels(&self) -> u32 {
        let subscribed = self.subscribers().saturating_mul(number(self.channels_per_subscriber, 1));
        number(self.channels, CHANNELS.min(subscribed.max(1)))
    }

    fn subscribers(&self) -> u32 {
        number(self.subscribers, 10)
    }

    fn subscription(&self) -> Subscription {
        match (self.patterns, self.sharded) {
            (true, _) => Subscription::Patterns,
            (_, true) => Subscription::Shards,
            _ => Subscription::Channels,
        }
    }
}

impl Kind for PubsubOptions {
    fn senders(&self) -> Senders {
        let (publish, name) = if self.sharded {
            ("spublish", "SPUBLISH to SSUBSCRIBE")
        } else {
            ("publish", "PUBLISH to SUBSCRIBE")
        };
        let command = [publish, "__key__", "__data__"];
        let connections = number(self.publishers, 10);
        Senders::new(connections, self.channels(), PAYLOAD_BYTES, name, &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, Text> {
        begin_with(parts, 1, &prefix)?;
        end_in_message(parts, 2)?;
        let kind = DeliveryKind::Pubsub { subscription: self.subscription() };
        let (channels, each) = (self.channels(), number(self.channels_per_subscriber, 1));
        let delivery = self.common.delivery(kind, self.subscribers(), prefix, channels, each);
        Ok(Delivery { exchange: self.exchange.between_clients.then(Exchange::default), ..delivery })
    }
}
