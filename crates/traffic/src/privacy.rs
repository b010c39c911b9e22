//! Parts of a command that may be recorded: by default values become sizes, and names can become pseudonyms.

use std::collections::HashMap;

use flate2::{Compress, Compression, FlushCompress};

use crate::commands::{self, Command, Property, Role};
use crate::{Event, Protocol, Pseudonyms};

/// Minimum length of values that are tested for compression.
const COMPRESSED_BYTES_MIN: usize = 32;
/// Bytes of a value that are compressed for a test.
const COMPRESSED_BYTES_MAX: usize = 4096;
/// Interval, in values of a command, at which one is tested for compression; the others take its result.
const VALUES_PER_LOOK: u32 = 16;
/// Maximum number of commands with a stored result.
const COMMANDS_MAX: usize = 256;
/// Commands whose arguments are, or may be, passwords.
const SECRET: [&[u8]; 5] = [b"acl", b"auth", b"config", b"hello", b"migrate"];
/// Words of options, which are not personal.
const OPTIONS: &str = " \
    ABSTTL AFTER AGGREGATE ALPHA AND ANY ASC ASYNC BEFORE BIT BLOCK BY BYBOX BYLEX BYRADIUS \
    BYSCORE BYTE CH CONSUMERS COPY COUNT CREATE CREATECONSUMER DELCONSUMER DESC DESTROY \
    ENCODING ENTRIESREAD EX EXAT FAIL FIELDS FLUSH FNX FORCE FREQ FROMLONLAT FROMMEMBER FT \
    FULL FXX GET GROUP GROUPS GT HELP IDLE IDLETIME IDX INCR INCRBY JUSTID KEEPTTL KEYS KM \
    LASTID LEFT LEN LIMIT LOAD LT M MATCH MAX MAXLEN MI MIN MINID MINMATCHLEN MKSTREAM NOACK \
    NOT NOVALUES NX OR OVERFLOW PERSIST PX PXAT RANK REFCOUNT REPLACE RETRYCOUNT REV RIGHT SAT \
    SET SETID STORE STREAM STREAMS SUM SYNC TIME TYPE USAGE WEIGHTS WITHCOORD WITHDIST \
    WITHHASH WITHMATCHLEN WITHSCORES WITHVALUES WRAP XOR XX ";

/// Place of a script in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    None,
    /// Before the number of keys; values are after the keys.
    Call,
    /// Anywhere.
    Text,
}

/// Removes private parts of events.
#[derive(Debug)]
pub struct Privacy {
    protocol: Protocol,
    keeps_values: bool,
    pseudonyms: Option<Pseudonyms>,
    compressibility: HashMap<Vec<u8>, (u32, u8)>,
    compress: Compress,
    packed: Vec<u8>,
    keys: Vec<usize>,
    roles: Vec<Role>,
    name: Vec<u8>,
}

impl Privacy {
    /// Creates a filter that keeps values if asked to, and replaces names if there are pseudonyms.
    pub fn new(protocol: Protocol, keeps_values: bool, pseudonyms: Option<Pseudonyms>) -> Self {
        Self {
            protocol,
            keeps_values,
            pseudonyms,
            compressibility: HashMap::new(),
            compress: Compress::new(Compression::fast(), false),
            packed: Vec::with_capacity(COMPRESSED_BYTES_MAX + 64),
            keys: Vec::new(),
            roles: Vec::new(),
            name: Vec::new(),
        }
    }

    /// Writes the permitted parts of an event to another one.
    pub fn apply(&mut self, event: &Event, out: &mut Event) {
        out.clear();
        (out.at_ns, out.client, out.db) = (event.at_ns, event.client, event.db);
        (out.flags, out.outcome) = (event.flags, event.outcome);
        let mut roles = std::mem::take(&mut self.roles);
        commands::roles(self.protocol, event, &mut self.keys, &mut roles);
        self.name.clear();
        self.name.extend(event.name().iter().map(u8::to_ascii_lowercase));
        let is_secret = SECRET.contains(&&*self.name);
        let command = Command::for_event(event);
        let is_known = self.protocol == Protocol::Memcache || command.is_known();
        let script = self.script(command);
        for (at, (argument, role)) in event.arguments().zip(&roles).enumerate() {
            let Some(bytes) = argument.bytes else {
                out.push_size(argument.size, argument.compressibility);
                continue;
            };
            match role {
                Role::Name => out.push(bytes),
                _ if is_secret => out.push_size(argument.size, 0),
                Role::Key | Role::Member => self.push_name(bytes, out),
                Role::Value => self.push_value(bytes, out),
                Role::Other if !is_known => self.push_value(bytes, out),
                Role::Other if script == Script::Call && at > 2 => self.push_value(bytes, out),
                Role::Other if is_option(bytes) || script == Script::Call && at == 2 => {
                    out.push(bytes);
                }
                Role::Other if script != Script::None => match self.pseudonyms {
                    Some(_) => self.push_value(bytes, out),
                    None => out.push(bytes),
                },
                Role::Other => self.push_name(bytes, out),
            }
        }
        self.roles = roles;
    }

    fn script(&self, command: &Command) -> Script {
        match &*self.name {
            b"function" | b"script" => Script::Text,
            _ if command.has(Property::RunsScript) => Script::Call,
            _ => Script::None,
        }
    }

    fn push_name(&self, bytes: &[u8], out: &mut Event) {
        match &self.pseudonyms {
            None => out.push(bytes),
            Some(pseudonyms) => {
                let mut name = bytes.to_vec();
                pseudonyms.replace(&mut name);
                out.push(&name);
            }
        }
    }

    fn push_value(&mut self, bytes: &[u8], out: &mut Event) {
        if self.keeps_values {
            return out.push(bytes);
        }
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let compressibility = self.compressibility(bytes);
        out.push_size(size, compressibility);
    }

    /// Percentage by which a value, or a recent one of its command, shrinks by compression.
    fn compressibility(&mut self, value: &[u8]) -> u8 {
        if value.len() < COMPRESSED_BYTES_MIN {
            return 0;
        }
        if let Some((age, percent)) = self.compressibility.get_mut(&self.name) {
            *age += 1;
            if *age % VALUES_PER_LOOK != 0 {
                return *percent;
            }
        }
        let piece = &value[..value.len().min(COMPRESSED_BYTES_MAX)];
        self.compress.reset();
        self.packed.clear();
        let packed = self.compress.compress_vec(piece, &mut self.packed, FlushCompress::Finish);
        let saved = match packed {
            Ok(flate2::Status::StreamEnd) => piece.len().saturating_sub(self.packed.len()),
            _ => 0,
        };
        let percent = (saved * 100 / piece.len()) as u8;
        if self.compressibility.len() < COMMANDS_MAX
            || self.compressibility.contains_key(&self.name)
        {
            self.compressibility.entry(self.name.clone()).or_default().1 = percent;
        }
        percent
    }
}

/// Returns whether an argument is a number, a bound of a range, or an option.
fn is_option(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let number = text.trim_start_matches(['(', '+', '-']);
    let is_short_number = number.len() <= 17 && number.parse::<f64>().is_ok();
    if matches!(text, "" | "-" | "+" | "*" | "$" | ">" | "=" | "~") || is_short_number {
        return true;
    }
    // `0-0`, `1526919030474-55`: entries of streams.
    if text.split_once('-').is_some_and(|(ms, n)| [ms, n].iter().all(|part| is_digits(part))) {
        return true;
    }
    let upper = text.to_ascii_uppercase();
    !upper.contains(' ') && OPTIONS.contains(&format!(" {upper} "))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(words: &[&str]) -> Event {
        let mut event = Event::default();
        (event.at_ns, event.client, event.db) = (7, 3, 2);
        words.iter().for_each(|word| event.push(word.as_bytes()));
        event
    }

    /// Each argument: its bytes, or its size in brackets.
    fn shown(privacy: &mut Privacy, words: &[&str]) -> String {
        let mut out = Event::default();
        privacy.apply(&event(words), &mut out);
        assert_eq!((out.at_ns, out.client, out.db), (7, 3, 2));
        let each = out.arguments().map(|argument| match argument.bytes {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => format!("[{}]", argument.size),
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_become_sizes_and_what_is_not_known_does() {
        let mut privacy = Privacy::new(Protocol::Resp, false, None);
        for (words, expected) in [
            (&["SET", "k", "secret", "EX", "10"][..], "SET k [6] EX 10"),
            (&["MSET", "a", "one", "b", "three"], "MSET a [3] b [5]"),
            (&["HSET", "h", "field", "value"], "HSET h field [5]"),
            (
                &["XADD", "s", "MAXLEN", "~", "9", "*", "mail", "a@b"],
                "XADD s MAXLEN ~ 9 * mail [3]",
            ),
            (&["SET", "k", "secret", "IFEQ", "older"], "SET k [6] IFEQ [5]"),
            (&["LREM", "l", "0", "secret"], "LREM l 0 [6]"),
            (&["LPOS", "l", "secret", "RANK", "1"], "LPOS l [6] RANK 1"),
            (&["PING", "secret"], "PING [6]"),
            (&["EVAL", "return 1", "1", "k", "x"], "EVAL return 1 1 k [1]"),
            (&["FCALL", "f", "1", "k", "x"], "FCALL f 1 k [1]"),
            (&["JSON.SET", "doc", "$", "{\"a\":1}"], "JSON.SET doc [1] [7]"),
            (&["AUTH", "anna", "hunter2"], "AUTH [4] [7]"),
            (&["HELLO", "3", "AUTH", "anna", "hunter2"], "HELLO [1] [4] [4] [7]"),
            (&["CONFIG", "SET", "requirepass", "hunter2"], "CONFIG [3] [11] [7]"),
        ] {
            assert_eq!(shown(&mut privacy, words), expected);
        }
        let mut keeping = Privacy::new(Protocol::Resp, true, None);
        assert_eq!(shown(&mut keeping, &["SET", "k", "v"]), "SET k v");
        assert_eq!(shown(&mut keeping, &["AUTH", "hunter2"]), "AUTH [7]", "never a password");
    }

    #[test]
    fn names_become_pseudonyms_and_options_stay() {
        let mut privacy = Privacy::new(Protocol::Resp, false, Some(Pseudonyms::default()));
        let set = shown(&mut privacy, &["SET", "customer:4711", "secret", "EX", "10"]);
        assert!(set.ends_with(" [6] EX 10") && !set.contains("customer"), "{set}");
        let range =
            shown(&mut privacy, &["ZRANGEBYSCORE", "scores", "-inf", "(5", "LIMIT", "0", "9"]);
        assert!(range.ends_with(" -inf (5 LIMIT 0 9"), "{range}");
        let hash = shown(&mut privacy, &["HGET", "customer", "password"]);
        assert!(!hash.contains("customer") && !hash.contains("password"), "{hash}");
        let script = shown(&mut privacy, &["EVAL", "return 'secret'", "1", "k", "x"]);
        assert!(script.starts_with("EVAL [15] 1 ") && script.ends_with(" [1]"), "{script}");
        for words in [
            &["SADD", "phones", "49151123456", "49151123457"][..],
            &["HSETEX", "h", "EX", "60", "FIELDS", "1", "49151123456", "v"],
            &["ZADD", "z", "NX", "1", "49151123456"],
        ] {
            let numbers = shown(&mut privacy, words);
            assert!(!numbers.contains("4915112345"), "{numbers}");
        }
        let stream = shown(&mut privacy, &["XREAD", "STREAMS", "events", "1526919030474-55"]);
        assert!(stream.ends_with(" 1526919030474-55") && !stream.contains("events"), "{stream}");
    }

    #[test]
    fn it_is_known_how_well_values_compress() {
        let mut privacy = Privacy::new(Protocol::Resp, false, None);
        let mut out = Event::default();
        privacy.apply(&event(&["SET", "k", &"a".repeat(4000)]), &mut out);
        assert!(out.argument(2).unwrap().compressibility > 90);
        privacy.apply(&event(&["GETSET", "k", "x"]), &mut out);
        assert_eq!(out.argument(2).unwrap().compressibility, 0);
    }
}
