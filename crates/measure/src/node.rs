//! Figures of one cluster node, from one owner's view.

use serde::{Deserialize, Serialize};

use crate::Latency;

/// Counts and latencies of one node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeTally {
    /// Name of the node: `host:port`.
    pub name: String,
    /// Set if the node is a master at the end of the run.
    pub master: bool,
    /// Set if the node was due any load at the end of the run.
    pub used: bool,
    /// Slots that it owns at the end of the run; for a replica, its master's.
    pub slots: u32,
    /// Requests that it answered, without errors and redirects.
    pub ok: u64,
    /// Error replies, without redirects.
    pub errors: u64,
    /// Latency from the due time of a request to its reply, whichever node it was first sent to.
    #[serde(rename = "response_ms")]
    pub response: Latency,
    /// Requests redirected for good (`MOVED`).
    pub moved: u64,
    /// Requests redirected once (`ASK`).
    pub asked: u64,
    /// Replies that asked for a later retry (`TRYAGAIN`, `CLUSTERDOWN`).
    pub retried: u64,
    /// Requests without a reply.
    pub unanswered: u64,
}

impl NodeTally {
    /// An empty tally, for latencies of this many digits.
    pub fn new(name: String, precision: u8) -> Self {
        Self {
            name,
            master: false,
            used: false,
            slots: 0,
            ok: 0,
            errors: 0,
            response: Latency::new(precision),
            moved: 0,
            asked: 0,
            retried: 0,
            unanswered: 0,
        }
    }

    /// Number of requests that it answered, including errors.
    pub fn requests(&self) -> u64 {
        self.ok + self.errors
    }

    /// Number of requests that it redirected or asked to retry.
    pub fn redirects(&self) -> u64 {
        self.moved + self.asked + self.retried
    }

    /// Adds another worker's figures of the same node.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            name: _,
            master,
            used,
            slots,
            ok,
            errors,
            response,
            moved,
            asked,
            retried,
            unanswered,
        } = other;
        // Workers learn of changes at different times, and all of them from the same answers.
        self.master |= master;
        self.used |= used;
        self.slots = self.slots.max(*slots);
        self.ok += ok;
        self.errors += errors;
        self.response.merge(response);
        self.moved += moved;
        self.asked += asked;
        self.retried += retried;
        self.unanswered += unanswered;
    }
}

/// Adds one worker's nodes to the common list.
pub fn merge_nodes(into: &mut Vec<NodeTally>, from: Vec<NodeTally>) {
    for node in from {
        match into.iter_mut().find(|known| known.name == node.name) {
            Some(known) => known.merge(&node),
            None => into.push(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_merged_by_name() {
        let node = |name: &str, ok| {
            let mut node = NodeTally { ok, moved: 1, ..NodeTally::new(name.into(), 3) };
            node.response.record_n(1000, ok);
            node
        };
        let mut all = vec![];
        merge_nodes(&mut all, vec![node("a", 3), node("b", 1)]);
        merge_nodes(&mut all, vec![node("b", 5), node("c", 2)]);
        let got: Vec<_> = all.iter().map(|n| (n.name.as_str(), n.ok, n.moved)).collect();
        assert_eq!(got, [("a", 3, 1), ("b", 6, 2), ("c", 2, 1)]);
        assert_eq!(all[1].response.count(), 6);
    }
}
