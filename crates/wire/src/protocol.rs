//! The seam between protocols and everything else.

use std::ops::Range;

use thiserror::Error;
use workload::CommandSpec;

use crate::{Split, Template};

/// A protocol: how commands are written and replies read.
pub trait Protocol {
    /// The decoder of one connection's replies.
    type Decoder: Decode + Default;

    /// Encodes a command, leaving holes where numbers of `digits` digits go. With `digits` of
    /// `None` number placeholders stay as the text they are.
    fn compile(command: &CommandSpec, digits: Option<usize>) -> Template;

    /// Set if the decoder shows the strings of replies as they pass.
    const SHOWS: bool = false;

    /// Appends a command of plain arguments, for what is sent before the load.
    fn encode(args: &[&[u8]], out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::compile(&CommandSpec::from_words(args), None).bytes);
    }

    /// Checks that a command can be written in this protocol. [`compile`](Self::compile) cannot fail, so this is asked
    /// before.
    ///
    /// # Errors
    /// The reason why it cannot, and what to write instead, in words for the person who typed it.
    fn check(_command: &CommandSpec, _digits: Option<usize>) -> Result<(), String> {
        Ok(())
    }

    /// Set if some commands may have no reply. Otherwise nothing that deals with them is compiled.
    const QUIET: bool = false;

    /// Set if servers of this protocol form clusters, by hash slot. Otherwise no route to one is compiled.
    const CLUSTERS: bool = false;

    /// Set if clients spread keys over several servers that know nothing of each other. Otherwise no route to them is
    /// compiled.
    const RINGS: bool = false;

    /// Returns what the lack of a reply to this command means, if it may have none.
    fn silence(_command: &CommandSpec) -> Option<Silence> {
        None
    }

    /// Returns whether a collection that is empty, or holds nulls only, means that what this command asks for is not
    /// there.
    fn empty_is_miss(_command: &CommandSpec) -> bool {
        false
    }

    /// Returns whether a number as the reply to this command counts the items found.
    fn counts_found(_command: &CommandSpec) -> bool {
        false
    }

    /// Keys, or fields, that this command asks for, where a reply tells how many of them were there.
    fn keys_asked(_command: &CommandSpec) -> u32 {
        0
    }

    /// The arguments that are keys by which servers share out commands; none where they do not.
    fn keys(_command: &CommandSpec) -> Range<usize> {
        0..0
    }

    /// Returns the parts of a command of several keys, to be written with only some of them; `None` if it has to go to
    /// one server whole.
    fn split(_command: &CommandSpec, _digits: Option<usize>) -> Option<Split> {
        None
    }

    /// Returns whether this error leaves it open where the next reply begins, or whose it is. `alone` means that
    /// nothing else was in flight on the connection.
    fn is_last_words(_command: &CommandSpec, _error: &[u8], _alone: bool) -> bool {
        false
    }

    /// Returns whether this is the error that a server sends before it hangs up on a client that it has no room for. It
    /// has read nothing of what that client asks.
    fn is_refusal(_error: &[u8]) -> bool {
        false
    }
}

/// The meaning of a command's lack of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The command did what it should.
    Done,
    /// There was nothing there.
    Miss,
}

/// Reads the replies of one connection from bytes that arrive in any pieces.
///
/// A decoder keeps what it must know between pieces, so a caller may throw away what was
/// consumed: the body of a huge value is never held in memory. Conformance: for every input,
/// decoding it split at any byte gives the replies of decoding it whole.
pub trait Decode {
    /// Reads on in `input`, which begins where the last call's consumed bytes ended, until one
    /// reply ends or no more can be said.
    ///
    /// # Errors
    /// The bytes are not of this protocol. The connection is of no more use.
    fn decode<'b>(&'b mut self, input: &'b [u8]) -> Result<Frame<'b>, ProtocolError>;

    /// Decodes as [`decode`](Self::decode) does and shows each string of the reply as it passes, if
    /// [`Protocol::SHOWS`].
    ///
    /// # Errors
    /// The bytes are not of this protocol. The connection is of no more use.
    fn decode_shown<'b, L: ReplyVisitor>(
        &'b mut self,
        input: &'b [u8],
        _look: &mut L,
    ) -> Result<Frame<'b>, ProtocolError> {
        self.decode(input)
    }

    /// Returns whether the next byte begins a reply, and no earlier byte changes what it means: the same bytes are then
    /// the same reply. A decoder that cannot know says no.
    #[inline]
    fn is_between_replies(&self) -> bool {
        false
    }

    /// Bytes that come next and are the text of a string, whose end is not among them; 0 where a caller must see them.
    #[inline]
    fn text_to_come(&self) -> u64 {
        0
    }

    /// Goes on behind so many bytes of that text, which were not shown to the decoder.
    fn skip_text(&mut self, _bytes: u64) {}

    /// The mark that the request of the last reply had and that came back with it, in protocols that
    /// have such marks: the place of a command in its sequence.
    fn mark(&self) -> Option<u32> {
        None
    }
}

/// A visitor of the strings of a reply, in the order in which they stand in it.
pub trait ReplyVisitor {
    /// Set if the visitor looks at all. Otherwise nothing that shows is compiled.
    const SEES: bool = true;

    /// Set if the visitor also looks at messages that answer no request.
    const PUSHES: bool = false;

    /// The reply is to the command of that place in the sequence, in protocols whose replies say so.
    fn marked(&mut self, _command: u32) {}

    /// The string that comes next is the value of this key, in protocols whose replies say so.
    fn key(&mut self, _key: &[u8]) {}

    /// The value that comes, or came, is of an item with this token, in protocols that have such tokens.
    fn cas(&mut self, _cas: u64) {}

    /// Called with the header of each element of an aggregate reply, before its contents. Only in protocols whose
    /// replies are collections.
    fn element(&mut self, _header: &[u8]) {}

    /// A status or a number, in protocols that have such values.
    fn line(&mut self, _text: &[u8]) {}

    /// A string of so many bytes begins, or a null stands in its place.
    fn begin(&mut self, len: Option<u64>);

    /// The next bytes of that string.
    fn bytes(&mut self, part: &[u8]);
}

/// A visitor that looks at nothing.
pub(crate) struct NoVisitor;

impl ReplyVisitor for NoVisitor {
    const SEES: bool = false;

    #[inline]
    fn begin(&mut self, _len: Option<u64>) {}

    #[inline]
    fn bytes(&mut self, _part: &[u8]) {}
}

/// Counts how often the first `len` bytes of `input` directly repeat behind themselves, up to `most`.
#[inline]
#[must_use]
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
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// The reply that ended there, or `None` if more bytes are needed.
    pub reply: Option<Reply<'b>>,
}

/// A server's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'b> {
    /// A value, or a status.
    Done,
    /// Values, this many, at least one and without nulls: of the keys that were asked for, if a command asks for
    /// several.
    Found(u32),
    /// A collection of no element, or of nulls only: nothing of what was asked for.
    Empty,
    /// A null: nothing there, or a condition that did not hold.
    Miss,
    /// A whole number; 0 stands for one below 0, and the greatest for one that is greater.
    Number(u32),
    /// An error reply; its text without framing, such as `ERR unknown command`, or the beginning
    /// of one that is long.
    Error(&'b [u8]),
    /// A message that answers no request.
    Push,
}

impl Reply<'_> {
    /// Returns the reply without the bytes that it borrows; `None` for an error, which is its text.
    #[inline]
    #[must_use]
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
    /// Description of what is wrong with them.
    pub why: Box<str>,
    /// The beginning of the offending bytes, escaped for a terminal.
    pub excerpt: String,
}

impl ProtocolError {
    /// An error about the bytes at the start of `input`.
    #[must_use]
    pub fn new(protocol: &'static str, why: impl Into<Box<str>>, input: &[u8]) -> Self {
        const EXCERPT_MAX: usize = 48;
        let excerpt = input[..input.len().min(EXCERPT_MAX)].escape_ascii().to_string();
        Self { protocol, why: why.into(), excerpt }
    }
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
