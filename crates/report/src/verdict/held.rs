//! Share of a run that programs other than client and server may have taken, regardless of its effect.
//!
//! Used for comparisons with runs of another time. Runs in turn have the same noise and do not need it.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::threads::SATURATED;
use crate::Run;

/// Shares of a run that others took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Share of time for which the most delayed thread waited for a CPU, or for which the hypervisor gave it
    /// to others.
    pub share: f64,
    /// Share of requests that may have been delayed by it: those due during these times and, with a schedule,
    /// those after them until the backlog was gone.
    pub delayed: f64,
}

/// Returns the standard deviation, as a share, that noise adds to a figure which it may change by up to
/// `factor`. Between nothing and all of it, any effect is as likely: two runs of the same noise differ by it.
pub fn noise_deviation(factor: f64) -> f64 {
    factor.ln() / 12.0_f64.sqrt()
}

/// Greatest share; beyond it there is nothing to judge by.
const HELD_MAX: f64 = 0.99;

impl Held {
    /// Returns the shares of a run that others took.
    pub fn of_run(run: &Run) -> Self {
        let evidence = Evidence::new(&run.plan, &run.measurement, &run.watched);
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        let threads = [evidence.client, server].into_iter().flatten();
        let cpus = run.host.as_ref().and_then(|host| host.cpu.logical).unwrap_or(1) as usize;
        // All that the hypervisor took may have come off one CPU.
        let stolen = evidence.stolen * cpus.max(evidence.cpus.unwrap_or(1)) as f64;
        let held = threads.clone().map(|thread| thread.held()).fold(stolen.min(1.0), f64::max);
        let busy = threads.map(|thread| thread.cpu).fold(0.0, f64::max).min(SATURATED);
        let behind = if evidence.schedule.is_some() { 1.0 / (1.0 - busy) } else { 1.0 };
        Self { share: held, delayed: (held * behind).min(1.0) }
    }

    /// The amounts by which these shares exceed `other`.
    pub fn beyond(self, other: Self) -> Self {
        let more = |ours: f64, theirs: f64| (ours - theirs).max(0.0);
        Self { share: more(self.share, other.share), delayed: more(self.delayed, other.delayed) }
    }

    /// The shares that `self` and `other` have in common.
    pub fn common(self, other: Self) -> Self {
        Self { share: self.share.min(other.share), delayed: self.delayed.min(other.delayed) }
    }

    /// Factor by which a figure of work per time may be better than measured.
    pub fn factor(self) -> f64 {
        1.0 / (1.0 - self.share.min(HELD_MAX))
    }

    /// The mean of several; zero for an empty list.
    pub fn mean(all: impl ExactSizeIterator<Item = Self>) -> Self {
        let count = all.len().max(1) as f64;
        all.fold(Self::default(), |sum, of| Self {
            share: sum.share + of.share / count,
            delayed: sum.delayed + of.delayed / count,
        })
    }
}
