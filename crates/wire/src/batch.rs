//! A pipeline's worth of encoded requests.
//!
//! Owns one image of `depth` sequences that a worker patches and sends, over and over: per
//! request only the digits of its keys are written. Which request number comes next is
//! `workload`'s business.

use std::ops::Range;
use std::sync::Arc;

use workload::{Dataset, KeyDraw, KeySpace, Numbering, Piece, Plan, Slot, Turn};

use crate::cluster::{KeyHash, slot_of_request, tag_of};
use crate::expected::Asked;
use crate::payload::{Drawn, Payload, Value};
use crate::template::{append_decimal, decimal_width, write_digits};
use crate::{Hole, Insert, Protocol, Template, ValueAt};

/// The image of a pipeline.
pub struct Batch {
    /// `depth` copies of the sequence; rewritten for each send when templates have inserts.
    image: Vec<u8>,
    /// The templates of one sequence, joined.
    sequence: Template,
    /// Where each of its commands stands in the joined template.
    commands: Vec<CommandAt>,
    /// Of each operation.
    numbers: Vec<Numbers>,
    dataset: Option<Arc<Dataset>>,
    pub(crate) payload: Option<Payload>,
    /// What replies are compared with, if they are.
    pub(crate) asked: Asked,
}

/// A command in the joined template.
#[derive(Debug, Clone, Copy)]
struct CommandAt {
    start: usize,
    end: usize,
    /// The first of its holes, or where it would stand.
    first_hole: usize,
    /// The first of its inserts, or where it would stand, and one more than its last.
    inserts: [usize; 2],
    /// Fresh numbers before it in its operation.
    fresh: u64,
    /// Which operation it belongs to.
    operation: usize,
}

/// Most bytes that are set aside ahead for requests that are written anew.
const AHEAD_MAX: u64 = 1 << 20;

impl Batch {
    /// Compiles the sequence of a plan.
    #[must_use]
    pub fn new<P: Protocol>(plan: &Plan) -> Self {
        let mut sequence = Template::default();
        let mut commands = Vec::new();
        let mut values = 0;
        for (operation, (span, keys)) in plan.key_spaces().enumerate() {
            let mut fresh = 0;
            for command in &plan.sequence[span] {
                let next = P::compile(command, digits_of(keys));
                let at = CommandAt {
                    start: sequence.bytes.len(),
                    end: 0,
                    first_hole: sequence.holes.len(),
                    inserts: [sequence.inserts.len(), 0],
                    fresh,
                    operation,
                };
                append(&mut sequence, &next, fresh, values);
                fresh += next.fresh();
                values += values_among(&next);
                let inserts = [at.inserts[0], sequence.inserts.len()];
                commands.push(CommandAt { end: sequence.bytes.len(), inserts, ..at });
            }
        }
        // What is appended command by command, or written anew for each send, needs no image.
        let appended =
            plan.target.cluster.is_some() || plan.mix.is_some() || !sequence.inserts.is_empty();
        let copies = if appended { 0 } else { plan.fleet.pipeline_depth as usize };
        let mut image = sequence.bytes.repeat(copies);
        if appended {
            image.reserve(plan.batch_bytes().min(AHEAD_MAX) as usize);
        }
        Self {
            payload: Payload::new(plan, values),
            asked: Asked::of(plan, |command| commands[command].fresh),
            image,
            sequence,
            commands,
            numbers: Numbers::of_operations(plan),
            dataset: plan.dataset.clone(),
        }
    }

    /// The numbers of the operation that a command belongs to.
    pub(crate) fn numbers_of(&self, command: usize) -> &Numbers {
        &self.numbers[self.commands[command].operation]
    }

    /// The bytes of the commands of this turn.
    pub fn fill(&mut self, turn: Turn) -> &[u8] {
        if self.sequence.inserts.is_empty() { self.patch(turn) } else { self.write(turn) }
    }

    /// The slot of the key of command number `command` in sequence number `number`; `None` if it
    /// has no key. `scratch` is a buffer to write in.
    #[inline]
    #[must_use]
    pub fn slot(
        &self,
        slots: &Slots,
        number: u64,
        command: usize,
        scratch: &mut Vec<u8>,
    ) -> Option<u16> {
        let hash = slots.0[command].as_ref()?;
        let numbers = self.numbers_of(command);
        Some(hash.slot(number, numbers, self.dataset.as_deref(), scratch))
    }

    /// Overwrites the holes of as many copies as the turn has.
    fn patch(&mut self, turn: Turn) -> &[u8] {
        let len = self.sequence.bytes.len();
        // What is patched is one operation.
        let numbers = &self.numbers[0];
        if !self.sequence.holes.is_empty() {
            for copy in 0..turn.sequences as usize {
                let number = turn.first.wrapping_add(copy as u64);
                let target = &mut self.image[copy * len..(copy + 1) * len];
                let mut fresh = 0;
                for hole in &self.sequence.holes {
                    let target = &mut target[hole.at..hole.at + hole.digits];
                    let drawn = numbers.of(number, hole.slot, &mut fresh);
                    write_number(drawn, hole.slot, target);
                }
            }
        }
        let commands_per_sequence = self.commands.len();
        let whole = turn.commands as usize / commands_per_sequence;
        let cut = turn.commands as usize % commands_per_sequence;
        let end = whole * len + cut.checked_sub(1).map_or(0, |last| self.commands[last].end);
        &self.image[..end]
    }

    /// Writes every sequence anew around its cells.
    fn write(&mut self, turn: Turn) -> &[u8] {
        let mut image = std::mem::take(&mut self.image);
        image.clear();
        let commands_per_sequence = self.commands.len() as u32;
        for copy in 0..turn.sequences {
            let left = turn.commands - copy * commands_per_sequence;
            let commands = left.min(commands_per_sequence) as usize;
            self.append(turn.first.wrapping_add(u64::from(copy)), 0..commands, &mut image);
        }
        self.image = image;
        &self.image
    }

    /// Appends these commands, which are of one operation, of request number `number`. For what does
    /// not go out in whole pipelines: [`fill`](Self::fill) is faster.
    pub fn append(&self, number: u64, commands: Range<usize>, out: &mut Vec<u8>) {
        self.append_after(None, number, commands, out);
    }

    /// The same of a later step, behind a reply that brought this value.
    pub fn append_after(
        &self,
        reply: Option<&[u8]>,
        number: u64,
        commands: Range<usize>,
        out: &mut Vec<u8>,
    ) {
        let Template { bytes, holes, inserts } = &self.sequence;
        let CommandAt { start, first_hole, mut fresh, operation, .. } =
            self.commands[commands.start];
        let numbers = &self.numbers[operation];
        let last = self.commands[commands.end - 1];
        let (mut at, end) = (start, last.end);
        // What varies may be the last of a command: its place alone does not tell whose it is.
        let inserts = &inserts[self.commands[commands.start].inserts[0]..last.inserts[1]];
        let mut drawn = Drawn::default();
        let mut value = None;
        let mut holes = holes[first_hole..].iter().take_while(|h| h.at < end).peekable();
        let mut inserts = inserts.iter().peekable();
        while at < end || inserts.peek().is_some() {
            let next_hole = holes.peek().map_or(end, |h| h.at);
            let next_insert = inserts.peek().map_or(end, |(at, _)| *at);
            let stop = next_hole.min(next_insert);
            out.extend_from_slice(&bytes[at..stop]);
            at = stop;
            if let Some((_, insert)) = inserts.next_if(|(place, _)| *place == at) {
                self.write_insert(insert, (number, reply), numbers, &mut drawn, &mut value, out);
            } else if let Some(hole) = holes.next_if(|h| h.at == at) {
                let start = out.len();
                out.resize(start + hole.digits, b'0');
                let drawn = drawn.number(numbers, number, hole.slot, fresh);
                fresh += u64::from(hole.slot == Slot::Fresh);
                write_number(drawn, hole.slot, &mut out[start..]);
                at += hole.digits;
            }
        }
    }

    /// `last` is the value whose length was written last, which is the one that follows.
    fn write_insert(
        &self,
        insert: &Insert,
        (number, reply): (u64, Option<&[u8]>),
        numbers: &Numbers,
        drawn: &mut Drawn,
        last: &mut Option<(ValueAt, Value)>,
        out: &mut Vec<u8>,
    ) {
        let cell = |column| self.dataset.as_ref().map_or(&[][..], |d| d.cell(number, column));
        let mut value = |at: &ValueAt| match (&self.payload, *last) {
            (_, Some((of, value))) if of == *at => value,
            (Some(payload), _) => {
                let value = payload.value(at, number, numbers, drawn);
                *last = Some((*at, value));
                value
            }
            (None, _) => Value { key: 0, len: 0 },
        };
        match insert {
            Insert::Cell { column } => out.extend_from_slice(cell(*column)),
            Insert::Value(at) => {
                let value = value(at);
                if let Some(payload) = &self.payload {
                    payload.append(value, out);
                }
            }
            Insert::Lifetime(lifetime) => append_decimal(lifetime.of(numbers.seed, number), out),
            Insert::Number(at) => {
                append_decimal(drawn.number(numbers, number, at.slot, at.fresh), out);
            }
            Insert::Reply(or) => out.extend_from_slice(reply.unwrap_or(or)),
            Insert::Length { form, fixed, columns, values, lifetimes, numbers: bare, replies } => {
                let cells: usize = columns.iter().map(|column| cell(*column).len()).sum();
                let values: usize = values.iter().map(|at| value(at).len).sum();
                let lifetimes =
                    lifetimes.iter().map(|of| decimal_width(of.of(numbers.seed, number)));
                let lifetimes: usize = lifetimes.sum();
                let bare = bare.iter().map(|at| drawn.number(numbers, number, at.slot, at.fresh));
                let bare: usize = bare.map(decimal_width).sum();
                let replies: usize = replies.iter().map(|or| reply.unwrap_or(or).len()).sum();
                form.write((fixed + cells + values + lifetimes + bare + replies) as u64, out);
            }
        }
    }
}

/// The slots of a plan's keys. Command by command: which argument is the key, if any.
#[derive(Debug)]
pub struct Slots(Vec<Option<KeyHash>>);

impl Slots {
    /// For a plan whose commands have their keys at these arguments.
    #[must_use]
    pub fn new(plan: &Plan, keys: &[Option<usize>]) -> Self {
        let is_fresh = |piece: &&Piece| **piece == Piece::Number(Slot::Fresh);
        let mut hashes = Vec::new();
        for (span, space) in plan.key_spaces() {
            let mut fresh = 0;
            for at in span {
                let mut hash = None;
                for (n, arg) in plan.sequence[at].args.iter().enumerate() {
                    // Where a key is a value or a reply, a redirect says where it belongs.
                    let unknown = |p: &Piece| matches!(p, Piece::Value | Piece::Reply { .. });
                    if Some(n) == keys[at] && !arg.pieces.iter().any(unknown) {
                        hash = Some(KeyHash::new(arg, digits_of(space), fresh));
                    }
                    fresh += arg.pieces.iter().filter(is_fresh).count() as u64;
                }
                hashes.push(hash);
            }
        }
        Self(hashes)
    }
}

/// The digits of the numbers of a key space, 0 for as many as each has; `None` where placeholders stay
/// as they are.
pub(crate) fn digits_of(keys: &KeySpace) -> Option<usize> {
    keys.range.map(|_| keys.digits())
}

fn values_among(template: &Template) -> u64 {
    template.inserts.iter().filter(|(_, insert)| matches!(insert, Insert::Value(_))).count() as u64
}

/// The stream of `__key__`, after those of the nine shared slots.
const KEY_STREAM: u64 = 10 << 56;

/// Where the numbers of placeholders come from.
pub(crate) struct Numbers {
    keys: Box<dyn KeyDraw>,
    /// The number of the first key, and how many there are.
    first: u64,
    range: u64,
    numbering: Numbering,
    pub(crate) seed: u64,
    /// `Fresh` occurrences in a request, each of which is a draw of its own.
    fresh_per_request: u64,
}

impl Numbers {
    /// Those of each operation of a plan.
    fn of_operations(plan: &Plan) -> Vec<Self> {
        let fresh = |span: Range<usize>| {
            let pieces = plan.sequence[span].iter().flat_map(|c| &c.args).flat_map(|a| &a.pieces);
            pieces.filter(|piece| **piece == Piece::Number(Slot::Fresh)).count() as u64
        };
        // As many as the operation with the most of them has: no draw is of two requests.
        let most = plan.key_spaces().map(|(span, _)| fresh(span)).max().unwrap_or(0);
        let of = |((span, keys), numbering): ((Range<usize>, &KeySpace), Numbering)| Self {
            keys: keys.draws(),
            first: keys.numbered.first,
            range: keys.range.unwrap_or(0).max(1),
            seed: plan.seed,
            fresh_per_request: if numbering.is_of_operation() { fresh(span) } else { most },
            numbering,
        };
        plan.key_spaces().zip(plan.numberings()).map(of).collect()
    }

    /// The number for a slot in sequence number `sequence`, of which `fresh` counts the `Fresh`
    /// occurrences so far.
    #[inline]
    pub(crate) fn of(&self, sequence: u64, slot: Slot, fresh: &mut u64) -> u64 {
        let index = self.numbering.index(sequence);
        match slot {
            Slot::Fresh => {
                let first = index.wrapping_mul(self.fresh_per_request);
                let index = first.wrapping_add(*fresh);
                *fresh += 1;
                self.draw(self.seed, sequence, index)
            }
            // A stream of its own for each slot, or __rand_1st__ and __rand_2nd__ would be equal.
            Slot::Shared(n) => {
                self.draw(self.seed.wrapping_add(u64::from(n) << 56), sequence, index)
            }
            Slot::Key => self.draw(self.seed.wrapping_add(KEY_STREAM), sequence, index),
            Slot::Tag => u64::from(slot_of_request(sequence, self.seed)),
        }
    }

    /// The key of draw number `index`, which sequence number `sequence` makes.
    #[inline]
    fn draw(&self, seed: u64, sequence: u64, index: u64) -> u64 {
        let slice = self.numbering.of_slice(sequence, index);
        self.first.wrapping_add(slice.unwrap_or_else(|| self.keys.draw(seed, index)))
    }

    /// The place of a key's number among the keys, and how many there are.
    pub(crate) fn rank(&self, key: u64) -> (u64, u64) {
        (key.wrapping_sub(self.first), self.range)
    }

    /// See [`Numbering::before`].
    pub(crate) fn before(&self, sequence: u64) -> u64 {
        self.numbering.before(sequence)
    }
}

/// Writes the number of a slot into its hole.
#[inline]
fn write_number(number: u64, slot: Slot, out: &mut [u8]) {
    if slot == Slot::Tag {
        out.copy_from_slice(&tag_of(number as u16));
    } else {
        write_digits(number, out);
    }
}

/// `fresh` numbers stand before it in its operation, and so many values in the sequence.
fn append(into: &mut Template, next: &Template, fresh: u64, values: u64) {
    let base = into.bytes.len();
    into.bytes.extend_from_slice(&next.bytes);
    into.holes.extend(next.holes.iter().map(|h| Hole { at: base + h.at, ..*h }));
    into.inserts.extend(next.inserts.iter().map(|(at, i)| (base + at, i.behind(fresh, values))));
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
