//! Order of the segments, and the load of each.

use serde::{Deserialize, Serialize};
use workload::random::SplitMix;
use workload::{Mix, Pace, Plan, PlanError, PlanParts, Stop};

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

/// Plans the load of a segment: the other kinds at their rates in the mix, at `rate_per_s` for the whole mix,
/// or at full speed without one.
///
/// # Errors
/// Returns an error if the mix has no such kind, or the rest is no valid plan.
pub fn plan(
    whole: &Plan,
    treatment: Treatment,
    rate_per_s: Option<f64>,
    seconds: f64,
    seed: u64,
) -> Result<Plan, PlanError> {
    let Some(mix) = &whole.mix else { return Err(PlanError("--of mix requires a mix".into())) };
    let sent: f64 =
        shares(mix).iter().enumerate().map(|(at, share)| share * treatment.share_of(at)).sum();
    whole.with(|parts| {
        match treatment {
            Treatment::Whole => {}
            Treatment::Thinned(kind) => thin(parts, kind),
            Treatment::Without(kind) => leave_out(parts, kind),
        }
        parts.load.stop = Stop::AfterNs((seconds * 1e9) as u64);
        // Arrivals stay as they were typed.
        match (rate_per_s, &mut parts.load.pace) {
            (None, pace) => *pace = Pace::Closed,
            (Some(rate), Pace::Open(schedule)) => {
                schedule.stages = workload::Schedule::constant(rate * sent).stages;
            }
            (Some(rate), pace) => *pace = Pace::constant(rate * sent),
        }
        // Equal draws in every segment would hide chance from the intervals. With checks of values, however, the
        // draws must be those of the fill.
        if !parts.data.verify {
            parts.load.seed = parts.load.seed.wrapping_add(seed);
        }
        parts.data.fill = None;
    })
}

/// Half of a kind.
fn thin(parts: &mut PlanParts, kind: usize) {
    for (at, operation) in parts.mix.iter_mut().flat_map(|mix| &mut mix.operations).enumerate() {
        let times = if at == kind { 1 } else { 2 };
        operation.weight = operation.weight.saturating_mul(times);
    }
}

/// Removes a kind: its commands go, and later ones move up.
fn leave_out(parts: &mut PlanParts, kind: usize) {
    let Some(mix) = &mut parts.mix else { return };
    let Some((_, span)) = mix.spans().nth(kind) else { return };
    mix.operations.remove(kind);
    parts.sequence.drain(span.clone());
    let (first, count) = (span.start as u32, span.len() as u32);
    parts.read_only.retain(|place| !span.contains(&(*place as usize)));
    for place in &mut parts.read_only {
        if *place >= first {
            *place -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use workload::{CommandSpec, MixStep, Operation, Pick, StepCondition};

    use super::*;

    fn whole() -> Plan {
        let operation = |(name, weight, commands): (&str, u32, u32)| Operation {
            name: name.to_owned(),
            weight,
            steps: vec![MixStep { commands, when: StepCondition::Always }],
            keys: None,
        };
        let operations = [("get", 6, 1), ("hgetall", 3, 2), ("set", 1, 1)].map(operation);
        let words = [["GET", "a"], ["HGETALL", "b"], ["TTL", "b"], ["STRLEN", "c"]];
        let parts = PlanParts {
            sequence: words.map(CommandSpec::from_words).to_vec(),
            mix: Some(Mix { operations: operations.to_vec(), pick: Pick::Drawn }),
            read_only: vec![0, 1, 3],
            ..PlanParts::default()
        };
        parts.build().unwrap()
    }

    #[test]
    fn the_others_keep_their_rates() {
        let whole = whole();
        for (treatment, rate, weights) in [
            (Treatment::Whole, 1000.0, vec![6, 3, 1]),
            (Treatment::Thinned(1), 850.0, vec![12, 3, 2]),
            (Treatment::Without(1), 700.0, vec![6, 1]),
        ] {
            let plan = plan(&whole, treatment, Some(1000.0), 1.0, 7).unwrap();
            let schedule = plan.load.pace.schedule().unwrap();
            assert!((schedule.rate_per_s().unwrap() - rate).abs() < 1e-6, "{treatment:?}");
            let found: Vec<u32> =
                plan.mix.iter().flat_map(|mix| &mix.operations).map(|o| o.weight).collect();
            assert_eq!(found, weights);
        }
        let without = plan(&whole, Treatment::Without(1), None, 1.0, 7).unwrap();
        assert_eq!((without.sequence.len(), &without.read_only[..]), (2, &[0, 1][..]));
        assert_eq!(without.sequence[1].name(), "STRLEN");
        assert!(without.load.pace.schedule().is_none());
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
