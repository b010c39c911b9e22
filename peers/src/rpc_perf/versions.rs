//! Files of versions before 5: which one a file is of.

use super::document::Document;
use super::fault::Fault;

/// A version with a schema of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// `[[workload]]` with a method and a rate; the server is on the command line.
    Two,
    /// `[[keyspace]]`, and everything else in `[general]`.
    Three,
    /// `[[keyspace]]`, `[target]`, `[connection]` and `[request]`.
    Four,
}

impl Version {
    /// The older version that a file is of, if it is of one.
    pub(super) fn from_document(file: &Document<'_>) -> Option<Self> {
        if file.has("workload") {
            return Some(Self::Two);
        }
        if !file.has("keyspace") {
            return None;
        }
        let flat = !["[request]", "[target]", "[connection]"].iter().any(|name| file.has(name));
        Some(if flat { Self::Three } else { Self::Four })
    }

    /// Name of the version.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Two => "1.x or 2.x",
            Self::Three => "3.x",
            Self::Four => "4.0",
        }
    }
}

/// Refuses a file of an older version, by its name.
pub(super) fn check(file: &Document<'_>) -> Result<(), Fault> {
    let Some(version) = Version::from_document(file) else { return Ok(()) };
    let name = version.name();
    Err(file
        .broken("", format!("this is a file of rpc-perf {name}; convert it to 5.x with --convert")))
}
