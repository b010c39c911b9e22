//! Responsibility of nodes over a whole run, as workers learned it.
//!
//! Owns the history that attributes outages to slots rather than addresses: each span in which a node owned
//! slots, or answered reads for their owner, and its successor. Shared by all workers; the first to learn of
//! a change records it.

use measure::Tenure;
use wire::cluster::SLOTS;

/// Value of a slot that was never known to have an owner.
const NOBODY: u16 = u16::MAX;

/// History of slot owners. Nodes have the numbers that are common to all workers.
#[derive(Debug)]
pub(crate) struct Ownership {
    /// Last known owner of each slot, also while it has none at present.
    owner: Vec<u16>,
    nodes: Vec<NodeShare>,
    /// Set if masters get any of the load.
    masters_used: bool,
    /// Version of the topology that was last taken in.
    version: Option<u64>,
    tenures: Vec<Tenure>,
}

#[derive(Debug, Clone, Copy, Default)]
struct NodeShare {
    slots: u32,
    /// Set if it answers reads of slots, by the last topology.
    reads: bool,
    /// Index of its tenure, if it has one now.
    tenure: Option<usize>,
}

impl Default for Ownership {
    fn default() -> Self {
        Self {
            owner: vec![NOBODY; usize::from(SLOTS)],
            nodes: Vec::new(),
            masters_used: true,
            version: None,
            tenures: Vec::new(),
        }
    }
}

/// A worker's view of the cluster, with node numbers that are common to all workers.
pub(crate) struct ClusterView {
    /// The version of the topology.
    pub(crate) version: u64,
    /// The owner of each slot, if it has one.
    pub(crate) owners: Vec<Option<u16>>,
    /// Nodes that answer reads, whether or not they own the slots.
    pub(crate) readers: Vec<u16>,
    /// Set if masters get load as masters.
    pub(crate) masters_used: bool,
}

impl Ownership {
    /// Takes in a topology, unless another worker has taken in this or a later one.
    pub(crate) fn know(&mut self, known: &ClusterView, now_ns: u64) {
        if self.version.is_some_and(|version| version >= known.version) {
            return;
        }
        self.version = Some(known.version);
        self.masters_used = known.masters_used;
        self.nodes.iter_mut().for_each(|node| node.reads = false);
        for reader in &known.readers {
            self.node(*reader).reads = true;
        }
        let changes = known.owners.iter().enumerate();
        let changes: Vec<_> = changes.filter_map(|(slot, to)| Some((slot, (*to)?))).collect();
        self.change(&changes, now_ns);
    }

    /// Takes in that a slot has another owner from now on.
    pub(crate) fn moved(&mut self, slot: u16, to: u16, now_ns: u64) {
        self.change(&[(usize::from(slot), to)], now_ns);
    }

    /// Spans in which nodes had to answer, in order of their starts.
    pub(crate) fn tenures(&self) -> &[Tenure] {
        &self.tenures
    }

    fn node(&mut self, number: u16) -> &mut NodeShare {
        let number = usize::from(number);
        if self.nodes.len() <= number {
            self.nodes.resize(number + 1, NodeShare::default());
        }
        &mut self.nodes[number]
    }

    fn change(&mut self, changes: &[(usize, u16)], now_ns: u64) {
        let mut moves: Vec<(u16, u16)> = Vec::new();
        for (slot, to) in changes {
            let from = std::mem::replace(&mut self.owner[*slot], *to);
            if from == *to {
                continue;
            }
            self.node(*to).slots += 1;
            if from != NOBODY {
                self.node(from).slots -= 1;
                if !moves.contains(&(from, *to)) {
                    moves.push((from, *to));
                }
            }
        }
        let is_used = |ownership: &Self, node: &NodeShare| {
            ownership.masters_used && node.slots > 0 || node.reads
        };
        let mut left = Vec::new();
        for number in 0..self.nodes.len() {
            let node = self.nodes[number];
            if let (Some(tenure), false) = (node.tenure, is_used(self, &node)) {
                self.nodes[number].tenure = None;
                let tenure = &mut self.tenures[tenure];
                tenure.to_ns = Some(now_ns);
                let gave = moves.iter().filter(|(from, _)| usize::from(*from) == number);
                tenure.heirs = gave.map(|(_, to)| *to).collect();
                left.push(number as u16);
            }
        }
        for number in 0..self.nodes.len() {
            let node = self.nodes[number];
            if node.tenure.is_none() && is_used(self, &node) {
                let mut got = moves.iter().filter(|(_, to)| usize::from(*to) == number).peekable();
                let inherits = got.peek().is_some() && got.all(|(from, _)| left.contains(from));
                self.nodes[number].tenure = Some(self.tenures.len());
                self.tenures.push(Tenure { inherits, ..Tenure::new(number as u16, now_ns) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_COUNT: usize = SLOTS as usize;

    /// Nodes that own this many slots each, one after the other, and the nodes that are read from.
    fn known(version: u64, owners: &[(u16, usize)], readers: &[u16]) -> ClusterView {
        let owners =
            owners.iter().flat_map(|(node, slots)| std::iter::repeat_n(Some(*node), *slots));
        let mut owners: Vec<Option<u16>> = owners.collect();
        owners.resize(SLOT_COUNT, None);
        ClusterView { version, owners, readers: readers.to_vec(), masters_used: true }
    }

    /// Node, start, end, whether it inherits, and its heirs.
    type Row = (u16, u64, Option<u64>, bool, Vec<u16>);

    fn rows(ownership: &Ownership) -> Vec<Row> {
        let of = |t: &Tenure| (t.node, t.from_ns, t.to_ns, t.inherits, t.heirs.clone());
        ownership.tenures().iter().map(of).collect()
    }

    const HALF: usize = SLOT_COUNT / 2;

    #[test]
    fn who_takes_all_of_anothers_place_inherits() {
        let mut ownership = Ownership::default();
        ownership.know(&known(0, &[(0, HALF), (1, HALF)], &[]), 0);
        ownership.know(&known(1, &[(2, HALF), (1, HALF)], &[]), 10);
        // Another worker learns the same, and one is behind.
        ownership.know(&known(1, &[(2, HALF), (1, HALF)], &[]), 11);
        ownership.know(&known(0, &[(0, HALF), (1, HALF)], &[]), 12);
        ownership.know(&known(2, &[(0, HALF), (1, HALF)], &[]), 20);
        assert_eq!(
            rows(&ownership),
            [
                (0, 0, Some(10), false, vec![2]),
                (1, 0, None, false, vec![]),
                (2, 10, Some(20), true, vec![0]),
                (0, 20, None, true, vec![]),
            ]
        );
    }

    #[test]
    fn slots_that_move_one_by_one_leave_both_in_place() {
        let mut ownership = Ownership::default();
        ownership.know(&known(0, &[(0, 3)], &[]), 0);
        ownership.moved(0, 1, 5);
        ownership.moved(1, 1, 6);
        ownership.moved(2, 1, 7);
        assert_eq!(
            rows(&ownership),
            [(0, 0, Some(7), false, vec![1]), (1, 5, None, false, vec![])]
        );
        // One that joins gets some of each.
        ownership.know(&known(1, &[(1, 2), (2, 1)], &[]), 9);
        assert_eq!(rows(&ownership)[2], (2, 9, None, false, vec![]));
    }

    #[test]
    fn slots_of_nobody_are_missed_at_their_last_owner() {
        let mut ownership = Ownership::default();
        ownership.know(&known(0, &[(0, HALF), (1, HALF)], &[]), 0);
        let mut gone = known(1, &[(0, HALF), (1, HALF)], &[]);
        gone.owners[..HALF].fill(None);
        ownership.know(&gone, 5);
        assert_eq!(rows(&ownership).len(), 2, "nobody took its place");
        ownership.know(&known(2, &[(1, SLOT_COUNT)], &[]), 9);
        assert_eq!(rows(&ownership)[0], (0, 0, Some(9), false, vec![1]));
    }

    #[test]
    fn replicas_that_are_read_from_have_to_answer_too() {
        let mut ownership = Ownership::default();
        ownership.know(&known(0, &[(0, HALF)], &[1]), 0);
        // The master dies, and the replica goes on with both.
        ownership.know(&known(1, &[(1, HALF)], &[]), 5);
        ownership.know(&known(2, &[(1, HALF)], &[0]), 9);
        assert_eq!(
            rows(&ownership),
            [
                (0, 0, Some(5), false, vec![1]),
                (1, 0, None, false, vec![]),
                (0, 9, None, false, vec![]),
            ]
        );
    }
}
