use super::*;
use crate::fixture;

/// A run of an open loop in which client and server had these shares of the time: on a CPU, and waiting
/// for one. `answered` of the requests that were due were.
fn run(client: (f64, f64), server: (f64, f64), answered: f64) -> Run {
    let mut run = fixture::open_loop();
    run.measurement.elapsed_ns = run.plan.scheduled_ns(u64::MAX).unwrap();
    fixture::use_cpu(&mut run, client, server);
    let requests = run.measurement.total.requests();
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.due = lateness.due.max((requests as f64 / answered) as u64);
    run
}

fn p99(over: f64) -> [Excess; 1] {
    [Excess::Share { over, below_ns: 2e6 }]
}

fn cause(run: &Run, excess: &[Excess]) -> Option<Cause> {
    Disturbance::of_miss(run, excess).map(|disturbance| disturbance.cause)
}

const QUIET: (f64, f64) = (0.3, 0.001);

#[test]
fn a_run_is_void_where_waiting_accounts_for_what_it_missed() {
    for (client, server, over, expected) in [
        (QUIET, QUIET, 0.001, None),
        // 4 % of the time at work for half of it are 8 % of the requests.
        (QUIET, (0.5, 0.04), 0.07, Some(Cause::CpuHeld)),
        (QUIET, (0.5, 0.04), 0.09, None),
        // Of an idle server waiting delays no more than those that are due then.
        (QUIET, (0.001, 0.04), 0.039, Some(Cause::CpuHeld)),
        (QUIET, (0.001, 0.04), 0.05, None),
        // Client and server wait one after the other.
        ((0.3, 0.02), (0.3, 0.02), 0.05, Some(Cause::CpuHeld)),
        // A tenth of the time does not slow half of the requests of a server that is half busy.
        (QUIET, (0.5, 0.1), 0.5, None),
        (QUIET, (0.4, 0.5), 0.5, Some(Cause::CpuHeld)),
    ] {
        let found = Disturbance::of_miss(&run(client, server, 1.0), &p99(over));
        let cause = found.as_ref().map(|found| found.cause);
        assert_eq!(cause, expected, "{client:?} {server:?} {over}: {found:?}");
    }
}

#[test]
fn a_run_that_missed_nothing_counts_whatever_disturbed_it() {
    assert_eq!(cause(&run((0.3, 0.5), (0.3, 0.6), 1.0), &[]), None);
}

#[test]
fn a_server_that_needs_more_than_a_cpu_misses_on_any_machine() {
    // Half of the requests were answered in half of the time: a whole CPU would have been just enough.
    assert_eq!(cause(&run(QUIET, (0.55, 0.4), 0.5), &p99(0.5)), Some(Cause::CpuHeld));
    // A third in half: it takes one and a half.
    assert_eq!(cause(&run(QUIET, (0.55, 0.4), 0.33), &p99(0.5)), None);
    assert_eq!(cause(&run(QUIET, (0.98, 0.01), 0.7), &p99(0.5)), None);
    // One that slept between did fewer requests at a time, which cost more each.
    assert_eq!(cause(&run(QUIET, (0.2, 0.5), 0.1), &p99(0.5)), Some(Cause::CpuHeld));
    // Unless the client was no quicker.
    assert_eq!(cause(&run((0.97, 0.0), (0.6, 0.3), 0.7), &p99(0.5)), Some(Cause::ClientBusy));
}

#[test]
fn what_the_client_sent_late_counts_in_relation_to_the_bound() {
    let mut run = run(QUIET, QUIET, 1.0);
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    let all = lateness.own.count();
    lateness.record_n(0, 0, 1_100_000, all / 20);
    lateness.due += all / 20;
    let found = Disturbance::of_miss(&run, &p99(0.04)).unwrap();
    assert_eq!(found.cause, Cause::ClientLate);
    assert!(found.text.contains("of requests were sent 1.00 ms late or more"), "{found:?}");
    assert_eq!(cause(&run, &p99(0.06)), None, "more were slow than were sent late");
    let far = [Excess::Share { over: 0.04, below_ns: 4e6 }];
    assert_eq!(cause(&run, &far), None, "it is little of that bound");
}

#[test]
fn a_maximum_is_void_where_all_waiting_is_as_long() {
    let run = run(QUIET, (0.3, 0.01), 1.0);
    let span_ns = run.measurement.elapsed_ns as f64;
    assert_eq!(cause(&run, &[Excess::Max(0.009 * span_ns)]), Some(Cause::CpuHeld));
    assert_eq!(cause(&run, &[Excess::Max(0.05 * span_ns + 1e9)]), None);
    // The mean of half of it, for the requests that it delayed.
    let mean_ns = 0.01 / 0.7 * 0.01 * span_ns / 2.0;
    assert_eq!(cause(&run, &[Excess::Mean(mean_ns * 0.9)]), Some(Cause::CpuHeld));
    assert_eq!(cause(&run, &[Excess::Mean(mean_ns * 2.0 + 1e6)]), None);
}

#[test]
fn stolen_time_may_all_be_of_one_cpu() {
    let mut run = run(QUIET, QUIET, 1.0);
    run.watched.stolen = Some(0.02);
    run.watched.cpus = vec![0, 1];
    let found = Disturbance::of_miss(&run, &p99(0.05)).unwrap();
    assert_eq!(found.text, "the hypervisor gave 2 % of this machine's CPU time to others");
    assert_eq!(cause(&run, &p99(0.2)), None);
}

#[test]
fn every_part_of_a_target_must_be_accounted_for() {
    let run = run(QUIET, (0.5, 0.04), 1.0);
    let [small] = p99(0.05);
    let [large] = p99(0.5);
    assert_eq!(cause(&run, &[small]), Some(Cause::CpuHeld));
    assert_eq!(cause(&run, &[small, large]), None);
}
