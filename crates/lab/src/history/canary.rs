//! A canary: an unchanged server that is measured beside each run, so that changes of the machine can be
//! divided out.

use crate::history::{Entry, Figure};

/// Greatest distance in milliseconds between a run and a canary run that describes the machine at the time of
/// the run.
const BESIDE_MS: u64 = 3_600_000;

/// Entries with each figure divided by that of the nearest canary entry with the same load. Entries are left
/// out if they have no canary entry within an hour, or if that one did not complete. A disturbed canary entry
/// marks its neighbour as disturbed.
pub fn beside_canary(entries: &[Entry], canary: &[Entry]) -> Vec<Entry> {
    let nearest = |entry: &Entry| {
        let same = canary.iter().filter(|of| {
            of.complete
                && (&of.test, &of.load) == (&entry.test, &entry.load)
                && of.machine == entry.machine
        });
        let nearest = same.min_by_key(|of| of.started_ms.abs_diff(entry.started_ms))?;
        (nearest.started_ms.abs_diff(entry.started_ms) <= BESIDE_MS).then_some(nearest)
    };
    let over = |entry: &Entry, canary: &Entry| Entry {
        figures: entry
            .figures
            .iter()
            .filter_map(|figure| {
                let of = canary.figures.iter().find(|of| of.metric == figure.metric)?;
                let mean = Some(figure.mean / of.mean).filter(|mean| mean.is_finite())?;
                // What noise does to both is taken off; what is left is in the spread of the series.
                let metric = figure.metric.clone();
                Some(Figure { metric, mean, interval: None, without_noise: mean })
            })
            .collect(),
        noise: 0.0,
        disturbed: entry.disturbed.clone().or_else(|| canary.disturbed.clone()),
        ..entry.clone()
    };
    entries.iter().filter_map(|entry| Some(over(entry, nearest(entry)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::series::tests::entry;

    #[test]
    fn what_the_machine_does_to_both_is_taken_off() {
        let slow = |n: u64| if n == 2 { 0.5 } else { 1.0 };
        let of = |n: u64, rate: f64, later: u64| entry(n * 86_400_000 + later, rate * slow(n));
        let tested: Vec<Entry> = (0..4).map(|n| of(n, 120.0, 60_000)).collect();
        let canary: Vec<Entry> = (0..4).filter(|n| *n != 3).map(|n| of(n, 100.0, 0)).collect();
        let beside = beside_canary(&tested, &canary);
        let rates: Vec<f64> = beside.iter().map(|entry| entry.figures[0].mean).collect();
        assert_eq!(rates, [1.2, 1.2, 1.2], "and the run without a canary is left out");
    }
}
