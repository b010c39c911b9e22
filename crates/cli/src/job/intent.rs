//! Intents of command lines, and the trait of front ends that parse them.

use std::borrow::Cow;
use std::ffi::OsString;

use clap::Command;
use naming::OptionId;
use workload::Plan;

use crate::job::{End, Job, ToolMessage, UsageError};

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

    /// The kinds of the command that have an option of this name without hyphens, where only some have it.
    fn kinds_with(&self, _option: &str) -> Vec<&'static str> {
        Vec::new()
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
    /// A command that is ready to be carried out.
    Carry(Box<dyn FnOnce() -> anyhow::Result<End>>),
    /// A client of a coordinator.
    Hold,
    /// A message and an exit code of another tool.
    Tool(ToolMessage),
}

impl Intent {
    /// Plans as JSON, without the options that asked for them.
    ///
    /// # Errors
    /// Returns an error if a plan cannot be written as JSON.
    pub fn plans<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Result<Self, UsageError> {
        let plans: Vec<Plan> = plans.into_iter().map(Plan::without_options).collect();
        let text = report::json::pretty(&plans);
        text.map(|text| Self::Say(text + "\n")).map_err(|why| UsageError(why.to_string()))
    }

    /// A command that is carried out by this.
    pub fn carry(command: impl FnOnce() -> anyhow::Result<End> + 'static) -> Self {
        Self::Carry(Box::new(command))
    }

    /// Returns whether keystorm decides the layout of the output: these are its own sentences, not another
    /// tool's text.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::Run(job) => job.output.options.persona.own_words,
            Self::Say(_) | Self::Read(_) | Self::Tool(_) | Self::Hold => false,
            _ => true,
        }
    }
}
