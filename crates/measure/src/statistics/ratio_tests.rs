//! Tests of ratios: error rates, power, and robustness against kinds of noise.

use super::*;
use crate::statistics::Noise;

/// Counts, of 2,000 seeds, the comparisons of `count` values a side that find a difference.
fn found(paired: bool, count: usize, difference: f64) -> usize {
    let seeds = 0..2_000;
    let differ = seeds.filter(|seed| {
        let mut noise = Noise::new(*seed);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..count {
            // What a block has in common is far larger than what is looked for.
            let block = if paired { (0.2 * noise.normal()).exp() } else { 1.0 };
            a.push(block * (0.005 * noise.normal()).exp());
            b.push(block * (0.005 * noise.normal()).exp() * (1.0 + difference));
        }
        let ratio =
            if paired { RatioEstimate::paired } else { RatioEstimate::unpaired }(&a, &b, 0.0)
                .unwrap();
        ratio.conclusion() == Conclusion::Differ
    });
    differ.count()
}

#[test]
fn equals_are_distinguished_one_time_in_twenty() {
    for paired in [true, false] {
        for count in [3, 5, 10] {
            let wrong = found(paired, count, 0.0);
            // Welch's degrees of freedom are an approximation that errs to the safe side.
            let least = if paired { 60 } else { 40 };
            assert!((least..=140).contains(&wrong), "{wrong} of 2000, {count}, {paired}");
        }
    }
}

#[test]
fn two_per_cent_are_found() {
    for (paired, count, least) in [(true, 5, 1_900), (false, 5, 1_940), (true, 10, 1_990)] {
        let found = found(paired, count, 0.02);
        assert!(found >= least, "{found} of 2000, {count}, {paired}");
    }
}

/// Counts, among 2,000 seeds, the intervals of five blocks of A B B A that include the true ratio of 1, if
/// starts of a server differ by 2 % and runs of one start by half a per cent.
fn held_over_starts(each_block: bool) -> usize {
    let held = (0..2_000).filter(|seed| {
        let mut noise = Noise::new(*seed);
        let (mut a, mut b, mut starts) = (Vec::new(), Vec::new(), [0.0; 2]);
        for block in 0..5 {
            if block == 0 || each_block {
                starts = [0.02 * noise.normal(), 0.02 * noise.normal()];
            }
            // The geometric mean of the two runs of a side.
            let mut run = |start: f64| (start + 0.005 * noise.normal() / 2f64.sqrt()).exp();
            a.push(run(starts[0]));
            b.push(run(starts[1]));
        }
        RatioEstimate::paired(&a, &b, 0.0).unwrap().interval.unwrap().holds(1.0)
    });
    held.count()
}

#[test]
fn what_differs_from_start_to_start_is_in_the_interval_of_blocks_that_start_anew() {
    let held = held_over_starts(true);
    assert!((1_860..=1_940).contains(&held), "{held} of 2000");
    let held = held_over_starts(false);
    assert!(held < 1_000, "{held} of 2000 with one start for all blocks");
}

#[test]
fn the_interval_holds_the_true_ratio_95_times_in_100() {
    let held = (0..2_000).filter(|seed| {
        let mut noise = Noise::new(*seed);
        let mut side = |mean: f64, spread: f64| -> Vec<f64> {
            (0..6).map(|_| mean * (spread * noise.normal()).exp()).collect()
        };
        let (a, b) = (side(50.0, 0.02), side(75.0, 0.05));
        RatioEstimate::unpaired(&a, &b, 0.0).unwrap().interval.unwrap().holds(1.5)
    });
    let held = held.count();
    assert!((1_860..=1_940).contains(&held), "{held} of 2000");
}

#[test]
fn a_ratio_turned_round_is_its_mirror() {
    let (a, b) = ([1.0, 1.1, 1.05], [2.0, 2.3, 2.2]);
    for ratio in [RatioEstimate::paired, RatioEstimate::unpaired] {
        let (there, back) = (ratio(&a, &b, 0.0).unwrap(), ratio(&b, &a, 0.0).unwrap());
        assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
        let (there, back) = (there.interval.unwrap(), back.interval.unwrap());
        assert!((there.low * back.high - 1.0).abs() < 1e-12);
    }
}

#[test]
fn what_is_concluded_follows_from_the_interval() {
    let of = |d: &[f64]| RatioEstimate::paired(&vec![1.0; d.len()], d, 0.0).unwrap().conclusion();
    assert_eq!(of(&[1.02, 1.021, 1.019]), Conclusion::Differ);
    assert_eq!(of(&[1.002, 0.999, 1.0]), Conclusion::Alike);
    assert_eq!(of(&[1.3, 0.8, 1.1]), Conclusion::Undecided);
    assert_eq!(of(&[1.3]), Conclusion::Single);
    assert_eq!(RatioEstimate::unpaired(&[1.0, 1.0], &[2.0], 0.0).unwrap().interval, None);
    assert_eq!(RatioEstimate::paired(&[1.0], &[1.0, 2.0], 0.0), None);
    assert_eq!(RatioEstimate::unpaired(&[], &[1.0], 0.0), None);
    assert_eq!(RatioEstimate::paired(&[0.0], &[1.0], 0.0), None);
}

#[test]
fn a_step_of_the_instrument_is_no_difference() {
    let (a, b) = ([1.0; 3], [1.0009; 3]);
    let differs = |resolution| RatioEstimate::paired(&a, &b, resolution).unwrap().conclusion();
    assert_eq!(differs(0.0), Conclusion::Differ);
    assert_eq!(differs(0.001), Conclusion::Alike);
    assert_eq!(RatioEstimate::unpaired(&a, &b, 0.001).unwrap().conclusion(), Conclusion::Alike);
}

#[test]
fn one_sided_probabilities_are_of_the_side_asked_for() {
    let ratio = RatioEstimate::paired(&[1.0; 4], &[1.10, 1.11, 1.09, 1.10], 0.0).unwrap();
    assert!(ratio.p_above(1.05).unwrap() < 0.001);
    assert!(ratio.p_above(1.15).unwrap() > 0.99);
    assert!(ratio.p_below(0.95).unwrap() > 0.99);
    let certain = RatioEstimate::paired(&[1.0; 2], &[1.1; 2], 0.0).unwrap();
    assert_eq!((certain.p_above(1.05), certain.p_above(1.2)), (Some(0.0), Some(1.0)));
    assert_eq!(RatioEstimate::paired(&[1.0], &[1.1], 0.0).unwrap().p_above(1.0), None);
}

#[test]
fn the_smallest_visible_difference_is_found_four_times_in_five() {
    for (paired, count) in [(true, 5), (true, 10), (false, 5)] {
        let pairs = (0..100).map(|seed: u64| {
            let mut noise = Noise::new(seed);
            let mut side =
                || -> Vec<f64> { (0..count).map(|_| (0.005 * noise.normal()).exp()).collect() };
            let (a, b) = (side(), side());
            let ratio =
                if paired { RatioEstimate::paired } else { RatioEstimate::unpaired }(&a, &b, 0.0)
                    .unwrap();
            ratio.smallest_visible().unwrap()
        });
        let mean = pairs.sum::<f64>() / 100.0;
        let found = found(paired, count, mean);
        assert!((1_350..=1_850).contains(&found), "{found} of 2000, {count}, {paired}");
    }
}

#[test]
fn more_blocks_see_smaller_differences() {
    let ratio = RatioEstimate::paired(&[1.0; 5], &[1.1, 0.9, 1.05, 0.95, 1.0], 0.0).unwrap();
    let seen = ratio.smallest_visible().unwrap();
    assert!((0.1..0.2).contains(&seen), "{seen}");
    assert_eq!(ratio.count_for(seen + 0.001), Some(5));
    let more = ratio.count_for(seen / 2.0).unwrap();
    assert!((10..=20).contains(&more), "{more}");
    assert_eq!(ratio.count_for(0.0001), None);
    assert_eq!(RatioEstimate::paired(&[1.0], &[1.1], 0.0).unwrap().smallest_visible(), None);
}

#[test]
fn of_many_at_once_only_what_is_surely_small_counts() {
    assert_eq!(holm(&[0.04], 1), [true]);
    assert_eq!(holm(&[0.04, 0.04], 1), [false, false]);
    assert_eq!(holm(&[0.04, 0.02], 1), [true, true]);
    assert_eq!(holm(&[0.5, 0.001, 0.02, 0.9], 1), [false, true, false, false]);
    assert!(holm(&[], 1).is_empty());
    let wrong = (0..2_000).filter(|seed| {
        let mut noise = Noise::new(*seed);
        holm(&[(); 8].map(|()| noise.uniform()), 1).contains(&true)
    });
    let wrong = wrong.count();
    assert!((60..=140).contains(&wrong), "{wrong} of 2000");
}

/// Kinds of noise that are added to the logarithm of each run's value.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Normal,
    /// A fifth of the runs is slower, by a random factor.
    Slowed,
    /// A twentieth of the runs takes up to twenty times as long.
    Spikes,
    /// A power law without a finite variance.
    PowerLaw,
    /// A burst of other work slows several runs in a row.
    Bursts,
    /// Each start of a server is of one of two kinds.
    Starts,
    /// Each run is slower than the one before.
    Drift,
}

const KINDS: [Kind; 7] = [
    Kind::Normal,
    Kind::Slowed,
    Kind::Spikes,
    Kind::PowerLaw,
    Kind::Bursts,
    Kind::Starts,
    Kind::Drift,
];

/// Blocks of A B B A with noise of a kind, where B is slower by `slower`, in logarithms.
fn blocks(kind: Kind, seed: u64, count: usize, slower: f64) -> [Vec<Vec<f64>>; 2] {
    let mut noise = Noise::new(seed);
    let (mut sides, mut burst, mut runs) = ([Vec::new(), Vec::new()], 0.0, 0.0);
    for block in 0..count {
        let starts = [0; 2].map(|_| if noise.uniform() < 0.5 { 0.1 } else { 0.0 });
        let mut of_block = [Vec::new(), Vec::new()];
        for side in if block % 2 == 0 { [0, 1, 1, 0] } else { [1, 0, 0, 1] } {
            runs += 1.0;
            let small = 0.01 * noise.normal();
            let more = match kind {
                Kind::Normal => 0.1 * noise.normal(),
                Kind::Slowed if noise.uniform() < 0.2 => (0.5 * noise.normal()).abs(),
                Kind::Spikes if noise.uniform() < 0.05 => 3.0 * noise.uniform(),
                Kind::Slowed | Kind::Spikes => 0.0,
                Kind::PowerLaw => 0.02 * noise.normal() / noise.uniform().powf(0.7),
                Kind::Bursts => {
                    burst = if noise.uniform() < 0.2 { 0.3 - burst } else { burst };
                    burst
                }
                Kind::Starts => starts[side],
                Kind::Drift => 0.02 * runs,
            };
            of_block[side].push((small + more + slower * side as f64).exp());
        }
        let [a, b] = of_block;
        sides[0].push(a);
        sides[1].push(b);
    }
    sides
}

const SEEDS: u64 = 250;

/// Counts the comparisons, among [`SEEDS`], in which B differs at one of the looks.
fn differing(kind: Kind, looks: &[usize], slower: f64) -> usize {
    let differing = (0..SEEDS).filter(|seed: &u64| {
        let [a, b] = blocks(kind, *seed, looks[looks.len() - 1], slower);
        looks.iter().any(|count| {
            let ratio = RatioEstimate::of_blocks(&a[..*count], &b[..*count], 0.0).unwrap();
            ratio.of_looks(looks.len() as u32).conclusion() == Conclusion::Differ
        })
    });
    differing.count()
}

#[test]
fn no_kind_of_noise_makes_equals_differ_more_than_one_time_in_twenty() {
    for kind in KINDS {
        // Twelve are one in twenty; three standard deviations are ten. Two blocks do not show that starts are of two
        // kinds.
        for looks in [&[3][..], &[5], &[8], &[5, 10, 20]] {
            let wrong = differing(kind, looks, 0.0);
            assert!(wrong <= 22, "{kind:?}, {looks:?} blocks: {wrong} of {SEEDS}");
        }
    }
}

#[test]
fn of_many_figures_equals_hardly_ever_differ() {
    for kind in KINDS {
        for count in [5, 12] {
            let differing = (0..2 * SEEDS).filter(|seed: &u64| {
                let [a, b] = blocks(kind, *seed, count, 0.0);
                RatioEstimate::of_blocks(&a, &b, 0.0).unwrap().of_looks(3).differs_among(16)
            });
            let wrong = differing.count();
            assert!(wrong <= 3, "{kind:?}, {count} blocks: {wrong}");
        }
    }
}

#[test]
fn what_is_large_is_found_under_every_kind_of_noise() {
    // Twice as slow, in as many blocks as a comparison takes that is not decided before.
    for kind in KINDS {
        let found = differing(kind, &[5, 10, 20], 0.7);
        assert!(found >= 245, "{kind:?}: {found} of {SEEDS}");
    }
    // A hundred times as slow is found by the first five blocks already, except where one run in twenty is as odd.
    for kind in KINDS {
        let found = differing(kind, &[5], 4.6);
        assert!(found >= 200, "{kind:?}: {found} of {SEEDS}");
    }
}

#[test]
fn more_blocks_find_a_small_difference_that_spoiled_blocks_hide() {
    for (kind, least) in [(Kind::Slowed, 150), (Kind::Spikes, 230), (Kind::Bursts, 175)] {
        let found = differing(kind, &[40], 0.05);
        assert!(found >= least, "{kind:?}: {found} of {SEEDS}");
    }
}

#[test]
fn a_look_and_its_probability_say_the_same() {
    for kind in KINDS {
        for seed in 0..30 {
            let [a, b] = blocks(kind, seed, [4, 9, 15][seed as usize % 3], 0.1);
            let ratio = RatioEstimate::of_blocks(&a, &b, 0.001).unwrap().of_looks(2);
            let interval = ratio.interval.unwrap();
            for bound in [0.9, 1.0, 1.05, 1.2, 2.0] {
                let above = 2.0 * ratio.p_above(bound).unwrap() <= 0.025;
                assert_eq!(above, interval.low > bound, "{kind:?} {seed} {bound} {ratio:?}");
                let below = 2.0 * ratio.p_below(bound).unwrap() <= 0.025;
                assert_eq!(below, interval.high < bound, "{kind:?} {seed} {bound} {ratio:?}");
            }
            assert!(interval.holds(ratio.ratio), "{ratio:?}");
        }
    }
}

#[test]
fn sittings_that_differ_are_in_the_interval() {
    let mut wrong = [0; 2];
    for seed in 0..2 * SEEDS {
        let mut noise = Noise::new(seed);
        let mut side = || -> Vec<f64> {
            // One hour of a machine differs from another by as much as its runs do.
            let hour = 0.03 * noise.normal();
            (0..5).map(|_| (hour + 0.03 * noise.normal()).exp()).collect()
        };
        let (a, b) = (side(), side());
        let found =
            [RatioEstimate::unpaired(&a, &b, 0.0), RatioEstimate::of_sittings(&a, &b, 0.0, 0.01)];
        for (count, ratio) in wrong.iter_mut().zip(found) {
            *count += usize::from(ratio.unwrap().conclusion() == Conclusion::Differ);
        }
    }
    assert!(wrong[0] > 100 && wrong[1] <= 35, "{wrong:?} of 500");
    // However many runs there are, two sittings are two.
    let many = RatioEstimate::of_sittings(&[1.0; 100], &[1.04; 100], 0.0, 0.02).unwrap();
    assert_eq!(many.conclusion(), Conclusion::Undecided);
    let large =
        RatioEstimate::of_sittings(&[1.0, 1.01, 0.99], &[2.0, 2.02, 1.98], 0.0, 0.02).unwrap();
    assert_eq!(large.conclusion(), Conclusion::Differ);
}

#[test]
fn what_is_known_to_have_hit_one_side_stretches_the_interval_to_that_side() {
    let slower =
        RatioEstimate::of_sittings(&[1.0, 1.01, 0.99], &[1.5, 1.51, 1.49], 0.0, 0.01).unwrap();
    let excused = slower.clone().stretched([2.0, 1.0]);
    assert_eq!(slower.conclusion(), Conclusion::Differ);
    assert_eq!(excused.conclusion(), Conclusion::Undecided);
    assert_eq!(excused.interval.unwrap().high, slower.interval.unwrap().high);
    let unknown = slower.stretched([f64::INFINITY, 1.0]).interval.unwrap();
    assert_eq!(unknown.low, 0.0);
}
