//! Derivation of the numbers in a request's bytes from its own number.

use std::ops::Range;

use workload::random::Stream;
use workload::{Arg, KeyDraw, KeyGroups, KeySpace, Numbering, OneGroup, Piece, Plan, Slot};

use crate::RequestInputs;
use crate::cluster::{SLOTS, slot_of, slot_of_request};
use crate::decimal::append_number;

/// Random stream of `__key__`, after those of the nine shared slots.
const KEY_STREAM: u64 = 10 << 56;

/// The source of the numbers of placeholders.
pub(crate) struct Numbers {
    keys: Box<dyn KeyDraw>,
    /// The first key's number, and the number of keys.
    first: u64,
    range: u64,
    numbering: Numbering,
    pub(crate) seed: u64,
    /// Number of different tags.
    tags: u16,
    /// Streams of fresh numbers, and of keys.
    streams: [Stream; 2],
    /// Number of `Fresh` occurrences in a request, each drawn separately.
    fresh_per_request: u64,
    /// The keys by hash slot, if all keys of a request share one; only the first is drawn freely then.
    one_slot: Option<OneGroup>,
}

impl Numbers {
    /// Builds the numbers of each operation of a plan.
    pub(crate) fn of_operations(plan: &Plan) -> Vec<Self> {
        let fresh = |span: Range<usize>| {
            let pieces = plan.sequence[span].iter().flat_map(|c| &c.args).flat_map(|a| &a.pieces);
            pieces.filter(|piece| **piece == Piece::Number(Slot::Fresh)).count() as u64
        };
        // As many as the operation with the most of them has: no draw is of two requests.
        let most = plan.key_spaces().map(|(span, _)| fresh(span)).max().unwrap_or(0);
        let by_slot = |span: Range<usize>, keys: &KeySpace| {
            let one_slot = keys.one_slot.clone()?;
            let mut args = plan.sequence[span].iter().flat_map(|command| &command.args);
            let key = args.find(|arg| arg.pieces.contains(&Piece::Number(Slot::Fresh)))?;
            one_slot.group(|| numbered_by_slot(key, keys));
            Some(one_slot)
        };
        let numbers =
            plan.key_spaces().zip(plan.numberings()).map(|((span, keys), numbering)| Self {
                one_slot: by_slot(span.clone(), keys),
                keys: keys.draws(),
                first: keys.numbered.first,
                range: keys.range.unwrap_or(0).max(1),
                seed: plan.load.seed,
                tags: plan.data.tags.unwrap_or(SLOTS).clamp(1, SLOTS),
                streams: [0, KEY_STREAM].map(|by| Stream::from_seed(plan.load.seed).substream(by)),
                fresh_per_request: if numbering.is_of_operation() { fresh(span) } else { most },
                numbering,
            });
        numbers.collect()
    }

    /// Number for a slot in a request. `fresh` counts the request's earlier `Fresh` slots.
    #[inline]
    pub(crate) fn value(&self, request: RequestInputs<'_>, slot: Slot, fresh: &mut u64) -> u64 {
        let sequence = request.number;
        let index = self.numbering.index(sequence);
        match slot {
            Slot::Fresh => {
                let first = index.wrapping_mul(self.fresh_per_request);
                let nth = *fresh;
                *fresh += 1;
                if let Some(one_slot) = &self.one_slot {
                    let key = self.draw(self.streams[0], sequence, first);
                    let behind = one_slot.behind(key.wrapping_sub(self.first), nth);
                    return self.first.wrapping_add(behind);
                }
                self.draw(self.streams[0], sequence, first.wrapping_add(nth))
            }
            // A stream of its own for each slot, or __rand_1st__ and __rand_2nd__ would be equal.
            Slot::Shared(n) => {
                self.draw(self.streams[0].substream(u64::from(n) << 56), sequence, index)
            }
            Slot::Key if let Some(key) = request.key => self.first.wrapping_add(key.number()),
            Slot::Key => self.draw(self.streams[1], sequence, index),
            Slot::Tag => u64::from(self.tag_slot(sequence)),
        }
    }

    /// Fills `drawn` with the numbers for a slot after `fresh` fresh numbers, of requests from number `first` on.
    pub(crate) fn values(&self, first: u64, slot: Slot, fresh: u64, drawn: &mut [u64]) {
        let per = self.fresh_per_request;
        let (stream, index, step) = match slot {
            Slot::Key if self.numbering.is_of_request() => (self.streams[1], first, 1),
            Slot::Fresh if self.numbering.is_of_request() && self.one_slot.is_none() => {
                (self.streams[0], first.wrapping_mul(per).wrapping_add(fresh), per)
            }
            _ => {
                return (0..).zip(drawn).for_each(|(n, number)| {
                    *number = self.value(first.wrapping_add(n).into(), slot, &mut fresh.clone());
                });
            }
        };
        self.keys.draw_run(stream, index, step, drawn);
        drawn.iter_mut().for_each(|key| *key = self.first.wrapping_add(*key));
    }

    /// Slot of the tag of a sequence.
    #[inline]
    pub(crate) fn tag_slot(&self, sequence: u64) -> u16 {
        slot_of_request(sequence, self.seed, self.tags)
    }

    /// Returns the key of draw number `index`, made by sequence number `sequence`.
    #[inline]
    fn draw(&self, stream: Stream, sequence: u64, index: u64) -> u64 {
        let slice = self.numbering.of_slice(sequence, index);
        self.first.wrapping_add(slice.unwrap_or_else(|| self.keys.draw(stream, index)))
    }

    /// Index of a key's number among the keys, and the number of keys.
    pub(crate) fn rank(&self, key: u64) -> (u64, u64) {
        (key.wrapping_sub(self.first), self.range)
    }

    /// Returns the number like [`Numbering::before`].
    pub(crate) fn before(&self, sequence: u64) -> u64 {
        self.numbering.before(sequence)
    }
}

/// Groups the keys of a space by hash slot; `key` is the argument with their number.
fn numbered_by_slot(key: &Arg, keys: &KeySpace) -> KeyGroups {
    let mut text = Vec::new();
    KeyGroups::new(keys.range.unwrap_or(0).max(1), SLOTS, |number| {
        text.clear();
        let number = keys.numbered.first.wrapping_add(number);
        for piece in &key.pieces {
            match piece {
                Piece::Bytes(bytes) => text.extend_from_slice(bytes),
                Piece::Number(_) => append_number(number, keys.digits(), &mut text),
                // Texts that depend on more than the number of the key have no slot of their own.
                _ => {}
            }
        }
        slot_of(&text)
    })
}
