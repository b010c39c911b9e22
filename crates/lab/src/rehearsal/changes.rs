//! How the figures of each command change from A to B, and which changes count.

use report::Run;
use serde::Serialize;
use statistics::{Interval, RatioEstimate, holm};

/// Fewest samples of a run whose median is compared, and whose 99th percentile is: in the two runs of a side in a
/// block, ten are then beyond it.
const SAMPLES_MIN: u64 = 20;
const SAMPLES_P99: u64 = 500;
/// Smallest change of a latency that counts, in nanoseconds: less is nobody's concern, whatever its ratio.
const LATENCY_MIN_NS: f64 = 50_000.0;
/// The same of the server's time for a command.
const CPU_MIN_NS: f64 = 500.0;
/// How finely latencies are recorded.
const RESOLUTION: f64 = 0.001;

/// What is compared of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Median response time.
    P50,
    /// Its 99th percentile.
    P99,
    /// CPU time that the server spent on each, by its own account.
    Cpu,
}

impl Figure {
    /// As it is called in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Cpu => "server CPU",
        }
    }

    fn least_ns(self) -> f64 {
        match self {
            Self::P50 | Self::P99 => LATENCY_MIN_NS,
            Self::Cpu => CPU_MIN_NS,
        }
    }
}

/// One command in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandFigures {
    /// Its name.
    pub name: String,
    /// Replies.
    pub count: u64,
    /// The median of its response time, in nanoseconds, where there are enough replies.
    pub p50_ns: Option<f64>,
    /// The 99th percentile.
    pub p99_ns: Option<f64>,
    /// The server's CPU time for each, in nanoseconds, where it counts that.
    pub cpu_ns: Option<f64>,
}

impl CommandFigures {
    /// Those of each command of a run.
    #[must_use]
    pub fn of_run(run: &Run) -> Vec<Self> {
        let commands = run.plan.sequence.iter().zip(&run.measurement.total.commands);
        commands
            .map(|(command, tally)| {
                let (name, response) = (command.name(), tally.response());
                let count = response.count();
                let quantile = |quantile: f64, least: u64| {
                    let ns = response.quantile_ns(quantile).filter(|_| count >= least);
                    ns.map(|ns| ns.max(1) as f64)
                };
                Self {
                    p50_ns: quantile(0.5, SAMPLES_MIN),
                    p99_ns: quantile(0.99, SAMPLES_P99),
                    cpu_ns: cpu_ns(run, &name).filter(|_| count >= SAMPLES_MIN),
                    name,
                    count,
                }
            })
            .collect()
    }

    fn value(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::P50 => self.p50_ns,
            Figure::P99 => self.p99_ns,
            Figure::Cpu => self.cpu_ns,
        }
    }
}

/// The server's CPU time for each call of a command with all of its subcommands, in nanoseconds.
fn cpu_ns(run: &Run, name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let server = run.watched.servers.first()?;
    let of = server.by_command.iter().filter(|command| {
        let rest = command.name.strip_prefix(&name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('|'))
    });
    let (calls, usec) =
        of.fold((0, 0), |(calls, usec), command| (calls + command.calls, usec + command.usec));
    (calls > 0 && usec > 0).then(|| usec as f64 * 1e3 / calls as f64)
}

/// What is known of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Surely worse by more than is allowed: the whole interval lies beyond that.
    Worse,
    /// Surely better by as much.
    Better,
    /// Surely neither: the whole interval lies within what is allowed.
    Alike,
    /// Surely changed by less than anybody notices, in time, whatever its ratio.
    Slight,
    /// Surely not worse by more than is allowed; the runs do not say whether it is better by as much.
    NotWorse,
    /// The interval holds both what is allowed and what is not.
    Undecided,
}

/// How one figure of one command changes from A to B.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The command.
    pub command: String,
    /// Its replies in a run.
    pub count: u64,
    /// Which figure.
    pub figure: Figure,
    /// Its value on A, in nanoseconds: the geometric mean of all runs.
    pub a_ns: f64,
    /// The value on B.
    pub b_ns: f64,
    /// B / A.
    pub ratio: f64,
    /// The 95 % interval of the ratio, where there are several blocks.
    pub interval: Option<[f64; 2]>,
    /// What is known of it.
    pub judgement: Judgement,
}

/// What may change: from which ratio to which, by the share that is allowed, and by the time that nobody notices.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    by_share: [f64; 2],
    by_time: [f64; 2],
}

impl Allowance {
    fn new(figure: Figure, a_ns: f64, allowed: f64) -> Self {
        let (least, share) = (figure.least_ns() / a_ns, 1.0 + allowed);
        Self { by_share: [1.0 / share, share], by_time: [(1.0 - least).max(0.0), 1.0 + least] }
    }

    /// Beyond what a change is worse, and below what it is better.
    fn limits(self) -> [f64; 2] {
        [self.by_share[0].min(self.by_time[0]), self.by_share[1].max(self.by_time[1])]
    }

    /// What is known of a ratio, given whether it is surely beyond the limits among all others.
    fn judge(self, interval: Option<Interval>, [is_better, is_worse]: [bool; 2]) -> Judgement {
        let within = |[low, high]: [f64; 2]| {
            interval.is_some_and(|interval| interval.low >= low && interval.high <= high)
        };
        match () {
            () if is_worse => Judgement::Worse,
            () if is_better => Judgement::Better,
            () if within(self.by_share) => Judgement::Alike,
            () if within(self.limits()) => Judgement::Slight,
            () if within([0.0, self.limits()[1]]) => Judgement::NotWorse,
            () => Judgement::Undecided,
        }
    }
}

/// The runs of a rehearsal: for each block, those of A and those of B, with the figures of each command.
pub type Blocks = Vec<[Vec<Vec<CommandFigures>>; 2]>;

/// What changes from A to B, by command and figure, the most frequent command first. A change counts if it is surely
/// over `allowed`, as a share: over all that is compared, at so many `looks` at growing data, one time in twenty at
/// most
/// by chance.
#[must_use]
pub fn changes(blocks: &Blocks, allowed: f64, looks: u32) -> Vec<Change> {
    let Some(first) = blocks.first().and_then(|block| block[0].first()) else { return Vec::new() };
    let mut found: Vec<(Change, RatioEstimate, Allowance)> = Vec::new();
    for command in first {
        for figure in [Figure::P50, Figure::P99, Figure::Cpu] {
            let values = |side: usize| -> Option<Vec<Vec<f64>>> {
                blocks.iter().map(|block| in_block(&block[side], &command.name, figure)).collect()
            };
            let (Some(a), Some(b)) = (values(0), values(1)) else { continue };
            let Some(ratio) = RatioEstimate::of_blocks(&a, &b, RESOLUTION) else { continue };
            let ratio = ratio.of_looks(looks);
            let (command, count) = (command.name.clone(), command.count);
            let (a_ns, b_ns) = (mean(&a.concat()), mean(&b.concat()));
            let allowance = Allowance::new(figure, a_ns, allowed);
            let change = Change {
                command,
                count,
                figure,
                a_ns,
                b_ns,
                ratio: ratio.ratio,
                interval: ratio.interval.map(|interval| [interval.low, interval.high]),
                judgement: Judgement::Undecided,
            };
            found.push((change, ratio, allowance));
        }
    }
    let surely = |p: &dyn Fn(&RatioEstimate, [f64; 2]) -> Option<f64>| {
        // Both directions are looked at, as an interval does.
        let p = |(_, ratio, allowance): &(Change, RatioEstimate, Allowance)| {
            p(ratio, allowance.limits()).map_or(1.0, |p| (2.0 * p).min(1.0))
        };
        holm(&found.iter().map(p).collect::<Vec<f64>>(), looks)
    };
    let worse = surely(&|ratio, [_, high]| ratio.p_above(high));
    let better = surely(&|ratio, [low, _]| ratio.p_below(low).filter(|_| low > 0.0));
    let mut changes: Vec<Change> = found
        .into_iter()
        .zip(better.into_iter().zip(worse))
        .map(|((change, ratio, allowance), (is_better, is_worse))| {
            let judgement = allowance.judge(ratio.interval, [is_better, is_worse]);
            Change { judgement, ..change }
        })
        .collect();
    workload::sort::sort_by(&mut changes, |a, b| b.count.cmp(&a.count));
    changes
}

/// A figure of a command in the runs of a side in a block.
fn in_block(runs: &[Vec<CommandFigures>], name: &str, figure: Figure) -> Option<Vec<f64>> {
    let of_run =
        |run: &Vec<CommandFigures>| run.iter().find(|command| command.name == name)?.value(figure);
    runs.iter().map(of_run).collect()
}

/// The geometric mean of values above 0.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statistics::Noise;

    /// Blocks of servers on which each figure of each command wavers by so much, and B's `HGETALL` takes longer.
    fn blocks(seed: u64, longer_ns: f64) -> Blocks {
        let mut noise = Noise::new(seed);
        let mut run = |of_b: bool, drift: f64| {
            let figures = ["GET", "SET", "HGETALL", "LPUSH", "ZADD"].map(|name| {
                let mut of = |ns: f64, spread: f64| {
                    let more = if of_b && name == "HGETALL" { longer_ns } else { 0.0 };
                    Some((ns + more) * (spread * noise.normal() + drift).exp())
                };
                CommandFigures {
                    name: name.to_owned(),
                    count: 1000,
                    p50_ns: of(200_000.0, 0.05),
                    p99_ns: of(900_000.0, 0.3),
                    cpu_ns: Some(2_000.0 * (0.03 * noise.normal()).exp()),
                }
            });
            figures.to_vec()
        };
        let block = |n: usize| {
            let drift = n as f64 * 0.1;
            let a = vec![run(false, drift)];
            let b = vec![run(true, drift), run(true, drift)];
            [[a, vec![run(false, drift)]].concat(), b]
        };
        (0..5).map(block).collect()
    }

    fn is_found(change: &Change) -> bool {
        matches!(change.judgement, Judgement::Worse | Judgement::Better)
    }

    #[test]
    fn the_same_server_twice_is_worse_one_time_in_twenty_at_most() {
        let wrong = |seed| {
            let changes = changes(&blocks(seed, 0.0), 0.1, 1);
            assert_eq!(changes.len(), 15);
            changes.iter().any(is_found)
        };
        let wrong = (0..400).filter(|seed| wrong(*seed)).count();
        assert!(wrong <= 20, "{wrong} of 400");
    }

    #[test]
    fn a_command_that_takes_two_milliseconds_more_is_found_as_just_that() {
        for seed in 0..50 {
            let found: Vec<_> = changes(&blocks(seed, 2_000_000.0), 0.1, 1)
                .into_iter()
                .filter(|change| change.judgement == Judgement::Worse)
                .map(|change| (change.command, change.figure))
                .collect();
            assert!(found.contains(&("HGETALL".to_owned(), Figure::P50)), "{seed}: {found:?}");
            assert!(found.iter().all(|(command, _)| command == "HGETALL"), "{seed}: {found:?}");
        }
    }

    #[test]
    fn a_change_that_nobody_notices_is_none() {
        let mut blocks = blocks(1, 0.0);
        for block in &mut blocks {
            for (side, runs) in block.iter_mut().enumerate() {
                runs.iter_mut().flatten().for_each(|command| {
                    command.p50_ns = Some(if side == 0 { 10_000.0 } else { 30_000.0 });
                });
            }
        }
        let changes = changes(&blocks, 0.1, 1);
        assert!(!changes.iter().any(is_found));
        let medians = changes.iter().filter(|change| change.figure == Figure::P50);
        assert!(medians.clone().all(|change| change.judgement == Judgement::Slight), "{changes:?}");
    }

    /// Whatever the interval: where it lies wholly beyond what is allowed, that is the answer, however wide it is;
    /// where it lies wholly within, the other.
    #[test]
    fn an_interval_alone_decides() {
        let mut noise = Noise::new(7);
        for _ in 0..20_000 {
            let (a_ns, allowed) = ((20.0 * noise.uniform()).exp() * 10.0, noise.uniform());
            let mut ends = [(); 2].map(|()| (3.0 * noise.normal()).exp());
            ends.sort_by(f64::total_cmp);
            let [low, high] = ends;
            let figure = [Figure::P50, Figure::P99, Figure::Cpu][(noise.uniform() * 3.0) as usize];
            let allowance = Allowance::new(figure, a_ns, allowed);
            let [least, most] = allowance.limits();
            let judged = allowance.judge(Some(Interval { low, high }), [high < least, low > most]);
            let share = [1.0 / (1.0 + allowed), 1.0 + allowed];
            let expected = match () {
                () if low > most => Judgement::Worse,
                () if high < least => Judgement::Better,
                () if low >= share[0] && high <= share[1] => Judgement::Alike,
                () if low >= least && high <= most => Judgement::Slight,
                () if high <= most => Judgement::NotWorse,
                () => Judgement::Undecided,
            };
            assert_eq!(judged, expected, "{figure:?} {a_ns} {allowed} {low} {high}");
            // "-38.9 % to -19.4 %" is never alike, and "+256 % to +1,230 %" never open.
            let is_beyond = low > share[1] || high < share[0];
            assert!(!(is_beyond && judged == Judgement::Alike));
            let is_noticed = a_ns * (low - 1.0) > figure.least_ns();
            assert!(!(low > share[1] && is_noticed) || judged == Judgement::Worse);
        }
    }
}
