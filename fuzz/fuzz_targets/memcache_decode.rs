//! Any bytes, cut anywhere, decode as they do whole, in both protocols of memcached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::memcache::{BinaryDecoder, TextDecoder};
use wire::{Decode, Reply};

/// The kinds of the replies and the marks they bring, and whether a fault ended them.
fn decode<D: Decode + Default>(input: &[u8], piece: usize) -> (Vec<(u32, Option<u32>)>, bool) {
    let mut decoder = D::default();
    let (mut replies, mut held) = (Vec::new(), Vec::new());
    for piece in input.chunks(piece.max(1)) {
        held.extend_from_slice(piece);
        loop {
            let Ok(step) = decoder.decode(&held) else { return (replies, true) };
            let kind = step.reply.map(|reply| match reply {
                Reply::Done => 0,
                Reply::Miss => 1,
                Reply::Error(_) => 2,
                Reply::Push | Reply::Number(_) => 3,
                Reply::Empty => 4,
                Reply::Found(hits) => 5 + hits,
            });
            let consumed = step.consumed;
            held.drain(..consumed);
            let Some(kind) = kind else { break };
            replies.push((kind, decoder.mark()));
        }
    }
    (replies, false)
}

fuzz_target!(|data: &[u8]| {
    let [protocol, piece, input @ ..] = data else { return };
    let (whole, piece) = (input.len(), usize::from(*piece));
    if protocol % 2 == 0 {
        assert_eq!(decode::<TextDecoder>(input, whole), decode::<TextDecoder>(input, piece));
    } else {
        assert_eq!(decode::<BinaryDecoder>(input, whole), decode::<BinaryDecoder>(input, piece));
    }
});
