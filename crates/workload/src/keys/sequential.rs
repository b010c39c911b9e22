//! Keys in order, over and over.

use super::KeyDraw;

/// Draw number `i` is key `i mod range`: `range` draws cover the space exactly once, whichever
/// threads and connections make them.
#[derive(Debug, Clone, Copy)]
pub struct Sequential;

impl KeyDraw for Sequential {
    fn draw(&self, _seed: u64, index: u64, range: u64) -> u64 {
        index % range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_covers_the_space_once() {
        let mut keys: Vec<u64> = (0..100).map(|i| Sequential.draw(9, i, 100)).collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..100).collect::<Vec<_>>());
    }
}
