//! Number of messages in flight over time: sent and not received yet.
//!
//! A message carries its sending time, so its receiver knows both ends. Times are counted in steps, which
//! grow with the run, so that memory stays bounded. Messages that never came are not included.

use measure::Backlog;

/// Length of a step in a short run.
const FIRST_STEP_NS: u64 = 1_000_000;
/// Maximum number of steps.
const STEPS_MAX: usize = 1 << 15;
/// Maximum number of points in the result.
const POINTS_MAX: usize = 500;

/// Messages sent and received in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Step {
    sent: u64,
    received: u64,
}

/// Messages sent and received, by time.
#[derive(Debug)]
pub(super) struct InFlightTimeline {
    start_ns: u64,
    step_ns: u64,
    steps: Vec<Step>,
}

impl InFlightTimeline {
    /// Creates the timeline of a run whose measured part begins at `start_ns`.
    pub(super) fn new(start_ns: u64) -> Self {
        Self { start_ns, step_ns: FIRST_STEP_NS, steps: Vec::with_capacity(STEPS_MAX) }
    }

    /// Notes a message.
    #[inline]
    pub(super) fn received(&mut self, sent_ns: u64, now_ns: u64) {
        let at = self.step(now_ns);
        let sent = self.step(sent_ns.min(now_ns)).min(at);
        self.steps[sent].sent += 1;
        self.steps[at].received += 1;
    }

    /// Returns the step of a time, and makes room for it.
    #[inline]
    fn step(&mut self, at_ns: u64) -> usize {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        if since_ns / self.step_ns >= self.steps.len() as u64 {
            self.extend(since_ns);
        }
        (since_ns / self.step_ns) as usize
    }

    #[cold]
    fn extend(&mut self, since_ns: u64) {
        while since_ns / self.step_ns >= STEPS_MAX as u64 {
            self.coarsen();
        }
        self.steps.resize((since_ns / self.step_ns) as usize + 1, Step::default());
    }

    /// Puts neighbours together.
    fn coarsen(&mut self) {
        self.step_ns *= 2;
        for at in 0..self.steps.len().div_ceil(2) {
            let (first, second) = (self.steps[2 * at], self.steps.get(2 * at + 1));
            let second = second.copied().unwrap_or_default();
            self.steps[at] =
                Step { sent: first.sent + second.sent, received: first.received + second.received };
        }
        self.steps.truncate(self.steps.len().div_ceil(2));
    }

    /// Adds the counts of another thread.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.step_ns < other.step_ns {
            self.coarsen();
        }
        while other.step_ns < self.step_ns {
            other.coarsen();
        }
        let len = self.steps.len().max(other.steps.len());
        self.steps.resize(len, Step::default());
        for (step, its) in self.steps.iter_mut().zip(other.steps) {
            *step = Step { sent: step.sent + its.sent, received: step.received + its.received };
        }
    }

    /// Returns the number in flight at the end of each step until the last message was sent. Long series are
    /// reduced to the maxima of adjacent steps.
    pub(super) fn backlog(&self) -> Vec<Backlog> {
        let last = self.steps.iter().rposition(|step| step.sent > 0);
        let steps = &self.steps[..last.map_or(0, |last| last + 1)];
        let (mut sent, mut received) = (0u64, 0u64);
        let points = (0..).zip(steps).map(|(at, step)| {
            sent += step.sent;
            received += step.received;
            Backlog { at_ns: (at + 1) * self.step_ns, messages: sent.saturating_sub(received) }
        });
        let all: Vec<Backlog> = points.collect();
        let Some((end, before)) = all.split_last() else { return all };
        let together = before.len().div_ceil(POINTS_MAX).max(1);
        let greatest = |points: &[Backlog]| points.iter().copied().max_by_key(|b| b.messages);
        before.chunks(together).filter_map(greatest).chain([*end]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn messages(under_way: &InFlightTimeline) -> Vec<(u64, u64)> {
        under_way.backlog().iter().map(|b| (b.at_ns / MS, b.messages)).collect()
    }

    #[test]
    fn a_message_is_under_way_from_when_it_is_sent_until_it_is_received() {
        let mut under_way = InFlightTimeline::new(10 * MS);
        assert!(under_way.backlog().is_empty());
        for (sent, received) in [(10, 10), (10, 13), (11, 13), (12, 20)] {
            under_way.received(sent * MS, received * MS);
        }
        assert_eq!(messages(&under_way), [(1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn threads_of_different_lengths_add_up() {
        let (mut short, mut long) = (InFlightTimeline::new(0), InFlightTimeline::new(0));
        short.received(0, 100 * MS);
        long.received(0, 50_000 * MS);
        long.received(49_999 * MS, 50_000 * MS);
        assert_eq!(long.step_ns, 2 * MS);
        short.merge(long);
        let backlog = short.backlog();
        assert_eq!(backlog[0].messages, 2);
        assert_eq!(backlog.last().unwrap().messages, 2, "when the last was sent");
        assert!(backlog.len() <= POINTS_MAX + 1);
    }
}
