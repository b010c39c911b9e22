//! Why a file is not carried out, with the exit code that scripts know.

use cli::job::{ToolMessage, UsageError};

/// Reason why a file is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The file cannot be read, or is none of its schema; exit code 1.
    File(String),
    /// The file is invalid, or requires an unsupported feature; exit code 2.
    Usage(String),
}

impl From<UsageError> for Fault {
    fn from(UsageError(why): UsageError) -> Self {
        rule(why)
    }
}

impl Fault {
    /// The message, and the exit code.
    pub(super) fn describe(self) -> ToolMessage {
        let (line, code) = match self {
            Self::File(line) => (line, 1),
            Self::Usage(line) => (line, 2),
        };
        ToolMessage { out: String::new(), err: line.trim_end().to_owned() + "\n", code }
    }
}

/// Returns the fault for a refusal of keystorm itself.
pub(super) fn rule(why: impl Into<String>) -> Fault {
    Fault::Usage(why.into())
}
