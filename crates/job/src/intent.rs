//! Intents of command lines, and the trait of front ends that parse them.

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

/// A tool whose command line keystorm understands.
pub trait FrontEnd: Sync {
    /// The names that select it.
    fn names(&self) -> &'static [&'static str];

    /// Returns its options for man page and completions; `None` for another tool, which has a manual of its
    /// own.
    fn command(&self) -> Option<Command> {
        None
    }

    /// The tool's own word for an option, or for what is advised about one. Without one, messages have keystorm's word
    /// behind the prefix `--ks-`.
    fn word(&self, _option: OptionId) -> Option<Cow<'static, str>> {
        None
    }

    /// Layouts that `--format` accepts in addition to keystorm's own.
    fn formats(&self) -> &'static [report::FormatRow] {
        &[]
    }

    /// Parses arguments (without the program's name) into an intent. `called_as` is the name that selected
    /// this front end, if any.
    fn parse(&self, called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError>;
}

/// Request of a command line.
pub enum Intent {
    /// Load.
    Run(Box<Job>),
    /// Prints a text on standard output: help, a version, the plans.
    Say(String),
    /// A page of the documents, in Markdown.
    Read(String),
    /// Writes files with these names and texts into a folder.
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
    /// Measures the client's own ceiling.
    MeasureClient(Box<ClientCheck>),
    /// A folder of saved runs.
    History(HistoryJob),
    /// Compares the newest saved runs with earlier ones.
    Baseline(BaselineJob),
    /// Two servers, or two saved runs.
    Compare(Box<CompareJob>),
    /// Finds what spoils results on this machine.
    Doctor(Box<Checkup>),
    /// Recorded traffic, sent again.
    Replay(Box<ReplayJob>),
    /// A command that is ready to run.
    Carry(Box<dyn FnOnce() -> Result<End>>),
    /// A client of a coordinator.
    Hold,
    /// Words, and an exit code of another tool's.
    Tell(ToolMessage),
}

impl Intent {
    /// Wraps a function that runs a command.
    pub fn carry(command: impl FnOnce() -> Result<End> + 'static) -> Self {
        Self::Carry(Box::new(command))
    }

    /// Returns whether keystorm decides the layout of the output: these are its own sentences, not another
    /// tool's text.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::Run(job) => !job.output.options.persona.is_peer(),
            Self::Say(_) | Self::Read(_) | Self::Write(..) | Self::Tell(_) => false,
            Self::Sink(_) | Self::Hold => false,
            _ => true,
        }
    }
}
