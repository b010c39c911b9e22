//! Destinations of reports: tables to standard output or a file, JSON, HDR files, and lines on standard error
//! in its order.

use std::io::{self, Write};
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cli::console::diagnostics::{self, ClosedPipe};
use cli::console::http::HttpServer;
use cli::console::report_file::{self, ReportFile};
use cli::job::{RunMonitor, ToolOutput};
use report::{Format, Summary};
use workload::Plan;

use super::exporter::Exporter;
use super::options::Options;
use super::progress::{ProgressMonitor, RunSeconds};
use super::values::Requests;
use super::verification::Verification;
use super::{statsd, waiting};
use crate::memtier::layout::{
    Entry, HdrFile, Json, Rows, RunFigures, Section, Style, client_files, hdr_files, json_section,
    sections, write_head, write_section,
};

/// Reports, and where they go.
#[derive(Clone)]
pub(super) struct Reports {
    options: Arc<Options>,
    style: Style,
    /// Figures over HTTP, where they are asked for.
    exporter: Option<Arc<Exporter>>,
    /// Start of the tries to reach a server.
    since: Instant,
    /// The seconds of each run, in order, until its report takes them.
    seconds: Arc<Mutex<Vec<RunSeconds>>>,
}

impl ToolOutput for Reports {
    fn interrupted_is_success(&self) -> bool {
        true
    }

    fn failure(&self, error: &anyhow::Error, why: String) -> anyhow::Error {
        crate::memtier::failure(error, why)
    }

    fn format(&self) -> Box<dyn Format> {
        Box::new(self.written())
    }

    fn document(&self, run: &Summary<'_>) -> Option<String> {
        let mut written = self.written();
        let rows = Rows::from_plan(&run.run.plan, &self.style);
        written.runs.push(RunFigures::new(run, &rows));
        let sections = sections(&written.runs, self.style.every_run);
        Some(written.json(&sections))
    }

    fn wait_for_server(&self, why: &str, tried: u32) -> anyhow::Result<Option<Duration>> {
        if !self.options.reconnect_on_error {
            return Ok(None);
        }
        let (wait, text) = match waiting::after(&self.options, self.since, tried) {
            Ok((wait, text)) => (Some(wait), text),
            Err(text) => (None, text),
        };
        let why = report::escape(&*diagnostics::concealed(why));
        diagnostics::put(&format!("Connection error: {why}\n{text}")).map_err(|_| ClosedPipe)?;
        Ok(wait)
    }

    fn monitor<'p>(
        &self,
        plan: &'p Plan,
        run: u32,
        interrupted: &'p AtomicBool,
    ) -> Box<dyn RunMonitor + 'p> {
        if plan.data.verify {
            return Box::new(Verification);
        }
        let (options, style) = (Arc::clone(&self.options), self.style.clone());
        let mut monitor = ProgressMonitor::new(plan, run, options, style, interrupted);
        (monitor.exporter, monitor.ended) = (self.exporter.clone(), Arc::clone(&self.seconds));
        Box::new(monitor)
    }
}

impl Reports {
    /// Returns the reports that options ask for.
    pub(super) fn new(options: &Options) -> Self {
        let style = Style {
            percentiles: options.percentiles.clone(),
            distributions: !options.hide_histogram,
            built_in: options.commands.is_empty(),
            leaves_out_sets: options.multi_key_get > 0 && options.turn().0 == 0,
            merged: !options.by_line,
            every_run: options.print_all_runs,
            lookups: options.miss_tracking,
        };
        let options = Arc::new(options.clone());
        let exporter = || Arc::new(Exporter::new(Arc::clone(&options)));
        Self {
            exporter: options.prometheus_port.map(|_| exporter()),
            options,
            style,
            since: Instant::now(),
            seconds: Arc::default(),
        }
    }

    /// Reports without a run.
    fn written(&self) -> RunReports {
        RunReports {
            of: self.clone(),
            server: None,
            out: None,
            client_files: Ok(()),
            runs: Vec::new(),
            verified: None,
        }
    }
}

/// The reports of one call, written when all runs have ended.
struct RunReports {
    of: Reports,
    /// Server of the exporter's page, until the reports are written.
    server: Option<HttpServer>,
    /// The file that replaces standard output, once it is open.
    out: Option<ReportFile>,
    /// Result of writing the files of each connection so far.
    client_files: io::Result<()>,
    runs: Vec<RunFigures>,
    /// Keys that were read again: those that have what was written, and others.
    verified: Option<[u64; 2]>,
}

impl Format for RunReports {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let options = Arc::clone(&self.of.options);
        if options.show_config {
            say("===================================================")?;
        }
        statsd::announcement(&options).map_or(Ok(()), say)?;
        if let (Some(Requests::AllKeys), Some(each)) = (options.requests, options.requests_each()) {
            writeln!(out, "setting requests to {each}")?;
        }
        let served = self.of.exporter.as_ref().map(Exporter::serve).transpose()?;
        if let Some((server, description)) = served.flatten() {
            self.server = Some(server);
            out.write_all(description.as_bytes())?;
        }
        out.flush()?;
        let mut prefixes = options.hdr_file_prefix.iter().chain(&options.client_stats);
        prefixes.try_for_each(|prefix| report_file::can_begin_with(prefix))?;
        if let Some(path) = &options.json_out_file {
            ReportFile::create(path.as_ref())?;
            say(format_args!("Json file {path} created..."))?;
        }
        match &options.out_file {
            Some(path) => {
                self.out = Some(ReportFile::create(path.as_ref())?);
                say(format_args!("Writing results to {path}..."))
            }
            None => say("Writing results to stdout"),
        }
    }

    fn each(&mut self, summary: &Summary<'_>, _out: &mut dyn Write) -> io::Result<()> {
        if summary.run.plan.data.verify {
            let total = &summary.run.measurement.total;
            let failed = total.errors.total();
            self.verified = Some([total.requests().saturating_sub(failed), failed]);
            return Ok(());
        }
        let rows = Rows::from_plan(&summary.run.plan, &self.of.style);
        let mut figures = RunFigures::new(summary, &rows);
        let mut seconds = self.of.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let RunSeconds { seconds: of_run, cpu } = seconds.pop().unwrap_or_default();
        (figures.over_time, figures.cpu.seconds) = (of_run, cpu);
        seconds.clear();
        drop(seconds);
        self.runs.push(figures);
        // One file that cannot be written takes no other report with it.
        self.client_files = mem::replace(&mut self.client_files, Ok(()))
            .and_then(|()| self.write_client_files(summary));
        Ok(())
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.runs.is_empty() && self.verified.is_none() {
            return Ok(());
        }
        let sections = if self.runs.is_empty() {
            Vec::new()
        } else {
            sections(&self.runs, self.of.style.every_run)
        };
        let tables = match self.out.take() {
            Some(mut file) => self.write_tables(&sections, &mut file),
            None => self.write_tables(&sections, out),
        };
        let files = [self.write_hdr_files(), self.write_json(&sections)];
        let client_files = mem::replace(&mut self.client_files, Ok(()));
        [tables, client_files].into_iter().chain(files).collect()
    }
}

impl RunReports {
    fn write_tables(&self, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
        if let Some(first) = self.runs.first() {
            write_head(first, out)?;
            sections.iter().try_for_each(|section| write_section(section, &self.of.style, out))?;
        }
        if let Some([well, failed]) = self.verified {
            write!(
                out,
                "\n\nPerforming data verification...\nData verification completed:\n\
                 {well:<10} keys verified successfuly.\n{failed:<10} keys failed.\n"
            )?;
        }
        out.flush()
    }

    /// Writes the files of each connection for the run that has just ended.
    fn write_client_files(&self, summary: &Summary<'_>) -> io::Result<()> {
        let Some(prefix) = &self.of.options.client_stats else { return Ok(()) };
        let run = self.runs.len();
        say(format_args!("[RUN {run}] Writing client stats files..."))?;
        for (name, text) in client_files(summary, &self.of.style, run) {
            let path = PathBuf::from(format!("{prefix}{name}"));
            report_file::write(&path, text)?;
        }
        Ok(())
    }

    fn write_hdr_files(&self) -> io::Result<()> {
        let Some(prefix) = &self.of.options.hdr_file_prefix else { return Ok(()) };
        for (run, figures) in (1..).zip(&self.runs) {
            for HdrFile { name, title, text } in hdr_files(figures, run) {
                let path = PathBuf::from(format!("{prefix}{name}"));
                say(format_args!("Writing {title} to {}...", path.display()))?;
                report_file::write(&path, text)?;
            }
        }
        Ok(())
    }

    fn write_json(&self, sections: &[Section]) -> io::Result<()> {
        let Some(path) = &self.of.options.json_out_file else { return Ok(()) };
        say(format_args!("Saving JSON output file: {path}"))?;
        report_file::write(path.as_ref(), self.json(sections))?;
        say("Json file closed.")
    }

    fn json(&self, sections: &[Section]) -> String {
        let mut tree = vec![("configuration".to_owned(), Json::Object(self.of.options.entries()))];
        if let Some(first) = self.runs.first() {
            tree.push(("run information".to_owned(), information(first)));
            tree.extend(first.tls.as_ref().map(tls));
            let section = |section| json_section(section, &self.of.style);
            tree.extend(sections.iter().map(section));
        }
        if let Some(verified) = self.verified {
            let keys = ["keys verified successfuly", "keys failed"].map(str::to_owned);
            let counts = verified.map(|count| Json::Number(format!("{count:<10}")));
            let results = keys.into_iter().zip(counts).collect();
            tree.push(("client verifications results".to_owned(), Json::Object(results)));
        }
        Json::Object(tree).file()
    }
}

fn information(run: &RunFigures) -> Json {
    let mut entries = vec![
        ("Threads", u64::from(run.threads)),
        ("Connections per thread", u64::from(run.clients)),
        run.length,
        ("Format version", 2),
    ];
    if run.cluster {
        let [primaries, replicas] = run.endpoints.nodes;
        entries.extend([
            ("Cluster endpoints", primaries + replicas),
            ("Cluster primary endpoints", primaries),
            ("Cluster replica endpoints", replicas),
            ("Total connections", u64::from(run.threads) * u64::from(run.clients)),
        ]);
    }
    let members = entries.into_iter().map(|(key, number)| (key.to_owned(), Json::whole(number)));
    Json::Object(members.collect())
}

fn tls((version, cipher): &(String, String)) -> Entry {
    let entries = [("negotiated_version", version), ("negotiated_cipher", cipher)];
    let entries = entries.map(|(key, value)| (key.to_owned(), Json::text(value)));
    ("TLS".to_owned(), Json::Object(entries.into()))
}

fn say(line: impl std::fmt::Display) -> io::Result<()> {
    diagnostics::say(line).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
}
