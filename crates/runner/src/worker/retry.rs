//! Retries of failed requests, and the end of requests whose retry is never sent.
//!
//! A waiting request counts as in flight and keeps its times: latency runs from the due time until the final
//! result, as for a user. The plan names the errors that are retried; the route decides whether it or the
//! worker retries. Nothing here is on the path of a successful request.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use engine::ConnId;
use workload::random::Stream;
use workload::{Plan, Retry};

use super::deadline::Deadline;
use super::operations::Steps;
use crate::recorder::Recorder;
use crate::request::Request;

/// Random stream of the waits, separate from all other streams.
const STREAM: u64 = 16 << 56;

/// Failed requests that wait to be sent again.
pub(super) struct Retries<M> {
    retry: Option<Retry>,
    deadline: Deadline,
    /// Requests that wait for their time.
    later: BinaryHeap<Reverse<PendingRetry<M>>>,
    /// Requests that wait for their connection to be reopened.
    pub(super) stranded: Vec<(ConnId, Request<M>)>,
    /// Number of requests that have waited so far.
    count: u64,
    drawn: Stream,
    /// Time at which the next is due; `u64::MAX` for never. Costs one comparison a turn.
    pub(super) due_ns: u64,
    /// Maximum number of waiting requests of a connection that still gets new ones.
    pub(super) waiting_max: u32,
}

/// A request that waits on its connection, ordered by due time and then by arrival.
struct PendingRetry<M> {
    due_ns: u64,
    number: u64,
    conn: ConnId,
    request: Request<M>,
}

impl<M> Ord for PendingRetry<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}

impl<M> PartialOrd for PendingRetry<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> PartialEq for PendingRetry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<M> Eq for PendingRetry<M> {}

impl<M: Copy> Retries<M> {
    /// Returns the retries of worker `worker`.
    pub(super) fn new(plan: &Plan, worker: u16) -> Self {
        Self {
            retry: plan.recovery.retry.clone(),
            deadline: Deadline::from_plan(plan),
            later: BinaryHeap::new(),
            stranded: Vec::new(),
            count: 0,
            drawn: Stream::from_seed(plan.load.seed).substream(STREAM | u64::from(worker) << 40),
            due_ns: u64::MAX,
            waiting_max: plan.recovery.retry.as_ref().map_or(u32::MAX, |retry| retry.waiting_max),
        }
    }

    /// Returns whether a request that fails now may be retried before its deadline, in a run that sends
    /// nothing new from `stop_ns` on.
    pub(super) fn allow(&self, request: &Request<M>, now_ns: u64, stop_ns: u64) -> bool {
        let times = request.progress.retries;
        self.retry.as_ref().is_some_and(|retry| {
            let again_ns = now_ns.saturating_add(retry.backoff.delay_ns(times));
            let in_time = !self.deadline.is_over(request.intended_ns, again_ns);
            retry.allows(times) && again_ns < stop_ns && in_time
        })
    }

    /// Returns whether `allow` holds and the plan retries this error.
    pub(super) fn apply(&self, request: &Request<M>, why: &str, now_ns: u64, stop_ns: u64) -> bool {
        self.allow(request, now_ns, stop_ns)
            && self.retry.as_ref().is_some_and(|retry| retry.applies_to(why))
    }

    /// Returns the wait before a retry, after `tried` earlier ones.
    fn delay_ns(&mut self, tried: u32) -> u64 {
        let Some(Retry { backoff, jitter, .. }) = &self.retry else { return 0 };
        let delay_ns = backoff.delay_ns(tried);
        if *jitter <= 0.0 || delay_ns == 0 {
            return delay_ns;
        }
        // From 0 to 1.
        let drawn = (self.drawn.draw(self.count) >> 11) as f64 / (1u64 << 53) as f64;
        (delay_ns as f64 * (1.0 + jitter * (2.0 * drawn - 1.0))) as u64
    }

    fn add(&mut self, due_ns: u64, conn: ConnId, request: Request<M>) {
        self.later.push(Reverse(PendingRetry { due_ns, number: self.count, conn, request }));
        self.count += 1;
        self.plan();
    }

    /// Returns the next due request, if there is one.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<(ConnId, Request<M>)> {
        if now_ns < self.due_ns {
            return None;
        }
        let Reverse(PendingRetry { conn, request, .. }) = self.later.pop()?;
        self.plan();
        Some((conn, request))
    }

    fn plan(&mut self) {
        self.due_ns = self.later.peek().map_or(u64::MAX, |Reverse(first)| first.due_ns);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.later.is_empty() && self.stranded.is_empty()
    }

    /// Returns whether a request waits for its connection.
    #[inline]
    pub(super) fn is_stranded(&self) -> bool {
        !self.stranded.is_empty()
    }

    /// Makes the requests due that waited for this connection, which is open again.
    pub(super) fn back(&mut self, conn: ConnId, now_ns: u64) {
        let (back, stranded): (Vec<_>, Vec<_>) =
            self.stranded.drain(..).partition(|(of, _)| *of == conn);
        self.stranded = stranded;
        for (conn, request) in back {
            self.add(now_ns, conn, request);
        }
    }

    /// Takes all waiting requests, at the end.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Request<M>> {
        self.due_ns = u64::MAX;
        let later = std::mem::take(&mut self.later).into_iter().map(|Reverse(of)| of.request);
        later.chain(std::mem::take(&mut self.stranded).into_iter().map(|(_, request)| request))
    }

    /// Delays the requests that failed on a connection, or has them sent with the other due ones if it can
    /// take them `at_once`. `waiting` of its requests wait already. Returns the number of newly waiting
    /// commands.
    #[cold]
    pub(super) fn postpone(
        &mut self,
        conn: ConnId,
        waiting: &mut u32,
        now_ns: u64,
        at_once: bool,
        steps: &mut Steps<M>,
        recorder: &mut Recorder,
    ) -> u64 {
        let mut commands = 0;
        for request in steps.failed.drain(..) {
            let delay_ns = self.delay_ns(request.progress.retries - 1);
            if delay_ns == 0 && at_once {
                recorder.retried(&request);
                steps.due.push(request);
                continue;
            }
            commands += u64::from(request.left);
            *waiting += 1;
            self.add(now_ns + delay_ns, conn, request);
        }
        commands
    }
}
