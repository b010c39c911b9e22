//! Results on standard output, and beside them on standard error what a layout has no room for.
//!
//! One way for runs that have just ended and for those that were saved, so that both read the same.

use std::io::{self, Stdout, Write};

use anyhow::{Result, anyhow};
use measure::Ending;
use report::{Aside, Format, Gathering, Repeats, Run, Summary};

use crate::front::Output;

/// Prints one job.
pub(crate) struct Printer {
    format: Box<dyn Format>,
    suite: bool,
    csv: bool,
    /// What the layout has no place for, if it has none.
    aside: Option<Aside>,
    /// Runs of one plan, until all of them are there.
    gathering: Gathering,
    out: Stdout,
}

impl Printer {
    /// Begins.
    pub(crate) fn begin(output: &Output) -> Result<Self> {
        let suite = output.options.suite;
        let csv = output.format == "csv";
        let told = report::tells_verdicts(output.format, output.options);
        let aside = (!told).then(Aside::default);
        let (format, out) = (output.format(), io::stdout());
        let gathering = Gathering::default();
        let mut printer = Self { format, suite, csv, aside, gathering, out };
        written(printer.format.begin(&mut printer.out))?;
        Ok(printer)
    }

    /// Prints a run.
    pub(crate) fn each(&mut self, run: &Run) -> Result<()> {
        let summary = Summary::of(run);
        if summary.requests > summary.errors || run.measurement.ending == Ending::Complete {
            let done = self.format.each(&summary, &mut self.out);
            written(done.and_then(|()| self.out.flush()))?;
        }
        if self.csv && summary.errors > 0 {
            // The layout has no column for them.
            let kinds = summary.error_counts().by_kind().iter();
            let kinds = kinds.map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>();
            let kinds = report::escape(kinds.join(", "));
            eprintln!("{}: {} errors ({kinds})", summary.title, summary.errors);
        }
        if self.csv
            && let Some(trouble) = summary.trouble()
        {
            eprintln!("{}: {trouble}", summary.title);
        }
        if let Some(shortfall) = summary.shortfall() {
            eprintln!("{}: {shortfall}", summary.title);
        }
        if let Some(aside) = &mut self.aside {
            aside.add(&summary);
        }
        let repeats = self.gathering.add(run);
        self.repeats(repeats)
    }

    /// Prints what several runs of one plan are together.
    fn repeats(&mut self, repeats: Option<Repeats>) -> Result<()> {
        let Some(repeats) = repeats else { return Ok(()) };
        let done = self.format.repeats(&repeats, &mut self.out);
        written(done.and_then(|()| self.out.flush()))?;
        if let Some(reason) = repeats.too_wide().filter(|_| self.csv) {
            // The layout has no column for it.
            eprintln!("{}: {}: {reason}", repeats.title(), repeats.counted());
        }
        Ok(())
    }

    /// Every test has been carried out.
    pub(crate) fn finish(&mut self) -> Result<()> {
        written(self.format.finish(self.suite, &mut self.out).and_then(|()| self.out.flush()))?;
        self.say_aside();
        Ok(())
    }

    /// Nothing comes any more, whether every test has been carried out or not.
    pub(crate) fn close(mut self) -> Result<()> {
        let repeats = self.gathering.end();
        self.repeats(repeats)?;
        self.say_aside();
        written(self.format.close(&mut self.out).and_then(|()| self.out.flush()))
    }

    /// What the layout has no place for, once for all tests.
    fn say_aside(&mut self) {
        let lines = self.aside.as_mut().map(Aside::lines).unwrap_or_default();
        lines.iter().for_each(|line| eprintln!("{line}"));
    }
}

/// Prints text.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn written(outcome: io::Result<()>) -> Result<()> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => {
            anyhow!("standard output was closed; what was left to do is not done")
        }
        _ => anyhow!("writing to standard output: {error}; what was left to do is not done"),
    })
}
