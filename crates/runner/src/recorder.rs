//! From settled replies to intervals.
//!
//! Owns a worker's tally of the current interval and the boundary between warm-up and measured
//! part. A full tally is exchanged for an empty one with the collector; nothing is allocated
//! unless the collector falls behind.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::time::Duration;

use measure::{Interval, Outcome, Sample, Tally, TallyShape};

use crate::collect::Message;
use crate::flight::Flight;
use crate::launch::thread_cpu;
use crate::{INTERVAL_NS, Standing};

pub(crate) struct Recorder {
    worker: u16,
    shape: TallyShape,
    tally: Tally,
    /// The replies being put together into one sample.
    group: Option<Sample>,
    phase: Phase,
    /// Number of the interval that the tally is of, and when it ends.
    interval: u32,
    interval_end_ns: u64,
    last_reply_ns: u64,
    /// CPU time of this thread when load began.
    cpu_from: Duration,
    /// What goes with the next interval that is handed over.
    standing: Standing,
    full: SyncSender<Message>,
    empty: Receiver<Tally>,
}

/// What counts at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing yet: connections are being opened.
    Before,
    /// Shown, but not kept; ends at this time.
    Warmup { end_ns: u64 },
    /// Kept; began at this time.
    Measured { from_ns: u64 },
}

impl Recorder {
    pub(crate) fn new(
        worker: u16,
        shape: TallyShape,
        full: SyncSender<Message>,
        empty: Receiver<Tally>,
    ) -> Self {
        Self {
            worker,
            shape,
            tally: Tally::new(&shape),
            group: None,
            phase: Phase::Before,
            interval: 0,
            interval_end_ns: u64::MAX,
            last_reply_ns: 0,
            cpu_from: Duration::ZERO,
            standing: Standing::default(),
            full,
            empty,
        }
    }

    /// Load starts, on the thread that calls.
    pub(crate) fn start(&mut self, start_ns: u64, warmup_ns: u64) {
        self.cpu_from = thread_cpu();
        if warmup_ns == 0 {
            self.measure_from(start_ns);
        } else {
            self.phase = Phase::Warmup { end_ns: start_ns + warmup_ns };
            self.interval_end_ns = start_ns + INTERVAL_NS.min(warmup_ns);
        }
    }

    /// Whether requests sent now are measured. Ends the warm-up when its time has come.
    #[inline]
    pub(crate) fn measuring(&mut self, now_ns: u64) -> bool {
        match self.phase {
            Phase::Measured { .. } => true,
            Phase::Before => false,
            Phase::Warmup { end_ns } => {
                if now_ns >= end_ns {
                    self.hand_over();
                    self.measure_from(end_ns);
                }
                now_ns >= end_ns
            }
        }
    }

    fn measure_from(&mut self, from_ns: u64) {
        self.phase = Phase::Measured { from_ns };
        self.interval = 0;
        self.interval_end_ns = from_ns + INTERVAL_NS;
        self.last_reply_ns = from_ns;
    }

    /// Adds one reply that was settled at `now_ns`.
    #[inline]
    pub(crate) fn reply(&mut self, flight: &Flight, outcome: Outcome, now_ns: u64) {
        if !self.counts(flight) {
            return;
        }
        let command = flight.command as usize;
        if let Some(group) = &mut self.group {
            // The replies to one send that came with one read share every stamp.
            if group.command == command
                && group.outcome == outcome
                && group.sent_ns == flight.sent_ns
                && group.intended_ns == flight.intended_ns
            {
                group.count += 1;
                return;
            }
            self.tally.record(group);
        }
        self.group = Some(Sample {
            command,
            outcome,
            count: 1,
            intended_ns: flight.intended_ns,
            sent_ns: flight.sent_ns,
            first_byte_ns: flight.first_byte_ns,
            done_ns: now_ns,
        });
    }

    /// Adds one error reply.
    pub(crate) fn error(&mut self, flight: &Flight, kind: &str, text: &str, now_ns: u64) {
        if self.counts(flight) {
            self.tally.errors.add(kind, text);
            self.last_reply_ns = now_ns;
        }
    }

    /// A request of the warm-up counts while warming up, and never after.
    #[inline]
    fn counts(&self, flight: &Flight) -> bool {
        flight.measured || matches!(self.phase, Phase::Warmup { .. })
    }

    /// Everything that a read at `now_ns` delivered was added.
    #[inline]
    pub(crate) fn read_ended(&mut self, now_ns: u64, bytes: usize) {
        if let Some(group) = self.group.take() {
            self.tally.record(&group);
            self.last_reply_ns = now_ns;
        }
        self.tally.connections.bytes_in += bytes as u64;
    }

    /// Adds `count` measured requests that were just sent; see [`measure::Lateness`].
    #[inline]
    pub(crate) fn sent(&mut self, due_ns: u64, room_ns: u64, sent_ns: u64, count: u64) {
        if let Some(lateness) = &mut self.tally.lateness {
            lateness.record_n(due_ns, room_ns, sent_ns, count);
        }
    }

    /// Gives access to what is counted of connections.
    #[inline]
    pub(crate) fn connections(&mut self) -> &mut measure::ConnectionTally {
        &mut self.tally.connections
    }

    /// When [`turn`](Self::turn) has something to do next.
    #[inline]
    pub(crate) fn wake_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Hands the tally over if its interval has ended, with where the worker stands; CPU time is
    /// added here.
    #[inline]
    pub(crate) fn turn(&mut self, now_ns: u64, standing: impl FnOnce() -> Standing) {
        if now_ns < self.interval_end_ns {
            return;
        }
        let cpu_ns = (thread_cpu() - self.cpu_from).as_nanos() as u64;
        self.standing = Standing { cpu_ns, ..standing() };
        match self.phase {
            Phase::Before => {}
            Phase::Warmup { end_ns } if now_ns >= end_ns => {
                self.measuring(now_ns);
            }
            Phase::Warmup { end_ns } => {
                self.hand_over();
                self.interval_end_ns = (now_ns + INTERVAL_NS).min(end_ns);
            }
            Phase::Measured { from_ns } => {
                self.hand_over();
                let interval = (now_ns - from_ns) / INTERVAL_NS;
                self.interval = interval as u32;
                self.interval_end_ns = from_ns + (1 + interval) * INTERVAL_NS;
            }
        }
    }

    fn hand_over(&mut self) {
        let empty = self.empty.try_recv().unwrap_or_else(|_| Tally::new(&self.shape));
        let tally = std::mem::replace(&mut self.tally, empty);
        let message = self.message(tally);
        // Never wait for the collector: what it has no room for is added to the next interval.
        if let Err(TrySendError::Full(Message::Interval { interval, .. })) =
            self.full.try_send(message)
        {
            self.tally = interval.tally;
        }
    }

    fn message(&self, tally: Tally) -> Message {
        let warm = !matches!(self.phase, Phase::Measured { .. });
        let interval = Interval { index: self.interval, worker: self.worker, tally };
        Message::Interval { interval, standing: self.standing, warm }
    }

    /// The rest, and the span from where measuring began to the last reply that counted.
    pub(crate) fn finish(mut self) -> (Message, Option<(u64, u64)>) {
        let span = match self.phase {
            Phase::Measured { from_ns } => Some((from_ns, self.last_reply_ns)),
            Phase::Before | Phase::Warmup { .. } => None,
        };
        let tally = std::mem::replace(&mut self.tally, Tally::new(&self.shape));
        (self.message(tally), span)
    }
}
