//! The words of `keystorm deliver pubsub`.

use clap::Args;
use workload::{Delivery, DeliveryKind, PlanParts, Subscription};

use super::sending::{
    CommonOptions, ExchangeOptions, KindOptions, Senders, begin_with, end_in_message,
};
use crate::UsageError;
use spec::values::small_count;

/// Measures how long messages take from PUBLISH to SUBSCRIBE, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. Load begins when every subscription is confirmed and a message has
/// come through each channel; at the end, messages under way are waited for.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PubsubOptions {
    /// Connections that publish, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load", value_parser = small_count)]
    publishers: Option<u32>,
    /// Connections that subscribe [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "10",
          hide_default_value = true, value_parser = small_count)]
    subscribers: u32,
    /// Channels. Each message goes to one, drawn as -r draws keys (--key-dist) [default: 10, or fewer if fewer are
    /// subscribed to]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    channels: Option<u32>,
    /// Channels of each subscriber, which take them in turn [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "1",
          hide_default_value = true, value_parser = small_count)]
    channels_per_subscriber: u32,
    /// Subscribe to patterns that match one channel each (PSUBSCRIBE)
    #[arg(long, help_heading = "Messages", conflicts_with = "sharded")]
    patterns: bool,
    /// Publish to shard channels, which belong to hash slots as keys do (SPUBLISH, SSUBSCRIBE)
    #[arg(long, help_heading = "Messages")]
    sharded: bool,
    #[command(flatten)]
    exchange: ExchangeOptions,
    #[command(flatten)]
    common: CommonOptions,
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
        let subscribed = self.subscribers.saturating_mul(self.channels_per_subscriber);
        self.channels.unwrap_or(CHANNELS.min(subscribed.max(1)))
    }

    fn subscription(&self) -> Subscription {
        match (self.patterns, self.sharded) {
            (true, _) => Subscription::Patterns,
            (_, true) => Subscription::Shards,
            _ => Subscription::Channels,
        }
    }
}

impl KindOptions for PubsubOptions {
    const NAME: &'static str = "pubsub";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn senders(&self) -> Senders {
        let (publish, name) = if self.sharded {
            ("spublish", "SPUBLISH to SSUBSCRIBE")
        } else {
            ("publish", "PUBLISH to SUBSCRIBE")
        };
        let command = [publish, "__key__", "__data__"];
        let connections = self.publishers.unwrap_or(10);
        Senders::new(connections, self.channels(), PAYLOAD_BYTES, name, &command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError> {
        begin_with(parts, 1, &prefix)?;
        end_in_message(parts, 2)?;
        let kind = DeliveryKind::Pubsub { subscription: self.subscription() };
        let (channels, each) = (self.channels(), self.channels_per_subscriber);
        let delivery = self.common.delivery(kind, self.subscribers, prefix, channels, each);
        Ok(Delivery { exchange: self.exchange.exchange(), ..delivery })
    }
}
