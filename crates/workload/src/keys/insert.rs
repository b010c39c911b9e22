//! New keys, one after another.

use super::{KeyDraw, Source};
use crate::parameters::none;
use crate::random::Stream;

/// Distribution whose next key only the run knows; see [`Inserts`](super::Inserts).
#[derive(Debug, Clone, Copy)]
struct Insert {
    range: u64,
}

pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    none(parameters)?;
    Ok(Box::new(Insert { range }))
}

impl KeyDraw for Insert {
    /// Returns the initial keys, in order.
    fn draw(&self, _stream: Stream, index: u64) -> u64 {
        index % self.range
    }

    fn source(&self) -> Source {
        Source::Next
    }
}
