//! Cases of evidence with the expected finding and words.

mod busy_tests;
mod failures_tests;
mod schedules_tests;

use host::BusyPart;

use super::super::super::evidence::{Crowd, Outages, ServerSide};
use super::*;
use crate::ScheduleFigures;

/// A closed loop of 50 connections over a second, in which neither end is busy.
pub(super) fn idle() -> Evidence {
    Evidence {
        requests: 10_000,
        span_s: 1.0,
        load_s: 1.0,
        achieved_rps: 10_000.0,
        connections: 50,
        slots: 50,
        service_s: Some(0.005),
        client: client(0.2, 0.0),
        workers: 1,
        cpus: Some(4),
        server: server(0.2, 0.0),
        servers: 1,
        server_here: true,
        executing: Some(0.05),
        round_trip_s: Some(0.000_05),
        bytes_per_s: 1e6,
        ..Evidence::default()
    }
}

pub(super) fn client(cpu: f64, wait: f64) -> Option<ThreadUse> {
    Some(ThreadUse::new(cpu, wait, 0.0))
}

pub(super) fn server(cpu: f64, wait: f64) -> Option<ServerSide> {
    stopped(cpu, wait, 0.0)
}

pub(super) fn stopped(cpu: f64, wait: f64, throttled: f64) -> Option<ServerSide> {
    let time = ThreadUse::new(cpu, wait, throttled);
    Some(ServerSide { time, part: BusyPart::MainThread, polls: false, crowd: None })
}

/// A server with four threads on one CPU, of which the others used that share.
pub(super) fn crowded(cpu: f64, wait: f64, others: f64) -> Option<ServerSide> {
    let crowd = Some(Crowd { threads: 4, cpus: 1, others });
    server(cpu, wait).map(|side| ServerSide { crowd, ..side })
}

pub(super) fn polling(cpu: f64, wait: f64) -> Option<ServerSide> {
    server(cpu, wait).map(|side| ServerSide { polls: true, ..side })
}

/// A second of 10,000 due requests, with these numbers of late and unsent ones.
pub(super) fn figures(late: u64, unsent: u64, fault: Option<Fault>) -> ScheduleFigures {
    ScheduleFigures {
        noun: "requests",
        due_rps: 10_000.0,
        span_ns: 1_000_000_000,
        due: 10_000,
        sent: 10_000 - unsent,
        given_up: 0,
        past_deadline: 0,
        late,
        unsent,
        late_mean_s: 0.0001,
        late_p50_ns: 20_000,
        late_p99_ns: 30_000,
        late_max_ns: 500_000_000,
        own_late_max_ns: 40_000,
        missed_share: (late + unsent) as f64 / 10_000.0,
        fault,
        missed: Vec::new(),
        behind_ns: None,
    }
}

pub(super) fn asked() -> Option<ScheduleFigures> {
    Some(figures(0, 0, None))
}

pub(super) fn missed(fault: Fault) -> Option<ScheduleFigures> {
    Some(ScheduleFigures { late_mean_s: 0.5, ..figures(8000, 52, Some(fault)) })
}

pub(super) fn behind() -> Option<ScheduleFigures> {
    Some(ScheduleFigures { behind_ns: Some(8_000_000_000), ..figures(0, 0, None) })
}

pub(super) fn out(count: usize, total_s: f64) -> Option<Outages> {
    Some(Outages { count, total_s, node: None, failed: 0, to_the_end: false, all_s: None })
}

pub(super) fn out_on(node: &str, count: usize, total_s: f64) -> Option<Outages> {
    out(count, total_s).map(|outages| Outages { node: Some(node.to_owned()), ..outages })
}

/// Name, evidence, finding, limit, and words of the text.
pub(super) type Case = (&'static str, Evidence, Finding, LimitedBy, &'static str);

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    failures_tests::cases()
        .into_iter()
        .chain(busy_tests::cases())
        .chain(schedules_tests::cases())
        .collect()
}
