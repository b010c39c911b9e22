//! Errors of saved runs.

use measure::CodecError;
use thiserror::Error;

/// Reason why a document cannot be written or read, in words for a person. May quote the document, and so
/// must be escaped for display.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RecordError(pub(super) String);

impl RecordError {
    /// Makes the error for a document, or data to be written, that contradicts itself.
    pub fn wrong(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl From<CodecError> for RecordError {
    fn from(error: CodecError) -> Self {
        Self(error.to_string())
    }
}
