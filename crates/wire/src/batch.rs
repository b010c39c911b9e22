//! A pipeline of encoded requests.
//!
//! Owns one image of `depth` sequences that a worker patches and sends over and over: each request needs only
//! the digits of its keys written. `workload` decides on the next request numbers.

use std::ops::Range;
use std::sync::Arc;

use workload::{Dataset, KeySpace, Message, Piece, Plan, SequenceBatch, Slot};

use crate::cluster::{KeyHash, tag_of};
use crate::decimal::write_digits;
use crate::message_place::MessagePlace;
use crate::numbers::Numbers;
use crate::payload::{LastDraw, Payload};
use crate::reply_patterns::{CheckedReads, ValueRequests};
use crate::varying::RequestVariables;
use crate::{Hole, Insert, Protocol, RequestInputs, Template};

/// The image of a pipeline.
pub struct Batch {
    /// `depth` copies of the sequence; rewritten for each send when templates have inserts.
    image: Vec<u8>,
    /// The templates of one sequence, joined.
    sequence: Template,
    /// The sequence's commands in the joined template.
    commands: Vec<CommandAt>,
    /// The numbers of each operation.
    numbers: Vec<Numbers>,
    pub(crate) dataset: Option<Arc<Dataset>>,
    pub(crate) payload: Option<Payload>,
    /// Expected values of replies, if they are compared.
    pub(crate) asked: ValueRequests,
    /// Strings of replies that name their key, if any do.
    pub(crate) checked: Option<CheckedReads>,
    /// Position of the message in a command, if one carries a message.
    messages: Option<MessagePlace>,
    /// Ends of the current turn's commands in the image, if each carries a message and they differ in length.
    ends: Vec<usize>,
}

/// A command in the joined template.
#[derive(Debug, Clone)]
struct CommandAt {
    start: usize,
    end: usize,
    holes: Range<usize>,
    inserts: Range<usize>,
    /// Number of fresh numbers before it in its operation.
    fresh: u64,
    operation: usize,
    short: Option<ShortCommand>,
}

/// A command of few bytes with at most one number, copied in one piece of a constant size.
#[derive(Debug, Clone)]
struct ShortCommand {
    bytes: [u8; SHORT_MAX],
    hole: Option<Hole>,
}

/// Maximum length of a short command.
const SHORT_MAX: usize = 64;

/// Maximum count of numbers drawn together.
const DRAWN_MAX: usize = 16;

/// A part of a template: bytes from `start` to its end, with the holes and inserts in them.
struct Span<'t> {
    bytes: &'t [u8],
    start: usize,
    holes: &'t [Hole],
    inserts: &'t [(usize, Insert)],
    fresh: u64,
}

/// Maximum number of bytes reserved in advance for requests that are rewritten.
const AHEAD_MAX: u64 = 1 << 20;

impl Batch {
    /// Compiles the sequence of a plan.
    pub fn new<P: Protocol>(plan: &Plan) -> Self {
        let mut sequence = Template::default();
        let mut commands = Vec::new();
        let mut values = 0;
        for (operation, (span, keys)) in plan.key_spaces().enumerate() {
            let mut fresh = 0;
            let values_before = values;
            for command in &plan.sequence[span] {
                // The next request of a scan differs from the last in its cursor only.
                if plan.walks(operation) {
                    (fresh, values) = (0, values_before);
                }
                let next = P::compile(command, digits_of(keys));
                let (start, hole, insert) =
                    (sequence.bytes.len(), sequence.holes.len(), sequence.inserts.len());
                append(&mut sequence, &next, fresh, values);
                let short = ShortCommand::new(&next);
                commands.push(CommandAt {
                    short,
                    start,
                    end: sequence.bytes.len(),
                    holes: hole..sequence.holes.len(),
                    inserts: insert..sequence.inserts.len(),
                    fresh,
                    operation,
                });
                fresh += next.fresh();
                let inserts = next.inserts.iter();
                values += inserts.filter(|(_, of)| matches!(of, Insert::Value(_))).count() as u64;
            }
        }
        // Commands that are appended one by one, or rewritten for each send, need no image.
        let appended =
            plan.target.is_by_key() || plan.mix.is_some() || !sequence.inserts.is_empty();
        let appended = appended || plan.has_source();
        let copies = if appended { 0 } else { plan.load.concurrency.pipeline_depth as usize };
        let mut image = sequence.bytes.repeat(copies);
        if appended {
            image.reserve(plan.batch_bytes().min(AHEAD_MAX) as usize);
        }
        Self {
            messages: MessagePlace::from_plan(plan),
            ends: Vec::new(),
            payload: Payload::new(plan, values),
            checked: CheckedReads::from_plan(plan),
            asked: ValueRequests::new(plan, |command| commands[command].fresh),
            image,
            sequence,
            commands,
            numbers: Numbers::of_operations(plan),
            dataset: plan.data.dataset.clone(),
        }
    }

    /// Numbers of the operation that a command belongs to.
    pub(crate) fn numbers_of(&self, command: usize) -> &Numbers {
        &self.numbers[self.commands[command].operation]
    }

    /// The bytes of the commands of this turn.
    pub fn fill(&mut self, turn: SequenceBatch) -> &[u8] {
        if self.sequence.inserts.is_empty() { self.patch(turn) } else { self.write(turn) }
    }

    /// Returns whether the commands carry messages.
    #[inline]
    pub fn carries_messages(&self) -> bool {
        self.messages.is_some()
    }

    /// Returns the bytes of this turn's commands, each with its message: `make` returns that of the command at
    /// an index of the turn.
    pub fn fill_messages(&mut self, turn: SequenceBatch, make: impl Fn(u64) -> Message) -> &[u8] {
        let len = self.fill(turn).len();
        let Some(at) = self.messages else { return &self.image[..len] };
        let fixed = self.sequence.inserts.is_empty();
        let mut start = 0;
        for place in 0..turn.sequences as usize {
            let end =
                if fixed { (place + 1) * self.sequence.bytes.len() } else { self.ends[place] };
            at.write(make(place as u64), &mut self.image[start..end]);
            start = end;
        }
        &self.image[..len]
    }

    /// Writes a message into an appended command.
    pub fn put_message(&self, message: Message, command: &mut [u8]) {
        if let Some(at) = self.messages {
            at.write(message, command);
        }
    }

    /// The slot of the key of command number `command` of a request; `None` without a key. `scratch` is a
    /// buffer.
    #[inline]
    pub fn slot(
        &self,
        slots: &Slots,
        request: RequestInputs<'_>,
        command: usize,
        scratch: &mut Vec<u8>,
    ) -> Option<u16> {
        let hash = slots.0[command].as_ref()?;
        let numbers = self.numbers_of(command);
        Some(hash.slot(request, numbers, self.dataset.as_deref(), scratch))
    }

    /// Writes the numbers of this turn into the holes of its copies of the sequence.
    fn patch(&mut self, turn: SequenceBatch) -> &[u8] {
        let len = self.sequence.bytes.len();
        // A sequence with holes is a single operation.
        let numbers = &self.numbers[0];
        if !self.sequence.holes.is_empty() {
            for copy in 0..turn.sequences as usize {
                let number = turn.first.wrapping_add(copy as u64);
                let target = &mut self.image[copy * len..(copy + 1) * len];
                let mut fresh = 0;
                for hole in &self.sequence.holes {
                    let target = &mut target[hole.at..hole.at + hole.digits];
                    let drawn = numbers.value(number.into(), hole.slot, &mut fresh);
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

    /// Rewrites every sequence with its inserts.
    fn write(&mut self, turn: SequenceBatch) -> &[u8] {
        let mut image = std::mem::take(&mut self.image);
        image.clear();
        self.ends.clear();
        let commands_per_sequence = self.commands.len() as u32;
        for copy in 0..turn.sequences {
            let left = turn.commands - copy * commands_per_sequence;
            let commands = left.min(commands_per_sequence) as usize;
            self.append(turn.first.wrapping_add(u64::from(copy)), 0..commands, &mut image);
            if self.messages.is_some() {
                self.ends.push(image.len());
            }
        }
        self.image = image;
        &self.image
    }

    /// Appends commands of one operation for request number `number`. For requests that do not leave in whole
    /// pipelines; [`fill`](Self::fill) is faster.
    pub fn append(&self, number: u64, commands: Range<usize>, out: &mut Vec<u8>) {
        self.append_of(number.into(), commands, out);
    }

    /// Appends commands for a request with other inputs beside its number.
    #[inline]
    pub fn append_of(&self, request: RequestInputs<'_>, commands: Range<usize>, out: &mut Vec<u8>) {
        let Template { bytes, holes, inserts } = &self.sequence;
        let (first, last) = (&self.commands[commands.start], &self.commands[commands.end - 1]);
        let span = Span {
            bytes: &bytes[..last.end],
            start: first.start,
            holes: &holes[first.holes.start..last.holes.end],
            // A varying part may end a command: its position alone does not tell which command it belongs to.
            inserts: &inserts[first.inserts.start..last.inserts.end],
            fresh: first.fresh,
        };
        let numbers = &self.numbers[first.operation];
        if span.inserts.is_empty() {
            write_fixed(span, numbers, request, &mut LastDraw::default(), out);
            return;
        }
        self.write_span(span, numbers, request, out);
    }

    /// Appends one command for `count` requests, from request number `first` on.
    #[inline]
    pub fn append_run(&self, first: u64, count: u32, command: usize, out: &mut Vec<u8>) {
        let CommandAt { short, start, end, fresh, operation, .. } = &self.commands[command];
        let number = |n: u32| first.wrapping_add(n.into());
        let Some(short) = short else {
            return (0..count).for_each(|n| self.append(number(n), command..command + 1, out));
        };
        let mut drawn = [0; DRAWN_MAX];
        for n in (0..count).step_by(DRAWN_MAX) {
            let drawn = &mut drawn[..DRAWN_MAX.min((count - n) as usize)];
            if let Some(hole) = &short.hole {
                self.numbers[*operation].values(number(n), hole.slot, *fresh, drawn);
            }
            short.append_all(drawn, end - start, out);
        }
    }

    /// Appends a separately compiled part of a command, after `fresh` fresh numbers of the command.
    pub(crate) fn append_part(
        &self,
        part: &Template,
        fresh: u64,
        command: usize,
        request: RequestInputs<'_>,
        out: &mut Vec<u8>,
    ) {
        let Template { bytes, holes, inserts } = part;
        let fresh = self.commands[command].fresh + fresh;
        let span = Span { bytes, start: 0, holes, inserts, fresh };
        self.write_span(span, self.numbers_of(command), request, out);
    }

    fn write_span(
        &self,
        span: Span<'_>,
        numbers: &Numbers,
        request: RequestInputs<'_>,
        out: &mut Vec<u8>,
    ) {
        let Span { bytes, mut start, mut holes, inserts, mut fresh } = span;
        let (dataset, payload) = (self.dataset.as_deref(), self.payload.as_ref());
        let mut varying = RequestVariables::new(request, numbers, dataset, payload);
        let mut copy_until = |end: usize, drawn: &mut LastDraw, out: &mut Vec<u8>| {
            let before = holes.iter().take_while(|hole| hole.at < end).count();
            let (now, later) = holes.split_at(before);
            if now.is_empty() {
                out.extend_from_slice(&bytes[start..end]);
            } else {
                let span = Span { bytes: &bytes[..end], start, holes: now, inserts: &[], fresh };
                fresh = write_fixed(span, numbers, request, drawn, out);
            }
            (start, holes) = (end, later);
        };
        for (place, insert) in inserts {
            copy_until(*place, &mut varying.drawn, out);
            varying.append(insert, out);
        }
        copy_until(bytes.len(), &mut varying.drawn, out);
    }
}

impl ShortCommand {
    fn new(template: &Template) -> Option<Self> {
        let Template { bytes, holes, inserts } = template;
        if bytes.len() > SHORT_MAX || holes.len() > 1 || !inserts.is_empty() {
            return None;
        }
        let mut padded = [0; SHORT_MAX];
        padded[..bytes.len()].copy_from_slice(bytes);
        Some(Self { bytes: padded, hole: holes.first().copied() })
    }

    /// Appends the command, which has `len` bytes, with each of these numbers.
    #[inline]
    fn append_all(&self, numbers: &[u64], len: usize, out: &mut Vec<u8>) {
        for number in numbers {
            let start = out.len();
            out.extend_from_slice(&self.bytes);
            if let Some(hole) = &self.hole {
                let place = start + hole.at;
                write_number(*number, hole.slot, &mut out[place..place + hole.digits]);
            }
            out.truncate(start + len);
        }
    }
}

/// Key of each command of a plan, prepared to compute its slot; `None` for a command without a key.
#[derive(Debug)]
pub struct Slots(Vec<Option<KeyHash>>);

impl Slots {
    /// Prepares the slots of a plan whose commands have keys at these arguments.
    pub fn new(plan: &Plan, keys: &[Option<usize>]) -> Self {
        let is_fresh = |piece: &&Piece| **piece == Piece::Number(Slot::Fresh);
        let mut hashes = Vec::new();
        for (operation, (span, space)) in plan.key_spaces().enumerate() {
            let mut fresh = 0;
            for at in span {
                if plan.walks(operation) {
                    fresh = 0;
                }
                let mut hash = None;
                for (n, arg) in plan.sequence[at].args.iter().enumerate() {
                    // The slot of a key that contains a value is learnt from a redirect.
                    if Some(n) == keys[at] && !arg.pieces.iter().any(|p| matches!(p, Piece::Value))
                    {
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

/// Digits of the numbers of a key space, 0 for unpadded; `None` if placeholders stay as they are.
pub(crate) fn digits_of(keys: &KeySpace) -> Option<usize> {
    keys.range.map(|_| keys.digits())
}

/// Copies a span around its inserts, and fills its holes. Returns the number of fresh numbers before the
/// rest.
#[inline]
fn write_fixed(
    span: Span<'_>,
    numbers: &Numbers,
    request: RequestInputs<'_>,
    drawn: &mut LastDraw,
    out: &mut Vec<u8>,
) -> u64 {
    let Span { bytes, start, holes, mut fresh, .. } = span;
    let to = out.len();
    out.extend_from_slice(&bytes[start..]);
    for hole in holes {
        let number = drawn.number(numbers, request, hole.slot, fresh);
        fresh += u64::from(hole.slot == Slot::Fresh);
        let place = to + hole.at - start;
        write_number(number, hole.slot, &mut out[place..place + hole.digits]);
    }
    fresh
}

/// Writes the number for a slot into its hole.
#[inline]
fn write_number(number: u64, slot: Slot, out: &mut [u8]) {
    if slot == Slot::Tag {
        out.copy_from_slice(&tag_of(number as u16));
    } else {
        write_digits(number, out);
    }
}

/// Appends a template after `fresh` fresh numbers of its operation and this many values of the sequence.
fn append(into: &mut Template, next: &Template, fresh: u64, values: u64) {
    let base = into.bytes.len();
    into.bytes.extend_from_slice(&next.bytes);
    into.holes.extend(next.holes.iter().map(|h| Hole { at: base + h.at, ..*h }));
    into.inserts.extend(next.inserts.iter().map(|(at, i)| (base + at, i.behind(fresh, values))));
}

#[cfg(test)]
#[path = "batch_tests.rs"]
pub(crate) mod tests;
