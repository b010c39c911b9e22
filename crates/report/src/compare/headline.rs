//! The finding of a test in a sentence, on its main figure.

use measure::statistics::{Conclusion, SPREAD_MAX};

use super::rows::{called, change};
use super::sure::lasting;
use super::{Pairing, RatioRow, Side, TestComparison};
use crate::{Direction, Metric};

/// Figures that a gate watches by default, which services promise to their users.
pub const WATCHED: [Metric; 2] = [Metric::Throughput, Metric::P99];

/// Change that is worth tuning for, in per cent, unless a gate gives another.
const CHANGE_PERCENT: f64 = 5.0;

/// Advice for a test that many more blocks would not decide either.
pub(super) const HELP: &str = "make the runs longer, or put chrt -f 10 in front of the command";

impl TestComparison {
    /// The main figure of the test: the latency if a schedule sets the throughput, and the rate of keys if a
    /// get may be several requests.
    pub fn asked(&self) -> Metric {
        match (self.setup.open_loop, self.row(Metric::Keys)) {
            (true, _) => Metric::P99,
            (false, Some(_)) => Metric::Keys,
            (false, None) => Metric::Throughput,
        }
    }

    /// Returns the finding as a sentence without a full stop. If the main figure is undecided, server CPU per
    /// request may be decided.
    pub fn headline(&self) -> String {
        if let Some(refused) = &self.refused {
            return refused.text.clone();
        }
        let Some(row) = self.row(self.asked()) else { return String::new() };
        let says = self.conclusion(row);
        let cpu = self.row(Metric::ServerCpu).filter(|cpu| !self.is_sure(row) && self.is_sure(cpu));
        match cpu {
            Some(cpu) => format!("{says}; {}", self.conclusion(cpu)),
            None => says,
        }
    }

    /// Returns the finding on the main figure in a word, for programs.
    pub fn answer(&self) -> &'static str {
        let of_row = |metric: Metric| {
            let row = self.row(metric)?;
            match () {
                () if self.is_sure(row) && row.b_is_better() == Some(true) => Some("better"),
                () if self.is_sure(row) => Some("worse"),
                () if row.ratio.is_within(SPREAD_MAX) => Some("alike"),
                () => None,
            }
        };
        match &self.refused {
            Some(_) => "not-told",
            None => of_row(self.asked()).unwrap_or("undecided"),
        }
    }

    /// Returns whether a row surely differs among all figures of all headlines, at every look.
    pub fn is_sure(&self, row: &RatioRow) -> bool {
        row.ratio.differs_among(self.rows.len() * self.setup.headlines)
    }

    /// Returns whether the main figure is undecided.
    pub fn is_open(&self) -> bool {
        let row = self.row(self.asked()).filter(|_| self.refused.is_none());
        row.is_some_and(|row| !self.is_sure(row) && !row.ratio.is_within(SPREAD_MAX))
    }

    /// Returns the conclusion from a figure, as a sentence without a full stop.
    pub fn conclusion(&self, row: &RatioRow) -> String {
        let [first, second] = &self.setup.names;
        let (name, ratio) = (called(row.metric), row.ratio.ratio);
        let Some(interval) = row.ratio.interval else {
            return format!(
                "undecided: {name} of {second} is {} compared with {first}, which may be chance: there is \
                 one run per side",
                change(ratio)
            );
        };
        let interval =
            format!("95 % interval {} to {}", change(interval.low), change(interval.high));
        if self.is_sure(row) {
            let better = if row.b_is_better() == Some(true) { "better" } else { "worse" };
            let by = match ratio {
                r if r >= 2.0 => format!("{r:.1} times that of {first}"),
                r if r >= 1.0 => {
                    format!("{:.1} % higher than that of {first}", (r - 1.0) * 100.0)
                }
                r => format!("{:.1} % lower than that of {first}", (1.0 - r) * 100.0),
            };
            return format!("{second} is {better}: its {name} is {by} ({interval})");
        }
        if row.ratio.is_within(SPREAD_MAX) {
            return format!(
                "{second} and {first} are alike: they differ by no more than {:.0} % in {name} ({interval})",
                SPREAD_MAX * 100.0
            );
        }
        match row.ratio.conclusion() {
            Conclusion::Differ => format!(
                "undecided: {second} looks {} than {first} in {name} ({interval}), which may be chance \
                 among {} figures",
                if row.b_is_better() == Some(true) { "better" } else { "worse" },
                self.rows.len() * self.setup.headlines
            ),
            _ => format!(
                "undecided: the runs do not show whether {second} differs from {first} in {name} ({interval})"
            ),
        }
    }

    /// Returns whether the second server is better in a row, if that is sure.
    pub fn better(&self, row: &RatioRow) -> Option<bool> {
        let sure = self.refused.is_none() && row.ratio.conclusion() == Conclusion::Differ;
        row.b_is_better().filter(|_| sure)
    }

    /// The smallest changes that the runs could have detected, and the number of runs for one of `percent`,
    /// or of 5 % without a gate. `None` if nothing has an interval.
    pub fn resolution(&self, percent: Option<f64>) -> Option<String> {
        let wanted = percent.filter(|percent| *percent > 0.0).unwrap_or(CHANGE_PERCENT);
        let rows = WATCHED.into_iter().filter_map(|metric| watched(self, metric));
        // A schedule sets the throughput of both.
        let rows =
            rows.filter(|row| !(self.setup.open_loop && row.metric.better() == Direction::Higher));
        let rows = rows.filter_map(|row| Some((row, row.ratio.smallest_visible()?)));
        let seen: Vec<String> = rows
            .clone()
            .map(|(row, share)| format!("{} in {}", visible(share), called(row.metric)))
            .collect();
        if self.refused.is_some() || seen.is_empty() {
            return None;
        }
        let (count, unit) = self.counted();
        let text = format!("{count} {unit} can see a change of {}", seen.join(" and "));
        let coarse: Vec<&RatioRow> =
            rows.filter(|(_, share)| *share * 100.0 > wanted).map(|(row, _)| row).collect();
        if coarse.is_empty() {
            return Some(text);
        }
        let needed: Option<Vec<usize>> =
            coarse.iter().map(|row| row.ratio.count_for(wanted / 100.0)).collect();
        Some(match needed.and_then(|needed| needed.into_iter().max()) {
            Some(needed) => {
                let time =
                    self.block_s().map(|s| format!(", about {}", lasting(s * needed as f64)));
                let time = time.unwrap_or_default();
                format!("{text}; for {wanted} % take {needed} (--repeat {needed}{time})")
            }
            None => format!("{text}; for {wanted} % {HELP}"),
        })
    }

    /// Returns the mean time of the runs of a block, in seconds.
    fn block_s(&self) -> Option<f64> {
        let blocks = self.counted().0;
        let runs = self.sides.iter().flat_map(Side::counted);
        let walls_ns = runs.map(|run| {
            run.measurement.workers.iter().map(|worker| worker.wall_ns).max().unwrap_or_default()
        });
        let all_s = walls_ns.sum::<u64>() as f64 / 1e9;
        (blocks > 0 && self.setup.pairing == Pairing::Blocks && all_s > 0.0)
            .then(|| all_s / blocks as f64)
    }

    /// Returns the number of blocks, or runs a side, in its ratios, and the name of the unit.
    pub fn counted(&self) -> (usize, &'static str) {
        let [a, b] = self.sides.each_ref().map(|side| side.runs);
        match (self.setup.pairing, a.min(b)) {
            (Pairing::Blocks, 2 | 3) => (1, "block"),
            (Pairing::Blocks, runs) => (runs / 2, "blocks"),
            (Pairing::None, 1) => (1, "run a side"),
            (Pairing::None, runs) => (runs, "runs a side"),
        }
    }
}

/// A detectable change from a share.
fn visible(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent if percent < 1000.0 => format!("{percent:.0} %"),
        _ => "1000 % or more".to_owned(),
    }
}

/// A watched figure. A get of several keys may be several requests on one side.
pub(super) fn watched(test: &TestComparison, metric: Metric) -> Option<&RatioRow> {
    match (metric, test.row(Metric::Keys)) {
        (Metric::Throughput, Some(keys)) => Some(keys),
        (metric, _) => test.row(metric),
    }
}
