use super::super::grounds::{ClientBusy, Outages};
use super::super::wording;
use super::*;
use host::{BusyPart, ServerBusy};

/// A closed loop of 50 connections over a second, in which everybody had time.
fn idle() -> Grounds {
    Grounds {
        requests: 10_000,
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
        ..Grounds::default()
    }
}

fn client(cpu: f64, wait: f64) -> Option<ClientBusy> {
    Some(ClientBusy { cpu, wait })
}

fn server(cpu: f64, wait: f64) -> Option<ServerBusy> {
    Some(ServerBusy { cpu, wait, part: BusyPart::MainThread })
}

fn asked(target_rps: f64) -> Option<Schedule> {
    Some(Schedule { target_rps, late_s: 0.0001, missed_share: 0.0, unsent: 0, own_fault: false })
}

fn missed(target_rps: f64, own_fault: bool) -> Option<Schedule> {
    asked(target_rps).map(|s| Schedule { late_s: 0.5, missed_share: 0.8, own_fault, ..s })
}

fn out(count: usize, total_s: f64) -> Option<Outages> {
    Some(Outages { count, total_s, node: None })
}

fn out_on(node: &str, count: usize, total_s: f64) -> Option<Outages> {
    out(count, total_s).map(|outages| Outages { node: Some(node.to_owned()), ..outages })
}

/// Name, evidence, finding, limit, and words of the text.
type Case = (&'static str, Grounds, Finding, LimitedBy, &'static str);

fn cases() -> Vec<Case> {
    use Finding as F;
    use LimitedBy as L;
    let one = Grounds { slots: 1, connections: 1, achieved_rps: 10_000.0, ..idle() };
    let one = Grounds { service_s: Some(0.0001), ..one };
    vec![
        (
            "an error ended it",
            Grounds { broken_off: true, ..idle() },
            F::Errors,
            L::Errors,
            "ended",
        ),
        (
            "an outage, with the errors that it brought",
            Grounds { failed: 200, outages: out(1, 0.25), ..idle() },
            F::Outage,
            L::Errors,
            "nothing succeeded for 0.25 s of 1.00 s; 200 requests failed",
        ),
        (
            "error replies to most requests, and nothing else for a while",
            Grounds { failed: 900_000, requests: 1_000_000, outages: out(2, 0.9), ..idle() },
            F::Errors,
            L::Errors,
            "were refused or lost",
        ),
        (
            "outages of a node",
            Grounds { outages: out_on("n:1", 2, 0.5), ..idle() },
            F::Outage,
            L::Errors,
            "nothing succeeded on n:1 for 0.50 s of 1.00 s, in 2 outages",
        ),
        (
            "an outage of no weight",
            Grounds { outages: out(1, 0.009), ..idle() },
            F::Between,
            L::Network,
            "neither end",
        ),
        (
            "2 % lost",
            Grounds { failed: 210, unanswered: 210, ..idle() },
            F::Errors,
            L::Errors,
            "of 10210 requests",
        ),
        ("2 % errors", Grounds { failed: 200, ..idle() }, F::Errors, L::Errors, "2 %"),
        ("1 % errors", Grounds { failed: 100, ..idle() }, F::Between, L::Network, "neither end"),
        ("nothing", Grounds { requests: 0, ..idle() }, F::Nothing, L::Unknown, "nothing"),
        ("20 ms", Grounds { load_s: 0.02, ..idle() }, F::Short, L::Unknown, "20.00 ms"),
        (
            "a busy server",
            Grounds { server: server(0.99, 0.0), client: client(0.6, 0.0), ..idle() },
            F::Server,
            L::Server,
            "main thread 99 % busy, client had 40 % to spare",
        ),
        (
            "both busy, the server more",
            Grounds { server: server(0.98, 0.0), client: client(0.95, 0.0), ..idle() },
            F::Server,
            L::Server,
            "client had 5 % to spare",
        ),
        (
            "a server beside a busy loop",
            Grounds { server: server(0.5, 0.48), ..idle() },
            F::ServerCrowded,
            L::Server,
            "48 % of the time waiting for a CPU, which something else used",
        ),
        (
            "a server that sleeps in commands",
            Grounds { executing: Some(0.97), ..idle() },
            F::ServerBlocked,
            L::Server,
            "97 % of the time in commands",
        ),
        (
            "a busy client",
            Grounds { client: client(0.99, 0.0), server: server(0.62, 0.0), ..idle() },
            F::Client,
            L::Client,
            "worker 99 % busy while main thread 62 % busy; add --threads",
        ),
        (
            "a busy client without a server's word",
            Grounds { client: client(0.99, 0.0), server: None, ..idle() },
            F::Client,
            L::Client,
            "is not known",
        ),
        (
            "a busy client without a free CPU",
            Grounds { client: client(0.99, 0.0), cpus: Some(2), ..idle() },
            F::Client,
            L::Client,
            "no CPU for another worker",
        ),
        (
            "a client beside a busy loop",
            Grounds { client: client(0.5, 0.45), ..idle() },
            F::ClientCrowded,
            L::Client,
            "which something else used",
        ),
        (
            "both on one CPU",
            Grounds {
                must_share: true,
                client: client(0.45, 0.5),
                server: server(0.5, 0.4),
                ..idle()
            },
            F::SharedCpu,
            L::Client,
            "shares a CPU with the server",
        ),
        (
            "a full link",
            Grounds { link: Some((0.93, "eth0".into())), ..idle() },
            F::LinkFull,
            L::Network,
            "eth0 is 93 % full",
        ),
        ("a slow link", idle(), F::Between, L::Network, "a reply took 5.00 ms"),
        ("one connection", one.clone(), F::Concurrency, L::Concurrency, "1.0 requests in flight"),
        (
            "one connection, far away",
            Grounds { service_s: Some(0.1), round_trip_s: Some(0.1), server: None, ..one },
            F::Concurrency,
            L::Concurrency,
            "use more connections",
        ),
        (
            "half busy both",
            Grounds { server: server(0.7, 0.0), client: client(0.6, 0.0), ..idle() },
            F::Concurrency,
            L::Concurrency,
            "leave both ends idle at times",
        ),
        (
            "a disk that is waited for",
            Grounds { waits_for_disk: true, ..idle() },
            F::Disk,
            L::Unknown,
            "appendfsync always",
        ),
        (
            "commands that wait",
            Grounds { blocking: Some("BLPOP".into()), ..idle() },
            F::Blocking,
            L::Unknown,
            "BLPOP may wait",
        ),
        (
            "an unknown server",
            Grounds { server: None, unseen: Some("NOPERM".into()), ..idle() },
            F::Unseen,
            L::Unknown,
            "not known (NOPERM)",
        ),
        (
            "no round trip",
            Grounds { round_trip_s: None, ..idle() },
            F::Unclear,
            L::Unknown,
            "longer",
        ),
        (
            "a schedule that was kept",
            Grounds { schedule: asked(10_000.0), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "the 10,000/s asked for were sent and answered; main thread 20 % busy",
        ),
        (
            "a schedule that was kept by a busy server",
            Grounds { schedule: asked(10_000.0), server: server(0.95, 0.0), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "main thread 95 % busy",
        ),
        (
            "a schedule beyond the server",
            Grounds { schedule: missed(20_000.0, false), server: server(0.97, 0.0), ..idle() },
            F::Server,
            L::Server,
            "so 10,000 of 20,000/s were answered, sent 500.00 ms late on average",
        ),
        (
            "a schedule beyond the client",
            Grounds { schedule: missed(20_000.0, true), client: client(0.97, 0.0), ..idle() },
            F::Client,
            L::Client,
            "so 10,000 of 20,000/s",
        ),
        (
            "a schedule beyond the connections",
            Grounds {
                schedule: missed(20_000.0, false),
                service_s: Some(0.005),
                round_trip_s: Some(0.005),
                ..idle()
            },
            F::Concurrency,
            L::Concurrency,
            "so 10,000 of 20,000/s",
        ),
        (
            "a server that froze for a while",
            Grounds { schedule: missed(10_000.0, false), service_s: Some(0.001), ..idle() },
            F::ScheduleLate,
            L::Schedule,
            "stood still at times",
        ),
        (
            "a client that was stopped",
            Grounds { schedule: missed(20_000.0, true), service_s: Some(0.001), ..idle() },
            F::ScheduleMissed,
            L::Schedule,
            "although connections had room",
        ),
    ]
}

#[test]
fn evidence_speaks_for_one_limit() {
    for (name, grounds, finding, limit, words) in cases() {
        assert_eq!(find(&grounds), finding, "{name}");
        let verdict = wording::verdict(finding, &grounds);
        assert_eq!(verdict.limited_by, limit, "{name}");
        assert!(verdict.text.contains(words), "{name}: {}", verdict.text);
    }
}

#[test]
fn a_text_is_one_line_that_begins_with_its_limit() {
    for (name, grounds, finding, limit, _) in cases() {
        let text = wording::verdict(finding, &grounds).text;
        let word = match limit {
            LimitedBy::Server => "server: ",
            LimitedBy::Client => "client: ",
            LimitedBy::Network => "network: ",
            LimitedBy::Concurrency => "concurrency: ",
            LimitedBy::Schedule => "schedule: ",
            LimitedBy::Errors => "errors: ",
            LimitedBy::Unknown => "not known: ",
        };
        assert!(text.starts_with(word) && !text.contains('\n'), "{name}: {text}");
        assert!(text.contains("; ") && !text.ends_with('.'), "{name}: {text}");
    }
}

#[test]
fn evidence_is_finite_and_shares_are_shares() {
    for (name, grounds, finding, ..) in cases() {
        for evidence in wording::verdict(finding, &grounds).evidence {
            assert!(evidence.value.is_finite(), "{name}: {evidence:?}");
            let share = evidence.unit == "share";
            assert!(!share || (0.0..=1.0).contains(&evidence.value), "{name}: {evidence:?}");
        }
    }
}

#[test]
fn words_of_others_steer_no_terminal() {
    let grounds = Grounds { server: None, unseen: Some("\x1b[31mno\n".into()), ..idle() };
    let text = wording::verdict(find(&grounds), &grounds).text;
    assert!(!text.contains(char::is_control), "{text:?}");
}
