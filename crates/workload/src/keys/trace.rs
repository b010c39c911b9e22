//! Recorded keys: the numbers in a column of a file, in order.
//!
//! The front end reads the file.

use std::sync::Arc;

use super::KeyDraw;
use crate::random::Stream;

/// Draw number `i` is row `i mod rows`.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    keys: Arc<[u64]>,
    range: u64,
}

/// Parses `PATH` or `PATH#COLUMN`; [`super::KeyDist::with_trace`] adds the rows.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let path = parameters.and_then(|text| text.split('#').next());
    path.filter(|path| !path.is_empty()).ok_or("the path of the file is missing")?;
    Ok(Box::new(Trace::new([0].into(), range)))
}

impl Trace {
    pub(super) fn new(keys: Arc<[u64]>, range: u64) -> Self {
        Self { keys, range }
    }
}

impl KeyDraw for Trace {
    fn draw(&self, _stream: Stream, index: u64) -> u64 {
        // A key beyond the range was refused with the plan.
        self.keys[(index % self.keys.len() as u64) as usize].min(self.range - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyDist, KeySpace};

    #[test]
    fn keys_come_in_the_order_of_the_file_and_go_round() {
        let dist = "file:keys.csv".parse::<KeyDist>().unwrap().with_trace(vec![7, 7, 3]).unwrap();
        let keys = KeySpace::new(dist.trace_range(), dist);
        assert_eq!(keys.range, Some(8));
        let draws = keys.draws();
        assert_eq!((0..5).map(|i| draws.draw(9.into(), i)).collect::<Vec<_>>(), [7, 7, 3, 7, 7]);
    }
}
