//! Messages beside results: the only code that writes to standard error.
//!
//! Such messages must not spoil measurements. Failures to write, such as to a file on a full disk, are
//! ignored. A closed pipe is [`ClosedPipe`], which ends the program as SIGPIPE ends others.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::OnceLock;

use crate::job::{Output, VerdictTo};
use anyhow::{Context, Result};
use workload::streams;
use workload::typed_login::TypedLogins;

use crate::console::{bar, wrap};

/// The error for a closed pipe at the other end of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader of the output is gone")]
pub struct ClosedPipe;

/// Logins of the command line, which no message may quote.
static TYPED: OnceLock<TypedLogins> = OnceLock::new();

/// Hides these texts in all later output.
pub fn conceal(typed: TypedLogins) {
    let _ = TYPED.set(typed);
}

/// An error without these logins, and without text after the port of an address.
pub fn concealed(error: &str) -> Cow<'_, str> {
    match TYPED.get() {
        Some(typed) => Cow::Owned(typed.hide_in_error(error)),
        None => Cow::Borrowed(error),
    }
}

/// Prints a line on standard error.
///
/// # Errors
/// Returns an error if the pipe is closed.
pub fn say(line: impl Display) -> Result<(), ClosedPipe> {
    put(&format!("{line}\n"))
}

/// Prints text to standard error as it is.
///
/// # Errors
/// Returns an error if the pipe is closed.
pub fn put(text: &str) -> Result<(), ClosedPipe> {
    let text = TYPED.get().map_or(Cow::Borrowed(text), |typed| Cow::Owned(typed.hide(text)));
    let text = wrap::wrapped(&text, wrap::columns(&io::stderr()));
    // In one piece, so that lines of two programs in one file stay whole.
    match bar::out_of_the_way(|| streams::errors().write_all(text.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Formats an error in the words that readers of another tool's standard error look for. An error reply of
/// the server is already quoted as an error.
pub fn as_error(why: &str, is_of_server: bool) -> String {
    if is_of_server { why.to_owned() } else { format!("Error: {why}") }
}

/// A destination of messages beside results.
pub enum Diagnostics {
    /// Standard error.
    Stderr,
    /// None: the imitated tool prints nothing there when a run goes well.
    Nowhere,
    /// Appended to a file.
    File(File),
}

impl Diagnostics {
    /// Prints a line to the destination.
    ///
    /// # Errors
    /// Returns an error if the pipe is closed.
    pub fn say(&self, line: impl Display) -> Result<(), ClosedPipe> {
        match self {
            Self::Stderr => say(line),
            Self::Nowhere => Ok(()),
            // As with standard error, a full disk spoils no run.
            Self::File(file) => {
                let _ = (&*file).write_all(format!("{line}\n").as_bytes());
                Ok(())
            }
        }
    }

    /// Opens the destination.
    fn new(to: &VerdictTo) -> Result<Self> {
        Ok(match to {
            VerdictTo::Nowhere => Self::Nowhere,
            VerdictTo::File(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Self::File(file.with_context(|| {
                    format!("KEYSTORM_VERDICT: {} cannot be written", path.display())
                })?)
            }
            VerdictTo::Report | VerdictTo::Stderr => Self::Stderr,
        })
    }
}

/// Messages of a run beside its results, by kind.
pub struct Asides {
    /// Remarks on the server, the machine and the command line.
    pub remarks: Diagnostics,
    /// Verdicts and warnings of the tests.
    pub verdicts: Diagnostics,
}

impl Asides {
    /// Opens the destinations.
    ///
    /// # Errors
    /// Returns an error if the file for verdicts cannot be written.
    pub fn open(output: &Output) -> Result<Self> {
        let verdicts = match (&output.verdict, output.format) {
            // The layout has room for it.
            (VerdictTo::Report, format) if report::prints_verdicts(format, output.options) => {
                Diagnostics::Nowhere
            }
            (to, _) => Diagnostics::new(to)?,
        };
        let remarks = if output.options.persona.unasked {
            Diagnostics::Stderr
        } else {
            Diagnostics::new(&output.verdict)?
        };
        Ok(Self { remarks, verdicts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_added_to() {
        let dir = tempfile::tempdir().unwrap();
        let to = VerdictTo::File(dir.path().join("verdicts"));
        for line in ["one", "two"] {
            Diagnostics::new(&to).unwrap().say(line).unwrap();
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("verdicts")).unwrap(), "one\ntwo\n");
        let nowhere = VerdictTo::File("/no/such/file".into());
        let error = Diagnostics::new(&nowhere).err().unwrap();
        assert!(error.to_string().contains("KEYSTORM_VERDICT: /no/such/file"), "{error}");
    }
}
