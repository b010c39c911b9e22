//! A pipeline's worth of encoded requests.
//!
//! Owns one image of `depth` sequences that a worker patches and sends, over and over: per
//! request only the digits of its keys are written. Which request number comes next is
//! `workload`'s business.

use std::ops::Range;
use std::sync::Arc;

use workload::{Dataset, KeyDraw, KeySpace, Piece, Plan, Slot, Turn};

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
                fresh += fresh_among(&next.holes);
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
            Insert::Reply(or) => out.extend_from_slice(reply.unwrap_or(or)),
            Insert::Length { form, fixed, columns, values, lifetimes, replies } => {
                let cells: usize = columns.iter().map(|column| cell(*column).len()).sum();
                let values: usize = values.iter().map(|at| value(at).len).sum();
                let lifetimes =
                    lifetimes.iter().map(|of| decimal_width(of.of(numbers.seed, number)));
                let lifetimes: usize = lifetimes.sum();
                let replies: usize = replies.iter().map(|or| reply.unwrap_or(or).len()).sum();
                form.write((fixed + cells + values + lifetimes + replies) as u64, out);
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

/// The digits of the numbers of a key space; `None` where placeholders stay as they are.
fn digits_of(keys: &KeySpace) -> Option<usize> {
    keys.range.map(|_| keys.digits())
}

fn values_among(template: &Template) -> u64 {
    template.inserts.iter().filter(|(_, insert)| matches!(insert, Insert::Value(_))).count() as u64
}

fn fresh_among(holes: &[Hole]) -> u64 {
    holes.iter().filter(|hole| hole.slot == Slot::Fresh).count() as u64
}

/// The stream of `__key__`, after those of the nine shared slots.
const KEY_STREAM: u64 = 10 << 56;

/// Where the numbers of placeholders come from.
pub(crate) struct Numbers {
    keys: Box<dyn KeyDraw>,
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
        let of =
            |keys: &KeySpace| Self { keys: keys.draws(), seed: plan.seed, fresh_per_request: most };
        plan.key_spaces().map(|(_, keys)| of(keys)).collect()
    }

    /// The number for a slot in sequence number `sequence`, of which `fresh` counts the `Fresh`
    /// occurrences so far.
    #[inline]
    pub(crate) fn of(&self, sequence: u64, slot: Slot, fresh: &mut u64) -> u64 {
        match slot {
            Slot::Fresh => {
                let first = sequence.wrapping_mul(self.fresh_per_request);
                let index = first.wrapping_add(*fresh);
                *fresh += 1;
                self.keys.draw(self.seed, index)
            }
            // A stream of its own for each slot, or __rand_1st__ and __rand_2nd__ would be equal.
            Slot::Shared(n) => self.keys.draw(self.seed.wrapping_add(u64::from(n) << 56), sequence),
            Slot::Key => self.keys.draw(self.seed.wrapping_add(KEY_STREAM), sequence),
            Slot::Tag => u64::from(slot_of_request(sequence, self.seed)),
        }
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
mod tests {
    use super::*;
    use crate::resp::Resp;
    use workload::command_line::split_operations;
    use workload::*;

    fn plan(line: &str, keys: KeySpace, depth: u32, dataset: Option<Dataset>) -> Plan {
        let words: Vec<Vec<u8>> = line.split(' ').map(|w| w.as_bytes().to_vec()).collect();
        let columns = dataset.as_ref().map_or(vec![], |d| d.columns().to_vec());
        let [operation] = &split_operations(&words, false, false, 100).unwrap()[..] else {
            panic!()
        };
        let sequence = operation.steps[0].commands.iter().map(|command| {
            let args = command
                .iter()
                .map(|w| Arg::literal(w).with_fields(&columns).unwrap().with_numbers());
            CommandSpec { args: args.collect(), inline: false }
        });
        PlanParts {
            name: line.into(),
            target: Target::default(),
            protocol: ProtocolKind::Resp2,
            engine: EngineKind::Auto,
            fleet: Fleet {
                workers: 1,
                multi_thread: false,
                connections: 1,
                pipeline_depth: depth,
                window: Window::Batch,
                keep_alive: true,
                cpus: vec![],
            },
            pace: Pace::Closed,
            warmup_ns: 0,
            stop: Stop::Requests(1),
            setup: vec![],
            sequence: sequence.collect(),
            mix: None,
            share: workload::Share::OneBudget,
            keys,
            dataset: dataset.map(Arc::new),
            values: None,
            fill: None,
            verify: false,
            payload_bytes: 3,
            on_error: OnError::Stop,
            reconnect: false,
            timeout_ns: None,
            precision: 3,
            first_byte: false,
            seed: 7,
            shard: workload::Shard::WHOLE,
        }
        .build()
        .unwrap()
    }

    fn keys(draw: &str, range: u64) -> KeySpace {
        KeySpace { range: Some(range), draw: draw.parse().unwrap() }
    }

    fn turn(first: u64, sequences: u32, commands: u32) -> Turn {
        Turn { first, sequences, commands }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).replace("\r\n", " ").trim_end().to_owned()
    }

    #[test]
    fn each_command_of_a_pipeline_gets_a_fresh_number() {
        let mut batch =
            Batch::new::<Resp>(&plan("GET k:__rand_int__", keys("sequential", 5), 3, None));
        assert_eq!(
            text(batch.fill(turn(4, 3, 3))),
            "*2 $3 GET $14 k:000000000004 *2 $3 GET $14 k:000000000000 *2 $3 GET $14 k:000000000001"
        );
    }

    #[test]
    fn shared_slots_agree_within_a_sequence_and_fresh_ones_do_not() {
        let line = "SET __rand_1st__ __rand_2nd__ ; GET __rand_1st__ ; GET __rand_int__ ; GET __rand_int__";
        let mut batch = Batch::new::<Resp>(&plan(line, keys("uniform", 1 << 30), 2, None));
        let sent = text(batch.fill(turn(0, 2, 8)));
        let numbers: Vec<&str> = sent.split(' ').filter(|w| w.len() == 12).collect();
        assert_eq!(numbers[0], numbers[2]);
        assert_ne!(numbers[0], numbers[1], "slots have streams of their own");
        assert_ne!(numbers[3], numbers[4], "__rand_int__ is fresh at each occurrence");
        assert_ne!(numbers[0], numbers[5], "the next sequence draws anew");
    }

    #[test]
    fn the_key_of_a_sequence_is_one_number_with_a_stream_of_its_own() {
        let line = "SET k:__key__ __key__ ; GET k:__key__ ; GET __rand_int__ ; GET __rand_1st__";
        let mut batch = Batch::new::<Resp>(&plan(line, keys("zipf:0.1", 1 << 30), 2, None));
        let sent = text(batch.fill(turn(0, 2, 8)));
        let digits = |word: &str| word.len() >= 12;
        let numbers: Vec<&str> =
            sent.split(' ').map(|w| w.trim_start_matches("k:")).filter(|w| digits(w)).collect();
        let [key, same, again, fresh, shared, next, ..] = numbers[..] else { panic!("{sent}") };
        assert!(key == same && key == again, "{sent}");
        assert!(key != fresh && key != shared && key != next, "{sent}");
        let mut literal = Batch::new::<Resp>(&plan("GET __key__", KeySpace::default(), 1, None));
        assert_eq!(text(literal.fill(turn(0, 1, 1))), "*2 $3 GET $7 __key__");
    }

    #[test]
    fn the_last_turn_may_cut_a_sequence_short() {
        let line = "SET a b ; GET a ; DEL a";
        let mut batch = Batch::new::<Resp>(&plan(line, KeySpace::default(), 2, None));
        assert!(text(batch.fill(turn(0, 2, 5))).ends_with("*2 $3 GET $1 a"));
        assert!(text(batch.fill(turn(0, 2, 6))).ends_with("*2 $3 DEL $1 a"));
    }

    /// Slots computed ahead of the bytes are those of the keys in the bytes.
    #[test]
    fn slots_are_those_of_the_keys_that_are_sent() {
        let rows = vec![vec![b"{x}1".to_vec()], vec![b"a{b".to_vec()], vec![b"}".to_vec()]];
        let lines = [
            "GET k",
            "GET k:__rand_int__",
            "GET a__rand_1st__{__rand_2nd__:x}b",
            "SET __rand_int__:__rand_int__ v ; GET {t:__rand_int__ ; GET __rand_1st__",
            "GET k:{tag}:__rand_int__",
            "GET {a}:{tag}",
            "GET k:__field:id__:__rand_int__",
            "SET k:__key__ __rand_int__ ; GET {__key__}:__rand_int__",
            "GET __rand_int__{}{tag}",
        ];
        for (line, range) in lines.iter().flat_map(|l| [(l, None), (l, Some(1 << 20))]) {
            let data = line
                .contains("field")
                .then(|| Dataset::new("f".into(), vec!["id".into()], rows.clone()).unwrap());
            let mut plan = plan(line, KeySpace { range, draw: KeyDist::UNIFORM }, 1, data);
            plan = tagged(plan);
            let keys = vec![Some(1); plan.sequence.len()];
            let slots = Slots::new(&plan, &keys);
            let mut batch = Batch::new::<Resp>(&plan);
            let commands = plan.sequence.len();
            for number in 0..50 {
                let mut appended = Vec::new();
                for command in 0..commands {
                    let mut bytes = Vec::new();
                    batch.append(number, command..command + 1, &mut bytes);
                    let Some((crate::resp::Value::Array(words), _)) =
                        crate::resp::Value::parse(&bytes).unwrap()
                    else {
                        panic!("{line}")
                    };
                    let crate::resp::Value::Bulk(key) = &words[1] else { panic!("{line}") };
                    let got = batch.slot(&slots, number, command, &mut Vec::new());
                    let key_text = String::from_utf8_lossy(key);
                    assert_eq!(got, Some(crate::cluster::slot_of(key)), "{line}: {key_text}");
                    appended.extend_from_slice(&bytes);
                }
                let whole = batch.fill(turn(number, 1, commands as u32));
                assert_eq!(text(whole), text(&appended), "{line}");
            }
        }
    }

    /// The same plan in cluster mode, which knows `{tag}`.
    fn tagged(plan: Plan) -> Plan {
        let mut parts = (*plan).clone();
        for arg in parts.sequence.iter_mut().flat_map(|c| &mut c.args) {
            *arg = arg.clone().with_tags();
        }
        parts.build().unwrap()
    }

    #[test]
    fn without_a_range_placeholders_stay_text() {
        let mut batch =
            Batch::new::<Resp>(&plan("GET k:__rand_int__", KeySpace::default(), 1, None));
        assert_eq!(text(batch.fill(turn(0, 1, 1))), "*2 $3 GET $14 k:__rand_int__");
    }

    #[test]
    fn wide_ranges_get_wider_numbers() {
        let range = 10_000_000_000_000;
        let mut batch =
            Batch::new::<Resp>(&plan("GET __rand_int__", keys("sequential", range), 1, None));
        assert_eq!(text(batch.fill(turn(range - 1, 1, 1))), "*2 $3 GET $13 9999999999999");
    }

    /// The commands of a batch, each as its words.
    fn commands(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut rest = bytes;
        let mut commands = Vec::new();
        while let Some((value, len)) = crate::resp::Value::parse(rest).unwrap() {
            let crate::resp::Value::Array(words) = value else { panic!("{value:?}") };
            let word = |word| match word {
                crate::resp::Value::Bulk(bytes) => bytes,
                other => panic!("{other:?}"),
            };
            commands.push(words.into_iter().map(word).collect());
            rest = &rest[len..];
        }
        assert!(rest.is_empty());
        commands
    }

    fn valued(line: &str, spec: ValueSpec) -> Plan {
        let mut parts = (*plan(line, keys("uniform", 1 << 30), 4, None)).clone();
        for arg in parts.sequence.iter_mut().flat_map(|c| &mut c.args) {
            *arg = arg.clone().with_values();
        }
        parts.values = Some(spec);
        parts.build().unwrap()
    }

    #[test]
    fn values_have_the_size_and_the_bytes_that_their_key_has() {
        let sizes: Sizes = "uniform:0..3k".parse().unwrap();
        let spec = |by| ValueSpec { sizes: sizes.clone(), by, content: Content::Random };
        let line = "SET k:__key__ <__data__> ; HSET __key__ __rand_int__ __data__ __data__ ; \
                    MSET __rand_int__ __data__ __rand_int__ __data__ ; LPUSH l __data__";
        let values = Values::new(Content::Random, 7, 3000);
        let draws = sizes.draws();
        for by in [SizeBy::Key, SizeBy::Request] {
            let mut batch = Batch::new::<Resp>(&valued(line, spec(by)));
            let mut appended = Vec::new();
            (5..9).for_each(|n| (0..4).for_each(|c| batch.append(n, c..c + 1, &mut appended)));
            let sent = batch.fill(turn(5, 4, 16)).to_vec();
            assert_eq!(sent, appended, "whole or command by command");
            for (n, command) in commands(&sent).iter().enumerate() {
                let request = |nth: u64| (5 + n as u64 / 4) * 6 + nth;
                let number = |word: &[u8]| -> u64 {
                    std::str::from_utf8(word).unwrap().trim_start_matches("k:").parse().unwrap()
                };
                // Where each value stands, whose it is, and which of the sequence.
                let holds = |word: &[u8], key: u64, place: u64| {
                    let sized = if by == SizeBy::Key { key } else { request(place) };
                    let len = workload::sizes::size_of(&*draws, 7, sized) as usize;
                    assert_eq!(word.len(), len, "{by:?}, command {n}");
                    assert_eq!(values.differs_at(key, 0, len, 0, word), None, "command {n}");
                };
                match n % 4 {
                    0 => {
                        let inner = &command[2][1..command[2].len() - 1];
                        holds(inner, number(&command[1]), 0);
                    }
                    1 => {
                        holds(&command[3], number(&command[1]), 1);
                        holds(&command[4], number(&command[1]) + (1 << 56), 2);
                    }
                    2 => {
                        holds(&command[2], number(&command[1]), 3);
                        holds(&command[4], number(&command[3]), 4);
                    }
                    _ => holds(&command[2], request(5), 5),
                }
            }
        }
    }

    #[test]
    fn cells_of_a_row_go_together_with_their_lengths() {
        let rows =
            vec![vec![b"1".to_vec(), b"one".to_vec()], vec![b"22".to_vec(), vec![b'x'; 120]]];
        let data = Dataset::new("f".into(), vec!["id".into(), "t".into()], rows).unwrap();
        let line = "SET d:__field:id__:__rand_int__ <__field:t__>";
        let mut batch = Batch::new::<Resp>(&plan(line, keys("sequential", 9), 2, Some(data)));
        let sent = text(batch.fill(turn(2, 2, 2)));
        let x = "x".repeat(120);
        assert_eq!(
            sent,
            format!(
                "*3 $3 SET $16 d:1:000000000002 $5 <one> *3 $3 SET $17 d:22:000000000003 $122 <{x}>"
            )
        );
    }

    #[test]
    fn a_value_that_ends_a_command_is_no_part_of_the_next() {
        use crate::memcache::Binary;
        let args = |line: &str| {
            let arg = |word: &str| Arg::literal(word.as_bytes()).with_values().with_numbers();
            CommandSpec { args: line.split(' ').map(arg).collect(), inline: false }
        };
        let mut parts = PlanParts::clone(&plan("PING", keys("sequential", 50), 3, None));
        parts.protocol = ProtocolKind::MemcacheBinary;
        parts.sequence = vec![args("set a:__key__ 0 0 __data__"), args("get b:__key__")];
        let sizes = "uniform:1..9".parse().unwrap();
        parts.values = Some(ValueSpec { sizes, by: SizeBy::Key, content: Content::default() });
        let mut batch = Batch::new::<Binary>(&parts.build().unwrap());
        let mut sent = batch.fill(turn(4, 3, 6));
        for number in 4..7 {
            for (opcode, extras, key) in [(1, 8, b'a'), (0, 0, b'b')] {
                let body = u32::from_be_bytes(sent[8..12].try_into().unwrap()) as usize;
                let (request, rest) = sent.split_at(24 + body);
                assert_eq!((request[1], request[4]), (opcode, extras));
                let named = &request[24 + usize::from(extras)..][..14];
                assert_eq!(named, format!("{}:{number:012}", key as char).as_bytes());
                assert_eq!(body > 14 + usize::from(extras), opcode == 1, "only set has a value");
                sent = rest;
            }
        }
        assert!(sent.is_empty());
        let mut alone = Vec::new();
        batch.append(4, 1..2, &mut alone);
        assert_eq!((alone[1], alone.len()), (0, 24 + 14));
    }
}
