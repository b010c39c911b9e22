//! The search for a rate, against a server of exactly known capacity.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use host::{ServerFacts, ServerUse, WatchRecord};
use lab::search::{Bracket, RateOutcome, Search, Settings};
use lab::{Conclusion, Phase, RateSearch, SearchOutcome};
use measure::statistics::Noise;
use report::Run;
use report::slo::{Judgement, Observation, Outcome, Slo};
use workload::{Pace, Stop, Window};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

/// Disturbance of a trial by the machine.
#[derive(Clone, Copy)]
enum Machine {
    Quiet,
    /// Other programs hold the CPU of the client for a twentieth of the time.
    Busy,
    /// Other programs hold the CPUs of client and server for a fifth of the time.
    Loaded,
    /// Other programs hold the client's CPU for most of the time.
    Overrun,
}

impl Machine {
    /// Share of the time in which the client waits for a CPU.
    fn wait(self) -> f64 {
        match self {
            Self::Quiet => 0.0,
            Self::Busy => 0.05,
            Self::Loaded => 0.2,
            Self::Overrun => 0.95,
        }
    }
}

/// A trial at a rate, as long as the real search makes it.
fn trial(slo: &Slo, rate_per_s: f64, server: Server, connections: u32, machine: Machine) -> Run {
    let needed_s = slo.requests_min() as f64 / rate_per_s;
    let length_ns = (needed_s.clamp(1.0, 10.0) * 1e9) as u64;
    let mut plan = parts(connections, 1, Stop::AfterNs(length_ns));
    plan.load.pace = Pace::constant(rate_per_s);
    plan.load.concurrency.window = Window::Rolling;
    let (mut measurement, _) = replay(plan.clone(), server);
    for worker in &mut measurement.workers {
        (worker.wall_ns, worker.cpu_ns) = (length_ns, length_ns / 50);
        worker.wait_ns = Some((machine.wait() * length_ns as f64) as u64);
    }
    let (facts, mut watched) = (ServerFacts::default(), WatchRecord::default());
    if let Machine::Loaded = machine {
        let load_s = length_ns as f64 / 1e9;
        watched.servers.push(ServerUse {
            cpu_main_s: Some((rate_per_s * load_s * 0.0005).min(load_s * 0.8)),
            cpu_wait_s: Some(load_s * machine.wait()),
            ..ServerUse::default()
        });
    }
    Run::new(plan.build().unwrap(), measurement, facts, String::new(), watched)
}

fn judged(slo: &Slo, rate_per_s: f64, server: Server, connections: u32) -> Judgement {
    let run = trial(slo, rate_per_s, server, connections, Machine::Quiet);
    slo.judge(&[&Observation::new(slo, &run)])
}

/// A search whose trials get their number, from 1.
fn search(
    slo: &str,
    settings: Settings,
    server: impl Fn(u32) -> Server,
    machine: impl Fn(u32) -> Machine,
) -> (Bracket, Conclusion, u32) {
    let (slo, trials) = (Slo::parse(slo).unwrap(), Cell::new(0));
    let record = RefCell::new(RateSearch::new("SET".into(), slo.clone(), settings.clone()));
    let mut search = Search::new(settings);
    let found = search.run(|rate| {
        trials.set(trials.get() + 1);
        let number = trials.get();
        let run = trial(&slo, rate, server(number), 50, machine(number));
        Ok::<RateOutcome, Infallible>(record.borrow_mut().add(Phase::Search, &run).unwrap())
    });
    let Ok(found) = found;
    let mut record = record.into_inner();
    record.conclude(found.given_up);
    assert_eq!(*record.found(), found, "rates and the search agree");
    (found, record.conclusion().clone(), trials.get())
}

fn quiet(_: u32) -> Machine {
    Machine::Quiet
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
        let (found, conclusion, trials) =
            search(slo, settings, |_| Server::taking(service_ns), quiet);
        let rate = found.passes_per_s.unwrap();
        assert!((rate / capacity - 1.0).abs() < 0.03, "{slo}: {rate} of {capacity}");
        assert!(trials < 25, "{slo}: {trials}");
        let (low, high) = conclusion.low_per_s.zip(conclusion.high_per_s).unwrap_or_else(|| {
            panic!("{slo}: {found:?} {conclusion:?}");
        });
        // What grows for a second only, such as a mean, is seen a little above the capacity.
        assert!((low * 0.97..=high * 1.001).contains(&capacity), "{slo}: {low} to {high}");
        assert_eq!(conclusion.answered, SearchOutcome::Found);
    }
}

#[test]
fn a_server_that_stands_still_in_one_trial_does_not_mislead() {
    let server = |trial: u32| match trial {
        5 => Server::taking(MS / 2).frozen(SECOND / 2..SECOND / 2 + 50 * MS),
        _ => Server::taking(MS / 2),
    };
    let settings = Settings { start_per_s: 700.0, ..Settings::default() };
    let (found, conclusion, _) = search("p99<2ms", settings, server, quiet);
    let (low, high) = (conclusion.low_per_s.unwrap(), conclusion.high_per_s.unwrap());
    assert!(low > 1000.0 && (low..=high * 1.001).contains(&2000.0), "{found:?} {conclusion:?}");
}

/// A server that takes half a millisecond, and pauses this long once a second.
fn hiccups(for_ns: u64) -> Server {
    (0..10).fold(Server::taking(MS / 2), |server, second| {
        let from = second * SECOND + 300 * MS + 17 * second * MS;
        server.frozen(from..from + for_ns)
    })
}

#[test]
fn one_hiccup_a_second_misses_no_low_rate() {
    // 3 ms of each second, and what waits behind them, are less than a hundredth of the requests.
    for start_per_s in [100.0, 1000.0] {
        let settings = Settings { start_per_s, least_per_s: 100.0, ..Settings::default() };
        let (found, conclusion, _) = search("p99<2ms", settings, |_| hiccups(3 * MS), quiet);
        let rate = found.passes_per_s.expect("it is kept at low rates");
        assert!((400.0..2010.0).contains(&rate), "{rate}: {conclusion:?}");
    }
    // 30 ms are three percent, and that is the server's doing.
    let settings = Settings { start_per_s: 1000.0, least_per_s: 100.0, ..Settings::default() };
    let (found, conclusion, _) = search("p99<2ms", settings, |_| hiccups(30 * MS), quiet);
    assert_eq!(
        (found.passes_per_s, conclusion.answered),
        (None, SearchOutcome::LowestMissed),
        "{found:?}"
    );
}

#[test]
fn few_requests_leave_a_rate_undecided() {
    let slo = Slo::parse("p99<2ms").unwrap();
    let run = |server: Server| {
        let mut plan = parts(50, 1, Stop::AfterNs(SECOND));
        plan.load.pace = Pace::constant(100.0);
        plan.load.concurrency.window = Window::Rolling;
        let (measurement, _) = replay(plan.clone(), server);
        let (facts, watched) = (ServerFacts::default(), WatchRecord::default());
        Run::new(plan.build().unwrap(), measurement, facts, String::new(), watched)
    };
    let hundred = Observation::new(&slo, &run(Server::taking(MS / 2)));
    assert_eq!(slo.judge(&[&hundred]).outcome, Outcome::Undecided);
    let thousand = slo.judge(&[&hundred; 10]);
    assert_eq!((thousand.outcome, thousand.kept), (Outcome::Kept, true));
    assert!(thousand.bounds[0].high.is_some_and(|high| high < 2e6), "{thousand:?}");
}

#[test]
fn what_the_machine_did_does_not_count_against_a_rate() {
    let server = |trial: u32| match trial % 3 {
        0 => Server::taking(5 * MS),
        _ => Server::taking(MS / 2),
    };
    let settings = Settings { start_per_s: 700.0, ..Settings::default() };
    // Every third trial is void, and what it shows is worse than the truth.
    let (found, conclusion, _) =
        search("p99<2ms", settings, server, |trial: u32| match trial % 3 {
            0 => Machine::Overrun,
            _ => Machine::Quiet,
        });
    assert!((found.passes_per_s.unwrap() / 2000.0 - 1.0).abs() < 0.03, "{found:?}");
    assert_eq!(conclusion.answered, SearchOutcome::Found);
}

#[test]
fn what_is_kept_or_missed_beside_other_programs_by_far_counts() {
    // A twentieth of the time accounts for a twentieth of the requests, and not for a backlog.
    for (service_ns, capacity) in [(MS / 2, 2000.0), (5 * MS, 200.0)] {
        let settings = Settings { start_per_s: 700.0, ..Settings::default() };
        let target = if service_ns < MS { "p99<2ms" } else { "p99<20ms" };
        let (found, conclusion, _) =
            search(target, settings, |_| Server::taking(service_ns), |_| Machine::Busy);
        assert!((found.passes_per_s.unwrap() / capacity - 1.0).abs() < 0.05, "{found:?}");
        assert_eq!(conclusion.answered, SearchOutcome::Found, "{conclusion:?}");
    }
}

/// A server that takes half a millisecond, and is away for a quarter of the time.
fn away() -> Server {
    (0..100).fold(Server::taking(MS / 2), |server, at| {
        let from = at * 100 * MS + 40 * MS;
        server.frozen(from..from + 25 * MS)
    })
}

#[test]
fn a_busy_machine_gets_no_rate_and_is_named() {
    let settings = Settings { start_per_s: 700.0, ..Settings::default() };
    let (found, conclusion, trials) =
        search("p99<2ms", settings.clone(), |_| away(), |_| Machine::Overrun);
    assert!(found.given_up && found.passes_per_s.is_none(), "{found:?}");
    assert_eq!(
        conclusion.headline,
        "no rate is sure to keep p99<2ms here: other programs held the CPU in 17 of 17 trials"
    );
    // Four rates, and one far above.
    assert_eq!(trials, 17);
    assert_eq!(conclusion.answered, SearchOutcome::Unjudged, "{conclusion:?}");
    // What is kept in a calm moment is a lower end.
    let calm = |trial: u32| trial.is_multiple_of(4);
    let server = |trial: u32| if calm(trial) { Server::taking(MS / 2) } else { away() };
    let (found, conclusion, _) = search("p99<2ms", settings, server, |trial: u32| {
        if calm(trial) { Machine::Quiet } else { Machine::Overrun }
    });
    assert!(found.passes_per_s.is_some_and(|rate| (350.0..2010.0).contains(&rate)), "{found:?}");
    assert!(found.fails_per_s.is_none_or(|rate| rate >= 2000.0), "{found:?}");
    assert!(conclusion.rate_per_s.is_some(), "{conclusion:?}");
}

/// A server that takes half a millisecond and has no CPU for a fifth of the time, in pieces of random length.
/// A single trial of three is undisturbed.
fn loaded(noise: &mut Noise) -> (Server, Machine) {
    if noise.uniform() < 0.34 {
        return (Server::taking(MS / 2), Machine::Quiet);
    }
    let mut server = Server::taking(MS / 2);
    let mut at_ns = 0;
    while at_ns < 10 * SECOND {
        let away_ns = ((1.0 + 12.0 * noise.uniform()) * MS as f64) as u64;
        server = server.frozen(at_ns..at_ns + away_ns);
        at_ns += 5 * away_ns;
    }
    (server, Machine::Loaded)
}

#[test]
fn searches_beside_busy_loops_conclude_nothing_false() {
    for seed in 0..10 {
        let noise = RefCell::new(Noise::new(seed));
        let drawn = RefCell::new(None);
        let server = |_| {
            let (server, machine) = loaded(&mut noise.borrow_mut());
            drawn.replace(Some(machine));
            server
        };
        let settings = Settings { start_per_s: 700.0, least_per_s: 100.0, ..Settings::default() };
        let (found, conclusion, _) =
            search("p99<2ms", settings, server, |_| drawn.take().unwrap_or(Machine::Quiet));
        assert_ne!(conclusion.answered, SearchOutcome::LowestMissed, "{seed}: {conclusion:?}");
        assert!(found.passes_per_s.is_none_or(|rate| rate < 2060.0), "{seed}: {conclusion:?}");
        assert!(found.fails_per_s.is_none_or(|rate| rate > 1940.0), "{seed}: {conclusion:?}");
    }
}

#[test]
fn above_what_is_kept_the_machine_decides() {
    let settings = Settings { start_per_s: 100.0, ..Settings::default() };
    let calm = |trial: u32| trial <= 2;
    let server = |trial: u32| if calm(trial) { Server::taking(MS / 2) } else { away() };
    let (found, conclusion, _) = search("p99<2ms", settings, server, |trial: u32| {
        if calm(trial) { Machine::Quiet } else { Machine::Overrun }
    });
    assert_eq!((found.passes_per_s, found.fails_per_s), (Some(200.0), None), "{found:?}");
    assert_eq!((conclusion.answered, conclusion.rate_per_s), (SearchOutcome::Open, Some(200.0)));
    let headline = "at least 200/s keep p99<2ms; above that this machine's own delays decide";
    assert_eq!(conclusion.headline, headline);
    assert!(conclusion.text.contains("other programs held the CPU in "), "{conclusion:?}");
    assert_eq!((conclusion.low_per_s, conclusion.high_per_s), (Some(200.0), None));
}

#[test]
fn response_time_and_not_service_time_decides() {
    // One connection has one request in flight: every service time is the same.
    let slo = Slo::parse("p99<10ms").unwrap();
    let judgement = judged(&slo, 1100.0, Server::taking(MS), 1);
    assert!(!judgement.kept && judgement.why.contains("p99 "), "{judgement:?}");
    assert!(judgement.why.contains("every connection was waiting for replies"), "{judgement:?}");
    assert_eq!(judgement.outcome, Outcome::Missed, "{judgement:?}");
    assert!(judged(&slo, 900.0, Server::taking(MS), 1).kept);
}
