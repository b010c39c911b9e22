//! A run second by second, row by row.
//!
//! Percentiles of a second are those of all its requests.

use measure::Tally;

use super::{MemtierHistogram, Rows, Style};

/// Figures of one second.
#[derive(Debug, Clone)]
pub(crate) struct Second {
    /// Number of the second, from 0.
    pub(crate) index: u64,
    pub(super) rows: Vec<SecondRow>,
    pub(super) total: SecondRow,
}

/// Figures of one second for one kind of request.
#[derive(Debug, Clone, Default)]
pub(super) struct SecondRow {
    pub(super) count: u64,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// `None` without a reply.
    pub(super) times: Option<Times>,
}

/// Response times, in milliseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    pub(super) average_ms: f64,
    pub(super) accumulated_ms: f64,
    pub(super) min_ms: f64,
    pub(super) max_ms: f64,
    /// Times in rising order of the percentiles.
    pub(super) percentiles_ms: Vec<f64>,
}

/// Adds up the seconds of a run. The histograms of one second are held at a time.
#[derive(Debug)]
pub(crate) struct Seconds {
    rows: Rows,
    percentiles: Vec<f64>,
    done: Vec<Second>,
    /// Sums of the second that goes on.
    open: Vec<Sum>,
}

#[derive(Debug, Clone, Default)]
struct Sum {
    count: u64,
    received: u64,
    sent: u64,
    timed: u64,
    ms: f64,
    cells: MemtierHistogram,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.received += other.received;
        self.sent += other.sent;
        self.timed += other.timed;
        self.ms += other.ms;
        self.cells.merge(&other.cells);
    }

    fn figures(&self, percentiles: &[f64]) -> SecondRow {
        let times = (self.timed > 0).then(|| Times {
            average_ms: self.ms / self.timed as f64,
            accumulated_ms: self.ms,
            min_ms: self.cells.min_ms(),
            max_ms: self.cells.max_ms(),
            percentiles_ms: percentiles.iter().map(|p| self.cells.percentile_ms(*p)).collect(),
        });
        let (count, received, sent) = (self.count, self.received, self.sent);
        SecondRow { count, received, sent, times }
    }
}

impl Seconds {
    /// Returns the seconds of a run with these rows.
    pub(crate) fn new(rows: Rows, style: &Style) -> Self {
        let mut percentiles = style.percentiles.clone();
        percentiles.sort_by(f64::total_cmp);
        let open = vec![Sum::default(); rows.names.len()];
        Self { rows, percentiles, done: Vec::new(), open }
    }

    /// Adds what came in a part of second number `index`; parts come in order.
    pub(crate) fn add(&mut self, index: u64, tally: &Tally) {
        while (self.done.len() as u64) < index {
            self.close();
        }
        for (command, row) in tally.commands.iter().zip(&self.rows.of) {
            let sum = &mut self.open[*row];
            sum.count += command.ok + command.miss + command.errors;
            sum.received += command.bytes_in;
            sum.sent += command.bytes_out;
            sum.timed += command.service.count();
            let mean_ns = command.service.mean_ns().unwrap_or_default();
            sum.ms += mean_ns * command.service.count() as f64 / 1e6;
            sum.cells.add(&command.service);
        }
    }

    /// All of them.
    pub(crate) fn end(mut self) -> Vec<Second> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        let mut total = Sum::default();
        self.open.iter().for_each(|row| total.add(row));
        self.done.push(Second {
            index: self.done.len() as u64,
            rows: self.open.iter().map(|row| row.figures(&self.percentiles)).collect(),
            total: total.figures(&self.percentiles),
        });
        self.open.fill(Sum::default());
    }
}
