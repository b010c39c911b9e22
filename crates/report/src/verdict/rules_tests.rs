use super::super::evidence::{Outages, ServerSide};
use super::super::wording;
use super::*;
use crate::ScheduleFigures;
use host::BusyPart;

/// A closed loop of 50 connections over a second, in which everybody had time.
fn idle() -> Evidence {
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

fn client(cpu: f64, wait: f64) -> Option<ThreadUse> {
    Some(ThreadUse::new(cpu, wait, 0.0))
}

fn server(cpu: f64, wait: f64) -> Option<ServerSide> {
    stopped(cpu, wait, 0.0)
}

fn stopped(cpu: f64, wait: f64, throttled: f64) -> Option<ServerSide> {
    let time = ThreadUse::new(cpu, wait, throttled);
    Some(ServerSide { time, part: BusyPart::MainThread, polls: false })
}

fn polling(cpu: f64, wait: f64) -> Option<ServerSide> {
    server(cpu, wait).map(|side| ServerSide { polls: true, ..side })
}

/// A second of 10,000 requests that were due, of which so many left late or never.
fn figures(late: u64, unsent: u64, fault: Option<Fault>) -> ScheduleFigures {
    ScheduleFigures {
        due_rps: 10_000.0,
        span_ns: 1_000_000_000,
        due: 10_000,
        sent: 10_000 - unsent,
        given_up: 0,
        late,
        unsent,
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

fn asked() -> Option<Schedule> {
    Some(Schedule { figures: figures(0, 0, None), late_s: 0.0001 })
}

fn missed(fault: Fault) -> Option<Schedule> {
    Some(Schedule { figures: figures(8000, 52, Some(fault)), late_s: 0.5 })
}

fn behind() -> Option<Schedule> {
    let figures = ScheduleFigures { behind_ns: Some(8_000_000_000), ..figures(0, 0, None) };
    Some(Schedule { figures, late_s: 0.0001 })
}

fn out(count: usize, total_s: f64) -> Option<Outages> {
    Some(Outages { count, total_s, node: None, failed: 0, to_the_end: false, all_s: None })
}

fn out_on(node: &str, count: usize, total_s: f64) -> Option<Outages> {
    out(count, total_s).map(|outages| Outages { node: Some(node.to_owned()), ..outages })
}

/// Name, evidence, finding, limit, and words of the text.
type Case = (&'static str, Evidence, Finding, LimitedBy, &'static str);

fn cases() -> Vec<Case> {
    use Finding as F;
    use LimitedBy as L;
    let one = Evidence { slots: 1, connections: 1, achieved_rps: 10_000.0, ..idle() };
    let one = Evidence { service_s: Some(0.0001), ..one };
    vec![
        (
            "an error ended it",
            Evidence { broken_off: true, ..idle() },
            F::Errors,
            L::Errors,
            "ended",
        ),
        (
            "an outage, with the errors that it brought",
            Evidence {
                failed: 200,
                unanswered: 200,
                outages: out(1, 0.25).map(|outages| Outages { failed: 150, ..outages }),
                ..idle()
            },
            F::Outage,
            L::Outage,
            "nothing succeeded for 0.25 s of 1.00 s; 150 requests failed during it",
        ),
        (
            "a server that froze and came back",
            Evidence { outages: out(1, 0.6), schedule: missed(Fault::NoRoom), ..idle() },
            F::Outage,
            L::Outage,
            "for 0.60 s of 1.00 s; no request failed, requests only waited",
        ),
        (
            "a server that falls silent for good",
            Evidence {
                failed: 3,
                unanswered: 3,
                span_s: 3.0,
                load_s: 13.0,
                outages: out(1, 1.99).map(|outages| Outages { to_the_end: true, ..outages }),
                ..idle()
            },
            F::Outage,
            L::Outage,
            "nothing succeeded for 1.99 s of 3.00 s; 3 requests had no reply",
        ),
        (
            "commands that wait by design, and nothing else",
            Evidence { outages: out(1, 0.9), blocking: Some("BLPOP".into()), ..idle() },
            F::Blocking,
            L::Unknown,
            "BLPOP may wait",
        ),
        (
            "error replies to most requests, and nothing else for a while",
            Evidence { failed: 900_000, requests: 1_000_000, outages: out(2, 0.9), ..idle() },
            F::Errors,
            L::Errors,
            "were refused or lost",
        ),
        (
            "reads that find nothing where everything must be there",
            Evidence { failed: 10_000, missing: 10_000, ..idle() },
            F::Errors,
            L::Errors,
            "errors: 100 % of 10,000 requests found nothing; check whether the keys were written",
        ),
        (
            "values that are not those that were written",
            Evidence { failed: 200, corrupt: 200, ..idle() },
            F::Errors,
            L::Errors,
            "errors: 2 % of 10,000 requests read a wrong value; fix the errors first",
        ),
        (
            "failures of several kinds",
            Evidence { failed: 200, unanswered: 50, missing: 100, ..idle() },
            F::Errors,
            L::Errors,
            "errors: 2 % of 10,050 requests failed; fix the errors first",
        ),
        (
            "outages of a node",
            Evidence { outages: out_on("n:1", 2, 0.5), ..idle() },
            F::Outage,
            L::Outage,
            "nothing succeeded on n:1 for 0.50 s of 1.00 s, in 2 outages",
        ),
        (
            "outages of every node",
            Evidence {
                outages: out_on("n:1", 2, 0.5).map(|o| Outages { all_s: Some(0.2), ..o }),
                ..idle()
            },
            F::Outage,
            L::Outage,
            "nothing succeeded on n:1 for 0.50 s of 1.00 s, in 2 outages, and on no server for the last 0.20 s;",
        ),
        (
            "a client that was stopped",
            Evidence { absent_s: 0.5, ..idle() },
            F::Absence,
            L::Client,
            "client: keystorm itself did not run for 0.50 s of 1.00 s",
        ),
        (
            "a client that was stopped and late for it",
            Evidence { absent_s: 0.5, schedule: missed(Fault::Absence), ..idle() },
            F::Absence,
            L::Client,
            "had been stopped, so ",
        ),
        (
            "a client that was stopped without missing anything",
            Evidence { absent_s: 0.5, schedule: asked(), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "kept up with 10,000 requests/s",
        ),
        (
            "an outage of no weight",
            Evidence { outages: out(1, 0.009), ..idle() },
            F::Between,
            L::Network,
            "neither end",
        ),
        (
            "2 % lost",
            Evidence { failed: 210, unanswered: 210, ..idle() },
            F::Errors,
            L::Errors,
            "errors: 2 % of 10,210 requests were refused",
        ),
        ("2 % errors", Evidence { failed: 200, ..idle() }, F::Errors, L::Errors, "2 %"),
        ("1 % errors", Evidence { failed: 100, ..idle() }, F::Between, L::Network, "neither end"),
        (
            "the only request, refused",
            Evidence { requests: 1, failed: 1, broken_off: true, ..idle() },
            F::Errors,
            L::Errors,
            "errors: an error ended the test after 1 request;",
        ),
        (
            "a server that takes one request and falls silent",
            Evidence {
                unanswered: 1,
                outages: out(1, 1.0).map(|outages| Outages { to_the_end: true, ..outages }),
                ..idle()
            },
            F::Outage,
            L::Outage,
            "; 1 request had no reply;",
        ),
        ("nothing", Evidence { requests: 0, ..idle() }, F::Nothing, L::Unknown, "nothing"),
        ("20 ms", Evidence { load_s: 0.02, ..idle() }, F::Short, L::Unknown, "20.0 ms"),
        (
            "a busy server",
            Evidence { server: server(0.99, 0.0), client: client(0.6, 0.0), ..idle() },
            F::Server,
            L::Server,
            "main thread 99 % busy, client had 40 % to spare",
        ),
        (
            "both busy, the server more",
            Evidence { server: server(0.98, 0.0), client: client(0.95, 0.0), ..idle() },
            F::Server,
            L::Server,
            "client had 5 % to spare",
        ),
        (
            "a server beside a busy loop",
            Evidence { server: server(0.5, 0.48), ..idle() },
            F::ServerStarved,
            L::Contention,
            "waited 48 % for a CPU that other programs used",
        ),
        (
            "a server that sleeps in commands",
            Evidence { executing: Some(0.97), ..idle() },
            F::ServerBlocked,
            L::Server,
            "97 % of the time in commands",
        ),
        (
            "a busy client",
            Evidence { client: client(0.99, 0.0), server: server(0.62, 0.0), ..idle() },
            F::Client,
            L::Client,
            "worker 99 % busy while server main thread 62 % busy; add --threads",
        ),
        (
            "a busy client without a server's word",
            Evidence { client: client(0.99, 0.0), server: None, ..idle() },
            F::Client,
            L::Client,
            "is unknown",
        ),
        (
            "a busy client without a free CPU",
            Evidence { client: client(0.99, 0.0), cpus: Some(2), ..idle() },
            F::Client,
            L::Client,
            "no CPU for another worker",
        ),
        (
            "a client beside a busy loop",
            Evidence { client: client(0.5, 0.45), ..idle() },
            F::ClientStarved,
            L::Contention,
            "that other programs used",
        ),
        (
            "both on one CPU",
            Evidence {
                must_share: true,
                ours: 0.95,
                client: client(0.45, 0.5),
                server: server(0.5, 0.4),
                ..idle()
            },
            F::EachOther,
            L::Contention,
            "client and server took each other's CPU; server main thread ran 50 % of the time and waited 40 %",
        ),
        (
            "both on few CPUs, which busy loops had",
            Evidence {
                must_share: true,
                ours: 0.2,
                cpus: Some(2),
                workers: 3,
                client: client(0.03, 0.12),
                server: server(0.11, 0.49),
                ..idle()
            },
            F::ServerStarved,
            L::Contention,
            "server main thread ran 11 % of the time and waited 49 % for a CPU that other programs used",
        ),
        (
            "a client that waited for a busy loop, beside a server that did not wait for long",
            Evidence {
                must_share: true,
                ours: 0.4,
                cpus: Some(1),
                client: client(0.2, 0.6),
                server: server(0.2, 0.15),
                ..idle()
            },
            F::ClientStarved,
            L::Contention,
            "client worker ran 20 % of the time and waited 60 % for a CPU that other programs used",
        ),
        (
            "more workers than CPUs, which together have them all",
            Evidence {
                must_share: true,
                ours: 1.85,
                cpus: Some(2),
                workers: 2,
                client: client(0.1, 0.88),
                server: server(0.92, 0.0),
                ..idle()
            },
            F::EachOther,
            L::Contention,
            "took each other's CPU",
        ),
        (
            "a server that waits most of the time",
            Evidence { server: server(0.25, 0.65), ..idle() },
            F::ServerStarved,
            L::Contention,
            "ran 25 % of the time and waited 65 % for a CPU that other programs used; client worker",
        ),
        (
            "a worker that waits at times, with every slot full",
            Evidence { client: client(0.24, 0.49), slots: 800, connections: 800, ..idle() },
            F::ClientStarved,
            L::Contention,
            "stop other processes on this machine",
        ),
        (
            "a worker that waits at times, far away",
            Evidence {
                client: client(0.05, 0.12),
                service_s: Some(0.1),
                round_trip_s: Some(0.09),
                server: None,
                ..idle()
            },
            F::Disturbed,
            L::Unknown,
            "threads waited for a CPU at times",
        ),
        (
            "a server in a quota",
            Evidence { server: stopped(0.25, 0.7, 0.72), ..idle() },
            F::ServerQuota,
            L::Server,
            "was stopped 72 % of it by its CPU quota; client worker 20 % busy; this is the server",
        ),
        (
            "a client in a quota, on a kernel that does not count that as waiting",
            Evidence {
                client: Some(ThreadUse::new(0.3, 0.0, 0.5)),
                service_s: Some(0.0001),
                ..idle()
            },
            F::ClientQuota,
            L::Client,
            "was stopped 50 % of it by its CPU quota",
        ),
        (
            "a hypervisor that gives time to others",
            Evidence { server: server(0.7, 0.02), stolen: 0.25, ..idle() },
            F::Stolen,
            L::Contention,
            "the hypervisor gave 25 % of this machine's CPU time to others",
        ),
        (
            "a server that polls",
            Evidence { server: polling(0.98, 0.0), ..idle() },
            F::ServerPolls,
            L::Unknown,
            "main thread ran 98 % of the time, but its threads poll",
        ),
        (
            "a client that is full beside a server that polls",
            Evidence { server: polling(0.99, 0.0), client: client(0.97, 0.0), ..idle() },
            F::Client,
            L::Client,
            "worker 97 % busy while server main thread ran 99 % of the time",
        ),
        (
            "a full link",
            Evidence { link: Some((0.93, "eth0".into())), ..idle() },
            F::LinkFull,
            L::Network,
            "eth0 is 93 % full",
        ),
        ("a slow link", idle(), F::Between, L::Network, "a reply took 5.00 ms"),
        ("one connection", one.clone(), F::Concurrency, L::Concurrency, "1.0 requests in flight"),
        (
            "one connection, far away",
            Evidence { service_s: Some(0.1), round_trip_s: Some(0.1), server: None, ..one },
            F::Concurrency,
            L::Concurrency,
            "use more connections",
        ),
        (
            "half busy both",
            Evidence {
                server: server(0.7, 0.0),
                client: client(0.6, 0.0),
                slots: 5,
                connections: 5,
                service_s: Some(0.0005),
                ..idle()
            },
            F::Concurrency,
            L::Concurrency,
            "both ends were idle at times",
        ),
        (
            "half busy both, with more in flight than they need",
            Evidence { server: server(0.7, 0.0), client: client(0.6, 0.0), ..idle() },
            F::Turns,
            L::Unknown,
            "neither end was full with 50.0 requests in flight",
        ),
        (
            "a disk that is waited for",
            Evidence { waits_for_disk: true, ..idle() },
            F::Disk,
            L::Unknown,
            "appendfsync always",
        ),
        (
            "commands that wait",
            Evidence { blocking: Some("BLPOP".into()), ..idle() },
            F::Blocking,
            L::Unknown,
            "BLPOP may wait",
        ),
        (
            "an unknown server",
            Evidence { server: None, unseen: Some("NOPERM".into()), ..idle() },
            F::Unseen,
            L::Unknown,
            "unknown (NOPERM)",
        ),
        (
            "no round trip",
            Evidence { round_trip_s: None, ..idle() },
            F::Unclear,
            L::Unknown,
            "longer",
        ),
        (
            "a schedule that was kept",
            Evidence { schedule: asked(), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "kept up with 10,000 requests/s; server main thread 20 % busy",
        ),
        (
            "a schedule of slow replies, and a long wait for the last of them",
            Evidence { schedule: asked(), achieved_rps: 4760.0, load_s: 2.1, ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "requests/s; server main thread 20 % busy; raise --rps",
        ),
        (
            "one in nine hundred late",
            Evidence {
                schedule: Some(Schedule {
                    figures: figures(11, 0, Some(Fault::NoRoom)),
                    late_s: 0.001,
                }),
                ..idle()
            },
            F::ScheduleKept,
            L::Schedule,
            "kept up with 10,000 requests/s (0.11 % sent more than 10 ms late)",
        ),
        (
            "a schedule whose last requests never left, and some without a reply",
            Evidence {
                schedule: Some(Schedule { figures: figures(0, 8, None), late_s: 0.001 }),
                unanswered: 2,
                ..idle()
            },
            F::ScheduleKept,
            L::Schedule,
            "not saturated: the server kept up with 10,000 requests/s (8 of 10,000 unsent at the end, ",
        ),
        (
            "a schedule that somebody interrupted, with many in flight",
            Evidence { schedule: asked(), unanswered: 800, ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "/s (800 had no reply yet)",
        ),
        (
            "a schedule that was kept by a busy server",
            Evidence { schedule: asked(), server: server(0.95, 0.0), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "main thread 95 % busy",
        ),
        (
            "replies that fall behind a busy server's schedule",
            Evidence { schedule: behind(), server: server(0.95, 0.0), ..idle() },
            F::Server,
            L::Server,
            "so replies fell behind: the last came 8.00 s after the end, client had",
        ),
        (
            "replies that fall behind for no reason that is seen",
            Evidence { schedule: behind(), ..idle() },
            F::ScheduleBehind,
            L::Schedule,
            "requests were sent on time, but replies fell behind",
        ),
        (
            "a schedule beyond the server",
            Evidence { schedule: missed(Fault::NoRoom), server: server(0.97, 0.0), ..idle() },
            F::Server,
            L::Server,
            "so 80.00 % of 10,000 requests were sent over 10 ms late, 500 ms on average, and 52 were due",
        ),
        (
            "a schedule beyond the client",
            Evidence { schedule: missed(Fault::Client), client: client(0.97, 0.0), ..idle() },
            F::Client,
            L::Client,
            "so 80.00 % of 10,000 requests",
        ),
        (
            "a client that was late beside a busy server",
            Evidence { schedule: missed(Fault::Client), server: server(0.97, 0.0), ..idle() },
            F::ScheduleMissed,
            L::Schedule,
            "although connections had room",
        ),
        (
            "a client that was late because it waited for a CPU",
            Evidence {
                schedule: missed(Fault::Client),
                client: client(0.3, 0.46),
                achieved_rps: 20_000.0,
                ..idle()
            },
            F::ClientStarved,
            L::Contention,
            "waited 46 % for a CPU that other programs used, so 80.00 %",
        ),
        (
            "a schedule beyond the connections",
            Evidence {
                schedule: missed(Fault::NoRoom),
                service_s: Some(0.005),
                round_trip_s: Some(0.005),
                ..idle()
            },
            F::Concurrency,
            L::Concurrency,
            "so 80.00 % of 10,000 requests",
        ),
        (
            "a server that froze for a while",
            Evidence { schedule: missed(Fault::NoRoom), service_s: Some(0.001), ..idle() },
            F::ScheduleMissed,
            L::Schedule,
            "since every connection was waiting for replies",
        ),
        (
            "a client that was stopped",
            Evidence { schedule: missed(Fault::Client), service_s: Some(0.001), ..idle() },
            F::ScheduleMissed,
            L::Schedule,
            "although connections had room",
        ),
    ]
}

#[test]
fn evidence_speaks_for_one_limit() {
    for (name, evidence, finding, limit, words) in cases() {
        assert_eq!(find(&evidence), finding, "{name}");
        let verdict = wording::verdict(finding, &evidence);
        assert_eq!(verdict.limited_by, limit, "{name}");
        assert!(verdict.text.contains(words), "{name}: {}", verdict.text);
    }
}

#[test]
fn a_text_is_one_line_that_begins_with_its_limit() {
    for (name, evidence, finding, limit, _) in cases() {
        let text = wording::verdict(finding, &evidence).text;
        let word = match limit {
            LimitedBy::Schedule if finding == Finding::ScheduleKept => "not saturated: ",
            LimitedBy::Server => "server: ",
            LimitedBy::Client => "client: ",
            LimitedBy::Network => "network: ",
            LimitedBy::Concurrency => "concurrency: ",
            LimitedBy::Schedule => "schedule: ",
            LimitedBy::Errors => "errors: ",
            LimitedBy::Outage => "outage: ",
            LimitedBy::Contention => "contention: ",
            LimitedBy::Unknown => "unknown: ",
        };
        assert!(text.starts_with(word) && !text.contains('\n'), "{name}: {text}");
        assert!(text.contains("; ") && !text.ends_with('.'), "{name}: {text}");
    }
}

#[test]
fn evidence_is_finite_and_shares_are_shares() {
    for (name, evidence, finding, ..) in cases() {
        for evidence in wording::verdict(finding, &evidence).evidence {
            assert!(evidence.value.is_finite(), "{name}: {evidence:?}");
            let share = evidence.unit == "share";
            assert!(!share || (0.0..=1.0).contains(&evidence.value), "{name}: {evidence:?}");
        }
    }
}

#[test]
fn words_of_others_steer_no_terminal() {
    let evidence = Evidence { server: None, unseen: Some("\x1b[31mno\n".into()), ..idle() };
    let text = wording::verdict(find(&evidence), &evidence).text;
    assert!(!text.contains(char::is_control), "{text:?}");
}
