//! Files of versions before 5: which one a file is of.

use super::fault::Fault;
use super::table::Table;

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
    pub(super) fn from_table(root: &Table<'_, '_>) -> Option<Self> {
        if root.has("workload") && root.table("workload").is_err() {
            return Some(Self::Two);
        }
        if !root.has("keyspace") {
            return None;
        }
        let flat = !["request", "target", "connection"].iter().any(|section| root.has(section));
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
pub(super) fn check(root: &Table<'_, '_>) -> Result<(), Fault> {
    let Some(version) = Version::from_table(root) else { return Ok(()) };
    Err(root.broken(
        "",
        format!("this is a file of rpc-perf {}; convert it to 5.x with --convert", version.name()),
    ))
}
