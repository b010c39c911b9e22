//! Errors of the command line: text and exit code of each.

use cli::job::{ToolMessage, UsageError};

use super::option_list::short_usage;

/// Reason why a command line is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// A line on standard error, and how to get help on standard output; exit code 2.
    Usage(String),
    /// A line on standard error; exit code 1.
    Check(String),
}

/// A value that makes no sense, as it is read.
pub(super) fn usage_error(why: impl Into<String>) -> Fault {
    Fault::Usage(format!("error: {}", why.into()))
}

/// Options that make no sense together, found later.
pub(super) fn check_error(why: impl Into<String>) -> Fault {
    Fault::Check(format!("error: {}", why.into()))
}

impl From<UsageError> for Fault {
    fn from(UsageError(why): UsageError) -> Self {
        check_error(why.trim_end())
    }
}

impl Fault {
    /// The text, the stream it goes to, and the exit code.
    pub(super) fn describe(self) -> ToolMessage {
        match self {
            Self::Usage(text) => ToolMessage { out: short_usage(), err: safe(&text), code: 2 },
            Self::Check(text) => ToolMessage { out: String::new(), err: safe(&text), code: 1 },
        }
    }
}

/// Lines that may quote what was typed, a carriage return of a script of another system, for instance.
fn safe(text: &str) -> String {
    text.lines().map(|line| report::escape(line) + "\n").collect()
}
