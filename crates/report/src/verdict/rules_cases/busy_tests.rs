//! Closed loops with busy ends, and with ends that were kept from a CPU.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    use Finding as F;
    use LimitedBy as L;
    let one = Evidence { slots: 1, connections: 1, achieved_rps: 10_000.0, ..idle() };
    let one = Evidence { service_s: Some(0.0001), ..one };
    vec![
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
            "four threads on one CPU",
            Evidence { server: crowded(0.25, 0.74, 0.75), ..idle() },
            F::ServerThreads,
            L::Server,
            "its 4 threads share 1 CPU; main thread ran 25 % of the time and waited 74 % for a CPU; client",
        ),
        (
            "four threads on one CPU, which another program takes",
            Evidence { server: crowded(0.25, 0.74, 0.3), ..idle() },
            F::ServerStarved,
            L::Contention,
            "for a CPU that other programs used",
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
    ]
}
