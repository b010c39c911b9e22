//! Certain facts about a target that noise left undecided, and the remedy.

use super::bound::ClauseEvidence;
use super::{Bound, Measure, Outcome};
use crate::{Cause, Disturbance};

/// Describes what noise cannot have caused, a sentence for each violated bound. `left` returns the evidence
/// of the trials for the bound of this number, without everything that noise can have caused.
pub(super) fn certainties<'t, L: Iterator<Item = &'t ClauseEvidence>>(
    bounds: &[Bound],
    left: impl Fn(usize) -> L,
) -> Vec<String> {
    let of_bound = |(at, bound): (usize, &Bound)| {
        let least = ClauseEvidence::together(left(at))?.badness();
        let Bound { clause, outcome, .. } = bound;
        if least <= 0.0 || *outcome == Outcome::Kept {
            return None;
        }
        Some(match clause.measure {
            Measure::Quantile(_) => format!(
                "at least {} of the requests took {} or longer without it",
                Measure::Errors.describe(least),
                clause.describe(clause.below)
            ),
            measure => format!("{measure} was at least {} without it", clause.describe(least)),
        })
    };
    bounds.iter().enumerate().filter_map(of_bound).collect()
}

impl Disturbance {
    /// Describes the event, with the figures that show it.
    pub(super) fn sentence(&self) -> String {
        format!("{}: {}", self.cause.describe(), self.text)
    }

    /// Returns advice against the disturbance in another run.
    pub(super) fn remedy(&self) -> &'static str {
        match self.cause {
            Cause::CpuHeld => {
                "run keystorm before other programs (chrt -f 10 keystorm ...), pin client and server to CPUs of their \
                 own (--cpus, --server-cpus), or use a longer run"
            }
            Cause::CpuShared => {
                "pin client and server to CPUs of their own (--cpus, --server-cpus)"
            }
            Cause::CpuStolen => "use a longer run, or a machine with CPUs of its own",
            Cause::ClientBusy => "use more threads (--threads), or a second machine",
            Cause::ClientQuota => "raise the CPU quota of the client",
            Cause::ClientLate => "run keystorm before other programs (chrt -f 10 keystorm ...)",
            Cause::ClientAbsent => "repeat the run",
        }
    }
}
