use std::collections::BTreeSet;

use measure::statistics::Noise;

use super::super::design;
use super::*;

const LOADS: [f64; 3] = [0.5, 0.7, 0.85];
const NAMES: [&str; 3] = ["get", "set", "hgetall"];

/// Kinds that surely make others wait.
fn accused(prices: &[Price]) -> BTreeSet<&str> {
    prices.iter().filter(|price| price.surely).map(|price| price.operation.as_str()).collect()
}

fn kinds(shares: &[f64]) -> Vec<RequestKind> {
    let named = NAMES.iter().zip(shares);
    named.map(|(name, share)| RequestKind { name: (*name).to_owned(), share: *share }).collect()
}

/// Segments of a server that serves requests one after another in these microseconds by kind, with noise of
/// this many milliseconds.
fn segments(kinds: &[RequestKind], us: [f64; 3], noise_ms: f64, seed: u64) -> Vec<SegmentResult> {
    let mut noise = Noise::new(seed);
    let busy_s = |treatment: Treatment, rate: f64| -> f64 {
        let costs =
            kinds.iter().enumerate().map(|(at, kind)| kind.share * treatment.share_of(at) * us[at]);
        rate * costs.sum::<f64>() / 1e6
    };
    let capacity = 1.0 / busy_s(Treatment::Whole, 1.0);
    let mut all = Vec::new();
    for block in 0..5 {
        let closed = design::closed_block(block, kinds.len(), seed);
        let open = design::open_block(block, kinds.len(), LOADS.len(), seed);
        for segment in closed.into_iter().chain(open) {
            let rate = segment.level.map(|level| LOADS[level] * capacity);
            let treatment = segment.treatment;
            let sent: f64 =
                kinds.iter().enumerate().map(|(at, k)| k.share * treatment.share_of(at)).sum();
            let busy = rate.map(|rate| busy_s(treatment, rate));
            // Who comes waits for who is served, the longer the busier it is.
            let wait_ms = busy.map(|busy| {
                let longest = (0..kinds.len()).filter(|at| treatment.share_of(*at) > 0.0);
                let longest = longest.map(|at| us[at]).fold(0.0, f64::max);
                longest / 1e3 * busy / (1.0 - busy)
            });
            let mut p99 = |at: usize| {
                let is_sent = treatment.share_of(at) > 0.0;
                wait_ms.filter(|_| is_sent).map(|ms| ms + 0.1 + noise_ms * noise.normal().abs())
            };
            all.push(SegmentResult {
                segment,
                rate_per_s: rate,
                answered_per_s: rate.unwrap_or(1.0 / (busy_s(treatment, 1.0) / sent)),
                p99_ms: (0..kinds.len()).map(&mut p99).collect(),
                server_cores: busy,
                limited_by: rate.is_none().then_some(LimitedBy::Server),
                void: None,
            });
        }
    }
    all
}

#[test]
fn the_one_kind_that_is_slow_is_found_and_priced() {
    let kinds = kinds(&[0.4, 0.4, 0.2]);
    let (effects, prices) =
        Effects::estimate(&kinds, &LOADS, &segments(&kinds, [20.0, 20.0, 2_000.0], 0.3, 1));
    assert_eq!(effects.judgement, Judgement::SingledOut);
    assert_eq!(accused(&prices), BTreeSet::from(["hgetall"]), "{prices:?}");
    // A request of the mix takes 416 us, so 100 per second of 2 ms take a fifth of the server.
    assert!((effects.capacity_per_s.unwrap().value - 1e6 / 416.0).abs() < 1.0);
    assert_eq!(effects.unit_per_s, 100.0);
    let share = |kind: usize| effects.costs[kind].capacity.unwrap().value;
    assert!((share(2) - 0.2).abs() < 1e-6 && (share(0) - 0.002).abs() < 1e-6, "{effects:?}");
    let cpu = |kind: usize| effects.costs[kind].server_cpu_us.unwrap().value;
    assert!((cpu(2) - 2_000.0).abs() < 1e-3 && (cpu(1) - 20.0).abs() < 1e-3);
    let worst = prices.iter().filter(|price| price.surely);
    let worst = worst.max_by(|a, b| a.saves_ms.partial_cmp(&b.saves_ms).unwrap()).unwrap();
    assert_eq!(worst.load, Some(0.85), "it does most where the server is fullest");
    assert!(worst.cost_ms.unwrap().low > 0.0);
    assert!(worst.without_ms.unwrap() < worst.with_ms.unwrap() / 5.0);
}

#[test]
fn equal_kinds_accuse_none_although_each_takes_load_away() {
    let wrong = (0..100).filter(|seed| {
        let kinds = kinds(&[0.5, 0.3, 0.2]);
        let (effects, prices) =
            Effects::estimate(&kinds, &LOADS, &segments(&kinds, [50.0; 3], 0.05, *seed));
        assert_eq!(prices.len(), 3 * 3 * 2);
        effects.judgement != Judgement::NoneSingledOut
    });
    let wrong = wrong.count();
    assert!(wrong <= 10, "{wrong} of 100");
}

#[test]
fn noise_alone_accuses_none() {
    for seed in 0..100 {
        let kinds = kinds(&[0.5, 0.3, 0.2]);
        let (effects, _) =
            Effects::estimate(&kinds, &LOADS, &segments(&kinds, [5.0; 3], 5.0, seed));
        assert_eq!(effects.judgement, Judgement::NoneSingledOut, "{seed}: {effects:?}");
    }
}

#[test]
fn where_most_segments_are_void_nothing_is_judged() {
    let kinds = kinds(&[0.4, 0.4, 0.2]);
    let mut all = segments(&kinds, [20.0, 20.0, 2_000.0], 0.3, 1);
    let open = all.iter_mut().filter(|of| of.rate_per_s.is_some()).enumerate();
    for (_, of) in open.filter(|(number, _)| number % 5 != 0) {
        of.void = Some(Cause::CpuHeld);
    }
    let (effects, prices) = Effects::estimate(&kinds, &LOADS, &all);
    assert_eq!(
        (effects.judgement, effects.void_cause),
        (Judgement::NotJudged, Some(Cause::CpuHeld))
    );
    assert!(accused(&prices).is_empty());
    let (none, _) = Effects::estimate(&kinds, &LOADS, &[]);
    assert_eq!((none.judgement, none.capacity_per_s), (Judgement::NotJudged, None));
}

#[test]
fn two_kinds_are_enough() {
    let kinds = kinds(&[0.9, 0.1]);
    let (_, prices) =
        Effects::estimate(&kinds, &LOADS, &segments(&kinds, [20.0, 900.0, 0.0], 0.1, 3));
    assert_eq!(accused(&prices), BTreeSet::from(["set"]));
}
