//! The end of an interval: the collector gets a full tally, and an empty one replaces it.

use engine::thread_cpu;
use measure::{Interval, NodeTally, Slices, Tally, WorkerUse};

use super::{Phase, Recorder};
use crate::collect::{Message, RecorderResult};
use crate::{Gauges, INTERVAL_NS};

impl Recorder {
    /// CPU time of the calling thread since its last hand-over.
    pub(crate) fn cpu_since_turn_ns(&self) -> u64 {
        let cpu_ns = (thread_cpu() - self.cpu_from).as_nanos() as u64;
        cpu_ns.saturating_sub(self.gauges.cpu_ns)
    }

    /// Time at which [`turn`](Self::turn) is due next.
    #[inline]
    pub(crate) fn wake_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Hands over the tally with the worker's gauges and CPU time if its interval has ended.
    #[inline]
    pub(crate) fn turn(&mut self, now_ns: u64, gauges: impl FnOnce() -> Gauges) {
        if now_ns < self.interval_end_ns {
            return;
        }
        let cpu_ns = (thread_cpu() - self.cpu_from).as_nanos() as u64;
        self.gauges = Gauges { cpu_ns, ..gauges() };
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
                self.interval_from_ns = from_ns + interval * INTERVAL_NS;
                self.interval_end_ns = self.interval_from_ns + INTERVAL_NS;
            }
        }
    }

    pub(super) fn hand_over(&mut self) {
        let tally = self.take_tally();
        let empty = vec![Slices::default(); self.slices.len()];
        let slices = std::mem::replace(&mut self.slices, empty);
        let message = self.message(tally, slices);
        self.full.send(message);
    }

    /// Takes the tally, in place of which there is an empty one.
    fn take_tally(&mut self) -> Tally {
        let empty = self.empty.try_recv().unwrap_or_else(|_| Tally::new(&self.shape));
        std::mem::replace(&mut self.tally, empty)
    }

    fn message(&mut self, tally: Tally, slices: Vec<Slices>) -> Message {
        let warm = !matches!(self.phase, Phase::Measured { .. });
        let interval =
            Interval { index: self.interval, worker: self.worker, tally: Some(tally), slices };
        let failed = std::mem::take(&mut self.failed);
        Message::Interval { interval, gauges: self.gauges, warm, failed }
    }

    /// Returns the remaining messages of a worker or a receiver thread, in order; the last has the figures of the whole
    /// run.
    pub(crate) fn finish(mut self, nodes: Vec<NodeTally>, spent: WorkerUse) -> Vec<Message> {
        let span = match self.phase {
            Phase::Measured { from_ns } => Some((from_ns, self.last_end_ns)),
            Phase::Before | Phase::Warmup { .. } => None,
        };
        let tally = self.take_tally();
        let slices = std::mem::take(&mut self.slices);
        let (by_connection, log) = self.optional.take();
        let delayed = self.delayed.take();
        let absences = std::mem::take(&mut self.absences);
        let last = self.message(tally, slices);
        let finished = RecorderResult { span, absences, delayed, by_connection, log };
        let mut messages = self.full.end_with(last);
        messages.push(Message::Done { worker: self.worker, spent, finished, nodes });
        messages
    }
}
