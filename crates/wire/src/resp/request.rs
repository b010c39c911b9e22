//! RESP requests, framed: the server's side of the conversation.
//!
//! Finds the end of a request and keeps the beginnings of its first words, enough for a server that answers
//! by name. A long value is skipped by length and never held. The caller decides on the answer.

use thiserror::Error;

/// Kept words of a request, including its name, such as `LRANGE key first last`.
const WORDS_MAX: usize = 4;
/// Kept bytes of a word.
const WORD_KEPT: usize = 64;
/// Longest inline request, as in Redis.
const LINE_MAX: usize = 64 * 1024;
/// Maximum number of words of a request, and maximum length of a word in bytes: far above what any client sends, low
/// enough that no sum overflows.
const COUNT_MAX: u64 = 1 << 40;

/// A request. Words beyond the fourth are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    words: [&'a [u8]; WORDS_MAX],
    count: u64,
}

impl<'a> Request<'a> {
    /// Word `n` of the request, at most its first 64 bytes; empty where there is none. Word 0 is
    /// the command's name, and the first four are kept.
    pub fn word(&self, n: usize) -> &'a [u8] {
        self.words.get(n).copied().unwrap_or_default()
    }

    /// Returns the number of words, the name included; at least 1.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The result of [`RequestDecoder::decode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFrame<'a> {
    /// Number of consumed bytes of the input.
    pub consumed: usize,
    /// The request that ended there, or `None` if more bytes are needed.
    pub request: Option<Request<'a>>,
}

/// Fault of bytes that cannot be a request, in Redis's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("Protocol error: {0}")]
pub struct RequestFault(&'static str);

/// Decoder of the requests of one connection, from bytes that arrive in any pieces.
///
/// A complete request is read in place. For one that arrives in pieces the decoder keeps its state, so a
/// caller may discard consumed bytes.
#[derive(Debug, Default)]
pub struct RequestDecoder {
    /// Words still to come of the current request; 0 between requests.
    left: u64,
    /// Bytes still to come of the current word, including its line end; 0 between words.
    skip: u64,
    /// Bytes of `skip` to keep.
    keep: usize,
    /// The words read so far, one after another.
    held: Vec<u8>,
    /// Ends of the words in `held`.
    ends: [usize; WORDS_MAX],
    /// Number of words.
    count: u64,
}

impl RequestDecoder {
    /// Decodes `input`, which begins after the last consumed byte, until one request ends or the input does.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a request; the connection is then useless.
    #[inline]
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> Result<RequestFrame<'a>, RequestFault> {
        if self.left == 0
            && let Some((request, consumed)) = whole(input)?
        {
            return Ok(RequestFrame { consumed, request: Some(request) });
        }
        self.read_on(input)
    }

    fn read_on<'a>(&'a mut self, input: &'a [u8]) -> Result<RequestFrame<'a>, RequestFault> {
        let mut at = 0;
        let more = |at| Ok(RequestFrame { consumed: at, request: None });
        loop {
            if self.left == 0 {
                match input.get(at) {
                    None => return more(at),
                    Some(b'*') => {
                        let Some((count, after)) = header(input, at)? else { return more(at) };
                        at = after;
                        // An empty request is none, and gets no answer.
                        self.begin(count.unwrap_or(0));
                        continue;
                    }
                    Some(_) => {
                        let Some((request, after)) = inline(&input[at..])? else {
                            return more(at);
                        };
                        at += after;
                        if request.count > 0 {
                            return Ok(RequestFrame { consumed: at, request: Some(request) });
                        }
                        continue;
                    }
                }
            }
            if self.skip == 0 {
                let Some((len, after)) = bulk(input, at)? else { return more(at) };
                at = after;
                self.skip = len + 2;
                let kept = (self.count as usize) < WORDS_MAX;
                self.keep = if kept { len.min(WORD_KEPT as u64) as usize } else { 0 };
            }
            let step = self.skip.min((input.len() - at) as u64) as usize;
            let keep = self.keep.min(step);
            self.held.extend_from_slice(&input[at..at + keep]);
            self.keep -= keep;
            self.skip -= step as u64;
            at += step;
            if self.skip > 0 {
                return more(at);
            }
            if let Some(end) = self.ends.get_mut(self.count as usize) {
                *end = self.held.len();
            }
            self.count += 1;
            self.left -= 1;
            if self.left == 0 {
                return Ok(RequestFrame { consumed: at, request: Some(self.held_request()) });
            }
        }
    }

    fn begin(&mut self, words: u64) {
        self.left = words;
        self.count = 0;
        self.held.clear();
    }

    fn held_request(&self) -> Request<'_> {
        let mut request = Request { words: [&[]; WORDS_MAX], count: self.count };
        let mut start = 0;
        for (word, end) in request.words.iter_mut().zip(self.ends).take(self.count as usize) {
            *word = &self.held[start..end];
            start = end;
        }
        request
    }
}

/// The request at the start of `input` and its length, if it is a complete array.
#[inline]
fn whole(input: &[u8]) -> Result<Option<(Request<'_>, usize)>, RequestFault> {
    if input.first() != Some(&b'*') {
        return Ok(None);
    }
    let Some((Some(count @ 1..), mut at)) = header(input, 0)? else { return Ok(None) };
    let mut request = Request { words: [&[]; WORDS_MAX], count };
    for n in 0..count {
        let Some((len, start)) = bulk(input, at)? else { return Ok(None) };
        if ((input.len() - start) as u64) < len + 2 {
            return Ok(None);
        }
        let len = len as usize;
        if let Some(word) = request.words.get_mut(n as usize) {
            *word = &input[start..start + len.min(WORD_KEPT)];
        }
        at = start + len + 2;
    }
    Ok(Some((request, at)))
}

/// The line at the start of `input` as a request, without words if it is blank, and the offset of the next.
fn inline(input: &[u8]) -> Result<Option<(Request<'_>, usize)>, RequestFault> {
    let end = memchr::memchr(b'\n', input);
    if end.unwrap_or(input.len()) > LINE_MAX {
        return Err(RequestFault("too big inline request"));
    }
    let Some(end) = end else { return Ok(None) };
    let mut request = Request { words: [&[]; WORDS_MAX], count: 0 };
    let words = input[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    for word in words {
        if let Some(kept) = request.words.get_mut(request.count as usize) {
            *kept = &word[..word.len().min(WORD_KEPT)];
        }
        request.count += 1;
    }
    Ok(Some((request, end + 1)))
}

/// Length of the bulk string whose header begins at `at`, and the offset of its body.
#[inline(always)]
fn bulk(input: &[u8], at: usize) -> Result<Option<(u64, usize)>, RequestFault> {
    match input.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(_) => return Err(RequestFault("expected '$'")),
    }
    match header(input, at)? {
        None => Ok(None),
        Some((Some(len), after)) => Ok(Some((len, after))),
        Some((None, _)) => Err(RequestFault("invalid bulk length")),
    }
}

/// Parses the number in a header, after the byte at `at`, and returns it with the offset of the next line. A
/// negative number is `None`; for an unfinished line, the whole result is.
#[inline(always)]
fn header(input: &[u8], at: usize) -> Result<Option<(Option<u64>, usize)>, RequestFault> {
    let digit = |digit: u8| u64::from(digit - b'0');
    match input[at..] {
        // Nearly every number has one digit or two.
        [_, a @ b'0'..=b'9', b'\r', b'\n', ..] => Ok(Some((Some(digit(a)), at + 4))),
        [_, a @ b'0'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', ..] => {
            Ok(Some((Some(10 * digit(a) + digit(b)), at + 5)))
        }
        _ => any_header(input, at),
    }
}

#[cold]
fn any_header(input: &[u8], at: usize) -> Result<Option<(Option<u64>, usize)>, RequestFault> {
    let fault = match input[at] {
        b'*' => RequestFault("invalid multibulk length"),
        _ => RequestFault("invalid bulk length"),
    };
    let negative = input.get(at + 1) == Some(&b'-');
    let first = at + 1 + usize::from(negative);
    let mut value = 0u64;
    let mut at = first;
    loop {
        match input.get(at) {
            None => return Ok(None),
            Some(digit @ b'0'..=b'9') => value = value * 10 + u64::from(digit - b'0'),
            Some(b'\r') if at > first => break,
            Some(_) => return Err(fault),
        }
        if value > COUNT_MAX || at - first > 20 {
            return Err(fault);
        }
        at += 1;
    }
    match input.get(at + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some(((!negative).then_some(value), at + 2))),
        Some(_) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode_command;
    use proptest::prelude::*;

    /// A decoded step, owned.
    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Outcome {
        Request(Vec<Vec<u8>>, u64),
        Fault,
    }

    /// Decodes pieces as an engine would hand them over: unconsumed bytes come again.
    fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Outcome> {
        let mut decoder = RequestDecoder::default();
        let (mut replies, mut held) = (Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            loop {
                let Ok(step) = decoder.decode(&held) else {
                    replies.push(Outcome::Fault);
                    return replies;
                };
                let (consumed, over) = (step.consumed, step.request.is_none());
                replies.extend(step.request.map(|request| {
                    let words = (0..WORDS_MAX).map(|n| request.word(n).to_vec());
                    Outcome::Request(words.collect(), request.count())
                }));
                held.drain(..consumed);
                if over {
                    break;
                }
            }
        }
        assert!(held.len() <= LINE_MAX, "only an unfinished line is ever held");
        replies
    }

    fn request(words: &[&str]) -> Outcome {
        let kept = (0..WORDS_MAX).map(|n| words.get(n).unwrap_or(&"").as_bytes().to_vec());
        Outcome::Request(kept.collect(), words.len() as u64)
    }

    #[test]
    fn arrays_and_lines_are_requests() {
        let cases: &[(&str, &[&[&str]])] = &[
            ("*1\r\n$4\r\nPING\r\n", &[&["PING"]]),
            ("PING\r\nping a  b\n", &[&["PING"], &["ping", "a", "b"]]),
            ("\r\n\n  \r\n*0\r\n*-1\r\n*1\r\n$1\r\nx\r\n", &[&["x"]]),
            ("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", &[&["", "\r\n"]]),
            (
                "*6\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n",
                &[&["a", "b", "c", "d", "e", "f"]],
            ),
            ("*1\r\n$4\r\nPIN", &[]),
        ];
        for (input, expected) in cases {
            let expected: Vec<Outcome> = expected.iter().map(|words| request(words)).collect();
            assert_eq!(decode_pieces([input.as_bytes()]), expected, "{input:?}");
        }
    }

    #[test]
    fn what_is_no_request_is_a_fault() {
        let cases: &[&[u8]] = &[
            b"*x",
            b"*\r\n",
            b"*-\r\n",
            b"*1\n",
            b"*1\rx",
            b"*99999999999999999999999",
            b"*000000000000000000000000",
            b"*1\r\nPING\r\n",
            b"*1\r\n$-1\r\n",
            b"*1\r\n:1\r\n",
            b"*2\r\n$1\r\nabcd",
            &[b'x'; LINE_MAX + 1],
        ];
        for input in cases {
            let shown = input.escape_ascii();
            assert_eq!(decode_pieces([*input]), [Outcome::Fault], "{shown}");
            assert_eq!(decode_pieces(input.chunks(1)), [Outcome::Fault], "{shown}");
        }
    }

    #[test]
    fn a_huge_value_is_skipped_in_pieces_without_being_held() {
        let mut decoder = RequestDecoder::default();
        let head = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000000\r\n";
        assert_eq!(decoder.decode(head).unwrap().consumed, head.len());
        let chunk = [b'x'; 1 << 16];
        let mut left = 1_000_000_002;
        while left > chunk.len() {
            let step = decoder.decode(&chunk).unwrap();
            assert_eq!((step.consumed, step.request), (chunk.len(), None));
            left -= chunk.len();
        }
        let request = decoder.decode(&chunk[..left]).unwrap().request.unwrap();
        assert_eq!((request.word(0), request.word(2).len()), (&b"SET"[..], WORD_KEPT));
        assert!(decoder.held.len() <= WORDS_MAX * WORD_KEPT);
    }

    fn any_request() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..12),
            (60usize..70).prop_map(|len| vec![b'v'; len]),
        ];
        let array = prop::collection::vec(word, 0..7).prop_map(|words| {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let mut out = Vec::new();
            encode_command(&words, &mut out);
            out
        });
        prop_oneof![array, "[a-z]{1,8}( [a-z]{0,5}){0,6}\r?\n".prop_map(String::into_bytes)]
    }

    proptest! {
        /// Splitting at every byte, and into single bytes, changes nothing.
        #[test]
        fn pieces_decode_as_the_whole(requests in prop::collection::vec(any_request(), 1..5)) {
            let input = requests.concat();
            let expected = decode_pieces([&input[..]]);
            prop_assert!(!expected.contains(&Outcome::Fault));
            for at in 0..=input.len() {
                prop_assert_eq!(&decode_pieces([&input[..at], &input[at..]]), &expected);
            }
            prop_assert_eq!(&decode_pieces(input.chunks(1)), &expected);
        }

        /// Any bytes are framed or refused, without a panic or an overflow.
        #[test]
        fn any_bytes_are_safe(input in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode_pieces([&input[..]]), decode_pieces(input.chunks(1)));
        }

        #[test]
        fn almost_a_request_is_safe(
            requests in prop::collection::vec(any_request(), 1..4),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut input = requests.concat();
            let at = at.index(input.len());
            input[at] = byte;
            prop_assert_eq!(decode_pieces([&input[..]]), decode_pieces(input.chunks(1)));
        }
    }
}
