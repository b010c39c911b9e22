//! Figures of one owner: counts and histograms per command, and of the connections.
//!
//! A property test holds that parts sum to the whole.

use serde::{Deserialize, Serialize};

use crate::total::Total;
use crate::{
    CommandTally, ConnectionTally, DeadlineTally, ErrorCounts, KeyCounts, Latency, Lateness,
    OperationTally, Outcome, Sample, Spans, TallyShape,
};

fn all<'l>(mut latencies: impl Iterator<Item = &'l Latency>) -> Latency {
    let mut all = latencies.next().cloned().unwrap_or_else(|| Latency::new(1));
    latencies.for_each(|l| all.merge(l));
    all
}

/// All figures of one owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tally {
    /// Figures of each different command of the sequence.
    pub commands: Vec<CommandTally>,
    /// Figures of each operation, if some have several commands; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationTally>,
    /// Error replies of all commands.
    pub errors: ErrorCounts,
    /// Counts and times of connections.
    pub connections: ConnectionTally,
    /// Lateness of requests, if they have due times of their own.
    #[serde(rename = "lateness_ms", skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// Parts of response times without error replies, if the kernel stamps replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<Box<Spans>>,
    /// Counts of late and given-up requests, if there is a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DeadlineTally>,
}

impl Tally {
    /// An empty tally.
    pub fn new(shape: &TallyShape) -> Self {
        Self {
            commands: (0..shape.commands).map(|_| CommandTally::new(shape)).collect(),
            operations: (0..shape.operations).map(|_| OperationTally::new(shape)).collect(),
            errors: ErrorCounts::default(),
            connections: ConnectionTally::new(),
            lateness: shape.scheduled.then(Lateness::default),
            spans: shape.spans.then(|| Box::new(Spans::new(shape.precision))),
            deadline: shape.deadline_ns.map(|_| DeadlineTally::default()),
        }
    }

    /// Approximate size in bytes of a tally's histograms.
    pub fn bytes(shape: &TallyShape) -> u64 {
        let timed = (1 + u64::from(shape.scheduled)) * (1 + 2 * u64::from(shape.separate_failures));
        let histograms = timed + u64::from(shape.first_byte);
        let latency = Latency::bytes(shape.precision);
        let commands = (shape.commands as u64).saturating_mul(histograms * latency);
        let spans = if shape.spans { Spans::bytes(shape.precision) } else { 0 };
        let operations = (shape.operations as u64).saturating_mul(timed * latency);
        commands.saturating_add(operations).saturating_add(spans)
    }

    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        let command = &mut self.commands[sample.command];
        let count = sample.count;
        match sample.outcome {
            Outcome::Ok => command.ok += count,
            Outcome::Miss => command.miss += count,
        }
        command.bytes_in += sample.bytes;
        if let Some(spans) = &mut self.spans {
            spans.record(sample);
        }
        let Sample { intended_ns, sent_ns, done_ns, .. } = *sample;
        if let Some(first) = &mut command.first_byte {
            first.record_n(sample.first_byte_ns.saturating_sub(sent_ns), count);
        }
        if sample.outcome == Outcome::Miss
            && let Some(failures) = &mut command.separate_failures
        {
            return failures.missed.record_n(intended_ns, sent_ns, done_ns, count);
        }
        command.service.record_n(sample.done_ns.saturating_sub(sample.sent_ns), count);
        if let Some(response) = &mut command.scheduled_response {
            response.record_n(sample.done_ns.saturating_sub(sample.intended_ns), count);
        }
    }

    /// Number of answered requests, including errors.
    pub fn requests(&self) -> u64 {
        self.succeeded().saturating_add(self.errors.total())
    }

    /// Number of requests answered without an error.
    pub fn succeeded(&self) -> u64 {
        self.commands.iter().flat_map(|c| [c.ok, c.miss]).fold(0, u64::saturating_add)
    }

    /// Number of operations that ended, including failed ones, which `-n` and a rate count; without
    /// multi-command operations, of answered requests.
    pub fn operations_ended(&self) -> u64 {
        if self.operations.is_empty() {
            return self.requests();
        }
        self.operations.iter().map(OperationTally::ended).fold(0, u64::saturating_add)
    }

    /// Returns the number answered without an error within the deadline, if there is one: operations if these
    /// have figures of their own, otherwise requests.
    pub fn in_time(&self) -> Option<u64> {
        let late = self.deadline?.late;
        let answered: u64 = if self.operations.is_empty() {
            self.requests().saturating_sub(self.errors.total())
        } else {
            let operations = self.operations.iter().map(|o| o.ok.saturating_add(o.missed));
            operations.fold(0, u64::saturating_add)
        };
        Some(answered.saturating_sub(late))
    }

    /// Keys of all commands whose replies say how many exist.
    pub fn keys(&self) -> KeyCounts {
        let mut all = KeyCounts::default();
        self.commands.iter().for_each(|command| all.merge(&command.keys));
        all
    }

    /// Service times of all operations together; without multi-command operations, of all commands.
    pub fn service(&self) -> Latency {
        if self.operations.is_empty() {
            all(self.commands.iter().map(|c| &c.service))
        } else {
            all(self.operations.iter().map(|o| &o.service))
        }
    }

    /// Response times of all operations together; without multi-command operations, of all commands.
    pub fn response(&self) -> Latency {
        if self.operations.is_empty() {
            all(self.commands.iter().map(CommandTally::response))
        } else {
            all(self.operations.iter().map(OperationTally::response))
        }
    }

    /// First-byte latencies of all commands together; empty if not asked for.
    pub fn first_byte(&self) -> Latency {
        all(self.commands.iter().filter_map(|c| c.first_byte.as_ref()))
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Self { commands, operations, errors, connections, lateness, spans, deadline } = other;
        assert_eq!(self.commands.len(), commands.len(), "tallies of one plan have its commands");
        assert_eq!(self.operations.len(), operations.len(), "and its operations");
        self.commands.iter_mut().zip(commands).for_each(|(a, b)| a.merge(b));
        self.operations.iter_mut().zip(operations).for_each(|(a, b)| a.merge(b));
        self.errors.merge(errors);
        self.connections.merge(connections);
        self.lateness.merge(lateness);
        self.spans.merge(spans);
        self.deadline.merge(deadline);
    }

    /// Adds the senders' errors, connections and lateness to the receivers' figures; leaves out their
    /// replies.
    pub fn add_senders(&mut self, sending: &Self) {
        self.errors.merge(&sending.errors);
        self.connections.merge(&sending.connections);
        self.lateness.clone_from(&sending.lateness);
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        let Self { commands, operations, errors, connections, lateness, spans, deadline } = self;
        commands.iter().all(Total::is_empty)
            && operations.iter().all(Total::is_empty)
            && errors.total() == 0
            && connections.is_empty()
            && lateness.is_empty()
            && spans.is_empty()
            && deadline.is_empty()
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        let Self { commands, operations, errors, connections, lateness, spans, deadline } = self;
        commands.iter_mut().for_each(Total::clear);
        operations.iter_mut().for_each(Total::clear);
        *errors = ErrorCounts::default();
        connections.clear();
        lateness.clear();
        spans.clear();
        deadline.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OperationOutcome;
    use proptest::prelude::*;

    const SHAPE: TallyShape = TallyShape {
        commands: 2,
        precision: 3,
        scheduled: true,
        first_byte: true,
        operations: 2,
        separate_failures: true,
        places: 3,
        spans: true,
        deadline_ns: Some(2_000_000),
    };

    fn sample() -> impl Strategy<Value = Sample> {
        (0usize..2, any::<bool>(), 1u64..20, 0u64..1000, 0u64..1000, 0u64..5_000_000).prop_map(
            |(command, hit, count, late, first, service)| Sample {
                command,
                outcome: if hit { Outcome::Ok } else { Outcome::Miss },
                count,
                bytes: 7 * count,
                intended_ns: 10_000,
                sent_ns: 10_000 + late,
                first_byte_ns: 10_000 + late + first,
                arrived_ns: Some(10_000 + late + first + service / 2),
                done_ns: 10_000 + late + first + service,
            },
        )
    }

    fn tally(samples: &[Sample], errors: &[u8]) -> Tally {
        let mut tally = Tally::new(&SHAPE);
        for sample in samples {
            tally.record(sample);
            let Sample { command, intended_ns, sent_ns, done_ns, .. } = *sample;
            let ended = match sample.count {
                11.. => OperationOutcome::Missed,
                5 => OperationOutcome::Failed,
                _ => OperationOutcome::Ok,
            };
            tally.operations[command].record(ended, intended_ns, sent_ns, done_ns);
            let deadline = tally.deadline.as_mut().unwrap();
            deadline.ended(2_000_000, intended_ns, done_ns, 1);
            deadline.given_up += sample.count;
            tally.commands[command].errors += 1;
            tally.commands[command].bytes_out += 2;
            tally.commands[command].add_places(&[sample.outcome == Outcome::Ok, true]);
        }
        for kind in errors {
            tally.errors.add(["ERR", "OOM", "WRONGTYPE"][usize::from(kind % 3)], "text");
        }
        tally.connections.pushes = samples.len() as u64;
        for sample in samples {
            let version = ["TLSv1.2", "TLSv1.3"][sample.command];
            tally.connections.tls.add(sample.count, sample.count > 9, version, "AES");
        }
        tally.connections.bytes_in = errors.len() as u64;
        for s in samples {
            let lateness = tally.lateness.as_mut().unwrap();
            lateness.record_n(s.intended_ns, 0, s.sent_ns, s.count);
            lateness.due += s.count + 1;
        }
        tally
    }

    fn figures(tally: &Tally) -> String {
        let mut text = String::new();
        let mut kinds = tally.errors.by_kind().to_vec();
        kinds.sort();
        let commands = tally.commands.iter().map(|c| &c.separate_failures);
        for failures in
            commands.chain(tally.operations.iter().map(|o| &o.separate_failures)).flatten()
        {
            for timed in [&failures.missed, &failures.failed] {
                for l in [Some(&timed.service), timed.scheduled_response.as_ref()] {
                    let l = l.unwrap();
                    text += &format!("{:?} {:?}\n", l.mean_ns(), l.recorded().collect::<Vec<_>>());
                }
            }
        }
        for c in &tally.commands {
            for l in [&c.service, c.response(), c.first_byte.as_ref().unwrap()] {
                text += &format!("{:?} {:?}\n", l.mean_ns(), l.recorded().collect::<Vec<_>>());
            }
            text += &format!("{} {} {} ", c.ok, c.miss, c.errors);
            text += &format!("{} {} {:?}\n", c.bytes_out, c.bytes_in, c.places);
        }
        for o in &tally.operations {
            for l in [&o.service, o.response()] {
                text += &format!("{:?} {:?}\n", l.mean_ns(), l.recorded().collect::<Vec<_>>());
            }
            text += &format!("{} {} {}\n", o.ok, o.missed, o.failed);
        }
        let spans = tally.spans.as_ref().unwrap();
        let sums: Vec<_> = spans.sums().collect();
        let read: Vec<_> = spans.read.recorded().collect();
        text += &format!("{sums:?} {read:?} {}\n", spans.unstamped);
        let c = &tally.connections;
        let late = &tally.lateness.as_ref().unwrap();
        text += &format!("due {}\n", late.due);
        let late = &late.total;
        text += &format!("{:?} {:?}\n", late.mean_ns(), late.recorded().collect::<Vec<_>>());
        let mut tls = c.tls.negotiated.clone();
        tls.sort_unstable();
        text += &format!("{tls:?} {} {:?}\n", c.tls.resumed, c.tls.handshake.mean_ns());
        text += &format!("{:?} ", tally.deadline);
        text + &format!("{kinds:?} {} {} {}", tally.requests(), c.pushes, c.bytes_in)
    }

    proptest! {
        #[test]
        fn the_merge_of_parts_is_the_whole(
            a in prop::collection::vec(sample(), 0..40),
            b in prop::collection::vec(sample(), 0..40),
            e in prop::collection::vec(any::<u8>(), 0..10),
            f in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let mut merged = tally(&a, &e);
            merged.merge(&tally(&b, &f));
            let whole = tally(&[a, b].concat(), &[e, f].concat());
            prop_assert_eq!(figures(&merged), figures(&whole));
        }
    }

    #[test]
    fn a_cleared_tally_is_an_empty_one() {
        let mut used = tally(
            &[Sample {
                command: 1,
                outcome: Outcome::Ok,
                count: 3,
                bytes: 9,
                intended_ns: 1,
                sent_ns: 2,
                first_byte_ns: 3,
                arrived_ns: Some(3),
                done_ns: 4,
            }],
            &[1, 2],
        );
        used.clear();
        assert_eq!(figures(&used), figures(&Tally::new(&SHAPE)));
    }

    #[test]
    fn closed_loop_response_is_service() {
        let shape = TallyShape { scheduled: false, first_byte: false, ..SHAPE };
        let tally = Tally::new(&shape);
        assert!(std::ptr::eq(tally.commands[0].response(), &raw const tally.commands[0].service));
    }

    #[test]
    fn the_first_byte_of_a_miss_counts_whether_misses_are_apart_or_not() {
        for separate_failures in [false, true] {
            let mut tally = Tally::new(&TallyShape { separate_failures, ..SHAPE });
            tally.record(&Sample {
                command: 0,
                outcome: Outcome::Miss,
                count: 2,
                bytes: 0,
                intended_ns: 0,
                sent_ns: 0,
                first_byte_ns: 5,
                arrived_ns: None,
                done_ns: 9,
            });
            assert_eq!(tally.first_byte().count(), 2);
            assert!(!tally.is_empty());
            tally.clear();
            assert!(tally.is_empty());
        }
    }
}
