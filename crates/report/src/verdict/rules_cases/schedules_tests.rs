//! Schedules that were kept, or not.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    use Finding as F;
    use LimitedBy as L;
    vec![
        (
            "a schedule that was kept",
            Evidence { schedule: asked(), ..idle() },
            F::ScheduleKept,
            L::Schedule,
            "kept up with 10,000 requests/s; server main thread 20 % busy",
        ),
        (
            "a schedule that was kept while messages heaped up",
            Evidence {
                schedule: asked(),
                of_messages: true,
                backlog: Some((900, 10_000)),
                ..idle()
            },
            F::Backlog,
            L::Backlog,
            "900 of 10,000 messages had heaped up when the last was sent",
        ),
        (
            "messages that heaped up before a busy receiver",
            Evidence {
                schedule: asked(),
                of_messages: true,
                backlog: Some((900, 10_000)),
                client: client(0.97, 0.0),
                busiest_receives: true,
                workers: 2,
                ..idle()
            },
            F::Client,
            L::Client,
            "busiest receiver 97 % busy while server main thread 20 % busy; add --receiver-threads",
        ),
        (
            "a busy sender",
            Evidence { of_messages: true, client: client(0.97, 0.0), workers: 2, ..idle() },
            F::Client,
            L::Client,
            "busiest sender 97 % busy while ",
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
                schedule: Some(ScheduleFigures {
                    late_mean_s: 0.001,
                    ..figures(11, 0, Some(Fault::NoRoom))
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
                schedule: Some(ScheduleFigures { late_mean_s: 0.001, ..figures(0, 8, None) }),
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
