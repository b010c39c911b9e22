//! Receivers at the nodes of a cluster, where each node reports or copies only its own keys, and the logical
//! receiver of each.

use serde::{Deserialize, Serialize};

use crate::Delivery;

/// A receiver at one node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReceiver {
    /// Number of the logical receiver, which is at other nodes, too.
    pub receiver: u32,
    /// Places of the receiver; empty if it waits for places that may come.
    pub places: Vec<u32>,
    /// Index of the address that it connects to, if that is not the node that owns its places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// Start of the prefix of a run, which distinguishes the names of its places from other runs'.
pub const NAME_PREFIX: &str = "keystorm:";

/// End of a prefix after which the number of a place is a hash tag, so that keys have the slot of their
/// place.
pub const TAG: char = '{';

impl Delivery {
    /// Number of logical receivers: those of a cluster count once, at however many nodes they are.
    pub fn logical_receivers(&self) -> u32 {
        let last = self.node_receivers.iter().map(|node_receiver| node_receiver.receiver + 1).max();
        last.unwrap_or(self.receivers)
    }

    /// The places of a receiver at all nodes.
    pub fn places_at_all_nodes(&self, receiver: u32) -> Vec<u32> {
        let Some(own) = self.node_receivers.get(receiver as usize) else {
            return self.places_of(receiver).collect();
        };
        let its = self
            .node_receivers
            .iter()
            .filter(|node_receiver| node_receiver.receiver == own.receiver);
        its.flat_map(|node_receiver| node_receiver.places.iter().copied()).collect()
    }

    /// Leaves out the entries of receivers from number `receivers` on.
    pub(crate) fn keep_node_receivers_of(&mut self, receivers: u32) {
        if self.node_receivers.is_empty() {
            return;
        }
        self.node_receivers.retain(|node_receiver| node_receiver.receiver < receivers);
        self.receivers = self.node_receivers.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheTracking, DeliveryKind, Shard};

    /// Two caches of three keys, of which one node has the first and another node the others.
    fn delivery() -> Delivery {
        let node_receiver =
            |receiver, places: &[u32]| NodeReceiver { receiver, places: places.to_vec(), at: None };
        Delivery {
            kind: DeliveryKind::Invalidate { tracking: CacheTracking::default() },
            receivers: 4,
            threads: 1,
            prefix: "p:{".to_owned(),
            places: 3,
            places_each: 3,
            at: Vec::new(),
            wait: None,
            drain_ns: 0,
            exchange: None,
            node_receivers: vec![
                node_receiver(0, &[0]),
                node_receiver(0, &[1, 2]),
                node_receiver(1, &[0]),
                node_receiver(1, &[1, 2]),
            ],
        }
    }

    #[test]
    fn a_receiver_has_the_places_of_its_node() {
        let delivery = delivery();
        assert_eq!(delivery.places_of(1).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(delivery.receivers_by_place(), [2, 2, 2]);
        assert_eq!((delivery.receivers_each(), delivery.logical_receivers()), (2, 2));
        assert_eq!(delivery.distinguished_places(), 3);
        assert_eq!(delivery.place_name(7), "p:{000000000007}");
    }

    #[test]
    fn a_share_has_whole_receivers_and_the_same_slots() {
        let own = delivery().own(Shard { index: 2, of: 2 });
        assert_eq!((own.receivers, own.logical_receivers()), (2, 1));
        assert_eq!(own.place_name(1), "p:2:{000000000001}");
        assert_eq!(own.receivers_by_place(), [1, 1, 1]);
    }
}
