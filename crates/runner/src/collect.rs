//! Intervals in, one measurement out.
//!
//! Runs on the thread that called [`crate::run`], beside the workers. Adds their intervals to the
//! total and, once all workers have reported one, to the timeline.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};

use measure::{
    ByConnection, Interval, Latency, NodeTally, OperationLog, Point, SuccessLine, Tally,
    TallyShape, Timeline, WorkerUse,
};

use crate::{FailedRequests, Gauges, INTERVAL_NS};

/// Message of a worker to the collector.
// Boxing the larger variant would allocate on the workers' threads.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum Message {
    /// An interval ended.
    Interval {
        interval: Interval,
        /// State of the worker at its end.
        gauges: Gauges,
        /// Set in the warm-up, whose intervals are shown and not kept.
        warm: bool,
        /// Requests that failed in the interval, if the plan asks for each.
        failed: FailedRequests,
    },
    /// The worker ended.
    Done { worker: u16, spent: WorkerUse, finished: RecorderResult, nodes: Vec<NodeTally> },
}

/// Figures that a recorder keeps until the end.
#[derive(Debug, Default)]
pub(crate) struct RecorderResult {
    /// Start of measuring, and end of the last request that counted; `None` if nothing was measured.
    pub(crate) span: Option<(u64, u64)>,
    /// Spans in which this worker did not run.
    pub(crate) absences: Vec<Range<u64>>,
    /// Response times of requests that fell due during an outage.
    pub(crate) delayed: Option<Latency>,
    /// Figures of each connection, if the plan asks for them.
    pub(crate) by_connection: Option<ByConnection>,
    /// The log of operations, if the plan asks for one.
    pub(crate) log: Option<OperationLog>,
}

/// Watches a run as it goes.
pub trait Observer {
    /// All workers have reported an interval.
    fn interval(&mut self, snapshot: &Snapshot<'_>);

    /// Requests failed for good. Called if the plan asks for each of them.
    fn failed(&mut self, _failed: &FailedRequests) {}
}

/// An observer that does nothing, for runs that show only a table or run beside another.
#[derive(Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn interval(&mut self, _snapshot: &Snapshot<'_>) {}
}

/// State of a run after an interval.
#[derive(Debug)]
pub struct Snapshot<'c> {
    /// The interval.
    pub point: &'c Point,
    /// Length of the interval.
    pub span_ns: u64,
    /// Figures of the interval.
    pub tally: &'c Tally,
    /// Set if the interval belongs to the warm-up.
    pub warming_up: bool,
    /// Figures so far.
    pub total: &'c Tally,
    /// Time since the start of the measured part, or of the warm-up while that lasts.
    pub elapsed_ns: u64,
    /// State of each worker when it last handed over an interval.
    pub gauges: &'c [Gauges],
    /// The engine that moves the bytes.
    pub engine: &'static str,
    /// Times of successes; `None` where other processes know them.
    pub successes: Option<&'c SuccessLine>,
    /// Figures of the message senders so far and the deliveries that they must lead to; `None` for a run
    /// without receivers.
    pub sending: Option<(&'c Tally, u64)>,
}

/// Adds up what workers report.
pub(crate) struct Collector {
    pub(crate) total: Tally,
    pub(crate) timeline: Timeline,
    pub(crate) workers: Vec<WorkerUse>,
    /// Start of measuring, and time of the last reply.
    pub(crate) span: Option<(u64, u64)>,
    /// Times of successes.
    pub(crate) successes: SuccessLine,
    /// Spans in which no worker ran; `None` until the first worker has finished.
    pub(crate) absences: Option<Vec<Range<u64>>>,
    /// Response times of requests that fell due during an outage.
    pub(crate) delayed: Option<Latency>,
    /// The nodes of a cluster.
    pub(crate) nodes: Vec<NodeTally>,
    /// Figures by connection of each worker, if the plan asks for them.
    pub(crate) by_connection: Vec<Option<ByConnection>>,
    /// The log of operations of each worker, if the plan asks for one.
    pub(crate) logs: Vec<Option<OperationLog>>,
    gauges: Vec<Gauges>,
    /// The last gauges of workers that have ended; they count once all earlier intervals are reported.
    ended: Vec<(usize, Gauges)>,
    engine: &'static str,
    /// Intervals that not all workers have reported.
    open: BTreeMap<u32, Tally>,
    /// The first interval that each worker has yet to report.
    reported: Vec<u32>,
    shape: TallyShape,
    empties: Vec<Sender<Tally>>,
    warm_intervals: u64,
}

impl Collector {
    /// Creates a collector for this engine. Channels `empties` take merged tallies back to the workers.
    pub(crate) fn new(
        shape: TallyShape,
        empties: Vec<Sender<Tally>>,
        engine: &'static str,
    ) -> Self {
        let workers = empties.len();
        Self {
            total: Tally::new(&shape),
            timeline: Timeline::new(INTERVAL_NS),
            workers: vec![WorkerUse::default(); workers],
            span: None,
            successes: SuccessLine::default(),
            absences: None,
            delayed: None,
            nodes: Vec::new(),
            by_connection: vec![None; workers],
            logs: vec![None; workers],
            gauges: vec![Gauges::default(); workers],
            ended: Vec::with_capacity(workers),
            engine,
            open: BTreeMap::new(),
            reported: vec![0; workers],
            shape,
            empties,
            warm_intervals: 0,
        }
    }

    /// Takes messages until every worker is done.
    pub(crate) fn collect(&mut self, messages: &Receiver<Message>, observer: &mut dyn Observer) {
        while let Ok(message) = messages.recv() {
            match message {
                Message::Interval { interval, gauges, warm, failed } => {
                    if !failed.is_empty() {
                        observer.failed(&failed);
                    }
                    self.gauges[usize::from(interval.worker)] = gauges;
                    if warm {
                        self.warm(interval, observer);
                        continue;
                    }
                    self.add(interval);
                    self.close_reported(observer);
                }
                Message::Done { worker, spent, finished, nodes } => {
                    let RecorderResult { span, absences, delayed, by_connection, log } = finished;
                    measure::merge_nodes(&mut self.nodes, nodes);
                    let worker = usize::from(worker);
                    self.workers[worker] = spent;
                    self.by_connection[worker] = by_connection;
                    self.logs[worker] = log;
                    let cpu_ns = spent.cpu_ns;
                    self.ended.push((worker, Gauges { cpu_ns, ..Gauges::default() }));
                    self.reported[worker] = u32::MAX;
                    self.span = join(self.span, span);
                    if span.is_some() {
                        self.absences = Some(match self.absences.take() {
                            Some(others) => overlaps(&others, &absences),
                            None => absences,
                        });
                    }
                    match (&mut self.delayed, delayed) {
                        (Some(all), Some(one)) => all.merge(&one),
                        (all, one) => *all = all.take().or(one),
                    }
                    self.close_reported(observer);
                }
            }
        }
    }

    /// Widens the receivers' figures to begin and end with the senders', whose failures explain why nothing
    /// came.
    pub(crate) fn span_senders(&mut self, sending: &Self) {
        self.span = join(self.span, sending.span);
        self.successes.add_failures(&sending.successes);
    }

    fn add(&mut self, interval: Interval) {
        let Interval { index, worker, tally, slices } = interval;
        self.successes.add(u64::from(index) * INTERVAL_NS, &slices);
        self.reported[usize::from(worker)] = index + 1;
        let Some(tally) = tally else { return };
        self.total.merge(&tally);
        let shape = &self.shape;
        self.open.entry(index).or_insert_with(|| Tally::new(shape)).merge(&tally);
        self.give_back(worker, tally);
    }

    fn give_back(&self, worker: u16, mut tally: Tally) {
        tally.clear();
        // A worker that is done needs it no more.
        let _ = self.empties[usize::from(worker)].send(tally);
    }

    fn close_reported(&mut self, observer: &mut dyn Observer) {
        let complete = self.reported.iter().copied().min().unwrap_or(0);
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= complete {
                break;
            }
            let (index, tally) = entry.remove_entry();
            let point = Point::from_tally(index, &tally);
            let elapsed_ns = (u64::from(index) + 1) * INTERVAL_NS;
            observer.interval(&Snapshot {
                point: &point,
                span_ns: INTERVAL_NS,
                tally: &tally,
                warming_up: false,
                total: &self.total,
                elapsed_ns,
                gauges: &self.gauges,
                engine: self.engine,
                successes: Some(&self.successes),
                sending: None,
            });
            self.timeline.push(point);
        }
        if self.open.is_empty() {
            self.ended.drain(..).for_each(|(worker, gauges)| self.gauges[worker] = gauges);
        }
    }

    /// Shows an interval of the warm-up. Only its openings of connections are kept.
    fn warm(&mut self, interval: Interval, observer: &mut dyn Observer) {
        let Interval { worker, tally: Some(tally), .. } = interval else { return };
        self.total.connections.connect.merge(&tally.connections.connect);
        self.total.connections.tls.merge(&tally.connections.tls);
        // Shown by worker 0's report, scaled by nothing: it is a sign of life, not a figure.
        if worker == 0 {
            self.warm_intervals += 1;
            let elapsed_ns = self.warm_intervals * INTERVAL_NS;
            let point = &Point::from_tally(0, &tally);
            observer.interval(&Snapshot {
                point,
                span_ns: INTERVAL_NS,
                tally: &tally,
                warming_up: true,
                total: &tally,
                elapsed_ns,
                gauges: &self.gauges,
                engine: self.engine,
                successes: Some(&self.successes),
                sending: None,
            });
        }
        self.give_back(worker, tally);
    }
}

/// Returns the overlaps of two lists of spans, each in order.
fn overlaps(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let pairs =
        a.iter().flat_map(|a| b.iter().map(move |b| a.start.max(b.start)..a.end.min(b.end)));
    pairs.filter(|span| !span.is_empty()).collect()
}

fn join(a: Option<(u64, u64)>, b: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (a, b) {
        (Some((from_a, to_a)), Some((from_b, to_b))) => Some((from_a.min(from_b), to_a.max(to_b))),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The connections of all workers with each interval.
    struct Connections(Vec<u32>);

    impl Observer for Connections {
        fn interval(&mut self, snapshot: &Snapshot<'_>) {
            self.0.push(snapshot.gauges.iter().map(|gauges| gauges.connections).sum());
        }
    }

    #[test]
    fn a_worker_that_has_ended_had_its_connections_in_the_last_interval() {
        let shape = TallyShape {
            commands: 1,
            precision: 3,
            scheduled: false,
            first_byte: false,
            operations: 0,
            separate_failures: false,
            places: 0,
            spans: false,
            deadline_ns: None,
        };
        let (empties, _kept): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
        let mut collector = Collector::new(shape, empties, "none");
        let (sender, messages) = mpsc::channel();
        let interval = |worker, index| Message::Interval {
            interval: Interval {
                index,
                worker,
                tally: Some(Tally::new(&shape)),
                slices: Vec::new(),
            },
            gauges: Gauges { connections: 5, ..Gauges::default() },
            warm: false,
            failed: FailedRequests::default(),
        };
        let done = |worker| Message::Done {
            worker,
            spent: WorkerUse::default(),
            finished: RecorderResult::default(),
            nodes: Vec::new(),
        };
        let first = [interval(0, 0), interval(1, 0), interval(0, 1), done(0), interval(1, 1)];
        // The other goes on alone.
        for message in first.into_iter().chain([interval(1, 2), done(1)]) {
            sender.send(message).unwrap();
        }
        drop(sender);
        let mut seen = Connections(Vec::new());
        collector.collect(&messages, &mut seen);
        assert_eq!(seen.0, [10, 10, 5]);
        assert!(collector.gauges.iter().all(|gauges| gauges.connections == 0));
    }
}
