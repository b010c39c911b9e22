//! Comparison of two servers' answers to a command, as far as the command determines the answer.
//!
//! Legitimate differences between equal servers are removed first: the order of unordered answers, cursors,
//! random choices, clocks, and the wording of errors. The caller asks the servers.

use std::collections::BTreeMap;

use report::compare::{AnswerComparison, Difference};
use wire::resp::Value;

/// Kinds of differences that are kept; further ones are counted together.
const KINDS_MAX: usize = 1_000;
/// Longest part of an answer or command that an example shows, in bytes.
const SHOWN_MAX: usize = 160;

/// Commands whose answer is a set, in any order.
const UNORDERED: &str = "\
    SMEMBERS SINTER SUNION SDIFF KEYS HKEYS HVALS EXEC PUBSUB GEOSEARCH GEORADIUS \
    GEORADIUSBYMEMBER";
/// Commands whose answer is random, a cursor, a clock or an identity: only its kind is compared.
const COMPARED_BY_KIND: &str = "\
    SCAN SSCAN HSCAN ZSCAN TIME RANDOMKEY SRANDMEMBER SPOP HRANDFIELD ZRANDMEMBER XADD XRANGE \
    XREVRANGE XREAD XREADGROUP XINFO XPENDING XCLAIM XAUTOCLAIM OBJECT MEMORY DUMP LASTSAVE \
    DBSIZE TTL PTTL EXPIRETIME PEXPIRETIME";
/// Commands whose answer is about the server itself.
const SERVER_COMMANDS: &str = "\
    INFO CLIENT COMMAND LATENCY SLOWLOG DEBUG ROLE LOLWUT HELLO CLUSTER ACL MODULE WAIT \
    WAITAOF";

/// Rule for comparing answers to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Exact,
    Unordered,
    Pairs,
    Kind,
    Not,
}

impl Rule {
    fn for_command(name: &str) -> Self {
        let is_in = |list: &str| list.split(' ').any(|listed| listed == name);
        match name {
            "HGETALL" => Self::Pairs,
            _ if is_in(UNORDERED) => Self::Unordered,
            _ if is_in(COMPARED_BY_KIND) => Self::Kind,
            _ if is_in(SERVER_COMMANDS) => Self::Not,
            _ => Self::Exact,
        }
    }
}

/// Totals of the compared answers.
#[derive(Debug, Default)]
pub struct AnswerTotals {
    counts: AnswerComparison,
    kinds: BTreeMap<(String, [String; 2]), Difference>,
}

impl AnswerTotals {
    /// Compares the answers of two servers to a command.
    pub fn compare(&mut self, words: &[Vec<u8>], a: &Value, b: &Value) {
        self.counts.asked += 1;
        let first = words.first().map_or(&b""[..], Vec::as_slice);
        let name = String::from_utf8_lossy(first).to_ascii_uppercase();
        let rule = Rule::for_command(&name);
        if rule == Rule::Not {
            return;
        }
        self.counts.compared += 1;
        if is_alike(rule, a, b) {
            return;
        }
        self.counts.different += 1;
        let name = shown(name.as_bytes());
        let kinds = [kind(a), kind(b)];
        let key = (name.clone(), kinds.clone());
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&key) {
            return;
        }
        let example = || [command(words), text(a), text(b)];
        let length = command(words).len();
        let known = self.kinds.entry(key).or_insert_with(|| Difference {
            command: name,
            kinds,
            count: 0,
            example: example(),
        });
        known.count += 1;
        if length < known.example[0].len() {
            known.example = example();
        }
    }

    /// Returns the comparison, with its most frequent difference first.
    pub fn into_comparison(self) -> AnswerComparison {
        let mut differences: Vec<Difference> = self.kinds.into_values().collect();
        differences.sort_by_key(|difference| std::cmp::Reverse(difference.count));
        AnswerComparison { differences, ..self.counts }
    }
}

fn is_alike(rule: Rule, a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Servers word their errors as they like.
        (Value::Error(a), Value::Error(b)) => code(a) == code(b),
        _ if rule == Rule::Kind => kind(a) == kind(b) && sign(a) == sign(b),
        _ => {
            let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
            canonical(a, rule, &mut of_a);
            canonical(b, rule, &mut of_b);
            of_a == of_b
        }
    }
}

/// Returns whether a number is negative, as for a missing key or one without an expiry.
fn sign(value: &Value) -> bool {
    matches!(value, Value::Integer(number) if *number < 0)
}

/// The first word of an error.
fn code(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// Appends a value so that equal values have equal bytes.
fn canonical(value: &Value, rule: Rule, out: &mut Vec<u8>) {
    let mut several = |mut values: Vec<Vec<u8>>, sorted: bool| {
        if sorted {
            values.sort();
        }
        out.push(b'[');
        values.into_iter().for_each(|value| out.extend(value));
        out.push(b']');
    };
    let one = |value: &Value| {
        let mut out = Vec::new();
        canonical(value, rule, &mut out);
        out
    };
    match value {
        // Pairs as RESP2 has them.
        Value::Array(values) if rule == Rule::Pairs => {
            several(
                values.chunks(2).map(|pair| pair.iter().flat_map(one).collect()).collect(),
                true,
            );
        }
        Value::Array(values) | Value::Push(values) => {
            several(values.iter().map(one).collect(), rule == Rule::Unordered);
        }
        Value::Set(values) => several(values.iter().map(one).collect(), true),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| [one(key), one(value)].concat());
            several(pairs.collect(), true);
        }
        Value::Error(text) => out.extend([b"-", code(text), b"\n"].concat()),
        Value::Null => out.extend(b"_\n"),
        other => {
            let text = match other {
                Value::Simple(text)
                | Value::Bulk(text)
                | Value::BigNumber(text)
                | Value::Verbatim(text) => text.clone(),
                other => other.text().unwrap_or_else(|| format!("{other:?}")).into_bytes(),
            };
            out.extend(text.len().to_string().bytes().chain(*b":").chain(text));
        }
    }
}

/// Names the kind of an answer.
fn kind(value: &Value) -> String {
    match value {
        Value::Simple(_) => "a status".to_owned(),
        Value::Error(text) => format!("an error {}", shown(code(text))),
        Value::Integer(_) | Value::Double(_) | Value::BigNumber(_) => "a number".to_owned(),
        Value::Bulk(_) | Value::Verbatim(_) => "a string".to_owned(),
        Value::Null => "nothing".to_owned(),
        Value::Array(values) if values.is_empty() => "an empty list".to_owned(),
        Value::Array(_) | Value::Push(_) | Value::Set(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        Value::Boolean(_) => "a truth value".to_owned(),
    }
}

fn command(words: &[Vec<u8>]) -> String {
    shown(&words.join(&b' '))
}

fn text(value: &Value) -> String {
    let text = match value {
        Value::Array(values) | Value::Set(values) | Value::Push(values) => {
            let all: Vec<String> = values.iter().take(16).map(text).collect();
            let more = if values.len() > 16 { ", …" } else { "" };
            return format!("[{}{more}]", all.join(", "));
        }
        Value::Null => "(nothing)".to_owned(),
        other => match other {
            Value::Bulk(bytes) | Value::Simple(bytes) | Value::Error(bytes) => return shown(bytes),
            other => other.text().unwrap_or_else(|| format!("{other:?}")),
        },
    };
    shown(text.as_bytes())
}

/// Bytes as a line of text.
fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_MAX)];
    let more = if bytes.len() > SHOWN_MAX { "…" } else { "" };
    format!("{}{more}", cut.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::parse(text.replace(' ', "\r\n").as_bytes()).unwrap().unwrap().0
    }

    fn differs(command: &str, a: &str, b: &str) -> Option<[String; 2]> {
        let mut answers = AnswerTotals::default();
        let words: Vec<Vec<u8>> = command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        answers.compare(&words, &value(a), &value(b));
        answers.into_comparison().differences.pop().map(|difference| difference.kinds)
    }

    #[test]
    fn what_may_differ_on_equal_servers_is_no_difference() {
        for (command, a, b) in [
            ("GET k", "$1 a ", "$1 a "),
            ("SMEMBERS s", "*2 $1 a $1 b ", "*2 $1 b $1 a "),
            ("EXEC", "*1 *2 $1 a $1 b ", "*1 *2 $1 b $1 a "),
            ("SPOP s", "$1 a ", "$1 b "),
            ("TTL k", ":100 ", ":99 "),
            ("SCAN 0", "*2 $1 0 *1 $1 a ", "*2 $1 7 *1 $1 b "),
            ("GET k", "-WRONGTYPE\u{a0}this ", "-WRONGTYPE\u{a0}this "),
            ("INFO", "$1 a ", "$1 b "),
            ("HGETALL h", "%1 $1 a $1 b ", "%1 $1 a $1 b "),
            ("HGETALL h", "*4 $1 a $1 1 $1 b $1 2 ", "*4 $1 b $1 2 $1 a $1 1 "),
            ("XRANGE x - +", "*1 $1 a ", "*1 $1 b "),
        ] {
            assert_eq!(differs(command, a, b), None, "{command} {a} {b}");
        }
    }

    #[test]
    fn what_must_not_differ_is_found_as_its_kind() {
        for (command, a, b, kinds) in [
            ("GET k", "$1 a ", "$1 b ", ["a string", "a string"]),
            ("GET k", "$1 a ", "$-1 ", ["a string", "nothing"]),
            ("LRANGE l 0 -1", "*2 $1 a $1 b ", "*2 $1 b $1 a ", ["a list", "a list"]),
            ("TTL k", ":100 ", ":-1 ", ["a number", "a number"]),
            ("INCR n", ":1 ", "-WRONGTYPE ", ["a number", "an error WRONGTYPE"]),
            (
                "HGETALL h",
                "*4 $1 a $1 1 $1 b $1 2 ",
                "*4 $1 a $1 2 $1 b $1 1 ",
                ["a list", "a list"],
            ),
            ("SPOP s", "$1 a ", "*0 ", ["a string", "an empty list"]),
        ] {
            assert_eq!(differs(command, a, b).unwrap(), kinds, "{command}");
        }
    }

    #[test]
    fn the_shortest_example_stands_for_its_kind() {
        let mut answers = AnswerTotals::default();
        for key in ["a long key", "k", "another"] {
            let words = [b"GET".to_vec(), key.as_bytes().to_vec()];
            answers.compare(&words, &value("$1 a "), &value("$-1 "));
        }
        let answers = answers.into_comparison();
        let differences = &answers.differences;
        assert_eq!((differences.len(), differences[0].count), (1, 3));
        assert_eq!(differences[0].example, ["GET k", "a", "(nothing)"]);
        assert_eq!((answers.asked, answers.compared, answers.different), (3, 3, 3));
    }
}
