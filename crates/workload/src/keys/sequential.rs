//! Keys in order, over and over.

use super::KeyDraw;
use crate::parameters::none;
use crate::random::Stream;

/// Draw number `i` is key `i mod range`: `range` draws cover the space exactly once, over all threads and
/// connections.
#[derive(Debug, Clone, Copy)]
struct Sequential {
    range: u64,
}

pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    none(parameters)?;
    Ok(Box::new(Sequential { range }))
}

impl KeyDraw for Sequential {
    fn draw(&self, _stream: Stream, index: u64) -> u64 {
        index % self.range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_covers_the_space_once() {
        let all = Sequential { range: 100 };
        let mut keys: Vec<u64> = (0..100).map(|i| all.draw(9.into(), i)).collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..100).collect::<Vec<_>>());
    }
}
