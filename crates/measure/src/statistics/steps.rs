//! Steps in a series of measurements: where its level changed for good, as against single values that are off.
//!
//! A step is looked for where the mean before and the mean after lie farthest apart in relation to the noise (the
//! likelihood ratio of Hawkins, "Testing a Sequence of Observations for a Shift in Location", JASA 1977). How often
//! values that do not change show as much is found by shuffling them, so no distribution is assumed. Values far off
//! the rest count as moderately far off (Huber), so one bad day is no step; a level has at least [`SIDE_MIN`] values.
//! Values that follow each other alike are worth fewer: the correlation of neighbours is taken off. Each side of a
//! step is then searched for others (binary segmentation: Vostrikova 1981). At last the newest values are compared with
//! those of their level before them by [`ranks`]: they may be too few to stand out of all, and lie beyond each of them.

use super::{ERROR_RATE, Noise, Ratio, RatioEstimate, SIDE_MIN, ranks};

/// Rate of false steps among all values of a series of one level. Each side of a step is another chance of an
/// error, and all together may be wrong at most one time in twenty.
const STEP_RATE: f64 = 0.02;

/// Number of shuffles that estimate the effect of chance.
const SHUFFLES: u32 = 1_999;
/// Standard deviations from the median at which outliers are clipped.
const CLIP: f64 = 2.5;
/// Factor from the median distance from the median to a standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelStep {
    /// The number, from 0, of the first value of the new level.
    pub at: usize,
    /// The first and last index that the step may have instead: one of them is right 95 times in 100.
    pub range: (usize, usize),
    /// Ratio of the new level to the one before.
    pub ratio: Ratio,
    /// Probability that values of one level show such a step.
    pub p: f64,
}

/// The steps of a series, in order. Values must be above 0; a series with another value has no steps.
/// `series` is the number of series searched together: more series give more chances of a false step.
pub fn steps(values: &[f64], series: usize) -> Vec<LevelStep> {
    let error_rate = STEP_RATE / series.max(1) as f64;
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if logarithms.iter().any(|ln| !ln.is_finite()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    search(&logarithms, 0, error_rate, &mut found);
    found.sort_unstable_by_key(|(at, ..)| *at);
    let level = found.last().map_or(0, |(at, ..)| *at);
    found.extend(newest(&logarithms[level..], level, series));
    let ends = found.iter().skip(1).map(|(at, ..)| *at).chain([values.len()]);
    let ends: Vec<usize> = ends.collect();
    let mut from = 0;
    let steps = found.into_iter().zip(ends).filter_map(|((at, range, p), to)| {
        let RatioEstimate { ratio, interval, .. } =
            RatioEstimate::unpaired(&values[from..at], &values[at..to], 0.0)?;
        from = at;
        Some(LevelStep { at, range, ratio: Ratio { ratio, interval }, p })
    });
    steps.collect()
}

/// The step at the newest values of a level, if they lie beyond the others. `offset` is the index of the
/// level's first value.
fn newest(level: &[f64], offset: usize, series: usize) -> Option<(usize, (usize, usize), f64)> {
    let ranks::Newest { count, p } = ranks::newest(level, series)?;
    let (at, (from, to)) = located(level, level.len() - count);
    Some((offset + at, (offset + from, offset + to), p))
}

/// Finds the most likely step, and searches both sides of it. `offset` is the index of the first value.
fn search(values: &[f64], offset: usize, rate: f64, found: &mut Vec<(usize, (usize, usize), f64)>) {
    let Some((rough, p)) = most_likely(values, rate) else { return };
    let (at, (from, to)) = located(values, rough);
    found.push((offset + at, (offset + from, offset + to), p));
    search(&values[..at], offset, rate / 2.0, found);
    search(&values[at..], offset + at, rate / 2.0, found);
}

/// Finds the most likely place of a step, and the probability that chance alone produces one as likely.
/// `None` if that is more than `rate`, for too few values, and for values that do not vary.
fn most_likely(values: &[f64], rate: f64) -> Option<(usize, f64)> {
    if values.len() < 2 * SIDE_MIN {
        return None;
    }
    let mut values = clipped(values)?;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter_mut().for_each(|value| *value -= mean);
    let all: f64 = values.iter().map(|value| value * value).sum();
    if all <= 0.0 {
        return None;
    }
    let (at, between) = farthest(&values);
    // Student's t of the two levels, less what neighbours that are alike make it too large by.
    let worth = worth(&values, at);
    let t_square = (count - 2.0) * between / (all - between).max(f64::MIN_POSITIVE) * worth;
    let between = all * t_square / (count - 2.0 + t_square);
    let mut noise = Noise::new(values.len() as u64);
    let p = |as_far: u32| f64::from(as_far + 1) / f64::from(SHUFFLES + 1);
    let mut as_far = 0;
    for _ in 0..SHUFFLES {
        shuffle(&mut values, &mut noise);
        as_far += u32::from(farthest(&values).1 >= between);
        if p(as_far) > rate {
            return None;
        }
    }
    Some((at, p(as_far)))
}

/// Finds the place where the two levels differ most, and the sum of squares between them, for values around
/// 0.
fn farthest(values: &[f64]) -> (usize, f64) {
    let count = values.len();
    let (mut sum, mut best) = (0.0, (SIDE_MIN, 0.0));
    for (at, value) in (1..).zip(values) {
        sum += value;
        if at < SIDE_MIN || count - at < SIDE_MIN {
            continue;
        }
        let between = sum * sum * count as f64 / (at as f64 * (count - at) as f64);
        if between > best.1 {
            best = (at, between);
        }
    }
    best
}

/// Effective share of the values of a series with a step at `at`, since neighbours are correlated: 1 for
/// independent values.
fn worth(values: &[f64], at: usize) -> f64 {
    // Further steps make the residuals look alike, few values make differences look alike. True likeness shows
    // in both.
    let alike = alike_by_rest(values, at).min(alike_by_differences(values));
    // Correlation that independent values may show by chance.
    let chance = 1.0 / (values.len() as f64).sqrt();
    let alike = if alike > chance { alike.min(0.95) } else { 0.0 };
    (1.0 - alike) / (1.0 + alike)
}

/// The correlation of neighbours after the two levels have been subtracted.
fn alike_by_rest(values: &[f64], at: usize) -> f64 {
    let rest = rest(values, at, mean);
    let squares: f64 = rest.iter().map(|value| value * value).sum();
    let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Fitted levels make neighbours look less alike than they are.
    products / squares.max(f64::MIN_POSITIVE) + 2.0 / values.len() as f64
}

/// The correlation of neighbours, estimated from differences. If each value keeps a part of the one before,
/// the squared difference of values two apart is that of neighbours times one plus that part. A step affects
/// few of the differences.
fn alike_by_differences(values: &[f64]) -> f64 {
    let (one, two) = (differences(values, 1), differences(values, 2));
    two / one.max(f64::MIN_POSITIVE) - 1.0
}

/// The mean square of the differences of values `lag` places apart, without the largest tenth.
fn differences(values: &[f64], lag: usize) -> f64 {
    let pairs = values.iter().zip(values.iter().skip(lag));
    let mut squares: Vec<f64> = pairs.map(|(a, b)| (a - b).powi(2)).collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares.truncate(squares.len() - squares.len() / 10);
    mean(&squares)
}

/// Subtracts the level of each side from its values.
fn rest(values: &[f64], at: usize, level: fn(&[f64]) -> f64) -> Vec<f64> {
    let (before, after) = values.split_at(at);
    let of = |side: &[f64]| {
        let level = level(side);
        side.iter().map(|value| value - level).collect::<Vec<f64>>()
    };
    [of(before), of(after)].concat()
}

/// The place of a step known to be near `rough`, and the range of places that holds it 95 times in 100. The
/// probability of a place is that of the values around the two levels it separates.
fn located(values: &[f64], rough: usize) -> (usize, (usize, usize)) {
    let (before, after) = values.split_at(rough);
    let levels = [median(before), median(after)];
    let rest = rest(values, rough, median);
    let sd = (spread(&rest)).max(f64::MIN_POSITIVE.sqrt());
    let cost = |value: f64, level: f64| {
        let off = (value - level).abs() / sd;
        if off <= CLIP { off * off / 2.0 } else { CLIP * (off - CLIP / 2.0) }
    };
    // Moving the place by one moves one value from one level to the other.
    let mut costs = vec![0.0; values.len()];
    for at in 1..values.len() {
        let value = values[at - 1];
        costs[at] = costs[at - 1] + cost(value, levels[0]) - cost(value, levels[1]);
    }
    let places = SIDE_MIN..=values.len() - SIDE_MIN;
    let best = places.clone().min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(rough);
    let weight = |at: usize| (costs[best] - costs[at]).exp();
    let all: f64 = places.clone().map(weight).sum();
    let (mut from, mut to, mut held) = (best, best, weight(best));
    while held < (1.0 - ERROR_RATE) * all {
        let left = (from > *places.start()).then(|| weight(from - 1));
        let right = (to < *places.end()).then(|| weight(to + 1));
        match (left, right) {
            (Some(left), right) if right.is_none_or(|right| left >= right) => {
                (from, held) = (from - 1, held + left);
            }
            (_, Some(right)) => (to, held) = (to + 1, held + right),
            _ => break,
        }
    }
    (best, (from, to))
}

/// The values, clipped at a number of standard deviations from the median. `None` if they do not vary.
fn clipped(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values);
    let off: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let reach = CLIP * spread(&off);
    (reach > 0.0).then(|| values.iter().map(|v| v.clamp(middle - reach, middle + reach)).collect())
}

/// The standard deviation of values around 0, robust against outliers; the usual one if more than half of the
/// values are equal.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let distances: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    match median(&distances) * MAD_TO_SD {
        0.0 => mean(&values.iter().map(|value| value * value).collect::<Vec<_>>()).sqrt(),
        spread => spread,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => low.midpoint(*high),
        _ => 0.0,
    }
}

/// Puts values in any order (Fisher and Yates).
fn shuffle(values: &mut [f64], noise: &mut Noise) {
    for last in (1..values.len()).rev() {
        values.swap(last, (noise.uniform() * (last + 1) as f64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series of 60 runs with this spread, whose level is multiplied by `1 + step` from run `at` on.
    fn series(number: u64, spread: f64, at: usize, step: f64) -> Vec<f64> {
        let mut noise = Noise::new(number);
        let level = |run: usize| if run >= at { 1e5 * (1.0 + step) } else { 1e5 };
        (0..60).map(|run| level(run) * (spread * noise.normal()).exp()).collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        steps(values, 1).iter().map(|step| step.at).collect()
    }

    #[test]
    fn a_step_of_three_per_cent_is_found_at_its_run_19_times_in_20() {
        for at in [15, 30, 50] {
            let right = (0..200).filter(|s| places(&series(*s, 0.006, at, -0.03)) == [at]).count();
            assert!(right >= 190, "{right} of 200 at {at}");
        }
    }

    #[test]
    fn where_noise_hides_the_run_the_range_holds_it() {
        let held = (0..200).filter(|seed| {
            let found = steps(&series(*seed, 0.015, 30, -0.03), 1);
            found.iter().any(|step| (step.range.0..=step.range.1).contains(&30))
        });
        let held = held.count();
        assert!(held >= 186, "{held} of 200");
    }

    #[test]
    fn equal_runs_have_no_step_19_times_in_20() {
        for spread in [0.002, 0.02] {
            let none = (0..400).filter(|s| places(&series(*s, spread, 60, 0.0)).is_empty()).count();
            assert!(none >= 380, "{none} of 400 at {spread}");
        }
    }

    #[test]
    fn runs_that_follow_each_other_alike_are_no_steps() {
        let wrong = (0..200).filter(|seed| {
            let (mut noise, mut drift) = (Noise::new(*seed), 0.0);
            let values = (0..60).map(|_| {
                drift = 0.4 * drift + 0.01 * noise.normal();
                (drift + 0.002 * noise.normal()).exp()
            });
            !places(&values.collect::<Vec<_>>()).is_empty()
        });
        let wrong = wrong.count();
        assert!(wrong <= 24, "{wrong} of 200");
    }

    #[test]
    fn a_bad_day_is_no_step() {
        for (days, share) in [(1, 0.10), (2, 0.10), (2, 0.3)] {
            let wrong = (0..200).filter(|seed| {
                let mut values = series(*seed, 0.006, 60, 0.0);
                let first = 10 + (*seed as usize % 45);
                values[first..first + days].iter_mut().for_each(|value| *value *= 1.0 - share);
                !places(&values).is_empty()
            });
            let wrong = wrong.count();
            assert!(wrong <= 12, "{wrong} of 200 with {days} of {share}");
        }
    }

    #[test]
    fn several_steps_are_found_each_with_its_size() {
        let mut values = series(7, 0.004, 20, -0.05);
        values[40..].iter_mut().for_each(|value| *value *= 1.08);
        let found = steps(&values, 1);
        assert_eq!(found.iter().map(|step| step.at).collect::<Vec<_>>(), [20, 40]);
        assert!((found[0].ratio.ratio - 0.95).abs() < 0.01, "{found:?}");
        assert!((found[1].ratio.ratio - 1.08).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn what_is_new_is_found_after_four_runs() {
        let found = (0..200).filter(|seed| {
            let values = &series(*seed, 0.006, 56, -0.03);
            steps(values, 1).iter().any(|step| step.at.abs_diff(56) <= 1)
        });
        let found = found.count();
        assert!(found >= 170, "{found} of 200");
    }

    #[test]
    fn too_few_or_impossible_values_have_no_steps() {
        assert!(steps(&[], 1).is_empty() && steps(&[1.0, 1.0, 1.0, 2.0, 2.0], 1).is_empty());
        assert!(steps(&[1.0; 60], 1).is_empty());
        assert!(steps(&[0.0, f64::NAN, 1.0, 2.0, 3.0, 4.0, 5.0], 1).is_empty());
    }
}
