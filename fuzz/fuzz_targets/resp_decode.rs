//! Any bytes, cut anywhere, decode as they do whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::resp::RespDecoder;
use wire::{Decode, Reply};

/// The kinds of the replies, and whether a fault ended them.
fn decode(input: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut decoder = RespDecoder::default();
    let (mut kinds, mut held) = (Vec::new(), Vec::new());
    for piece in input.chunks(piece.max(1)) {
        held.extend_from_slice(piece);
        loop {
            let Ok(step) = decoder.decode(&held) else { return (kinds, true) };
            let over = step.reply.is_none();
            kinds.extend(step.reply.map(|reply| match reply {
                Reply::Done | Reply::Found(_) => b'd',
                Reply::Miss => b'm',
                Reply::Error(_) => b'e',
                Reply::Push => b'p',
                Reply::Empty => b'n',
            }));
            let consumed = step.consumed;
            held.drain(..consumed);
            if over {
                break;
            }
        }
    }
    (kinds, false)
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, input)) = data.split_first() else { return };
    assert_eq!(decode(input, input.len()), decode(input, usize::from(piece)));
});
