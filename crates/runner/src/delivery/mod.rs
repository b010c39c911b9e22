//! Messages and their receivers: the second role of a plan whose senders are ordinary workers.
//!
//! The receivers have threads, connections and tallies of their own, and pass the senders' gate: load begins
//! when every subscription is confirmed and a probe has come through each place. Senders and receivers share
//! [`Roles`].

mod awaited;
mod between;
mod cached_reads;
mod caches;
mod closing;
mod first_and_last;
mod homes;
mod invalidate;
mod kind;
mod kinds;
mod listeners;
mod logins;
mod lost;
mod moving;
mod order;
mod probe;
mod pubsub;
mod queue;
mod receivers;
mod receiving;
mod replica;
mod reply_strings;
mod roles;
mod seen;
mod setup;
mod stops;
mod taking;
mod totals;
mod under_way;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, Scope};

use measure::{Deliveries, Measurement, Polls, Tally, TallyShape};
use workload::Plan;

pub(crate) use receivers::{Receive, Receivers};
pub(crate) use roles::Roles;

use crate::collect::{Collector, Message, Observer, Snapshot};
use crate::opening::Origins;
use crate::recorder::Recorder;
use crate::{FailedRequests, Fatal};
use receivers::ReceiverContext;
use totals::ReceiverTotals;
use under_way::InFlightTimeline;

/// Intervals that a thread may be ahead of the collector.
const AHEAD_MAX: usize = 4;

/// Observer of senders: keeps their figures for those who watch the receivers.
struct SendersWatch<'r>(&'r Roles<'r>);

impl Observer for SendersWatch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let mut sent = self.0.sent.lock().unwrap_or_else(|e| e.into_inner());
        match &mut *sent {
            _ if snapshot.warming_up => {}
            Some(sent) => sent.merge(snapshot.tally),
            sent => *sent = Some(snapshot.tally.clone()),
        }
    }
}

/// Observer of receivers: shows their figures beside the senders'.
pub(crate) struct ReceiversWatch<'r> {
    pub(crate) roles: &'r Roles<'r>,
    pub(crate) observer: &'r mut dyn Observer,
}

impl Observer for ReceiversWatch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let sent = self.roles.sent.lock().unwrap_or_else(|e| e.into_inner());
        let sending = sent.as_ref().map(|sent| (sent, self.roles.kind.expected(sent)));
        self.observer.interval(&Snapshot { sending, ..*snapshot });
    }

    fn failed(&mut self, failed: &FailedRequests) {
        self.observer.failed(failed);
    }
}

impl Roles<'_> {
    /// Starts the threads of the receivers. Returns the collector and the channel of their reports.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        plan: &'scope Plan,
        origins: &'scope Origins,
        receive: &'scope Receive<'scope>,
    ) -> io::Result<(Collector, Receiver<Message>)> {
        let shape = tally_shape(plan);
        let (full, messages) = mpsc::sync_channel(AHEAD_MAX * self.threads.len());
        let mut empties = Vec::new();
        for thread in 0..self.delivery.threads {
            let (empty, ready) = mpsc::channel();
            let _ = empty.send(Tally::new(&shape));
            empties.push(empty);
            let recorder = Recorder::new(thread, shape, Arc::new([0]), full.clone(), ready);
            let all = 0..self.delivery.receivers;
            let receivers = all.filter(|receiver| self.delivery.thread_of(*receiver) == thread);
            let receivers = receivers.collect();
            let origins = origins.of_receivers(plan);
            let context = ReceiverContext { plan, roles: self, origins, thread, receivers };
            let full = full.clone();
            let started = thread::Builder::new().name(format!("receiver-{thread}"));
            let started = started.spawn_scoped(scope, move || {
                let (reports, had) = receive(context, recorder);
                self.threads[usize::from(thread)].ended.store(true, Ordering::Release);
                self.ended.lock().unwrap_or_else(|e| e.into_inner()).push(had);
                reports.into_iter().for_each(|report| drop(full.send(report)));
            });
            if let Err(error) = started {
                self.gate.fail(Fatal::new(format!("starting a thread: {error}")));
                return Err(error);
            }
        }
        Ok((Collector::new(shape, empties, self.engine), messages))
    }

    /// Starts a thread that collects the senders' figures and tells the receivers when they are complete.
    pub(crate) fn collect<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        sending: &'scope mut Collector,
        messages: Receiver<Message>,
    ) -> io::Result<()> {
        let thread = thread::Builder::new().name("collector".to_owned());
        let started = thread.spawn_scoped(scope, move || {
            sending.collect(&messages, &mut SendersWatch(self));
            self.expected.store(self.kind.expected(&sending.total), Ordering::Release);
            self.observer().iter().for_each(|observer| observer.sent());
        });
        if let Err(error) = &started {
            self.gate.fail(Fatal::new(format!("starting a thread: {error}")));
        }
        started.map(drop)
    }

    /// Combines both measurements: latencies are deliveries', while lateness, errors and connections include
    /// both sides'.
    pub(crate) fn together(self, sending: Measurement, mut receiving: Measurement) -> Measurement {
        let expected = self.expected().unwrap_or_else(|| self.kind.expected(&sending.total));
        let ended = self.ended.into_inner().unwrap_or_else(|e| e.into_inner());
        let ReceiverTotals {
            counts,
            by_receiver,
            spread,
            mut waits,
            under_way,
            remains,
            polls,
            mut invalidations,
            removable,
        } = ended.into_iter().reduce(ReceiverTotals::merged).unwrap_or_default();
        if let Some(waits) = &mut waits {
            waits.backlog = under_way.iter().flat_map(InFlightTimeline::backlog).collect();
            totals::count_remains(waits, remains.as_ref(), sending.elapsed_ns);
        }
        let polls = polls.map(|(gap, behind)| {
            Box::new(Polls {
                gap,
                overtaken: expected.saturating_sub(counts.received + behind),
                behind,
            })
        });
        let (first, last) = spread.unzip();
        receiving.workers = [sending.workers, receiving.workers].concat();
        receiving.total.add_senders(&sending.total);
        // A reply counts receivers at its own node. One that stayed at a node which turned replica receives, too.
        let missed_while_away = self.kind.missed_while_away(&sending.total);
        let missed = match &mut invalidations {
            Some(caches) => {
                caches::missed(self.delivery.kind, caches, removable, expected, &counts)
            }
            None => pubsub::missed(self.delivery.kind, expected, &counts),
        };
        let (expected, missed_while_away) = (expected - missed, missed_while_away + missed);
        let uncounted = if self.exchanges {
            // Both are of other clients' messages, too.
            0
        } else {
            counts.received.saturating_sub(expected).min(missed_while_away)
        };
        receiving.deliveries = Some(Box::new(Deliveries {
            sending: sending.total,
            sending_ns: sending.elapsed_ns,
            expected: expected + uncounted,
            missed_while_away: missed_while_away - uncounted,
            counts,
            first,
            last,
            polls,
            by_receiver,
            receivers: self.delivery.receivers,
            waits,
            invalidations: invalidations.map(Box::new),
            kept: remains.and_then(|remains| remains.kept),
        }));
        receiving
    }
}

/// Returns the shape of the receivers' tallies: one kind of event, which was due at a time of its own.
fn tally_shape(plan: &Plan) -> TallyShape {
    TallyShape {
        commands: 1,
        precision: plan.recording.precision,
        scheduled: true,
        first_byte: false,
        operations: 0,
        separate_failures: false,
        places: 0,
        spans: plan.recording.kernel_stamps,
        deadline_ns: None,
    }
}
