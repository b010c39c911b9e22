//! Measurement of a running test, in the form of a finished run.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use host::{ServerFacts, WatchSoFar};
use measure::{Timeline, WorkerUse};
use report::Run;
use runner::Snapshot;
use workload::Plan;

/// Maximum number of points of its timeline: a display has no room for more, and each holds a histogram.
const POINTS_MAX: usize = 480;
/// Points that are merged in an interval, if the timeline has become too long.
const MERGED_AT_ONCE: usize = 60;

/// The run so far, gathered interval by interval.
pub(crate) struct PartialRun<'p> {
    plan: &'p Plan,
    server: ServerFacts,
    /// Observations of servers and machine meanwhile.
    seen: Option<WatchSoFar>,
    /// Figures of the run over time.
    timeline: Option<Timeline>,
    /// Set if all points of the timeline are merged.
    is_merged: bool,
    began: Instant,
}

impl<'p> PartialRun<'p> {
    /// Prepares for a test that is about to run.
    pub(crate) fn new(plan: &'p Plan, server: ServerFacts, seen: Option<WatchSoFar>) -> Self {
        Self { plan, server, seen, timeline: None, is_merged: false, began: Instant::now() }
    }

    /// Adds an interval, at little cost.
    pub(crate) fn add(&mut self, snapshot: &Snapshot<'_>) {
        if !snapshot.warming_up {
            let timeline = self
                .timeline
                .get_or_insert_with(|| Timeline::new(snapshot.span_ns).with_points_max(POINTS_MAX));
            timeline.push(snapshot.point.clone());
            self.is_merged = timeline.merge_some(MERGED_AT_ONCE);
        }
    }

    /// The run up to this interval, with a copy of all measurements; `None` in a warm-up, and for a few
    /// intervals in which points are merged.
    pub(crate) fn run(&self, snapshot: &Snapshot<'_>) -> Option<Run> {
        if snapshot.warming_up || !self.is_merged {
            return None;
        }
        let timeline = self.timeline.clone()?;
        let elapsed = Duration::from_nanos(snapshot.elapsed_ns);
        let started = SystemTime::now().checked_sub(elapsed).unwrap_or(UNIX_EPOCH);
        // The threads' CPU time is that of the whole load, warm-up included.
        let wall_ns = self.began.elapsed().as_nanos() as u64;
        let mut measured = snapshot.so_far(self.plan, started, timeline);
        let worker = |cpu_ns| WorkerUse { cpu_ns, system_ns: None, wall_ns, wait_ns: None };
        measured.workers = snapshot.gauges.iter().map(|gauge| worker(gauge.cpu_ns)).collect();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let unseen = Some("it is read when the test has ended".to_owned());
        let seen = self.seen.as_ref().map(WatchSoFar::record).unwrap_or_default();
        let watched = host::WatchRecord { unseen, ..seen };
        Some(Run::new(self.plan.clone(), measured, self.server.clone(), version, watched))
    }
}
