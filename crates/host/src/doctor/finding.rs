//! The result of a check.

use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All is well.
    Ok,
    /// The value could not be seen.
    Unknown,
    /// The value may move the figures.
    Warn,
    /// The value spoils the figures.
    Bad,
}

/// The area of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// This machine.
    Host,
    /// The network between this machine and the server.
    Network,
    /// The server.
    Server,
}

/// Result of a check. Texts may quote a server, so they are escaped before a terminal gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Area of the check.
    pub area: Area,
    /// The name of the check, in words between spaces.
    pub name: String,
    /// Severity.
    pub level: Level,
    /// The value seen; for [`Level::Unknown`], the reason why there is none.
    pub seen: String,
    /// Reason why it matters; empty if all is well.
    pub why: String,
    /// Command or advice to fix it; empty if nothing need be done.
    pub mend: String,
}

impl Finding {
    /// Formats the finding as a warning about a test that followed it; unescaped.
    pub fn of_test(&self) -> String {
        format!("{}: {} when the test began; see keystorm doctor", self.name, self.seen)
    }
}

/// A finding without the name of its check.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) level: Level,
    pub(crate) seen: String,
    pub(crate) why: String,
    pub(crate) mend: String,
}

impl Outcome {
    pub(crate) fn ok(seen: impl Into<String>) -> Self {
        let (seen, why, mend) = (seen.into(), String::new(), String::new());
        Self { level: Level::Ok, seen, why, mend }
    }

    pub(crate) fn unknown(reason: String) -> Self {
        Self { level: Level::Unknown, ..Self::ok(reason) }
    }

    pub(crate) fn warn(
        seen: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { level: Level::Warn, why: why.into(), mend: mend.into(), ..Self::ok(seen) }
    }

    pub(crate) fn bad(
        seen: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { level: Level::Bad, ..Self::warn(seen, why, mend) }
    }

    /// Is bad or a warning for one reason, or ok.
    pub(crate) fn graded(bad: bool, warn: bool, seen: String, why: &str, mend: &str) -> Self {
        if bad { Self::bad(seen, why, mend) } else { Self::ok(seen).warn_if(warn, why, mend) }
    }

    /// Warns on a condition, unless an earlier one held.
    pub(crate) fn warn_if(
        self,
        is_so: bool,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        if is_so && self.level == Level::Ok { Self::warn(self.seen, why, mend) } else { self }
    }

    /// Is bad on a condition, unless an earlier one held.
    pub(crate) fn bad_if(
        self,
        is_so: bool,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        if is_so && self.level == Level::Ok { Self::bad(self.seen, why, mend) } else { self }
    }
}

/// Result of a check; `Err` is the reason why it is unknown.
pub(crate) type Verdict = Result<Outcome, String>;
