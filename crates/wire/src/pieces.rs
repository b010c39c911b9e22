//! The harness of the protocol seam's suite: decoding bytes that come in pieces.

use crate::{Decode, Reply};

/// Decodes pieces as an engine would hand them over: what is not consumed comes again, and no more than
/// `held_max` bytes of it. Each reply by `say`, with the mark that came with it, and whether a fault
/// ended it.
pub(crate) fn decoded<'a, D: Decode + Default, S>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    held_max: usize,
    say: impl Fn(Reply<'_>) -> S,
) -> (Vec<(S, Option<u32>)>, bool) {
    let mut decoder = D::default();
    let (mut said, mut held) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let Ok(step) = decoder.decode(&held) else {
                return (said, true);
            };
            let (consumed, reply) = (step.consumed, step.reply.map(&say));
            let mark = decoder.mark();
            held.drain(..consumed);
            let Some(reply) = reply else { break };
            said.push((reply, mark));
        }
    }
    assert!(held.len() <= held_max, "only what is unfinished is ever held");
    (said, false)
}
