//! Results on standard output, and additions for which a layout has no room.
//!
//! Used for runs that have just ended and for saved ones, so that both read alike.

use std::io::{self, Write};

use crate::job::Output;
use anyhow::{Context, Result, anyhow};
use measure::{Ending, Failure};
use report::{Format, NodeNames, Persona, RepeatCollector, Repeats, Summary};
use workload::quantity::{counted, noun};
use workload::{Target, streams};

use crate::console::diagnostics::{self, Asides, ClosedPipe};
use crate::console::report_file::{self, ReportFile};
use crate::console::wrap::{self, WrappedStdout};

/// Printer of one job.
pub struct Printer<'a> {
    format: Box<dyn Format>,
    suite: bool,
    csv: bool,
    quiet: bool,
    persona: Persona,
    asides: &'a Asides,
    /// Verdicts on the tests, to be printed after all of them.
    verdicts: report::VerdictLines,
    /// Runs of one plan, until all of them are there.
    gathering: RepeatCollector,
    out: Box<dyn Write>,
}

impl<'a> Printer<'a> {
    /// Begins.
    pub fn begin(output: &Output, asides: &'a Asides) -> Result<Self> {
        let (suite, persona) = (output.options.suite, output.options.persona);
        let (csv, quiet) = (output.format == "csv", output.format == "quiet");
        let format = output.format();
        let out: Box<dyn Write> =
            match &output.to {
                None if for_people(output) => Box::new(WrappedStdout::default()),
                None => Box::new(streams::output()),
                Some(path) => Box::new(ReportFile::create(path).with_context(|| {
                    format!("the report: {}: cannot be written", path.display())
                })?),
            };
        let (gathering, verdicts) = (RepeatCollector::default(), report::VerdictLines::default());
        let mut printer =
            Self { format, suite, csv, quiet, persona, asides, verdicts, gathering, out };
        let begun = printer.format.begin(&mut printer.out);
        written(begun.and_then(|()| printer.out.flush()))?;
        Ok(printer)
    }

    /// Prints a run.
    pub fn each(&mut self, summary: &Summary<'_>) -> Result<()> {
        let run = summary.run;
        let shown = summary.requests > summary.errors || run.measurement.ending == Ending::Complete;
        if shown {
            let done = self.format.each(summary, &mut self.out);
            written(done.and_then(|()| self.out.flush()))?;
        }
        if self.csv && summary.errors > 0 {
            // The layout has no column for them.
            let kinds = summary.error_counts().by_kind().iter();
            let kinds = kinds.map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>();
            let kinds = report::escape(kinds.join(", "));
            let errors = counted(summary.errors, "error");
            let errors = format_args!("{}: {errors} ({kinds})", summary.title);
            self.asides.remarks.say(errors)?;
        }
        if self.csv || self.quiet {
            for first in summary.first_errors() {
                self.asides.remarks.say(format_args!("{}: first: {first}", summary.title))?;
            }
        }
        if self.csv
            && let Some(trouble) = summary.trouble()
        {
            self.asides.remarks.say(format_args!("{}: {trouble}", summary.title))?;
        }
        let failure = match &run.measurement.ending {
            Ending::Failed(failure) => Some(failure),
            Ending::Complete | Ending::Interrupted => None,
        };
        match summary.shortfall() {
            // Their lines of errors begin with the error.
            Some(why)
                if !self.persona.own_words
                    && (failure.is_some() || run.measurement.is_unheard()) =>
            {
                let is_of_server = failure.is_some_and(Failure::is_of_server);
                let error = diagnostics::as_error(&why, is_of_server);
                diagnostics::say(diagnostics::concealed(&error))?;
            }
            // The companion of the run has printed it.
            Some(_) | None if !self.persona.mentions_shortfall => {}
            Some(why) => diagnostics::say(format_args!("{}: {why}", summary.title))?,
            None => {}
        }
        // Of a test that is shown, its warnings have it.
        let is_shown = shown || self.csv || self.quiet || !self.persona.unasked;
        if let Some(text) = report::option_sent(&run.plan, &run.measurement).filter(|_| !is_shown) {
            diagnostics::say(format_args!("warning: {}", report::escape(text)))?;
        }
        self.verdicts.add(summary);
        let repeats = self.gathering.add(summary);
        self.repeats(repeats)
    }

    /// Prints the joint result of several runs of one plan.
    fn repeats(&mut self, repeats: Option<Repeats>) -> Result<()> {
        let Some(repeats) = repeats else { return Ok(()) };
        let done = self.format.repeats(&repeats, &mut self.out);
        written(done.and_then(|()| self.out.flush()))?;
        if let Some(reason) = repeats.too_wide().filter(|_| self.csv) {
            // The layout has no column for it.
            let counted = repeats.counted();
            self.asides.remarks.say(format_args!("{}: {counted}: {reason}", repeats.title()))?;
        }
        Ok(())
    }

    /// Every test has been carried out.
    pub fn finish(&mut self) -> Result<()> {
        written(self.format.finish(self.suite, &mut self.out).and_then(|()| self.out.flush()))?;
        self.say_verdicts()
    }

    /// Ends the output, whether every test has been carried out or not.
    pub fn close(mut self) -> Result<()> {
        for repeats in self.gathering.end() {
            self.repeats(Some(repeats))?;
        }
        self.say_verdicts()?;
        written(self.format.close(&mut self.out).and_then(|()| self.out.flush()))
    }

    /// Prints the verdicts for which the layout has no room, once for all tests.
    fn say_verdicts(&mut self) -> Result<()> {
        for line in self.verdicts.lines() {
            self.asides.verdicts.say(line)?;
        }
        Ok(())
    }
}

/// The nodes of a cluster, in the words of redis-benchmark or valkey-benchmark; empty without a cluster, and
/// in keystorm's layouts with a line for each test.
pub fn cluster_nodes(
    server: &host::ServerFacts,
    persona: Persona,
    target: &Target,
    format: &str,
) -> String {
    if !target.is_cluster() {
        return String::new();
    }
    let read_from = target.cluster.unwrap_or_default().read_from;
    let (roles, takes) = persona.nodes.listed(read_from);
    let mut listed: Vec<_> = server.nodes.iter().filter(|node| takes(node)).collect();
    listed.sort_by_key(|node| !node.master);
    if server.nodes.is_empty() || (persona.own_layouts && format == "quiet") {
        return String::new();
    }
    let nodes =
        if persona.own_words { noun(listed.len() as u64, "node") } else { "nodes".to_owned() };
    let mut text = format!("Cluster has {} {roles} {nodes}:\n\n", listed.len());
    for (number, node) in listed.into_iter().enumerate() {
        let name = report::escape(format!("{} {}", node.id, node.name));
        text += &match (persona.nodes, node.master) {
            (NodeNames::PrimariesAndReplicas, true) => format!("Node {number}(Primary): {name}\n"),
            (NodeNames::PrimariesAndReplicas, false) => format!("Node {number}(Replica): {name}\n"),
            (NodeNames::Masters, _) => format!("Master {number}: {name}\n"),
        };
    }
    text + "\n"
}

/// Returns whether the report is for people, under keystorm's own name.
fn for_people(output: &Output) -> bool {
    output.options.persona.own_layouts && matches!(output.format, "text" | "classic" | "quiet")
}

/// Returns whether a layout is for people, so that the nodes of a cluster may come before it.
pub fn is_for_people(format: &str) -> bool {
    ["text", "redis", "quiet", "classic"].contains(&format)
}

/// Prints text.
pub fn text(text: &str) -> Result<()> {
    let text = wrap::wrapped(text, wrap::of_stdout());
    let mut out = streams::output();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints output in pieces that is too long for one text.
pub fn through(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::new(streams::output());
    written(write(&mut out).and_then(|()| out.flush()))
}

fn written(outcome: io::Result<()>) -> Result<()> {
    outcome.map_err(|error| match error.kind() {
        _ if report_file::is_of_file(&error) => error.into(),
        io::ErrorKind::BrokenPipe => ClosedPipe.into(),
        _ => anyhow!("writing to standard output: {error}; the rest of the run was skipped"),
    })
}
