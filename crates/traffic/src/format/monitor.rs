//! Output of MONITOR, from a server or from redis-cli: `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`.
//!
//! The stamp is taken when the command has run. Other forms of a line are accepted: the `(db 0)` of old
//! servers, lines that begin with only a number, and prefixes by docker and other tools. A line without a
//! stamp is the rest of a cut one.

use std::hash::{DefaultHasher, Hash, Hasher};

use memchr::{memchr, memmem};
use wire::quoted::next_word;

use super::lines::{LineKind, Lines, ParseLine, first_lines, number};
use super::{Format, Head};
use crate::{Event, Flags, Source, Stamps};

pub(super) const FORMAT: Format = Format {
    name: "monitor",
    title: "the output of MONITOR",
    recognizes,
    open: |_| {
        let source = Source { format: "monitor", stamps: Stamps::Completion, ..Source::default() };
        Ok((Box::new(Lines::new(Monitor::default())), source))
    },
};

/// Bits of a client's number; those above are for the number of the file.
const CLIENT_MASK: u64 = (1 << 48) - 1;

/// Number of the client that MONITOR shows with this address.
pub fn client_number(peer: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    peer.hash(&mut hasher);
    hasher.finish() & CLIENT_MASK
}

fn recognizes(head: &Head<'_>) -> bool {
    first_lines(head).any(|line| {
        let Prefix { at_ns, peer, .. } = Prefix::find(line);
        at_ns.is_some() && peer.is_some() && memchr(b'"', line).is_some()
    })
}

/// A parser of lines, including old forms such as lines without a peer.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    /// The client of the last line, for a line without one and for commands of scripts.
    last_client: u64,
}

impl ParseLine for Monitor {
    fn line(&mut self, line: &[u8], event: &mut Event) -> LineKind {
        if line.trim_ascii_end().rsplit(|byte| *byte == b' ').next().is_some_and(is_ok) {
            return LineKind::Other;
        }
        if self.command(line, event) { LineKind::Event } else { LineKind::Unreadable }
    }
}

fn is_ok(word: &[u8]) -> bool {
    matches!(word, b"OK" | b"+OK")
}

impl Monitor {
    /// Returns whether a line has a command, which is then in `event`.
    fn command(&mut self, line: &[u8], event: &mut Event) -> bool {
        let Some(begin) = memchr(b'"', line) else { return false };
        let prefix = Prefix::find(line);
        let Some(at_ns) = prefix.at_ns else { return false };
        // The quote of a unix socket's path is not that of the name.
        let begin = prefix.end.max(begin);
        event.clear_arguments();
        let mut rest = &line[begin..];
        loop {
            match next_word(rest, event.open_argument()) {
                Some(Some(length)) => {
                    event.end_argument();
                    rest = &rest[length..];
                }
                Some(None) if event.is_empty() => return false,
                Some(None) => break,
                None => return false,
            }
        }
        event.at_ns = at_ns;
        event.db = prefix.db;
        match prefix.peer {
            Some(b"lua") => event.flags.set(Flags::SCRIPT_EFFECT),
            Some(peer) => {
                self.last_client = client_number(peer);
                if peer.starts_with(b"unix:") {
                    event.flags.set(Flags::SHARED_CLIENT);
                }
            }
            None => event.flags.set(Flags::NO_CLIENT),
        }
        event.client = self.last_client;
        true
    }
}

/// Prefix of a line, before the command.
#[derive(Default)]
struct Prefix<'l> {
    /// Nanoseconds since 1970.
    at_ns: Option<u64>,
    db: u32,
    peer: Option<&'l [u8]>,
    /// End of the prefix.
    end: usize,
}

/// Last offset at which a stamp may begin, in lines with another tool's prefix.
const STAMP_AT_MAX: usize = 200;

impl<'l> Prefix<'l> {
    /// Finds the prefix of a line, after any prefix of docker, kubectl or a journal.
    fn find(line: &'l [u8]) -> Self {
        let first = Self::new(line);
        if first.peer.is_some() {
            return first;
        }
        let before = &line[..memchr(b'"', line).unwrap_or(0).min(STAMP_AT_MAX)];
        let found = memchr::memchr_iter(b' ', before).find_map(|blank| {
            let prefix = Self::new(&line[blank + 1..]);
            prefix.peer.is_some().then(|| Self { end: prefix.end + blank + 1, ..prefix })
        });
        found.unwrap_or(first)
    }

    fn new(line: &'l [u8]) -> Self {
        let start = usize::from(line.first() == Some(&b'+'));
        let Some((at_ns, length)) = stamp(&line[start..]) else { return Self::default() };
        let rest = &line[start + length..];
        if ![&b" ["[..], b" (db ", b" \""].iter().any(|next| rest.starts_with(next)) {
            return Self::default();
        }
        let mut prefix = Self { at_ns: Some(at_ns), ..Self::default() };
        if let Some(inside) = rest.strip_prefix(b" [") {
            // An IPv6 address has brackets, too: that of the prefix has a blank behind it.
            let Some(close) = memmem::find(inside, b"] \"") else { return prefix };
            let Some(blank) = memchr(b' ', &inside[..close]) else { return prefix };
            let Some(db) = number(&inside[..blank]) else { return prefix };
            prefix.db = db as u32;
            prefix.peer = Some(&inside[blank + 1..close]);
            prefix.end = line.len() - inside.len() + close + 2;
        } else if let Some(inside) = rest.strip_prefix(b" (db ") {
            let Some(close) = memchr(b')', inside) else { return prefix };
            prefix.db = number(&inside[..close]).unwrap_or_default() as u32;
        }
        prefix
    }
}

/// Parses `<seconds>.<fraction>` at the beginning, as nanoseconds, and returns the length.
fn stamp(text: &[u8]) -> Option<(u64, usize)> {
    let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let seconds = number(&text[..whole])?;
    let mut length = whole;
    let mut fraction_ns = 0;
    if text.get(whole) == Some(&b'.') {
        let digits = text[whole + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        length += 1 + digits;
        let mut scale = 100_000_000;
        for digit in &text[whole + 1..length] {
            fraction_ns += u64::from(digit - b'0') * scale;
            scale /= 10;
        }
    }
    Some((seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> Option<Event> {
        let mut event = Event::default();
        Monitor::default().command(line.as_bytes(), &mut event).then_some(event)
    }

    #[track_caller]
    fn words(line: &str) -> Vec<String> {
        let event = event(line).unwrap();
        event.arguments().map(|a| String::from_utf8_lossy(a.bytes.unwrap()).into_owned()).collect()
    }

    #[test]
    fn lines_of_all_servers_and_clients_are_read() {
        let plain = "1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"";
        assert_eq!(words(plain), ["keys", "*"]);
        let of_plain = event(plain).unwrap();
        assert_eq!((of_plain.at_ns, of_plain.db), (1_339_518_083_107_412_000, 0));
        // As the server sends it; the same client in another database.
        let sent = event("+1339518083.107413 [15 127.0.0.1:60866] \"get\" \"] \\\"\"").unwrap();
        assert_eq!((sent.db, sent.client, sent.bytes(1)), (15, of_plain.client, &b"] \""[..]));
        assert_ne!(event("1.5 [0 [::1]:53012] \"get\"").unwrap().client, of_plain.client);
        assert_eq!(words("1.5 [3 [fe80::1%eth0]:53012] \"get\" \"k\""), ["get", "k"]);
        let unix = event("1.5 [3 unix:/tmp/a \"b.sock] \"get\" \"k\"").unwrap();
        assert_eq!((unix.db, unix.bytes(1)), (3, &b"k"[..]));
        assert!(unix.flags.has(Flags::SHARED_CLIENT));
        let old = event("1.000001 (db 7) \"get\" \"k\"").unwrap();
        assert_eq!((old.at_ns, old.db, old.len()), (1_000_001_000, 7, 2));
        assert!(old.flags.has(Flags::NO_CLIENT));
        assert_eq!(event("1.5 [0 a:1] get"), None);
        assert_eq!(event("1.5 [0 a:1] \"get\" \"k"), None);
        assert_eq!(event("99999999999999999999.5 [0 a:1] \"get\""), None);
    }

    #[test]
    fn prefixes_of_other_programs_are_taken_off_and_cut_lines_are_no_commands() {
        for prefix in [
            "redis_1  | ",
            "\u{1b}[36mredis-1  |\u{1b}[0m +",
            "2023-11-14T22:13:20.123456789Z ",
            "Nov 14 22:13:20 shop redis[17]: ",
        ] {
            let found = event(&format!("{prefix}1.5 [3 [::1]:53012] \"get\" \"a [0 b]\"")).unwrap();
            assert_eq!((found.at_ns, found.db, found.len()), (1_500_000_000, 3, 2), "{prefix}");
        }
        for cut in
            ["0 a:1] \"get\" \"k\"", " [0 a:1] \"get\" \"k\"", "\"k\"", "et\" \"k 1.5 [0 a:1] \""]
        {
            assert_eq!(event(cut), None, "{cut}");
        }
        let mut event = Event::default();
        assert_eq!(Monitor::default().line(b"redis_1  | OK", &mut event), LineKind::Other);
    }

    #[test]
    fn commands_of_scripts_belong_to_the_client_that_called() {
        let mut decoder = Monitor::default();
        let mut event = Event::default();
        assert!(decoder.command(b"1 [0 a:1] \"EVAL\" \"return 1\" \"0\"", &mut event));
        let caller = event.client;
        event.clear();
        assert!(decoder.command(b"1 [0 lua] \"incr\" \"k\"", &mut event));
        assert_eq!((event.client, event.flags.has(Flags::SCRIPT_EFFECT)), (caller, true));
    }
}
