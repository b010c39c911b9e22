//! Replies that a receiver with a blocking command still expects, and the encoding of blocking commands.

use std::collections::VecDeque;

use super::reply_strings::EntryId;

/// A reply that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// Reply to a preparation: putting back messages that a receiver had left, or making a group.
    Preparation,
    /// Reply to the PING that shows that all commands before the next one are done.
    Pong,
    /// Reply with the number of messages that were removed or acknowledged, of `of`.
    Removal { of: u32 },
    /// Reply to the command that takes over messages of other consumers.
    Claim,
    /// Reply to the blocking command.
    Message,
}

/// Commands that are sent together, each with a reply.
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

    pub(super) fn peek(&self) -> Option<PendingReply> {
        self.0.front().copied()
    }

    /// Returns whether only the blocking command is unanswered.
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

/// Returns whether this error says that the server ended a wait: by a failover, by CLIENT UNBLOCK, or because
/// the key is gone.
pub(super) fn is_unblocked(error: &[u8]) -> bool {
    error.starts_with(b"UNBLOCKED")
}

/// A time in seconds, as list and sorted-set commands take it. It has decimals only where needed, because
/// older servers do not accept them.
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

/// Appends the header line of an array or string of this length.
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

/// Appends an entry ID as a string; `text` is a scratch buffer.
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
