//! Encoding of commands as binary requests, from the same words as in the text protocol.

use workload::{Arg, CommandSpec, Piece};

use super::header::{REQUEST, STAT};
use crate::argument::{Length, append_body, values_in};
use crate::memcache::words;
use crate::payload::places;
use crate::{Insert, LengthForm, Template, ValueAt};

/// A command: its opcode, and the words of its key and value.
struct Opcode {
    name: &'static str,
    code: u8,
    key: Option<usize>,
    value: Option<usize>,
    extras: Extras,
    /// Maximum number of words.
    words: usize,
}

/// The numbers between header and key, from these words.
#[derive(Clone, Copy)]
enum Extras {
    None,
    /// Flags and lifetime.
    FlagsTtl,
    /// Lifetime, at this word.
    Ttl(usize),
    /// Delay, if one is given.
    Delay,
    /// Difference, initial value and lifetime; absent keys are created only if the last two are given.
    Delta,
}

const fn on_key(name: &'static str, code: u8, extras: Extras, words: usize) -> Opcode {
    Opcode { name, code, key: Some(1), value: None, extras, words }
}

const fn stores(name: &'static str, code: u8, extras: Extras) -> Opcode {
    Opcode { name, code, key: Some(1), value: Some(4), extras, words: 5 }
}

const fn alone(name: &'static str, code: u8, extras: Extras, words: usize) -> Opcode {
    Opcode { name, code, key: None, value: None, extras, words }
}

const OPCODES: &[Opcode] = &[
    on_key("get", 0x00, Extras::None, 2),
    // Every reply brings the token of its item.
    on_key("gets", 0x00, Extras::None, 2),
    on_key("getk", 0x0c, Extras::None, 2),
    stores("set", 0x01, Extras::FlagsTtl),
    stores("add", 0x02, Extras::FlagsTtl),
    stores("replace", 0x03, Extras::FlagsTtl),
    Opcode { value: Some(5), words: 6, ..stores("cas", 0x01, Extras::FlagsTtl) },
    stores("append", 0x0e, Extras::None),
    stores("prepend", 0x0f, Extras::None),
    on_key("delete", 0x04, Extras::None, 2),
    on_key("incr", 0x05, Extras::Delta, 5),
    on_key("decr", 0x06, Extras::Delta, 5),
    on_key("touch", 0x1c, Extras::Ttl(2), 3),
    Opcode { key: Some(2), ..on_key("gat", 0x1d, Extras::Ttl(1), 3) },
    alone("noop", 0x0a, Extras::None, 1),
    alone("mn", 0x0a, Extras::None, 1),
    alone("version", 0x0b, Extras::None, 1),
    alone("flush_all", 0x08, Extras::Delay, 2),
    Opcode { key: Some(1), ..alone("stats", STAT, Extras::None, 2) },
    // Encoding of a login: the mechanism and its data.
    Opcode { value: Some(2), ..on_key("sasl_auth", 0x21, Extras::None, 3) },
];

/// Lifetime that keeps absent keys absent.
const NEVER_CREATE: u32 = u32::MAX;

fn opcode(command: &CommandSpec) -> Option<&'static Opcode> {
    let name = words::name(command);
    OPCODES.iter().find(|opcode| opcode.name.as_bytes() == name)
}

/// Compiles a command, like [`crate::Protocol::compile`]. A command that [`check`] refuses becomes one that
/// does nothing.
pub(super) fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
    let Some(opcode) = opcode(command) else {
        return compile(&CommandSpec::from_words(["noop"]), digits);
    };
    let places = places(command, digits);
    let extras = extras(opcode, command).unwrap_or_default();
    let cas = number_at(command, 4).filter(|_| opcode.name == "cas");
    let part = |at: Option<usize>| at.and_then(|at| Some((at, command.args.get(at)?)));
    let (key, value) = (part(opcode.key), part(opcode.value));
    let length = |part: Option<(usize, &Arg)>| {
        part.map(|(at, arg)| Length::new(arg, digits, values_from(command, at, &places)))
    };
    let key_len = length(key).unwrap_or_default();
    let body = length(value).unwrap_or_default().plus(&key_len, extras.len());
    let mut template = Template::default();
    template.bytes.extend([REQUEST, opcode.code]);
    key_len.append(LengthForm::U16, &mut template);
    template.bytes.extend([extras.len() as u8, 0, 0, 0]);
    body.append(LengthForm::U32, &mut template);
    template.bytes.extend([0; 4]);
    if has_token(command) {
        template.inserts.push((template.bytes.len(), Insert::Cas(LengthForm::U64)))
    } else {
        template.bytes.extend(cas.unwrap_or(0).to_be_bytes())
    }
    template.bytes.extend(extras);
    for (at, arg) in key.into_iter().chain(value) {
        let mut values = values_from(command, at, &places);
        append_body(&mut template, arg, digits, &mut values);
    }
    template
}

/// Returns whether the command holds the token of an earlier reply.
fn has_token(command: &CommandSpec) -> bool {
    command.args.iter().any(|arg| arg.pieces.contains(&Piece::Cas))
}

/// The places for values from this word on.
fn values_from<'p>(command: &CommandSpec, at: usize, places: &'p [ValueAt]) -> &'p [ValueAt] {
    &places[command.args[..at].iter().map(values_in).sum::<usize>()..]
}

/// Extras of a command; `None` if a word is not a number in range.
fn extras(opcode: &Opcode, command: &CommandSpec) -> Option<Vec<u8>> {
    let number = |at: usize| number_at(command, at);
    let short = |at: usize| number(at).and_then(|n| u32::try_from(n).ok());
    Some(match opcode.extras {
        Extras::None => Vec::new(),
        Extras::FlagsTtl => [short(2)?.to_be_bytes(), short(3)?.to_be_bytes()].concat(),
        Extras::Ttl(at) => short(at)?.to_be_bytes().to_vec(),
        Extras::Delay if command.args.len() < 2 => Vec::new(),
        Extras::Delay => short(1)?.to_be_bytes().to_vec(),
        Extras::Delta => {
            let (initial, ttl) = match command.args.len() {
                5 => (number(3)?, short(4)?),
                _ => (0, NEVER_CREATE),
            };
            let mut out = number(2)?.to_be_bytes().to_vec();
            out.extend(initial.to_be_bytes());
            out.extend(ttl.to_be_bytes());
            out
        }
    })
}

/// Numeric value of a word.
fn number_at(command: &CommandSpec, at: usize) -> Option<u64> {
    let word = command.args.get(at)?.fixed_bytes()?;
    std::str::from_utf8(&word).ok()?.parse().ok()
}

/// Checks a command, like [`crate::Protocol::check`].
pub(super) fn check(command: &CommandSpec, digits: Option<usize>) -> Result<(), String> {
    let name = String::from_utf8_lossy(&words::name(command)).into_owned();
    words::check(command, digits)?;
    let Some(opcode) = opcode(command).filter(|opcode| opcode.name != "sasl_auth") else {
        let known: Vec<&str> = OPCODES.iter().map(|opcode| opcode.name).collect();
        let known = known[..known.len() - 1].join(", ");
        return Err(format!("{name}: not a command of the binary protocol; available: {known}"));
    };
    if command.args.len() > opcode.words {
        let most = opcode.words - 1;
        return Err(format!(
            "{name}: the binary protocol takes {most} arguments; for several keys, use several \
             commands separated by ';'"
        ));
    }
    if opcode.name == "cas" && number_at(command, 4).is_none() && !has_token(command) {
        return Err("cas: in the binary protocol, the token must be a number or __cas__".to_owned());
    }
    if extras(opcode, command).is_none() {
        return Err(format!(
            "{name}: in the binary protocol, flags, lifetimes and amounts must be plain numbers \
             without placeholders"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> CommandSpec {
        let args = line.split(' ').map(|w| Arg::literal(w.as_bytes()).with_values().with_numbers());
        CommandSpec { args: args.collect(), inline: false }
    }

    fn hex(line: &str) -> String {
        let command = CommandSpec::parse(line.split(' '));
        let bytes = compile(&command, Some(4)).bytes;
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn requests_are_those_of_the_specification() {
        let rest = "00000000";
        let zeros = "0000000000000000";
        for (line, sent) in [
            ("get Hello", format!("80000005 00000000 00000005 {rest} {zeros} 48656c6c6f")),
            (
                "add Hello 3735928559 3600 World",
                format!(
                    "80020005 08000000 00000012 {rest} {zeros} deadbeef 00000e10 48656c6c6f \
                     576f726c64"
                ),
            ),
            (
                "incr c 1 0 3600",
                format!(
                    "80050001 14000000 00000015 {rest} {zeros} 0000000000000001 {zeros} 00000e10 63"
                ),
            ),
            (
                "incr c 1",
                format!(
                    "80050001 14000000 00000015 {rest} {zeros} 0000000000000001 {zeros} ffffffff 63"
                ),
            ),
            ("append k 0 0 !", format!("800e0001 00000000 00000002 {rest} {zeros} 6b 21")),
            ("gat 9 k", format!("801d0001 04000000 00000005 {rest} {zeros} 00000009 6b")),
            (
                "cas k 0 0 7 v",
                format!("80010001 08000000 0000000a {rest} 0000000000000007 {zeros} 6b 76"),
            ),
            ("stats", format!("80100000 00000000 00000000 {rest} {zeros}")),
            ("noop", format!("800a0000 00000000 00000000 {rest} {zeros}")),
        ] {
            assert_eq!(hex(line), sent.replace(' ', ""), "{line}");
        }
    }

    #[test]
    fn lengths_of_values_that_vary_are_big_endian_inserts() {
        let template = compile(&command("set k:__key__ 0 60 __data__"), Some(4));
        let (at, Insert::Length { form, fixed, .. }) = &template.inserts[0] else {
            panic!("{:?}", template.inserts)
        };
        assert_eq!((*at, *form, *fixed), (8, LengthForm::U32, 8 + 6));
        assert_eq!(template.inserts[1].0, template.bytes.len(), "the value comes last");
        assert_eq!(template.bytes[2..4], [0, 6]);
    }

    #[test]
    fn what_has_no_opcode_or_number_is_refused() {
        for (line, says) in [
            ("mg k v", "not a command of the binary protocol"),
            ("sasl_auth PLAIN x", "not a command"),
            ("get a b", "several commands"),
            ("set k x 0 v", "plain numbers"),
            ("incr k __key__", "plain numbers"),
            ("cas k 0 0 x v", "token"),
        ] {
            let error = check(&command(line), Some(4)).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        for line in ["get k", "set k 0 0 __data__", "incr k 1", "flush_all", "gat 0 k", "mn"] {
            assert_eq!(check(&command(line), Some(4)), Ok(()), "{line}");
        }
    }
}
