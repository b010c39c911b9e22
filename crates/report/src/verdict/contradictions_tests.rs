use std::time::Duration;

use host::{CommandUse, PollingThreads, ServerUse, WatchRecord};
use measure::{Ending, Failures, Measurement, Outage, Outcome, Sample, WorkerUse};
use proptest::prelude::*;
use workload::{Pace, PlanParts, Stop};

use super::*;
use crate::{Run, fixture};

const SECOND: u64 = 1_000_000_000;

/// Events of a run, as the figures that rules use. Shares are relative to the run.
#[derive(Debug, Clone)]
struct Story {
    rate: Option<f64>,
    connections: u32,
    depth: u32,
    by_count: bool,
    /// Number of requests, their response time, and the time of the last reply after the end.
    requests: u64,
    service_ns: u64,
    grows: bool,
    drain: f64,
    errors: u64,
    lost: u64,
    unanswered: u64,
    ending: u8,
    /// Start, length and failed requests of an outage.
    outage: Option<(f64, f64, u64)>,
    /// Requests sent late by 50 ms, the part of them that had no free connection, and requests never sent.
    late: u64,
    no_room: bool,
    unsent: u64,
    client: [f64; 3],
    server: Option<[f64; 3]>,
    executing: f64,
    polling: Option<PollingThreads>,
    round_trip_ns: Option<u64>,
    stolen: f64,
    one_cpu: bool,
    command: &'static str,
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 2 => 0.0..0.12, 2 => 0.0..1.0, 2 => 0.85..1.0]
}

fn few(of: u64) -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 1 => 1..of / 200, 1 => 1..of]
}

fn story() -> impl Strategy<Value = Story> {
    let load = (
        prop::option::of(prop_oneof![Just(100.0), Just(2000.0), Just(80_000.0)]),
        prop_oneof![Just(1u32), Just(10), Just(50), Just(800)],
        prop_oneof![3 => Just(1u32), 1 => Just(16)],
        any::<bool>(),
        prop_oneof![1 => 0u64..20, 5 => 1000u64..200_000],
        prop_oneof![Just(50_000u64), Just(1_000_000), Just(100_000_000)],
        any::<bool>(),
        prop_oneof![3 => Just(0.0), 1 => 0.0..3.0],
    );
    let trouble = (
        few(4000),
        few(4000),
        few(400),
        0u8..6,
        prop::option::weighted(0.3, (0.0..0.9f64, 0.0..0.6f64, few(400))),
        few(40_000),
        any::<bool>(),
        few(40_000),
    );
    let ends = (
        [share(), share(), share()],
        prop::option::weighted(0.8, [share(), share(), share()]),
        share(),
        prop_oneof![3 => Just(None), 1 => Just(Some(PollingThreads::Main)), 1 => Just(Some(PollingThreads::Io))],
        prop::option::of(prop_oneof![Just(40_000u64), Just(900_000)]),
        share(),
        any::<bool>(),
        prop_oneof![4 => Just("SET"), 1 => Just("BLPOP")],
    );
    (load, trouble, ends).prop_map(|(load, trouble, ends)| {
        let (rate, connections, depth, by_count, requests, service_ns, grows, drain) = load;
        let (errors, lost, unanswered, ending, outage, late, no_room, unsent) = trouble;
        let (client, server, executing, polling, round_trip_ns, stolen, one_cpu, command) = ends;
        Story {
            rate,
            connections,
            depth,
            by_count,
            requests,
            service_ns,
            grows,
            drain,
            errors,
            lost,
            unanswered,
            ending,
            outage,
            late,
            no_room,
            unsent,
            client,
            server,
            executing,
            polling,
            round_trip_ns,
            stolen,
            one_cpu,
            command,
        }
    })
}

impl Story {
    fn run(&self) -> Run {
        let planned_ns = 3 * SECOND;
        let sent = self.requests + self.errors + self.lost + self.unanswered;
        let due = sent + self.unsent;
        let mut parts = PlanParts {
            sequence: vec![workload::CommandSpec::from_words([self.command, "key", "1"])],
            ..fixture::parts()
        };
        parts.load.pace = self.rate.map_or(Pace::Closed, Pace::constant);
        parts.load.stop =
            if self.by_count { Stop::Requests(due.max(1)) } else { Stop::AfterNs(planned_ns) };
        (parts.load.concurrency.connections, parts.load.concurrency.pipeline_depth) =
            (self.connections, self.depth);
        let run = fixture::run(parts, &[]);
        let mut measured = run.measurement;
        self.replies(&mut measured);
        self.trouble(&mut measured);
        let elapsed = planned_ns + (self.drain * SECOND as f64) as u64;
        measured.elapsed_ns = elapsed;
        let wall_ns = elapsed + SECOND / 100;
        let of = |share: f64| (share * wall_ns as f64) as u64;
        let [cpu, wait, _] = self.client;
        let wait_ns = Some(of(wait.min(1.0 - cpu)));
        measured.workers = vec![WorkerUse { cpu_ns: of(cpu), wall_ns, system_ns: None, wait_ns }];
        if let Some(lateness) = &mut measured.total.lateness {
            let late = self.late.min(sent);
            let due_ns = SECOND;
            let room_ns = if self.no_room { due_ns + 49_999_999 } else { 0 };
            lateness.record_n(due_ns, room_ns, due_ns + 50_000_000, late);
            lateness.record_n(due_ns, 0, due_ns + 20_000, sent - late);
            lateness.due = due;
        }
        let watched = self.watched(wall_ns as f64 / 1e9);
        Run::new(run.plan, measured, run.server, run.version, watched)
    }

    fn replies(&self, measured: &mut Measurement) {
        let steps = 10;
        for step in 0..steps {
            let count = self.requests / steps + u64::from(step < self.requests % steps);
            let grown = if self.grows { self.service_ns * (step + 1) } else { self.service_ns };
            if count > 0 {
                measured.total.record(&Sample {
                    command: 0,
                    outcome: Outcome::Ok,
                    count,
                    bytes: 0,
                    intended_ns: 0,
                    sent_ns: 0,
                    first_byte_ns: grown,
                    arrived_ns: None,
                    done_ns: grown,
                });
            }
        }
        (0..self.errors).for_each(|_| measured.total.errors.add("ERR", "ERR no"));
    }

    fn trouble(&self, measured: &mut Measurement) {
        let connections = &mut measured.total.connections;
        (connections.lost, connections.unanswered) = (self.lost, self.unanswered);
        measured.ending = match self.ending {
            0 => Ending::Failed(measure::Failure::new("gone")),
            1 => Ending::Interrupted,
            _ => Ending::Complete,
        };
        let Some((from, length, failed)) = self.outage else { return };
        let at = |share: f64| Duration::from_secs_f64(share.min(1.0) * 3.0).as_nanos() as u64;
        // What failed in it is among what failed in all.
        let failures = Failures { lost: failed.min(self.lost), ..Failures::default() };
        measured.outages = vec![Outage {
            node: 0,
            from_ns: at(from),
            to_ns: at(from + length),
            to_the_end: from + length >= 1.0,
            of_all: from + length >= 1.0,
            first_failure_ns: Some(at(from)).filter(|_| failures.total() > 0),
            failures,
            rate_before_per_s: None,
            recovered_ns: None,
        }];
    }

    fn watched(&self, load_s: f64) -> WatchRecord {
        let server = self.server.map(|[cpu, wait, throttled]| ServerUse {
            cpu_main_s: Some(cpu * load_s),
            cpu_wait_s: Some(wait.min(1.0 - cpu) * load_s),
            cpu_throttled_s: Some(throttled * load_s),
            cpus: vec![0],
            polling: self.polling,
            by_command: vec![CommandUse {
                name: "set".to_owned(),
                calls: self.requests,
                usec: (self.executing * load_s * 1e6) as u64,
            }],
            ..ServerUse::default()
        });
        WatchRecord {
            servers: server.into_iter().collect(),
            idle_round_trip_ns: self.round_trip_ns,
            cpus: if self.one_cpu { vec![0] } else { vec![0, 1, 2, 3] },
            stolen: Some(self.stolen * 0.3),
            throttled_s: Some(self.client[2] * load_s),
            ..WatchRecord::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_lines_of_a_report_contradict(story in story()) {
        let run = story.run();
        let found = contradictions(&Summary::from_run(&run));
        prop_assert!(found.is_empty(), "{found:#?}");
    }
}

/// A report with this text, for an open loop that kept its schedule.
fn saying(limited_by: LimitedBy, text: &str) -> Run {
    let mut run = fixture::open_loop();
    run.verdict.limited_by = limited_by;
    run.verdict.text = text.to_owned();
    run
}

#[test]
fn what_contradicts_is_found() {
    for (limit, text) in [
        (
            LimitedBy::Schedule,
            "schedule: 3.00 % of 90 requests were sent over 10 ms late, 1 s on average",
        ),
        (
            LimitedBy::Schedule,
            "schedule: the server kept up with 5 requests/s (3.00 % sent more than 10 ms late)",
        ),
        (LimitedBy::Server, "server: main thread 50 % busy; this is what it can do"),
        (LimitedBy::Schedule, "kept: the server kept up with 5 requests/s"),
        (LimitedBy::Errors, "errors: 9 % of 2000 requests were refused or lost; look at them"),
        (LimitedBy::Client, "client: worker 20 % busy; add --threads"),
        (
            LimitedBy::Outage,
            "outage: nothing succeeded for 1.99 s of 13.00 s; 3 requests failed during it",
        ),
        (LimitedBy::Contention, "contention: client and server took each other's CPU; stop it"),
    ] {
        let run = saying(limit, text);
        assert_ne!(contradictions(&Summary::from_run(&run)), [""; 0], "{text}");
    }
}

#[test]
fn the_runs_of_every_test_agree_with_themselves() {
    for (name, run) in fixture::all() {
        // Their verdicts are older than what was done to them.
        let Run { plan, mut measurement, server, version, watched, .. } = run;
        let ends = measurement.outages.iter().map(|outage| outage.to_ns);
        measurement.elapsed_ns = ends.chain([measurement.elapsed_ns]).max().unwrap();
        let run = Run::new(plan, measurement, server, version, watched);
        assert_eq!(contradictions(&Summary::from_run(&run)), [""; 0], "{name}");
    }
}
