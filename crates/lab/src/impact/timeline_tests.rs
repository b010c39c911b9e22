//! Prices of acts with a known truth.

use measure::{Measurement, Timeline};

use super::*;

const INTERVAL_NS: u64 = 250_000_000;
const MS: u64 = 1_000_000;

/// Ten seconds with 100 replies of these milliseconds in each quarter of a second.
fn measured(ms_at: impl Fn(u32) -> u64) -> Measurement {
    let points = (0..40).map(|index| {
        let mut latency = Latency::new(3);
        latency.record_n(ms_at(index) * MS, 100);
        Point::with(index, 100, u64::from(index == 22), &latency)
    });
    let mut run = report::fixture::complete().measurement;
    run.timeline = Timeline::from_points(INTERVAL_NS, points.collect());
    run.outages.clear();
    run
}

fn played() -> ActRecord {
    ActRecord {
        rest_from_s: 1.0,
        from_s: 5.0,
        ended_s: Some(6.0),
        until_s: 9.0,
        memory_before: Some(100),
        memory_peak: Some(130),
    }
}

#[test]
fn an_act_that_delays_everybody_for_a_second_costs_what_it_delayed() {
    let run = measured(|index| if (20..24).contains(&index) { 50 } else { 1 });
    let price = Price::of_act(&played(), &run, Some(10e6));
    assert!((price.without_ms.unwrap() - 1.0).abs() < 0.01, "{price:?}");
    assert!((price.with_ms.unwrap() - 50.0).abs() < 0.1, "{price:?}");
    assert_eq!((price.back_s, price.lasted_s), (Some(1.0), Some(1.0)));
    // 400 users waited 40 ms longer than the target.
    assert!((price.user_seconds.unwrap() - 16.0).abs() < 0.1, "{price:?}");
    assert_eq!((price.failed, price.memory_more()), (Some(1), Some(30)));
}

#[test]
fn an_act_that_nobody_feels_is_back_at_once_and_costs_nothing() {
    let price = Price::of_act(&played(), &measured(|_| 1), Some(10e6));
    assert_eq!((price.back_s, price.user_seconds), (Some(0.0), Some(0.0)));
}

#[test]
fn an_act_that_does_not_end_before_the_next_has_no_return() {
    let price = Price::of_act(&played(), &measured(|index| if index < 20 { 1 } else { 9 }), None);
    assert_eq!((price.back_s, price.user_seconds), (None, None));
}

#[test]
fn intervals_that_differ_by_chance_before_are_as_before() {
    let run = measured(|index| if index % 5 == 0 { 2 } else { 1 });
    assert_eq!(Price::of_act(&played(), &run, None).back_s, Some(0.0));
}
