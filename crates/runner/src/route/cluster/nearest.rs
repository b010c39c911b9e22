//! Choice of the node that has recently answered fastest.
//!
//! Owns a moving average for each node and the times for another look at the others. The caller measures
//! answers and names the candidates.

/// Divisor of the difference by which an answer moves the average.
const PART: u64 = 16;
/// Answers of a node before its average counts.
const KNOWN_AFTER: u32 = 8;
/// Interval, in reads, at which one goes to a node in turn, so that a node which has become nearer is
/// noticed.
const LOOK_AROUND_EVERY: usize = 64;

/// Moving average of a node's answer time.
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

/// Returns the node for the read with this number: each in turn until all are known.
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
