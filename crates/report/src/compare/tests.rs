//! Comparisons: pairing, conclusions, warnings and refusals.

use std::sync::Arc;

use measure::Latency;
use measure::statistics::Noise;

use super::*;
use crate::{Figures, LimitedBy, Warning, WarningKind, fixture};

/// Runs whose rate and latencies both waver by `spread`, with a jump every few runs.
pub(super) fn glances(count: usize, rps: f64, spread: f64, seed: u64) -> Vec<RunDigest> {
    let mut noise = Noise::new(seed);
    let glances = (0..count).map(|_| {
        let factor = (spread * noise.normal()).exp();
        let mut run = fixture::limited();
        run.measurement.elapsed_ns = (2000e9 / (rps * factor)) as u64;
        RunDigest::from_run(&run).unwrap()
    });
    glances.collect()
}

pub(super) fn compared(pairing: Pairing, a: &[RunDigest], b: &[RunDigest]) -> TestComparison {
    TestComparison::new("SET", &setup(pairing), a, b)
}

pub(crate) fn setup(pairing: Pairing) -> Setup {
    Setup {
        names: ["first", "second"].map(str::to_owned),
        pairing,
        precision: 3,
        open_loop: false,
        by_command: false,
        unit: CountUnit::Request,
        errors_allowed: ERRORS_DEFAULT,
        looks: 1,
        headlines: 1,
    }
}

pub(super) fn comparison(tests: Vec<TestComparison>, threshold: Option<f64>) -> Comparison {
    let redis = host::ServerFacts {
        product: Some("redis".into()),
        version: Some("7.0.15".into()),
        ..host::ServerFacts::default()
    };
    let subject = |name: &str, address: &str| Subject {
        name: name.into(),
        ..Subject::new(&redis, address.into(), None)
    };
    Comparison {
        subjects: vec![subject("first", "127.0.0.1:1"), subject("second", "\x1b[2J/tmp/s")],
        target: None,
        how: "5 blocks".into(),
        command_line: "keystorm compare".into(),
        complete: true,
        tests: tests.into_iter().map(ComparedTest::of_pair).collect(),
        warnings: vec!["the keystorm version differs: 1 of A and 2 of B".into()],
        threshold,
        watched: WATCHED.to_vec(),
        looks: 1,
        errors_allowed: ERRORS_DEFAULT,
        terms: None,
        replayed: None,
    }
}

/// The rows of a test for programs.
pub(super) fn csv(test: &ComparedTest) -> String {
    let mut out = Vec::new();
    write_csv_test(test, &test.name, None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn with_change(pairing: Pairing, count: usize, percent: f64) -> Comparison {
    let a = glances(count, 100_000.0, 0.004, 1);
    let b = glances(count, 100_000.0 * (1.0 + percent / 100.0), 0.004, 2);
    comparison(vec![compared(pairing, &a, &b)], Some(5.0))
}

#[test]
fn a_table_for_programs_has_a_row_for_each_server() {
    let csv = csv(&with_change(Pairing::Blocks, 10, -12.0).tests[0]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 16, "{csv}");
    let throughput = [
        "\"SET\",\"throughput_rps\",\"first\",\"100076.49\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"",
        "\"SET\",\"throughput_rps\",\"second\",\"87972.71\",\"0.879055\",\"0.872836\",\"0.885317\",\"differ\",\
         \"false\",\"\",\"\"",
    ];
    assert_eq!(rows[..2], throughput);
}

#[test]
fn the_ratio_is_that_of_the_means_and_blocks_are_of_two_runs_a_side() {
    let test = &with_change(Pairing::Blocks, 10, 3.0).tests[0].pairs[0];
    let row = test.row(Metric::Throughput).unwrap();
    assert!((row.means[1] / row.means[0] - row.ratio.ratio).abs() < 1e-9);
    assert!((1.02..1.04).contains(&row.ratio.ratio));
    assert_eq!(row.b_is_better(), Some(true));
    // One block alone has no interval, though it has four runs.
    let one = &with_change(Pairing::Blocks, 2, 3.0).tests[0].pairs[0];
    assert_eq!(one.row(Metric::Throughput).unwrap().ratio.interval, None);
}

#[test]
fn a_steady_drift_cancels_out_in_blocks() {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut next = |side: &mut Vec<RunDigest>| {
        let rps = 100_000.0 * (1.0 - 0.01 * f64::from(at));
        side.extend(glances(1, rps, 0.0, 1));
        at += 1;
    };
    for _ in 0..5 {
        next(&mut a);
        next(&mut b);
        next(&mut b);
        next(&mut a);
    }
    let test = compared(Pairing::Blocks, &a, &b);
    let ratio = &test.row(Metric::Throughput).unwrap().ratio;
    assert!((ratio.ratio - 1.0).abs() < 0.001, "{ratio:?}");
}

#[test]
fn what_is_open_is_said_in_a_sentence_that_is_read_once() {
    let single = with_change(Pairing::None, 1, -12.0).tests[0].headline(None);
    assert!(single.starts_with("undecided: throughput of second is -12."), "{single}");
    let end = " compared with first, which may be chance: there is one run per side";
    assert!(single.ends_with(end), "{single}");
    let (a, b) = (glances(4, 1e5, 0.9, 1), glances(4, 1e5, 0.9, 2));
    let wide = compared(Pairing::Blocks, &a, &b).headline();
    let start = "undecided: the runs do not show whether second differs from first in throughput";
    assert!(wide.starts_with(start), "{wide}");
}

#[test]
fn the_headline_is_about_what_was_asked_for() {
    let a = glances(10, 100_000.0, 0.004, 1);
    let b = glances(10, 88_000.0, 0.004, 2);
    let closed = TestComparison::new("SET", &setup(Pairing::Blocks), &a, &b);
    assert_eq!(closed.asked(), Metric::Throughput);
    let headline = closed.headline();
    assert!(headline.starts_with("second is worse: its throughput is 12.1 % lower"), "{headline}");
    let open = Setup { open_loop: true, ..setup(Pairing::Blocks) };
    let open_test = TestComparison::new("SET", &open, &a, &b);
    assert_eq!(open_test.asked(), Metric::P99);
    assert!(open_test.headline().contains(" p99 "), "{}", open_test.headline());
    let seen = closed.resolution(None).unwrap();
    assert!(seen.starts_with("5 blocks can see a change of "), "{seen}");
    let slowed = a.clone().into_iter().map(|mut glance| {
        glance.figures = Figures::default();
        glance
    });
    let empty: Vec<RunDigest> = slowed.collect();
    let refused = TestComparison::new("SET", &open, &empty, &empty);
    assert!(refused.headline().starts_with("no ratio: nothing was measured"));
    assert_eq!(refused.resolution(None), None);
}

#[test]
fn equals_seldom_look_like_a_regression() {
    let wrong = (0..400).filter(|seed| {
        let a = glances(10, 100_000.0, 0.01, 2 * seed);
        let b = glances(10, 100_000.0, 0.01, 2 * seed + 1);
        let tests = (0..4).map(|_| compared(Pairing::Blocks, &a, &b)).collect();
        !comparison(tests, None).gate_of(0.0).found.is_empty()
    });
    let wrong = wrong.count();
    assert!(wrong <= 35, "{wrong} of 400");
}

#[test]
fn a_schedule_that_was_kept_is_no_limit_and_one_that_was_missed_is() {
    let mut side = glances(3, 1e5, 0.01, 1);
    side.iter_mut().for_each(|glance| glance.limited_by = LimitedBy::Schedule);
    side[0].kept = true;
    side[2].kept = true;
    let test = compared(Pairing::None, &side, &side);
    assert_eq!(limited(&test.sides[0].limits), "not saturated (2 of 3 runs), schedule (1)");
    let json = to_json(&comparison(vec![test], None)).unwrap();
    assert!(json.contains(r#""schedule": 3"#) || json.contains(r#""schedule":3"#), "{json}");
}

/// Gives a run these warnings.
fn warn(glance: &mut RunDigest, warnings: Vec<Warning>) {
    let mut run = (*glance.run).clone();
    run.warnings = warnings;
    glance.run = Arc::new(run);
}

#[test]
fn limits_of_ours_are_warned_of() {
    let limited = |by: &[LimitedBy]| -> Vec<RunDigest> {
        let mut glances = glances(by.len(), 1e5, 0.01, 1);
        for (glance, by) in glances.iter_mut().zip(by) {
            glance.limited_by = *by;
            warn(glance, Vec::new());
        }
        glances
    };
    use LimitedBy::{Client, Concurrency, Server};
    let says = |a: &[LimitedBy], b: &[LimitedBy]| {
        compared(Pairing::None, &limited(a), &limited(b)).cautions().join("; ")
    };
    assert!(says(&[Client, Client], &[Client, Server]).contains("nothing about the servers"));
    assert!(says(&[Client; 2], &[Server; 2]).contains("limited first, which may be faster"));
    assert!(says(&[Server; 2], &[Client; 2]).contains("limited second"));
    assert!(says(&[Concurrency; 2], &[Concurrency; 2]).contains("-c or -P"));
    assert_eq!(says(&[Server, Server, Client], &[Server; 3]), "");
    let mut runs = limited(&[Server; 3]);
    warn(&mut runs[0], vec![Warning::new(WarningKind::Evicted, "5 keys were evicted")]);
    let strange = Warning { text: "\x1b[2J".to_owned(), ..Warning::new(WarningKind::Saved, "") };
    warn(&mut runs[2], vec![Warning::new(WarningKind::Evicted, "17 keys were evicted"), strange]);
    let test = compared(Pairing::None, &runs, &limited(&[Server]));
    let json = to_json(&comparison(vec![test.clone()], None)).unwrap();
    assert!(json.contains("5 keys were evicted (2 of 3 runs of first)"), "{json}");
    let twice = comparison(vec![test.clone(), test], None);
    let told = spoiled(&twice.tests);
    assert!(told.contains(&"5 keys were evicted (4 of 6 runs of first)".to_owned()), "{told:?}");
    assert_eq!(told.len(), 2, "each once for all tests: {told:?}");
    let test = compared(Pairing::None, &limited(&[Server, Client, Server]), &limited(&[Server]));
    assert_eq!(super::limited(&test.sides[0].limits), "server (2 of 3 runs), client (1)");
}

#[test]
fn text_of_servers_steers_no_terminal() {
    for comparison in [with_change(Pairing::Blocks, 10, 2.0), with_change(Pairing::None, 1, 2.0)] {
        let json = to_json(&comparison).unwrap();
        assert!(!json.contains('\x1b'), "{json:?}");
    }
}

/// Runs whose servers had these hits and misses.
fn finding(hits: u64, misses: u64, by: LimitedBy) -> Vec<RunDigest> {
    let glances = glances(4, 1e5, 0.01, 1).into_iter().map(|mut glance| {
        let mut run = (*glance.run).clone();
        for server in &mut run.watched.servers {
            (server.hits, server.misses) = (Some(hits), Some(misses));
        }
        (glance.run, glance.limited_by) = (Arc::new(run), by);
        glance
    });
    glances.collect()
}

fn on_equal_terms(a: &[RunDigest], b: &[RunDigest]) -> TestComparison {
    compared(Pairing::Blocks, a, b).on_equal_terms(0, a, b)
}

/// A comparison as one on equal terms.
pub(crate) fn with_terms(mut comparison: Comparison) -> Comparison {
    let table = Table {
        kind: "core",
        title: "Per core".into(),
        text: "One core for each server.".into(),
        subjects: comparison.subjects.clone(),
    };
    comparison.terms = Some(Terms {
        equal: vec![("keys".into(), "1,000 keys".into())],
        left_out: vec!["Per machine: there is one core.".into()],
        tables: vec![table],
    });
    comparison
}

#[test]
fn a_ratio_of_different_work_or_of_the_client_is_reported_nowhere() {
    use LimitedBy::{Client, Server};
    let full = finding(100_000, 0, Server);
    for (other, output) in [
        (finding(99_890, 110, Server), "first found 100.00 % of its keys and second 99.89 %"),
        (finding(100_000, 0, Client), "the client limited second"),
    ] {
        let test = on_equal_terms(&full, &other);
        assert!(test.refused.as_ref().unwrap().text.contains(output), "{test:?}");
        let comparison = with_terms(comparison(vec![test.clone()], Some(5.0)));
        let ratio = format!("{:.3}", test.row(Metric::P99).unwrap().ratio.ratio);
        let csv = csv(&comparison.tests[0]);
        let json = to_json(&comparison).unwrap();
        assert!(!csv.lines().any(|line| line.contains("p99_ms") && line.contains(&ratio)), "{csv}");
        assert!(csv.contains("not-told") && json.contains("\"ratio\": null"), "{csv}{json}");
        let gate = comparison.gate_of(0.0);
        assert_eq!(gate.state, GateState::Undecided, "what is not told is judged by nobody");
        assert!(notes(&comparison)[0].contains("Per core: SET: no ratio"));
    }
}

#[test]
fn hit_ratios_that_are_alike_or_unknown_refuse_nothing() {
    use LimitedBy::Server;
    let full = finding(100_000, 0, Server);
    let test = on_equal_terms(&full, &finding(99_910, 90, Server));
    assert_eq!((test.refused.as_ref(), test.sides[0].hit_ratio), (None, Some(100.0)));
    assert_eq!(on_equal_terms(&full, &finding(0, 0, Server)).refused, None, "nothing was read");
}

#[test]
fn each_operation_of_a_mix_has_rows_of_its_own() {
    let glances = |elapsed_ns| {
        let mut run = fixture::mix();
        run.measurement.elapsed_ns = elapsed_ns;
        vec![RunDigest::from_run(&run).unwrap(); 4]
    };
    let (a, b) = (glances(1_000_000_000), glances(2_000_000_000));
    let setup = Setup { errors_allowed: 100.0, ..setup(Pairing::Blocks) };
    let test = TestComparison::new("SET", &setup, &a, &b);
    let names: Vec<&str> = test.operations.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["get", "look-aside"]);
    let halved = |rows: &[RatioRow]| {
        let row = rows.iter().find(|row| row.metric == Metric::Throughput).unwrap();
        assert!((row.ratio.ratio - 0.5).abs() < 1e-9, "{row:?}");
        row.means[0]
    };
    let rates: Vec<f64> = test.operations.iter().map(|of| halved(&of.rows)).collect();
    assert!((rates[0] / rates[1] - 9.0).abs() < 1e-9, "{rates:?}");
    let comparison = comparison(vec![test], None);
    let csv = csv(&comparison.tests[0]);
    assert!(csv.contains("\"SET: look-aside\",\"throughput_rps\""), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
    let figure = &json["tests"][0]["servers"][1]["operations"][1]["figures"]["throughput_rps"];
    assert!(figure["ratio"].as_f64().unwrap() < 0.51, "{figure}");
    // Other operations on the other side are not compared.
    let plain = RunDigest::from_run(&fixture::limited()).unwrap();
    assert!(compared(Pairing::None, &a, &[plain]).operations.is_empty());
}

#[test]
fn a_side_that_answers_nothing_for_a_run_is_slower_and_two_such_sides_have_no_ratio() {
    let silent = || {
        let mut run = fixture::limited();
        run.measurement.elapsed_ns = 500_000_000;
        for command in &mut run.measurement.total.commands {
            (command.ok, command.service) = (0, Latency::new(3));
            command.scheduled_response = None;
        }
        RunDigest::from_run(&run).unwrap()
    };
    let [mut a, mut b] = [1, 2].map(|seed| glances(12, 100_000.0, 0.01, seed));
    b.fill_with(silent);
    let test = compared(Pairing::Blocks, &a, &b);
    assert_eq!(test.refused, None);
    assert_eq!(test.row(Metric::Throughput).unwrap().values[1][0], 2.0);
    assert_eq!(comparison(vec![test], Some(5.0)).gate().unwrap().state, GateState::Failed);
    a[1] = silent();
    let test = compared(Pairing::Blocks, &a, &b);
    let why = test.refused.clone().unwrap().text;
    assert!(why.contains("nothing was measured in 13 of 24 runs"), "{why}");
    let notes = notes(&comparison(vec![test], Some(5.0)));
    assert!(notes.iter().all(|line| line.starts_with("Gate undecided: ")), "{notes:?}");
}
