//! Which of several nodes has answered soonest of late, and so is asked.
//!
//! Owns a moving average of each node and when to look at the others again. What the time of an answer is,
//! and which nodes there are to choose from, is left to the caller.

/// An answer moves the average by this part of the difference.
const PART: u64 = 16;
/// Answers of a node before its average counts.
const KNOWN_AFTER: u32 = 8;
/// Number of reads of which one goes to a node in turn, so that a node which has become nearer is noticed.
const LOOK_AROUND_EVERY: usize = 64;

/// Moving average of the time that a node takes to answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AnswerTime {
    mean_ns: u64,
    answers: u32,
}

impl AnswerTime {
    /// Adds the time of one more answer.
    #[inline]
    pub(super) fn add(&mut self, took_ns: u64) {
        self.mean_ns = match self.answers {
            0 => took_ns,
            _ => self.mean_ns - self.mean_ns / PART + took_ns / PART,
        };
        self.answers = self.answers.saturating_add(1);
    }

    fn is_known(&self) -> bool {
        self.answers >= KNOWN_AFTER
    }
}

/// The node that the read with this number goes to: each in turn until all are known.
#[inline]
pub(super) fn choose<'a>(
    master: u16,
    replicas: &[u16],
    number: usize,
    answers: impl Fn(u16) -> &'a AnswerTime,
) -> u16 {
    let in_turn = |turn: usize| match turn % (replicas.len() + 1) {
        0 => master,
        nth => replicas[nth - 1],
    };
    if number.is_multiple_of(LOOK_AROUND_EVERY) {
        return in_turn(number / LOOK_AROUND_EVERY);
    }
    let (mut nearest, mut least_ns) = (master, u64::MAX);
    for node in std::iter::once(master).chain(replicas.iter().copied()) {
        let time = answers(node);
        if !time.is_known() {
            return in_turn(number);
        }
        if time.mean_ns < least_ns {
            (nearest, least_ns) = (node, time.mean_ns);
        }
    }
    nearest
}
