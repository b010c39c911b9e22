use super::*;
use crate::fixture;

/// A run of an open loop in which client and server spent these shares of time on a CPU and waiting for one.
/// `answered` of the due requests were answered.
fn run(client: (f64, f64), server: (f64, f64), answered: f64) -> Run {
    let mut run = fixture::open_loop();
    run.measurement.elapsed_ns = run.plan.scheduled_ns(u64::MAX).unwrap();
    fixture::use_cpu(&mut run, client, server);
    let requests = run.measurement.total.requests();
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.due = lateness.due.max((requests as f64 / answered) as u64);
    run
}

const QUIET: (f64, f64) = (0.3, 0.0);
const ALL: u64 = 1000;
const BELOW_NS: f64 = 2e6;

/// A single span for a whole run, in which `slow` of a thousand requests took `slow_ns`.
fn whole(run: &Run, slow: u64, slow_ns: u64) -> [SpanResponses; 1] {
    let late = &run.measurement.total.lateness.as_ref().unwrap().own;
    [SpanResponses {
        from_ns: 0,
        to_ns: run.measurement.elapsed_ns,
        times: vec![(100_000, ALL - slow), (slow_ns, slow)],
        own_late_max_ns: late.max_ns().unwrap_or_default(),
    }]
}

/// Returns the number of slow responses that remain of `slow`.
fn left(run: &Run, slow: u64, slow_ns: u64) -> u64 {
    let noise = Noise::of_run(run, ALL);
    noise.beyond_without(&whole(run, slow, slow_ns), BELOW_NS)[0].0
}

/// Expected number that remains if the whole run is a wait of this share.
fn expected(run: &Run, share: f64, drain: f64) -> u64 {
    let Noise { rate_per_s, .. } = Noise::of_run(run, ALL);
    (share * run.measurement.elapsed_ns as f64 / 1e9 * rate_per_s * drain) as u64
}

#[test]
fn a_wait_delays_what_falls_due_in_it_and_the_queue_behind_it() {
    for (client, server, share, drain) in [
        (QUIET, QUIET, 0.0, 1.0),
        // Of a server that is half busy the queue is gone after twice the wait.
        (QUIET, (0.5, 0.04), 0.04, 2.0),
        (QUIET, (0.0, 0.04), 0.04, 1.0),
        ((0.5, 0.03), QUIET, 0.03, 2.0),
    ] {
        let run = run(client, server, 1.0);
        // Each is beyond its bound by as long as all waits together are, so that none is a short one's.
        let wait_ns = share * run.measurement.elapsed_ns as f64;
        let slow_ns = (BELOW_NS + (wait_ns - 2.0).max(1e6)) as u64;
        let taken = ALL - 1 - left(&run, ALL - 1, slow_ns);
        let queue = expected(&run, share, drain);
        assert!(taken.abs_diff(queue.min(ALL - 1)) <= 2, "{client:?} {server:?}: {taken} {queue}");
    }
}

#[test]
fn what_is_longer_by_more_than_all_waits_is_certain() {
    let run = run(QUIET, (0.5, 0.04), 1.0);
    let wait_ns = 0.04 * run.measurement.elapsed_ns as f64;
    assert_eq!(left(&run, 10, (BELOW_NS + 1.1 * wait_ns) as u64), 10);
    assert_eq!(left(&run, 10, (BELOW_NS + 0.5 * wait_ns) as u64), 0);
    let noise = Noise::of_run(&run, ALL);
    let longest_ns = (3.0 * wait_ns) as u64;
    let least = noise.greatest_without(&whole(&run, 1, longest_ns));
    assert!(least.abs_diff((2.0 * wait_ns) as u64) <= crate::fixture::LATE_NS + 2, "{least}");
}

#[test]
fn a_server_that_needs_more_than_a_cpu_misses_on_any_machine() {
    // Half of the requests were answered in half of the time: a whole CPU would have been just enough.
    let standing = |run: &Run| Noise::of_run(run, ALL).standing;
    assert_eq!(standing(&run(QUIET, (0.55, 0.4), 0.5)), Standing::Open);
    // A third in half: it takes one and a half.
    let full = run(QUIET, (0.55, 0.4), 0.33);
    assert_eq!((standing(&full), left(&full, 500, 3_000_000)), (Standing::ServerFull, 500));
    assert_eq!(standing(&run(QUIET, (0.98, 0.01), 0.7)), Standing::ServerFull);
    // One that slept between did fewer requests at a time, which cost more each.
    assert_eq!(standing(&run(QUIET, (0.2, 0.5), 0.1)), Standing::Open);
    // Unless the client was no quicker.
    let busy = run((0.97, 0.0), (0.6, 0.3), 0.7);
    assert_eq!((standing(&busy), left(&busy, 500, 3_000_000)), (Standing::ClientBusy, 0));
    assert!(Noise::of_run(&busy, ALL).client_busy().is_some());
}

#[test]
fn what_the_client_sent_late_explains_what_is_longer_by_as_much() {
    let mut run = run(QUIET, QUIET, 1.0);
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.record_n(0, 0, 1_100_000, 50);
    lateness.due += 50;
    assert_eq!(left(&run, 40, 3_000_000), 0);
    assert_eq!(left(&run, 60, 3_000_000), 10, "more were slow than were sent late");
    assert_eq!(left(&run, 40, 4_000_000), 40, "they are longer by more");
    let found = Noise::of_run(&run, ALL).largest(BELOW_NS).unwrap();
    assert_eq!(found.cause, Cause::ClientLate);
    assert!(found.text.contains("late or more, although connections had room"), "{found:?}");
}

#[test]
fn a_schedule_may_be_late_by_noise_up_to_its_share() {
    let run = run(QUIET, (0.5, 0.04), 1.0);
    let noise = Noise::of_run(&run, ALL);
    assert!(noise.accounts_for(0.07) && !noise.accounts_for(0.09));
    assert!(noise.client_late(0.07).is_none() && noise.client_late(0.09).is_some());
}

#[test]
fn stolen_time_may_all_be_of_one_cpu() {
    let mut run = run(QUIET, (0.0, 0.0), 1.0);
    run.watched.stolen = Some(0.02);
    run.watched.cpus = vec![0, 1];
    let noise = Noise::of_run(&run, ALL);
    let found = noise.largest(BELOW_NS).unwrap();
    assert_eq!(found.text, "the hypervisor gave 2 % of this machine's CPU time to others");
    assert!(noise.accounts_for(0.04) && !noise.accounts_for(0.2));
}

#[test]
fn noise_elsewhere_in_the_run_explains_nothing() {
    let mut run = run(QUIET, (0.01, 0.1), 1.0);
    let start = run.measurement.started_at.duration_since(std::time::UNIX_EPOCH).unwrap();
    let span = |quarter: u32, server_wait_s: f64| host::MachineSpan {
        from_s: start.as_secs_f64() + f64::from(quarter) / 4.0,
        lasted_s: 0.25,
        wait_s: Some(0.0),
        server_wait_s: Some(server_wait_s),
        ..host::MachineSpan::default()
    };
    run.watched.machine = (0..8).map(|n| span(n, if n == 6 { 0.1 } else { 0.0 })).collect();
    let noise = Noise::of_run(&run, ALL);
    let spans = (0..8).map(|quarter: u64| SpanResponses {
        from_ns: quarter * 250_000_000,
        to_ns: (quarter + 1) * 250_000_000,
        times: vec![(100_000, 90), (30_000_000, 10)],
        own_late_max_ns: 0,
    });
    let spans: Vec<SpanResponses> = spans.collect();
    let left: Vec<u64> =
        noise.beyond_without(&spans, BELOW_NS).iter().map(|(beyond, _)| *beyond).collect();
    assert_eq!(&left[..5], [10; 5]);
    assert_eq!(left[6], 0, "{left:?}");
}
