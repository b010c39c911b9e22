//! Answers to a command line that end without a run.

use naming::Text;
use spec::SpecError;
use workload::PlanError;

/// Message that another tool prints without a run, and its exit code.
#[derive(Debug)]
pub struct ToolMessage {
    /// Text for standard output.
    pub out: String,
    /// Text for standard error.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

/// A usage error, in words for the person who typed the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(
    /// Text that says what is wrong, and what to do.
    pub String,
);

impl From<Text> for UsageError {
    fn from(why: Text) -> Self {
        Self(why.into())
    }
}

impl From<SpecError> for UsageError {
    fn from(SpecError { why, .. }: SpecError) -> Self {
        why.into()
    }
}

impl From<PlanError> for UsageError {
    fn from(PlanError(why): PlanError) -> Self {
        why.into()
    }
}

impl From<String> for UsageError {
    fn from(text: String) -> Self {
        Self(text)
    }
}
