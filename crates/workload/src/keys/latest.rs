//! Zipf's law over the age of a key: the newest keys are the hottest.

use super::zipf::shape;
use super::zipf_shape::Shape;
use super::{KeyDraw, Source};
use crate::random::Stream;

/// Keys are inserted in order, and the caller of a draw gives the number of existing keys.
#[derive(Debug, Clone, Copy)]
struct Latest {
    shape: Shape,
    range: u64,
}

pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    Ok(Box::new(Latest { shape: shape(parameters)?, range }))
}

impl KeyDraw for Latest {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.draw_present(stream, index, self.range)
    }

    fn draw_present(&self, stream: Stream, index: u64, present: u64) -> u64 {
        let present = present.max(1);
        present - 1 - self.shape.rank_of(stream, index, present)
    }

    fn source(&self) -> Source {
        Source::Present
    }
}

#[cfg(test)]
mod tests {
    use super::super::zipf::tests::zeta;
    use super::super::{KeyDist, shape};

    #[test]
    fn ages_follow_zipf_among_the_keys_that_are_there() {
        let keys = "latest:0.8".parse::<KeyDist>().unwrap().over(10);
        for present in [1, 2, 1000, 1 << 40] {
            let below = |age| zeta(age, 0.8) / zeta(present, 0.8);
            shape::keys_hold("latest", present, below, |index| {
                present - 1 - keys.draw_present(5.into(), index, present)
            });
        }
        assert_eq!(
            keys.draw_present(1.into(), 1, 0),
            0,
            "before the first insert there is only key 0"
        );
    }
}
