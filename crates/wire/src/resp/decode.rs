//! RESP replies, framed and not parsed.
//!
//! Finds the end and the kind of a reply. No object is built: a bulk string is skipped by its length, and a
//! collection is a count of elements still to come, to which nested ones add. Of a line or error without an
//! end only the beginning is kept. So neither depth nor size costs memory. [`super::Value`] builds values.

use memchr::memchr;

use super::line::{COUNT_MAX, fault, length, line, number};
use super::stranger::stranger;
use crate::protocol::NoVisitor;
use crate::{Decode, Frame, ProtocolError, Reply, ReplyVisitor};

/// Longest line that is awaited whole. A longer one can only be text, and is skipped as it comes.
const LINE_MAX: usize = 64 * 1024;
/// Maximum number of bytes of an error's text that are returned.
const ERROR_KEPT: usize = 1024;

/// The end of a line and of a string.
const LINE_END: &[u8] = b"\r\n";

/// State of one connection between pieces of input.
#[derive(Debug, Default)]
pub struct RespDecoder {
    /// Elements still to come of the current reply, including nested ones; 0 between replies.
    elements: u64,
    /// Bytes still to come of the skipped bulk string, including its line end.
    skip: u64,
    /// Elements still to come when the next element of the outermost collection begins, if a visitor is used.
    next: u64,
    /// The outcome to report when the current reply ends.
    ending: Ending,
    /// The line being skipped, if one is.
    long: Option<LongLine>,
    /// Beginning of an error whose text does not arrive at once.
    kept: Vec<u8>,
}

/// A line too long to be waited for.
#[derive(Debug, Clone, Copy)]
struct LongLine {
    /// Set if the line is an error, whose beginning is in [`RespDecoder::kept`].
    error: bool,
    /// Set if the part skipped so far ends in the first half of a line end.
    cr: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Ending {
    #[default]
    Done,
    /// A collection of this many values, not counting nulls.
    Values(u64),
    Push,
    /// Metadata before a reply (RESP3 attribute); the reply itself follows.
    Attribute,
    /// An error written as a string (RESP3 blob error), whose text is kept while it is skipped.
    Error,
}

impl Decode for RespDecoder {
    #[inline]
    fn decode<'b>(&'b mut self, input: &'b [u8]) -> Result<Frame<'b>, ProtocolError> {
        if self.elements == 0 {
            // The reply to nearly every write.
            if input.starts_with(b"+OK\r\n") {
                return Ok(Frame { consumed: 5, reply: Some(Reply::Done) });
            }
            // The reply to nearly every read that misses.
            if input.starts_with(b"$-1\r\n") {
                return Ok(Frame { consumed: 5, reply: Some(Reply::Miss) });
            }
            // The reply to nearly every read.
            if let Some(consumed) = whole_string(input) {
                return Ok(Frame { consumed, reply: Some(Reply::Done) });
            }
        }
        self.decode_shown(input, &mut NoVisitor)
    }

    fn decode_shown<'b, L: ReplyVisitor>(
        &'b mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Frame<'b>, ProtocolError> {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                at += self.skip_string(&input[at..], look)?;
                if self.skip > 0 {
                    return Ok(Frame { consumed: at, reply: None });
                }
                if self.ending == Ending::Error {
                    (self.elements, self.ending) = (0, Ending::Done);
                    return Ok(Frame { consumed: at, reply: Some(Reply::Error(&self.kept)) });
                }
                if let Some(reply) = self.element_ended() {
                    return Ok(Frame { consumed: at, reply: Some(reply) });
                }
                if !L::SEES {
                    at += self.skip_equals(&input[at..]);
                }
            }
            if let Some(long) = self.long {
                let Some(after) = self.skip_line(long, &input[at..])? else {
                    return Ok(Frame { consumed: input.len(), reply: None });
                };
                at += after;
                if long.error {
                    self.elements = 0;
                    return Ok(Frame { consumed: at, reply: Some(Reply::Error(&self.kept)) });
                }
                if let Some(reply) = self.element_ended() {
                    return Ok(Frame { consumed: at, reply: Some(reply) });
                }
            }
            let Some((line, after)) = line(&input[at..])? else {
                if input.len() - at <= LINE_MAX {
                    return Ok(Frame { consumed: at, reply: None });
                }
                self.begin_line(&input[at..])?;
                continue;
            };
            let top = self.elements == 0;
            if L::SEES && self.is_shown::<L>() {
                self.show_line(line, look)?;
            }
            let reply = self.header(line)?;
            if L::SEES && top {
                self.next = self.elements;
            }
            at += after;
            if reply.is_some() {
                return Ok(Frame { consumed: at, reply });
            }
        }
    }

    #[inline]
    fn is_between_replies(&self) -> bool {
        self.elements == 0
    }

    #[inline]
    fn text_to_come(&self) -> u64 {
        // Of an error's text the beginning is kept.
        if self.ending == Ending::Error {
            0
        } else {
            self.skip.saturating_sub(LINE_END.len() as u64)
        }
    }

    fn skip_text(&mut self, bytes: u64) {
        self.skip -= bytes;
    }
}

impl RespDecoder {
    /// Skips the received part of a string, and shows its text. Returns the bytes skipped.
    #[inline]
    fn skip_string<L: ReplyVisitor>(
        &mut self,
        input: &[u8],
        look: &mut L,
    ) -> Result<usize, ProtocolError> {
        let step = self.skip.min(input.len() as u64);
        // The line end after the text is no part of it.
        let text = step.min(self.skip.saturating_sub(2)) as usize;
        let (text, end) = input[..step as usize].split_at(text);
        if !LINE_END[LINE_END.len() - self.skip.min(2) as usize..].starts_with(end) {
            return Err(fault("a string that does not end in CR LF", input));
        }
        if L::SEES || self.ending == Ending::Error {
            match self.ending {
                Ending::Error => self.keep(text),
                _ if self.is_shown::<L>() => look.bytes(text),
                _ => {}
            }
        }
        self.skip -= step;
        Ok(step as usize)
    }

    /// Shows the first line of an element.
    fn show_line(
        &mut self,
        line: &[u8],
        look: &mut impl ReplyVisitor,
    ) -> Result<(), ProtocolError> {
        // Metadata belongs to the element after it.
        let is_element =
            self.elements == self.next && self.elements > 0 && line.first() != Some(&b'|');
        if is_element && matches!(self.ending, Ending::Values(_)) {
            self.next -= 1;
            look.element(line);
        }
        show_header(line, look)
    }

    /// Returns whether a visitor sees the current data.
    fn is_shown<L: ReplyVisitor>(&self) -> bool {
        let is_push = self.ending == Ending::Push;
        is_push && L::PUSHES || matches!(self.ending, Ending::Done | Ending::Values(_))
    }

    /// Begins to skip the line at the start of `input`, which is too long to await.
    #[cold]
    fn begin_line(&mut self, input: &[u8]) -> Result<(), ProtocolError> {
        let (&kind, text) = input.split_first().ok_or_else(|| fault("an empty line", input))?;
        if !b"+-(".contains(&kind) {
            return Err(fault("a line without an end", input));
        }
        let error = kind == b'-' && self.elements == 0;
        if error {
            self.kept.clear();
            self.keep(text);
        }
        // It is under way, and as long as it is, something is still to come.
        self.elements += u64::from(self.elements == 0);
        self.long = Some(LongLine { error, cr: false });
        Ok(())
    }

    /// Continues to skip a long line. Returns the offset of the next one if it ends here.
    #[cold]
    fn skip_line(&mut self, long: LongLine, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let end = memchr(b'\n', input);
        let before = &input[..end.unwrap_or(input.len())];
        let cr = before.last().map_or(long.cr, |last| *last == b'\r');
        self.long = end.is_none().then_some(LongLine { cr, ..long });
        match end {
            Some(_) if !cr => Err(fault("a line that does not end in CR LF", input)),
            end => Ok(end.map(|end| end + 1)),
        }
    }

    /// Keeps the beginning of an error's text.
    fn keep(&mut self, text: &[u8]) {
        let room = ERROR_KEPT - self.kept.len();
        self.kept.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Takes the header line of an element. Returns the reply if it ends there.
    fn header<'b>(&mut self, line: &'b [u8]) -> Result<Option<Reply<'b>>, ProtocolError> {
        let top = self.elements == 0;
        let (&kind, rest) = line.split_first().ok_or_else(|| fault("an empty line", line))?;
        match kind {
            b':' => {
                let number = number(rest, line)?;
                if top {
                    return Ok(Some(Reply::Number(number)));
                }
            }
            b'+' | b',' | b'#' | b'(' => {}
            b'-' if top => return Ok(Some(Reply::Error(&rest[..rest.len().min(ERROR_KEPT)]))),
            b'-' => {}
            b'_' if top => return Ok(Some(Reply::Miss)),
            b'_' => self.null(),
            b'$' | b'=' | b'!' => match length(rest, line)? {
                None if top => return Ok(Some(Reply::Miss)),
                None => self.null(),
                Some(len) => {
                    self.elements += u64::from(top);
                    self.skip = len + 2;
                    if top && kind == b'!' {
                        self.ending = Ending::Error;
                        self.kept.clear();
                    }
                    return Ok(None);
                }
            },
            b'*' | b'~' | b'%' | b'>' | b'|' => return self.collection(kind, rest, line, top),
            _ => return Err(stranger(line)),
        }
        self.elements += u64::from(top);
        Ok(self.element_ended())
    }

    fn collection<'b>(
        &mut self,
        kind: u8,
        rest: &[u8],
        line: &[u8],
        top: bool,
    ) -> Result<Option<Reply<'b>>, ProtocolError> {
        let Some(count) = length(rest, line)? else {
            if top {
                return Ok(Some(Reply::Miss));
            }
            self.null();
            return Ok(self.element_ended());
        };
        let elements = if matches!(kind, b'%' | b'|') { count * 2 } else { count };
        if top {
            self.ending = match kind {
                b'>' => Ending::Push,
                b'|' => Ending::Attribute,
                _ => Ending::Values(count),
            };
        }
        // Inside a reply, an attribute belongs to the element after it and is not an element itself; a push
        // never occurs there.
        let itself = u64::from(top || kind == b'|');
        if top && self.ending == Ending::Values(0) {
            self.ending = Ending::Done;
            return Ok(Some(Reply::Empty));
        }
        self.elements = self.elements.saturating_add(elements + itself);
        if self.elements > COUNT_MAX {
            return Err(fault("more elements than any reply has", line));
        }
        Ok(self.element_ended())
    }

    /// Counts a null in a reply, also inside nested collections, so that values are counted as in the flat
    /// replies of commands that ask for several things.
    fn null(&mut self) {
        if let Ending::Values(values) = &mut self.ending {
            *values = values.saturating_sub(1);
        }
    }

    /// Counts one element as complete. Returns the reply if it was the last.
    #[inline]
    fn element_ended<'b>(&mut self) -> Option<Reply<'b>> {
        self.elements -= 1;
        if self.elements > 0 {
            return None;
        }
        match std::mem::take(&mut self.ending) {
            Ending::Done | Ending::Error => Some(Reply::Done),
            Ending::Values(0) => Some(Reply::Empty),
            Ending::Values(values) => Some(Reply::Found(values.try_into().unwrap_or(u32::MAX))),
            Ending::Push => Some(Reply::Push),
            Ending::Attribute => None,
        }
    }

    /// Skips following strings with the same three-byte header, without parsing it: lists mostly hold strings
    /// of one length. Returns the bytes skipped, and leaves the last element, which ends the reply.
    #[inline]
    fn skip_equals(&mut self, input: &[u8]) -> usize {
        let &[b'$', digit @ b'0'..=b'9', b'\r', b'\n', ..] = input else {
            return 0;
        };
        let stride = 4 + usize::from(digit - b'0') + 2;
        let most = (input.len() / stride).min(self.elements.saturating_sub(1) as usize);
        let same = |e: &&[u8]| e[..4] == [b'$', digit, b'\r', b'\n'] && e.ends_with(LINE_END);
        let skipped = input.chunks_exact(stride).take(most).take_while(same).count();
        self.elements -= skipped as u64;
        skipped * stride
    }
}

/// Length of the string at the start of `input`, including its header, if it is complete and its length has
/// few digits.
#[inline]
fn whole_string(input: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 6;
    let (b'$', digits) = input.split_first()? else { return None };
    let mut len = 0;
    for (n, byte) in digits.iter().take(DIGITS_MAX + 1).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            len = len * 10 + usize::from(digit);
            continue;
        }
        let text = digits[n..].strip_prefix(LINE_END).filter(|_| n > 0)?;
        let is_whole = text.get(len..)?.starts_with(LINE_END);
        return is_whole.then_some(1 + n + LINE_END.len() + len + LINE_END.len());
    }
    None
}

/// Shows the beginning of a string, or a null.
fn show_header(line: &[u8], look: &mut impl ReplyVisitor) -> Result<(), ProtocolError> {
    match line.split_first() {
        Some((b'$' | b'=', rest)) => look.begin(length(rest, line)?),
        Some((b'_', _)) => look.begin(None),
        Some((b'+' | b':' | b',' | b'#' | b'(', text)) => look.line(text),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
