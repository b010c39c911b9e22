//! Properties of the report for people, for any run.

use super::*;
use crate::{Warning, WarningKind, fixture};

fn written(options: FormatOptions, runs: &[&crate::Run]) -> String {
    let mut format = Text::new(options);
    let mut out = Vec::new();
    runs.iter().for_each(|run| format.each(&Summary::from_run(run), &mut out).unwrap());
    format.finish(true, &mut out).unwrap();
    format.close(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const OURS: FormatOptions = FormatOptions {
    first_byte: false,
    suite: true,
    verdict: true,
    persona: crate::KEYSTORM,
    full_distribution: false,
};

#[test]
fn what_matters_fits_a_screen_and_the_rest_is_short() {
    for (name, run) in
        fixture::all().iter().filter(|(name, _)| *name != "cluster" && *name != "four hours")
    {
        let text = written(OURS, &[run]);
        let first = text.find("\nLatency by").unwrap_or(text.len());
        let (screen, spread) = text.split_at(first);
        assert!(screen.lines().count() <= 30, "{name}: {screen}");
        assert!(screen.contains("\n  limited by: "), "{name}: {screen}");
        assert!(spread.trim_start().lines().count() <= 30, "{name}: {spread}");
        let wide = text.lines().filter(|l| l.len() > 80).find(|l| !l.contains(": "));
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn all_of_the_distribution_comes_where_it_is_asked_for() {
    let run = fixture::complete();
    let full = FormatOptions { full_distribution: true, ..OURS };
    let lines = |options| written(options, &[&run]).matches(" % <= ").count();
    assert!(lines(full) > lines(OURS) && lines(OURS) > 10);
}

#[test]
fn several_tests_end_in_one_table_and_one_in_none() {
    let (set, limited) = (fixture::complete(), fixture::limited());
    let text = written(OURS, &[&set, &limited]);
    let table = text.split("====== 2 tests ======\n").nth(1).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.trim_end().ends_with("server"), "{table}");
    assert!(!written(OURS, &[&set]).contains("tests ======"));
}

#[test]
fn a_test_of_errors_only_has_no_latencies_in_the_table() {
    let mut failed = fixture::run(fixture::parts(), &[]);
    (0..9).for_each(|_| failed.measurement.total.errors.add("OOM", "OOM command not allowed"));
    let text = written(OURS, &[&fixture::complete(), &failed]);
    let table = text.split("====== 2 tests ======\n").nth(1).unwrap();
    let cells: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(cells[2..5], ["-"; 3], "{table}");
}

#[test]
fn a_warning_is_reported_once_and_then_with_its_tests() {
    let mut run = fixture::limited();
    run.warnings = vec![Warning::about(WarningKind::Machine, "load", "load: 1.5 tasks on 2 CPUs")];
    let mut other = run.clone();
    other.warnings =
        vec![Warning::about(WarningKind::Machine, "load", "load: 1.7 tasks on 2 CPUs")];
    let text = written(OURS, &[&run, &other]);
    assert_eq!(text.matches("load: ").count(), 2, "{text}");
    assert_eq!(text.matches("  warning (2 of 2 tests): load: 1.5").count(), 1, "{text}");
}
