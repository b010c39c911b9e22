//! Commands of the suite that this server, or our user, does not have.

use super::asked;
use crate::Evidence;
use crate::finding::{Outcome, Verdict};

pub(super) fn missing(evidence: &Evidence) -> Verdict {
    let missing = asked(evidence)?.missing_commands.as_ref().map_err(Clone::clone)?;
    Ok(if missing.is_empty() {
        Outcome::ok("all of the suite are there")
    } else {
        Outcome::warn(
            format!("missing or renamed: {}", missing.join(", ")),
            "tests that send them are answered by errors",
            "take rename-command out of the server's configuration, or choose other tests with -t",
        )
    })
}

pub(super) fn forbidden(evidence: &Evidence) -> Verdict {
    let forbidden = asked(evidence)?.forbidden_commands.as_ref().map_err(Clone::clone)?;
    Ok(if forbidden.is_empty() {
        Outcome::ok("our user may run the suite")
    } else {
        Outcome::warn(
            format!("forbidden: {}", forbidden.join(", ")),
            "tests that send them are answered by NOPERM",
            "ACL SETUSER NAME +@all ~*, another user (--user), or other tests with -t",
        )
    })
}
