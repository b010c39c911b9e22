//! Every kind of reply, whole and split at every byte; and bytes that are not replies.

use proptest::prelude::*;

use super::BinaryDecoder;
use crate::Reply;
use crate::pieces::{decoded, shown};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Done,
    Found,
    Miss,
    Error(String),
    Fault,
}

fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Outcome> {
    // An unfinished header.
    let (replies, fault) = decoded::<BinaryDecoder, _>(pieces, 23, |reply| match reply {
        Reply::Done | Reply::Empty => Outcome::Done,
        Reply::Found(1) => Outcome::Found,
        Reply::Miss => Outcome::Miss,
        Reply::Error(text) => Outcome::Error(String::from_utf8_lossy(text).into_owned()),
        other => panic!("{other:?}"),
    });
    replies.into_iter().map(|(replies, _)| replies).chain(fault.then_some(Outcome::Fault)).collect()
}

/// A reply with these parts.
fn reply(opcode: u8, status: u16, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let body = (extras.len() + key.len() + value.len()) as u32;
    let mut out = vec![0x81, opcode];
    out.extend((key.len() as u16).to_be_bytes());
    out.extend([extras.len() as u8, 0]);
    out.extend(status.to_be_bytes());
    out.extend(body.to_be_bytes());
    out.extend([0; 12]);
    [&out[..], extras, key, value].concat()
}

fn stream() -> (Vec<u8>, Vec<Outcome>) {
    let replies = [
        (reply(0x01, 0, &[], &[], &[]), Some(Outcome::Done)),
        (reply(0x00, 0, &[0; 4], &[], b"value"), Some(Outcome::Found)),
        (reply(0x0c, 0, &[0; 4], b"key", b""), Some(Outcome::Found)),
        (reply(0x00, 1, &[], &[], b"Not found"), Some(Outcome::Miss)),
        (reply(0x01, 2, &[], &[], b"Data exists for key."), Some(Outcome::Miss)),
        (reply(0x0e, 5, &[], &[], b"Not stored."), Some(Outcome::Miss)),
        (reply(0x05, 0, &[], &[], &7u64.to_be_bytes()), Some(Outcome::Done)),
        (
            reply(0x01, 3, &[], &[], b"Too large."),
            Some(Outcome::Error("TOO_LARGE Too large.".into())),
        ),
        (reply(0x21, 0x20, &[], &[], b""), Some(Outcome::Error("AUTH_ERROR ".into()))),
        (reply(0x10, 0, &[], b"pid", b"1"), None),
        (reply(0x10, 0, &[], b"version", b"1.6"), None),
        (reply(0x10, 0, &[], &[], &[]), Some(Outcome::Done)),
        (reply(0x0b, 0, &[], &[], b"1.6.18"), Some(Outcome::Done)),
    ];
    let kinds = replies.iter().filter_map(|(_, kinds)| kinds.clone()).collect();
    (replies.into_iter().flat_map(|(bytes, _)| bytes).collect(), kinds)
}

#[test]
fn every_kind_of_reply_split_at_any_byte() {
    let (bytes, expected) = stream();
    assert_eq!(decode_pieces([&bytes[..]]), expected);
    for at in 0..=bytes.len() {
        assert_eq!(decode_pieces([&bytes[..at], &bytes[at..]]), expected, "split at {at}");
    }
}

#[test]
fn what_is_no_reply_is_a_fault() {
    let mut contradicting = reply(0, 0, &[0; 4], b"key", b"");
    contradicting[11] = 3;
    for bytes in [&b"ERROR\r\n"[..], b"+", b"\x80", &contradicting] {
        assert_eq!(decode_pieces([bytes]), [Outcome::Fault], "{}", bytes.escape_ascii());
    }
}

proptest! {
    #[test]
    fn random_bytes_decode_alike_however_they_arrive(
        heads in prop::collection::vec((0u8..0x25, 0u16..8, 0u8..9, 0u32..40), 0..5),
        noise in prop::collection::vec(any::<u8>(), 0..80),
        piece in 1usize..30,
    ) {
        let mut input = Vec::new();
        for (opcode, status, extras, body) in heads {
            let value = vec![b'x'; body as usize];
            input.extend(reply(opcode, status, &vec![0; usize::from(extras)], b"k", &value));
        }
        input.extend(noise);
        prop_assert_eq!(decode_pieces(input.chunks(piece)), decode_pieces([&input[..]]));
    }
}

#[test]
fn values_are_shown_with_their_tokens_however_they_are_cut() {
    let mut token = reply(0x00, 0, &[0; 4], &[], b"value");
    token[23] = 9;
    let input = [
        token,
        reply(0x00, 1, &[], &[], b"Not found"),
        reply(0x01, 0, &[], &[], &[]),
        reply(0x0c, 0, &[0; 4], b"key", b""),
        reply(0x05, 0, &[], &[], &7u64.to_be_bytes()),
    ];
    let input = input.concat();
    let expected = ["5:value", "cas 9", "null", "0:", "cas 0", "line 7"];
    for size in 1..=input.len() {
        let (seen, replies) = shown::<BinaryDecoder>(&input, size);
        assert_eq!((replies, seen), (5, expected.map(String::from).to_vec()), "pieces of {size}");
    }
}
