//! Numbers of commands by interval of recorded time.

/// Number of commands in each of at most `MAX` intervals, which are `SHORTEST_NS` long at first, and twice as long
/// whenever there would be more.
#[derive(Debug)]
pub(crate) struct Intervals<const MAX: usize, const SHORTEST_NS: u64> {
    pub(crate) counts: Vec<u64>,
    pub(crate) each_ns: u64,
}

impl<const MAX: usize, const SHORTEST_NS: u64> Default for Intervals<MAX, SHORTEST_NS> {
    fn default() -> Self {
        Self { counts: Vec::new(), each_ns: SHORTEST_NS }
    }
}

impl<const MAX: usize, const SHORTEST_NS: u64> Intervals<MAX, SHORTEST_NS> {
    /// Counts a command this long after the first.
    pub(crate) fn add(&mut self, since_ns: u64) {
        while since_ns / self.each_ns >= MAX as u64 {
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.each_ns *= 2;
        }
        let at = (since_ns / self.each_ns) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }
}
