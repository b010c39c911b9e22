//! `keystorm history` and `keystorm compare --baseline`: a folder of saved runs over time.
//!
//! Entries, series and steps are defined in `lab::history`.

mod options;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cli::compare::InconclusivePolicy;
use cli::console::diagnostics;
use cli::front::{Front, command, with_options};
use cli::job::{End, Intent, UsageError};
use lab::history::{Entry, Folder, Grouping, Terms, series};
use report::compare::GateState;
use report::json::pretty;
use report::page::Page;
use serde_json::Value;

use crate::commands::run::say;
use crate::commands::show;
use crate::experiment::files::Files;
use crate::experiment::terminal::Terminal;
use options::{BaselineOptions, HistoryOptions, ReadingOptions};

pub(crate) use options::is_asked;

/// Greatest age of a test's newest run, relative to the newest run of the folder, for which the test is
/// judged without named files.
const LAST_DAY_MS: u64 = 24 * 3_600_000;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["history"],
    command: command::<HistoryOptions>,
    parse: |args| {
        with_options(args, |options: HistoryOptions| {
            let HistoryOptions { reading, .. } = options.checked()?;
            Ok(Intent::carry(move || history(&reading)))
        })
    },
};

/// Parses a command line of `keystorm compare --baseline`.
///
/// # Errors
/// Returns an error if the words make no sense.
pub(crate) fn judging(args: Vec<OsString>) -> Result<Intent, UsageError> {
    with_options(args, |options: BaselineOptions| {
        let options = options.checked()?;
        Ok(Intent::carry(move || baseline(&options)))
    })
}

/// Prints a history.
///
/// # Errors
/// Returns an error if the folder cannot be read, or a result not be written.
fn history(options: &ReadingOptions) -> Result<End> {
    let output = Output::open(options)?;
    let folder = read(&options.dir)?;
    if folder.entries.is_empty() {
        bail!(
            "{}: there is no saved run in it; --keep and --json write them",
            options.dir.display()
        );
    }
    let all = series(&folder.entries, grouping(options));
    let disturbed = options.counts_disturbed();
    output.show(
        &lab::history::document(&all, disturbed),
        || lab::history::page(&all, &folder.faults, disturbed),
        || Terminal::of_stdout().table(&lab::history::table(&all, disturbed)),
    )?;
    Ok(End::Complete)
}

/// Judges the newest runs of a history against earlier ones.
///
/// # Errors
/// Returns an error if a folder or file cannot be read, or a result not be written.
fn baseline(job: &BaselineOptions) -> Result<End> {
    let options = &job.reading;
    let output = Output::open(options)?;
    let mut entries = read(&options.dir)?.entries;
    let newest = add_files(&mut entries, job)?;
    if let Some(canary) = &job.canary {
        let canary = read(canary)?.entries;
        let all = entries.len();
        entries = lab::history::beside_canary(&entries, &canary);
        let left_out = all - entries.len();
        if left_out > 0 {
            let of = workload::quantity::counted(all as u64, "run");
            diagnostics::say(format_args!(
                "warning: --canary: {left_out} of {of} have no run of the canary within an hour, and are left out"
            ))?;
        }
    }
    let terms = Terms {
        metrics: &job.metrics,
        last: job.last as usize,
        percent: job.fail_on_regression,
        disturbed: job.reading.counts_disturbed(),
    };
    let judged = lab::history::judge(&series(&entries, grouping(options)), &*newest, terms);
    let gate = lab::history::gate(&judged, terms);
    let sentences = lab::history::sentences(&judged, terms);
    output.show(
        &lab::history::judged(&judged, gate, &sentences),
        || lab::history::judgement_page(&judged, terms),
        || {
            let terminal = Terminal::of_stdout();
            terminal.table(&lab::history::judgement_table(&judged))?;
            sentences.iter().try_for_each(|sentence| terminal.line(sentence))
        },
    )?;
    Ok(match (gate, job.inconclusive) {
        (GateState::Passed, _) | (GateState::Undecided, Some(InconclusivePolicy::Pass)) => {
            End::Complete
        }
        (GateState::Failed, _) | (GateState::Undecided, Some(InconclusivePolicy::Fail)) => {
            End::Regressed
        }
        (GateState::Undecided, _) => End::Inconclusive,
    })
}

/// Filter of the entries to judge.
type EntryFilter = Box<dyn Fn(&Entry) -> bool>;

/// Adds the files that are to be judged to the entries of the folder, in order of time; which entries are to be
/// judged.
fn add_files(entries: &mut Vec<Entry>, job: &BaselineOptions) -> Result<EntryFilter> {
    if job.files.is_empty() {
        let newest = entries.iter().map(|entry| entry.started_ms).max().unwrap_or(0);
        return Ok(Box::new(move |entry| entry.started_ms + LAST_DAY_MS >= newest));
    }
    let dir = fs::canonicalize(&job.reading.dir)?;
    let mut files = Vec::new();
    for path in &job.files {
        let loaded = show::read(path)?;
        let name = path.display().to_string();
        // One that is in the folder is there already.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if let Ok(below) = real.strip_prefix(&dir) {
            let below = below.to_string_lossy().into_owned();
            entries.retain(|entry| entry.file != below);
        }
        entries.extend(lab::history::entries(&name, &loaded.runs)?);
        files.push(name);
    }
    lab::history::sort_by_time(entries);
    Ok(Box::new(move |entry| files.contains(&entry.file)))
}

fn grouping(options: &ReadingOptions) -> Grouping {
    if options.any_machine { Grouping::Processor } else { Grouping::Machine }
}

/// Reads the folder, and warns about saved runs in it that cannot be read.
fn read(dir: &Path) -> Result<Folder> {
    let folder = Folder::read(dir).with_context(|| format!("{}: cannot be read", dir.display()))?;
    for fault in folder.faults.iter().take(FAULTS_MAX) {
        let text = report::escape(format!("{}: {}", fault.file, fault.why));
        diagnostics::say(format_args!("warning: {text}"))?;
    }
    if folder.faults.len() > FAULTS_MAX {
        let more = folder.faults.len() - FAULTS_MAX;
        diagnostics::say(format_args!("warning: {more} more files cannot be read"))?;
    }
    Ok(folder)
}

/// Maximum number of unreadable files that are named; further ones are only counted.
const FAULTS_MAX: usize = 5;

/// Destination of a result.
struct Output {
    document: bool,
    files: Files,
}

impl Output {
    /// Makes sure that the files can be written.
    fn open(options: &ReadingOptions) -> Result<Self> {
        let json = options.json.as_deref().map(|path| ("--json", path));
        let files = Files::open(json, &options.pages, None)?;
        Ok(Self { document: options.format == "json", files })
    }

    fn show(
        &self,
        document: &Value,
        page: impl FnOnce() -> Page,
        text: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let json = pretty(document)? + "\n";
        // A closed standard output ends the program.
        let written = self.files.finish(|| Ok(json.clone()), page);
        if self.document {
            say(&json).map(drop)?
        } else {
            text()?
        }
        written
    }
}
