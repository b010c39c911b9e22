//! Runs become figures, and rounds of runs ratios.

use std::fmt;

use crate::case::{Case, Clock};
use crate::tool::Run;

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
    /// The most memory that the client held, in MB.
    pub(crate) memory_mb: f64,
}

impl Figures {
    /// Computes the figures of a run of `requests`, during which the server used `server_s` of CPU time.
    pub(crate) fn new(run: &Run, requests: u64, server_s: f64) -> Self {
        Self {
            cpu_us: run.cpu_s * 1e6 / requests as f64,
            rate: run.rate,
            wall_rate: requests as f64 / run.wall_s,
            server_busy: server_s / run.wall_s,
            memory_mb: run.memory_bytes as f64 / 1e6,
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
        let Self { cpu_us, rate, wall_rate, server_busy, memory_mb } = self;
        let busy = server_busy * 100.0;
        write!(
            f,
            "{cpu_us:.2} µs, {rate:.0}/s ({wall_rate:.0}/s by wall clock), server {busy:.0} %, {memory_mb:.1} MB"
        )
    }
}

/// A round: one run of each tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) ours: Figures,
    /// The other tool, where there is one.
    pub(crate) theirs: Option<Figures>,
    /// The bare loop, unless it was left out.
    pub(crate) bare: Option<Figures>,
}

/// The rounds of one case, at least one.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The case of all rounds.
    pub(crate) case: &'static Case,
    /// Requests of every run.
    pub(crate) requests: u64,
    /// Rounds, in the order that they ran.
    pub(crate) rounds: Vec<Round>,
}

/// Ours over another's: the middle one of the rounds, and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Comparison {
    /// The medians of one figure: ours, theirs and the bare loop's.
    pub(crate) fn medians(
        &self,
        figure: impl Fn(&Figures) -> f64,
    ) -> (f64, Option<f64>, Option<f64>) {
        let median_of = |side: fn(&Round) -> Option<Figures>| {
            let values: Vec<f64> =
                self.rounds.iter().filter_map(side).map(|f| figure(&f)).collect();
            (!values.is_empty()).then(|| median(values))
        };
        let ours = median_of(|round| Some(round.ours)).unwrap_or(f64::NAN);
        (ours, median_of(|round| round.theirs), median_of(|round| round.bare))
    }

    /// Client CPU per request, ours over theirs, if there is another tool.
    pub(crate) fn cpu(&self) -> Option<Ratio> {
        self.ratio(|round| round.theirs, |figures| figures.cpu_us)
    }

    /// Throughput, ours over theirs, by the clock of the case.
    pub(crate) fn rate(&self) -> Option<Ratio> {
        self.ratio(|round| round.theirs, |figures| figures.rate_by(self.case.clock))
    }

    /// Client CPU per request, ours over the bare loop's, if that ran.
    pub(crate) fn above_bare(&self) -> Option<Ratio> {
        self.ratio(|round| round.bare, |figures| figures.cpu_us)
    }

    fn ratio(
        &self,
        other: impl Fn(&Round) -> Option<Figures>,
        figure: impl Fn(&Figures) -> f64,
    ) -> Option<Ratio> {
        let rounds = self.rounds.iter();
        let ratios = rounds.filter_map(|of| Some(figure(&of.ours) / figure(&other(of)?)));
        let ratios: Vec<f64> = ratios.collect();
        (!ratios.is_empty()).then(|| Ratio {
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            median: median(ratios),
        })
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
    let last = values.len() - 1;
    f64::midpoint(values[last / 2], values[last.div_ceil(2)])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::case::all;

    /// A comparison whose rounds have these costs per request, of keystorm and of redis-benchmark; the bare
    /// loop costs 4/5 of keystorm.
    pub(crate) fn comparison(case: usize, costs_us: &[(f64, f64)]) -> Comparison {
        let figures = |cpu_us: f64| Figures {
            cpu_us,
            rate: 1e6 / cpu_us,
            wall_rate: 5e5 / cpu_us,
            server_busy: 0.5,
            memory_mb: 8.0,
        };
        let rounds = costs_us.iter().map(|(ours, theirs)| Round {
            ours: figures(*ours),
            theirs: Some(figures(*theirs)),
            bare: Some(figures(*ours * 0.8)),
        });
        Comparison { case: all().nth(case).unwrap(), requests: 1000, rounds: rounds.collect() }
    }

    #[test]
    fn a_run_is_divided_by_its_requests_and_its_time() {
        let run = Run {
            cpu_s: 2.0,
            wall_s: 4.0,
            rate: 300_000.0,
            memory_bytes: 7_000_000,
            complaints: String::new(),
        };
        let figures = Figures::new(&run, 1_000_000, 3.0);
        assert_eq!(
            figures.to_string(),
            "2.00 µs, 300000/s (250000/s by wall clock), server 75 %, 7.0 MB"
        );
    }

    #[test]
    fn the_ratio_is_the_median_of_rounds_and_not_of_runs() {
        let comparison = comparison(0, &[(4.0, 10.0), (5.0, 10.0), (9.0, 20.0)]);
        assert_eq!(comparison.cpu().unwrap().to_string(), "0.450 (0.400-0.500)");
        assert_eq!(comparison.rate().unwrap().to_string(), "2.222 (2.000-2.500)");
        assert_eq!(comparison.medians(|f| f.cpu_us), (5.0, Some(10.0), Some(4.0)));
        let above = comparison.above_bare().unwrap();
        assert_eq!(above.to_string(), "1.250 (1.250-1.250)");
    }

    #[test]
    fn without_a_bare_loop_there_is_no_ratio_to_it() {
        let mut comparison = comparison(0, &[(4.0, 10.0)]);
        comparison.rounds[0].bare = None;
        assert_eq!(comparison.above_bare(), None);
        assert_eq!(comparison.medians(|f| f.cpu_us), (4.0, Some(10.0), None));
    }

    #[test]
    fn an_even_number_has_a_middle_too() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
    }
}
