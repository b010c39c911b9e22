//! The sink's replies in memcached's text protocol, including meta commands: every key exists.
//!
//! Nothing is stored. A line is read in place, and data after it is skipped.

use std::io::Write;

use memchr::memchr;

use crate::speaks::ReplyProtocol;

/// Longest line that is awaited; a `get` may be long.
const LINE_MAX: usize = 1 << 20;
/// Longest block of data, so that no sum overflows.
const DATA_MAX: u64 = 1 << 40;

/// The replies, ready to be copied.
#[derive(Debug)]
pub struct MemcacheReplies {
    value: Vec<u8>,
    /// The length of a value and the line end after it; and both with a token.
    length: Vec<u8>,
    length_and_token: Vec<u8>,
}

/// The incoming request's data of a connection.
#[derive(Debug, Default)]
pub struct LineFramer {
    /// Bytes still to come, including their line end; 0 between requests.
    skip: u64,
    /// The reply to send when they have arrived.
    reply: Vec<u8>,
}

impl MemcacheReplies {
    /// Creates replies whose values have `value_len` bytes, up to [`BULK_MAX`](crate::BULK_MAX).
    pub fn new(value_len: u32) -> Self {
        let len = value_len.min(crate::BULK_MAX) as usize;
        let mut value = vec![b'x'; len];
        value.extend_from_slice(b"\r\n");
        let length = format!("{len}\r\n").into_bytes();
        Self { value, length, length_and_token: format!("{len} 1\r\n").into_bytes() }
    }

    /// Appends the reply to a line. Returns the length of the data after it, if there is some; its reply is
    /// sent when that has come.
    fn answer(&self, line: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let name = words.next().unwrap_or_default();
        match name {
            b"get" => self.values(words, &self.length, out),
            b"gets" => self.values(words, &self.length_and_token, out),
            b"gat" => self.values(words.skip(1), &self.length, out),
            b"gats" => self.values(words.skip(1), &self.length_and_token, out),
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
                let Some(length) = words.nth(3).and_then(number) else {
                    out.extend_from_slice(b"CLIENT_ERROR bad command line format\r\n");
                    return None;
                };
                out.extend_from_slice(b"STORED\r\n");
                return Some(length);
            }
            b"ms" => {
                let (key, length) = (words.next().unwrap_or_default(), words.next());
                let Some(length) = length.and_then(number) else {
                    out.extend_from_slice(b"CLIENT_ERROR bad data chunk\r\n");
                    return None;
                };
                meta(b"HD", key, words, out);
                return Some(length);
            }
            b"mg" => self.meta_get(words, out),
            b"md" | b"ma" => {
                let key = words.next().unwrap_or_default();
                let brings = name == b"ma" && words.clone().any(|flag| flag == b"v");
                if !brings {
                    meta(b"HD", key, words, out);
                } else if meta(b"VA 1", key, words, out) {
                    out.extend_from_slice(b"1\r\n");
                }
            }
            b"mn" => out.extend_from_slice(b"MN\r\n"),
            b"incr" | b"decr" => out.extend_from_slice(b"1\r\n"),
            b"touch" => out.extend_from_slice(b"TOUCHED\r\n"),
            b"delete" => out.extend_from_slice(b"DELETED\r\n"),
            b"version" => out.extend_from_slice(b"VERSION 0.0.0-keystorm-sink\r\n"),
            b"flush_all" | b"verbosity" => out.extend_from_slice(b"OK\r\n"),
            b"stats" => stats(words.next(), out),
            _ => out.extend_from_slice(b"ERROR\r\n"),
        }
        None
    }

    fn values<'l>(&self, keys: impl Iterator<Item = &'l [u8]>, length: &[u8], out: &mut Vec<u8>) {
        for key in keys {
            out.extend_from_slice(b"VALUE ");
            out.extend_from_slice(key);
            out.extend_from_slice(b" 0 ");
            out.extend_from_slice(length);
            out.extend_from_slice(&self.value);
        }
        out.extend_from_slice(b"END\r\n");
    }

    fn meta_get<'l>(&self, mut words: impl Iterator<Item = &'l [u8]> + Clone, out: &mut Vec<u8>) {
        let key = words.next().unwrap_or_default();
        if !words.clone().any(|flag| flag == b"v") {
            // Even a quiet command replies with what it found.
            meta(b"HD", key, words.filter(|flag| *flag != b"q"), out);
            return;
        }
        out.extend_from_slice(b"VA ");
        let length = &self.length[..self.length.len() - 2];
        meta(length, key, words.filter(|flag| *flag != b"q"), out);
        out.extend_from_slice(&self.value);
    }
}

/// Appends a meta reply with the requested flags; nothing if quiet was requested. Returns whether it appended
/// anything.
fn meta<'l>(
    begin: &[u8],
    key: &[u8],
    flags: impl Iterator<Item = &'l [u8]> + Clone,
    out: &mut Vec<u8>,
) -> bool {
    if flags.clone().any(|flag| flag == b"q") {
        return false;
    }
    out.extend_from_slice(begin);
    for flag in flags {
        let (value, token): (&[u8], &[u8]) = match flag.first() {
            Some(b'O') => (b" ", flag),
            Some(b'k') => (b" k", key),
            Some(b'c') => (b" c", b"1"),
            Some(b'f' | b'l' | b'h') if flag.len() == 1 => (b" ", flag),
            Some(b's') => (b" s", b"0"),
            Some(b't') => (b" t", b"-1"),
            _ => continue,
        };
        out.extend_from_slice(value);
        out.extend_from_slice(token);
        if matches!(flag, b"f" | b"l" | b"h") {
            out.push(b'0');
        }
    }
    out.extend_from_slice(b"\r\n");
    true
}

/// Writes enough statistics for reports to name the server.
fn stats(which: Option<&[u8]>, out: &mut Vec<u8>) {
    if which.is_none() {
        let pid = std::process::id();
        // Writing to memory does not fail.
        let _ = write!(out, "STAT pid {pid}\r\nSTAT version 0.0.0\r\nSTAT threads 1\r\n");
    }
    out.extend_from_slice(b"END\r\n");
}

fn number(word: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (number <= DATA_MAX).then_some(number)
}

impl ReplyProtocol for MemcacheReplies {
    type Framer = LineFramer;

    const FULL: &'static [u8] = b"ERROR Too many open connections\r\n";

    #[inline]
    fn take(
        &self,
        framer: &mut LineFramer,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, bool), String> {
        let mut at = 0;
        if framer.skip == 0 {
            if input.first() == Some(&0x80) {
                return Err("ERROR the sink answers in lines: --protocol memcache\r\n".to_owned());
            }
            let Some(end) = memchr(b'\n', input) else {
                return if input.len() <= LINE_MAX {
                    Ok((0, false))
                } else {
                    Err("ERROR line too long\r\n".to_owned())
                };
            };
            let line = &input[..end];
            at = end + 1;
            let before = out.len();
            let Some(data) = self.answer(line.strip_suffix(b"\r").unwrap_or(line), out) else {
                return Ok((at, true));
            };
            let length = data + 2;
            if (input.len() - at) as u64 >= length {
                return Ok((at + length as usize, true));
            }
            framer.skip = length;
            framer.reply.clear();
            framer.reply.extend_from_slice(&out[before..]);
            out.truncate(before);
        }
        let step = framer.skip.min((input.len() - at) as u64);
        framer.skip -= step;
        at += step as usize;
        if framer.skip > 0 {
            return Ok((at, false));
        }
        out.extend_from_slice(&framer.reply);
        Ok((at, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(lines: &str) -> String {
        let whole = cut(lines.as_bytes(), &[lines.len()]);
        for at in 1..lines.len() {
            assert_eq!(cut(lines.as_bytes(), &[at, lines.len()]), whole, "cut at {at}");
        }
        whole
    }

    /// Collects the replies to bytes that arrive in these pieces. Unconsumed bytes come again.
    fn cut(bytes: &[u8], ends: &[usize]) -> String {
        let (replies, mut framer) = (MemcacheReplies::new(3), LineFramer::default());
        let (mut out, mut at) = (Vec::new(), 0);
        for end in ends {
            while at < *end {
                let taken = replies.take(&mut framer, &bytes[at..*end], &mut out).unwrap();
                at += taken.0;
                if !taken.1 {
                    break;
                }
            }
        }
        assert_eq!(at, bytes.len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_command_gets_a_reply_of_its_kind() {
        for (asked, answered) in [
            ("get a b", "VALUE a 0 3\r\nxxx\r\nVALUE b 0 3\r\nxxx\r\nEND\r\n"),
            ("gets a", "VALUE a 0 3 1\r\nxxx\r\nEND\r\n"),
            ("gat 60 a", "VALUE a 0 3\r\nxxx\r\nEND\r\n"),
            ("set k 0 0 5\r\nget a", "STORED\r\n"),
            ("cas k 0 0 1 7\r\nv", "STORED\r\n"),
            ("ms k 2 T60 O7\r\nvv", "HD O7\r\n"),
            ("ms k 2 q\r\nvv\r\nmn", "MN\r\n"),
            ("mg k v", "VA 3\r\nxxx\r\n"),
            ("mg k v k c q O5", "VA 3 kk c1 O5\r\nxxx\r\n"),
            ("mg k t f", "HD t-1 f0\r\n"),
            ("ma n", "HD\r\n"),
            ("ma n v", "VA 1\r\n1\r\n"),
            ("md k q", ""),
            ("incr n 1", "1\r\n"),
            ("touch k 60", "TOUCHED\r\n"),
            ("delete k", "DELETED\r\n"),
            ("stats settings", "END\r\n"),
            ("nonsense", "ERROR\r\n"),
            ("set k 0 0 x", "CLIENT_ERROR bad command line format\r\n"),
        ] {
            assert_eq!(answers(&format!("{asked}\r\n")), answered, "{asked}");
        }
        assert!(answers("stats\r\n").starts_with("STAT pid "));
        let mut out = Vec::new();
        let binary = MemcacheReplies::new(3).take(&mut LineFramer::default(), &[0x80, 0], &mut out);
        assert!(binary.unwrap_err().contains("in lines"));
    }
}
