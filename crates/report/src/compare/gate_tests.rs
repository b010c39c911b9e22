//! Gates: when they fail, and their agreement with the tables.

use measure::Latency;
use measure::statistics::Noise;
use workload::RecordedTraffic;

use super::tests::{compared, comparison, glances, setup, with_change};
use super::*;
use crate::Failures;
use crate::Figures;

fn gated(percent: f64, allowed: f64) -> Comparison {
    Comparison { threshold: Some(allowed), ..with_change(Pairing::Blocks, 10, percent) }
}
#[test]
fn a_gate_fails_where_the_second_is_surely_worse_than_allowed() {
    let surely = gated(-12.0, 5.0).gate().unwrap();
    assert_eq!((surely.state, surely.found.len()), (GateState::Failed, 1), "{surely:?}");
    assert_eq!(
        (surely.found[0].row.metric, surely.found[0].test.as_str()),
        (Metric::Throughput, "SET")
    );
    // Worse, but not surely by more than that.
    let perhaps = gated(-12.0, 12.0).gate().unwrap();
    assert_eq!(perhaps.state, GateState::Undecided);
    assert_eq!((perhaps.found.len(), perhaps.possible.len()), (0, 1), "{perhaps:?}");
    for passed in [gated(-2.0, 5.0), gated(12.0, 5.0)] {
        assert_eq!(passed.gate().unwrap().state, GateState::Passed);
    }
    let single = Comparison { threshold: Some(5.0), ..with_change(Pairing::None, 1, -50.0) };
    let single = single.gate().unwrap();
    assert_eq!((single.state, single.unknown.len()), (GateState::Undecided, 2));
    let cut = Comparison { complete: false, ..gated(-2.0, 5.0) };
    assert_eq!(cut.gate().unwrap().state, GateState::Undecided);
}

#[test]
fn a_gate_is_reported_in_one_sentence_with_one_meaning() {
    let failed = notes(&gated(-12.0, 5.0));
    assert_eq!(failed.len(), 1, "{failed:?}");
    let text = "Gate failed: second is worse than first by more than 5 % in throughput of SET (";
    assert!(failed[0].starts_with(text), "{failed:?}");
    let undecided = notes(&gated(-12.0, 12.0));
    assert_eq!(undecided.len(), 1, "{undecided:?}");
    assert!(undecided[0].starts_with("Gate undecided: the runs do not say"), "{undecided:?}");
    assert!(undecided[0].contains("to see 12 % use --repeat "), "{undecided:?}");
    let passed = notes(&gated(-2.0, 5.0));
    assert_eq!(passed.len(), 1, "{passed:?}");
    assert!(passed[0].starts_with("Gate passed: second is not worse than first by more than 5 %"));
    assert_eq!(notes(&with_change(Pairing::Blocks, 10, -2.0)), passed, "the same threshold");
}

#[test]
fn a_gate_says_no_more_than_the_intervals_of_its_table() {
    let mut failed = 0;
    for seed in 0..300_u64 {
        let spread = [0.002, 0.02, 0.1, 0.6][(seed % 4) as usize];
        let worse = [0.0, 0.04, 0.08, 0.2, 3.0][(seed % 5) as usize];
        let a = glances(4, 100_000.0, spread, 2 * seed);
        let b = glances(4, 100_000.0 / (1.0 + worse), spread, 2 * seed + 1);
        let test = compared(Pairing::Blocks, &a, &b);
        let row = |metric| test.row(metric).unwrap();
        let gate = comparison(vec![test.clone()], None).gate_of(5.0);
        for found in &gate.found {
            let row = row(found.row.metric);
            assert!(verdict(row).starts_with("worse, "), "{seed}: {found:?}");
            assert!(row.is_worse(5.0), "{seed}: {found:?}");
            failed += 1;
        }
        for possible in &gate.possible {
            assert_eq!(&possible.row, row(possible.row.metric), "{seed}");
        }
        if gate.state == GateState::Passed {
            assert!(WATCHED.iter().all(|metric| !row(*metric).may_be_worse(5.0)), "{seed}");
        }
    }
    assert!(failed > 50, "{failed}");
}

#[test]
fn what_may_be_chance_among_many_figures_is_not_called_unknown() {
    // Worse by its own interval, not among so many looks.
    let found = (0..200).find_map(|seed| {
        let (a, b) = (glances(10, 1e5, 0.02, 2 * seed), glances(10, 9.2e4, 0.02, 2 * seed + 1));
        let test = compared(Pairing::Blocks, &a, &b);
        let gated = Comparison { looks: 9, ..comparison(vec![test], Some(5.0)) };
        let gate = gated.gate().unwrap();
        gate.possible.iter().any(|possible| possible.row.is_worse(5.0)).then_some(gated)
    });
    let notes = notes(&found.unwrap()).join(" ");
    assert!(notes.contains("second looks worse than first by more than 5 % in "), "{notes}");
    assert!(notes.contains("but with 18 figures judged that may be chance"), "{notes}");
}

/// A first server and others that each differ by this many per cent.
fn several(changes: &[f64], allowed: f64) -> Comparison {
    let a = glances(10, 1e5, 0.004, 1);
    let pair = |(at, percent): (u64, &f64)| {
        let names = ["first".to_owned(), format!("server {at}")];
        let b = glances(10, 1e5 * (1.0 + percent / 100.0), 0.004, at);
        TestComparison::new("SET", &Setup { names, ..setup(Pairing::Blocks) }, &a, &b)
    };
    let pairs: Vec<TestComparison> = (2..).zip(changes).map(pair).collect();
    let mut all = comparison(Vec::new(), Some(allowed));
    let others: Vec<Subject> = pairs
        .iter()
        .map(|pair| Subject { name: pair.setup.names[1].clone(), ..all.subjects[1].clone() })
        .collect();
    all.subjects.truncate(1);
    all.subjects.extend(others);
    all.tests = vec![ComparedTest { name: "SET".into(), pairs, question: None }];
    all
}

#[test]
fn one_gate_judges_all_servers() {
    use GateState::{Failed, Passed, Undecided};
    let gates = |changes: &[f64]| {
        let all = several(changes, 12.0);
        (all.gate().unwrap(), notes(&all))
    };
    let (gate, lines) = gates(&[-2.0, -30.0]);
    assert_eq!((gate.state, gate.judged), (Failed, 4));
    assert_eq!(gate.found[0].names[1], "server 3");
    assert!(lines.iter().all(|line| !line.starts_with("Gate passed")), "{lines:?}");
    let (gate, lines) = gates(&[-2.0, -12.0]);
    assert_eq!(gate.state, Undecided);
    assert!(lines.len() == 1 && lines[0].starts_with("Gate undecided: "), "{lines:?}");
    assert!(lines[0].contains("server 3 is worse than first"), "{lines:?}");
    let (gate, lines) = gates(&[-12.0, -30.0]);
    assert_eq!(gate.state, Failed);
    assert!(lines[0].starts_with("Gate failed: "), "{lines:?}");
    assert!(lines[1..].iter().any(|line| line.starts_with("Also undecided: ")), "{lines:?}");
    let (gate, lines) = gates(&[-2.0, 3.0]);
    assert_eq!((gate.state, lines.len()), (Passed, 2));
    assert_eq!(Comparison { threshold: None, ..several(&[-30.0], 5.0) }.gate(), None);
}

#[test]
fn a_document_has_every_server_beside_the_first() {
    let all = several(&[-2.0, -30.0], 12.0);
    let json: serde_json::Value = serde_json::from_str(&to_json(&all).unwrap()).unwrap();
    let servers = json["tests"][0]["servers"].as_array().unwrap();
    assert_eq!((servers.len(), json["servers"].as_array().unwrap().len()), (3, 3));
    assert!(servers[0]["figures"]["throughput_rps"]["ratio"].is_null());
    assert_eq!(servers[2]["answer"], "worse");
    let csv = super::tests::csv(&all.tests[0]);
    assert_eq!(csv.lines().filter(|line| line.contains("\"p99_ms\"")).count(), 3, "{csv}");
}

/// Five blocks of recorded traffic: each figure of each command wavers, and `HGETALL` takes longer on the
/// second.
fn replayed(seed: u64, us: f64, longer_us: f64) -> Comparison {
    replayed_of(500, seed, us, longer_us)
}

/// Runs with this many `HGETALL`.
fn replayed_of(replies: u64, seed: u64, us: f64, longer_us: f64) -> Comparison {
    let base = glances(1, 1e5, 0.0, 1).remove(0);
    let mut noise = Noise::new(seed);
    let mut side = |longer_us: f64| -> Vec<RunDigest> {
        let runs = (0..10).map(|_| {
            let operations = ["GET", "SET", "HGETALL", "LPUSH", "ZADD"].map(|name| {
                let more = if name == "HGETALL" { longer_us } else { 0.0 };
                let of_name = if name == "HGETALL" { replies } else { 500 };
                let mut times = Latency::new(3);
                times.record_n(((us + more) * 1e3 * (0.05 * noise.normal()).exp()) as u64, of_name);
                let cpu_us = 2.0 * (0.03 * noise.normal()).exp();
                (name.to_owned(), Figures::of_command(&times, Some(cpu_us)))
            });
            RunDigest { operations: operations.to_vec(), ..base.clone() }
        });
        runs.collect()
    };
    let (a, b) = (side(0.0), side(longer_us));
    let setup = Setup { by_command: true, open_loop: true, ..setup(Pairing::Blocks) };
    let test = TestComparison::new("replay monitor.txt", &setup, &a, &b);
    let record = RecordedTraffic {
        source: "monitor.txt".to_owned(),
        clients: 1,
        span_ns: 1,
        speed: "1".to_owned(),
        stalls: Vec::new(),
    };
    let replayed = ReplayedTraffic { record, answers: None, head_room: None };
    let watched = vec![Metric::P50, Metric::P99, Metric::ServerCpu];
    Comparison { watched, replayed: Some(replayed), ..comparison(vec![test], Some(10.0)) }
}

#[test]
fn the_same_server_twice_is_worse_for_recorded_traffic_one_time_in_twenty_at_most() {
    let gates = (0..200).map(|seed| replayed(seed, 500.0, 0.0).gate().unwrap());
    let wrong = gates.inspect(|gate| assert_eq!(gate.judged, 15));
    let wrong = wrong.filter(|gate| gate.state == GateState::Failed).count();
    assert!(wrong <= 10, "{wrong} of 200");
}

#[test]
fn a_recorded_command_that_takes_longer_is_found_as_just_that() {
    for seed in 0..50 {
        let found = replayed(seed, 500.0, 2_000.0).gate().unwrap().found;
        assert!(found.iter().any(|of| of.row.metric == Metric::P50), "{seed}: {found:?}");
        assert!(found.iter().all(|of| of.test == "HGETALL"), "{seed}: {found:?}");
    }
    // Three times as long, and nobody notices.
    let slight = replayed(1, 10.0, 20.0);
    assert_eq!(slight.gate().unwrap().found, []);
    let rows = &slight.tests[0].pairs[0].operations[2];
    assert_eq!((rows.name.as_str(), rows.rows[0].metric), ("HGETALL", Metric::P50));
    assert_eq!(verdict(&rows.rows[0]), "alike, negligible difference");
}

#[test]
fn a_rare_command_is_compared_where_it_is_slow() {
    let quick = replayed_of(2, 1, 500.0, 0.0);
    assert!(quick.tests[0].operations().iter().all(|(name, _)| *name != "HGETALL"));
    let slow = replayed_of(2, 1, 500.0, 3_000_000.0);
    let found = slow.gate().unwrap().found;
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.test.as_str(), found.row.metric), ("HGETALL", Metric::P50));
}

#[test]
fn other_answers_and_more_failures_fail_a_gate() {
    let alike = replayed(1, 500.0, 0.0);
    let mut other = alike.clone();
    if let Some(replayed) = &mut other.replayed {
        let counts = AnswerComparison { compared: 8, different: 3, ..AnswerComparison::default() };
        replayed.answers = Some(counts);
    }
    assert_eq!(other.gate().unwrap().state, GateState::Failed);
    let says = "Gate failed: second answers some of this traffic differently from first.";
    assert_eq!(notes(&other)[0], says);
    let failed = |failed| Failures { asked: 1_000, failed };
    let setup = Setup { by_command: true, ..setup(Pairing::Blocks) };
    // What fails on both fails by the traffic.
    assert_eq!(refusal::failed(&setup, [failed(500), failed(500)]), None);
    let refused = refusal::failed(&setup, [failed(500), failed(510)]).unwrap();
    assert!(refused.text.contains("51.0 % of the requests to second failed"), "{refused:?}");
}
