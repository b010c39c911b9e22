//! Answers to a command line that end without a run.

use std::fmt;

use naming::Text;
use spec::SpecError;

/// Message that another tool prints without a run, and its exit code.
#[derive(Debug)]
pub struct ToolMessage {
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

/// A command line that makes no sense, in words for the person who typed it.
#[derive(Debug)]
pub struct UsageError(
    /// Text that says what is wrong, and what to do.
    pub String,
);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

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
