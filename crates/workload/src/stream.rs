//! Order and number of requests.
//!
//! Owns the one number that workers share: the budget from which they claim request numbers, in chunks so
//! that it is rarely touched. The total claimed is exact for every pipeline depth, thread count and sequence
//! length. Also owns the budgets of connections, if each has one. The batch in `wire` turns a request number
//! into bytes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Shard;
use crate::shard::WARMUP_FIRST;

/// The requests of one test, counted in sequences and divided into commands.
#[derive(Debug)]
pub struct Budget {
    claimed: AtomicU64,
    first: u64,
    commands_total: Option<u64>,
    sequence_len: u64,
    /// Sequences claimed at once; 0 for exactly the wanted ones.
    chunk: u64,
    /// Connections of this share, numbered over all shares, if each has its own budget.
    connections: Option<Range<u64>>,
}

/// Distance between the numbers of connections with endless budgets of their own: two weeks at a million a
/// second.
pub(crate) const CONNECTION_STRIDE: u64 = 1 << 40;

/// Sequences claimed at once unless a smaller number is required.
const CHUNK: u64 = 256;

impl Budget {
    /// Creates a budget of `commands_total` commands, or an endless one, for sequences of `sequence_len`
    /// commands sent up to `depth` at a time. Paced workers claim only due sequences, since at a low rate a
    /// chunk would be the whole test.
    pub fn new(commands_total: Option<u64>, sequence_len: usize, depth: u32, paced: bool) -> Self {
        assert!(sequence_len > 0 && depth > 0, "a plan has a command and a pipeline");
        let depth = u64::from(depth);
        // A multiple of the depth, or pipelines in the middle of a run would come out short.
        let chunk = if paced { 0 } else { CHUNK.div_ceil(depth) * depth };
        let claimed = AtomicU64::new(0);
        let sequence_len = sequence_len as u64;
        Self { claimed, first: 0, commands_total, sequence_len, chunk, connections: None }
    }

    /// Gives each of these connections its own budget, of the same size.
    pub fn for_each_connection(self, connections: Range<u64>) -> Self {
        Self { connections: Some(connections), ..self }
    }

    /// Limits the budget to one share of several, with its request numbers. `range` is the number of keys,
    /// for an endless budget.
    pub fn shard(self, shard: Shard, range: u64) -> Self {
        let Some(total) = self.commands_total else {
            return Self { first: shard.first_of_endless(range), ..self };
        };
        // Cut between sequences; only the last share can hold one that is cut short.
        let part = shard.part(self.sequences_total());
        let end = (part.end * self.sequence_len).min(total);
        let commands = end.saturating_sub(part.start * self.sequence_len);
        Self { first: part.start, commands_total: Some(commands), ..self }
    }

    /// Creates an endless budget for the warm-up of the same plan.
    pub fn for_warmup(&self) -> Self {
        Self {
            claimed: AtomicU64::new(0),
            first: WARMUP_FIRST.wrapping_add(self.first),
            commands_total: None,
            sequence_len: self.sequence_len,
            chunk: self.chunk,
            connections: self.connections.clone(),
        }
    }

    /// The number of the first request.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of commands, if there is an end.
    pub fn commands(&self) -> Option<u64> {
        let connections = self.connections.as_ref().map_or(1, |own| own.end - own.start);
        self.commands_total.map(|commands| commands.saturating_mul(connections))
    }

    /// Number of sequences; the last one may be cut short.
    fn sequences_total(&self) -> u64 {
        self.commands_total.map_or(u64::MAX, |n| n.div_ceil(self.sequence_len))
    }

    /// Number of commands of `sequences` sequences from number `first` of this budget on.
    fn commands_of(&self, first: u64, sequences: u64) -> u32 {
        let mut commands = sequences * self.sequence_len;
        if let Some(total) = self.commands_total {
            commands = commands.min(total - first * self.sequence_len);
        }
        commands as u32
    }

    /// The view of a worker with these connections of this share.
    pub fn stream(&self, connections: Range<u32>) -> RequestStream<'_> {
        let own = self.connections.as_ref().map(|all| OwnBudgets {
            taken: vec![0; connections.len()],
            unspent: connections.len(),
            first: all.start + u64::from(connections.start),
        });
        RequestStream { budget: self, next: 0, end: 0, own }
    }
}

/// Batch for one pipeline: sequences `first..first + sequences`, of which the first `commands` commands are
/// sent. Only the last turn of a test cuts a sequence short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceBatch {
    /// Number of the first sequence, which determines the keys.
    pub first: u64,
    /// Sequences, at least 1.
    pub sequences: u32,
    /// Commands, at least 1.
    pub commands: u32,
}

/// Claims of one worker on a [`Budget`].
#[derive(Debug)]
pub struct RequestStream<'b> {
    budget: &'b Budget,
    next: u64,
    end: u64,
    /// Claims by connection, if connections have their own budgets.
    own: Option<OwnBudgets>,
}

/// Claims of one worker's connections on their own budgets.
#[derive(Debug)]
struct OwnBudgets {
    /// Sequences taken, by connection.
    taken: Vec<u64>,
    /// Number of connections that may take more.
    unspent: usize,
    /// The number of the first in the numbering of all.
    first: u64,
}

impl RequestStream<'_> {
    /// Takes up to `sequences_max` next sequences for connection number `connection` of the worker; `None`
    /// when the budget is spent.
    #[inline]
    pub fn take(&mut self, connection: u32, sequences_max: u32) -> Option<SequenceBatch> {
        if self.own.is_some() {
            return self.take_own(connection as usize, sequences_max);
        }
        if self.next == self.end {
            self.claim(u64::from(sequences_max))?;
        }
        let sequences = u64::from(sequences_max).min(self.end - self.next);
        let first = self.next;
        self.next += sequences;
        let commands = self.budget.commands_of(first, sequences);
        let first = self.budget.first.wrapping_add(first);
        Some(SequenceBatch { first, sequences: sequences as u32, commands })
    }

    fn take_own(&mut self, connection: usize, sequences_max: u32) -> Option<SequenceBatch> {
        let (budget, own) = (self.budget, self.own.as_mut()?);
        let each = budget.sequences_total();
        let taken = own.taken[connection];
        let sequences = u64::from(sequences_max).min(each - taken);
        if sequences == 0 {
            return None;
        }
        own.taken[connection] += sequences;
        own.unspent -= usize::from(taken + sequences == each);
        let stride = if each == u64::MAX { CONNECTION_STRIDE } else { each };
        let base = (own.first + connection as u64).wrapping_mul(stride);
        let first = budget.first.wrapping_add(base).wrapping_add(taken);
        let commands = budget.commands_of(taken, sequences);
        Some(SequenceBatch { first, sequences: sequences as u32, commands })
    }

    /// Number of sequences that a connection may still take, at most `wanted`, by its own budget.
    #[inline]
    pub fn left(&self, connection: u32, wanted: u32) -> u32 {
        let own = self.own.as_ref().and_then(|own| own.taken.get(connection as usize));
        let left = own.map(|taken| self.budget.sequences_total() - taken);
        left.map_or(wanted, |left| u64::from(wanted).min(left) as u32)
    }

    /// Returns whether nothing is left to take; other workers may take the last before this one does.
    pub fn is_spent(&self) -> bool {
        if let Some(own) = &self.own {
            return own.unspent == 0;
        }
        let claimed = self.budget.claimed.load(Ordering::Relaxed);
        self.next == self.end && claimed >= self.budget.sequences_total()
    }

    fn claim(&mut self, wanted: u64) -> Option<()> {
        let total = self.budget.sequences_total();
        // Checked first, so that asking an empty budget for ever does not wrap the counter.
        if self.budget.claimed.load(Ordering::Relaxed) >= total {
            return None;
        }
        let chunk = if self.budget.chunk == 0 { wanted } else { self.budget.chunk };
        let start = self.budget.claimed.fetch_add(chunk, Ordering::Relaxed);
        if start >= total {
            return None;
        }
        self.next = start;
        self.end = start.saturating_add(chunk).min(total);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the shape, the turns of all workers sum to the total and share no sequence.
        #[test]
        fn the_total_is_exact(
            total in 1u64..5_000,
            sequence_len in 1usize..12,
            depth in 1u32..600,
            workers in 1usize..6,
            paced: bool,
        ) {
            let budget = Budget::new(Some(total), sequence_len, depth, paced);
            let mut streams: Vec<_> = (0..workers).map(|_| budget.stream(0..1)).collect();
            let mut sent = 0u64;
            let mut seen = std::collections::HashSet::new();
            let mut live = true;
            while live {
                live = false;
                for stream in &mut streams {
                    if let Some(turn) = stream.take(0, depth) {
                        live = true;
                        prop_assert!(turn.commands >= 1 && turn.sequences <= depth);
                        sent += u64::from(turn.commands);
                        for s in 0..u64::from(turn.sequences) {
                            prop_assert!(seen.insert(turn.first + s));
                        }
                    }
                }
            }
            prop_assert_eq!(sent, total);
            prop_assert_eq!(seen.len() as u64, total.div_ceil(sequence_len as u64));
        }
    }

    proptest! {
        /// Shares send what the whole would, with the same request numbers.
        #[test]
        fn shares_sum_to_the_whole(
            total in 1u64..5_000,
            sequence_len in 1usize..12,
            depth in 1u32..600,
            of in 1u32..9,
        ) {
            let (mut sent, mut next) = (0, 0);
            for index in 1..=of {
                let whole = Budget::new(Some(total), sequence_len, depth, false);
                let budget = whole.shard(Shard { index, of }, 10);
                let mut stream = budget.stream(0..1);
                while let Some(turn) = stream.take(0, depth) {
                    prop_assert_eq!(turn.first, next);
                    next += u64::from(turn.sequences);
                    sent += u64::from(turn.commands);
                }
                prop_assert!(stream.is_spent());
            }
            prop_assert_eq!(sent, total);
            prop_assert_eq!(next, total.div_ceil(sequence_len as u64));
        }
    }

    #[test]
    fn pipelines_in_the_middle_are_full() {
        let budget = Budget::new(Some(10_000), 1, 48, false);
        let mut stream = budget.stream(0..1);
        let turns: Vec<u32> =
            std::iter::from_fn(|| stream.take(0, 48)).map(|t| t.sequences).collect();
        let (last, full) = turns.split_last().unwrap();
        assert!(full.iter().all(|&s| s == 48));
        assert_eq!(*last, 10_000 % 48);
    }

    #[test]
    fn warmup_numbers_are_apart() {
        let budget = Budget::new(Some(1), 1, 1, false);
        assert_eq!(budget.for_warmup().stream(0..1).take(0, 1).unwrap().first, WARMUP_FIRST);
        assert_eq!(budget.stream(0..1).take(0, 1).unwrap().first, 0);
    }

    proptest! {
        /// Each connection sends its own count, under numbers that no other connection has.
        #[test]
        fn connections_with_budgets_of_their_own_send_them_to_the_last(
            each in 1u64..500,
            sequence_len in 1usize..6,
            depth in 1u32..60,
            connections in 1u32..9,
        ) {
            let budget = Budget::new(Some(each), sequence_len, depth, false)
                .for_each_connection(3..3 + u64::from(connections));
            prop_assert_eq!(budget.commands(), Some(each * u64::from(connections)));
            let mut stream = budget.stream(0..connections);
            let mut seen = std::collections::HashSet::new();
            let mut sent = vec![0u64; connections as usize];
            while !stream.is_spent() {
                for connection in 0..connections {
                    let left = stream.left(connection, depth);
                    let Some(turn) = stream.take(connection, depth) else {
                        prop_assert_eq!(left, 0);
                        continue;
                    };
                    prop_assert_eq!(left, turn.sequences);
                    sent[connection as usize] += u64::from(turn.commands);
                    for n in 0..u64::from(turn.sequences) {
                        prop_assert!(seen.insert(turn.first + n));
                    }
                }
            }
            prop_assert!(sent.iter().all(|n| *n == each), "{:?}", sent);
        }
    }
}
