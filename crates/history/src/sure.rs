//! The change of a series: the precision of the difference between its newest runs and earlier ones, and the
//! number of missing runs.

use naming::RATE;
use report::Metric;
use report::compare::called;
use statistics::{Interval, Ratio, SIDE_MIN, SampleShortage, needed, steps};
use workload::quantity::counted;

use crate::{Entry, Series, Terms};

/// The newest runs of a series, compared with earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The name of the series.
    pub name: String,
    /// The figure that is compared: throughput, or p99 if a schedule sets the throughput.
    pub metric: Metric,
    /// The newest file of the series.
    pub newest: String,
    /// Numbers of runs that count: earlier ones on their last level, and newest ones.
    pub runs: [usize; 2],
    /// Ratio of the newest runs to the earlier ones; `None` if a side has no runs.
    pub ratio: Option<Ratio>,
    /// Runs that are missing.
    pub lack: RunShortage,
}

/// The runs that are missing until a change is known with the desired precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunShortage {
    /// None are missing.
    Nothing,
    /// There are too few new runs: this many are missing.
    Newest(usize),
    /// There are too few earlier runs, however many new ones follow: this many are missing; `None` if the
    /// number is unknown or over a thousand.
    Before(Option<usize>),
}

/// Computes the change of each series that has a newest run, and the runs missing until it is known to
/// ±`share`.
#[must_use]
pub fn changes(
    all: &[Series],
    is_newest: &dyn Fn(&Entry) -> bool,
    terms: Terms<'_>,
    share: f64,
) -> Vec<Change> {
    all.iter().filter_map(|series| change(series, is_newest, terms, share)).collect()
}

fn change(
    series: &Series,
    is_newest: &dyn Fn(&Entry) -> bool,
    terms: Terms<'_>,
    share: f64,
) -> Option<Change> {
    let first = series.entries.iter().position(is_newest)?;
    let newest = series.entries.iter().rfind(|entry| is_newest(entry))?;
    let is_paced = newest.options.iter().any(|(option, _)| *option == RATE.word());
    let metric = if is_paced { Metric::P99 } else { Metric::Throughput };
    let (places, values) = series.values(metric, terms.disturbed);
    let both = places.into_iter().zip(values);
    let (before, after): (Vec<_>, Vec<_>) = both.partition(|(at, _)| *at < first);
    let after = after.into_iter().filter(|(at, _)| is_newest(&series.entries[*at]));
    let new: Vec<f64> = after.map(|(_, value)| value).collect();
    let before: Vec<f64> = before.into_iter().map(|(_, value)| value).collect();
    let before = &before[before.len().saturating_sub(terms.last)..];
    let level = steps(before, 1).last().map_or(0, |step| step.at);
    let before = &before[level..];
    let ratio = Ratio::unpaired(before, &new, 0.0);
    Some(Change {
        name: series.name.clone(),
        metric,
        newest: newest.file.clone(),
        runs: [before.len(), new.len()],
        ratio,
        lack: lack(before, &new, ratio, share),
    })
}

fn lack(before: &[f64], new: &[f64], ratio: Option<Ratio>, share: f64) -> RunShortage {
    if before.len() < SIDE_MIN {
        return RunShortage::Before(Some(SIDE_MIN - before.len()));
    }
    if ratio.and_then(|ratio| ratio.half_width()).is_some_and(|half| half <= share) {
        return RunShortage::Nothing;
    }
    if new.is_empty() {
        return RunShortage::Newest(2);
    }
    match needed(before, new, share) {
        // What few runs say of many is rough: one more at least.
        Some(SampleShortage::New(count)) => {
            RunShortage::Newest(count.saturating_sub(new.len()).max(1))
        }
        Some(SampleShortage::Both(count)) => {
            RunShortage::Before(count.map(|count| count.saturating_sub(before.len()).max(1)))
        }
        None => RunShortage::Before(None),
    }
}

impl Change {
    /// Describes the result and the missing runs in a sentence, without times.
    #[must_use]
    pub fn sentence(&self, share: f64) -> String {
        let Self { name, metric, runs: [before, new], .. } = self;
        let what = format!("{} of {name}", called(*metric));
        let wanted = half_shown(share);
        let beside = format!("{} beside {before} before", counted(*new as u64, "run"));
        let interval = self.ratio.and_then(|ratio| Some((ratio.ratio, ratio.interval?)));
        let known = match interval {
            Some((ratio, of)) => format!("{what}: {} ({beside})", shown(ratio, of)),
            None => format!("{what}: not known yet ({beside})"),
        };
        match self.lack {
            RunShortage::Nothing => format!("{known}, which is within {wanted}."),
            RunShortage::Newest(more) => {
                format!(
                    "{known}; {wanted} needs about {} of the newest.",
                    counted(more as u64, "more run")
                )
            }
            RunShortage::Before(Some(more)) => format!(
                "{known}; {wanted} needs about {}.",
                counted(more as u64, "more baseline run")
            ),
            RunShortage::Before(None) => {
                format!("{known}; the runs before it vary too much for {wanted}.")
            }
        }
    }
}

/// `−1.2 %, between −2.0 % and −0.4 %`.
fn shown(ratio: f64, interval: Interval) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0).replace('-', "−");
    let Interval { low, high } = interval;
    format!("{}, between {} and {}", percent(ratio), percent(low), percent(high))
}

fn half_shown(share: f64) -> String {
    format!("±{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use statistics::Noise;

    use super::*;
    use crate::series::tests::entry;
    use crate::{Grouping, series};

    const TERMS: Terms<'_> = Terms { metrics: &[], last: 60, percent: None, disturbed: false };

    /// Computes the change of runs that vary by 2 %, of which the last `new` are the newest and 5 % slower.
    fn of(before: usize, new: usize, share: f64) -> Change {
        let mut noise = Noise::new(11);
        let rate = |at: usize| if at < before { 50_000.0 } else { 47_500.0 };
        let entries: Vec<_> = (0..before + new)
            .map(|at| entry(at as u64, rate(at) * (0.02 * noise.normal()).exp()))
            .collect();
        let is_newest = |entry: &Entry| entry.started_ms >= before as u64;
        let all = series(&entries, Grouping::Machine);
        changes(&all, &is_newest, TERMS, share).remove(0)
    }

    #[test]
    fn it_is_known_or_said_which_runs_are_missing() {
        let one = of(40, 1, 0.012);
        assert!(matches!(one.lack, RunShortage::Newest(8..=100)), "{one:?}");
        let text = one.sentence(0.012);
        assert!(
            text.starts_with("throughput of GET: not known yet (1 run beside 40 before)"),
            "{text}"
        );
        assert!(text.contains("; ±1.2 % needs about ") && text.ends_with(" of the newest."));
        let sure = of(40, 30, 0.02);
        assert_eq!((sure.lack, sure.runs), (RunShortage::Nothing, [40, 30]));
        let text = sure.sentence(0.02);
        assert!(text.ends_with("(30 runs beside 40 before), which is within ±2 %."), "{text}");
        assert!(text.contains(", between −"), "{text}");
    }

    #[test]
    fn a_baseline_that_is_too_short_is_named() {
        let few = of(1, 1, 0.02);
        assert_eq!(few.lack, RunShortage::Before(Some(2)));
        let text = few.sentence(0.02);
        assert!(text.ends_with("±2 % needs about 2 more baseline runs."), "{text}");
        assert!(
            matches!(of(5, 3, 0.005).lack, RunShortage::Before(Some(20..))),
            "{:?}",
            of(5, 3, 0.005)
        );
        let hopeless = of(5, 3, 0.000_1);
        assert_eq!(hopeless.lack, RunShortage::Before(None));
        assert!(hopeless.sentence(0.000_1).ends_with("vary too much for ±0.01 %."));
    }

    #[test]
    fn runs_before_a_step_are_no_baseline_and_a_series_without_a_newest_run_is_left_out() {
        let entries: Vec<_> = (0..42)
            .map(|at| entry(at, if at < 20 { 1e5 } else { 2e5 } * (1.0 + 0.001 * (at % 3) as f64)))
            .collect();
        let all = series(&entries, Grouping::Machine);
        let found = changes(&all, &|entry| entry.started_ms > 39, TERMS, 0.02);
        assert_eq!((found[0].runs, found[0].lack), ([20, 2], RunShortage::Nothing));
        assert!(changes(&all, &|_| false, TERMS, 0.02).is_empty());
    }
}
