//! Sending times of requests, and the meaning of latency.

use std::time::{Duration, SystemTime};

use measure::Ending;
use workload::{Arrivals, Pace, Schedule, Stage, Stop, Window};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

fn quantile_ms(latency: &measure::Latency, quantile: f64) -> f64 {
    latency.quantile_ns(quantile).unwrap() as f64 / MS as f64
}

#[test]
fn service_time_is_from_sent_to_the_end_of_the_reply() {
    let (got, _) = replay(parts(1, 1, Stop::Requests(100)), Server::taking(3 * MS));
    let service = got.total.service();
    assert_eq!((service.min_ns(), service.max_ns()), (Some(3 * MS), Some(3 * MS)));
    assert_eq!(got.elapsed_ns, 300 * MS);
}

#[test]
fn a_run_beyond_ten_minutes_has_longer_intervals_and_loses_nothing() {
    let mut plan = parts(1, 1, Stop::Requests(3500));
    plan.recording.precision = 1;
    let (got, _) = replay(plan, Server::taking(200 * MS));
    assert_eq!(got.elapsed_ns, 700 * SECOND);
    assert_eq!(got.timeline.interval_ns, 500 * MS);
    assert!((1399..=1401).contains(&got.timeline.points.len()), "{}", got.timeline.points.len());
    let replies =
        got.timeline.points.iter().map(|p| p.response.as_ref().map_or(0, |r| r.exact.count));
    assert_eq!(replies.sum::<u64>(), 3500);
}

#[test]
fn replies_of_one_pipeline_have_latencies_of_their_own() {
    let mut plan = parts(1, 4, Stop::Requests(4));
    plan.recording.first_byte = true;
    let (got, _) = replay(plan, Server::taking(MS));
    let service = got.total.service();
    let values: Vec<u64> = service.recorded().map(|(ns, _)| ns.div_ceil(MS) * MS).collect();
    assert_eq!(values.len(), 4);
    assert_eq!((service.min_ns(), service.max_ns()), (Some(MS), Some(4 * MS)));
    let first = got.total.first_byte();
    assert_eq!((first.min_ns(), first.max_ns()), (Some(MS), Some(MS)), "the peers' latency");
}

#[test]
fn every_send_is_at_its_due_nanosecond() {
    for rate_per_s in [1.0, 3.0, 999.0, 70_000.0, 1_000_000.0] {
        let mut plan = parts(50, 1, Stop::Requests(200));
        plan.load.pace = Pace::constant(rate_per_s);
        let (got, log) = replay(plan, Server::taking(10));
        assert_eq!(got.ending, Ending::Complete);
        let start_ns = log.requests[0].0;
        for (n, (at_ns, ..)) in log.requests.iter().enumerate() {
            let due_ns = start_ns + (n as f64 * 1e9 / rate_per_s) as u64;
            assert_eq!(*at_ns, due_ns, "request {n} at {rate_per_s} per second");
        }
    }
}

#[test]
fn a_ramp_steps_and_random_arrivals_are_sent_at_their_due_nanosecond() {
    let stage = Stage::ramp;
    let schedules = [
        (vec![stage(100.0, 100_000.0, Some(SECOND / 100))], Arrivals::Constant),
        (vec![stage(1e3, 1e3, Some(50 * MS)), stage(1e6, 1e6, None)], Arrivals::Constant),
        (vec![stage(5_000.0, 5_000.0, None)], Arrivals::Poisson),
        (vec![stage(0.0, 1e6, Some(SECOND))], Arrivals::Poisson),
    ];
    for (stages, arrivals) in schedules {
        let mut parts = parts(50, 1, Stop::Requests(400));
        parts.load.pace = Pace::Open(Schedule { stages, arrivals });
        let plan = parts.clone().build().unwrap();
        let (got, log) = replay(parts, Server::taking(10));
        assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 400));
        let start_ns = log.requests[0].0 - plan.pacer(0, 0, 1).unwrap().due_ns();
        let mut pacer = plan.pacer(start_ns, 0, 1).unwrap();
        for (n, (at_ns, ..)) in log.requests.iter().enumerate() {
            assert_eq!(Some(*at_ns), pacer.take(u64::MAX), "request {n} of {:?}", plan.load.pace);
        }
    }
}

#[test]
fn lateness_tells_a_full_server_from_a_late_client() {
    let mut plan = parts(2, 1, Stop::AfterNs(4 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    let (got, _) = replay(plan, Server::taking(MS / 20).frozen(SECOND..2 * SECOND));
    let lateness = got.total.lateness.unwrap();
    assert_eq!(lateness.total.count(), got.total.connections.unanswered + 4_000);
    // Two connections were stuck with a request each; what was due meanwhile left when they came free.
    assert!((900 * MS..1100 * MS).contains(&lateness.total.max_ns().unwrap()));
    assert_eq!(lateness.own.max_ns(), Some(0), "keystorm itself was never late");
    let late = got.timeline.points.iter().filter(|p| p.late_max_ns.is_some_and(|ns| ns > 10 * MS));
    let missed: Vec<u32> = late.map(|p| p.index).collect();
    // At exactly 2 s, which is the last moment of interval 7.
    assert_eq!(missed.first(), Some(&7), "nothing leaves late until the freeze is over");
}

#[test]
fn a_stall_is_not_omitted() {
    let mut plan = parts(4, 1, Stop::AfterNs(10 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    plan.load.concurrency.window = Window::Rolling;
    let server = Server::taking(MS / 20).frozen(4 * SECOND..5 * SECOND);
    let (got, _) = replay(plan, server);
    assert_eq!(got.total.requests(), 10_000, "the schedule is kept");
    let (response, service) = (got.total.response(), got.total.service());
    assert!((450.0..550.0).contains(&quantile_ms(&response, 0.95)));
    assert!((850.0..950.0).contains(&quantile_ms(&response, 0.99)));
    assert!(quantile_ms(&service, 0.99) < 1.0, "what the peers would have said");
}

#[test]
fn a_closed_loop_has_one_latency() {
    let server = Server::taking(MS).frozen(50 * MS..150 * MS);
    let (got, _) = replay(parts(1, 1, Stop::Requests(100)), server);
    assert_eq!(got.total.response().max_ns(), got.total.service().max_ns());
    assert_eq!(got.total.service().max_ns(), Some(100 * MS + MS));
}

#[test]
fn a_request_begun_in_the_warm_up_is_not_counted() {
    let mut plan = parts(2, 1, Stop::Requests(100));
    plan.load.warmup_ns = 10 * MS + MS / 2;
    let (got, log) = replay(plan, Server::taking(MS));
    assert_eq!(got.total.requests(), 100);
    assert!(log.requests.len() > 105, "the server saw the warm-up, too: {}", log.requests.len());
    // Measuring begins in the middle of a request, at a moment that no reply decides.
    assert!((99 * MS..=102 * MS).contains(&got.elapsed_ns), "{} ns", got.elapsed_ns);
}

#[test]
fn a_timed_run_ends_on_time_and_counts_what_was_in_flight() {
    let (got, log) = replay(parts(3, 1, Stop::AfterNs(SECOND)), Server::taking(MS));
    assert_eq!(got.ending, Ending::Complete);
    assert_eq!(got.total.requests(), log.requests.len() as u64);
    assert!((SECOND..SECOND + 4 * MS).contains(&got.elapsed_ns));
    assert!(log.requests.iter().all(|(at_ns, ..)| *at_ns < SECOND));
}

#[test]
fn the_timeline_adds_up_to_the_total() {
    let (got, _) = replay(parts(3, 1, Stop::AfterNs(3 * SECOND)), Server::taking(MS));
    let sum: u64 = got.timeline.points.iter().map(|p| p.requests).sum();
    assert_eq!(sum, got.total.requests());
    assert!((12..=13).contains(&got.timeline.points.len()));
    assert!(got.timeline.points[..12].iter().all(|p| (248..=252).contains(&p.requests)));
}

#[test]
fn an_interval_has_its_number_however_late_the_worker_wakes() {
    // One reply every 170 ms: wake-ups fall after the ends of intervals.
    let (got, _) = replay(parts(1, 1, Stop::AfterNs(2 * SECOND)), Server::taking(170 * MS));
    let points: Vec<(u32, u64)> =
        got.timeline.points.iter().map(|p| (p.index, p.requests)).collect();
    assert_eq!(points[..4], [(0, 1), (1, 1), (2, 2), (3, 1)]);
}

#[test]
fn an_overloaded_server_leaves_a_growing_backlog_not_a_slower_schedule() {
    let mut plan = parts(10, 1, Stop::Requests(2000));
    plan.load.pace = Pace::constant(2000.0);
    let (got, _) = replay(plan, Server::taking(MS));
    // 2 s of work for each second of schedule: the last request waits about a second.
    assert!((900.0..1100.0).contains(&quantile_ms(&got.total.response(), 1.0)));
    assert!(quantile_ms(&got.total.service(), 1.0) < 20.0);
}

#[test]
fn a_run_began_by_the_wall_clock_of_its_beginning() {
    let (measured, _) = replay(parts(1, 1, Stop::Requests(3)), Server::taking(MS));
    let start = measured.started_at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert!(start < Duration::from_secs(1), "no clock of today is asked: {start:?}");
}
