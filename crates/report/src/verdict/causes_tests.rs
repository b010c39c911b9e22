use host::{CommandUse, JournalEntry, JournalKind};
use measure::statistics::Noise as Chance;

use super::*;
use crate::slo::fake_time_tests::{SimulatedLoad, run};
use crate::{Finding, LimitedBy, Verdict, WorstMoments};

/// Runs of simulated loads to which `change` was applied.
fn runs_with(change: impl Fn(&mut SimulatedLoad)) -> Vec<Run> {
    let mut chance = Chance::new(46);
    let stalls = (0..25).map(|_| {
        let mut load = SimulatedLoad::random(&mut chance);
        change(&mut load);
        run(&load, &load.played(true))
    });
    stalls.collect()
}

fn without_noise(load: &mut SimulatedLoad) {
    load.server_waits.clear();
    load.client_waits.clear();
    load.wake_up_ns = 0.0;
}

/// The share of responses that were slow.
fn slow(run: &Run, causes: &Causes) -> f64 {
    let all = Summary::from_run(run).response_times;
    let slow = all.recorded().filter(|(ns, _)| *ns as f64 >= causes.slow_ms * 1e6);
    slow.map(|(_, count)| count).sum::<u64>() as f64 / all.count() as f64
}

#[test]
fn each_slow_response_is_charged_once() {
    let runs = runs_with(|_| {});
    let known = runs.iter().filter_map(|run| Some((run, Causes::of_run(run)?)));
    let known: Vec<(&Run, Causes)> = known.collect();
    assert!(known.len() > 10);
    for (run, causes) in known {
        let charged: f64 = causes.shares.iter().map(|share| share.share).sum();
        assert!((charged - slow(run, &causes)).abs() < 0.002, "{causes:?}");
    }
}

#[test]
fn waits_that_were_measured_leave_nothing_unexplained() {
    let mut seen = 0;
    for run in runs_with(|load| load.stalls.clear()) {
        let Some(causes) = Causes::of_run(&run) else { continue };
        seen += 1;
        assert_eq!(causes.share(WaitCause::ServerCommands), 0.0, "{causes:?}");
        assert!(causes.share(WaitCause::Unexplained) < 0.001, "{causes:?}");
        assert_eq!(causes.largest(), Some(WaitCause::CpuHeld), "{causes:?}");
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn slow_commands_are_charged_with_what_waited_for_them_and_nothing_else_is() {
    let mut seen = 0;
    for run in runs_with(without_noise) {
        let Some(causes) = Causes::of_run(&run) else { continue };
        let [all, commands] = [slow(&run, &causes), causes.share(WaitCause::ServerCommands)];
        assert!(commands > 0.6 * all && commands <= all + 1e-9, "{all}: {causes:?}");
        assert!(causes.named().starts_with("KEYS "), "{causes:?}");
        assert_eq!(causes.share(WaitCause::CpuHeld), 0.0, "{causes:?}");
        seen += 1;
        // What the server does not record is not seen.
        let mut silent = run;
        silent.watched.servers[0].journal = None;
        let causes = Causes::of_run(&silent).unwrap();
        assert!((causes.share(WaitCause::Unexplained) - all).abs() < 1e-9, "{all}: {causes:?}");
        assert!(
            causes.sentence(false).starts_with("what was not seen in server or client made "),
            "{causes:?}"
        );
    }
    assert!(seen > 5, "{seen}");
}

fn closed(load: &mut SimulatedLoad) {
    load.slots = 4;
    load.service_ns = load.service_ns.max(200_000.0);
}

/// The share of slow responses in the time of all responses.
fn slow_time(run: &Run, causes: &Causes) -> f64 {
    let all = Summary::from_run(run).response_times;
    let time = |least_ns: f64| {
        let times = all.recorded().filter(|(ns, _)| *ns as f64 >= least_ns);
        times.map(|(ns, count)| ns as f64 * count as f64).sum::<f64>()
    };
    time(causes.slow_ms * 1e6) / time(0.0)
}

#[test]
fn in_a_closed_loop_the_time_of_slow_responses_is_charged_once() {
    let (mut noisy, mut quiet) = (0, 0);
    for run in runs_with(closed) {
        let Some(causes) = Causes::of_run(&run) else { continue };
        let charged: f64 = causes.shares.iter().map(|share| share.share).sum();
        let slow = slow_time(&run, &causes);
        assert!(causes.of_time && (charged - slow).abs() < 0.01, "{slow}: {causes:?}");
        noisy += 1;
    }
    let alone = runs_with(|load| {
        without_noise(load);
        closed(load);
    });
    for mut run in alone {
        let Some(causes) = Causes::of_run(&run) else { continue };
        let [all, commands] = [slow_time(&run, &causes), causes.share(WaitCause::ServerCommands)];
        assert!(commands > 0.6 * all && commands <= 1.01 * all, "{all}: {causes:?}");
        assert!(causes.sentence(false).contains(" of the time of all requests"), "{causes:?}");
        run.watched.servers[0].journal = None;
        assert_eq!(Causes::of_run(&run).unwrap().largest(), Some(WaitCause::Unexplained));
        quiet += 1;
    }
    assert!(noisy > 10 && quiet > 5, "{noisy} {quiet}");
    let waits = runs_with(|load| {
        load.stalls.clear();
        closed(load);
    });
    for causes in waits.iter().filter_map(Causes::of_run) {
        assert_eq!(causes.largest(), Some(WaitCause::CpuHeld), "{causes:?}");
        assert!(causes.share(WaitCause::Unexplained) < 0.01, "{causes:?}");
    }
}

#[test]
fn a_closed_loop_is_limited_by_slow_commands_where_they_take_most_of_its_time() {
    let mut load = SimulatedLoad::random(&mut Chance::new(1));
    without_noise(&mut load);
    closed(&mut load);
    let stalls = |load: &mut SimulatedLoad, length_ns: f64| {
        load.stalls =
            [0.2, 1.2, 2.2, 3.2, 4.2].map(|n: f64| (n * 1e9, n * 1e9 + length_ns)).to_vec();
        Verdict::of_run(&run(load, &load.played(true)))
    };
    let most = stalls(&mut load, 0.7e9);
    assert_eq!(most.finding, Some(Finding::SlowCommands), "{}", most.text);
    let begins = "server: its own slow commands: KEYS 5 times, 3.50 s, took ";
    assert!(most.text.starts_with(begins), "{}", most.text);
    let some = stalls(&mut load, 0.05e9);
    assert_ne!(some.finding, Some(Finding::SlowCommands), "{}", some.text);
    assert!(some.statement.contains("; KEYS 5 times, 250 ms, took "), "{}", some.text);
}

#[test]
fn the_headline_names_slow_commands_where_they_made_most_requests_wait() {
    let mut chance = Chance::new(1);
    let mut load = SimulatedLoad::random(&mut chance);
    without_noise(&mut load);
    load.stalls =
        [0.0, 1.0, 2.0, 3.0].map(|n: f64| (0.2e9 + n * 1.2e9, 0.4e9 + n * 1.2e9)).to_vec();
    let mut run = run(&load, &load.played(true));
    let kept = Verdict::of_run(&run);
    assert_eq!(kept.finding, Some(Finding::ScheduleKept), "{}", kept.text);
    assert!(kept.statement.contains("; KEYS 4 times, 800 ms, made "), "{}", kept.text);
    assert!(!kept.text.contains("raise --rps"), "{}", kept.text);
    // Sent late, as every connection waited, beside others that took some CPU of the client.
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.record_n(0, 90_000_000, 100_000_000, lateness.due / 10);
    run.measurement.workers[0].wait_ns = Some(run.measurement.workers[0].wall_ns / 5);
    let missed = Verdict::of_run(&run);
    assert_eq!(missed.limited_by, LimitedBy::Server, "{}", missed.text);
    let begins = "server: its own slow commands: KEYS 4 times, 800 ms, made ";
    assert!(missed.text.starts_with(begins), "{}", missed.text);
    // What no log holds is not put down to the CPU that the client waited for.
    run.watched.servers[0].journal = None;
    let unseen = Verdict::of_run(&run);
    assert_eq!(unseen.finding, Some(Finding::ScheduleMissed), "{}", unseen.text);
    assert!(unseen.text.contains("; what was not seen in server or client made "), "{unseen:?}");
}

#[test]
fn the_headline_names_scripts_and_keys_in_the_order_of_their_time() {
    let mut load = SimulatedLoad::random(&mut Chance::new(46));
    without_noise(&mut load);
    let stall = |n: f64| (0.2e9 + n * 0.5e9, 0.2e9 + n * 0.5e9 + [0.15e9, 0.19e9][n as usize % 2]);
    load.stalls = (0..8).map(|n| stall(f64::from(n))).collect();
    // In a part of which the client has no CPU, beside programs that the server never waits for.
    load.client_waits = vec![(4.5e9, 4.55e9)];
    let mut run = run(&load, &load.played(true));
    let entries = &mut run.watched.servers[0].journal.as_mut().unwrap().entries;
    entries.iter_mut().step_by(2).for_each(|entry| entry.what = "EVAL x 0".to_owned());
    let text = Verdict::of_run(&run).text;
    let names = "KEYS 4 times, 760 ms, and EVAL 4 times, 600 ms, made ";
    assert!(text.contains(names) && text.contains("; other programs' CPU use "), "{text}");
}

#[test]
fn short_waits_explain_no_long_pause() {
    let mut load = SimulatedLoad::random(&mut Chance::new(46));
    without_noise(&mut load);
    load.stalls = [0.0, 1.0, 2.0].map(|n: f64| (0.3e9 + n * 1.5e9, 0.7e9 + n * 1.5e9)).to_vec();
    // A tenth of the time on either side, by some milliseconds.
    let waits = |from_ns: f64| (0..100).map(move |n| from_ns + f64::from(n) * 50e6);
    load.server_waits = waits(0.0).map(|ns| (ns, ns + 5e6)).collect();
    load.client_waits = waits(20e6).map(|ns| (ns, ns + 5e6)).collect();
    let mut run = run(&load, &load.played(true));
    let causes = Causes::of_run(&run).unwrap();
    let all = slow(&run, &causes);
    assert!(causes.share(WaitCause::ServerCommands) > 0.9 * all, "{all}: {causes:?}");
    run.watched.servers[0].journal = None;
    let causes = Causes::of_run(&run).unwrap();
    let unexplained = causes.share(WaitCause::Unexplained);
    assert!(unexplained > 0.7 * all, "{all}: {causes:?}");
    // A client that waits while no reply is there makes nothing longer.
    let read = |per_mille: u64| {
        let mut stamps = serde_json::to_value(measure::Spans::new(3)).unwrap();
        stamps["sums_ns"] = serde_json::json!([[300, 1, 1000, 0, per_mille]]);
        let mut run = run.clone();
        run.measurement.total.spans = serde_json::from_value(stamps).unwrap();
        Causes::of_run(&run).unwrap().share(WaitCause::Unexplained)
    };
    assert!(read(1) > unexplained, "{unexplained}");
    assert!((read(1000) - unexplained).abs() < 1e-9, "{unexplained}");
}

#[test]
fn the_network_is_charged_with_what_nothing_else_covers_where_it_lost_segments() {
    let mut load = SimulatedLoad::random(&mut Chance::new(1));
    without_noise(&mut load);
    load.stalls = vec![(1.0e9, 1.4e9)];
    let mut run = run(&load, &load.played(true));
    run.watched.servers[0].journal = None;
    let again = |run: &mut Run, resent| {
        run.watched.machine.iter_mut().for_each(|span| span.resent = Some(resent));
        Causes::of_run(run).unwrap()
    };
    assert_eq!(again(&mut run, 1_000).largest(), Some(WaitCause::Unexplained), "of this machine");
    run.watched.servers[0].cpu_wait_s = None;
    let lost = again(&mut run, 1_000);
    assert_eq!((lost.largest(), lost.shares.len()), (Some(WaitCause::Network), 1), "{lost:?}");
    let few = again(&mut run, 2);
    assert!(few.share(WaitCause::Unexplained) > few.share(WaitCause::Network), "{few:?}");
    assert!(few.share(WaitCause::Network) > 0.0, "{few:?}");
    assert_eq!(again(&mut run, 0).largest(), Some(WaitCause::Unexplained));
}

#[test]
fn a_command_within_a_script_is_a_part_of_it() {
    let mut load = SimulatedLoad::random(&mut Chance::new(1));
    without_noise(&mut load);
    load.stalls = vec![(0.95e9, 1.1e9)];
    let mut run = run(&load, &load.played(true));
    let journal = run.watched.servers[0].journal.as_mut().unwrap();
    journal.entries[0].what = "EVAL x 0".to_owned();
    let mut inner = journal.entries[0].clone();
    (inner.what, inner.client, inner.usec) = ("TIME".to_owned(), "?:0".to_owned(), Some(20_000));
    // It ended in the second before.
    (inner.from_s, inner.to_s) = (inner.from_s - 0.87, inner.to_s - 1.0);
    journal.entries.push(inner);
    let causes = Causes::of_run(&run).unwrap();
    assert_eq!(causes.named(), "EVAL once, 150 ms", "{causes:?}");
}

#[test]
fn what_comes_back_regularly_has_a_period() {
    assert_eq!(period_s(&[10.0, 23.0, 35.0, 49.0]), Some(13.0));
    assert_eq!(period_s(&[10.0, 23.0]), None);
    assert_eq!(period_s(&[10.0, 12.0, 49.0, 50.0]), None);
    let commands =
        SlowCommands { name: "KEYS".into(), count: 5, time_s: 0.95, every_s: Some(13.0) };
    assert_eq!(commands.describe_with_period(), "KEYS 5 times, 950 ms, about every 13.0 s");
}

#[test]
fn events_of_the_latency_monitor_have_a_share_where_no_other_log_has_them() {
    let mut load = SimulatedLoad::random(&mut Chance::new(1));
    without_noise(&mut load);
    load.stalls = [0.95e9, 2.95e9].map(|from| (from, from + 0.2e9)).to_vec();
    let of_commands = run(&load, &load.played(true));
    let known = Causes::of_run(&of_commands).unwrap();
    let mut run = of_commands.clone();
    let entries = &mut run.watched.servers[0].journal.as_mut().unwrap().entries;
    for entry in entries.iter_mut() {
        (entry.kind, entry.what) = (JournalKind::Latency, "expire-cycle".to_owned());
    }
    // A part of it.
    let part =
        JournalEntry { usec: Some(150_000), what: "expire-del".into(), ..entries[0].clone() };
    entries.push(part);
    let causes = Causes::of_run(&run).unwrap();
    assert_eq!(causes.shares, known.shares, "{causes:?}");
    assert_eq!(causes.named(), "expire-cycle (LATENCY) twice, 400 ms", "{causes:?}");
    // Of commands that SLOWLOG has, the event is another record.
    let mut run = of_commands;
    let entries = &mut run.watched.servers[0].journal.as_mut().unwrap().entries;
    let (kind, what) = (JournalKind::Latency, "command".to_owned());
    entries.push(JournalEntry { kind, what, ..entries[0].clone() });
    assert_eq!(Causes::of_run(&run).unwrap().named(), "KEYS twice, 400 ms");
}

#[test]
fn pauses_are_told_by_the_servers_own_count_where_something_is_unexplained() {
    let mut load = SimulatedLoad::random(&mut Chance::new(1));
    without_noise(&mut load);
    load.stalls = [0.5e9, 2.0e9, 3.5e9].map(|from| (from, from + 0.4e9)).to_vec();
    let mut run = run(&load, &load.played(true));
    let pause = CommandUse { name: "client|pause".to_owned(), calls: 3, usec: 9 };
    run.watched.servers[0].by_command.push(pause);
    let told = "CLIENT PAUSE was called 3 times meanwhile";
    run.watched.servers[0].journal = None;
    let verdict = Verdict::of_run(&run);
    assert!(verdict.statement.ends_with(&format!(" of requests wait; {told}")), "{verdict:?}");
    let moments = WorstMoments::from_run(&run).unwrap();
    assert_eq!(moments.besides, [told]);
    let causes = moments.moments.iter().flat_map(|moment| &moment.causes);
    let pauses = ["unexplained: 399 ms", "unexplained: 400 ms"];
    let unexplained = causes.filter(|text| pauses.contains(&text.as_str()));
    assert_eq!(unexplained.count(), 3, "{moments:?}");
}
