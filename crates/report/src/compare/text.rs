//! The comparison for people: a table for each test, in 80 columns.

use std::io::{self, Write};

use super::refusal::share;
use super::{
    Comparison, Metric, RefusalKind, Regression, Row, Spoiled, Table, Terms, TestComparison,
    limited, verdict,
};
use crate::{Failures, escape};

/// Columns of a line that is made of words.
const WIDTH: usize = 80;

/// Who is compared, and how.
///
/// # Errors
/// What the writer fails with; likewise below.
pub fn write_head(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for (name, subject) in ["A", "B"].iter().zip(&comparison.subjects) {
        write_words(&format!("{name}  {}", subject.line()), 3, out)?;
    }
    write_words(&comparison.how, 0, out)
}

/// What to know before believing any of it. Of servers it is known after the first runs.
///
/// # Errors
/// As above.
pub fn write_warnings(warnings: &[String], out: &mut dyn Write) -> io::Result<()> {
    warnings.iter().try_for_each(|text| write_words(&format!("warning: {}", escape(text)), 2, out))
}

/// What is equal, and what is left out.
///
/// # Errors
/// As above.
pub fn write_terms(terms: &Terms, out: &mut dyn Write) -> io::Result<()> {
    for (name, text) in &terms.equal {
        write_words(&format!("{name:<12} {}", escape(text)), 13, out)?;
    }
    terms.left_out.iter().try_for_each(|text| write_words(&escape(text), 2, out))
}

/// What one of several tables is, and who its A and B are.
///
/// # Errors
/// As above.
pub fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n###### {} ######", escape(&table.title))?;
    write_words(&escape(&table.text), 0, out)?;
    for (name, subject) in ["A", "B"].iter().zip(&table.subjects) {
        write_words(&format!("{name}  {}", subject.line()), 3, out)?;
        if let Some(started) = &subject.command_line {
            write_words(&format!("   {}", escape(started)), 5, out)?;
        }
        let settings: Vec<String> =
            subject.settings.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
        if !settings.is_empty() {
            write_words(&format!("   settings: {}", escape(settings.join(", "))), 5, out)?;
        }
    }
    Ok(())
}

/// The table of one test.
///
/// # Errors
/// As above.
pub fn write_test(test: &TestComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n====== {} ======", escape(&test.name))?;
    let head = ["", "A", "B", "B / A", "95 % interval", "B is"];
    write_line(&head.map(str::to_owned), out)?;
    let told = test.refused.is_none();
    for row in &test.rows {
        write_line(&cells(row, told), out)?;
    }
    for operation in &test.operations {
        write_words(&format!("  {}", operation.name), 4, out)?;
        for row in &operation.rows {
            write_line(&cells(row, told), out)?;
        }
    }
    if let Some(why) = &test.refused {
        write_words(&format!("  {}", escape(&why.text)), 4, out)?;
    }
    if let [Some(a), Some(b)] = test.hit_ratios {
        write_words(
            &format!("  keys found, as counted by the servers: {a:.2} % and {b:.2} %"),
            4,
            out,
        )?;
    }
    if test.refused.is_none() && test.failures.iter().any(|failures| failures.failed > 0) {
        let of = |(name, failures): (&String, &Failures)| {
            format!("{} to {name}", share(failures.percent()))
        };
        let of: Vec<String> = test.setup.names.iter().zip(&test.failures).map(of).collect();
        write_words(&format!("  failed requests: {}", escape(of.join(", "))), 4, out)?;
    }
    for (name, limits) in ["A", "B"].iter().zip(&test.limits) {
        write_words(&format!("  {name} limited by: {}", limited(limits)), 4, out)?;
    }
    let mut warnings = test.warnings.iter();
    warnings.try_for_each(|caution| write_words(&format!("  warning: {caution}"), 4, out))
}

/// What all tests together say.
///
/// # Errors
/// As above.
pub fn write_foot(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let told = comparison.tests.iter().filter(|test| test.refused.is_none());
    let rows = || told.clone().flat_map(TestComparison::all_rows);
    let with: Vec<_> = rows().filter(|row| row.interval().is_some()).collect();
    let without: Vec<_> = rows().filter(|row| row.ratio.interval.is_none()).collect();
    writeln!(out)?;
    for spoiled in comparison.spoiled() {
        let text = escape(warning(&spoiled, comparison.runs()));
        write_words(&format!("warning: {text}"), 2, out)?;
    }
    if !with.is_empty() {
        let (lines, wrong) = (with.len(), with.len() as f64 / 20.0);
        let text = format!(
            "These are 95 % confidence intervals: of these {lines}, about {wrong:.1} miss the \
             true ratio by chance."
        );
        write_words(&text, 0, out)?;
    }
    if !without.is_empty() {
        let text = "One run per side gives no confidence interval, so any difference may be \
            chance; use --repeat.";
        write_words(text, 0, out)?;
    }
    notes(comparison).iter().try_for_each(|line| write_words(&escape(line), 2, out))
}

/// What spoiled runs, of so many of A and of B.
#[must_use]
pub fn warning(Spoiled { text, runs }: &Spoiled, of: [usize; 2]) -> String {
    let sides = ["A", "B"].into_iter().zip(runs.iter().zip(of)).filter(|(_, (runs, _))| **runs > 0);
    let sides = sides.map(|(side, (runs, of))| format!("{side}, {runs} of {of} runs"));
    format!("{}: {text}", sides.collect::<Vec<_>>().join("; "))
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
        ("Unknown", &regressions.unknown),
    ] {
        lines.extend(found.iter().map(|r| format!("{what}: {}", told(r, percent))));
    }
    let refused = comparison.tests.iter().filter_map(|test| Some((test, test.refused.as_ref()?)));
    let refused = refused.map(|(test, refused)| {
        let name = comparison.name_of(test);
        match refused.kind {
            RefusalKind::Failures => format!("Failed: {name}: {}", refused.text),
            _ => format!("Unknown: {name}: no ratio"),
        }
    });
    let refused: Vec<String> = refused.collect();
    lines.extend(refused.iter().cloned());
    let judged = comparison.complete && !comparison.tests.is_empty() && refused.is_empty();
    if judged && regressions.found.is_empty() && regressions.unknown.is_empty() {
        lines.push(format!("No regression of more than {percent} % was found."));
    }
    lines
}

fn told(regression: &Regression, percent: f64) -> String {
    let Regression { test, metric, ratio } = regression;
    let name = match metric {
        Metric::Throughput => "throughput",
        Metric::Keys => "keys/s",
        _ => "p99",
    };
    format!("{test} {name} worse by more than {percent} % (B / A {ratio:.3})")
}

fn cells(row: &Row, told: bool) -> [String; 6] {
    let [a, b] = row.means.map(|mean| row.metric.written(mean));
    if !told {
        let none = || "-".to_owned();
        return [row.metric.label().to_owned(), a, b, none(), none(), "none".to_owned()];
    }
    let label = row.metric.label().to_owned();
    [label, a, b, format!("{:.3}", row.ratio.ratio), row.interval_told(), verdict(row)]
}

fn write_line(
    [label, a, b, ratio, interval, verdict]: &[String; 6],
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = format!("  {label:<17} {a:>9} {b:>9} {ratio:>6} {interval:>15}  {verdict}");
    writeln!(out, "{}", line.trim_end())
}

/// A text in lines of at most [`WIDTH`], those after the first with `indent` spaces before them. A
/// word that is longer has a line of its own.
fn write_words(text: &str, indent: usize, out: &mut dyn Write) -> io::Result<()> {
    let (mut line, mut width) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        let long = word.trim_end().chars().count();
        if width + long > WIDTH && !line.trim().is_empty() {
            writeln!(out, "{}", line.trim_end())?;
            (line, width) = (" ".repeat(indent), indent);
        }
        line += word;
        width += word.chars().count();
    }
    writeln!(out, "{}", line.trim_end())
}
