//! Its progress as a block: throughput, and percentiles of the last second, of a window and of all.

use std::collections::VecDeque;

use measure::Tally;

use super::progress::size;
use super::table::label;
use super::{MemtierHistogram, Progress};

/// Percentiles on a line.
const ON_A_LINE: usize = 3;

/// The latencies of the last seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// Length of the window; 0 for none.
    seconds: usize,
    kept: VecDeque<MemtierHistogram>,
    open: MemtierHistogram,
}

impl Window {
    /// Returns a window of `seconds` seconds.
    pub(crate) fn new(seconds: u32) -> Self {
        Self { seconds: seconds as usize, ..Self::default() }
    }

    /// Adds what came in a part of a second.
    pub(crate) fn add(&mut self, tally: &Tally) {
        tally.commands.iter().for_each(|command| self.open.add(&command.service));
    }

    /// Ends a second: its latencies, and those of the window if there is one.
    pub(crate) fn tick(&mut self) -> (MemtierHistogram, Option<MemtierHistogram>) {
        let second = std::mem::take(&mut self.open);
        if self.seconds == 0 {
            return (second, None);
        }
        if self.kept.len() == self.seconds {
            self.kept.pop_front();
        }
        self.kept.push_back(second.clone());
        let mut all = MemtierHistogram::default();
        self.kept.iter().for_each(|second| all.merge(second));
        (second, Some(all))
    }
}

/// The block at the end of a second.
#[derive(Debug)]
pub(crate) struct Realtime<'t> {
    /// Content of its progress line.
    pub(crate) progress: Progress,
    /// Misses in a hundred lookups in this second, and in all.
    pub(crate) miss_percent: [f64; 2],
    /// The latencies of this second.
    pub(crate) second: MemtierHistogram,
    /// The latencies of the last seconds, and how many seconds these are.
    pub(crate) window: Option<(u32, MemtierHistogram)>,
    /// The latencies of the whole run so far.
    pub(crate) overall: MemtierHistogram,
    /// Percentiles in the order typed.
    pub(crate) percentiles: &'t [f64],
}

impl Realtime<'_> {
    /// Formats the block, line by line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Progress { run, percent, seconds, rates, bytes, .. } = self.progress;
        let tag = format!("[RUN #{run} {percent:>3.0}% {seconds:>3}s]");
        let [rate, mean_rate] = rates.map(|rate| report::grouped(rate as u64 as f64));
        let [bytes, mean_bytes] = bytes.map(size);
        let [miss, mean_miss] = self.miss_percent;
        let mut lines = vec![format!(
            "{tag} throughput {rate} (avg: {mean_rate}) ops/sec   {bytes}/sec (avg: \
             {mean_bytes}/sec)   miss {miss:.2}% (avg: {mean_miss:.2}%)"
        )];
        let window = self.window.iter().map(|(seconds, cells)| (format!("win{seconds}s"), cells));
        let all = [("inst".to_owned(), &self.second)].into_iter().chain(window);
        for (of, cells) in all.chain([("overall".to_owned(), &self.overall)]) {
            for percentiles in self.percentiles.chunks(ON_A_LINE) {
                let values = percentiles.iter().map(|percentile| match cells.count() {
                    0 => format!("{} -", label(*percentile)),
                    _ => format!("{} {:.3}", label(*percentile), cells.percentile_ms(*percentile)),
                });
                let values = values.collect::<Vec<_>>().join("  ");
                lines.push(format!("{tag} latency [{of:<8}]  {values}"));
            }
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(" ms");
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Latency, TallyShape};

    fn tally(us: u64) -> Tally {
        let mut tally = Tally::new(&TallyShape {
            commands: 1,
            precision: 4,
            scheduled: false,
            first_byte: false,
            operations: 0,
            separate_failures: false,
            places: 0,
            spans: false,
            deadline_ns: None,
        });
        let mut latency = Latency::new(4);
        latency.record_n(us * 1000, 1);
        tally.commands[0].service.merge(&latency);
        tally
    }

    #[test]
    fn the_block_has_a_row_for_each_span_and_three_percentiles_on_a_line() {
        let mut window = Window::new(2);
        window.add(&tally(1000));
        window.tick();
        window.add(&tally(50));
        let (second, last) = window.tick();
        let block = Realtime {
            progress: Progress {
                run: 1,
                percent: 33.0,
                seconds: 2,
                rates: [1_153_287.0, 999.0],
                bytes: [1048576.0, 512.0],
                ..Progress::default()
            },
            miss_percent: [99.5, 0.0],
            second,
            window: last.map(|cells| (2, cells)),
            overall: MemtierHistogram::default(),
            percentiles: &[50.0, 99.0, 99.9, 99.99999],
        };
        assert_eq!(
            block.lines(),
            [
                "[RUN #1  33%   2s] throughput 1,153,287 (avg: 999) ops/sec   1.00MB/sec (avg: \
                 0.50KB/sec)   miss 99.50% (avg: 0.00%)",
                "[RUN #1  33%   2s] latency [inst    ]  p50 0.055  p99 0.055  p99.9 0.055",
                "[RUN #1  33%   2s] latency [inst    ]  p99.99999 0.055",
                "[RUN #1  33%   2s] latency [win2s   ]  p50 0.055  p99 1.007  p99.9 1.007",
                "[RUN #1  33%   2s] latency [win2s   ]  p99.99999 1.007",
                "[RUN #1  33%   2s] latency [overall ]  p50 -  p99 -  p99.9 -",
                "[RUN #1  33%   2s] latency [overall ]  p99.99999 - ms",
            ]
        );
    }

    #[test]
    fn a_window_forgets_what_is_older() {
        let mut window = Window::new(2);
        for us in [1000, 50, 50] {
            window.add(&tally(us));
            window.tick();
        }
        let (second, all) = window.tick();
        assert_eq!((second.count(), all.unwrap().count()), (0, 1));
        assert!(Window::new(0).tick().1.is_none());
    }
}
