//! Any bytes, cut anywhere, decode as they do whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::resp::RespDecoder;
use wire::{Decode, Reply};

/// The kinds of the replies and their numbers, and whether a fault ended them.
fn decode(input: &[u8], piece: usize) -> (Vec<(u8, u32)>, bool) {
    let mut decoder = RespDecoder::default();
    let (mut kinds, mut held) = (Vec::new(), Vec::new());
    for piece in input.chunks(piece.max(1)) {
        held.extend_from_slice(piece);
        loop {
            let Ok(step) = decoder.decode(&held) else { return (kinds, true) };
            let over = step.reply.is_none();
            kinds.extend(step.reply.map(|reply| match reply {
                Reply::Done => (b'd', 0),
                Reply::Found(found) => (b'f', found),
                Reply::Number(number) => (b'#', number),
                Reply::Miss => (b'm', 0),
                Reply::Error(_) => (b'e', 0),
                Reply::Push => (b'p', 0),
                Reply::Empty => (b'n', 0),
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
