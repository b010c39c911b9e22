//! Runs for tests: made up, and the same every time.

use std::time::SystemTime;

use host::{NodeFacts, ServerConfig, ServerFacts, ServerUse, WatchRecord};
use measure::{
    Absence, Ending, Failures, Latency, Measurement, NodeTally, OperationOutcome, Outage, Outcome,
    Point, Sample, Tally, TallyShape, Timeline, WorkerUse,
};
use workload::{
    CommandSpec, Load, Mix, MixStep, OnError, Operation, Pace, Pick, PlanParts, Recovery,
    StepCondition, Stop, TlsOptions,
};

use crate::Run;

/// Lateness of the requests of [`open_loop`], in nanoseconds.
pub const LATE_NS: u64 = 40_000;

const QUARTER_NS: u64 = 250_000_000;

/// Every kind of run, by name.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("complete", complete()),
        ("errors", errors()),
        ("interrupted", interrupted()),
        ("empty", empty()),
        ("four hours", four_hours()),
        ("open loop", open_loop()),
        ("first byte", first_byte()),
        ("kernel stamps", stamped()),
        ("tls", tls()),
        ("hostile", hostile()),
        ("outages", outages()),
        ("limited", limited()),
        ("cluster", cluster()),
        ("mix", mix()),
    ]
}

/// 2000 requests as planned.
pub fn complete() -> Run {
    run(parts(), &usual_ns())
}

/// Like [`complete`], for a changed plan.
pub fn changed(change: impl FnOnce(&mut PlanParts)) -> Run {
    let mut parts = parts();
    change(&mut parts);
    run(parts, &usual_ns())
}

/// Like [`complete`], with some error replies and several threads.
pub fn errors() -> Run {
    let mut parts = parts();
    parts.load.concurrency.multi_thread = true;
    parts.load.concurrency.workers = 4;
    let mut run = run(parts, &usual_ns()[..1988]);
    let errors = &mut run.measurement.total.errors;
    (0..9).for_each(|_| errors.add("WRONGTYPE", "WRONGTYPE not the right kind of value"));
    (0..3).for_each(|_| errors.add("OOM", "OOM command not allowed"));
    run
}

/// A run on two masters and a replica, with some redirects by one master.
pub fn cluster() -> Run {
    let mut run = run(parts(), &usual_ns());
    for (port, ok, slots) in [(7001, 1200, 8192), (7002, 800, 8192), (7003, 0, 8192)] {
        let name = format!("127.0.0.1:{port}");
        let mut tally = NodeTally::new(name.clone(), 3);
        if ok > 0 {
            tally.response.record_n(300_000, ok);
        }
        (tally.ok, tally.slots, tally.master, tally.used) = (ok, slots, port != 7003, ok > 0);
        let config = run.server.config.clone().filter(|_| tally.master);
        run.server.nodes.push(NodeFacts {
            name,
            id: "0f".repeat(20),
            master: tally.master,
            config,
        });
        run.measurement.nodes.push(tally);
    }
    (run.measurement.nodes[0].moved, run.measurement.nodes[0].retried) = (7, 2);
    // The second was away for 3 ms, and is named.
    run.measurement.outages = vec![Outage {
        node: 1,
        from_ns: 2_000_000,
        to_ns: 5_000_000,
        to_the_end: false,
        of_all: false,
        first_failure_ns: Some(2_000_000),
        failures: Failures { errors: 0, lost: 4, timed_out: 0 },
        rate_before_per_s: None,
        recovered_ns: None,
    }];
    run.measurement.total.connections.lost = 4;
    run.measurement.nodes[1].unanswered = 4;
    run
}

/// A run by count that was stopped midway.
pub fn interrupted() -> Run {
    let mut run = run(parts(), &usual_ns()[..700]);
    run.measurement.ending = Ending::Interrupted;
    run
}

/// Stopped before the first reply, without the server's settings.
pub fn empty() -> Run {
    let mut run = run(parts(), &[]);
    run.measurement.ending = Ending::Interrupted;
    run.measurement.elapsed_ns = 0;
    run.server.config = None;
    run
}

/// Makes a run by time with a reply that took four hours.
pub fn four_hours() -> Run {
    const FOUR_HOURS_NS: u64 = 4 * 3600 * 1_000_000_000;
    let mut parts = parts();
    parts.load.stop = Stop::AfterNs(60_000_000_000);
    let mut run = run(parts, &[300_000, 4_000_000_000, FOUR_HOURS_NS]);
    run.measurement.elapsed_ns = FOUR_HOURS_NS;
    run
}

/// A run behind its schedule. One interval is silent and the last is cut short.
pub fn open_loop() -> Run {
    let mut run = changed(|parts| parts.load.pace = Pace::constant(8000.0));
    run.measurement.elapsed_ns = 4 * QUARTER_NS + 1_000_000;
    for (index, requests) in [(0, 2000), (1, 1900), (3, 1950), (4, 7)] {
        run.measurement.timeline.points.push(point(index, requests));
    }
    run
}

/// An interval with a count only.
pub fn point(index: u32, requests: u64) -> Point {
    Point { index, requests, ..Point::default() }
}

/// Like [`complete`], on a schedule and with a worker's data of each interval.
pub fn paced() -> Run {
    let mut parts = parts();
    parts.load.pace = Pace::constant(8000.0);
    let (early, late) = (usual_ns()[..900].to_vec(), usual_ns()[900..].to_vec());
    let mut whole = run(parts.clone(), &usual_ns());
    for (index, ns) in [(0, early), (1, late)] {
        let tally = run(parts.clone(), &ns).measurement.total;
        whole.measurement.timeline.push(Point::from_tally(index, &tally));
    }
    whole.measurement.elapsed_ns = QUARTER_NS + 100_000_000;
    whole
}

/// A run with the latency to the first byte.
pub fn first_byte() -> Run {
    changed(|parts| parts.recording.first_byte = true)
}

/// A run on a schedule, with stamps of the kernel: replies waited to be read for a tenth of the time from
/// sent to read.
pub fn stamped() -> Run {
    changed(|parts| {
        parts.load.pace = Pace::constant(1000.0);
        parts.recording.kernel_stamps = true;
    })
}

/// Two outages on a schedule, one of them until the end.
pub fn outages() -> Run {
    const SECOND: u64 = 1_000_000_000;
    let mut run = open_loop();
    let outage = Outage {
        node: 0,
        from_ns: 2 * SECOND,
        to_ns: 4 * SECOND + 130_000_000,
        to_the_end: false,
        of_all: false,
        first_failure_ns: Some(2 * SECOND),
        failures: Failures { errors: 7, lost: 50, timed_out: 3 },
        rate_before_per_s: Some(8000.0),
        recovered_ns: Some(4 * SECOND + 200_000_000),
    };
    let last = Outage {
        from_ns: 8 * SECOND,
        to_ns: 9 * SECOND,
        to_the_end: true,
        of_all: true,
        first_failure_ns: None,
        failures: Failures::default(),
        recovered_ns: None,
        ..outage
    };
    let measurement = &mut run.measurement;
    measurement.outages = vec![outage, last];
    measurement.absences = vec![Absence { from_ns: 5 * SECOND, to_ns: 6 * SECOND }];
    let mut delayed = Latency::new(3);
    (0..2000).for_each(|n| delayed.record_n(n * 1_000_000, 8));
    measurement.delayed = Some(delayed);
    let connections = &mut measurement.total.connections;
    (connections.lost, connections.timed_out, connections.unanswered) = (50, 3, 2);
    (connections.dropped, connections.reconnects, connections.pushes) = (50, 49, 12);
    run
}

/// A run with TLS, a connection for every pipeline, and resumed sessions.
pub fn tls() -> Run {
    let mut parts = parts();
    parts.target.tls = Some(TlsOptions { resume: true, ..TlsOptions::default() });
    parts.load.concurrency.keep_alive = false;
    let mut run = run(parts, &usual_ns());
    let tally = &mut run.measurement.total.connections.tls;
    for n in 0..2000 {
        let cipher = if n < 10 { "TLS_CHACHA20_POLY1305_SHA256" } else { "TLS_AES_256_GCM_SHA384" };
        tally.add(if n < 50 { 1_500_000 } else { 400_000 }, n >= 50, "TLSv1.3", cipher);
    }
    run
}

/// A run whose title, ending and errors come from an attacker.
pub fn hostile() -> Run {
    let name = "SET \"a,b\"\x1b]0;owned\x07\r\n\u{202e}\u{9b}2J".to_owned();
    let mut run = run(PlanParts { name, ..parts() }, &usual_ns()[..10]);
    run.measurement.ending = Ending::Failed(measure::Failure::new("server said \x1b[31mno\n"));
    run.measurement.total.errors.add("E\x1bR", "E\x1bR \x7f\u{202e}text\r");
    run
}

/// A run with a busy server and two warnings.
pub fn limited() -> Run {
    let mut run = complete();
    run.measurement.elapsed_ns = 1_000_000_000;
    run.measurement.workers = vec![measure::WorkerUse {
        cpu_ns: 600_000_000,
        wall_ns: 1_000_000_000,
        system_ns: None,
        wait_ns: Some(20_000_000),
    }];
    let server = host::ServerUse {
        address: "127.0.0.1:6379".into(),
        cpu_main_s: Some(0.99),
        saved: Some(true),
        fork_usec: Some(1234),
        evicted_keys: Some(5),
        ..host::ServerUse::default()
    };
    let watched = host::WatchRecord { servers: vec![server], ..host::WatchRecord::default() };
    Run::new(run.plan, run.measurement, run.server, run.version, watched)
}

/// 2000 service times: most near 0.4 ms, some up to 3 ms, in no order.
fn usual_ns() -> Vec<u64> {
    let slow = |i: u64| if i.is_multiple_of(50) { i * 1300 } else { 0 };
    (0..2000).map(|i| 160_123 + (i * 7919 % 2000) * 200 + slow(i)).collect()
}

/// A run of this kind.
pub fn parts() -> PlanParts {
    PlanParts {
        name: "SET".into(),
        sequence: vec![CommandSpec::from_words(["SET", "key", "xxx"])],
        load: Load { stop: Stop::Requests(2000), ..Load::default() },
        recovery: Recovery { on_error: OnError::Count, ..Recovery::default() },
        ..PlanParts::default()
    }
}

/// A mix: 90 gets, of which ten miss, and ten times look-aside with three misses and one error.
pub fn mix() -> Run {
    let operation = |name: &str, weight, later: Option<StepCondition>| Operation {
        name: name.into(),
        weight,
        steps: std::iter::once(StepCondition::Always)
            .chain(later)
            .map(|when| MixStep { commands: 1, when })
            .collect(),
        keys: None,
    };
    let mut run = run(
        PlanParts {
            name: "mix".into(),
            sequence: vec![
                CommandSpec::from_words(["GET", "a"]),
                CommandSpec::from_words(["GET", "b"]),
                CommandSpec::from_words(["SET", "b", "xxx"]),
            ],
            mix: Some(Mix {
                operations: vec![
                    operation("get", 9, None),
                    operation("look-aside", 1, Some(StepCondition::OnMiss)),
                ],
                pick: Pick::Drawn,
            }),
            load: Load { stop: Stop::Requests(100), ..Load::default() },
            ..parts()
        },
        &[],
    );
    let total = &mut run.measurement.total;
    for (command, outcome, count, ns) in [
        (0, Outcome::Ok, 80, 100_000),
        (0, Outcome::Miss, 10, 90_000),
        (1, Outcome::Ok, 6, 110_000),
        (1, Outcome::Miss, 3, 95_000),
        (2, Outcome::Ok, 3, 130_000),
    ] {
        let bytes = 20 * count;
        let (intended_ns, sent_ns, first_byte_ns, done_ns) = (0, 0, ns, ns);
        total.record(&Sample {
            command,
            outcome,
            count,
            bytes,
            intended_ns,
            sent_ns,
            first_byte_ns,
            arrived_ns: None,
            done_ns,
        });
        total.commands[command].bytes_out += 10 * count;
    }
    total.commands[1].errors = 1;
    total.errors.add("OOM", "OOM command not allowed");
    for (operation, ended, count, ns) in [
        (0, OperationOutcome::Ok, 80, 100_000),
        (0, OperationOutcome::Missed, 10, 90_000),
        (1, OperationOutcome::Ok, 6, 110_000),
        (1, OperationOutcome::Missed, 3, 230_000),
        (1, OperationOutcome::Failed, 1, 0),
    ] {
        (0..count).for_each(|_| total.operations[operation].record(ended, 0, 0, ns));
    }
    run
}

/// A run of this kind.
pub fn run(parts: PlanParts, service_ns: &[u64]) -> Run {
    let operations = parts.mix.iter().flat_map(|mix| &mix.operations);
    let shape = TallyShape {
        commands: parts.sequence.len(),
        precision: parts.recording.precision,
        scheduled: parts.load.pace != Pace::Closed,
        first_byte: parts.recording.first_byte,
        operations: if parts.counts_operations() { operations.count() } else { 0 },
        separate_failures: parts.peer.separate_failures,
        places: 0,
        spans: parts.recording.kernel_stamps,
        deadline_ns: parts.recovery.deadline_ns,
    };
    let mut total = Tally::new(&shape);
    for &ns in service_ns {
        total.record(&Sample {
            command: 0,
            outcome: Outcome::Ok,
            count: 1,
            bytes: 0,
            intended_ns: 0,
            sent_ns: LATE_NS,
            first_byte_ns: LATE_NS + ns / 2,
            arrived_ns: parts.recording.kernel_stamps.then_some(LATE_NS + ns - ns / 10),
            done_ns: LATE_NS + ns,
        });
        if let Some(lateness) = &mut total.lateness {
            lateness.record_n(0, 0, LATE_NS, 1);
            lateness.due += 1;
        }
    }
    let measurement = Measurement {
        total,
        timeline: Timeline::new(QUARTER_NS),
        outages: Vec::new(),
        absences: Vec::new(),
        delayed: None,
        started_at: SystemTime::UNIX_EPOCH,
        elapsed_ns: 26_000_000,
        workers: Vec::new(),
        engine: "scripted".into(),
        engine_note: None,
        nodes: vec![],
        by_connection: vec![],
        logs: vec![],
        lanes: Vec::new(),
        deliveries: None,
        ending: Ending::Complete,
    };
    let server = ServerFacts {
        nodes: Vec::new(),
        product: Some("redis".into()),
        version: Some("7.0.15".into()),
        config: Some(ServerConfig { save: String::new(), appendonly: "no".into() }),
    };
    let plan = parts.build().expect("a complete plan");
    Run::new(plan, measurement, server, "0.0.0".into(), host::WatchRecord::default())
}

/// Gives client and server these shares of a run's time: on a CPU, and waiting for one.
pub fn use_cpu(run: &mut Run, client: (f64, f64), server: (f64, f64)) {
    let wall_ns = run.measurement.elapsed_ns;
    let ns = |share: f64| (share * wall_ns as f64) as u64;
    let (cpu_ns, wait_ns) = (ns(client.0), Some(ns(client.1)));
    run.measurement.workers = vec![WorkerUse { cpu_ns, system_ns: None, wall_ns, wait_ns }];
    let [cpu_main_s, cpu_wait_s] =
        [server.0, server.1].map(|share: f64| Some(share * wall_ns as f64 / 1e9));
    let server = ServerUse { cpu_main_s, cpu_wait_s, ..ServerUse::default() };
    run.watched = WatchRecord { servers: vec![server], ..WatchRecord::default() };
}
