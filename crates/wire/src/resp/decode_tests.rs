use super::*;
use crate::pieces::{decoded, shown};
use proptest::prelude::*;

/// A decoded step, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Done,
    Miss,
    Error(Vec<u8>),
    Push,
    Number(u32),
    Fault,
}

fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Outcome> {
    // An unfinished line.
    let (replies, fault) = decoded::<RespDecoder, _>(pieces, LINE_MAX, |reply| match reply {
        Reply::Done | Reply::Empty | Reply::Found(_) => Outcome::Done,
        Reply::Miss => Outcome::Miss,
        Reply::Error(text) => Outcome::Error(text.to_vec()),
        Reply::Push => Outcome::Push,
        Reply::Number(number) => Outcome::Number(number),
    });
    replies.into_iter().map(|(replies, _)| replies).chain(fault.then_some(Outcome::Fault)).collect()
}

fn whole(input: &[u8]) -> Vec<Outcome> {
    decode_pieces([input])
}

#[test]
fn every_type_of_resp2_and_resp3() {
    let cases: &[(&[u8], &[Outcome])] = &[
        (b"+OK\r\n+PONG\r\n:42\r\n", &[Outcome::Done, Outcome::Done, Outcome::Number(42)]),
        (b"-ERR no\r\n", &[Outcome::Error(b"ERR no".to_vec())]),
        (b"$-1\r\n*-1\r\n_\r\n", &[Outcome::Miss, Outcome::Miss, Outcome::Miss]),
        (b"$0\r\n\r\n$5\r\na\r\nbc\r\n", &[Outcome::Done, Outcome::Done]),
        (b"*0\r\n*2\r\n$1\r\na\r\n$-1\r\n", &[Outcome::Done, Outcome::Done]),
        (b"*2\r\n*2\r\n:1\r\n*0\r\n-ERR inside\r\n+OK\r\n", &[Outcome::Done, Outcome::Done]),
        (
            b"%1\r\n+k\r\n*1\r\n,1.5\r\n~1\r\n#t\r\n(123\r\n",
            &[Outcome::Done, Outcome::Done, Outcome::Done],
        ),
        (
            b"=7\r\ntxt:abc\r\n!5\r\nERR x\r\n!0\r\n\r\n",
            &[Outcome::Done, Outcome::Error(b"ERR x".to_vec()), Outcome::Error(vec![])],
        ),
        (b"*2\r\n!5\r\nERR x\r\n:1\r\n+OK\r\n", &[Outcome::Done, Outcome::Done]),
        (
            b"|1\r\n+a\r\n:1\r\n!3\r\nE\r\n\r\n:1\r\n",
            &[Outcome::Error(b"E\r\n".to_vec()), Outcome::Number(1)],
        ),
        (b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n", &[Outcome::Push, Outcome::Done]),
        (b"|1\r\n+ttl\r\n:3\r\n+OK\r\n", &[Outcome::Done]),
        (b"*2\r\n|1\r\n+a\r\n:1\r\n:2\r\n:3\r\n+OK\r\n", &[Outcome::Done, Outcome::Done]),
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
        b":abc\r\n",
        b":\r\n",
        b":-\r\n",
        b"*1\r\n:1.5\r\n",
        b"*\r\n",
        b"+no carriage return\n",
        b"$99999999999999999999\r\n",
        b"*999999999999999\r\n",
        b"$?\r\n",
    ];
    for input in cases {
        assert_eq!(whole(input), [Outcome::Fault], "{}", input.escape_ascii());
    }
    assert_eq!(whole(&[b':'; LINE_MAX + 2]), [Outcome::Fault]);
}

/// After a string with a wrong length, everything is uncertain.
#[test]
fn a_string_that_does_not_end_where_it_says_is_a_fault() {
    let cases: &[&[u8]] = &[
        b"$3\r\nabcXY",
        b"$3\r\nabc\nY",
        b"$3\r\nabc\rY",
        b"$3\r\nabcd\r\n",
        b"$0\r\n+OK\r\n",
        b"!5\r\nERR x+OK\r\n",
        b"=7\r\ntxt:abcd\r\n",
        b"*3\r\n$1\r\na\r\n$1\r\nbXY$1\r\nc\r\n",
    ];
    for input in cases {
        assert_eq!(whole(input), [Outcome::Fault], "{}", input.escape_ascii());
        assert_eq!(decode_pieces(input.chunks(1)), [Outcome::Fault], "{}", input.escape_ascii());
    }
}

/// A line of `len` bytes of text, not counting its end.
fn long_line(kind: u8, len: usize) -> Vec<u8> {
    let text = b"ERR ".iter().copied().chain(std::iter::repeat(b'x')).take(len);
    std::iter::once(kind).chain(text).chain(*b"\r\n").collect()
}

#[test]
fn lines_of_any_length_are_skipped_and_of_errors_the_beginning_is_kept() {
    let kept = Outcome::Error(long_line(b'-', ERROR_KEPT)[1..=ERROR_KEPT].to_vec());
    for len in [LINE_MAX - 2, LINE_MAX - 1, LINE_MAX, LINE_MAX + 1, 1_000_000] {
        let mut input = long_line(b'-', len);
        input.extend(long_line(b'+', len));
        input.extend([&b"*3\r\n"[..], &long_line(b'-', len), b":1\r\n"].concat());
        input.extend(long_line(b'(', len));
        let blob = long_line(b'x', len);
        input.extend([format!("!{len}\r\n").as_bytes(), &blob[1..], b":1\r\n"].concat());
        let expected =
            [kept.clone(), Outcome::Done, Outcome::Done, kept.clone(), Outcome::Number(1)];
        assert_eq!(whole(&input), expected, "{len}");
        for piece in [1000, 4097, LINE_MAX, LINE_MAX + 1] {
            assert_eq!(decode_pieces(input.chunks(piece)), expected, "{len} by {piece}");
        }
    }
    // The two halves of its end may come apart.
    let input = long_line(b'-', LINE_MAX + 10);
    for at in input.len() - 3..input.len() {
        let pieces = [&input[..at], &input[at..], b"+OK\r\n"];
        assert_eq!(decode_pieces(pieces), [kept.clone(), Outcome::Done], "{at}");
    }
    let mut bare = long_line(b'+', LINE_MAX + 10);
    bare.remove(LINE_MAX + 11);
    assert_eq!(whole(&bare), [Outcome::Fault]);
    let all_but_end = &bare[..bare.len() - 1];
    assert_eq!(decode_pieces([all_but_end, b"\n"]), [Outcome::Fault]);
    assert_eq!(whole(&[b'$'; LINE_MAX + 10]), [Outcome::Fault]);
}

#[test]
fn deep_nesting_costs_nothing() {
    let mut input = b"*1\r\n".repeat(200_000);
    input.extend_from_slice(b":1\r\n+OK\r\n");
    assert_eq!(whole(&input), [Outcome::Done, Outcome::Done]);
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
    let text = left as usize - 2;
    assert_eq!(decoder.decode(&chunk[..text]).unwrap().reply, None);
    let last = decoder.decode(b"\r\n").unwrap();
    assert_eq!(last.reply, Some(Reply::Done));
}

#[test]
fn a_list_of_600_is_one_reply() {
    let mut input = b"*600\r\n".to_vec();
    input.extend(b"$3\r\nabc\r\n".repeat(599));
    input.extend_from_slice(b"$10\r\n0123456789\r\n$-1\r\n");
    assert_eq!(whole(&input), [Outcome::Done, Outcome::Miss]);
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

    /// Any bytes are decoded or refused, without a panic or an overflow.
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
        let expected = whole(&input);
        prop_assert_eq!(decode_pieces(input.chunks(1)), expected);
    }
}

/// Covers each string that is shown, `None` for a null.
#[test]
fn strings_are_shown_as_they_pass_however_they_are_cut() {
    let input = b"$3\r\nabc\r\n$-1\r\n+OK\r\n>2\r\n$3\r\nmsg\r\n$1\r\nx\r\n_\r\n\
        *4\r\n$1\r\na\r\n$-1\r\n:5\r\n$0\r\n\r\n$2\r\n\r\n\r\n";
    let expected = "3:abc/null/line OK/null/element $1/1:a/element $-1/null/element :5/line 5/\
        element $0/0:/2:\\r\\n";
    let expected: Vec<&str> = expected.split('/').collect();
    for size in 1..=input.len() {
        let (seen, replies) = shown::<RespDecoder>(input, size);
        assert_eq!((replies, seen), (7, expected.iter().map(|s| (*s).into()).collect()), "{size}");
    }
}

/// Parts within an element do not count as elements.
#[test]
fn elements_are_those_of_the_outermost_collection() {
    let input =
        b"*5\r\n*2\r\n$1\r\na\r\n*1\r\n:1\r\n|1\r\n+ttl\r\n:3\r\n%1\r\n+k\r\n_\r\n*0\r\n-ERR x\r\n\
        (12\r\n*1\r\n$1\r\nz\r\n";
    let expected = "element *2/1:a/line 1/line ttl/line 3/element %1/line k/null/element *0/\
        element -ERR x/element (12/line 12/element $1/1:z";
    for size in 1..=input.len() {
        let (seen, replies) = shown::<RespDecoder>(input, size);
        assert_eq!((replies, seen.join("/")), (2, expected.to_owned()), "pieces of {size}");
    }
}

#[test]
fn an_empty_collection_is_distinguished_from_one_that_is_not() {
    for (input, reply) in [
        (&b"*0\r\n"[..], Reply::Empty),
        (b"%0\r\n", Reply::Empty),
        (b"|1\r\n+ttl\r\n:3\r\n~0\r\n", Reply::Empty),
        (b"*1\r\n*0\r\n", Reply::Found(1)),
        (b"*-1\r\n", Reply::Miss),
    ] {
        let mut decoder = RespDecoder::default();
        assert_eq!(decoder.decode(input).unwrap().reply, Some(reply), "{}", input.escape_ascii());
    }
}

/// Covers replies to a command with several values, in RESP2 and RESP3, however they are cut.
#[test]
fn values_of_a_collection_are_counted_without_its_nulls() {
    for (input, expected) in [
        (&b"*3\r\n$1\r\na\r\n$-1\r\n$0\r\n\r\n"[..], Reply::Found(2)),
        (b"*4\r\n$3\r\nabc\r\n$3\r\nabc\r\n$3\r\nabc\r\n$-1\r\n", Reply::Found(3)),
        (b"*2\r\n$-1\r\n$-1\r\n", Reply::Empty),
        (b"*2\r\n_\r\n_\r\n", Reply::Empty),
        (b"*2\r\n_\r\n,1.5\r\n", Reply::Found(1)),
        (b"*2\r\n*-1\r\n*2\r\n$1\r\n1\r\n$1\r\n2\r\n", Reply::Found(1)),
        (b"%2\r\n+a\r\n_\r\n+b\r\n:1\r\n", Reply::Found(1)),
        (b"|1\r\n+ttl\r\n_\r\n*2\r\n_\r\n:1\r\n", Reply::Found(1)),
        (b"*1\r\n*3\r\n_\r\n_\r\n_\r\n", Reply::Empty),
    ] {
        let input = [input, b"+QUEUED\r\n$-1\r\n*1\r\n:1\r\n"].concat();
        let say = |reply: Reply<'_>| reply.without_text().unwrap();
        let all = [expected, Reply::Done, Reply::Miss, Reply::Found(1)];
        for at in 0..=input.len() {
            let pieces = [&input[..at], &input[at..]];
            let (replies, fault) = decoded::<RespDecoder, _>(pieces, LINE_MAX, say);
            let replies: Vec<Reply<'_>> = replies.into_iter().map(|(replies, _)| replies).collect();
            assert_eq!(
                (&replies[..], fault),
                (&all[..], false),
                "{} at {at}",
                input.escape_ascii()
            );
        }
        let (replies, _) = decoded::<RespDecoder, _>(input.chunks(1), LINE_MAX, say);
        assert!(
            replies.into_iter().map(|(replies, _)| replies).eq(all),
            "{}",
            input.escape_ascii()
        );
    }
}
