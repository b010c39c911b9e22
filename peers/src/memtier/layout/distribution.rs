//! Distribution of latencies: the steps of the percentile iterator of HdrHistogram, ten for each halving of the
//! rest.

use super::MemtierHistogram;

/// Stops for each halving of the distance to 100 %.
const TICKS: f64 = 10.0;

/// Step: `percent` of the requests took up to `ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub(super) ms: f64,
    pub(super) percent: f64,
    /// Number of requests that took no longer than that.
    pub(super) count: u64,
}

/// The steps of these latencies.
pub(super) fn distribution(cells: &MemtierHistogram) -> Vec<Step> {
    let total = cells.count();
    let mut steps = Vec::new();
    let (mut wanted, mut seen, mut last_ms) = (0.0, 0, 0.0);
    for (ms, count) in cells.steps() {
        seen += count;
        last_ms = ms;
        let reached = 100.0 * seen as f64 / total as f64;
        while wanted <= reached {
            steps.push(Step { ms, percent: wanted, count: seen });
            let halvings = ((100.0 / (100.0 - wanted)).log2() as i32) + 1;
            wanted += 100.0 / (TICKS * f64::powi(2.0, halvings));
            // Of the last step one is enough: what follows is all of them.
            if seen == total {
                break;
            }
        }
    }
    steps.push(Step { ms: last_ms, percent: 100.0, count: seen });
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Latency;

    #[test]
    fn steps_halve_what_is_left() {
        let mut latency = Latency::new(3);
        (1..=1000).for_each(|us| latency.record_n(us * 10_000, 1));
        let steps = distribution(&MemtierHistogram::from_latency(&latency));
        let percents: Vec<f64> = steps.iter().map(|step| step.percent).collect();
        assert_eq!(percents[..4], [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(percents[10..13], [50.0, 52.5, 55.0]);
        assert_eq!(percents[20..22], [75.0, 76.25]);
        assert_eq!(percents.last(), Some(&100.0));
        assert!(steps.is_sorted_by(|a, b| a.ms <= b.ms && a.count <= b.count));
    }

    #[test]
    fn nothing_is_one_line_and_one_value_two() {
        let step = |ms, percent, count| Step { ms, percent, count };
        assert_eq!(distribution(&MemtierHistogram::default()), [step(0.0, 100.0, 0)]);
        let mut latency = Latency::new(3);
        latency.record_n(50_000, 7);
        let both = [step(0.055, 0.0, 7), step(0.055, 100.0, 7)];
        assert_eq!(distribution(&MemtierHistogram::from_latency(&latency)), both);
    }
}
