use std::time::{Duration, UNIX_EPOCH};

use host::CommandUse;
use measure::{Failures, Latency, Outage, Timeline};

use super::*;
use crate::fixture;

const QUARTER_NS: u64 = 250_000_000;

/// A run of 40 intervals that begins at second 1000, with these greatest latencies in milliseconds.
fn run(slow: &[(u32, u64)], journal: Option<Journal>) -> Run {
    let mut run = fixture::complete();
    let point = |index: u32| {
        let mut latency = Latency::new(3);
        latency.record_n(100_000, 50);
        if let Some((_, ms)) = slow.iter().find(|(at, _)| *at == index) {
            latency.record_n(ms * 1_000_000, 50);
        }
        Point::with(index, latency.count(), 0, &latency)
    };
    run.measurement.timeline = Timeline::from_points(QUARTER_NS, (0..40).map(point).collect());
    run.measurement.elapsed_ns = 40 * QUARTER_NS;
    run.measurement.started_at = UNIX_EPOCH + Duration::from_secs(1_000);
    run.watched.servers = vec![ServerUse { journal, ..ServerUse::default() }];
    run
}

fn entry(kind: JournalKind, from_s: f64, to_s: f64, usec: u64, what: &str) -> JournalEntry {
    JournalEntry { kind, from_s, to_s, usec: Some(usec), what: what.into(), ..Default::default() }
}

#[test]
fn each_moment_is_reported_with_what_the_server_did_then() {
    let keys = entry(JournalKind::SlowCommand, 1_002.922, 1_004.0, 78_000, "KEYS *");
    let fork = entry(JournalKind::Fork, 1_006.0, 1_008.0, 8_708, "BGSAVE");
    let early = entry(JournalKind::SlowCommand, 900.0, 901.0, 5_000_000, "DEBUG sleep");
    let unseen = vec!["the latency monitor is off".to_owned()];
    let journal = Journal { entries: vec![early, keys, fork], unseen, ahead_s: 0.0 };
    let found =
        WorstMoments::from_run(&run(&[(12, 80), (13, 70), (28, 9)], Some(journal))).unwrap();
    let [first, second] = &found.moments[..] else { panic!("{found:?}") };
    assert_eq!((first.at.as_str(), first.lasted_s), ("00:16:43.000", 0.5));
    assert_eq!(first.causes, ["KEYS * ran for 78.0 ms (00:16:43, SLOWLOG)"]);
    assert_eq!(second.causes.len(), 1, "{found:?}");
    assert!(second.causes[0].starts_with("a fork for BGSAVE paused the server for 8.71 ms"));
    assert_eq!(found.unseen, ["the latency monitor is off"]);
    assert!((found.usual_p99_ms - 0.1).abs() < 0.001);
}

#[test]
fn what_this_machine_did_is_told_of_the_moment_in_which_it_did() {
    let mut run = run(&[(12, 80), (30, 70)], None);
    let span = |at: u32, wait_s, server_wait_s, stolen| host::MachineSpan {
        from_s: 1_000.0 + f64::from(at) / 4.0,
        lasted_s: 0.25,
        stolen: Some(stolen),
        wait_s: Some(wait_s),
        server_wait_s: Some(server_wait_s),
        ..host::MachineSpan::default()
    };
    run.watched.machine = (0..40)
        .map(|at| match at {
            12 => span(at, 0.075, 0.002, 0.2),
            _ => span(at, 0.001, 0.0, 0.0),
        })
        .collect();
    let found = WorstMoments::from_run(&run).unwrap();
    let [first, second] = &found.moments[..] else { panic!("{found:?}") };
    assert_eq!(first.causes.len(), 2, "{found:?}");
    assert!(first.causes[0].starts_with("keystorm's threads waited 7"), "{found:?}");
    assert!(first.causes[1].starts_with("the hypervisor gave 1"), "{found:?}");
    let [unexplained] = &second.causes[..] else { panic!("{found:?}") };
    assert!(unexplained.starts_with("unexplained: 6"), "{found:?}");
}

#[test]
fn what_belongs_to_no_moment_is_reported_besides() {
    let fork = entry(JournalKind::Fork, 1_001.0, 1_002.0, 2_065, "");
    let early = entry(JournalKind::SlowCommand, 900.0, 901.0, 5_000_000, "DEBUG sleep");
    let journal = Journal { entries: vec![early, fork], ..Journal::default() };
    let found = WorstMoments::from_run(&run(&[(12, 80)], Some(journal))).unwrap();
    let unexplained = "unexplained: 79.9 ms; no cause was seen in the server or in keystorm";
    assert_eq!(found.moments[0].causes, [unexplained]);
    let text = "a fork paused the server for 2.06 ms (between 00:16:41 and 00:16:42)";
    assert_eq!(found.besides, [text]);
}

#[test]
fn much_of_one_kind_crowds_out_no_other() {
    let slow = |n: u64| {
        let at = 1_000.0 + n as f64 / 10.0;
        entry(JournalKind::SlowCommand, at, at + 1.0, 90_000 - n, &format!("SORT list:{n}"))
    };
    let mut entries: Vec<JournalEntry> = (0..60).map(slow).collect();
    entries.push(entry(JournalKind::SlowCommand, 1_001.0, 1_002.0, 78_000, "KEYS nothing*"));
    entries.push(entry(JournalKind::Fork, 1_001.0, 1_002.0, 1_600, "BGSAVE"));
    entries.push(entry(JournalKind::Latency, 1_001.0, 1_002.0, 2_000, "expire-cycle"));
    entries.push(entry(JournalKind::Latency, 1_001.0, 1_002.0, 9_000, "fast-command"));
    let journal = Journal { entries, ..Journal::default() };
    let named = |lines: &[String]| {
        let has = |what: &str| lines.iter().any(|text| text.contains(what));
        has("SORT") && has("KEYS nothing*") && has("a fork for BGSAVE")
    };
    // None of these is in a moment, since all that was measured was even.
    let mut run = run(&[], Some(journal));
    let command = |name: &str| CommandUse { name: name.into(), calls: 1, usec: 1_700 };
    run.watched.servers[0].by_command = vec![command("bgsave"), command("keys")];
    let found = WorstMoments::from_run(&run).unwrap();
    assert!(named(&found.besides) && found.besides.len() <= BESIDES_MAX, "{:?}", found.besides);
    assert!(found.besides.iter().any(|text| text.contains("\"expire-cycle\"")), "{found:?}");
    let twice = |text: &String| text.contains("another client") || text.contains("fast-command");
    assert!(!found.besides.iter().any(twice), "{:?}", found.besides);
    // And all of them in one.
    let slow: Vec<(u32, u64)> = (0..8).map(|n| (n, 95)).collect();
    run.measurement.timeline = super::tests::run(&slow, None).measurement.timeline;
    let found = WorstMoments::from_run(&run).unwrap();
    assert!(named(&found.moments[0].causes), "{:?}", found.moments[0].causes);
}

#[test]
fn the_clock_of_the_server_may_differ() {
    let keys = entry(JournalKind::SlowCommand, 1_102.922, 1_104.0, 78_000, "KEYS *");
    let journal = Journal { entries: vec![keys], ahead_s: 100.0, ..Journal::default() };
    let found = WorstMoments::from_run(&run(&[(12, 80)], Some(journal))).unwrap();
    assert_eq!(found.moments[0].causes, ["KEYS * ran for 78.0 ms (00:16:43, SLOWLOG)"]);
}

#[test]
fn an_outage_is_the_cause_of_what_waited_for_its_end() {
    let mut run = run(&[(20, 1_300)], None);
    run.measurement.outages = vec![Outage {
        node: 0,
        from_ns: 3_700_000_000,
        to_ns: 5_000_000_000,
        to_the_end: false,
        of_all: false,
        first_failure_ns: None,
        failures: Failures::default(),
        rate_before_per_s: None,
        recovered_ns: None,
    }];
    let found = WorstMoments::from_run(&run).unwrap();
    let description = "the server answered nothing for 1.30 s from 00:16:43.700 (outage)";
    assert_eq!(found.moments[0].causes, [description]);
}

#[test]
fn calls_of_others_are_reported_by_the_time_of_one() {
    let mut run = run(&[], None);
    let command = |name: &str, calls, usec| CommandUse { name: name.into(), calls, usec };
    run.watched.servers[0].by_command =
        vec![command("keys", 1, 78_000), command("info", 1, 90_000), command("get", 9, 90)];
    let found = WorstMoments::from_run(&run).unwrap();
    assert_eq!(found.besides, ["another client's KEYS ran for 78.0 ms, once, at an unknown time"]);
    assert!(found.moments.is_empty());
}

#[test]
fn a_calm_run_has_no_worst_moments_and_ten_are_the_most() {
    assert_eq!(WorstMoments::from_run(&run(&[], None)), None);
    assert_eq!(WorstMoments::from_run(&fixture::empty()), None);
    let many: Vec<(u32, u64)> = (0..20).map(|n| (n * 2, 50 + u64::from(n))).collect();
    // Half of all intervals are slow, and so slow is usual.
    assert!(WorstMoments::from_run(&run(&many, None)).is_none_or(|m| m.moments.is_empty()));
    let found = WorstMoments::from_run(&run(&many[..15], None)).unwrap();
    assert_eq!(found.moments.len(), MOMENTS_MAX);
    let in_order = found.moments.windows(2).all(|pair| pair[0].t_s < pair[1].t_s);
    assert!(in_order && found.moments.iter().all(|moment| moment.max_ms >= 54.9));
}

#[test]
fn what_no_cause_covers_is_unexplained() {
    let mut run = run(&[(12, 423)], None);
    run.watched.machine = (0..40)
        .map(|at: u32| host::MachineSpan {
            from_s: 1_000.0 + f64::from(at) / 4.0,
            lasted_s: 0.25,
            wait_s: Some(if at == 12 { 0.0477 } else { 0.0 }),
            ..host::MachineSpan::default()
        })
        .collect();
    let found = WorstMoments::from_run(&run).unwrap();
    let [waited, rest] = &found.moments[0].causes[..] else { panic!("{found:?}") };
    assert!(waited.starts_with("keystorm's threads waited "), "{found:?}");
    assert!(rest.starts_with("unexplained: 3"), "{found:?}");
    assert_eq!((&*found.moments[0].at, &*found.moments[0].until), ("00:16:43.000", "00:16:43.250"));
}

#[test]
fn a_slow_command_belongs_to_one_moment_and_comes_back_in_totals() {
    let slow = |second: f64, usec| {
        entry(JournalKind::SlowCommand, second - usec as f64 / 1e6, second + 1.0, usec, "EVAL x")
    };
    // Both moments are within a second of each, as far as that is known.
    let entries = vec![slow(1_003.0, 150_000), slow(1_006.0, 148_000), slow(1_009.0, 151_000)];
    let journal = Journal { entries, ..Journal::default() };
    let slow = [(13, 151), (15, 66), (26, 149), (38, 152)];
    let found = WorstMoments::from_run(&self::run(&slow, Some(journal))).unwrap();
    let named = |moment: &&Moment| moment.causes.iter().any(|text| text.contains("EVAL"));
    assert_eq!(found.moments.iter().filter(named).count(), 3, "{found:?}");
    assert!(found.moments[1].causes[0].starts_with("unexplained: 65.9 ms; no cause"), "{found:?}");
    assert_eq!(found.totals, ["EVAL 3 times, 449 ms, about every 3.00 s"]);
}

#[test]
fn two_commands_of_one_second_are_in_a_moment_each() {
    let slow = |usec| entry(JournalKind::SlowCommand, 1_000.9, 1_002.0, usec, "EVAL x");
    let journal = Journal { entries: vec![slow(150_000), slow(150_200)], ..Journal::default() };
    let found = WorstMoments::from_run(&run(&[(4, 151), (6, 152)], Some(journal))).unwrap();
    let named = |moment: &Moment| moment.causes[0].contains("EVAL");
    assert!(found.moments.len() == 2 && found.moments.iter().all(named), "{found:?}");
}
