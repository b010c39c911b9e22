//! Any bytes, cut anywhere, are the same requests as whole, or refused in the same place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::resp::RequestDecoder;

/// Words of a request that a decoder keeps.
const WORDS: usize = 4;

/// The words of each request, and how many it stands for.
type Requests = Vec<(Vec<Vec<u8>>, u64)>;

/// The requests, and whether a fault ended them.
fn decode(input: &[u8], piece: usize) -> (Requests, bool) {
    let mut decoder = RequestDecoder::default();
    let (mut requests, mut held) = (Vec::new(), Vec::new());
    for piece in input.chunks(piece.max(1)) {
        held.extend_from_slice(piece);
        loop {
            let Ok(step) = decoder.decode(&held) else { return (requests, true) };
            let (consumed, over) = (step.consumed, step.request.is_none());
            assert!(consumed <= held.len());
            requests.extend(step.request.map(|request| {
                let words = (0..WORDS).map(|n| request.word(n).to_vec());
                (words.collect(), request.count())
            }));
            held.drain(..consumed);
            if over {
                break;
            }
        }
    }
    (requests, false)
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, input)) = data.split_first() else { return };
    assert_eq!(decode(input, input.len()), decode(input, usize::from(piece)));
});
