//! Every reply of the grammar, whole and split at every byte; and bytes that are not replies.

use proptest::prelude::*;

use super::TextDecoder;
use crate::Reply;
use crate::pieces::{decoded, shown};

/// A decoded step, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Done(Option<u32>),
    Found(u32, Option<u32>),
    Miss(Option<u32>),
    Error(String),
    Fault,
}
use Outcome::{Done, Error, Fault, Found, Miss};

fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Outcome> {
    // An unfinished line.
    let (replies, fault) = decoded::<TextDecoder, _>(pieces, 64 * 1024, |reply| match reply {
        Reply::Done | Reply::Empty => Done(None),
        Reply::Found(hits) => Found(hits, None),
        Reply::Miss => Miss(None),
        Reply::Error(text) => Error(String::from_utf8_lossy(text).into_owned()),
        Reply::Push | Reply::Number(_) => unreachable!("memcached says none"),
    });
    let outcomes = replies.into_iter().map(|(replies, mark)| match replies {
        Done(_) => Done(mark),
        Found(hits, _) => Found(hits, mark),
        Miss(_) => Miss(mark),
        other => other,
    });
    outcomes.chain(fault.then_some(Fault)).collect()
}

fn whole(input: &[u8]) -> Vec<Outcome> {
    decode_pieces([input])
}

fn error(text: &str) -> Outcome {
    Error(text.to_owned())
}

/// Streams of replies, and their meaning.
fn cases() -> Vec<(&'static [u8], Vec<Outcome>)> {
    vec![
        (
            b"STORED\r\nNOT_STORED\r\nEXISTS\r\nNOT_FOUND\r\n",
            vec![Done(None), Miss(None), Miss(None), Miss(None)],
        ),
        (b"DELETED\r\nTOUCHED\r\nOK\r\nVERSION 1.6.18\r\nRESET\r\n", vec![Done(None); 5]),
        (b"END\r\n", vec![Miss(None)]),
        (b"VALUE k 0 3\r\nabc\r\nEND\r\n", vec![Found(1, None)]),
        (b"VALUE k 4294967295 0 18446744073709551615\r\n\r\nEND\r\n", vec![Found(1, None)]),
        (
            b"VALUE k 0 5\r\nEND\r\n\r\nVALUE END 1 2 9\r\n\r\n\r\nEND\r\nSTORED\r\n",
            vec![Found(2, None), Done(None)],
        ),
        (b"0\r\n18446744073709551615\r\n500 \r\n", vec![Done(None); 3]),
        (
            b"HD\r\nHD O7\r\nHD kfoo O12 b\r\nEN\r\nEN O3\r\n",
            vec![Done(None), Done(Some(7)), Done(Some(12)), Miss(None), Miss(Some(3))],
        ),
        (
            b"NF O1\r\nNS\r\nEX kx O2\r\nMN\r\n",
            vec![Miss(Some(1)), Miss(None), Miss(Some(2)), Done(None)],
        ),
        (b"VA 3 kfoo O5 t-1\r\nEN\r\r\nVA 0\r\n\r\n", vec![Found(1, Some(5)), Found(1, None)]),
        (
            b"VA 0 W\r\n\r\nVA 0 t30 Z\r\n\r\nVA 2 W\r\nab\r\n",
            vec![Miss(None), Miss(None), Found(1, None)],
        ),
        (b"ME k exp=-1 la=0 cas=1 fetch=no cls=1 size=64\r\n", vec![Done(None)]),
        (
            b"STAT pid 1\r\nSTAT version 1.6\r\nEND\r\nSTAT a b\r\nERROR\r\n",
            vec![Done(None), error("ERROR")],
        ),
        (b"ITEM k [3 b; 0 s]\r\nEND\r\nPREFIX p get 1\r\nEND\r\n", vec![Done(None); 2]),
        (
            b"ERROR\r\nERROR Too many open connections\r\nSERVER_ERROR: shutdown\r\n",
            vec![
                error("ERROR"),
                error("ERROR Too many open connections"),
                error("SERVER_ERROR: shutdown"),
            ],
        ),
        (
            b"VALUE k 0 1\r\na\r\nSERVER_ERROR out of memory writing get response\r\nMN\r\n",
            vec![error("SERVER_ERROR out of memory writing get response"), Done(None)],
        ),
        (
            b"CLIENT_ERROR bad command line format\r\n\r\nMN\r\n",
            vec![error("CLIENT_ERROR bad command line format"), Done(None)],
        ),
        (
            b"BUSY currently processing\r\nMEMLIMIT_TOO_SMALL cannot\r\nSAME src and dst\r\n",
            vec![
                error("BUSY currently processing"),
                error("MEMLIMIT_TOO_SMALL cannot"),
                error("SAME src and dst"),
            ],
        ),
    ]
}

#[test]
fn every_reply_of_the_grammar() {
    for (input, expected) in cases() {
        assert_eq!(whole(input), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn what_is_split_at_any_byte_is_what_it_is_whole() {
    let all: Vec<u8> = cases().iter().flat_map(|(input, _)| input.iter().copied()).collect();
    let expected = whole(&all);
    assert!(!expected.contains(&Fault));
    for at in 0..=all.len() {
        assert_eq!(decode_pieces([&all[..at], &all[at..]]), expected, "split at {at}");
    }
    assert_eq!(decode_pieces(all.chunks(1)), expected);
}

#[test]
fn what_is_no_reply_is_a_fault() {
    let cases: &[&[u8]] = &[
        b"+OK\r\n",
        b"-ERR unknown command 'mn'\r\n",
        b"\x81\0\0\0",
        b"\r\n",
        b"stored\r\n",
        b"WHAT\r\n",
        b"12a\r\n",
        b"END\n",
        b"VALUE k 0\r\n",
        b"VALUE k 0 x\r\n",
        b"VALUE k 0 -1\r\n",
        b"VALUE k 0 99999999999999999999\r\n",
        b"VA \r\n",
        b"VA x\r\n",
        b"VALUE k 0 1\r\nab\r\nEND\r\n",
        b"VALUE k 0 1\r\na\r\nSTORED\r\n",
        b"STAT a b\r\nSTORED\r\n",
    ];
    for input in cases {
        assert_eq!(whole(input), [Fault], "{}", input.escape_ascii());
    }
    assert_eq!(whole(&[b'A'; 64 * 1024 + 1]), [Fault]);
    let mut huge = b"VALUE k 0 1000000000\r\n".to_vec();
    huge.resize(1 << 20, b'x');
    assert_eq!(whole(&huge), [], "it is skipped as it comes");
}

/// Parts of replies, so that random input gets past the first check.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&[u8]; 15] = [
        b"VALUE k 0 3\r\n",
        b"abc\r\n",
        b"END\r\n",
        b"VA 3 O1 W\r\n",
        b"HD O2\r\n",
        b"EN\r\n",
        b"STORED\r\n",
        b"STAT a b\r\n",
        b"ERROR\r\n",
        b"CLIENT_ERROR bad data chunk\r\n",
        b"\r\n",
        b"12\r\n",
        b"\r",
        b"\n",
        b"X",
    ];
    let part = prop::sample::select(&PARTS[..]);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn random_replies_decode_alike_however_they_arrive(
        input in prop_oneof![parts(), prop::collection::vec(any::<u8>(), 0..64)],
        piece in 1usize..9,
    ) {
        prop_assert_eq!(decode_pieces(input.chunks(piece)), whole(&input));
    }
}

#[test]
fn values_are_shown_with_their_keys_tokens_and_marks_however_they_are_cut() {
    let input = b"VALUE a 0 3\r\nabc\r\nVALUE b 5 5 77\r\nEND\r\n\r\nEND\r\nEND\r\nSTORED\r\n\
        VALUE e 0 0\r\n\r\nEND\r\nVA 2 c9 O3\r\nhi\r\nEN\r\nHD c8\r\nVA 0 W\r\n\r\nNOT_STORED\r\n\
        EN O1\r\n12\r\n";
    let expected = [
        "key a",
        "3:abc",
        "key b",
        "5:END\\r\\n",
        "cas 77",
        "null",
        "line STORED",
        "key e",
        "0:",
        "of 3",
        "2:hi",
        "cas 9",
        "null",
        "cas 8",
        "null",
        "of 1",
        "null",
        "line 12",
    ];
    for size in 1..=input.len() {
        let (seen, replies) = shown::<TextDecoder>(input, size);
        assert_eq!((replies, seen), (11, expected.map(String::from).to_vec()), "pieces of {size}");
    }
}
