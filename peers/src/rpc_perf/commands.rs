//! Verbs as the words of the commands that a server gets, one step each.

use std::time::Duration;

use workload::DerivedText;
use workload::derived::{DrawnNumber, KeyText, RandomBytes};

use super::keyspace::{Command, Keyspace, Names, Value};
use super::verb::{Protocol, Verb};

/// Letters and digits that the largest number of a key takes, and of an inner key.
const KEY_LETTERS: u32 = 11;
const INNER_LETTERS: u32 = 6;
/// Start of the streams from which texts beside inner keys are drawn.
const SCORES: u8 = 64;
const NUMBERS: u8 = 128;
const LOW_DIGITS: u8 = 192;

/// Writer of commands.
pub(super) struct Writer<'k> {
    pub(super) protocol: Protocol,
    pub(super) keyspace: &'k Keyspace,
    /// Set if the values of the whole plan are of one kind, which it then says itself.
    pub(super) plan_has_values: bool,
}

impl Writer<'_> {
    /// The commands of an operation, each of which is a step.
    pub(super) fn commands(&self, command: &Command) -> Vec<Vec<String>> {
        match self.protocol {
            Protocol::Resp => self.resp(command),
            Protocol::Memcache => vec![self.memcache(command.verb)],
            Protocol::Ping => vec![vec!["PING".into()]],
        }
    }

    fn memcache(&self, verb: Verb) -> Vec<String> {
        let name = verb.name().into();
        match verb {
            Verb::Get | Verb::Delete => vec![name, self.key()],
            _ => {
                let ttl = self.keyspace.ttl().map_or(0, |ttl| ttl.as_millis().div_ceil(1000));
                vec![name, self.key(), "0".into(), ttl.to_string(), self.value(0)]
            }
        }
    }

    fn resp(&self, command: &Command) -> Vec<Vec<String>> {
        let count = command.count();
        let several = 0..count as u8;
        let inner = |n: u8| self.inner(n, count);
        let on_key = |name: &str| vec![name.into(), self.key()];
        let on_inner = |name: &str| {
            let mut args = on_key(name);
            args.extend(several.clone().map(inner));
            args
        };
        match command.verb {
            Verb::Ping => vec![vec!["PING".into()]],
            Verb::Get => vec![on_key("GET")],
            Verb::Set => vec![self.set(None)],
            Verb::Add => vec![self.set(Some("NX"))],
            Verb::Replace => vec![self.set(Some("XX"))],
            Verb::Delete => vec![on_key("DEL")],
            Verb::HashSet => {
                let mut args = on_key("HSET");
                args.extend(several.flat_map(|n| [inner(n), self.value(n)]));
                self.with_ttl(args)
            }
            Verb::HashGet if count > 1 => vec![on_inner("HMGET")],
            Verb::HashGet => vec![on_inner("HGET")],
            Verb::HashGetAll => vec![on_key("HGETALL")],
            Verb::HashDelete => vec![on_inner("HDEL")],
            Verb::HashExists => vec![on_inner("HEXISTS")],
            Verb::HashIncrement => {
                let mut args = on_inner("HINCRBY");
                args.push(drawn(1, u32::MAX, NUMBERS));
                self.with_ttl(args)
            }
            Verb::ListPushFront => self.pushed(on_inner("LPUSH"), command),
            Verb::ListPushBack => self.pushed(on_inner("RPUSH"), command),
            Verb::ListFetch => vec![vec!["LRANGE".into(), self.key(), "0".into(), "-1".into()]],
            Verb::ListLength => vec![on_key("LLEN")],
            Verb::ListPopFront => vec![on_key("LPOP")],
            Verb::ListPopBack => vec![on_key("RPOP")],
            Verb::SetAdd => self.with_ttl(on_inner("SADD")),
            Verb::SetMembers => vec![on_key("SMEMBERS")],
            Verb::SetRemove => vec![on_inner("SREM")],
            Verb::SortedSetAdd => {
                let mut args = on_key("ZADD");
                args.extend(several.flat_map(|n| [score(SCORES + n), inner(n)]));
                self.with_ttl(args)
            }
            Verb::SortedSetRange => {
                let by_score = command.by_score == Some(true);
                let name = if by_score { "ZRANGEBYSCORE" } else { "ZRANGE" };
                let mut args = on_key(name);
                let bounds = [command.start.unwrap_or(0), command.end.unwrap_or(-1)];
                args.extend(bounds.map(|bound| bound.to_string()));
                vec![args]
            }
            Verb::SortedSetIncrement => {
                let mut args = on_key("ZINCRBY");
                args.extend([score(SCORES), inner(0)]);
                self.with_ttl(args)
            }
            Verb::SortedSetRank => vec![on_inner("ZRANK")],
            Verb::SortedSetRemove => vec![on_inner("ZREM")],
            Verb::SortedSetScore if count > 1 => vec![on_inner("ZMSCORE")],
            Verb::SortedSetScore => vec![on_inner("ZSCORE")],
            // Refused when the file is read.
            Verb::GetBatch | Verb::ListRemove => Vec::new(),
        }
    }

    /// `SET k v [NX|XX] [EX s|PX ms]`.
    fn set(&self, condition: Option<&str>) -> Vec<String> {
        let mut args = vec!["SET".into(), self.key(), self.value(0)];
        args.extend(condition.map(String::from));
        if let Some((whole, number)) = self.keyspace.ttl().map(units) {
            args.extend([if whole { "EX" } else { "PX" }.to_owned(), number]);
        }
        args
    }

    /// A push, and the command that truncates the list.
    fn pushed(&self, push: Vec<String>, command: &Command) -> Vec<Vec<String>> {
        let mut all = vec![push];
        if let Some(kept) = command.truncate {
            let (first, last) = match command.verb {
                Verb::ListPushFront => ("0".to_owned(), (kept - 1).to_string()),
                _ => (format!("-{kept}"), "-1".to_owned()),
            };
            all.push(vec!["LTRIM".into(), self.key(), first, last]);
        }
        all.extend(self.expiry());
        all
    }

    fn with_ttl(&self, args: Vec<String>) -> Vec<Vec<String>> {
        std::iter::once(args).chain(self.expiry()).collect()
    }

    /// Returns the command that gives a key a lifetime that has none.
    fn expiry(&self) -> Option<Vec<String>> {
        let (whole, number) = units(self.keyspace.ttl()?);
        let name = if whole { "EXPIRE" } else { "PEXPIRE" };
        Some(vec![name.into(), self.key(), number, "NX".into()])
    }

    fn key(&self) -> String {
        let len = self.keyspace.keys().len;
        let width = len.min(KEY_LETTERS);
        let key = KeyText { hashed: false, letters: true, width: width as u8 };
        named(len, width, DerivedText::Key(key))
    }

    /// Returns one of `count` different inner keys, each of which is drawn from a part of them. Elements of a list may
    /// be more than there are, and are then drawn from all.
    fn inner(&self, n: u8, count: u32) -> String {
        let Names { count: all, len } = self.keyspace.inner();
        let width = len.min(INNER_LETTERS);
        let bound = |at: u32| (u64::from(all) * u64::from(at) / u64::from(count)) as u32;
        let (least, end) =
            if count > all { (0, all) } else { (bound(n.into()), bound(u32::from(n) + 1)) };
        let (letters, most) = (width as u8, end - 1);
        let number = DrawnNumber { least, most, stream: n, letters, ..DrawnNumber::default() };
        named(len, width, DerivedText::Drawn(number))
    }

    fn value(&self, n: u8) -> String {
        match self.keyspace.value() {
            Value::Number => {
                drawn(1, u32::MAX, NUMBERS + n) + &drawn(100_000_000, 999_999_999, LOW_DIGITS + n)
            }
            Value::Bytes { len: 0, .. } => String::new(),
            Value::Bytes { .. } if self.plan_has_values => "__data__".to_owned(),
            Value::Bytes { len, ratio_percent } => {
                let random = RandomBytes { len, ratio_percent, stream: n };
                placeholder(&DerivedText::Random(random))
            }
        }
    }
}

/// A lifetime: whether it is in whole seconds, and the number of seconds or milliseconds.
fn units(ttl: Duration) -> (bool, String) {
    match ttl.subsec_nanos() {
        0 => (true, ttl.as_secs().to_string()),
        _ => (false, ttl.as_millis().to_string()),
    }
}

/// Returns a text of `len` letters and digits, of which the last `width` are derived and may differ.
fn named(len: u32, width: u32, derived: DerivedText) -> String {
    if len == 0 {
        return String::new();
    }
    "0".repeat((len - width) as usize) + &placeholder(&derived)
}

fn drawn(least: u32, most: u32, stream: u8) -> String {
    let number = DrawnNumber { least, most, stream, ..DrawnNumber::default() };
    placeholder(&DerivedText::Drawn(number))
}

fn placeholder(derived: &DerivedText) -> String {
    format!("__{derived}__")
}

/// A number from 0 to below 1, in billionths.
fn score(stream: u8) -> String {
    drawn(0, 999_999_999, stream) + "e-9"
}
