//! Slots that move from node to node of a cluster, keys and all, as `redis-cli --cluster reshard` has them move.

use crate::cluster::Cluster;
use crate::program::{PATIENCE, within};
use crate::server::Server;

/// Moves slots from the first master to the second, with their keys, while load runs.
pub(crate) fn move_slots(cluster: &Cluster, slots: std::ops::Range<u16>) {
    let [from, to, other] = cluster.masters() else { unreachable!() };
    migrate((from, to), &[other], slots);
}

/// Moves slots from one node to another, with their keys, and says so to the others. Keys that are no text are not
/// moved: they must expire.
pub(crate) fn migrate(
    (from, to): (&Server, &Server),
    others: &[&Server],
    slots: impl IntoIterator<Item = u16>,
) {
    let (from_id, to_id) = (from.text(&["CLUSTER", "MYID"]), to.text(&["CLUSTER", "MYID"]));
    let to_port = to.port().to_string();
    let move_keys = |slot: &str| {
        for key in from.texts(&["CLUSTER", "GETKEYSINSLOT", slot, "10"]) {
            from.ask(&["MIGRATE", "127.0.0.1", &to_port, &key, "0", "1000"]);
        }
        from.number(&["CLUSTER", "COUNTKEYSINSLOT", slot]) == 0
    };
    for slot in slots {
        let slot = slot.to_string();
        to.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
        from.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
        assert!(within(PATIENCE, || move_keys(&slot)), "keys are in slot {slot}");
        for node in [to, from].into_iter().chain(others.iter().copied()) {
            node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
        }
    }
}

impl Server {
    /// Returns whether this node of a cluster knows the other, and asks it to where it does not. A handshake that takes
    /// longer than a node may be silent is forgotten, as happens on a busy machine.
    pub(crate) fn meets(&self, other: &Self, port: u16) -> bool {
        let id = other.text(&["CLUSTER", "MYID"]);
        let is_known = self.text(&["CLUSTER", "NODES"]).contains(&id);
        if !is_known {
            self.ask(&["CLUSTER", "MEET", "127.0.0.1", &port.to_string()]);
        }
        is_known
    }
}
