//! `--until-sure`: whether the interval of a comparison is as narrow as requested, and the number of blocks
//! for that.

use measure::statistics::COUNT_MAX;

use super::{TestComparison, called};
use crate::Metric;

/// Width of the interval of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Width {
    /// The test.
    pub test: String,
    /// The main figure: throughput, or p99 if a schedule sets the throughput.
    pub metric: Metric,
    /// Half of its interval, as a share of the ratio; `None` without an interval.
    pub half: Option<f64>,
    /// Number of blocks for an interval as narrow as requested; `None` if a thousand are too few.
    pub blocks_for_it: Option<usize>,
}

impl Width {
    /// Returns whether the interval is within this share of the ratio, to either side.
    pub fn is_within(&self, share: f64) -> bool {
        self.half.is_some_and(|half| half <= share)
    }

    /// Describes in a sentence the width and the time for more blocks; `block_s` is the time of a block.
    pub fn sentence(&self, share: f64, block_s: f64) -> String {
        let Self { test, metric, half, blocks_for_it } = self;
        let figure = called(*metric);
        let percent = |share: f64| {
            if share < 0.001 {
                format!("±{:.2} %", share * 100.0)
            } else {
                format!("±{:.1} %", share * 100.0)
            }
        };
        let wanted = percent(share);
        let known = match half {
            Some(half) if *half <= share => {
                return format!("{test}: {figure} is known to {}", percent(*half));
            }
            Some(half) => format!("{test}: {figure} is known to {}, not {wanted}", percent(*half)),
            None => format!("{test}: {figure} has no interval yet"),
        };
        match blocks_for_it {
            Some(blocks) => {
                let time = lasting(block_s * *blocks as f64);
                format!("{known}, which needs about {blocks} repeats ({time})")
            }
            None => format!("{known}, which needs more than {COUNT_MAX} repeats"),
        }
    }
}

/// A time in the unit that gives two or three digits.
pub(super) fn lasting(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 180.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

impl TestComparison {
    /// Returns the width of its interval; `None` if it has no ratio.
    pub fn width(&self, share: f64) -> Option<Width> {
        if self.refused.is_some() {
            return None;
        }
        let metric = if self.setup.open_loop { Metric::P99 } else { Metric::Throughput };
        let row = self.row(metric)?;
        Some(Width {
            test: self.name.clone(),
            metric,
            half: row.ratio.half_width(),
            blocks_for_it: row.ratio.count_within(share),
        })
    }
}

/// Returns the next number of blocks, after `taken` in `elapsed_s` seconds; `None` if all intervals are
/// narrow enough, or cannot be within `bound_s` seconds in all.
pub fn next_blocks(
    widths: &[Width],
    share: f64,
    taken: u32,
    elapsed_s: f64,
    bound_s: f64,
) -> Option<u32> {
    let open = widths.iter().filter(|width| !width.is_within(share));
    let needed =
        open.map(|width| width.blocks_for_it).max_by_key(|n| n.unwrap_or(usize::MAX))??;
    let block_s = elapsed_s / f64::from(taken.max(1));
    let needed = u32::try_from(needed).ok()?.max(taken + 1);
    // Few blocks predict many only roughly: at most twice as many are taken before the next estimate.
    let next = needed.min(taken.saturating_mul(2));
    (f64::from(needed) * block_s <= bound_s).then_some(next)
}

#[cfg(test)]
mod tests {
    use measure::statistics::{Noise, RatioEstimate};

    use super::*;

    fn width(ratio: &RatioEstimate, share: f64) -> Width {
        Width {
            test: "GET".to_owned(),
            metric: Metric::Throughput,
            half: ratio.half_width(),
            blocks_for_it: ratio.count_within(share),
        }
    }

    /// Takes blocks of 10 s with a ratio of 1.03 and a noise of 3 % until the ratio is known to 2 %.
    fn taken(seed: u64, bound_s: f64) -> (RatioEstimate, usize) {
        let mut noise = Noise::new(seed);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut wanted = 5;
        loop {
            while a.len() < wanted {
                a.push(100.0);
                b.push(103.0 * (0.03 * noise.normal()).exp());
            }
            let ratio = RatioEstimate::paired(&a, &b, 0.0).unwrap();
            let elapsed_s = wanted as f64 * 10.0;
            let widths = [width(&ratio, 0.02)];
            match next_blocks(&widths, 0.02, wanted as u32, elapsed_s, bound_s) {
                Some(next) => wanted = next as usize,
                None => return (ratio, wanted),
            }
        }
    }

    #[test]
    fn intervals_become_as_narrow_as_was_asked_for_and_hold_the_ratio() {
        let all: Vec<(RatioEstimate, usize)> =
            (0..1_000).map(|seed| taken(seed, 3_600.0)).collect();
        assert!(all.iter().all(|(ratio, _)| ratio.half_width().unwrap() <= 0.02));
        let held = all.iter().filter(|(ratio, _)| ratio.interval.unwrap().holds(1.03)).count();
        // Stopping where it is narrow costs a little of 95 in 100.
        assert!((900..=980).contains(&held), "{held} of 1000");
        let mean = all.iter().map(|(_, blocks)| *blocks as f64).sum::<f64>() / 1_000.0;
        assert!((7.0..=14.0).contains(&mean), "{mean}");
    }

    #[test]
    fn what_does_not_fit_the_time_is_not_begun_and_said() {
        let (ratio, blocks) = taken(3, 50.0);
        assert_eq!(blocks, 5);
        let of = width(&ratio, 0.005);
        let text = of.sentence(0.005, 15.0);
        let needed = of.blocks_for_it.unwrap();
        assert!(text.contains(&format!("needs about {needed} repeats (")), "{text}");
        assert!(text.starts_with("GET: throughput is known to ±") && text.contains(", not ±0.5 %"));
        assert!(
            width(&ratio, 0.5).sentence(0.5, 15.0).starts_with("GET: throughput is known to ±")
        );
        let hopeless = width(&ratio, 0.000_1);
        assert!(hopeless.sentence(0.000_1, 1.0).ends_with("needs more than 1000 repeats"));
        assert_eq!(next_blocks(&[hopeless], 0.000_1, 5, 5.0, 1e9), None);
    }

    #[test]
    fn how_many_are_needed_is_so() {
        let (ratio, _) = taken(1, 0.0);
        let needed = ratio.count_within(0.01).unwrap();
        assert!(needed > 10, "{needed}");
        let counts = (0..200).map(|seed: u64| {
            let mut noise = Noise::new(seed);
            let b: Vec<f64> = (0..needed).map(|_| (0.03 * noise.normal()).exp()).collect();
            RatioEstimate::paired(&vec![1.0; needed], &b, 0.0).unwrap().half_width().unwrap()
        });
        let mean = counts.sum::<f64>() / 200.0;
        assert!((0.005..=0.02).contains(&mean), "{mean}");
    }
}
