//! Harness of the protocol conformance suite: decodes bytes that come in pieces.

use std::fmt::Debug;

use crate::{Decode, Reply, ReplyVisitor};

/// Decodes pieces as an engine would hand them over: unconsumed bytes come again, at most `held_max` of them.
/// Returns each reply, converted by `say`, with its mark, and whether a fault ended the decoding. Checks that
/// a fresh decoder agrees at what a decoder calls the beginning of a reply.
pub(crate) fn decoded<'a, D: Decode + Default, S: Clone + PartialEq + Debug>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    held_max: usize,
    say: impl Fn(Reply<'_>) -> S,
) -> (Vec<(S, Option<u32>)>, bool) {
    let mut decoder = D::default();
    let (mut replies, mut held) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let is_between = decoder.is_between_replies();
            let Ok(step) = decoder.decode(&held) else {
                return (replies, true);
            };
            let (consumed, reply) = (step.consumed, step.reply.map(&say));
            let mark = decoder.mark();
            let mut fresh = D::default();
            if is_between && reply.is_some() {
                let again = fresh.decode(&held[..consumed]).unwrap();
                assert_eq!((again.consumed, again.reply.map(&say)), (consumed, reply.clone()));
            }
            held.drain(..consumed);
            let Some(reply) = reply else { break };
            replies.push((reply, mark));
        }
    }
    assert!(held.len() <= held_max, "only what is unfinished is ever held");
    (replies, false)
}

/// Strings shown by a decoder, in words.
#[derive(Default)]
struct Transcript(Vec<String>);

impl ReplyVisitor for Transcript {
    fn marked(&mut self, command: u32) {
        self.0.push(format!("of {command}"));
    }

    fn key(&mut self, key: &[u8]) {
        self.0.push(format!("key {}", key.escape_ascii()));
    }

    fn cas(&mut self, cas: u64) {
        self.0.push(format!("cas {cas}"));
    }

    fn element(&mut self, header: &[u8]) {
        self.0.push(format!("element {}", header.escape_ascii()));
    }

    fn line(&mut self, text: &[u8]) {
        self.0.push(format!("line {}", text.escape_ascii()));
    }

    fn begin(&mut self, len: Option<u64>) {
        self.0.push(len.map_or("null".to_owned(), |len| format!("{len}:")));
    }

    fn bytes(&mut self, part: &[u8]) {
        // It belongs to the string that began last, whatever was said of that since.
        let others = ["key", "element", "line"];
        let begun =
            self.0.iter_mut().rev().find(|word| {
                word.contains(':') && !others.iter().any(|other| word.starts_with(other))
            });
        let string = begun.expect("a string has begun");
        *string += &part.escape_ascii().to_string();
    }
}

/// Decodes replies in pieces of this size. Returns the shown strings and the number of replies.
pub(crate) fn shown<D: Decode + Default>(input: &[u8], size: usize) -> (Vec<String>, usize) {
    let (mut decoder, mut seen) = (D::default(), Transcript::default());
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
    (seen.0, replies)
}
