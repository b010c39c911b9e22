//! A log of operations: the end and the duration of each.
//!
//! Kept beside the tally, which counts latencies, if asked for. Grows by parts of fixed size, so that no
//! entry is copied while load runs, and stops at a bound.

use crate::{OperationOutcome, Outcome, Sample};

const NS_PER_US: u64 = 1_000;

/// Entries of one part: 64 KiB.
const PART: usize = 4096;

/// Bytes of an entry.
const ENTRY_BYTES: u64 = size_of::<LogEntry>() as u64;

/// Entry of an operation, or of a command of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// Microseconds from the start of the measured part to its last reply.
    pub done_us: u64,
    /// Microseconds from sent to done, 71 minutes at most.
    pub service_us: u32,
    /// Microseconds from due to done, 71 minutes at most; in a closed loop equal to `service_us`.
    pub response_us: u32,
}

/// Outcome of a logged operation or command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedOutcome {
    /// With a value, a status or a collection.
    Ok,
    /// A key that it asked for did not exist.
    Missed,
    /// With an error.
    Failed,
    /// With a value that differs from the one that was written.
    Wrong,
}

/// Times at which a request was due, sent and done, in nanoseconds on the clock of its worker.
#[derive(Debug, Clone, Copy)]
pub struct Stamps {
    /// Time at which the request was due.
    pub intended_ns: u64,
    /// Time at which its bytes were handed to the kernel.
    pub sent_ns: u64,
    /// Time at which its last reply had come.
    pub done_ns: u64,
}

/// The entries of one operation or command, by outcome; each list is in order of time.
#[derive(Debug, Clone, Default)]
pub struct Entries([Vec<Vec<LogEntry>>; 4]);

/// Log of one worker.
#[derive(Debug, Clone)]
pub struct OperationLog {
    /// Start of the measured part; nothing is logged before it.
    from_ns: Option<u64>,
    /// Entries of each distinct command, and in the next field of each operation; `None` for those that are
    /// not logged.
    commands: Vec<Option<Entries>>,
    operations: Vec<Option<Entries>>,
    /// Number of entries that there is room for.
    room: u64,
    left_out: u64,
}

impl Entries {
    /// Returns the entries with this outcome.
    pub fn with_outcome(&self, ended: LoggedOutcome) -> impl Iterator<Item = &LogEntry> {
        self.0[ended as usize].iter().flatten()
    }

    #[inline]
    fn push(&mut self, ended: LoggedOutcome, entry: LogEntry) {
        let parts = &mut self.0[ended as usize];
        match parts.last_mut() {
            Some(part) if part.len() < PART => part.push(entry),
            _ => {
                let mut part = Vec::with_capacity(PART);
                part.push(entry);
                parts.push(part);
            }
        }
    }
}

impl OperationLog {
    /// Makes a log of the marked commands and operations, with `room` for that many entries.
    pub fn new(commands: &[bool], operations: &[bool], room: u64) -> Self {
        let of = |logged: &[bool]| logged.iter().map(|is| is.then(Entries::default)).collect();
        let (commands, operations) = (of(commands), of(operations));
        Self { from_ns: None, commands, operations, room, left_out: 0 }
    }

    /// Approximate size of this many entries in bytes.
    pub fn bytes(entries: u64) -> u64 {
        entries.saturating_mul(ENTRY_BYTES)
    }

    /// The measured part begins now.
    pub fn begin(&mut self, now_ns: u64) {
        self.from_ns = Some(now_ns);
    }

    /// Adds replies that were settled together.
    pub fn record(&mut self, sample: &Sample) {
        let Sample { command, outcome, count, intended_ns, sent_ns, done_ns, .. } = *sample;
        let ended = match outcome {
            Outcome::Ok => LoggedOutcome::Ok,
            Outcome::Miss => LoggedOutcome::Missed,
        };
        self.add(true, command, ended, &Stamps { intended_ns, sent_ns, done_ns }, count);
    }

    /// Adds an error reply, or a `wrong` value.
    pub fn error(&mut self, command: usize, wrong: bool, stamps: &Stamps) {
        let ended = if wrong { LoggedOutcome::Wrong } else { LoggedOutcome::Failed };
        self.add(true, command, ended, stamps, 1);
    }

    /// Adds an operation.
    pub fn operation(&mut self, operation: usize, ended: OperationOutcome, stamps: &Stamps) {
        let ended = match ended {
            OperationOutcome::Ok => LoggedOutcome::Ok,
            OperationOutcome::Missed => LoggedOutcome::Missed,
            OperationOutcome::Failed => LoggedOutcome::Failed,
        };
        self.add(false, operation, ended, stamps, 1);
    }

    #[inline]
    fn add(&mut self, is_command: bool, at: usize, ended: LoggedOutcome, stamps: &Stamps, n: u64) {
        let all = if is_command { &mut self.commands } else { &mut self.operations };
        let (Some(Some(entries)), Some(from_ns)) = (all.get_mut(at), self.from_ns) else { return };
        let Stamps { intended_ns, sent_ns, done_ns } = *stamps;
        let took_us = |since_ns: u64| {
            u32::try_from(done_ns.saturating_sub(since_ns) / NS_PER_US).unwrap_or(u32::MAX)
        };
        let entry = LogEntry {
            done_us: done_ns.saturating_sub(from_ns) / NS_PER_US,
            service_us: took_us(sent_ns),
            response_us: took_us(intended_ns),
        };
        let kept = n.min(self.room);
        for _ in 0..kept {
            entries.push(ended, entry);
        }
        self.room -= kept;
        self.left_out += n - kept;
    }

    /// Entries of one distinct command, if it is logged.
    pub fn of_command(&self, command: usize) -> Option<&Entries> {
        self.commands.get(command)?.as_ref()
    }

    /// Entries of an operation, if it is logged.
    pub fn of_operation(&self, operation: usize) -> Option<&Entries> {
        self.operations.get(operation)?.as_ref()
    }

    /// Returns the number of entries that did not fit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = NS_PER_US;

    fn sample(done_us: u64, count: u64) -> Sample {
        Sample {
            command: 1,
            outcome: Outcome::Ok,
            count,
            bytes: 0,
            intended_ns: 90 * US,
            sent_ns: 100 * US,
            first_byte_ns: 0,
            arrived_ns: None,
            done_ns: done_us * US,
        }
    }

    fn entries(entries: Option<&Entries>, ended: LoggedOutcome) -> Vec<LogEntry> {
        entries.unwrap().with_outcome(ended).copied().collect()
    }

    #[test]
    fn each_is_there_with_its_times_and_nothing_of_what_is_not_logged() {
        let mut log = OperationLog::new(&[false, true], &[true], 100);
        log.record(&sample(200, 5));
        log.begin(50 * US);
        log.record(&sample(300, 2));
        log.record(&Sample { outcome: Outcome::Miss, ..sample(301, 1) });
        log.record(&Sample { command: 0, ..sample(300, 1) });
        let stamps = Stamps { intended_ns: 100 * US, sent_ns: 100 * US, done_ns: 400 * US };
        log.error(1, false, &stamps);
        log.error(1, true, &stamps);
        log.operation(0, OperationOutcome::Failed, &stamps);
        log.operation(1, OperationOutcome::Ok, &stamps);

        let one = LogEntry { done_us: 250, service_us: 200, response_us: 210 };
        let command = log.of_command(1);
        assert_eq!(entries(command, LoggedOutcome::Ok), [one, one]);
        assert_eq!(entries(command, LoggedOutcome::Missed)[0].done_us, 251);
        let failed = LogEntry { done_us: 350, service_us: 300, response_us: 300 };
        assert_eq!(entries(command, LoggedOutcome::Failed), [failed]);
        assert_eq!(entries(command, LoggedOutcome::Wrong), [failed]);
        assert_eq!(entries(log.of_operation(0), LoggedOutcome::Failed), [failed]);
        assert!(log.of_command(0).is_none() && log.of_operation(1).is_none());
        assert_eq!(log.left_out(), 0);
    }

    #[test]
    fn many_are_kept_in_order_and_what_there_is_no_room_for_is_counted() {
        let most = 2 * PART as u64 + 10;
        let mut log = OperationLog::new(&[false, true], &[], most);
        log.begin(0);
        for done_us in 0..most - 1 {
            log.record(&sample(done_us, 1));
        }
        log.record(&sample(most, 3));
        let kept = entries(log.of_command(1), LoggedOutcome::Ok);
        assert_eq!(kept.len() as u64, most);
        assert!(kept.is_sorted_by_key(|entry| entry.done_us));
        assert_eq!(log.left_out(), 2);
        assert_eq!(OperationLog::bytes(most), 16 * most);
    }
}
