//! The decision for people, in 80 columns: the answer, then what it rests on.

use std::io::{self, Write};

use super::{Candidate, Decision, Question, RateCurve, TargetState};
use crate::compare::{shortened, write_subjects, write_test, write_warnings, write_words};
use crate::quantity::grouped;
use crate::{CountUnit, escape};

/// Columns of a server's name.
const NAME: usize = 26;

/// Writes the servers that are asked, and the method.
///
/// # Errors
/// `out` cannot be written.
pub fn write_head(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    write_subjects(&decision.subjects, out)?;
    write_words(&escape(&decision.how), 0, out)?;
    write_warnings(&decision.warnings, out)
}

/// The answer of each load.
///
/// # Errors
/// `out` cannot be written.
pub fn write_answer(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for curve in decision.curves() {
        writeln!(out)?;
        write_words(&format!("{}.", escape(curve.answer())), 0, out)?;
        for sentence in curve.worth() {
            write_words(&escape(sentence), 0, out)?;
        }
        match &curve.rates[..] {
            [only] => write_candidates(only, out)?,
            _ => write_curve(&curve, out)?,
        }
    }
    Ok(())
}

/// Writes the result of `--fail-on-regression`, behind an empty line; nothing without it.
///
/// # Errors
/// `out` cannot be written.
pub fn write_gate(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    let lines = decision.gate_notes();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| write_words(&escape(line), 2, out))
}

/// The rates of each server, from the lowest.
fn write_curve(curve: &RateCurve<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = curve.rates.first() else { return Ok(()) };
    let limit = |of: &Candidate| Some(format!("{} {}/s", of.name, grouped(of.limit?.0)));
    let limits: Vec<String> = first.candidates.iter().filter_map(limit).collect();
    if !limits.is_empty() {
        write_words(&format!("As fast as they go: {}.", escape(limits.join(", "))), 0, out)?;
    }
    let kept = if curve.target.is_some() { "target" } else { "keeps" };
    let unit = first.unit;
    let [rate, reached] = match unit {
        CountUnit::Request => ["rate", "reached"],
        CountUnit::Message => ["sent", "received"],
    };
    write_rate("", [rate, kept, reached, "p50", "p99", "server"], out)?;
    let kept = if curve.target.is_some() { "kept" } else { "pace" };
    let [per_s, cpu] = [format!("({}/s)", short(unit)), format!("µs/{}", short(unit))];
    write_rate("", [&per_s, kept, &per_s, "(ms)", "(ms)", &cpu], out)?;
    let names: Vec<String> = first.candidates.iter().map(|of| escape(&of.name)).collect();
    for (side, name) in shortened(&names, NAME).iter().enumerate() {
        for (at, question) in curve.rates.iter().enumerate() {
            let Some(of) = question.candidates.get(side) else { continue };
            let dash = || "-".to_owned();
            let ms = |ms: Option<f64>| ms.map_or_else(dash, |ms| format!("{ms:.3}"));
            let cells = [
                question.rate_rps.map_or_else(dash, grouped),
                kept_word(curve.state(question, side)).to_owned(),
                of.throughput_rps.map_or_else(dash, grouped),
                ms(of.p50_ms),
                ms(of.p99_ms),
                of.server_cpu_us.map_or_else(dash, |us| format!("{us:.1}")),
            ];
            let name = if at == 0 { name } else { "" };
            write_rate(name, cells.each_ref().map(String::as_str), out)?;
        }
    }
    for question in &curve.rates {
        let rate =
            question.rate_rps.map_or(String::new(), |rate| format!(" at {}/s", grouped(rate)));
        for of in question.candidates.iter().filter(|of| !of.why.is_empty()) {
            let line = format!("  {}{rate}: {}", escape(&of.name), escape(&of.why));
            write_words(&line, 4, out)?;
        }
    }
    Ok(())
}

/// Returns the unit in three letters for the head of a column.
fn short(unit: CountUnit) -> &'static str {
    match unit {
        CountUnit::Request => "req",
        CountUnit::Message => "msg",
    }
}

fn write_rate(name: &str, cells: [&str; 6], out: &mut dyn Write) -> io::Result<()> {
    let [rate, kept, reached, p50, p99, server] = cells;
    let line =
        format!("  {name:<NAME$} {rate:>9} {kept:>7} {reached:>9} {p50:>7} {p99:>7} {server:>6}");
    writeln!(out, "{}", line.trim_end())
}

fn write_candidates(question: &Question, out: &mut dyn Write) -> io::Result<()> {
    let head = ["target", "p99", "server", "of a", "memory", "limit", "of it"];
    let [per_s, cpu] =
        [format!("({}/s)", short(question.unit)), format!("µs/{}", short(question.unit))];
    let units = ["kept", "(ms)", &cpu, "core", "(MB)", &per_s, "used"];
    for (name, cells) in [("", head), ("", units)] {
        write_row(name, &cells.map(str::to_owned), out)?;
    }
    let names: Vec<String> = question.candidates.iter().map(|of| escape(&of.name)).collect();
    for (name, candidate) in shortened(&names, NAME).iter().zip(&question.candidates) {
        write_row(name, &cells(candidate), out)?;
    }
    for candidate in question.candidates.iter().filter(|of| !of.why.is_empty()) {
        write_words(&format!("  {}: {}", escape(&candidate.name), escape(&candidate.why)), 4, out)?;
    }
    Ok(())
}

fn cells(candidate: &Candidate) -> [String; 7] {
    let dash = || "-".to_owned();
    let percent = |share: Option<f64>| share.map_or_else(dash, |s| format!("{:.0} %", s * 100.0));
    [
        kept_word(candidate.kept).to_owned(),
        candidate.p99_ms.map_or_else(dash, |ms| format!("{ms:.3}")),
        candidate.server_cpu_us.map_or_else(dash, |us| format!("{us:.1}")),
        percent(candidate.cores()),
        candidate.memory_bytes.map_or_else(dash, |bytes| format!("{:.1}", bytes as f64 / 1e6)),
        candidate.limit.map_or_else(dash, |(limit, _)| grouped(limit)),
        percent(candidate.share_of_limit()),
    ]
}

/// Says in a word whether a target was kept.
pub(crate) fn kept_word(kept: Option<TargetState>) -> &'static str {
    match kept {
        None => "-",
        Some(TargetState::Yes) => "yes",
        Some(TargetState::No) => "NO",
        Some(TargetState::Undecided) => "unsure",
        Some(TargetState::Void) => "void",
    }
}

fn write_row(name: &str, cells: &[String; 7], out: &mut dyn Write) -> io::Result<()> {
    let [target, p99, server, core, memory, limit, used] = cells;
    let line = format!(
        "  {name:<NAME$} {target:>6} {p99:>7} {server:>6} {core:>5} {memory:>6} {limit:>8} {used:>5}"
    );
    writeln!(out, "{}", line.trim_end())
}

/// Writes the comparison of each other server with the first.
///
/// # Errors
/// `out` cannot be written.
pub fn write_details(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    // Tables of every rate and pair are long: the page and the JSON have them.
    if decision.curves().iter().any(RateCurve::has_several) {
        return Ok(());
    }
    for pair in &decision.pairs {
        let [first, second] = pair.names();
        writeln!(out, "\n###### {} compared with {} ######", escape(&second), escape(&first))?;
        pair.tests.iter().try_for_each(|test| write_test(test, out))?;
    }
    Ok(())
}
