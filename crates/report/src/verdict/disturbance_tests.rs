use super::*;
use crate::fixture;

/// A run of an open loop in which client and server spent these shares of time on a CPU and waiting for one.
fn run(client: (f64, f64), server: (f64, f64), stolen: f64) -> Run {
    let mut run = fixture::open_loop();
    fixture::use_cpu(&mut run, client, server);
    run.watched.stolen = Some(stolen);
    run
}

fn cause(run: &Run) -> Option<Cause> {
    Disturbance::from_run(run).map(|disturbance| disturbance.cause)
}

#[test]
fn whoever_takes_the_cpu_makes_a_run_void_at_any_rate() {
    let quiet = (0.3, 0.01);
    for (client, server, stolen, expected) in [
        (quiet, quiet, 0.0, None),
        (quiet, (0.89, 0.05), 0.04, None),
        // The server's own limit is what a test looks for.
        (quiet, (0.98, 0.01), 0.0, None),
        (quiet, (0.5, 0.3), 0.0, Some(Cause::CpuHeld)),
        ((0.3, 0.2), quiet, 0.0, Some(Cause::CpuHeld)),
        // At a low rate a hundredth of the time is long.
        (quiet, (0.008, 0.0125), 0.0, Some(Cause::CpuHeld)),
        ((0.01, 0.057), (0.008, 0.0), 0.0, Some(Cause::CpuHeld)),
        (quiet, (0.0008, 0.0005), 0.0, None),
        (quiet, quiet, 0.15, Some(Cause::CpuStolen)),
        ((0.96, 0.01), quiet, 0.0, Some(Cause::ClientBusy)),
        ((0.91, 0.01), (0.97, 0.0), 0.0, None),
    ] {
        let text = Disturbance::from_run(&run(client, server, stolen));
        let found = text.as_ref().map(|disturbance| disturbance.cause);
        assert_eq!(found, expected, "{client:?} {server:?} {stolen}: {text:?}");
    }
}

#[test]
fn nobody_is_blamed_who_did_not_run() {
    let mut run = run((0.3, 0.01), (0.05, 0.04), 0.0);
    let span_s = run.measurement.elapsed_ns as f64 / 1e9;
    for (others, expected) in [(0.005, None), (0.03, Some(Cause::CpuHeld))] {
        // A server that is woken on the CPU of a spinning client waits for a moment without anybody else.
        run.watched.others_s = Some(others * span_s);
        assert_eq!(cause(&run), expected, "others used {others} CPUs");
    }
    // What a kernel and its daemons do all the time spoils nothing, and is counted coarsely.
    run.watched.servers[0].cpu_wait_s = Some(0.017 * span_s);
    run.watched.others_s = Some(0.019 * span_s);
    assert_eq!(cause(&run), None);
    run.watched.others_s = Some(0.021 * span_s);
    assert_eq!(cause(&run), Some(Cause::CpuHeld));
}

#[test]
fn a_schedule_that_is_kept_is_no_sign_that_a_run_counts() {
    let run = run((0.1, 0.09), (0.05, 0.02), 0.0);
    let disturbance = Disturbance::from_run(&run).unwrap();
    assert_eq!(
        disturbance.text,
        "the client waited for a CPU for 9 % of the time, and ran for 10 %"
    );
    assert_eq!(disturbance.evidence[0].name, "client_waiting_for_cpu");
    assert!((disturbance.evidence[0].value - 0.09).abs() < 0.001, "{disturbance:?}");
}

#[test]
fn a_client_that_missed_the_schedule_by_itself_makes_a_run_void() {
    let mut run = run((0.1, 0.0), (0.1, 0.0), 0.0);
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.record_n(0, 0, 600_000, 100);
    lateness.due += 100;
    assert_eq!(cause(&run), None, "nobody's schedule is missed by that");
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.record_n(0, 0, 20_000_000, 1000);
    lateness.due += 1000;
    assert_eq!(cause(&run), Some(Cause::ClientLate));
}

#[test]
fn a_server_elsewhere_and_errors_are_no_disturbance() {
    let mut away = run((0.1, 0.0), (0.5, 0.0), 0.0);
    away.watched.servers[0].cpu_wait_s = None;
    assert_eq!(cause(&away), None);
    let mut failed = run((0.3, 0.2), (0.5, 0.3), 0.0);
    failed.measurement.ending = measure::Ending::Failed(measure::Failure::new("gone"));
    assert_eq!(cause(&failed), None);
}
