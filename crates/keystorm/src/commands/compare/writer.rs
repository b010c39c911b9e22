//! Where the results of a comparison go while it is under way.

use anyhow::Result;
use console::diagnostics;
use job::{CompareJob, Output};
use report::compare::{self, Comparison, Table, TestComparison};

use crate::commands::run::say;
use crate::experiment::files::Files;

/// Writes the results of a comparison while it runs.
pub(super) struct Writer<'s> {
    pub(super) output: &'s Output,
    /// The command line, without secrets.
    command_line: &'s str,
    pub(super) files: Files,
}

impl<'s> Writer<'s> {
    /// Makes sure that the files can be written, and serves the page, where that is wanted.
    pub(super) fn open(job: &'s CompareJob) -> Result<Self> {
        let output = &job.output;
        let json = output.json.as_deref().map(|path| ("--json", path));
        let files = Files::open(json, &output.pages, output.live_page.as_ref())?;
        Ok(Self { output, command_line: &job.command_line, files })
    }

    /// Writes part of the text, or of the CSV.
    fn print(
        &self,
        format: &str,
        write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<()> {
        if self.output.format != format {
            return Ok(());
        }
        let mut text = Vec::new();
        write(&mut text)?;
        say(&String::from_utf8_lossy(&text))?;
        Ok(())
    }

    pub(super) fn head(&mut self, comparison: &Comparison) -> Result<()> {
        self.print("text", |out| compare::write_head(comparison, out))?;
        if let Some(terms) = &comparison.terms {
            self.print("text", |out| compare::write_terms(terms, out))?;
        }
        self.print("csv", |out| compare::write_csv_head(out))
    }

    /// Warnings have no place in a CSV or a line, and are in the JSON.
    pub(super) fn warn(&mut self, warnings: &[String]) -> Result<()> {
        self.print("text", |out| compare::write_warnings(warnings, out))?;
        if matches!(self.output.format, "csv" | "quiet") {
            for warning in warnings {
                diagnostics::say(format_args!("warning: {}", report::escape(warning)))?;
            }
        }
        Ok(())
    }

    pub(super) fn table(&mut self, table: &Table) -> Result<()> {
        self.print("text", |out| compare::write_table(table, out))
    }

    /// A test, in a CSV by its whole `name`.
    pub(super) fn test(&mut self, test: &TestComparison, name: &str) -> Result<()> {
        self.print("text", |out| compare::write_test(test, out))?;
        self.print("quiet", |out| compare::write_quiet_test(test, name, out))?;
        self.print("csv", |out| compare::write_csv_test(test, name, out))
    }

    pub(super) fn foot(&mut self, comparison: &Comparison) -> Result<()> {
        self.print("text", |out| compare::write_foot(comparison, out))?;
        if self.output.format == "json" {
            say(&compare::to_json(comparison)?)?;
        }
        if self.output.format != "text" {
            let replayed = comparison.replayed.iter();
            let replayed = replayed.flat_map(|of| of.notes(&comparison.names()));
            for line in compare::notes(comparison).into_iter().chain(replayed) {
                diagnostics::say(report::escape(line))?;
            }
        }
        let page = || page::comparison::page(comparison, self.command_line);
        self.files.finish(|| compare::to_json(comparison), page)
    }

    /// Keeps what there is so far.
    pub(super) fn keep(&self, comparison: &Comparison) -> Result<()> {
        self.files.write(|| compare::to_json(comparison))
    }

    /// Updates the live page with a comparison that has these tests in addition.
    pub(super) fn show(
        &mut self,
        comparison: &Comparison,
        tests: impl Iterator<Item = TestComparison>,
    ) {
        let command_line = self.command_line;
        self.files.show(|| {
            let mut so_far = comparison.clone();
            so_far.tests.extend(tests);
            // A comparison that is under way is not shown as incomplete.
            so_far.complete = true;
            page::comparison::page(&so_far, command_line)
        });
    }
}
