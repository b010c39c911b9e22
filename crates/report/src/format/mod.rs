//! Layouts of a report, one file each.
//!
//! Owns the trait they share, the table that names them, and the lines that more than one of them
//! prints. A format lays out the figures of a [`Summary`] and computes none. A new one is a file
//! here and a row in [`FORMATS`].

mod classic;
mod closing;
mod deliveries;
#[cfg(test)]
mod golden;
mod json;
mod moments;
mod outages;
mod redis_csv;
mod redis_quiet;
mod redis_text;
mod repeats;
mod text;
mod timeline_csv;

use std::io::{self, Write};
use std::sync::OnceLock;

use crate::document::{Block, term};
use crate::{LatencyFigures, Persona, Repeats, Summary, escape, topics};
pub(crate) use outages::write_outages;

/// A layout. One value serves one run of the program, which may carry out many plans.
pub trait Format {
    /// Writes the text before the first report.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Writes the report of one run.
    ///
    /// # Errors
    /// Returns errors of the writer.
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Writes the joint result of several runs of one plan, after the last of them.
    ///
    /// # Errors
    /// Returns errors of the writer.
    fn repeats(&mut self, _repeats: &Repeats, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Writes the text after the last report; `_suite` distinguishes the tests of a suite from a user's
    /// command, as `redis-benchmark` does.
    ///
    /// # Errors
    /// Returns errors of the writer.
    fn finish(&mut self, _suite: bool, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Writes the very end, even if some runs were not carried out and [`finish`](Self::finish) has not been
    /// called.
    ///
    /// # Errors
    /// Returns errors of the writer.
    fn close(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Settings of a format that must be known before the first run.
#[derive(Debug, Clone, Copy, Default)]
pub struct FormatOptions {
    /// Set if plans record the latency to the first byte, so that a header announces it.
    pub first_byte: bool,
    /// Set if the tests are a suite rather than a user's command.
    pub suite: bool,
    /// Set if keystorm's own layouts name the limit of a test: reports in a sentence, with warnings; the line
    /// of `-q` in a word.
    pub verdict: bool,
    /// Style of the reports: under another tool's name they hold what that tool would print.
    pub persona: Persona,
    /// Set if keystorm's report has every step of the distributions, instead of a few.
    pub full_distribution: bool,
}

/// Makes a format.
pub type Build = fn(FormatOptions) -> Box<dyn Format>;

/// A format with its name.
pub type FormatRow = (&'static str, Build);

/// Keystorm's own formats, and those of the tools that it extends.
pub const FORMATS: &[FormatRow] = &[
    ("text", |options| Box::new(text::Text::new(options))),
    ("redis", |options| Box::new(redis_text::RedisText(options))),
    ("quiet", |options| Box::new(redis_quiet::RedisQuiet(options))),
    ("csv", |options| Box::new(redis_csv::RedisCsv::new(options))),
    ("classic", |options| Box::new(classic::Classic(options))),
    ("json", |options| Box::new(json::Json::new(options))),
    ("timeline", |_| Box::new(timeline_csv::TimelineCsv)),
    ("samples", |_| Box::new(timeline_csv::SamplesCsv)),
];

/// Formats added by other tools' crates.
static ADDED: OnceLock<Vec<FormatRow>> = OnceLock::new();

/// Adds the formats of other tools, once, before a command line is read. Later calls have no effect.
pub fn add_formats(rows: Vec<FormatRow>) {
    let _ = ADDED.set(rows);
}

/// All formats: keystorm's own, and added ones.
pub fn formats() -> impl Iterator<Item = &'static FormatRow> {
    FORMATS.iter().chain(ADDED.get().into_iter().flatten())
}

/// The format of that name, if there is one.
pub fn by_name(name: &str, options: FormatOptions) -> Option<Box<dyn Format>> {
    formats().find(|(n, _)| *n == name).map(|(_, build)| build(options))
}

/// Returns whether a layout states the limit of a test in full, so that it need not be printed separately.
pub fn prints_verdicts(name: &str, options: FormatOptions) -> bool {
    name == "json" || options.verdict && matches!(name, "text" | "classic")
}

/// Writes parts of a document as lines of a report.
fn write_blocks(blocks: &[Block], out: &mut dyn Write) -> io::Result<()> {
    let text = term::text(blocks, 80, false);
    text.lines().try_for_each(|line| writeln!(out, "{}", format!("  {line}").trim_end()))
}

/// Writes the first lines of every report for people, up to `keep alive`.
fn write_head(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let plan = &summary.run.plan;
    writeln!(out, "====== {} ======", summary.title)?;
    if let Some(shortfall) = summary.shortfall() {
        writeln!(out, "  INCOMPLETE: {shortfall}")?;
    }
    let (requests, elapsed_s) = (summary.requests, summary.elapsed_s);
    writeln!(out, "  {requests} requests completed in {elapsed_s:.2} seconds")?;
    writeln!(out, "  {} parallel clients", plan.own_connections())?;
    writeln!(out, "  {} bytes payload", plan.data.payload_bytes)?;
    writeln!(out, "  keep alive: {}", u8::from(plan.load.concurrency.keep_alive))
}

/// Writes the TLS agreement; nothing without TLS.
fn write_tls(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_pairs(topics::negotiated(summary), out)
}

/// Writes names with their values, a line each.
fn write_pairs(pairs: Vec<(&str, String)>, out: &mut dyn Write) -> io::Result<()> {
    pairs.iter().try_for_each(|(name, value)| writeln!(out, "  {name}: {value}"))
}

/// Returns the times of TLS handshakes, if they are known.
fn handshake<'s>(summary: &'s Summary<'_>) -> Option<&'s LatencyFigures> {
    summary.tls.as_ref()?.handshake.as_ref()
}

/// Writes the error replies by kind with an example of each, if there were any, and the faults of
/// connections.
fn write_errors(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    if summary.errors == 0 {
        return write_pairs(topics::troubles(summary), out);
    }
    writeln!(out, "  errors: {}", summary.errors)?;
    for (kind, count) in summary.error_counts().by_kind() {
        writeln!(out, "    {}: {count}", escape(kind))?;
    }
    for example in summary.first_errors() {
        writeln!(out, "    first: {example}")?;
    }
    write_pairs(topics::troubles(summary), out)
}

impl Summary<'_> {
    /// Describes unanswered requests and outages, for layouts without a place for them. `None` if there were
    /// none.
    pub fn trouble(&self) -> Option<String> {
        let line = trouble(self);
        line.strip_prefix(", ").map(str::to_owned)
    }
}

/// Describes unanswered requests and outages in one line, each after a comma.
fn trouble(summary: &Summary<'_>) -> String {
    outages::in_a_line(summary) + &deliveries::trouble(summary)
}

/// Writes the limit and the warnings of the run, one line each, if wanted.
fn write_verdict(wanted: bool, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !wanted {
        return Ok(());
    }
    writeln!(out, "  {}", escape(summary.run.verdict.line()))?;
    let mut warnings = summary.run.warnings.iter();
    warnings.try_for_each(|warning| writeln!(out, "  warning: {}", escape(&warning.text)))
}

/// The blank line that ends a suite.
fn end_suite(suite: bool, out: &mut dyn Write) -> io::Result<()> {
    if suite { writeln!(out) } else { Ok(()) }
}
