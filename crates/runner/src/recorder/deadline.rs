//! Cost of a deadline: late answers, and requests that were given up.

use super::Recorder;
use crate::request::LostRequests;

impl Recorder {
    /// Counts requests that were due and ended at these times against the deadline, if there is one.
    #[inline]
    pub(super) fn ended(&mut self, intended_ns: u64, done_ns: u64, count: u64) {
        if let (Some(deadline), Some(limit_ns)) = (&mut self.tally.deadline, self.shape.deadline_ns)
        {
            deadline.ended(limit_ns, intended_ns, done_ns, count);
        }
    }

    /// Adds `commands` measured commands given up at their deadline on the current node, as `counted`
    /// operations or requests; `new` ones had not been sent in part.
    pub(crate) fn missed_deadline(&mut self, commands: u64, counted: u64, new: bool, now_ns: u64) {
        self.abandoned(LostRequests { timed_out: commands, lost: 0 }, now_ns);
        self.past_deadline(counted);
        self.given_up(if new { counted } else { 0 });
    }

    /// Adds measured requests of a schedule that were given up before any connection drew them. With several
    /// nodes, none of them is responsible.
    pub(crate) fn given_up_by_nobody(&mut self, count: u64, now_ns: u64) {
        if self.slices.len() == 1 {
            return self.missed_deadline(count, count, true, now_ns);
        }
        self.tally.connections.timed_out += count;
        self.last_end_ns = now_ns;
        self.past_deadline(count);
        self.given_up(count);
    }

    fn past_deadline(&mut self, count: u64) {
        if let Some(deadline) = &mut self.tally.deadline {
            deadline.given_up += count;
        }
    }

    /// Adds `count` measured requests of a schedule that are lost without being sent.
    pub(crate) fn given_up(&mut self, count: u64) {
        if let Some(lateness) = &mut self.tally.lateness {
            lateness.given_up += count;
        }
    }
}
