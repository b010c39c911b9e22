//! Distributions of latencies: the two tables of the classic report.
//!
//! Owns the choice of their lines and ensures that each is true: no latency that a line counts exceeds its
//! bound. Formats round bounds up in text.

use measure::Latency;

/// Line of a table: number and share of the latencies up to this one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyStep {
    /// The share in percent, 0 to 100.
    pub percent: f64,
    /// The bound.
    pub at_most_ns: u64,
    /// Number of latencies within the bound.
    pub cumulative: u64,
}

/// The latency at 0 %, 50 %, 75 %, 87.5 % and so on, each halving the rest, like the percentile iterator of
/// HdrHistogram with one tick a half distance. A level that adds no latency to the one before has no line.
/// The last line is 100 %; empty if nothing was recorded.
pub fn by_percentile(latency: &Latency) -> Vec<LatencyStep> {
    let total = latency.count();
    let mut steps = Vec::new();
    let (mut cumulative, mut level) = (0u64, 0u32);
    for (at_most_ns, count) in latency.recorded() {
        cumulative += count;
        let left = total - cumulative;
        // Level n is reached when at most 1/2^n of all is left. In whole numbers, because beyond
        // level 53 a float can no longer tell a percentage from 100.
        let reached = |level: u32| u128::from(left) << level <= u128::from(total);
        if !reached(level) {
            continue;
        }
        let percent = 100.0 - 100.0 / 2f64.powi(level.cast_signed());
        steps.push(LatencyStep { percent, at_most_ns, cumulative });
        level += 1;
        while left > 0 && reached(level) {
            level += 1;
        }
    }
    steps.extend(steps.last().map(|last| LatencyStep { percent: 100.0, ..*last }));
    steps
}

/// Latency up to which bounds are [`FINE_NS`] apart, and [`COARSE_NS`] beyond.
const FINE_UP_TO_NS: u64 = 2_000_000;
const FINE_NS: u64 = 100_000;
const COARSE_NS: u64 = 1_000_000;

/// Counts the latencies within 0.1 ms, 0.2 ms, … 2 ms, 3 ms, 4 ms and so on. A bound that adds no latency to
/// the one before has no line, except the first. Walks the recorded values, not the bounds, so that hours
/// cost no more than microseconds. Empty if nothing was recorded.
pub fn by_bound(latency: &Latency) -> Vec<LatencyStep> {
    let mut steps =
        up_to(latency, |ns| whole(ns, if ns <= FINE_UP_TO_NS { FINE_NS } else { COARSE_NS }));
    if steps.first().is_some_and(|first| first.at_most_ns != FINE_NS) {
        steps.insert(0, LatencyStep { percent: 0.0, at_most_ns: FINE_NS, cumulative: 0 });
    }
    steps
}

/// The least multiple of a step, above 0, that is not below `ns`.
fn whole(ns: u64, step_ns: u64) -> u64 {
    ns.max(1).div_ceil(step_ns) * step_ns
}

/// Counts the latencies up to the bound of each, with a line for each bound that adds some.
fn up_to(latency: &Latency, mut bound_ns: impl FnMut(u64) -> u64) -> Vec<LatencyStep> {
    let total = latency.count();
    let mut steps: Vec<LatencyStep> = Vec::new();
    let mut cumulative = 0u64;
    for (ns, count) in latency.recorded() {
        cumulative += count;
        let percent = 100.0 * cumulative as f64 / total as f64;
        let step = LatencyStep { percent, at_most_ns: bound_ns(ns), cumulative };
        match steps.last_mut() {
            Some(last) if last.at_most_ns == step.at_most_ns => *last = step,
            _ => steps.push(step),
        }
    }
    steps
}

/// Maximum number of lines of a short table.
const FEW: usize = 13;
/// Shares above the levels of the short table of percentiles, in percent: by 1, 2, 5 as far as people look,
/// and then by tens.
const LEFT: [f64; 12] = [50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.01, 0.001, 0.000_1];

/// The latency at 50 %, 80 %, 90 %, 95 % and so on, and the greatest: [`FEW`] lines at most. A level that
/// adds no latency to the one before has no line, and neither has one that is finer than the number of
/// latencies allows. Empty if nothing was recorded.
pub fn few_percentiles(latency: &Latency) -> Vec<LatencyStep> {
    let total = latency.count();
    let mut steps: Vec<LatencyStep> = Vec::new();
    let (mut cumulative, mut greatest) = (0u64, 0);
    let mut levels =
        LEFT.into_iter().take_while(|left| left / 100.0 * total as f64 >= 1.0).peekable();
    for (at_most_ns, count) in latency.recorded() {
        cumulative += count;
        greatest = at_most_ns;
        let left = (total - cumulative) as f64 / total as f64 * 100.0;
        let mut reached = None;
        while let Some(level) = levels.next_if(|level| left <= *level) {
            reached = Some(100.0 - level);
        }
        // The last latency belongs to the line of 100 %.
        let percent = reached.filter(|_| cumulative < total);
        steps.extend(percent.map(|percent| LatencyStep { percent, at_most_ns, cumulative }));
    }
    steps.extend((total > 0).then_some(LatencyStep {
        percent: 100.0,
        at_most_ns: greatest,
        cumulative: total,
    }));
    steps
}

/// Counts the latencies within 1 µs, 2 µs, 5 µs, 10 µs and so on, with a line for each bound that adds some;
/// by tens if that makes over [`FEW`] lines. Empty if nothing was recorded.
pub fn few_bounds(latency: &Latency) -> Vec<LatencyStep> {
    let fine = bounds_by(&[1, 2, 5], latency);
    if fine.len() <= FEW { fine } else { bounds_by(&[1], latency) }
}

fn bounds_by(digits: &[u64], latency: &Latency) -> Vec<LatencyStep> {
    let mut bounds = (3..19).flat_map(|tens| digits.iter().map(move |n| n * 10u64.pow(tens)));
    let mut bound = 0;
    up_to(latency, |ns| {
        while ns > bound || bound == 0 {
            bound = bounds.next().unwrap_or(u64::MAX);
        }
        bound
    })
}

/// Counts the latencies within 1 ms, 2 ms, 3 ms and so on, with a line for each whole millisecond that adds
/// some: the table of the report before Redis 6.
pub fn by_whole_msec(latency: &Latency) -> Vec<LatencyStep> {
    up_to(latency, |ns| whole(ns, COARSE_NS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> Latency {
        let mut latency = Latency::new(3);
        values.iter().for_each(|&v| latency.record_n(v, 1));
        latency
    }

    const TABLES: [fn(&Latency) -> Vec<LatencyStep>; 5] =
        [by_percentile, by_bound, by_whole_msec, few_percentiles, few_bounds];

    proptest! {
        #[test]
        fn tables_rise_to_all_and_every_line_is_true(
            values in prop::collection::vec(0u64..1 << 45, 1..300),
        ) {
            let latency = recorded(&values);
            for table in TABLES {
                let steps = table(&latency);
                for pair in steps.windows(2) {
                    prop_assert!(pair[0].percent <= pair[1].percent);
                    prop_assert!(pair[0].at_most_ns <= pair[1].at_most_ns);
                    prop_assert!(pair[0].cumulative <= pair[1].cumulative);
                }
                let few = [few_percentiles as fn(&Latency) -> Vec<LatencyStep>, few_bounds];
                let short = few.iter().any(|few| std::ptr::fn_addr_eq(*few, table));
                prop_assert!(!short || steps.len() <= FEW, "{} lines", steps.len());
                let last = steps.last().unwrap();
                prop_assert_eq!((last.percent, last.cumulative), (100.0, values.len() as u64));
                for step in steps {
                    let within = values.iter().filter(|&&v| v <= step.at_most_ns).count() as u64;
                    prop_assert!(within >= step.cumulative, "{step:?} counts {within}");
                    let share = step.percent / 100.0 * values.len() as f64;
                    prop_assert!(step.cumulative as f64 >= share - 1e-6, "{step:?} of {share}");
                }
            }
        }
    }

    #[test]
    fn percentiles_halve_what_is_left() {
        let steps = by_percentile(&recorded(&[10, 20, 30, 40, 50, 60, 70, 80]));
        let lines: Vec<_> = steps.iter().map(|s| (s.percent, s.at_most_ns, s.cumulative)).collect();
        let expected = [
            (0.0, 10, 1),
            (50.0, 40, 4),
            (75.0, 60, 6),
            (87.5, 70, 7),
            (93.75, 80, 8),
            (100.0, 80, 8),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn few_steps_go_by_one_two_five() {
        let latency = recorded(&(1..=1000).map(|n| n * 1_000_000).collect::<Vec<_>>());
        let percents: Vec<f64> = few_percentiles(&latency).iter().map(|s| s.percent).collect();
        assert_eq!(percents, [50.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.8, 99.9, 100.0]);
        let of_bounds = |latency: &Latency| -> Vec<(u64, u64)> {
            few_bounds(latency).iter().map(|s| (s.at_most_ns / 1_000_000, s.cumulative)).collect()
        };
        assert_eq!(
            of_bounds(&recorded(&[900_000, 3_000_000, 4_000_000, 90_000_000])),
            [(1, 1), (5, 3), (100, 4)]
        );
    }

    #[test]
    fn one_value_has_the_first_and_the_last_line() {
        let percents: Vec<_> = by_percentile(&recorded(&[7])).iter().map(|s| s.percent).collect();
        assert_eq!(percents, [0.0, 100.0]);
    }

    #[test]
    fn the_greatest_counts_do_not_overflow() {
        let mut latency = recorded(&[1]);
        latency.record_n(5, (1 << 62) - 1);
        latency.record_n(9, 1);
        let steps = by_percentile(&latency);
        assert_eq!(steps.last().unwrap().cumulative, (1 << 62) + 1);
    }

    #[test]
    fn bounds_are_fine_below_two_milliseconds_and_hours_take_one_line() {
        let hours = 4 * 3600 * 1_000_000_000;
        let bounds = |values: &[u64]| -> Vec<(u64, u64)> {
            by_bound(&recorded(values))
                .iter()
                .map(|s| (s.at_most_ns / 1000, s.cumulative))
                .collect()
        };
        assert_eq!(
            bounds(&[250_000, 1_950_000, 2_500_000, hours]),
            [(100, 0), (300, 1), (2000, 2), (3000, 3), (hours / 1000, 4)]
        );
        assert_eq!(bounds(&[0]), [(100, 1)]);
    }

    #[test]
    fn nothing_makes_no_lines() {
        for table in TABLES {
            assert_eq!(table(&recorded(&[])), []);
        }
    }
}
