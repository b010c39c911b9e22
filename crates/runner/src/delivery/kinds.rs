//! The kinds of delivery.

use workload::{Delivery, DeliveryKind, Subscription};

use super::cached_reads::CachedReads;
use super::invalidate::Invalidate;
use super::kind::Kind;
use super::pubsub::Pubsub;
use super::queue::Queues;
use super::replica::Replica;

/// Returns the kind of a plan, for one server or for the nodes of a cluster.
pub(crate) fn from_delivery(delivery: &Delivery, in_cluster: bool) -> Box<dyn Kind + '_> {
    match delivery.kind {
        DeliveryKind::Pubsub { subscription } => {
            let is_broadcast = in_cluster && subscription != Subscription::Shards;
            Box::new(Pubsub { delivery, subscription, is_broadcast, event: None })
        }
        DeliveryKind::Invalidate { tracking } if tracking.mode.follows_reads() => {
            Box::new(CachedReads { delivery, tracking })
        }
        DeliveryKind::Invalidate { tracking } => Box::new(Invalidate { delivery, tracking }),
        DeliveryKind::Replica => Box::new(Replica { delivery }),
        DeliveryKind::Notify { event, db, .. } => Box::new(Pubsub {
            delivery,
            subscription: Subscription::Channels,
            is_broadcast: false,
            event: Some((event, db)),
        }),
        DeliveryKind::Queue { queue, count, block_ns } => {
            Box::new(Queues { delivery, queue, count, block_ns })
        }
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
