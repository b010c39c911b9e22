//! The sink's replies: for each command by name, a reply of the type and size that a server with data would
//! give.
//!
//! Nothing is stored, so replies never depend on other requests: a `SET` changes no later `GET`, and a
//! `MULTI` queues nothing.

use std::io::Write;

use wire::resp::Request;

/// Longest string of a reply in bytes.
pub const BULK_MAX: u32 = 16 << 20;
/// Elements of every list, set and sorted set.
const COLLECTION_LEN: i64 = 10_000;
/// Maximum number of bytes of the elements of one reply.
const ELEMENTS_BYTES_MAX: usize = 64 << 20;
/// Maximum number of elements that are kept ready to be copied at once.
const STRIP_LEN_MAX: usize = 1000;
/// Maximum number of bytes of these elements.
const STRIP_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ok,
    Pong,
    Echo,
    One,
    Bulk,
    /// A string, or as many as the third word says.
    Pop,
    /// A string or several, like [`Self::Pop`], each with its score.
    PopScored,
    /// Elements from the index in the third word to the one in the fourth.
    Range,
    /// As many elements as there are words after this many.
    Each(u64),
    /// A field and its value.
    Pair,
    Nothing,
    Scan,
    StreamId,
    Type,
    Hello,
    Config,
    Client,
    Info,
    Cluster,
}

/// Commands by the kind of their reply. Any other command is answered with `+OK`.
const COMMANDS: &[(Kind, &str)] = &[
    (Kind::Pong, "PING"),
    (Kind::Echo, "ECHO"),
    (
        Kind::One,
        "APPEND BITCOUNT BITPOS COPY DBSIZE DECR DECRBY DEL EXISTS EXPIRE EXPIREAT GEOADD GETBIT \
         HDEL HEXISTS HINCRBY HLEN HSET HSETNX HSTRLEN INCR INCRBY LINSERT LLEN LPUSH LPUSHX LREM \
         MOVE MSETNX PERSIST PEXPIRE PEXPIREAT PFADD PFCOUNT PTTL PUBLISH RENAMENX RPUSH RPUSHX \
         SADD SCARD SDIFFSTORE SETBIT SETNX SETRANGE SINTERSTORE SISMEMBER SMOVE SREM STRLEN \
         SUNIONSTORE TOUCH TTL UNLINK WAIT XACK XDEL XLEN XTRIM ZADD ZCARD ZCOUNT ZLEXCOUNT ZRANK \
         ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANK ZUNIONSTORE",
    ),
    (
        Kind::Bulk,
        "BRPOPLPUSH DUMP EVAL EVALSHA FCALL FCALL_RO FUNCTION GET GETDEL GETEX GETRANGE GETSET \
         HGET HINCRBYFLOAT INCRBYFLOAT LINDEX LMOVE RANDOMKEY RPOPLPUSH SRANDMEMBER SUBSTR \
         ZINCRBY ZSCORE",
    ),
    (Kind::Pop, "LPOP RPOP SPOP"),
    (Kind::PopScored, "ZPOPMIN ZPOPMAX"),
    (Kind::Range, "LRANGE ZRANGE ZREVRANGE"),
    (Kind::Each(1), "MGET"),
    (Kind::Each(2), "HMGET ZMSCORE"),
    (Kind::Pair, "HGETALL BLPOP BRPOP TIME"),
    (Kind::Nothing, "COMMAND EXEC KEYS MODULE SLOWLOG XRANGE XREAD XREADGROUP XREVRANGE"),
    (Kind::Scan, "SCAN HSCAN SSCAN ZSCAN"),
    (Kind::StreamId, "XADD"),
    (Kind::Type, "TYPE"),
    (Kind::Hello, "HELLO"),
    (Kind::Config, "CONFIG"),
    (Kind::Client, "CLIENT"),
    (Kind::Info, "INFO"),
    (Kind::Cluster, "CLUSTER"),
];

/// The replies, ready to be copied.
#[derive(Debug)]
pub struct Replies {
    /// Kinds by packed name, in the order of the names.
    kinds: Vec<(u128, Kind)>,
    bulk: Vec<u8>,
    /// Copies of `bulk`, one after another.
    strip: Vec<u8>,
    info: Vec<u8>,
}

impl Replies {
    /// Creates replies whose strings have `bulk_len` bytes, up to [`BULK_MAX`].
    pub fn new(bulk_len: u32) -> Self {
        let mut kinds: Vec<(u128, Kind)> = COMMANDS
            .iter()
            .flat_map(|(kind, names)| names.split_whitespace().map(|name| (name, *kind)))
            .filter_map(|(name, kind)| Some((packed(name.as_bytes())?, kind)))
            .collect();
        kinds.sort_unstable_by_key(|(name, _)| *name);
        let bulk = bulk(&vec![b'x'; bulk_len.min(BULK_MAX) as usize]);
        let strip = bulk.repeat((STRIP_BYTES_MAX / bulk.len()).clamp(1, STRIP_LEN_MAX));
        Self { kinds, bulk, strip, info: bulk_of_info() }
    }

    /// Appends the reply to a request.
    #[inline]
    pub fn answer(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        match self.kind(request.word(0)) {
            Kind::Ok => out.extend_from_slice(b"+OK\r\n"),
            Kind::One => out.extend_from_slice(b":1\r\n"),
            Kind::Bulk => out.extend_from_slice(&self.bulk),
            Kind::Pong if request.count() == 1 => out.extend_from_slice(b"+PONG\r\n"),
            Kind::Pop if request.count() == 2 => out.extend_from_slice(&self.bulk),
            Kind::Range => self.elements(range(request.word(2), request.word(3)), out),
            kind => self.answer_longer(kind, request, out),
        }
    }

    fn answer_longer(&self, kind: Kind, request: &Request<'_>, out: &mut Vec<u8>) {
        let asked = |n| number(request.word(n)).unwrap_or(1).clamp(0, COLLECTION_LEN) as u64;
        match kind {
            Kind::Pong | Kind::Echo => append_bulk(request.word(1), out),
            Kind::Pop => self.elements(asked(2), out),
            Kind::PopScored => self.elements(2 * asked(2), out),
            Kind::Each(besides) => self.elements(request.count().saturating_sub(besides), out),
            Kind::Pair => self.elements(2, out),
            Kind::Nothing => out.extend_from_slice(b"*0\r\n"),
            Kind::Scan => out.extend_from_slice(b"*2\r\n$1\r\n0\r\n*0\r\n"),
            Kind::StreamId => append_bulk(b"1700000000000-0", out),
            Kind::Type => out.extend_from_slice(b"+string\r\n"),
            Kind::Hello => hello(request.word(1) == b"3", out),
            Kind::Config => config(request, out),
            Kind::Client => match request.word(1).to_ascii_uppercase().as_slice() {
                b"ID" => out.extend_from_slice(b":1\r\n"),
                b"GETNAME" | b"INFO" | b"LIST" => append_bulk(b"", out),
                _ => out.extend_from_slice(b"+OK\r\n"),
            },
            Kind::Info => out.extend_from_slice(&self.info),
            Kind::Cluster => {
                out.extend_from_slice(b"-ERR This instance has cluster support disabled\r\n");
            }
            Kind::Ok | Kind::One | Kind::Bulk | Kind::Range => out.extend_from_slice(b"+OK\r\n"),
        }
    }

    #[inline]
    fn kind(&self, name: &[u8]) -> Kind {
        let found = packed(name)
            .and_then(|name| self.kinds.binary_search_by_key(&name, |(known, _)| *known).ok());
        found.map_or(Kind::Ok, |at| self.kinds[at].1)
    }

    /// Appends a list of `count` strings, or of as many as one reply may have.
    fn elements(&self, count: u64, out: &mut Vec<u8>) {
        let most = (ELEMENTS_BYTES_MAX / self.bulk.len()).max(1);
        let count = count.min(most as u64) as usize;
        append_head(b'*', count, out);
        let mut bytes = count * self.bulk.len();
        while bytes > 0 {
            let step = bytes.min(self.strip.len());
            out.extend_from_slice(&self.strip[..step]);
            bytes -= step;
        }
    }
}

/// A name in capitals as a number; `None` if it is longer than any known name.
#[inline]
fn packed(name: &[u8]) -> Option<u128> {
    (name.len() <= size_of::<u128>())
        .then(|| name.iter().fold(0, |sum, byte| sum << 8 | u128::from(byte.to_ascii_uppercase())))
}

fn number(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Counts the elements of a collection between two indices, inclusive; negative ones count from its end.
#[inline]
fn range(first: &[u8], last: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (number(first), number(last)) else { return 0 };
    let index = |n: i64| if n < 0 { n.saturating_add(COLLECTION_LEN) } else { n };
    let (first, last) = (index(first).max(0), index(last).min(COLLECTION_LEN - 1));
    if first > last { 0 } else { (last - first + 1).unsigned_abs() }
}

fn append_head(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    // Writing to memory does not fail.
    let _ = write!(out, "{number}\r\n");
}

fn append_bulk(text: &[u8], out: &mut Vec<u8>) {
    append_head(b'$', text.len(), out);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn bulk(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    append_bulk(text, &mut out);
    out
}

/// Builds enough of an `INFO` for reports to name the server.
fn bulk_of_info() -> Vec<u8> {
    let pid = std::process::id();
    let text = format!(
        "# Server\r\nredis_version:0.0.0\r\nserver_name:keystorm-sink\r\n\
         redis_mode:standalone\r\nprocess_id:{pid}\r\nloading:0\r\n"
    );
    bulk(text.as_bytes())
}

fn hello(resp3: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if resp3 { b"%3\r\n" } else { b"*6\r\n" });
    for text in ["server", "keystorm-sink", "version", "0.0.0", "proto"] {
        append_bulk(text.as_bytes(), out);
    }
    out.extend_from_slice(if resp3 { b":3\r\n" } else { b":2\r\n" });
}

/// Answers that every requested setting is empty; new values are ignored.
fn config(request: &Request<'_>, out: &mut Vec<u8>) {
    if !request.word(1).eq_ignore_ascii_case(b"get") {
        out.extend_from_slice(b"+OK\r\n");
        return;
    }
    // Of each request the first four words are known.
    let names: Vec<&[u8]> = (2..request.count().min(4)).map(|n| request.word(n as usize)).collect();
    append_head(b'*', 2 * names.len(), out);
    for name in names {
        append_bulk(name, out);
        append_bulk(b"", out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::resp::{RequestDecoder, Value, encode_command};

    fn answers(bulk_len: u32, line: &str) -> Vec<u8> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let mut request = Vec::new();
        encode_command(&words, &mut request);
        let mut decoder = RequestDecoder::default();
        let mut out = Vec::new();
        let framed = decoder.decode(&request).unwrap();
        Replies::new(bulk_len).answer(&framed.request.unwrap(), &mut out);
        out
    }

    /// Parses the whole line as a value.
    fn value(line: &str) -> Value {
        let out = answers(3, line);
        let (value, len) = Value::parse(&out).unwrap().expect("a whole reply");
        assert_eq!(len, out.len(), "{line}");
        value
    }

    fn list(line: &str) -> usize {
        match value(line) {
            Value::Array(items) => items.len(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_command_gets_a_reply_of_its_type() {
        let ok = Value::Simple(b"OK".to_vec());
        let xxx = Value::Bulk(b"xxx".to_vec());
        for line in ["set k v", "MSET a 1 b 2", "select 1", "AUTH u p", "config set a b", "NEW x"] {
            assert_eq!(value(line), ok, "{line}");
        }
        for line in ["INCR k", "lpush l v", "RPUSH l v", "SADD s m", "HSET h f v", "ZADD z 0 m"] {
            assert_eq!(value(line), Value::Integer(1), "{line}");
        }
        for line in ["GET k", "get k", "LPOP l", "RPOP l", "SPOP s", "FCALL f 1 k"] {
            assert_eq!(value(line), xxx, "{line}");
        }
        assert_eq!(value("ping"), Value::Simple(b"PONG".to_vec()));
        assert_eq!(value("PING hi"), Value::Bulk(b"hi".to_vec()));
        assert_eq!(value("ECHO hi"), Value::Bulk(b"hi".to_vec()));
        assert_eq!(value("XADD s * f v"), Value::Bulk(b"1700000000000-0".to_vec()));
        assert!(matches!(value("CLUSTER SLOTS"), Value::Error(_)));
        assert!(matches!(value("HELLO 3"), Value::Map(pairs) if pairs.len() == 3));
        assert_eq!(list("HELLO"), 6);
        assert_eq!(value("ZREMRANGEBYSCORE z 0 1"), Value::Integer(1), "as long as a name may be");
        assert_eq!(value("A.NAME.OF.17.BYTE k"), ok);
    }

    #[test]
    fn collections_have_as_many_elements_as_are_asked_for() {
        for (line, len) in [
            ("LRANGE l 0 99", 100),
            ("LRANGE l 0 599", 600),
            ("LRANGE l 0 0", 1),
            ("LRANGE l 0 -1", 10_000),
            ("LRANGE l -5 -1", 5),
            ("LRANGE l 5 1", 0),
            ("LRANGE l 0 99999999999", 10_000),
            ("LRANGE l -9223372036854775808 9223372036854775807", 10_000),
            ("LRANGE l x y", 0),
            ("LRANGE", 0),
            ("MGET a b c d e f", 6),
            ("HMGET h a b c", 3),
            ("ZPOPMIN z", 2),
            ("ZPOPMIN z 3", 6),
            ("LPOP l 7", 7),
            ("LPOP l -7", 0),
            ("CONFIG GET save", 2),
            ("CONFIG GET", 0),
            ("COMMAND DOCS", 0),
            ("SCAN 0", 2),
        ] {
            assert_eq!(list(line), len, "{line}");
        }
    }

    #[test]
    fn strings_have_the_size_that_was_asked_for() {
        for len in [0, 1, 3, 4096, 100_000] {
            assert_eq!(answers(len, "GET k").len(), format!("${len}\r\n").len() + len as usize + 2);
            let lists = answers(len, "LRANGE l 0 2");
            assert_eq!(lists.len(), 4 + 3 * answers(len, "GET k").len());
        }
        let huge = answers(u32::MAX, "LRANGE l 0 -1");
        assert!(huge.len() < ELEMENTS_BYTES_MAX + (1 << 20), "one reply is bounded");
    }

    #[test]
    fn info_names_the_sink() {
        let info = value("INFO").text().unwrap();
        for part in ["redis_version:0.0.0\r\n", "server_name:keystorm-sink\r\n"] {
            assert!(info.contains(part), "{info}");
        }
    }
}
