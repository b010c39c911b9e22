//! Messages beside results: the one place that writes to standard error.
//!
//! Messages there must not spoil what is measured. A standard error that takes nothing, such as
//! a file on a full disk, is passed over. One that nobody reads any more is [`ClosedPipe`], which ends
//! the program as SIGPIPE ends others.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use job::{Output, VerdictTo};
use workload::streams;
use workload::typed_login::TypedLogins;

use crate::bar;
use crate::wrap;

/// The error that the reader of our output has closed the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedPipe;

impl Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader of the output is gone")
    }
}

impl std::error::Error for ClosedPipe {}

/// Logins of the command line, which no message may quote.
static TYPED: OnceLock<TypedLogins> = OnceLock::new();

/// Hides these texts in everything that is written from now on.
pub fn conceal(typed: TypedLogins) {
    let _ = TYPED.set(typed);
}

/// An error without them, and without what was typed behind the port of an address.
pub fn concealed(error: &str) -> Cow<'_, str> {
    match TYPED.get() {
        Some(typed) => Cow::Owned(typed.hide_in_error(error)),
        None => Cow::Borrowed(error),
    }
}

/// Prints a line on standard error.
///
/// # Errors
/// Nobody reads it.
pub fn say(line: impl Display) -> Result<(), ClosedPipe> {
    put(&format!("{line}\n"))
}

/// Prints text to standard error as it is.
///
/// # Errors
/// Nobody reads it.
pub fn put(text: &str) -> Result<(), ClosedPipe> {
    let text = TYPED.get().map_or(Cow::Borrowed(text), |typed| Cow::Owned(typed.hide(text)));
    let text = wrap::wrapped(&text, wrap::of_stderr());
    // In one piece, so that lines of two programs in one file stay whole.
    match bar::out_of_the_way(|| streams::errors().write_all(text.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Formats an error in the words that readers of a peer's standard error look for. An error reply of the server is
/// quoted as an error already.
pub fn as_error(why: &str, is_of_server: bool) -> String {
    if is_of_server { why.to_owned() } else { format!("Error: {why}") }
}

/// A destination of messages beside results.
pub enum Diagnostics {
    /// Standard error.
    Stderr,
    /// Nowhere: the imitated tool prints nothing there when a run goes well.
    Nowhere,
    /// The end of a file.
    File(File),
}

impl Diagnostics {
    /// Prints a line there.
    ///
    /// # Errors
    /// Nobody reads it.
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

    /// Opens the destination of such lines.
    fn new(to: &VerdictTo) -> Result<Self> {
        Ok(match to {
            VerdictTo::Nowhere => Self::Nowhere,
            VerdictTo::File(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                let fault = || format!("KEYSTORM_VERDICT: {} cannot be written", path.display());
                Self::File(file.with_context(fault)?)
            }
            VerdictTo::Report | VerdictTo::Stderr => Self::Stderr,
        })
    }
}

/// Messages of a run beside its results, by kind.
pub struct Asides {
    /// Remarks on the server, the machine and the command line.
    pub remarks: Diagnostics,
    /// Verdicts: what limited each test, and what spoiled it.
    pub verdicts: Diagnostics,
}

impl Asides {
    /// Opens them.
    ///
    /// # Errors
    /// The file that verdicts are wanted in cannot be written.
    pub fn open(output: &Output) -> Result<Self> {
        let verdicts = match (&output.verdict, output.format) {
            // The layout has room for it.
            (VerdictTo::Report, format) if report::tells_verdicts(format, output.options) => {
                Diagnostics::Nowhere
            }
            (to, _) => Diagnostics::new(to)?,
        };
        let remarks = if output.options.persona.is_peer() {
            Diagnostics::new(&output.verdict)?
        } else {
            Diagnostics::Stderr
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
