//! What a test says in a sentence: about the figure that was asked for.

use statistics::Conclusion;

use super::gate::{WATCHED, watched};
use super::{Pairing, Row, TestComparison};
use crate::{Direction, Metric};

/// A change as large as this is what people tune for, where no gate names another, in per cent.
const CHANGE_PERCENT: f64 = 5.0;

/// A figure in a sentence.
#[must_use]
pub fn called(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::Keys => "keys per second",
        Metric::Mean => "mean response time",
        Metric::Min => "min",
        Metric::P50 => "p50",
        Metric::P90 => "p90",
        Metric::P95 => "p95",
        Metric::P99 => "p99",
        Metric::P99_9 => "p99.9",
        Metric::Max => "max",
        Metric::ClientCpu => "client CPU per request",
        Metric::ServerCpu => "server CPU per request",
    }
}

/// By how much a ratio is off 1, with its sign.
#[must_use]
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = usize::from(percent.abs() < 100.0);
    format!("{percent:+.decimals$} %")
}

impl TestComparison {
    /// The figure that the test is about: where a schedule sets the throughput, how long requests take;
    /// where a get may be several requests, how many keys.
    #[must_use]
    pub fn asked(&self) -> Metric {
        match (self.setup.open_loop, self.row(Metric::Keys)) {
            (true, _) => Metric::P99,
            (false, Some(_)) => Metric::Keys,
            (false, None) => Metric::Throughput,
        }
    }

    /// What it says, in a sentence without a full stop.
    #[must_use]
    pub fn headline(&self) -> String {
        if let Some(refused) = &self.refused {
            return refused.text.clone();
        }
        self.row(self.asked()).map_or_else(String::new, |row| self.conclusion(row))
    }

    /// What a figure says, in a sentence without a full stop.
    #[must_use]
    pub fn conclusion(&self, row: &Row) -> String {
        let [first, second] = &self.setup.names;
        let (name, ratio) = (called(row.metric), row.ratio.ratio);
        let interval = row.ratio.interval.map(|i| [change(i.low), change(i.high)]);
        let interval = interval.map(|[low, high]| format!("{low} to {high}"));
        let interval = interval.unwrap_or_default();
        match row.ratio.conclusion() {
            Conclusion::Differ => {
                let better = if row.b_is_better() == Some(true) { "better" } else { "worse" };
                let by = match ratio {
                    r if r >= 2.0 => format!("{r:.1} times that of {first}"),
                    r if r >= 1.0 => {
                        format!("{:.1} % higher than that of {first}", (r - 1.0) * 100.0)
                    }
                    r => format!("{:.1} % lower than that of {first}", (1.0 - r) * 100.0),
                };
                format!("{second} is {better}: its {name} is {by} (95 % interval {interval})")
            }
            Conclusion::Alike => format!(
                "{second} and {first} are alike: no difference in {name} was found (95 % interval \
                 {interval})"
            ),
            Conclusion::TooWide if row.interval().is_some() => format!(
                "undecided: the runs do not show whether {second} differs from {first} in {name} (95 % \
                 interval {interval})"
            ),
            Conclusion::TooWide => format!(
                "undecided: the runs do not show whether {second} differs from {first} in {name}; the 95 % \
                 interval is too wide"
            ),
            Conclusion::Single => format!(
                "undecided: {name} of {second} is {} compared with {first}, which may be chance: there is \
                 one run per side",
                change(ratio)
            ),
        }
    }

    /// Whether the second server is better in a row, where that is sure.
    #[must_use]
    pub fn better(&self, row: &Row) -> Option<bool> {
        let sure = self.refused.is_none() && row.ratio.conclusion() == Conclusion::Differ;
        row.b_is_better().filter(|_| sure)
    }

    /// The smallest changes that the runs could have shown, and how many would show one of `percent`, or of
    /// 5 % where no gate names another. `None` where nothing has an interval.
    #[must_use]
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
        let coarse: Vec<&Row> =
            rows.filter(|(_, share)| *share * 100.0 > wanted).map(|(row, _)| row).collect();
        if coarse.is_empty() {
            return Some(text);
        }
        let needed: Option<Vec<usize>> =
            coarse.iter().map(|row| row.ratio.count_for(wanted / 100.0)).collect();
        Some(match needed.and_then(|needed| needed.into_iter().max()) {
            Some(needed) => format!("{text}; for {wanted} % take {needed} (--repeat {needed})"),
            None => format!("{text}; for {wanted} % make the runs longer, or the machine quieter"),
        })
    }

    /// How many blocks, or runs a side, its ratios are of, and which of the two.
    #[must_use]
    pub fn counted(&self) -> (usize, &'static str) {
        let [a, b] = self.runs;
        let unit = |n: usize, one, many| if n == 1 { one } else { many };
        match self.setup.pairing {
            Pairing::Blocks => (a.min(b) / 2, unit(a.min(b) / 2, "block", "blocks")),
            Pairing::None => (a.min(b), unit(a.min(b), "run a side", "runs a side")),
        }
    }
}

/// A share as a change that can be seen.
fn visible(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent if percent < 1000.0 => format!("{percent:.0} %"),
        _ => "1000 % or more".to_owned(),
    }
}
