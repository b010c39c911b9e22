//! What a command line asks for, and the trait of whoever reads one.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::Command;
use naming::OptionId;

use crate::{
    BaselineJob, Checkup, ClientCheck, CompareJob, DescribeJob, End, HistoryJob, Job, MergeJob,
    RecordJob, ReplayJob, ShowJob, SinkJob, ToolMessage, UsageError,
};

/// A tool whose command line we understand.
pub trait FrontEnd: Sync {
    /// The names by which it is chosen.
    fn names(&self) -> &'static [&'static str];

    /// Returns its options, for its man page and for completions; `None` for another tool's command line, which has a
    /// manual of its own.
    fn command(&self) -> Option<Command> {
        None
    }

    /// The tool's own word for an option, or for what is advised about one. Without one, messages have keystorm's word
    /// behind the prefix `--ks-`.
    fn word(&self, _option: OptionId) -> Option<Cow<'static, str>> {
        None
    }

    /// Layouts that `--format` names, beside keystorm's own.
    fn formats(&self) -> &'static [report::FormatRow] {
        &[]
    }

    /// Turns arguments (the program's name left out) into what is to be done. `called_as` is the
    /// name that chose this front end, if one did.
    fn parse(&self, called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError>;
}

/// Request of a command line.
pub enum Intent {
    /// Load.
    Run(Box<Job>),
    /// Text on standard output: help, a version, the plans.
    Say(String),
    /// A page of the documents, in Markdown.
    Read(String),
    /// Files to be written: their names and texts, and where.
    Write(PathBuf, Vec<(String, String)>),
    /// A server to measure clients with.
    Sink(SinkJob),
    /// Saved runs, printed or as a page.
    Show(ShowJob),
    /// Saved runs, added up.
    Merge(MergeJob),
    /// Describe recorded traffic.
    Describe(DescribeJob),
    /// Recording the traffic of a server.
    Record(Box<RecordJob>),
    /// The client's own ceiling.
    MeasureClient(Box<ClientCheck>),
    /// A folder of saved runs.
    History(HistoryJob),
    /// The newest of them beside those before.
    Baseline(BaselineJob),
    /// Two servers, or two saved runs.
    Compare(Box<CompareJob>),
    /// Find what spoils results here.
    Doctor(Box<Checkup>),
    /// Recorded traffic, sent again.
    Replay(Box<ReplayJob>),
    /// A command that is ready to be carried out.
    Carry(Box<dyn FnOnce() -> Result<End>>),
    /// A client of a coordinator.
    Hold,
    /// Words, and an exit code of another tool's.
    Tell(ToolMessage),
}

impl Intent {
    /// A command that is carried out by this.
    pub fn carry(command: impl FnOnce() -> Result<End> + 'static) -> Self {
        Self::Carry(Box::new(command))
    }

    /// Returns whether its output is keystorm's to lay out: sentences that are ours, and no text that somebody else has
    /// written or another tool would print.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::Run(job) => !job.output.options.persona.is_peer(),
            Self::Say(_) | Self::Read(_) | Self::Write(..) | Self::Tell(_) => false,
            Self::Sink(_) | Self::Hold => false,
            _ => true,
        }
    }
}
