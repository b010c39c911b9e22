//! The seam between protocols and everything else.

use std::ops::Range;

use thiserror::Error;
use workload::CommandSpec;

use crate::Template;

/// A protocol: encoding of commands and decoding of replies.
pub trait Protocol {
    /// The decoder of one connection's replies.
    type Decoder: Decode + Default;

    /// Encodes a command, with holes for numbers of `digits` digits. Without `digits`, number placeholders
    /// stay as text.
    fn compile(command: &CommandSpec, digits: Option<usize>) -> Template;

    /// Set if the decoder shows the strings of replies as they pass.
    const SHOWS: bool = false;

    /// Appends a command of plain arguments, for requests before the load.
    fn encode(args: &[&[u8]], out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::compile(&CommandSpec::from_words(args), None).bytes);
    }

    /// Checks that a command can be encoded in this protocol. Called before [`compile`](Self::compile), which
    /// cannot fail.
    ///
    /// # Errors
    /// Returns the reason and the remedy, in words for a person.
    fn check(_command: &CommandSpec, _digits: Option<usize>) -> Result<(), String> {
        Ok(())
    }

    /// Set if some commands may have no reply. Code for such commands is compiled only then.
    const QUIET: bool = false;

    /// Set if servers of this protocol form clusters with hash slots. Routes to clusters are compiled only
    /// then.
    const CLUSTERS: bool = false;

    /// Set if clients spread keys over independent servers. Routes to such servers are compiled only then.
    const RINGS: bool = false;

    /// Returns the meaning of a missing reply to this command, if it may have none.
    fn silence(_command: &CommandSpec) -> Option<Silence> {
        None
    }

    /// Returns whether a collection without elements, or with nulls only, is a miss of this command.
    fn empty_is_miss(_command: &CommandSpec) -> bool {
        false
    }

    /// Returns whether a number as the reply to this command counts the items found.
    fn counts_found(_command: &CommandSpec) -> bool {
        false
    }

    /// Number of keys or fields that this command asks for, if a reply says how many exist.
    fn keys_asked(_command: &CommandSpec) -> u32 {
        0
    }

    /// Range of arguments that are keys by which servers share out commands; empty if they do not.
    fn keys(_command: &CommandSpec) -> Range<usize> {
        0..0
    }

    /// Returns the parts of a command with several keys, to be encoded with some of them; `None` if it must
    /// go to one server whole.
    fn split(_command: &CommandSpec, _digits: Option<usize>) -> Option<Split> {
        None
    }

    /// Returns whether the start or the request of the next reply is uncertain after this error. `alone`
    /// means that nothing else was in flight on the connection.
    fn is_last_words(_command: &CommandSpec, _error: &[u8], _alone: bool) -> bool {
        false
    }

    /// Returns whether this is the error with which a server refuses a client for lack of room, without
    /// reading its requests.
    fn is_refusal(_error: &[u8]) -> bool {
        false
    }
}

/// The meaning of a command's lack of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The command succeeded.
    Done,
    /// The key did not exist.
    Miss,
}

/// Decoder of the replies of one connection, from bytes that arrive in any pieces.
///
/// A decoder keeps the state it needs between pieces, so a caller may discard consumed bytes: the body of a
/// huge value is never held in memory. Conformance: decoding any input split at any byte gives the same
/// replies as decoding it whole.
pub trait Decode {
    /// Decodes `input`, which begins after the last consumed byte, until one reply ends or the input does.
    ///
    /// # Errors
    /// Returns an error if the bytes do not belong to this protocol; the connection is then useless.
    #[inline]
    fn decode<'b>(&'b mut self, input: &'b [u8]) -> Result<Frame<'b>, ProtocolError> {
        self.decode_shown(input, &mut NoVisitor)
    }

    /// Decodes like [`decode`](Self::decode) and shows each string of the reply as it passes, if
    /// [`Protocol::SHOWS`].
    ///
    /// # Errors
    /// Returns an error if the bytes do not belong to this protocol; the connection is then useless.
    fn decode_shown<'b, L: ReplyVisitor>(
        &'b mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Frame<'b>, ProtocolError>;

    /// Returns whether the next byte begins a reply whose meaning depends on no earlier byte, so that equal
    /// bytes are equal replies. A decoder that cannot know returns false.
    #[inline]
    fn is_between_replies(&self) -> bool {
        false
    }

    /// Number of next bytes that are inside a string, without its end; 0 if a caller must see them.
    #[inline]
    fn text_to_come(&self) -> u64 {
        0
    }

    /// Skips this many bytes of that string, which were not shown to the decoder.
    fn skip_text(&mut self, _bytes: u64) {}

    /// The mark of the last reply's request, in protocols with marks: the index of a command in its sequence.
    fn mark(&self) -> Option<u32> {
        None
    }
}

/// A visitor of the strings of a reply, in order.
pub trait ReplyVisitor {
    /// Set if the visitor does anything. Code that shows strings is compiled only then.
    const SEES: bool = true;

    /// Set if the visitor also visits messages that answer no request.
    const PUSHES: bool = false;

    /// Called with the index in the sequence of the answered command, in protocols whose replies name it.
    fn marked(&mut self, _command: u32) {}

    /// Called with the key of the next value, in protocols whose replies name it.
    fn key(&mut self, _key: &[u8]) {}

    /// Called with the token of the item of the current value, in protocols with such tokens.
    fn cas(&mut self, _cas: u64) {}

    /// Called with the header of each element of an aggregate reply, before its contents. Only in protocols
    /// whose replies are collections.
    fn element(&mut self, _header: &[u8]) {}

    /// Called with a status or a number, in protocols with such values.
    fn line(&mut self, _text: &[u8]) {}

    /// Called when a string of this length begins, or with `None` for a null.
    fn begin(&mut self, len: Option<u64>);

    /// Called with the next bytes of that string.
    fn bytes(&mut self, part: &[u8]);
}

/// A visitor that does nothing.
pub(crate) struct NoVisitor;

impl ReplyVisitor for NoVisitor {
    const SEES: bool = false;

    #[inline]
    fn begin(&mut self, _len: Option<u64>) {}

    #[inline]
    fn bytes(&mut self, _part: &[u8]) {}
}

/// Counts the direct repetitions of the first `len` bytes of `input` after themselves, up to `most`.
#[inline]
pub fn repeats(input: &[u8], len: usize, most: u32) -> u32 {
    let (first, rest) = input.split_at(len);
    let bytes = len * most as usize;
    // All of them, mostly: bytes that are those one reply before are all the same reply.
    if most > 0 && bytes <= rest.len() && rest[..bytes] == input[..bytes] {
        return most;
    }
    rest.chunks_exact(len.max(1)).take(most as usize).take_while(|next| *next == first).count()
        as u32
}

/// The result of [`Decode::decode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'b> {
    /// Number of consumed bytes of the input.
    pub consumed: usize,
    /// The reply that ended there, or `None` if more bytes are needed.
    pub reply: Option<Reply<'b>>,
}

/// A server's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'b> {
    /// A value, or a status.
    Done,
    /// This many values, at least one and without nulls, for a command with several keys.
    Found(u32),
    /// A collection without elements, or with nulls only: a complete miss.
    Empty,
    /// A null: a missing key, or a condition that did not hold.
    Miss,
    /// A whole number, clamped to the range of the type.
    Number(u32),
    /// Text of an error reply without framing, such as `ERR unknown command`; of a long one, the beginning.
    Error(&'b [u8]),
    /// A message that answers no request.
    Push,
}

impl Reply<'_> {
    /// Returns the reply without its borrowed bytes; `None` for an error, which is text.
    #[inline]
    pub fn without_text(self) -> Option<Reply<'static>> {
        Some(match self {
            Self::Done => Reply::Done,
            Self::Found(hits) => Reply::Found(hits),
            Self::Empty => Reply::Empty,
            Self::Miss => Reply::Miss,
            Self::Number(number) => Reply::Number(number),
            Self::Push => Reply::Push,
            Self::Error(_) => return None,
        })
    }
}

/// Bytes that cannot be a reply.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the server sent bytes that are not {protocol}: {why} (near \"{excerpt}\")")]
pub struct ProtocolError {
    /// The protocol that was expected.
    pub protocol: &'static str,
    /// Description of the fault.
    pub why: Box<str>,
    /// The beginning of the offending bytes, escaped for a terminal.
    pub excerpt: String,
}

impl ProtocolError {
    /// An error about the bytes at the start of `input`.
    pub fn new(protocol: &'static str, why: impl Into<Box<str>>, input: &[u8]) -> Self {
        const EXCERPT_MAX: usize = 48;
        let excerpt = input[..input.len().min(EXCERPT_MAX)].escape_ascii().to_string();
        Self { protocol, why: why.into(), excerpt }
    }
}

/// A command in parts, to be written with only some of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Bytes before the first key.
    pub head: Template,
    /// Bytes before each key.
    pub between: &'static [u8],
    /// Bytes after the last key.
    pub tail: &'static [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_repeat_the_first_are_counted_up_to_the_first_other() {
        let input = b"+OK\r\n+OK\r\n+OK\r\n+NO\r\n+OK\r\n";
        for (most, count) in [(0, 0), (1, 1), (2, 2), (3, 2), (99, 2)] {
            assert_eq!(repeats(input, 5, most), count, "{most}");
        }
        assert_eq!(repeats(b"+OK\r\n+OK\r", 5, 4), 0, "half a reply is none");
        assert_eq!(repeats(b"+OK\r\n", 5, 4), 0);
    }
}
