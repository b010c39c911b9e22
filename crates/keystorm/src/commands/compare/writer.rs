//! Output of a comparison's results while it runs.

use anyhow::{Error, Result};
use cli::compare::{CompareJob, Sides};
use cli::console::diagnostics::{self, ClosedPipe};
use cli::console::print;
use cli::job::Output;
use report::compare::{self, ComparedTest, Comparison, RateCurve, Table};
use report::page::{Block, Tone, comparison};

use crate::experiment::files::Files;
use crate::experiment::terminal::Terminal;

/// Writes the results of a comparison while it runs.
pub(super) struct Writer<'s> {
    pub(super) output: &'s Output,
    /// The command line, without secrets.
    command_line: &'s str,
    pub(super) files: Files,
    /// Set if results are printed at once, since no answer precedes them.
    is_early: bool,
    /// Set if standard output was closed while files were still to be written.
    closed: Option<Error>,
}

impl<'s> Writer<'s> {
    /// Ensures that the files can be written, and serves the page if requested.
    pub(super) fn open(job: &'s CompareJob) -> Result<Self> {
        let output = &job.output;
        let json = output.json.as_deref().map(|path| ("--json", path));
        let files = Files::open(json, &output.pages, output.live_page.as_ref())?;
        let is_early = !matches!(&job.sides, Sides::Live(sides) if sides.decides);
        Ok(Self { output, command_line: &job.command_line, files, is_early, closed: None })
    }

    /// Prints a part. Where files are asked for, a closed standard output does not keep the results from them.
    fn print(&mut self, part: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.closed.is_some() {
            return Ok(());
        }
        let has_files = self.output.json.is_some() || self.output.pages.any();
        match part() {
            Err(error) if has_files && error.is::<ClosedPipe>() => self.closed = Some(error),
            printed => printed?,
        }
        Ok(())
    }

    /// Writes part of the text.
    fn text(&mut self, blocks: impl FnOnce() -> Vec<Block>) -> Result<()> {
        match self.output.format {
            "text" => self.print(|| Terminal::of_stdout().document(&blocks())),
            _ => Ok(()),
        }
    }

    /// Writes the part before the tests. With an answer, it is written at the end, after the answer.
    pub(super) fn head(&mut self, comparison: &Comparison) -> Result<()> {
        if self.is_early {
            self.text(|| comparison::head(comparison))?;
        }
        self.csv(|out| compare::write_csv_head(out))
    }

    /// Writes part of the table for programs.
    fn csv(&mut self, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<()> {
        let mut text = Vec::new();
        if self.output.format == "csv" {
            write(&mut text)?;
            self.print(|| print::text(&String::from_utf8_lossy(&text)))?;
        }
        Ok(())
    }

    /// Writes warnings. In CSV and one-line layouts they are missing, and are in the JSON only.
    pub(super) fn warn(&mut self, warnings: &[String]) -> Result<()> {
        if self.is_early {
            self.text(|| {
                warnings.iter().map(|text| Block::Note(Tone::Warning, text.clone())).collect()
            })?;
        }
        if matches!(self.output.format, "csv" | "quiet") {
            for warning in warnings {
                diagnostics::say(format_args!("warning: {}", report::escape(warning)))?;
            }
        }
        Ok(())
    }

    /// Writes the head of a table of equal terms.
    pub(super) fn table(&mut self, table: &Table) -> Result<()> {
        let section = comparison::table_head(table);
        if self.output.format == "text" {
            let heading = format!("\n###### {} ######\n", report::escape(&section.heading));
            self.print(|| print::text(&heading))?;
        }
        self.text(|| section.blocks)
    }

    /// Writes a test; tables for programs give its whole `name`.
    pub(super) fn test(
        &mut self,
        test: &ComparedTest,
        name: &str,
        target: Option<&str>,
    ) -> Result<()> {
        if self.is_early {
            self.text(|| comparison::test(test))?;
            for line in comparison::headlines(test).iter().filter(|_| self.output.format == "quiet")
            {
                let line = format!("{}: {}\n", report::escape(name), report::escape(line));
                self.print(|| print::text(&line))?;
            }
        }
        self.csv(|out| compare::write_csv_test(test, name, target, out))
    }

    /// Writes the rest, and the files.
    pub(super) fn foot(&mut self, comparison: &Comparison) -> Result<()> {
        let rest = if self.is_early { closing } else { whole };
        self.text(|| rest(comparison))?;
        if self.output.format == "json" {
            self.print(|| print::text(&compare::to_json(comparison)?))?;
        }
        if !self.is_early && matches!(self.output.format, "quiet" | "csv") {
            for curve in comparison.curves() {
                let answer = report::escape(curve.answer());
                match self.output.format {
                    "quiet" => self.print(|| print::text(&format!("{answer}\n")))?,
                    _ => diagnostics::say(answer)?,
                }
            }
        }
        if self.output.format != "text" {
            let replayed = comparison.replayed.iter();
            let replayed = replayed.flat_map(|of| of.notes(&comparison.names()));
            for line in compare::notes(comparison).into_iter().chain(replayed) {
                diagnostics::say(report::escape(line))?;
            }
        }
        let page = || comparison::page(comparison, self.command_line);
        self.files.finish(|| compare::to_json(comparison), page)?;
        self.closed.take().map_or(Ok(()), Err)
    }

    /// Saves the results so far.
    pub(super) fn keep(&self, comparison: &Comparison) -> Result<()> {
        self.files.write(|| compare::to_json(comparison))
    }

    /// Updates the live page with a comparison and these additional tests.
    pub(super) fn show(
        &mut self,
        comparison: &Comparison,
        tests: impl FnOnce() -> Vec<ComparedTest>,
    ) {
        let command_line = self.command_line;
        self.files.show(|| {
            let mut so_far = comparison.clone();
            so_far.tests.extend(tests());
            // A comparison that is under way is not shown as incomplete.
            so_far.complete = true;
            comparison::page(&so_far, command_line)
        });
    }
}

/// Blocks that follow the tests.
fn closing(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = vec![Block::Text(String::new())];
    blocks.extend(comparison::gate_notes(comparison));
    blocks.extend(comparison::foot(comparison));
    blocks
}

/// The whole comparison: the answers first, then their evidence. Tables of every rate are long, so only the
/// page and the JSON have them.
fn whole(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = comparison::answers(comparison);
    blocks.extend(comparison::gate_notes(comparison));
    blocks.push(Block::Text(String::new()));
    blocks.extend(comparison::head(comparison));
    let warnings = comparison.warnings.iter().cloned();
    blocks.extend(warnings.map(|text| Block::Note(Tone::Warning, text)));
    if !comparison.curves().iter().any(RateCurve::has_several) {
        blocks.extend(comparison.tests.iter().flat_map(comparison::test));
    }
    blocks.push(Block::Text(String::new()));
    blocks.extend(comparison::foot(comparison));
    blocks
}
