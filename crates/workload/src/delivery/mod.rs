//! Messages from senders to receivers.
//!
//! A plan with a [`Delivery`] has two roles: its sequence belongs to the senders, with one message in each
//! command ([`Piece::Message`](crate::Piece::Message)); its receivers are described here. The runner owns the
//! requests of each kind of delivery.

mod constraints;
mod exchange;
pub mod message;
mod node_receiver;
mod queue;
mod replica_wait;

use serde::{Deserialize, Serialize};

use crate::{CacheTracking, KeyEvent, Shard};

pub use exchange::{Exchange, MessageNumbers};
pub use message::{Message, Purpose};
pub use node_receiver::{NAME_PREFIX, NodeReceiver, TAG};
pub use queue::{ListPop, ListPush, Queue, SortedSetPop, StreamAck};
pub use replica_wait::ReplicaWait;

/// The receivers of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Kind of delivery.
    pub kind: DeliveryKind,
    /// Number of receiving connections.
    pub receivers: u32,
    /// Number of threads for these connections.
    pub threads: u16,
    /// Start of the names of places. It differs between runs, so that receivers do not get the messages of
    /// another run.
    pub prefix: String,
    /// Number of places that messages go through: channels or keys, numbered like the keys of the plan.
    pub places: u32,
    /// Number of places that each receiver gets messages from.
    pub places_each: u32,
    /// Hosts and ports that receivers connect to, if not the senders' server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<(String, u16)>,
    /// Replicas that senders wait for after each message, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ReplicaWait>,
    /// Longest wait for messages in flight at the end, in nanoseconds.
    pub drain_ns: u64,
    /// Exchange of messages between the clients of a run; without it, receivers get only the messages of
    /// their own client's senders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    /// Node and places of each receiver, in order, if a subscriber, cache or key has a receiver at each of
    /// several cluster nodes. Empty if receivers take the places in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_receivers: Vec<NodeReceiver>,
}

/// Kind of delivery from senders to receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    /// Channels: every subscriber gets each message.
    Pubsub {
        /// Subscription of the subscribers.
        #[serde(default)]
        subscription: Subscription,
    },
    /// Queues, which keep messages until a receiver takes them.
    Queue {
        /// Type of the queue, and its commands.
        queue: Queue,
        /// Maximum number of messages that one call takes.
        count: u32,
        /// Nanoseconds that one call blocks, or that pass between two polls; 0 for no limit.
        block_ns: u64,
    },
    /// Keyspace events: every subscriber of an event gets each key with that event. A key is the prefix and a
    /// message.
    Notify {
        /// The subscribed event.
        event: KeyEvent,
        /// The database of the written keys.
        db: u32,
        /// Lifetime of a key in milliseconds.
        ttl_ms: u64,
        /// Set if the server's setting may be changed for the run to enable such events.
        enable: bool,
    },
    /// Keys that are written at the primary and polled at its replicas, each place of each replica over its
    /// own connection: receivers 0 to `places` - 1 belong to the first replica.
    Replica,
    /// Invalidations of client-side caching: every receiver is a client with a cache.
    Invalidate {
        /// Tracking of keys by the server.
        tracking: CacheTracking,
    },
}

/// Names of the options of a kind, for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryNames {
    /// Receivers.
    pub receivers: &'static str,
    /// Places.
    pub places: &'static str,
    /// Places of each receiver.
    pub places_each: &'static str,
}

/// Form of a subscription.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subscription {
    /// Channels: `SUBSCRIBE`. In a cluster every node passes on the messages of all nodes.
    #[default]
    Channels,
    /// Patterns, each of which matches one channel: `PSUBSCRIBE`.
    Patterns,
    /// Shard channels, which belong to hash slots: `SSUBSCRIBE`. Messages stay on the shard.
    Shards,
}

impl DeliveryKind {
    /// Returns whether each cluster node reports, or copies, only its own keys, so that a receiver must be at
    /// several nodes.
    pub fn is_at_each_node(&self) -> bool {
        !matches!(self, Self::Pubsub { .. } | Self::Queue { .. })
    }

    /// Returns whether keys of the run remain afterwards unless they are removed.
    pub fn leaves_keys(&self) -> bool {
        match self {
            Self::Queue { .. } | Self::Replica => true,
            Self::Pubsub { .. } | Self::Notify { .. } => false,
            Self::Invalidate { tracking } => tracking.mode.follows_reads(),
        }
    }

    /// Returns whether the places of messages belong to hash slots, whose owners receivers connect to.
    pub fn has_slots(&self) -> bool {
        !matches!(
            self,
            Self::Pubsub { subscription: Subscription::Channels | Subscription::Patterns, .. }
        )
    }

    /// Connections of each receiver.
    pub fn connections_each(&self) -> u32 {
        match self {
            Self::Invalidate { tracking } if tracking.redirect => 2,
            _ => 1,
        }
    }

    /// Nanoseconds from the arrival of a message at the server until its delivery is due.
    pub fn delay_ns(&self) -> u64 {
        match self {
            Self::Notify { event: KeyEvent::Expired, ttl_ms, .. } => {
                ttl_ms.saturating_mul(1_000_000)
            }
            _ => 0,
        }
    }

    /// Returns the names of its options.
    pub fn names(self) -> DeliveryNames {
        match self {
            Self::Pubsub { .. } | Self::Notify { .. } => DeliveryNames {
                receivers: "--subscribers",
                places: "--channels",
                places_each: "--channels-per-subscriber",
            },
            Self::Queue { .. } => DeliveryNames {
                receivers: "--receivers",
                places: "--keys",
                places_each: "--keys-per-receiver",
            },
            Self::Invalidate { tracking } if tracking.mode.follows_reads() => {
                DeliveryNames { receivers: "--caches", places: "--keys", places_each: "--keys" }
            }
            Self::Invalidate { .. } => DeliveryNames {
                receivers: "--caches",
                places: "--prefixes",
                places_each: "--prefixes-per-cache",
            },
            Self::Replica => {
                DeliveryNames { receivers: "--at", places: "--keys", places_each: "--keys" }
            }
        }
    }

    /// Returns whether a reply to a sender is the number of receivers of its message.
    pub fn replies_name_receivers(self) -> bool {
        matches!(self, Self::Pubsub { .. })
    }

    /// Describes other causes of messages that receivers get.
    pub fn others(self) -> &'static str {
        match self {
            // An event or an invalidation has a key, which anybody may write.
            Self::Notify { .. } | Self::Invalidate { .. } => "other clients",
            _ => "other runs",
        }
    }

    /// Returns the server's names of the receivers' commands while load runs.
    pub fn receiver_commands(self) -> &'static [&'static str] {
        match self {
            Self::Pubsub { .. } | Self::Notify { .. } => &[
                "client",
                "subscribe",
                "psubscribe",
                "ssubscribe",
                "unsubscribe",
                "punsubscribe",
                "sunsubscribe",
            ],
            Self::Queue { queue, .. } => queue.receiver_commands(),
            Self::Replica => &["get", "unlink", "wait", "waitaof"],
            Self::Invalidate { .. } => &["client", "xrange", "ping", "unlink"],
        }
    }

    /// Returns whether receivers measure from the acknowledgement of a message.
    pub fn follows_acknowledgements(self) -> bool {
        matches!(self, Self::Invalidate { .. })
    }

    /// Returns whether messages without a waiting receiver are kept until one takes them.
    pub fn keeps_messages(self) -> bool {
        matches!(self, Self::Queue { .. })
    }

    /// Returns whether each message goes to all receivers of its place, and no reply counts them; then all
    /// places must have equally many.
    pub fn fans_out_unseen(self) -> bool {
        match self {
            Self::Queue { queue, .. } => queue.groups() == 0,
            Self::Invalidate { .. } => true,
            _ => false,
        }
    }

    /// Number of groups; receivers take groups in turn.
    pub fn groups(self) -> u32 {
        match self {
            Self::Queue { queue, .. } => queue.groups().max(1),
            _ => 1,
        }
    }
}

impl Delivery {
    /// Returns the delivery of one share of a plan: some of the receivers, with places of their own, so that
    /// they get the messages of the share's senders. Channels are divided like their subscribers, so that a
    /// message has as many subscribers as without shares; each share has at least one channel. If messages go
    /// between clients, all have the same places.
    pub fn own(&self, shard: Shard) -> Self {
        let mut own = self.clone();
        if shard.is_whole() {
            return own;
        }
        if let Some(exchange) = &mut own.exchange {
            *exchange = exchange.of_share(shard, self.receivers);
            own.receivers = shard.count(self.receivers);
            return own;
        }
        // A hash tag is of places only, which have the same slots in all shares.
        let is_tagged = own.prefix.ends_with(TAG);
        own.prefix.truncate(own.prefix.trim_end_matches(TAG).len());
        own.prefix += &format!("{}:{}", shard.index, if is_tagged { "{" } else { "" });
        if self.kind != DeliveryKind::Replica {
            // At each replica each key of the share is read.
            own.receivers = shard.count(self.logical_receivers());
            own.keep_node_receivers_of(own.receivers);
        }
        if let DeliveryKind::Pubsub { .. } = own.kind {
            own.places = shard.count(own.places).max(1);
            own.places_each = own.places_each.min(own.places);
        }
        own
    }

    /// Returns whether receivers know the place of each message.
    pub fn names_places(&self) -> bool {
        self.kind.keeps_messages()
            || matches!(self.kind, DeliveryKind::Invalidate { .. }) && self.places > 1
    }

    /// Number of places that each receiver distinguishes.
    pub fn distinguished_places(&self) -> u32 {
        match (self.names_places(), self.node_receivers.is_empty()) {
            (false, _) => 1,
            (true, true) => self.places_each,
            // They follow each other in no known order.
            (true, false) => self.places,
        }
    }

    /// Number of receivers of each place, if equal for all.
    pub fn receivers_each(&self) -> u64 {
        if !self.node_receivers.is_empty() {
            return self
                .node_receivers
                .iter()
                .filter(|node_receiver| node_receiver.places.contains(&0))
                .count() as u64;
        }
        u64::from(self.receivers) * u64::from(self.places_each) / u64::from(self.places.max(1))
    }

    /// The name of a place: the prefix and its number in 12 digits, which are a hash tag if the prefix begins
    /// one.
    pub fn place_name(&self, place: u32) -> String {
        let end = if self.prefix.ends_with(TAG) { "}" } else { "" };
        format!("{}{}{end}", self.prefix, Self::place_digits(place))
    }

    /// Returns the digits for the number of a place in its name.
    pub fn place_digits(place: u32) -> String {
        format!("{place:012}")
    }

    /// Places of a receiver, from 0 to `places` - 1: those assigned with its node, or else taken in turn by
    /// the receivers of each group.
    pub fn places_of(&self, receiver: u32) -> impl Iterator<Item = u32> + use<> {
        let of_node = self
            .node_receivers
            .get(receiver as usize)
            .map(|node_receiver| node_receiver.places.clone());
        let in_turn = self.node_receivers.is_empty().then(|| self.in_turn(receiver));
        of_node.into_iter().flatten().chain(in_turn.into_iter().flatten())
    }

    fn in_turn(&self, receiver: u32) -> impl Iterator<Item = u32> + use<> {
        let (each, places) = (u64::from(self.places_each), u64::from(self.places));
        let first = u64::from(self.number_among_all(receiver) / self.kind.groups()) * each;
        (0..each).map(move |n| ((first + n) % places) as u32)
    }

    /// Returns how many receivers each place has.
    pub fn receivers_by_place(&self) -> Vec<u32> {
        let mut receivers = vec![0; self.places as usize];
        for place in (0..self.receivers).flat_map(|receiver| self.places_of(receiver)) {
            receivers[place as usize] += 1;
        }
        receivers
    }

    /// Thread of a receiver. Receivers with one place each are on one thread if they share it, except caches,
    /// all of which have the same places.
    pub fn thread_of(&self, receiver: u32) -> u16 {
        if matches!(self.kind, DeliveryKind::Invalidate { .. }) {
            // The receivers of one cache at several nodes run on one thread.
            let node_receiver = self.node_receivers.get(receiver as usize);
            let whose = node_receiver.map_or(receiver, |node_receiver| node_receiver.receiver);
            return (whose % u32::from(self.threads)) as u16;
        }
        let first = self.places_of(receiver).next().unwrap_or(0);
        (first % u32::from(self.threads)) as u16
    }
}

#[cfg(test)]
mod tests;
