//! The comparison for people: a table for each test.

use std::io::{self, Write};

use super::{Comparison, Limits, Metric, Regression, Row, TestComparison, verdict, word};
use crate::escape;

/// Who is compared, and how.
///
/// # Errors
/// What the writer fails with; likewise below.
pub fn write_head(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let [a, b] = &comparison.subjects;
    writeln!(out, "A  {}\nB  {}\n{}", a.line(), b.line(), comparison.how)
}

/// What to know before believing any of it. Of servers it is known after the first runs.
///
/// # Errors
/// As above.
pub fn write_warnings(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut warnings = comparison.warnings.iter();
    warnings.try_for_each(|warning| writeln!(out, "warning: {}", escape(warning)))
}

/// The table of one test.
///
/// # Errors
/// As above.
pub fn write_test(test: &TestComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n====== {} ======", escape(&test.name))?;
    let head = ["", "A", "B", "B / A", "95 % interval", "B is"];
    write_line(&head.map(str::to_owned), out)?;
    for row in &test.rows {
        write_line(&cells(row), out)?;
    }
    for (name, limits) in ["A", "B"].iter().zip(&test.limits) {
        writeln!(out, "  {name} limited by: {}", limited(limits))?;
    }
    test.warnings.iter().try_for_each(|warning| writeln!(out, "  warning: {}", escape(warning)))
}

/// What all tests together say.
///
/// # Errors
/// As above.
pub fn write_foot(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let rows = || comparison.tests.iter().flat_map(|test| &test.rows);
    let (with, without): (Vec<_>, Vec<_>) = rows().partition(|row| row.ratio.interval.is_some());
    writeln!(out)?;
    if !with.is_empty() {
        let (lines, wrong) = (with.len(), with.len() as f64 / 20.0);
        writeln!(
            out,
            "An interval holds the true ratio 95 times in 100: of these {lines}, about {wrong:.1} \
             miss it by chance."
        )?;
    }
    if !without.is_empty() {
        writeln!(
            out,
            "With one run, or one block, a side there is no interval, and no difference is known to be more than \
             chance; repeat with --repeat."
        )?;
    }
    notes(comparison).iter().try_for_each(|line| writeln!(out, "{}", escape(line)))
}

/// What came of `--fail-on-regression`, a line each.
#[must_use]
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let Some(percent) = comparison.threshold else { return Vec::new() };
    let regressions = comparison.regressions(percent);
    let mut lines = Vec::new();
    for (what, found) in [
        ("Regression", &regressions.found),
        ("Not excluded", &regressions.possible),
        ("Not known", &regressions.unknown),
    ] {
        lines.extend(found.iter().map(|r| format!("{what}: {}", told(r, percent))));
    }
    if regressions.found.is_empty() && regressions.unknown.is_empty() {
        lines.push(format!("No regression of more than {percent} % was found."));
    }
    lines
}

fn told(regression: &Regression, percent: f64) -> String {
    let Regression { test, metric, ratio } = regression;
    let name = if *metric == Metric::Throughput { "throughput" } else { "p99" };
    format!("{test} {name} worse by more than {percent} % (B / A {ratio:.3})")
}

fn cells(row: &Row) -> [String; 6] {
    let [a, b] = row.means.map(|mean| row.metric.written(mean));
    let interval = row.ratio.interval;
    let interval = interval.map_or("-".into(), |i| format!("{:.3} to {:.3}", i.low, i.high));
    let label = row.metric.label().to_owned();
    [label, a, b, format!("{:.3}", row.ratio.ratio), interval, verdict(row)]
}

fn write_line(
    [label, a, b, ratio, interval, verdict]: &[String; 6],
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = format!("  {label:<24} {a:>12} {b:>12} {ratio:>7}  {interval:>15}  {verdict}");
    writeln!(out, "{}", line.trim_end())
}

/// `server (9 of 10 runs), client (1)`.
fn limited(limits: &Limits) -> String {
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let part = |(at, (limit, count)): (usize, &(_, usize))| match at {
        0 => format!("{} ({count} of {runs} runs)", word(*limit)),
        _ => format!("{} ({count})", word(*limit)),
    };
    limits.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}
