//! RESP replies, framed and not parsed.
//!
//! Finds where a reply ends and what kind it is. No object is built: a bulk string is skipped by
//! its length, a collection is a count of elements still to come, nested ones add to that count,
//! and of a line or error without end only the beginning is kept, so that neither depth nor size
//! costs memory. Building values is [`super::Value`]'s job.

use memchr::memchr;

use super::NAME;
use crate::protocol::Unseen;
use crate::{Decode, Decoded, Look, ProtocolError, Reply};

/// Longest line that is waited for in whole. What is longer can only be text, and is skipped as it
/// comes.
const LINE_MAX: usize = 64 * 1024;
/// Most bytes of an error's text that are handed out.
const ERROR_KEPT: usize = 1024;
/// Most elements of one reply still to come, and longest bulk string: far above what a server
/// allows, low enough that no sum overflows.
const COUNT_MAX: u64 = 1 << 48;

/// The state of one connection between pieces of input.
#[derive(Debug, Default)]
pub struct RespDecoder {
    /// Elements still to come of the reply being read, nested ones included; 0 between replies.
    elements: u64,
    /// Bytes still to come of the bulk string being skipped, its line end included.
    skip: u64,
    /// What to say when the reply being read ends.
    ending: Ending,
    /// The line being skipped, if one is.
    long: Option<LongLine>,
    /// The beginning of an error whose text does not arrive as one line at once.
    kept: Vec<u8>,
}

/// A line too long to be waited for.
#[derive(Debug, Clone, Copy)]
struct LongLine {
    /// Whether it is an error of which [`RespDecoder::kept`] has the beginning.
    error: bool,
    /// Whether what was skipped so far ends in the first half of a line end.
    cr: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Ending {
    #[default]
    Done,
    Push,
    /// The metadata before a reply (RESP3 attribute): the reply itself follows.
    Attribute,
    /// An error written as a string (RESP3 blob error), whose text is kept while it is skipped.
    Error,
}

impl Decode for RespDecoder {
    #[inline]
    fn decode<'b>(&'b mut self, input: &'b [u8]) -> Result<Decoded<'b>, ProtocolError> {
        // What nearly every write is answered with, between replies.
        if self.elements == 0 && input.starts_with(b"+OK\r\n") {
            return Ok(Decoded { consumed: 5, reply: Some(Reply::Done) });
        }
        self.read(input, &mut Unseen)
    }

    fn decode_shown<'b, L: Look>(
        &'b mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Decoded<'b>, ProtocolError> {
        self.read(input, look)
    }
}

impl RespDecoder {
    fn read<'b, L: Look>(
        &'b mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Decoded<'b>, ProtocolError> {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let step = self.skip.min((input.len() - at) as u64);
                if L::SEES || self.ending == Ending::Error {
                    // The line end after the text is no part of it.
                    let text = step.min(self.skip.saturating_sub(2));
                    let text = &input[at..at + text as usize];
                    match self.ending {
                        Ending::Error => self.keep(text),
                        Ending::Done => look.bytes(text),
                        Ending::Push | Ending::Attribute => {}
                    }
                }
                at += step as usize;
                self.skip -= step;
                if self.skip > 0 {
                    return Ok(Decoded { consumed: at, reply: None });
                }
                if self.ending == Ending::Error {
                    (self.elements, self.ending) = (0, Ending::Done);
                    return Ok(Decoded { consumed: at, reply: Some(Reply::Error(&self.kept)) });
                }
                if let Some(reply) = self.element_ended() {
                    return Ok(Decoded { consumed: at, reply: Some(reply) });
                }
                if !L::SEES {
                    at += self.skip_equals(&input[at..]);
                }
            }
            if let Some(long) = self.long {
                let Some(after) = self.skip_line(long, &input[at..])? else {
                    return Ok(Decoded { consumed: input.len(), reply: None });
                };
                at += after;
                if long.error {
                    self.elements = 0;
                    return Ok(Decoded { consumed: at, reply: Some(Reply::Error(&self.kept)) });
                }
                if let Some(reply) = self.element_ended() {
                    return Ok(Decoded { consumed: at, reply: Some(reply) });
                }
            }
            let Some((line, after)) = line(&input[at..])? else {
                if input.len() - at <= LINE_MAX {
                    return Ok(Decoded { consumed: at, reply: None });
                }
                self.begin_line(&input[at..])?;
                continue;
            };
            if L::SEES && self.ending == Ending::Done {
                show_header(line, look)?;
            }
            let reply = self.header(line)?;
            at += after;
            if reply.is_some() {
                return Ok(Decoded { consumed: at, reply });
            }
        }
    }

    /// Begins to skip the line at the start of `input`, which is longer than what is waited for.
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

    /// Skips on in a long line; where the next one begins, if it ends here.
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

    /// Takes the header line of an element; a reply if the element and with it the reply ends.
    fn header<'b>(&mut self, line: &'b [u8]) -> Result<Option<Reply<'b>>, ProtocolError> {
        let top = self.elements == 0;
        let (&kind, rest) = line.split_first().ok_or_else(|| fault("an empty line", line))?;
        match kind {
            b'+' | b':' | b',' | b'#' | b'(' => {}
            b'-' if top => return Ok(Some(Reply::Error(&rest[..rest.len().min(ERROR_KEPT)]))),
            b'-' => {}
            b'_' if top => return Ok(Some(Reply::Miss)),
            b'_' => {}
            b'$' | b'=' | b'!' => match length(rest, line)? {
                None if top => return Ok(Some(Reply::Miss)),
                None => {}
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
            _ => return Err(fault("no type of reply begins like this", line)),
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
            return Ok(self.element_ended());
        };
        let elements = if matches!(kind, b'%' | b'|') { count * 2 } else { count };
        if top {
            self.ending = match kind {
                b'>' => Ending::Push,
                b'|' => Ending::Attribute,
                _ => Ending::Done,
            };
        }
        // Inside a reply an attribute belongs to the element after it and is none itself; a push
        // never stands there.
        let itself = u64::from(top || kind == b'|');
        self.elements = self.elements.saturating_add(elements + itself);
        if self.elements > COUNT_MAX {
            return Err(fault("more elements than any reply has", line));
        }
        Ok(self.element_ended())
    }

    /// Counts one element as over; the reply if it was the last.
    #[inline]
    fn element_ended<'b>(&mut self) -> Option<Reply<'b>> {
        self.elements -= 1;
        if self.elements > 0 {
            return None;
        }
        match std::mem::take(&mut self.ending) {
            Ending::Done | Ending::Error => Some(Reply::Done),
            Ending::Push => Some(Reply::Push),
            Ending::Attribute => None,
        }
    }

    /// Lists mostly hold strings of one length, so the header of the last element is likely that
    /// of the next: skips all that follow with the same three-byte header, without reading it.
    /// Returns the bytes skipped; never the last element, which ends the reply.
    #[inline]
    fn skip_equals(&mut self, input: &[u8]) -> usize {
        let &[b'$', digit @ b'0'..=b'9', b'\r', b'\n', ..] = input else {
            return 0;
        };
        let stride = 4 + usize::from(digit - b'0') + 2;
        let most = (input.len() / stride).min(self.elements.saturating_sub(1) as usize);
        let same = |e: &&[u8]| e[..4] == [b'$', digit, b'\r', b'\n'];
        let skipped = input.chunks_exact(stride).take(most).take_while(same).count();
        self.elements -= skipped as u64;
        skipped * stride
    }
}

/// Shows that a string begins, or that a null stands there.
fn show_header(line: &[u8], look: &mut impl Look) -> Result<(), ProtocolError> {
    match line.split_first() {
        Some((b'$' | b'=', rest)) => look.begin(length(rest, line)?),
        Some((b'_', _)) => look.begin(None),
        _ => {}
    }
    Ok(())
}

/// The line at the start of `input` without its end, and where the next begins.
#[inline]
fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let Some(end) = memchr(b'\n', input) else {
        return match input.first().is_none_or(|b| b"+-:$*_,#!=(~%>|".contains(b)) {
            true => Ok(None),
            false => Err(fault("no type of reply begins like this", input)),
        };
    };
    match input[..end].strip_suffix(b"\r") {
        Some(line) => Ok(Some((line, end + 1))),
        None => Err(fault("a line that does not end in CR LF", input)),
    }
}

/// A length or count; `None` for -1, the null of RESP2.
#[inline]
pub(super) fn length(digits: &[u8], line: &[u8]) -> Result<Option<u64>, ProtocolError> {
    if digits == b"-1" {
        return Ok(None);
    }
    if digits.is_empty() || digits.len() > 15 {
        return Err(fault("a length that is no number", line));
    }
    let mut value = 0u64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return Err(fault("a length that is no number", line));
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    if value > COUNT_MAX {
        return Err(fault("a length beyond any server's limit", line));
    }
    Ok(Some(value))
}

#[cold]
fn fault(why: &'static str, bytes: &[u8]) -> ProtocolError {
    ProtocolError::new(NAME, why, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a decoder says, owned.
    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Said {
        Done,
        Miss,
        Error(Vec<u8>),
        Push,
        Fault,
    }

    /// Decodes pieces as an engine would hand them over: what is not consumed comes again.
    fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
        let mut decoder = RespDecoder::default();
        let (mut said, mut held) = (Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            loop {
                let Ok(step) = decoder.decode(&held) else {
                    said.push(Said::Fault);
                    return said;
                };
                said.extend(step.reply.map(|reply| match reply {
                    Reply::Done | Reply::Found(_) => Said::Done,
                    Reply::Miss => Said::Miss,
                    Reply::Error(text) => Said::Error(text.to_vec()),
                    Reply::Push => Said::Push,
                }));
                let (consumed, over) = (step.consumed, step.reply.is_none());
                held.drain(..consumed);
                if over {
                    break;
                }
            }
        }
        assert!(held.len() <= LINE_MAX, "only an unfinished line is ever held");
        said
    }

    fn whole(input: &[u8]) -> Vec<Said> {
        decode_pieces([input])
    }

    #[test]
    fn every_type_of_resp2_and_resp3() {
        let cases: &[(&[u8], &[Said])] = &[
            (b"+OK\r\n+PONG\r\n:42\r\n", &[Said::Done, Said::Done, Said::Done]),
            (b"-ERR no\r\n", &[Said::Error(b"ERR no".to_vec())]),
            (b"$-1\r\n*-1\r\n_\r\n", &[Said::Miss, Said::Miss, Said::Miss]),
            (b"$0\r\n\r\n$5\r\na\r\nbc\r\n", &[Said::Done, Said::Done]),
            (b"*0\r\n*2\r\n$1\r\na\r\n$-1\r\n", &[Said::Done, Said::Done]),
            (b"*2\r\n*2\r\n:1\r\n*0\r\n-ERR inside\r\n+OK\r\n", &[Said::Done, Said::Done]),
            (
                b"%1\r\n+k\r\n*1\r\n,1.5\r\n~1\r\n#t\r\n(123\r\n",
                &[Said::Done, Said::Done, Said::Done],
            ),
            (
                b"=7\r\ntxt:abc\r\n!5\r\nERR x\r\n!0\r\n\r\n",
                &[Said::Done, Said::Error(b"ERR x".to_vec()), Said::Error(vec![])],
            ),
            (b"*2\r\n!5\r\nERR x\r\n:1\r\n+OK\r\n", &[Said::Done, Said::Done]),
            (
                b"|1\r\n+a\r\n:1\r\n!3\r\nE\r\n\r\n:1\r\n",
                &[Said::Error(b"E\r\n".to_vec()), Said::Done],
            ),
            (b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n", &[Said::Push, Said::Done]),
            (b"|1\r\n+ttl\r\n:3\r\n+OK\r\n", &[Said::Done]),
            (b"*2\r\n|1\r\n+a\r\n:1\r\n:2\r\n:3\r\n+OK\r\n", &[Said::Done, Said::Done]),
        ];
        for (input, expected) in cases {
            assert_eq!(whole(input), *expected, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn what_is_not_resp_is_a_fault_at_once() {
        let cases: &[&[u8]] = &[
            b"HTTP/1.1 400 Bad Request\r\n",
            b"SSH-2.0",
            b"\r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"*\r\n",
            b"+no carriage return\n",
            b"$99999999999999999999\r\n",
            b"*999999999999999\r\n",
            b"$?\r\n",
        ];
        for input in cases {
            assert_eq!(whole(input), [Said::Fault], "{}", input.escape_ascii());
        }
        assert_eq!(whole(&[b':'; LINE_MAX + 2]), [Said::Fault]);
    }

    /// A line of `len` bytes of text, its end included in no count.
    fn long_line(kind: u8, len: usize) -> Vec<u8> {
        let text = b"ERR ".iter().copied().chain(std::iter::repeat(b'x')).take(len);
        std::iter::once(kind).chain(text).chain(*b"\r\n").collect()
    }

    #[test]
    fn lines_of_any_length_are_skipped_and_of_errors_the_beginning_is_kept() {
        let kept = Said::Error(long_line(b'-', ERROR_KEPT)[1..=ERROR_KEPT].to_vec());
        for len in [LINE_MAX - 2, LINE_MAX - 1, LINE_MAX, LINE_MAX + 1, 1_000_000] {
            let mut input = long_line(b'-', len);
            input.extend(long_line(b'+', len));
            input.extend([&b"*3\r\n"[..], &long_line(b'-', len), b":1\r\n"].concat());
            input.extend(long_line(b'(', len));
            let blob = long_line(b'x', len);
            input.extend([format!("!{len}\r\n").as_bytes(), &blob[1..], b":1\r\n"].concat());
            let expected = [kept.clone(), Said::Done, Said::Done, kept.clone(), Said::Done];
            assert_eq!(whole(&input), expected, "{len}");
            for piece in [1000, 4097, LINE_MAX, LINE_MAX + 1] {
                assert_eq!(decode_pieces(input.chunks(piece)), expected, "{len} by {piece}");
            }
        }
        // The two halves of its end may come apart.
        let input = long_line(b'-', LINE_MAX + 10);
        for at in input.len() - 3..input.len() {
            let pieces = [&input[..at], &input[at..], b"+OK\r\n"];
            assert_eq!(decode_pieces(pieces), [kept.clone(), Said::Done], "{at}");
        }
        let mut bare = long_line(b'+', LINE_MAX + 10);
        bare.remove(LINE_MAX + 11);
        assert_eq!(whole(&bare), [Said::Fault]);
        let all_but_end = &bare[..bare.len() - 1];
        assert_eq!(decode_pieces([all_but_end, b"\n"]), [Said::Fault]);
        assert_eq!(whole(&[b'$'; LINE_MAX + 10]), [Said::Fault]);
    }

    #[test]
    fn deep_nesting_costs_nothing() {
        let mut input = b"*1\r\n".repeat(200_000);
        input.extend_from_slice(b":1\r\n+OK\r\n");
        assert_eq!(whole(&input), [Said::Done, Said::Done]);
    }

    #[test]
    fn a_huge_bulk_is_skipped_in_pieces_without_being_held() {
        let mut decoder = RespDecoder::default();
        assert_eq!(decoder.decode(b"$1000000000\r\nabc").unwrap().consumed, 16);
        let chunk = [b'x'; 1 << 16];
        let mut left = 1_000_000_000u64 + 2 - 3;
        while left > chunk.len() as u64 {
            let step = decoder.decode(&chunk).unwrap();
            assert_eq!((step.consumed, step.reply), (chunk.len(), None));
            left -= chunk.len() as u64;
        }
        let last = decoder.decode(&chunk[..left as usize]).unwrap();
        assert_eq!(last.reply, Some(Reply::Done));
    }

    #[test]
    fn a_list_of_600_is_one_reply() {
        let mut input = b"*600\r\n".to_vec();
        input.extend(b"$3\r\nabc\r\n".repeat(599));
        input.extend_from_slice(b"$10\r\n0123456789\r\n$-1\r\n");
        assert_eq!(whole(&input), [Said::Done, Said::Miss]);
    }

    fn reply(depth: u32) -> BoxedStrategy<Vec<u8>> {
        let bulk = prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|body| [format!("${}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat());
        let leaf = prop_oneof![
            bulk,
            Just(b"$3\r\nabc\r\n".to_vec()),
            Just(b"+OK\r\n".to_vec()),
            Just(b"-ERR x\r\n".to_vec()),
            Just(b"!6\r\nERR\r\nx\r\n".to_vec()),
            Just(b":-7\r\n".to_vec()),
            Just(b"$-1\r\n".to_vec()),
            Just(b"*-1\r\n".to_vec()),
            Just(b"_\r\n".to_vec()),
            Just(b"#f\r\n".to_vec()),
        ];
        if depth == 0 {
            return leaf.boxed();
        }
        let nested =
            (prop::sample::select(b"*~%".to_vec()), prop::collection::vec(reply(depth - 1), 0..6))
                .prop_map(|(kind, mut items)| {
                    if kind == b'%' && items.len() % 2 == 1 {
                        items.pop();
                    }
                    let count = if kind == b'%' { items.len() / 2 } else { items.len() };
                    [format!("{}{count}\r\n", kind as char).into_bytes(), items.concat()].concat()
                });
        prop_oneof![leaf, nested].boxed()
    }

    proptest! {
        /// Splitting at every byte, and into single bytes, changes nothing.
        #[test]
        fn pieces_decode_as_the_whole(replies in prop::collection::vec(reply(3), 1..6)) {
            let input = replies.concat();
            let expected = whole(&input);
            prop_assert_eq!(expected.len(), replies.len());
            for at in 0..=input.len() {
                prop_assert_eq!(&decode_pieces([&input[..at], &input[at..]]), &expected);
            }
            prop_assert_eq!(&decode_pieces(input.chunks(1)), &expected);
        }

        /// Any bytes are decoded or refused, never more: no panic, no overflow, no lost place.
        #[test]
        fn any_bytes_are_safe(input in prop::collection::vec(any::<u8>(), 0..200)) {
            whole(&input);
        }

        #[test]
        fn almost_resp_is_safe(
            replies in prop::collection::vec(reply(2), 1..4),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut input = replies.concat();
            let at = at.index(input.len());
            input[at] = byte;
            let said = whole(&input);
            prop_assert_eq!(decode_pieces(input.chunks(1)), said);
        }
    }

    /// What is shown, owned: each string, `None` for a null.
    #[derive(Default)]
    struct Seen(Vec<Option<Vec<u8>>>);

    impl Look for Seen {
        fn begin(&mut self, len: Option<u64>) {
            self.0.push(len.map(|_| Vec::new()));
        }

        fn bytes(&mut self, part: &[u8]) {
            if let Some(Some(last)) = self.0.last_mut() {
                last.extend_from_slice(part);
            }
        }
    }

    #[test]
    fn strings_are_shown_as_they_pass_however_they_are_cut() {
        let input = b"$3\r\nabc\r\n$-1\r\n+OK\r\n>2\r\n$3\r\nmsg\r\n$1\r\nx\r\n_\r\n\
            *4\r\n$1\r\na\r\n$-1\r\n:5\r\n$0\r\n\r\n$2\r\n\r\n\r\n";
        let text = |t: &str| Some(t.as_bytes().to_vec());
        let expected = [text("abc"), None, None, text("a"), None, text(""), text("\r\n")];
        for size in 1..=input.len() {
            let (mut decoder, mut seen) = (RespDecoder::default(), Seen::default());
            let (mut held, mut replies) = (Vec::new(), 0);
            for piece in input.chunks(size) {
                held.extend_from_slice(piece);
                loop {
                    let step = decoder.decode_shown(&held, &mut seen).unwrap();
                    let (consumed, over) = (step.consumed, step.reply.is_none());
                    replies += usize::from(!over);
                    held.drain(..consumed);
                    if over {
                        break;
                    }
                }
            }
            assert_eq!((replies, seen.0), (7, expected.to_vec()), "pieces of {size}");
        }
    }
}
