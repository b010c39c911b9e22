//! Every key equally likely.

use super::KeyDraw;
use crate::parameters::none;
use crate::random::{self, Stream};

/// Draws by a counter-based generator.
#[derive(Debug, Clone, Copy)]
pub struct Uniform {
    /// Keys.
    pub range: u64,
}

pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    none(parameters)?;
    Ok(Box::new(Uniform { range }))
}

impl KeyDraw for Uniform {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        random::within(stream.draw(index), self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape;
    use super::*;

    #[test]
    fn keys_are_evenly_spread() {
        shape::at_every_range("uniform", |_, x| x);
    }

    #[test]
    fn seeds_give_different_streams() {
        let keys = Uniform { range: 1 << 40 };
        let stream =
            |seed| -> Vec<u64> { (0..20).map(|i| keys.draw(Stream::from_seed(seed), i)).collect() };
        assert_ne!(stream(1), stream(2));
        assert_ne!(stream(1)[1..], stream(2)[..19], "neighbouring seeds are not shifted copies");
    }
}
