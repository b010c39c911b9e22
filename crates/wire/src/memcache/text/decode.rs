//! Replies of memcached's text protocol, framed and not parsed.
//!
//! The decoder need not know the command: the first word of a reply tells its kind. `VALUE` lines with their
//! data up to `END` are one reply, and so are the lines of `stats`; `VA` has one block of data; every other
//! reply is one line. Data is skipped by length.

use memchr::memchr;

use crate::memcache::ERROR_KEPT;
use crate::memcache::fault::{TEXT, fault, stranger};
use crate::protocol::NoVisitor;
use crate::{Decode, Frame, ProtocolError, Reply, ReplyVisitor};

/// Longest line that is awaited; servers' lines stay far below it.
const LINE_MAX: usize = 64 * 1024;
/// Longest block of data: far above what a server allows, low enough that no sum overflows.
const DATA_MAX: u64 = 1 << 40;

/// State of one connection between pieces of input.
#[derive(Debug, Default)]
pub struct TextDecoder {
    /// Bytes still to come of a block of data, including its line end; 0 between blocks.
    block: u64,
    open: OpenReply,
    /// Number set by [`Decode::mark`].
    mark: Option<u32>,
    /// Set if the previous reply was an error; newer servers put an empty line after some.
    erred: bool,
}

/// An incomplete reply of several lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum OpenReply {
    #[default]
    None,
    /// This many values; `END` follows.
    Values(u32),
    /// Lines of statistics came; `END` follows.
    Lines,
    /// The value of a meta command, or its substitute, whose data is incomplete.
    Meta { found: bool },
}

impl Decode for TextDecoder {
    #[inline]
    fn decode<'b>(&'b mut self, input: &'b [u8]) -> Result<Frame<'b>, ProtocolError> {
        // The reply to nearly every write.
        if self.open == OpenReply::None && input.starts_with(b"STORED\r\n") {
            (self.mark, self.erred) = (None, false);
            return Ok(Frame { consumed: 8, reply: Some(Reply::Done) });
        }
        self.decode_shown(input, &mut NoVisitor)
    }

    fn decode_shown<'b, L: ReplyVisitor>(
        &mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Frame<'b>, ProtocolError> {
        let mut at = 0;
        loop {
            if self.block > 0 {
                at += self.skip(&input[at..], look)?;
                if self.block > 0 {
                    return Ok(Frame { consumed: at, reply: None });
                }
                if let OpenReply::Meta { found } = self.open {
                    self.open = OpenReply::None;
                    let reply = if found { Reply::Found(1) } else { Reply::Miss };
                    return Ok(Frame { consumed: at, reply: Some(reply) });
                }
            }
            let Some((line, after)) = line(&input[at..], self.erred)? else {
                return Ok(Frame { consumed: at, reply: None });
            };
            let reply = self.header(line, look)?;
            at += after;
            if reply.is_some() {
                return Ok(Frame { consumed: at, reply });
            }
        }
    }

    #[inline]
    fn is_between_replies(&self) -> bool {
        self.open == OpenReply::None && self.block == 0 && !self.erred
    }

    #[inline]
    fn text_to_come(&self) -> u64 {
        self.block.saturating_sub(2)
    }

    fn skip_text(&mut self, bytes: u64) {
        self.block -= bytes;
    }

    #[inline]
    fn mark(&self) -> Option<u32> {
        self.mark
    }
}

impl TextDecoder {
    /// Skips the received part of a block of data and its line end. Returns the bytes skipped.
    #[inline]
    fn skip(&mut self, input: &[u8], look: &mut impl ReplyVisitor) -> Result<usize, ProtocolError> {
        let step = (self.block - 2).min(input.len() as u64);
        self.block -= step;
        let at = step as usize;
        // The substitute for a missing value has none.
        if at > 0 {
            look.bytes(&input[..at]);
        }
        if self.block > 2 || input.len() - at < 2 {
            return Ok(at);
        }
        if &input[at..at + 2] != b"\r\n" {
            return Err(fault(TEXT, "data that does not end where its length says", &input[at..]));
        }
        self.block = 0;
        Ok(at + 2)
    }

    /// Takes a line. Returns the reply if it ends there.
    #[inline]
    fn header<'b, L: ReplyVisitor>(
        &mut self,
        line: &'b [u8],
        look: &mut L,
    ) -> Result<Option<Reply<'b>>, ProtocolError> {
        if let Some(fields) = line.strip_prefix(b"VALUE ")
            && let OpenReply::None | OpenReply::Values(_) = self.open
        {
            let hits = if let OpenReply::Values(hits) = self.open { hits } else { 0 };
            let (length, cas) = value_length(fields, line)?;
            if L::SEES {
                look.key(&fields[..memchr(b' ', fields).unwrap_or(fields.len())]);
                look.begin(Some(length));
                show_cas(cas, look);
            }
            self.block = length + 2;
            self.open = OpenReply::Values(hits.saturating_add(1));
            return Ok(None);
        }
        if line == b"END" {
            (self.mark, self.erred) = (None, false);
            if L::SEES && self.open == OpenReply::None {
                look.begin(None);
            }
            return Ok(Some(match std::mem::take(&mut self.open) {
                OpenReply::None => Reply::Miss,
                OpenReply::Values(hits) => Reply::Found(hits),
                OpenReply::Lines | OpenReply::Meta { .. } => Reply::Done,
            }));
        }
        self.other(line, look)
    }

    fn other<'b, L: ReplyVisitor>(
        &mut self,
        line: &'b [u8],
        look: &mut L,
    ) -> Result<Option<Reply<'b>>, ProtocolError> {
        let word = &line[..memchr(b' ', line).unwrap_or(line.len())];
        if is_error(word) {
            // It ends whatever has begun.
            (self.open, self.mark, self.erred) = (OpenReply::None, None, true);
            return Ok(Some(Reply::Error(&line[..line.len().min(ERROR_KEPT)])));
        }
        if line.is_empty() && self.erred && self.open == OpenReply::None {
            self.erred = false;
            return Ok(None);
        }
        let statistic = matches!(word, b"STAT" | b"ITEM" | b"PREFIX");
        match self.open {
            OpenReply::None | OpenReply::Lines if statistic => {
                self.open = OpenReply::Lines;
                return Ok(None);
            }
            // `stats reset` and the like end without more.
            OpenReply::None => {}
            _ => return Err(fault(TEXT, "a line that is not part of the reply before it", line)),
        }
        (self.mark, self.erred) = (mark(line), false);
        if L::SEES && matches!(word, b"VA" | b"HD" | b"EN") {
            show_meta(word, line, self.mark, look)?;
        }
        let counts = word.first().is_some_and(u8::is_ascii_digit);
        if L::SEES && (counts || matches!(word, b"STORED" | b"DELETED" | b"TOUCHED" | b"OK")) {
            look.line(word);
        }
        Ok(Some(match word {
            b"VA" => {
                let (length, flags) = meta_length(line)?;
                self.block = length + 2;
                self.open = OpenReply::Meta { found: !is_stub(length, flags) };
                return Ok(None);
            }
            b"HD" | b"STORED" | b"DELETED" | b"TOUCHED" | b"OK" | b"MN" | b"VERSION" | b"RESET"
            | b"ME" => Reply::Done,
            b"EN" | b"NF" | b"NS" | b"EX" | b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" => Reply::Miss,
            // The result of incr and decr, which old servers pad.
            number if number.iter().all(u8::is_ascii_digit) && !number.is_empty() => Reply::Done,
            _ => return Err(fault(TEXT, "a reply cannot begin like this", line)),
        }))
    }
}

/// Returns whether this is an empty item that stands for a missing one. The client that is to fill it gets
/// one (`W`), and so do clients that ask meanwhile (`Z`).
fn is_stub(length: u64, flags: &[u8]) -> bool {
    length == 0 && flags.split(|b| *b == b' ').any(|flag| matches!(flag, b"W" | b"Z"))
}

/// Shows the first line of a meta reply.
#[cold]
fn show_meta(
    word: &[u8],
    line: &[u8],
    mark: Option<u32>,
    look: &mut impl ReplyVisitor,
) -> Result<(), ProtocolError> {
    if let Some(command) = mark {
        look.marked(command);
    }
    match word {
        b"VA" => {
            let (length, flags) = meta_length(line)?;
            look.begin((!is_stub(length, flags)).then_some(length));
        }
        b"EN" => look.begin(None),
        _ => {}
    }
    let mut flags = line.split(|byte| *byte == b' ').skip(1);
    show_cas(flags.find_map(|flag| flag.strip_prefix(b"c")).unwrap_or_default(), look);
    Ok(())
}

fn show_cas(digits: &[u8], look: &mut impl ReplyVisitor) {
    let digits = std::str::from_utf8(digits).ok();
    if let Some(cas) = digits.and_then(|digits| digits.parse().ok()) {
        look.cas(cas);
    }
}

/// Returns whether a line with this first word is an error. The first word also names errors of
/// administrative commands.
fn is_error(word: &[u8]) -> bool {
    const ADMINISTRATION: [&[u8]; 6] =
        [b"BUSY", b"BADCLASS", b"NOSPARE", b"NOTFULL", b"UNSAFE", b"SAME"];
    let prefixes: [&[u8]; 5] =
        [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR", b"MEMLIMIT_", b"WATCHER_"];
    prefixes.iter().any(|prefix| word.starts_with(prefix)) || ADMINISTRATION.contains(&word)
}

/// The line at the start of `input` without its end, and the offset of the next.
#[inline]
fn line(input: &[u8], may_be_empty: bool) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let empty = may_be_empty && input.first() == Some(&b'\r');
    if !empty && !input.first().is_none_or(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) {
        return Err(stranger(TEXT, input));
    }
    let Some(end) = memchr(b'\n', input) else {
        return if input.len() <= LINE_MAX {
            Ok(None)
        } else {
            Err(fault(TEXT, "a line without an end", input))
        };
    };
    match input[..end].strip_suffix(b"\r") {
        Some(line) if line.len() <= LINE_MAX => Ok(Some((line, end + 1))),
        Some(_) => Err(fault(TEXT, "a line without an end", input)),
        None => Err(fault(TEXT, "a line that does not end in CR LF", input)),
    }
}

/// The length in `key flags length[ cas]`, and the rest.
#[inline]
fn value_length<'l>(fields: &'l [u8], line: &[u8]) -> Result<(u64, &'l [u8]), ProtocolError> {
    let after = |rest: &[u8]| memchr(b' ', rest).map(|space| space + 1);
    let flags = after(fields).unwrap_or(fields.len());
    let length = flags + after(&fields[flags..]).unwrap_or(fields.len() - flags);
    number(&fields[length..], line)
}

/// The length in `VA length[ flags]`, and the flags.
fn meta_length(line: &[u8]) -> Result<(u64, &[u8]), ProtocolError> {
    number(line.get(3..).unwrap_or_default(), line)
}

/// The number at the start of `digits`, and the text after the next space.
#[inline]
fn number<'l>(digits: &'l [u8], line: &[u8]) -> Result<(u64, &'l [u8]), ProtocolError> {
    let mut value = 0u64;
    let mut rest = digits;
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value * 10 + u64::from(digit - b'0');
        rest = after;
        if value > DATA_MAX {
            return Err(fault(TEXT, "a length beyond any server's limit", line));
        }
    }
    match rest.split_first() {
        _ if rest.len() == digits.len() => Err(fault(TEXT, "a length that is not a number", line)),
        None => Ok((value, rest)),
        Some((b' ', flags)) => Ok((value, flags)),
        Some(_) => Err(fault(TEXT, "a length that is not a number", line)),
    }
}

/// The number in the flag `O` of a meta reply.
#[inline]
fn mark(line: &[u8]) -> Option<u32> {
    // `HD` alone, the most frequent reply.
    if line.len() < 4 {
        return None;
    }
    let mut flags = line.split(|byte| *byte == b' ').skip(1);
    let digits = flags.find_map(|flag| flag.strip_prefix(b"O"))?;
    let decimal = !digits.is_empty() && digits.len() <= 9 && digits.iter().all(u8::is_ascii_digit);
    decimal.then(|| digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}
