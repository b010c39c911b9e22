//! Order of the segments, and the load of each.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spec::values::{Count, Seconds};
use spec::{LoadSpec, Rate};
use workload::random::SplitMix;
use workload::{Mix, Plan};

/// Change to the mix in a segment. Kinds are given by their number in the mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// Nothing.
    Whole,
    /// Half of this kind is left out.
    Thinned(usize),
    /// All of this kind is left out.
    Without(usize),
}

impl Treatment {
    /// Returns the sent share of a kind, relative to the mix.
    pub fn share_of(self, kind: usize) -> f64 {
        match self {
            Self::Thinned(at) if at == kind => 0.5,
            Self::Without(at) if at == kind => 0.0,
            _ => 1.0,
        }
    }

    /// Returns the weights of the kinds of a mix.
    fn weights(self, whole: &Plan) -> Vec<u32> {
        // Half of one kind is twice all the others, in whole numbers.
        let others = if matches!(self, Self::Thinned(_)) { 2.0 } else { 1.0 };
        let weights = whole.mix.iter().flat_map(|mix| &mix.operations).enumerate();
        let weights = weights.map(|(at, of)| f64::from(of.weight) * self.share_of(at) * others);
        weights.map(|weight| weight as u32).collect()
    }
}

/// A short run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Segments of one block cover all treatments, and follow each other.
    pub block: usize,
    /// Number of the load in the experiment; `None` for a closed loop.
    pub level: Option<usize>,
    /// Change to the mix.
    pub treatment: Treatment,
}

/// Number of runs of the whole mix in each block and load, with which all others are compared.
const WHOLE: usize = 2;

/// A block at full speed: the whole mix, and each kind left out.
pub fn closed_block(block: usize, kinds: usize, seed: u64) -> Vec<Segment> {
    let whole = std::iter::once(Treatment::Whole);
    let treatments = whole.chain((0..kinds).map(Treatment::Without));
    let all = treatments.map(|treatment| Segment { block, level: None, treatment });
    shuffled(all.collect(), seed)
}

/// A block at all loads: the whole mix, and each kind thinned and left out, in random order.
pub fn open_block(block: usize, kinds: usize, levels: usize, seed: u64) -> Vec<Segment> {
    let whole = std::iter::repeat_n(Treatment::Whole, WHOLE);
    let changed = (0..kinds).flat_map(|kind| [Treatment::Thinned(kind), Treatment::Without(kind)]);
    let treatments: Vec<Treatment> = whole.chain(changed).collect();
    let segments = (0..levels).flat_map(|level| {
        let segment = move |treatment| Segment { block, level: Some(level), treatment };
        treatments.iter().copied().map(segment)
    });
    shuffled(segments.collect(), seed)
}

/// Segments in an order drawn by the seed (Fisher and Yates).
fn shuffled(mut segments: Vec<Segment>, seed: u64) -> Vec<Segment> {
    let mut random = SplitMix::new(seed);
    for last in (1..segments.len()).rev() {
        let other = (random.draw() % (last as u64 + 1)) as usize;
        segments.swap(last, other);
    }
    segments
}

/// The share of each kind in a mix.
pub fn shares(mix: &Mix) -> Vec<f64> {
    let sum: f64 = mix.operations.iter().map(|operation| f64::from(operation.weight)).sum();
    mix.operations.iter().map(|operation| f64::from(operation.weight) / sum).collect()
}

/// Changes the load of a mix to that of a segment: the other kinds at their rates in the mix, at `rate_per_s` for the
/// whole mix, or at full speed without one. `whole` is the plan of the mix, and `number` that of the segment.
pub fn change(
    load: &mut LoadSpec,
    whole: &Plan,
    treatment: Treatment,
    rate_per_s: Option<f64>,
    seconds: f64,
    number: u64,
) {
    let shares = whole.mix.as_ref().map(shares).unwrap_or_default();
    let sent: f64 =
        shares.iter().enumerate().map(|(at, share)| share * treatment.share_of(at)).sum();
    load.data.weights = treatment.weights(whole);
    load.load.rate = rate_per_s.map(|rate| Rate::constant(rate * sent));
    // Arrivals stay as they were typed.
    load.load.arrivals.take_if(|_| rate_per_s.is_none());
    load.load.end_after(None, Some(Seconds(Duration::from_secs_f64(seconds))));
    // Equal draws in every segment would hide chance from the intervals. With checks of values, however, the
    // draws must be those of the fill.
    let number = if load.data.verify { 0 } else { number };
    load.data.seed = Some(Count(whole.load.seed.wrapping_add(number) as i64));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use workload::Stop;

    use super::*;

    #[test]
    fn the_others_keep_their_rates() {
        let words = ["6", "get", "a", ";", "3", "hgetall", "b", ";", "ttl", "b"];
        let command = words.map(Into::into).to_vec();
        let mut load = LoadSpec { command, ..LoadSpec::default() };
        load.data.mix = true;
        let plan = |load: &LoadSpec| load.plans(&mut Vec::new()).unwrap().remove(0);
        let whole = plan(&load);
        for (treatment, rate, weights) in [
            (Treatment::Whole, 1000.0, [6, 3, 1]),
            (Treatment::Thinned(1), 850.0, [12, 3, 2]),
            (Treatment::Without(1), 700.0, [6, 0, 1]),
        ] {
            let mut load = load.clone();
            change(&mut load, &whole, treatment, Some(1000.0), 1.5, 7);
            let plan = plan(&load);
            let schedule = plan.load.pace.schedule().unwrap();
            assert!((schedule.rate_per_s().unwrap() - rate).abs() < 1e-6, "{treatment:?}");
            assert_eq!(plan.load.stop, Stop::AfterNs(1_500_000_000));
            assert_eq!(plan.load.seed, whole.load.seed.wrapping_add(7));
            let operations = plan.mix.iter().flat_map(|mix| &mix.operations);
            assert_eq!(operations.map(|of| of.weight).collect::<Vec<u32>>(), weights);
            let operations = plan.operations().unwrap();
            let sent: BTreeSet<u32> = (0..1000).map(|number| operations.pick(number)).collect();
            let expected = (0..3).filter(|at| weights[*at as usize] > 0);
            assert_eq!(sent, expected.collect());
        }
        change(&mut load, &whole, Treatment::Without(1), None, 1.0, 7);
        assert!(plan(&load).load.pace.schedule().is_none());
    }

    #[test]
    fn blocks_have_every_treatment_in_orders_of_their_own() {
        let first = open_block(0, 3, 3, 1);
        assert_eq!(first.len(), 3 * (2 + 2 * 3));
        let count = |of: Treatment| first.iter().filter(|segment| segment.treatment == of).count();
        assert_eq!((count(Treatment::Whole), count(Treatment::Without(2))), (6, 3));
        let order = |seed| -> Vec<Treatment> {
            open_block(0, 3, 3, seed).iter().map(|segment| segment.treatment).collect()
        };
        assert_ne!(order(1), order(2));
        assert_eq!(order(2), order(2));
        assert_eq!(closed_block(4, 3, 1).len(), 4);
    }
}
