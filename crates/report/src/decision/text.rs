//! The decision for people, in 80 columns: the answer, then what it rests on.

use std::io::{self, Write};

use super::{Candidate, Decision, Question, TargetState};
use crate::compare::{notes, shortened, write_test, write_words};
use crate::escape;
use crate::quantity::grouped;

/// Columns of a server's name.
const NAME: usize = 26;

/// Who is asked, and how.
///
/// # Errors
/// `out` cannot be written.
pub fn write_head(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for (number, subject) in (1..).zip(&decision.subjects) {
        write_words(&format!("{number}  {}", subject.line()), 3, out)?;
    }
    write_words(&escape(&decision.how), 0, out)?;
    let mut warnings = decision.warnings.iter();
    warnings.try_for_each(|text| write_words(&format!("warning: {}", escape(text)), 2, out))
}

/// The answer of each load.
///
/// # Errors
/// `out` cannot be written.
pub fn write_answer(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for question in &decision.questions {
        writeln!(out)?;
        let answer = question.answer(decision.target.as_deref());
        write_words(&format!("{}.", escape(answer)), 0, out)?;
        for sentence in question.worth() {
            write_words(&escape(sentence), 0, out)?;
        }
        write_candidates(question, out)?;
    }
    Ok(())
}

fn write_candidates(question: &Question, out: &mut dyn Write) -> io::Result<()> {
    let head = ["target", "p99", "server", "of a", "memory", "limit", "of it"];
    let units = ["kept", "(ms)", "µs/req", "core", "(MB)", "(req/s)", "used"];
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
        kept(candidate.kept).to_owned(),
        candidate.p99_ms.map_or_else(dash, |ms| format!("{ms:.3}")),
        candidate.server_cpu_us.map_or_else(dash, |us| format!("{us:.1}")),
        percent(candidate.cores()),
        candidate.memory_bytes.map_or_else(dash, |bytes| format!("{:.1}", bytes as f64 / 1e6)),
        candidate.limit.map_or_else(dash, |(limit, _)| grouped(limit)),
        percent(candidate.share_of_limit()),
    ]
}

/// Whether a target was kept, in a word.
pub(crate) fn kept(kept: Option<TargetState>) -> &'static str {
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

/// How each other server compares with the first.
///
/// # Errors
/// `out` cannot be written.
pub fn write_details(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for pair in &decision.pairs {
        let [first, second] = pair.names();
        writeln!(out, "\n###### {} compared with {} ######", escape(&second), escape(&first))?;
        pair.tests.iter().try_for_each(|test| write_test(test, out))?;
        for line in notes(pair) {
            write_words(&escape(line), 2, out)?;
        }
    }
    Ok(())
}
