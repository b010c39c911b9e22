//! The search for a rate, against a server whose capacity is known to the nanosecond.

use std::cell::Cell;
use std::convert::Infallible;

use host::{ServerFacts, Watched};
use lab::search::{Bracket, Search, Settings};
use lab::slo::{Judgement, Slo};
use report::{Run, Summary};
use workload::{Pace, Stop, Window};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

/// What a second of a rate is under a target.
fn judged(slo: &Slo, rate_per_s: f64, server: Server, connections: u32) -> Judgement {
    let mut plan = parts(connections, 1, Stop::AfterNs(SECOND));
    plan.pace = Pace::constant(rate_per_s);
    plan.fleet.window = Window::Rolling;
    let (measurement, _) = replay(plan.clone(), server);
    let (facts, watched) = (ServerFacts::default(), Watched::default());
    let run = Run::new(plan.build().unwrap(), measurement, facts, String::new(), watched);
    slo.judge(&Summary::of(&run))
}

fn search(slo: &str, settings: Settings, server: impl Fn(u32) -> Server) -> (Bracket, u32) {
    let (slo, trials) = (Slo::parse(slo).unwrap(), Cell::new(0));
    let found = Search::new(settings).run(|rate| {
        trials.set(trials.get() + 1);
        Ok::<_, Infallible>(judged(&slo, rate, server(trials.get()), 50).kept)
    });
    let Ok(found) = found;
    (found, trials.get())
}

#[test]
fn a_search_finds_the_capacity_within_three_percent() {
    for (service_ns, slo) in [
        (MS / 2, "p99<2ms"),
        (MS / 5, "p99<1ms & p50<400us"),
        (MS / 4, "max<5ms"),
        (MS, "p99.9<20ms, errors<0.1%"),
        (MS, "mean<10ms"),
    ] {
        let capacity = SECOND as f64 / service_ns as f64;
        let settings = Settings { start_per_s: 300.0, repeats: 1, ..Settings::default() };
        let (found, trials) = search(slo, settings, |_| Server::taking(service_ns));
        let rate = found.passes_per_s.unwrap();
        assert!((rate / capacity - 1.0).abs() < 0.03, "{slo}: {rate} of {capacity}");
        assert!(trials < 25, "{slo}: {trials}");
    }
}

#[test]
fn a_server_that_stands_still_in_every_fifth_trial_does_not_mislead() {
    let server = |trial: u32| match trial % 5 {
        0 => Server::taking(MS / 2).frozen(SECOND / 2..SECOND / 2 + 50 * MS),
        _ => Server::taking(MS / 2),
    };
    let settings = Settings { start_per_s: 700.0, ..Settings::default() };
    let (found, _) = search("p99<2ms", settings, server);
    assert!((found.passes_per_s.unwrap() / 2000.0 - 1.0).abs() < 0.03, "{found:?}");
}

#[test]
fn response_time_and_not_service_time_decides() {
    // One connection has one request in flight: every service time is the same.
    let slo = Slo::parse("p99<10ms").unwrap();
    let judgement = judged(&slo, 1100.0, Server::taking(MS), 1);
    assert!(!judgement.kept && judgement.why.contains("p99 "), "{judgement:?}");
    assert!(judgement.why.contains("every connection was waiting for replies"), "{judgement:?}");
    assert!(!judgement.own_fault, "{judgement:?}");
    assert!(judged(&slo, 900.0, Server::taking(MS), 1).kept);
}
