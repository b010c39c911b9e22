//! The comparison for people: a table for each test, in 80 columns.

use std::io::{self, Write};

use workload::quantity;

use super::refusal::share;
use super::{
    Comparison, Difference, Row, SharedWarning, Subject, Table, Terms, TestComparison,
    describe_limits, distinct_parts, notes, shortened, verdict,
};
use crate::Metric;
use crate::{CountUnit, Failures, escape};

/// Columns of a line that is made of words.
const WIDTH: usize = 80;

/// Writes the servers that are compared, and the method.
///
/// # Errors
/// An error of the writer.
pub fn write_head(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    write_subjects(&comparison.subjects, out)?;
    write_differences(comparison, out)?;
    write_words(&escape(&comparison.how), 0, out)
}

/// Writes a line for each server, with its number.
pub(crate) fn write_subjects(subjects: &[Subject], out: &mut dyn Write) -> io::Result<()> {
    let mut numbered = (1..).zip(subjects);
    numbered.try_for_each(|(number, subject)| {
        write_words(&format!("{number}  {}", subject.line()), 3, out)
    })
}

/// Differing settings that are listed; the others are counted.
const SETTINGS_MAX: usize = 16;
/// Columns of a setting's name, and of a value.
const SETTING: usize = 26;

/// The settings in which the servers differ.
///
/// # Errors
/// `out` cannot be written.
pub fn write_differences(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let differences = comparison.differing_settings();
    if differences.is_empty() {
        return Ok(());
    }
    writeln!(out, "Settings that differ:")?;
    let cell = |text: &str| -> String {
        let text = escape(text);
        let long = text.chars().count() > SETTING - 1;
        let kept: String = text.chars().take(if long { SETTING - 2 } else { SETTING }).collect();
        if long { kept + "…" } else { kept }
    };
    let mut line = |name: &str, values: &[String]| {
        let values = without_alike_start(values, SETTING - 2);
        let cells: String = values.iter().map(|v| format!("{:<SETTING$}", cell(v))).collect();
        writeln!(out, "{}", format!("  {:<SETTING$}{cells}", cell(name)).trim_end())
    };
    line("", &shortened(&comparison.names(), SETTING - 1))?;
    for difference in differences.iter().take(SETTINGS_MAX) {
        line(&difference.name, &difference.shown())?;
    }
    match differences.len().checked_sub(SETTINGS_MAX + 1) {
        Some(more) => writeln!(out, "  and {} more, which the JSON has", more + 1),
        None => Ok(()),
    }
}

/// Values of which the first `width` characters are the same, from shortly before where they differ.
fn without_alike_start(values: &[String], width: usize) -> Vec<String> {
    let letters: Vec<Vec<char>> = values.iter().map(|value| value.chars().collect()).collect();
    let Some((first, others)) = letters.split_first() else { return Vec::new() };
    let alike = |other: &Vec<char>| first.iter().zip(other).take_while(|(a, b)| a == b).count();
    let alike = others.iter().map(alike).min().unwrap_or(0);
    if alike < width {
        return values.to_vec();
    }
    let from = alike - width / 3;
    letters
        .iter()
        .map(|value| value[from..].iter().collect::<String>())
        .map(|v| format!("…{v}"))
        .collect()
}

/// Writes reasons for doubt. Those of servers are known after the first runs.
///
/// # Errors
/// `out` cannot be written.
pub fn write_warnings(warnings: &[String], out: &mut dyn Write) -> io::Result<()> {
    warnings.iter().try_for_each(|text| write_words(&format!("warning: {}", escape(text)), 2, out))
}

/// Writes the equal terms and the omissions.
///
/// # Errors
/// `out` cannot be written.
pub fn write_terms(terms: &Terms, out: &mut dyn Write) -> io::Result<()> {
    for (name, text) in &terms.equal {
        write_words(&format!("{name:<12} {}", escape(text)), 13, out)?;
    }
    terms.left_out.iter().try_for_each(|text| write_words(&escape(text), 2, out))
}

/// Writes the head of a table: its description, its A and its B.
///
/// # Errors
/// `out` cannot be written.
pub fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n###### {} ######", escape(&table.title))?;
    write_words(&escape(&table.text), 0, out)?;
    for (number, subject) in (1..).zip(&table.subjects) {
        write_words(&format!("{number}  {}", subject.line()), 3, out)?;
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

/// A test in one line: what its headline says, and of a closed loop what p99 does.
///
/// # Errors
/// `out` cannot be written.
pub fn write_quiet_test(test: &TestComparison, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let p99 = test.row(Metric::P99).filter(|_| test.refused.is_none());
    let p99 = p99.filter(|row| row.metric != test.asked());
    let p99 = p99.map_or(String::new(), |row| format!("; {}", test.conclusion(row)));
    writeln!(out, "{}: {}{}", escape(name), escape(test.headline()), escape(p99))
}

/// The table of one test.
///
/// # Errors
/// `out` cannot be written.
pub fn write_test(test: &TestComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n====== {} ======", escape(&test.name))?;
    write_words(&escape(test.headline()), 0, out)?;
    if !test.rows.is_empty() {
        write_columns(&test.setup.names, out)?;
    }
    let is_judged = test.refused.is_none();
    for row in &test.rows {
        write_line(&cells(row, test.setup.unit, is_judged), out)?;
    }
    for operation in &test.operations {
        write_words(&format!("  {}", operation.name), 4, out)?;
        for row in &operation.rows {
            write_line(&cells(row, test.setup.unit, is_judged), out)?;
        }
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
    let limits = test.setup.names.iter().zip(&test.limits);
    for (name, limits) in limits.filter(|(_, limits)| !limits.is_empty()) {
        write_words(&format!("  {}", escape(describe_limits(name, limits))), 4, out)?;
    }
    if let Some(text) = test.resolution(None) {
        write_words(&format!("  {}", escape(text)), 4, out)?;
    }
    if let Some(text) = test.describe_void() {
        write_words(&format!("  {text}"), 4, out)?;
    }
    let mut warnings = test.cautions().into_iter();
    warnings.try_for_each(|caution| write_words(&escape(format!("  warning: {caution}")), 4, out))
}

/// Writes the conclusions from all tests together.
///
/// # Errors
/// `out` cannot be written.
pub fn write_foot(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let judged = comparison.tests.iter().filter(|test| test.refused.is_none());
    let rows = || judged.clone().flat_map(TestComparison::all_rows);
    let with: Vec<_> = rows().filter(|row| row.ratio.interval.is_some()).collect();
    let without: Vec<_> = rows().filter(|row| row.ratio.interval.is_none()).collect();
    writeln!(out)?;
    notes(comparison).iter().try_for_each(|line| write_words(&escape(line), 2, out))?;
    write_replayed(comparison, out)?;
    if let Some(noise) = noise(comparison) {
        write_words(&noise, 2, out)?;
    }
    for spoiled in comparison.spoiled() {
        let text = escape(warning(&spoiled, &comparison.names(), comparison.runs()));
        write_words(&format!("warning: {text}"), 2, out)?;
    }
    if !with.is_empty() {
        write_words(&chance_of_intervals(with.len()), 0, out)?;
    }
    if !without.is_empty() {
        let text = "One run per side gives no confidence interval, so any difference may be \
            chance; use --repeat.";
        write_words(text, 0, out)?;
    }
    Ok(())
}

/// Writes what the two make of recorded traffic beside its figures.
fn write_replayed(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let (Some(replayed), names) = (&comparison.replayed, comparison.names()) else { return Ok(()) };
    let mut notes = replayed.notes(&names).into_iter();
    notes.try_for_each(|note| write_words(&escape(note), 2, out))?;
    for Difference { command, kinds: [a, b], count, example: [asked, of_a, of_b] } in
        replayed.differences()
    {
        let text = format!(
            "  {command}, {}: {a} from {}, {b} from {}; {asked} is answered {of_a} and {of_b}",
            quantity::counted(*count, "time"),
            names[0],
            names[1]
        );
        write_words(&escape(text), 4, out)?;
    }
    Ok(())
}

/// Noise that makes intervals worth narrowing, as a share of the time.
const HELD_MIN: f64 = 0.03;

/// Share of the time in which others held up client or servers while something stayed open, and what narrows its
/// intervals.
#[must_use]
pub fn noise(comparison: &Comparison) -> Option<String> {
    let open = comparison.tests.iter().filter(|test| test.is_open());
    let held = open.flat_map(|test| test.held).fold(0.0, f64::max);
    (held >= HELD_MIN).then(|| {
        format!(
            "Other programs kept client or server from a CPU for up to {:.0} % of the time, in turn on both sides: \
             intervals are wider, and no side is favoured. To narrow them, put `chrt -f 10` in front of the command \
             (as root), give it CPUs of its own (--cpus, --server-cpus), or more time (--budget).",
            held * 100.0
        )
    })
}

/// Describes how many of this number of intervals are wrong by chance.
fn chance_of_intervals(count: usize) -> String {
    let wrong = match count {
        1..=20 => String::new(),
        _ => format!(", about {:.0} of these {count}", count as f64 / 20.0),
    };
    format!("A 95 % interval misses the true ratio one time in 20 by chance{wrong}.")
}

/// Describes a warning of runs, with its share of the runs of A and of B.
#[must_use]
pub fn warning(
    SharedWarning { warning, runs }: &SharedWarning,
    names: &[String; 2],
    of: [usize; 2],
) -> String {
    let sides = names.iter().zip(runs.iter().zip(of)).filter(|(_, (runs, _))| **runs > 0);
    let sides = sides.map(|(side, (runs, of))| format!("{runs} of {of} runs of {side}"));
    format!("{} ({})", warning.text, sides.collect::<Vec<_>>().join(", "))
}

fn cells(row: &Row, unit: CountUnit, shown: bool) -> [String; 6] {
    let [a, b] = row.means.map(|mean| row.metric.written(mean));
    if !shown {
        let none = || "-".to_owned();
        return [unit.label(row.metric).to_owned(), a, b, none(), none(), "none".to_owned()];
    }
    let label = unit.label(row.metric).to_owned();
    [label, a, b, format!("{:.3}", row.ratio.ratio), row.describe_interval(), verdict(row)]
}

fn write_line(
    [label, a, b, ratio, interval, verdict]: &[String; 6],
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = format!("  {label:<17} {a:>9} {b:>9} {ratio:>6} {interval:>15}  {verdict}");
    writeln!(out, "{}", line.trim_end())
}

/// Columns of a server's figures.
const FIGURE: usize = 9;
/// Columns of what is concluded.
const VERDICT: usize = 14;

/// The heads of the columns: names are broken into as many lines as they need.
fn write_columns(names: &[String; 2], out: &mut dyn Write) -> io::Result<()> {
    let names = distinct_parts(names);
    let [a, b] = names.each_ref().map(|name| broken(&escape(name), FIGURE));
    let verdict = broken(&format!("{} is", escape(&names[1])), VERDICT);
    let lines = a.len().max(b.len()).max(verdict.len());
    let cell = |column: &[String], line: usize| -> String {
        let above = lines - column.len();
        line.checked_sub(above).map_or(String::new(), |line| column[line].clone())
    };
    for line in 0..lines {
        let last = line + 1 == lines;
        let ratio = |text: &str| if last { text.to_owned() } else { String::new() };
        let cells = [
            String::new(),
            cell(&a, line),
            cell(&b, line),
            ratio("ratio"),
            ratio("95 % interval"),
            cell(&verdict, line),
        ];
        write_line(&cells, out)?;
    }
    Ok(())
}

/// A name in lines of at most so many columns.
fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        for (at, part) in parts_of(word, width).into_iter().enumerate() {
            let gap = if at == 0 { " " } else { "" };
            let long = gap.len() + part.chars().count();
            match lines.last_mut() {
                Some(line) if line.chars().count() + long <= width => {
                    *line += gap;
                    *line += &part;
                }
                _ => lines.push(part),
            }
        }
    }
    lines
}

/// A word in parts of at most so many columns: one that is longer is broken behind hyphens, and else anywhere.
fn parts_of(word: &str, width: usize) -> Vec<String> {
    if word.chars().count() <= width {
        return vec![word.to_owned()];
    }
    let chunks = |part: &str| -> Vec<String> {
        let letters: Vec<char> = part.chars().collect();
        letters.chunks(width).map(|chunk| chunk.iter().collect()).collect()
    };
    word.split_inclusive('-').flat_map(chunks).collect()
}

/// A text in lines of at most [`WIDTH`], those after the first with `indent` spaces before them. A
/// word that is longer has a line of its own.
///
/// # Errors
/// What the writer fails with.
pub fn write_words(text: &str, indent: usize, out: &mut dyn Write) -> io::Result<()> {
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
