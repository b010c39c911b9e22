//! Commands of the suite that this server, or the user, lacks.

use super::asked;
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

pub(super) fn missing(evidence: &Evidence) -> Verdict {
    let missing = asked(evidence)?.missing_commands.as_ref().map_err(Clone::clone)?;
    Ok(if missing.is_empty() {
        Outcome::ok("all commands of the suite exist")
    } else {
        Outcome::warn(
            format!("missing or renamed: {}", missing.join(", ")),
            "tests that send them get errors",
            "take rename-command out of the server's configuration, or choose other tests with -t",
        )
    })
}

pub(super) fn forbidden(evidence: &Evidence) -> Verdict {
    let forbidden = asked(evidence)?.forbidden_commands.as_ref().map_err(Clone::clone)?;
    Ok(if forbidden.is_empty() {
        Outcome::ok("the user may run the suite")
    } else {
        Outcome::warn(
            format!("forbidden: {}", forbidden.join(", ")),
            "tests that send them get NOPERM",
            "ACL SETUSER NAME +@all ~*, another user (--user), or other tests with -t",
        )
    })
}
