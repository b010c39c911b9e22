//! What a receiver with a command that waits has asked for and not yet got, and how commands that wait are written.

use std::collections::VecDeque;

use super::reply_strings::EntryId;

/// A reply that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// Reply to what makes ready: what a receiver had left is put back, a group is made.
    Preparation,
    /// Reply to the PING that shows that all before the command behind it is done.
    Pong,
    /// Number of messages that were removed, or acknowledged, of so many.
    Removal { of: u32 },
    /// Reply to the command that takes over what others had.
    Claim,
    /// Reply to the command that waits.
    Message,
}

/// Commands that are sent together, each of which has a reply.
#[derive(Debug, Default)]
pub(super) struct Commands {
    bytes: Vec<u8>,
    count: u32,
}

impl Commands {
    pub(super) fn add(&mut self, words: &[&str]) {
        self.bytes.extend(encoded(words));
        self.count += 1;
    }
}

/// The replies that are to come, in their order.
#[derive(Debug, Default)]
pub(super) struct Pipeline(VecDeque<PendingReply>);

impl Pipeline {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, awaited: PendingReply) {
        self.0.push_back(awaited);
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<PendingReply> {
        self.0.pop_front()
    }

    /// Returns what comes next.
    pub(super) fn peek(&self) -> Option<PendingReply> {
        self.0.front().copied()
    }

    /// Returns whether only the command that waits is to be answered.
    pub(super) fn is_settled(&self) -> bool {
        self.0.iter().all(|awaited| *awaited == PendingReply::Message)
    }

    /// Appends some commands.
    pub(super) fn ask(&mut self, commands: &Commands, awaited: PendingReply, out: &mut Vec<u8>) {
        out.extend_from_slice(&commands.bytes);
        self.0.extend((0..commands.count).map(|_| awaited));
    }

    /// Appends a PING.
    pub(super) fn ping(&mut self, out: &mut Vec<u8>) {
        out.extend(encoded(&["PING"]));
        self.push(PendingReply::Pong);
    }
}

/// Returns whether a server says with this error that it ended a wait: a failover, CLIENT UNBLOCK, a key that went
/// away.
pub(super) fn is_unblocked(error: &[u8]) -> bool {
    error.starts_with(b"UNBLOCKED")
}

/// A time as commands on lists and sorted sets take it: seconds, with decimals only where there must be some.
/// Older servers know none.
pub(super) fn seconds(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    match ns % SECOND {
        0 => (ns / SECOND).to_string(),
        _ => format!("{:.3}", (ns as f64 / 1e9).max(0.001)),
    }
}

/// Appends a string of RESP.
#[inline]
pub(super) fn append_string(string: &[u8], out: &mut Vec<u8>) {
    append_header(b'$', string.len(), out);
    out.extend_from_slice(string);
    out.extend_from_slice(b"\r\n");
}

/// Appends strings of RESP.
pub(super) fn append_strings(words: &[&str], out: &mut Vec<u8>) {
    words.iter().for_each(|word| append_string(word.as_bytes(), out));
}

/// A command of these words.
pub(super) fn encoded(words: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    append_header(b'*', words.len(), &mut out);
    append_strings(words, &mut out);
    out
}

/// Appends the line that an array or a string of so many begins with.
#[inline]
pub(super) fn append_header(kind: u8, count: usize, out: &mut Vec<u8>) {
    out.push(kind);
    append_number(count as u64, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends a number in decimal digits.
#[inline]
pub(super) fn append_number(mut number: u64, out: &mut Vec<u8>) {
    // As many as the greatest has.
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends the ID of an entry as a string; `text` is a buffer to write in.
#[inline]
pub(super) fn append_id((ms, number): EntryId, text: &mut Vec<u8>, out: &mut Vec<u8>) {
    text.clear();
    append_number(ms, text);
    text.push(b'-');
    append_number(number, text);
    append_string(text, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_decimals_where_they_need_them() {
        let written = [0, 2_000_000_000, 500_000_000, 1].map(seconds);
        assert_eq!(written, ["0", "2", "0.500", "0.001"]);
    }

    #[test]
    fn numbers_are_written_whole() {
        for number in [0, 7, 10, 1_234_567, u64::MAX] {
            let mut out = Vec::new();
            append_number(number, &mut out);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }

    #[test]
    fn strings_have_their_length_before_them() {
        let mut out = Vec::new();
        append_header(b'*', 1, &mut out);
        append_string(b"ab", &mut out);
        assert_eq!(out, b"*1\r\n$2\r\nab\r\n");
    }
}
