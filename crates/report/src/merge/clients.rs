//! Rows of clients, from the runs of their shares.

use measure::WorkerUse;

use crate::{ClientRow, Clients, Run, Summary};

impl ClientRow {
    /// Creates the row of a client from the run of its share. Values that the run lacks are filled in later.
    pub fn new(number: u32, name: &str, share: &Run) -> Self {
        let summary = Summary::from_run(share);
        let measured = &share.measurement;
        let late_ns = measured.total.lateness.as_ref().and_then(|late| late.total.mean_ns());
        Self {
            number,
            name: name.to_owned(),
            hostname: None,
            cpus: None,
            quota: None,
            nice: 0,
            connections: share.plan.own_connections(),
            requests: summary.requests,
            errors: summary.errors,
            elapsed_s: summary.elapsed_s,
            throughput_rps: summary.throughput_rps,
            workers: measured.workers.len(),
            busy: measured.workers.iter().map(WorkerUse::busy).fold(0.0, f64::max),
            late_mean_ms: late_ns.map(|ns| ns / 1e6),
            began_us: 0.0,
            clock_bound_us: 0.0,
            clock_drift_us: None,
            limited_by: share.verdict.limited_by,
            lost: None,
        }
    }
}

impl Clients {
    /// Returns the clients of these runs, with their names; `None` unless all their times use one clock, so
    /// that the skew of their starts is known.
    pub(crate) fn of_merged(names: &[String], shares: &[Run]) -> Option<Self> {
        let first = shares.iter().map(|share| share.measurement.started_at).min()?;
        let mut bounds = Vec::new();
        let mut rows = Vec::new();
        for ((name, share), number) in names.iter().zip(shares).zip(1..) {
            let clock = share.clock.as_ref()?;
            let late = share.measurement.started_at.duration_since(first).unwrap_or_default();
            bounds.push(clock.bound_us);
            rows.push(ClientRow {
                hostname: share.host.as_ref().and_then(|host| host.hostname.clone()),
                began_us: late.as_secs_f64() * 1e6,
                clock_bound_us: clock.bound_us,
                clock_drift_us: clock.drift_us,
                ..ClientRow::new(number, name, share)
            });
        }
        bounds.sort_by(|a, b| b.total_cmp(a));
        let start_skew_us = rows.iter().map(|row| row.began_us).fold(0.0, f64::max);
        let start_skew_bound_us = bounds.iter().take(2).sum();
        (rows.len() > 1).then_some(Self { on: None, start_skew_us, start_skew_bound_us, rows })
    }
}
