//! State of the client's machine during a run, by spans: stolen time, waiting for a CPU, interrupts,
//! frequency.

use host::MachineSpan;

use crate::Run;

/// This machine in a span of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachinePoint {
    /// Start of the span, in seconds from the start of the measured part; negative during a warm-up.
    pub t_s: f64,
    /// Length of the span, in seconds.
    pub lasted_s: f64,
    /// Share of all CPU time that the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// Seconds per second for which load-carrying threads of keystorm had no CPU: 0.1 is 10 % of one thread's
    /// time.
    pub waited: Option<f64>,
    /// Seconds per second for which servers on this machine had no CPU.
    pub server_waited: Option<f64>,
    /// TCP segments that this machine retransmitted per second.
    pub resent_per_s: Option<f64>,
    /// Interrupts per second on the CPUs that keystorm may use.
    pub interrupts_per_s: Option<f64>,
    /// The mean frequency of these CPUs, in MHz.
    pub mhz: Option<f64>,
}

/// The spans of a run, in order of time; empty if the machine was not watched.
pub fn machine_timeline(run: &Run) -> Vec<MachinePoint> {
    run.watched.machine.iter().map(|span| point(run, span)).collect()
}

/// Returns the machine's mean state between two moments of a run, in nanoseconds from the start of the
/// measured part, weighted by the overlap of each span. `None` if no span overlaps.
pub fn machine_between(run: &Run, from_ns: u64, to_ns: u64) -> Option<MachinePoint> {
    let (from_s, to_s) = (from_ns as f64 / 1e9, to_ns as f64 / 1e9);
    let spans = machine_timeline(run).into_iter().filter_map(|point| {
        let overlap_s = (point.t_s + point.lasted_s).min(to_s) - point.t_s.max(from_s);
        (overlap_s > 0.0).then_some((overlap_s, point))
    });
    let spans: Vec<(f64, MachinePoint)> = spans.collect();
    let mean = |of: fn(&MachinePoint) -> Option<f64>| {
        let known = || spans.iter().filter_map(|(overlap_s, point)| Some((*overlap_s, of(point)?)));
        let all_s: f64 = known().map(|(overlap_s, _)| overlap_s).sum();
        let sum: f64 = known().map(|(overlap_s, value)| overlap_s * value).sum();
        (all_s > 0.0).then(|| sum / all_s)
    };
    (!spans.is_empty()).then(|| MachinePoint {
        t_s: from_s,
        lasted_s: to_s - from_s,
        stolen: mean(|point| point.stolen),
        waited: mean(|point| point.waited),
        server_waited: mean(|point| point.server_waited),
        resent_per_s: mean(|point| point.resent_per_s),
        interrupts_per_s: mean(|point| point.interrupts_per_s),
        mhz: mean(|point| point.mhz),
    })
}

fn point(run: &Run, span: &MachineSpan) -> MachinePoint {
    let MachineSpan { from_s, lasted_s, stolen, wait_s, server_wait_s, resent, interrupts, mhz } =
        *span;
    let per_s = |amount: f64| Some(amount / lasted_s).filter(|rate| rate.is_finite());
    MachinePoint {
        t_s: run.since_start_s(from_s),
        lasted_s,
        stolen,
        waited: wait_s.and_then(per_s),
        server_waited: server_wait_s.and_then(per_s),
        resent_per_s: resent.and_then(|count| per_s(count as f64)),
        interrupts_per_s: interrupts.and_then(|count| per_s(count as f64)),
        mhz,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::fixture;

    #[test]
    fn what_lies_between_two_moments_counts_by_how_long_it_does() {
        let mut run = fixture::complete();
        run.measurement.started_at = UNIX_EPOCH + Duration::from_secs(1_000);
        assert_eq!(machine_between(&run, 0, 1_000_000_000), None);
        let span = |from_s: f64, wait_s: f64, mhz| MachineSpan {
            from_s,
            lasted_s: 0.25,
            wait_s: Some(wait_s),
            interrupts: Some(50),
            mhz,
            ..MachineSpan::default()
        };
        run.watched.machine =
            vec![span(999.75, 9.0, None), span(1_000.0, 0.1, Some(2e3)), span(1_000.25, 0.0, None)];
        let timeline = machine_timeline(&run);
        assert_eq!((timeline[0].t_s, timeline[1].waited), (-0.25, Some(0.4)));
        let all = machine_between(&run, 0, 500_000_000).unwrap();
        assert_eq!((all.waited, all.interrupts_per_s), (Some(0.2), Some(200.0)));
        assert_eq!((all.mhz, all.stolen, all.server_waited), (Some(2e3), None, None));
        assert_eq!(machine_between(&run, 2_000_000_000, 3_000_000_000), None);
    }
}
