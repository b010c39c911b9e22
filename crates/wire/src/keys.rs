//! Keys of commands, and commands with a part of their keys, for servers that share out keys.

use std::ops::Range;

use workload::{Arg, CommandSpec, Piece, Plan, Slot};

use crate::argument::append_body;
use crate::batch::digits_of;
use crate::{Batch, Protocol, RequestInputs, Split, Template};

/// The keys of every command of a plan.
#[derive(Debug)]
pub struct Keys(Vec<CommandKeys>);

#[derive(Debug)]
struct CommandKeys {
    /// The keys, each with the number of fresh numbers before it in the command.
    keys: Vec<(Template, u64)>,
    split: Option<Split>,
}

impl Keys {
    /// Collects the keys of each command of a plan.
    pub fn for_plan<P: Protocol>(plan: &Plan) -> Self {
        let mut commands = Vec::with_capacity(plan.sequence.len());
        for (span, space) in plan.key_spaces() {
            let digits = digits_of(space);
            let mut fresh = 0;
            for command in &plan.sequence[span] {
                commands.push(CommandKeys::for_command::<P>(command, digits, fresh));
                fresh += command.args.iter().map(fresh_in).sum::<u64>();
            }
        }
        Self(commands)
    }

    /// Returns the number of keys of a command.
    #[inline]
    pub fn count(&self, command: usize) -> usize {
        self.0[command].keys.len()
    }
}

impl CommandKeys {
    /// Splits a command that comes after `before` fresh numbers of its operation.
    fn for_command<P: Protocol>(command: &CommandSpec, digits: Option<usize>, before: u64) -> Self {
        let range = P::keys(command);
        let split = (range.len() > 1).then(|| P::split(command, digits)).flatten();
        let split = split.map(|split| Split { head: split.head.behind(before), ..split });
        let keys = range.map(|at: usize| {
            let mut template = Template::default();
            append_body(&mut template, &command.args[at], digits, &mut &[][..]);
            let fresh = command.args[..at].iter().map(fresh_in).sum();
            (template.behind(before + fresh), fresh)
        });
        Self { keys: keys.collect(), split }
    }
}

fn fresh_in(arg: &Arg) -> u64 {
    arg.pieces.iter().filter(|piece| **piece == Piece::Number(Slot::Fresh)).count() as u64
}

impl Batch {
    /// Appends key number `key` of a command of a request.
    #[inline]
    pub fn append_key(
        &self,
        keys: &Keys,
        command: usize,
        key: usize,
        request: RequestInputs<'_>,
        out: &mut Vec<u8>,
    ) {
        let (template, fresh) = &keys.0[command].keys[key];
        self.append_part(template, *fresh, command, request, out);
    }

    /// Appends a command with only the keys whose numbers `wanted` picks. An indivisible command is appended
    /// whole.
    pub fn append_some(
        &self,
        keys: &Keys,
        command: usize,
        wanted: impl Fn(usize) -> bool,
        request: RequestInputs<'_>,
        out: &mut Vec<u8>,
    ) {
        let CommandKeys { keys: parts, split } = &keys.0[command];
        let Some(Split { head, between, tail }) = split else {
            let whole: Range<usize> = command..command + 1;
            return self.append_of(request, whole, out);
        };
        self.append_part(head, 0, command, request, out);
        for (_, (key, fresh)) in parts.iter().enumerate().filter(|(at, _)| wanted(*at)) {
            out.extend_from_slice(between);
            self.append_part(key, *fresh, command, request, out);
        }
        out.extend_from_slice(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::plan;
    use crate::memcache::{Binary, Text};
    use workload::{KeyDist, KeyNumbering, KeySpace};

    fn plan_of(line: &str) -> Plan {
        plan(line, KeySpace::new(Some(1000), KeyDist::UNIFORM), 1, None)
    }

    fn key<P: Protocol>(plan: &Plan, command: usize, key: usize) -> String {
        let (batch, keys) = (Batch::new::<P>(plan), Keys::for_plan::<P>(plan));
        let mut out = Vec::new();
        batch.append_key(&keys, command, key, 7.into(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_by_itself_is_that_of_the_command() {
        let plan = plan_of("mn ; gat 60 a:__rand_int__ b:__rand_int__ ; set k:__key__ 0 0 v");
        let batch = Batch::new::<Text>(&plan);
        let mut sent = Vec::new();
        batch.append(7, 0..3, &mut sent);
        let sent = String::from_utf8(sent).unwrap();
        let keys = Keys::for_plan::<Text>(&plan);
        assert_eq!([0, 1, 2].map(|command| keys.count(command)), [0, 2, 1]);
        let (a, b) = (key::<Text>(&plan, 1, 0), key::<Text>(&plan, 1, 1));
        assert!(sent.contains(&format!("gat 60 {a} {b}\r\n")), "{sent}: {a} {b}");
        assert!(sent.contains(&format!("set {} 0 0 1\r\n", key::<Text>(&plan, 2, 0))), "{sent}");
        let plan = plan_of("gat 60 k:__rand_int__");
        assert_eq!(key::<Binary>(&plan, 0, 0), key::<Text>(&plan, 0, 0));
    }

    #[test]
    fn a_command_is_split_by_its_keys() {
        let plan = plan_of("get a b:__rand_int__ c b:__rand_int__");
        let (batch, keys) = (Batch::new::<Text>(&plan), Keys::for_plan::<Text>(&plan));
        let some = |wanted: &[usize]| {
            let mut out = Vec::new();
            batch.append_some(&keys, 0, |at| wanted.contains(&at), 7.into(), &mut out);
            String::from_utf8(out).unwrap()
        };
        let (b, d) = (key::<Text>(&plan, 0, 1), key::<Text>(&plan, 0, 3));
        assert_ne!(b, d);
        assert_eq!(some(&[0, 2]), "get a c\r\n");
        assert_eq!(some(&[3]), format!("get {d}\r\n"));
        let mut whole = Vec::new();
        batch.append(7, 0..1, &mut whole);
        assert_eq!(some(&[0, 1, 2, 3]).into_bytes(), whole);
    }

    #[test]
    fn keys_without_zeros_are_those_of_the_command_too() {
        let mut space = KeySpace::new(Some(1000), KeyDist::UNIFORM);
        space.numbered = KeyNumbering { bare: true, first: 5, ..KeyNumbering::default() };
        let plan = plan("get a:__rand_int__ ; get b:__rand_int__ c:__rand_int__", space, 1, None);
        let (batch, keys) = (Batch::new::<Text>(&plan), Keys::for_plan::<Text>(&plan));
        let (mut whole, mut split) = (Vec::new(), Vec::new());
        batch.append(7, 1..2, &mut whole);
        batch.append_some(&keys, 1, |_| true, 7.into(), &mut split);
        assert_eq!(String::from_utf8(split).unwrap(), String::from_utf8(whole).unwrap());
    }
}
