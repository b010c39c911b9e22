//! Comparisons as text and as pages.

use crate::compare::tests::with_terms;
use crate::compare::{
    self, ComparedTest, Comparison, ERRORS_DEFAULT, Pairing, RunDigest, Setup, Subject,
    TestComparison, WATCHED,
};
use crate::{Run, fixture};
use measure::statistics::Noise;

use super::*;
use crate::page::term;

/// Runs whose rate wavers a little, each modified by `change`.
fn runs(count: usize, rps: f64, seed: u64, change: impl Fn(&mut Run)) -> Vec<RunDigest> {
    let mut noise = Noise::new(seed);
    let runs = (0..count).map(|_| {
        let mut run = fixture::limited();
        run.measurement.elapsed_ns = (2000e9 / (rps * (0.004 * noise.normal()).exp())) as u64;
        change(&mut run);
        RunDigest::from_run(&run).unwrap()
    });
    runs.collect()
}

fn setup(names: [&str; 2], pairing: Pairing) -> Setup {
    Setup { names: names.map(str::to_owned), ..compare::tests::setup(pairing) }
}

pub(super) fn comparison(names: &[&str], tests: Vec<ComparedTest>) -> Comparison {
    let subjects = names.iter().map(|name| Subject {
        name: (*name).to_owned(),
        server: "redis 7.0.15".to_owned(),
        address: "\x1b[2J/tmp/s".to_owned(),
        ..Subject::default()
    });
    Comparison {
        subjects: subjects.collect(),
        target: None,
        how: "5 blocks".to_owned(),
        command_line: "keystorm compare".to_owned(),
        complete: true,
        tests,
        warnings: Vec::new(),
        threshold: Some(5.0),
        watched: WATCHED.to_vec(),
        looks: 1,
        errors_allowed: ERRORS_DEFAULT,
        terms: None,
        replayed: None,
    }
}

/// SET on servers whose rates differ from that of the first by these percentages.
fn compared(pairing: Pairing, count: usize, changes: &[f64]) -> Comparison {
    const NAMES: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let a = runs(count, 1e5, 1, |_| ());
    let pairs = (1..).zip(changes).map(|(at, change)| {
        let b = runs(count, 1e5 * (1.0 + change / 100.0), at as u64 + 1, |_| ());
        TestComparison::new("SET", &setup([NAMES[0], NAMES[at]], pairing), &a, &b)
    });
    let pairs = pairs.collect();
    let test = ComparedTest { name: "SET".to_owned(), pairs, question: None };
    comparison(&NAMES[..=changes.len()], vec![test])
}

/// All text for a terminal.
fn text(comparison: &Comparison) -> String {
    let tests = comparison.tests.iter().flat_map(test);
    let blocks = head(comparison).into_iter().chain(answers(comparison)).chain(tests);
    let blocks: Vec<_> = blocks.chain(gate_notes(comparison)).chain(foot(comparison)).collect();
    term::text(&blocks, 80, false)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_servers_are_six_columns_and_several_are_a_column_each() {
    insta::assert_snapshot!(text(&compared(Pairing::Blocks, 10, &[-12.0])));
    insta::assert_snapshot!(text(&compared(Pairing::None, 1, &[-12.0])));
    insta::assert_snapshot!(text(&compared(Pairing::Blocks, 10, &[-12.0, 3.0, 0.0])));
}

#[test]
fn text_has_80_columns_and_steers_no_terminal() {
    let wild = compared(Pairing::Blocks, 10, &[250.0]);
    for comparison in
        [wild, compared(Pairing::None, 1, &[2.0]), compared(Pairing::Blocks, 6, &[1.0; 4])]
    {
        let all = text(&comparison);
        assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
        assert!(!all.contains('\x1b'), "{all}");
        let all = all.to_lowercase();
        assert!(!all.contains("nan") && !all.contains("inf"), "{all}");
        assert!(crate::page::html(&page(&comparison, "again")).contains("Compare again"));
    }
}

#[test]
fn intervals_that_are_wrong_by_chance_are_counted() {
    let one = compared(Pairing::Blocks, 10, &[1.0]);
    let many = comparison(&["first", "second"], vec![one.tests[0].clone(); 6]);
    let many = words(&text(&many));
    assert!(many.contains("one time in 20 by chance, about 2 of these 48."), "{many}");
    assert!(words(&text(&one)).contains("misses the true ratio one time in 20 by chance."));
}

#[test]
fn long_settings_are_shown_where_they_differ() {
    let mut comparison = compared(Pairing::Blocks, 4, &[1.0]);
    let limits = |last: &str| format!("normal 0 0 0 slave 268435456 67108864 60 pubsub {last}");
    for (subject, last) in comparison.subjects.iter_mut().zip(["33554432 8 60", "1 8 60"]) {
        subject.settings = vec![("client-output-buffer-limit".to_owned(), limits(last))];
    }
    let text = text(&comparison);
    assert!(text.contains("pubsub 33554432 8") && text.contains("pubsub 1 8 60"), "{text}");
}

#[test]
fn columns_of_servers_that_differ_in_settings_are_named_by_these() {
    let names = ["redis 7.0.15, io-threads 1, save no", "redis 7.0.15, io-threads 2, save yes"];
    let (a, b) = (runs(4, 1e5, 1, |_| ()), runs(4, 1e5, 2, |_| ()));
    let pair = TestComparison::new("SET", &setup(names, Pairing::Blocks), &a, &b);
    let text = text(&comparison(&names, vec![ComparedTest::of_pair(pair)]));
    let head: Vec<&str> =
        text.lines().skip_while(|line| !line.contains(" io-  ")).take(3).collect();
    let rows: Vec<Vec<&str>> = head.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((&rows[0][..], &rows[1][..]), (&["io-"; 3][..], &["threads"; 3][..]), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// SET on equal terms, where servers had these hits.
fn finding(hits: [u64; 2]) -> Comparison {
    let [a, b] = hits.map(|hits: u64| {
        runs(4, 1e5, 1, |run| {
            for server in &mut run.watched.servers {
                (server.hits, server.misses) = (Some(hits), Some(100_000 - hits));
            }
        })
    });
    let pair = TestComparison::new("SET", &setup(["first", "second"], Pairing::Blocks), &a, &b);
    let pair = pair.on_equal_terms(0, &a, &b);
    with_terms(comparison(&["first", "second"], vec![ComparedTest::of_pair(pair)]))
}

#[test]
fn what_the_servers_found_is_told_and_different_work_has_no_ratio() {
    let alike = text(&finding([100_000, 99_910]));
    let found = "keys found, as counted by the servers: 100.00 % and 99.91 %";
    assert!(words(&alike).contains(found), "{alike}");
    assert!(words(&alike).contains("keys 1,000 keys Per machine: there is one core."), "{alike}");
    let other = finding([100_000, 99_890]);
    let text = text(&other);
    let why = "first found 100.00 % of its keys and second 99.89 %";
    assert!(words(&text).contains(why) && text.contains("no ratio"), "{text}");
    let row = text.lines().find(|line| line.starts_with("requests/s")).unwrap();
    assert!(words(row).starts_with("requests/s none – – "), "{row}");
    let head = term::text(&table_head(&other.terms.as_ref().unwrap().tables[0]).blocks, 80, false);
    assert!(!head.contains('\x1b') && head.contains("One core for each server."), "{head}");
    let html = crate::page::html(&page(&other, "again"));
    assert!(html.contains("SET: no ratio") && html.contains("What is equal"), "{html}");
}

#[test]
fn operations_have_rows_below_their_names() {
    let side = |elapsed_ns| {
        let mut run = fixture::mix();
        run.measurement.elapsed_ns = elapsed_ns;
        vec![RunDigest::from_run(&run).unwrap(); 4]
    };
    let setup = Setup { errors_allowed: 100.0, ..setup(["first", "second"], Pairing::Blocks) };
    let (a, b) = (side(1_000_000_000), side(2_000_000_000));
    let test = ComparedTest::of_pair(TestComparison::new("mix", &setup, &a, &b));
    let text = text(&comparison(&["first", "second"], vec![test]));
    assert!(text.contains("\nlook-aside\nrequests/s "), "{text}");
}

#[test]
fn failed_requests_and_void_blocks_are_told() {
    let failing = |failed: u64| {
        runs(10, 1e5, 1, move |run| {
            run.measurement.total.connections.timed_out += failed;
        })
    };
    let (a, b) = (failing(0), failing(1));
    let late = [crate::Cause::ClientLate; 6];
    let pair = TestComparison::new("SET", &setup(["first", "second"], Pairing::Blocks), &a, &b);
    let told =
        |pair| words(&text(&comparison(&["first", "second"], vec![ComparedTest::of_pair(pair)])));
    let told = told(pair.with_void(&late, [&[], &[]]));
    assert!(told.contains("failed requests: 0.0 % to first, 0.050 % to second"), "{told}");
    assert!(told.contains("6 blocks were void and taken again, as the client did not"), "{told}");
    let pair =
        TestComparison::new("SET", &setup(["first", "second"], Pairing::Blocks), &a, &failing(9));
    let told = text(&comparison(&["first", "second"], vec![ComparedTest::of_pair(pair)]));
    assert!(told.contains("Gate failed: ") && !told.contains("better"), "{told}");
}
