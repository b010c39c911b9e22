//! `--probe`: one more client beside the load, with few connections and a rate of its own.
//!
//! Clients at full load measure their own queues. This one measures a quiet client's latency on the same
//! server. Owns its plan, and its start and end with the load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use measure::Measurement;
use naming::PROBE;
use report::{Probe, Run, SpanFigures, Warning, WarningKind};
use runner::{Barrier, NoObserver, Observer, Start};
use workload::{OnError, Pace, Plan, Recording, Shard, Stop, Window, limits};

use crate::test_bed::{LoadContext, TestBed};

/// Connections: enough for a rate at which each is mostly idle, and too few to be a load.
const CONNECTIONS: u32 = 4;
/// Time from when all connections are ready to the start, for both to learn of it.
const LEAD: Duration = Duration::from_millis(10);

/// The plan of a probe beside a load: the same commands and keys, in a different order.
fn plan_of(load: &Plan, rate_per_s: f64) -> Result<Plan> {
    let probe = load.with(|parts| {
        (parts.load.concurrency.workers, parts.load.concurrency.connections) = (1, CONNECTIONS);
        (parts.load.concurrency.pipeline_depth, parts.load.concurrency.window) =
            (1, Window::Rolling);
        (parts.load.concurrency.keep_alive, parts.load.concurrency.multi_thread) = (true, false);
        parts.load.concurrency.cpus.clear();
        parts.load.concurrency.per_request = None;
        parts.setup.clear();
        parts.load.pace = Pace::constant(rate_per_s);
        if let Stop::Requests(_) = parts.load.stop {
            // Until the load has ended.
            parts.load.stop = Stop::AfterNs(limits::DURATION_NS_MAX);
        }
        let stamps = Recording::stamps_by_default(&parts.load, &parts.target.endpoint);
        parts.recording.kernel_stamps |= stamps;
        parts.recovery.on_error = OnError::Count;
        parts.load.shard = Shard::WHOLE;
        parts.load.seed = parts.load.seed.wrapping_add(1);
    });
    probe.context(PROBE)
}

impl TestBed<'_> {
    /// Carries out a plan with a probe of this rate beside it.
    ///
    /// # Errors
    /// Returns the errors of the plan; one of the probe is a warning.
    pub(crate) fn run_beside_probe(
        &self,
        plan: &Plan,
        rate_per_s: f64,
        with: LoadContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        let (mut run, probe) = beside(self, plan, rate_per_s, |barrier| {
            self.run_without_probe(plan, LoadContext { probe: Some(barrier), ..with }, observer)
        })?;
        match probe {
            Ok(probe) => run.probe = Some(probe),
            Err(error) => run.warnings.push(Warning::new(
                WarningKind::ProbeFailed,
                format!("the probe failed: {error:#}"),
            )),
        }
        Ok(run)
    }
}

/// Carries out `load` with a probe beside it, which begins when `load` releases its barrier.
///
/// # Errors
/// Returns the errors of the load. If the probe failed, the second value is the reason.
fn beside<T>(
    bed: &TestBed<'_>,
    plan: &Plan,
    rate_per_s: f64,
    load: impl FnOnce(&Arc<Barrier>) -> Result<T>,
) -> Result<(T, Result<Probe>)> {
    let own = plan_of(plan, rate_per_s)?;
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = channel();
    let barrier = Arc::new(Barrier::new(move || {
        let _ = ready.send(());
    }));
    thread::scope(|scope| {
        let (own, stop, held) = (&own, &stop, &barrier);
        let probe = move || bed.load(own, Start::Released(held), None, stop, &mut NoObserver);
        let thread = thread::Builder::new().name("probe".to_owned());
        let probing = thread
            .spawn_scoped(scope, probe)
            .with_context(|| format!("{PROBE}: starting a thread"))?;
        while is_ready.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout)
            && !probing.is_finished()
            && !bed.interrupted().load(Ordering::Relaxed)
        {}
        let loaded = load(&barrier);
        stop.store(true, Ordering::Relaxed);
        let probed = probing.join().map_err(|_| anyhow!("the probe panicked"));
        let probe = probed.and_then(|measured| Ok(summary(own, rate_per_s, &measured?)));
        Ok((loaded?, probe))
    })
}

/// A barrier that opens as soon as it is reached, together with another.
pub(crate) fn with(other: &Arc<Barrier>) -> Arc<Barrier> {
    let other = Arc::clone(other);
    Arc::new_cyclic(|own: &Weak<Barrier>| {
        let own = Weak::clone(own);
        Barrier::new(move || {
            let at = Instant::now() + LEAD;
            if let Some(own) = own.upgrade() {
                own.release(at);
            }
            other.release(at);
        })
    })
}

fn summary(plan: &Plan, rate_per_s: f64, measured: &Measurement) -> Probe {
    let total = &measured.total;
    let late_ns = total.lateness.as_ref().and_then(|late| late.total.mean_ns());
    Probe {
        connections: CONNECTIONS,
        rate_per_s,
        requests: total.requests(),
        errors: total.errors.total(),
        late_mean_ms: late_ns.map(|ns| ns / 1e6),
        response: total.response(),
        spans: SpanFigures::new(plan, total).map(|spans| spans.sentence()),
    }
}
