//! Runs become figures, and pairs of runs ratios.

use std::fmt;

use crate::case::{Case, Clock};
use crate::tool::Run;

/// What one run comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Client CPU per request, in microseconds, from starting the client to its end.
    pub(crate) cpu_us: f64,
    /// Requests per second as the tool says, connecting not in it.
    pub(crate) rate: f64,
    /// Requests per second from starting the client to its end.
    pub(crate) wall_rate: f64,
    /// CPU time of the server over the wall time of the client.
    pub(crate) server_busy: f64,
}

impl Figures {
    /// Of a run of `requests`, during which the server used `server_s` of CPU time.
    pub(crate) fn of(run: &Run, requests: u64, server_s: f64) -> Self {
        Self {
            cpu_us: run.cpu_s * 1e6 / requests as f64,
            rate: run.rate,
            wall_rate: requests as f64 / run.wall_s,
            server_busy: server_s / run.wall_s,
        }
    }

    /// The throughput that counts.
    fn rate_by(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Tool => self.rate,
            Clock::Wall => self.wall_rate,
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu_us, rate, wall_rate, server_busy } = self;
        let busy = server_busy * 100.0;
        write!(
            f,
            "{cpu_us:.2} us, {rate:.0}/s ({wall_rate:.0}/s by wall clock), server {busy:.0} %"
        )
    }
}

/// The pairs of one case, at least one: ours and theirs.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Which.
    pub(crate) case: &'static Case,
    /// Requests of every run.
    pub(crate) requests: u64,
    /// Ours and theirs.
    pub(crate) pairs: Vec<(Figures, Figures)>,
}

/// Ours over theirs: the middle one of the pairs, and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// The median.
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Comparison {
    /// The medians of one figure, ours and theirs.
    pub(crate) fn medians(&self, figure: impl Fn(&Figures) -> f64) -> (f64, f64) {
        let ours = self.pairs.iter().map(|(ours, _)| figure(ours));
        let theirs = self.pairs.iter().map(|(_, theirs)| figure(theirs));
        (median(ours.collect()), median(theirs.collect()))
    }

    /// Client CPU per request, ours over theirs.
    pub(crate) fn cpu(&self) -> Ratio {
        self.ratio(|f| f.cpu_us)
    }

    /// Throughput, ours over theirs, by the clock of the case.
    pub(crate) fn rate(&self) -> Ratio {
        self.ratio(|f| f.rate_by(self.case.clock))
    }

    fn ratio(&self, figure: impl Fn(&Figures) -> f64) -> Ratio {
        let ratio = |(ours, theirs): &(Figures, Figures)| figure(ours) / figure(theirs);
        let ratios: Vec<f64> = self.pairs.iter().map(ratio).collect();
        Ratio {
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            median: median(ratios),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, least, most } = self;
        write!(f, "{median:.3} ({least:.3}-{most:.3})")
    }
}

/// The middle value; the mean of the middle two of an even number.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::case::CASES;

    /// A comparison whose pairs have these costs per request, ours and theirs.
    pub(crate) fn comparison(case: usize, costs_us: &[(f64, f64)]) -> Comparison {
        let figures = |cpu_us: f64| Figures {
            cpu_us,
            rate: 1e6 / cpu_us,
            wall_rate: 5e5 / cpu_us,
            server_busy: 0.5,
        };
        let pair = |(ours, theirs): &(f64, f64)| (figures(*ours), figures(*theirs));
        Comparison {
            case: &CASES[case],
            requests: 1000,
            pairs: costs_us.iter().map(pair).collect(),
        }
    }

    #[test]
    fn a_run_is_divided_by_its_requests_and_its_time() {
        let run = Run { cpu_s: 2.0, wall_s: 4.0, rate: 300_000.0, complaints: String::new() };
        let figures = Figures::of(&run, 1_000_000, 3.0);
        assert_eq!(figures.to_string(), "2.00 us, 300000/s (250000/s by wall clock), server 75 %");
    }

    #[test]
    fn the_ratio_is_the_median_of_pairs_and_not_of_runs() {
        let comparison = comparison(0, &[(4.0, 10.0), (5.0, 10.0), (9.0, 20.0)]);
        assert_eq!(comparison.cpu().to_string(), "0.450 (0.400-0.500)");
        assert_eq!(comparison.rate().to_string(), "2.222 (2.000-2.500)");
        assert_eq!(comparison.medians(|f| f.cpu_us), (5.0, 10.0));
    }

    #[test]
    fn an_even_number_has_a_middle_too() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
    }
}
