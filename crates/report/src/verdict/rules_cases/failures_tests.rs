//! Requests that failed, and outages.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    use Finding as F;
    use LimitedBy as L;
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
                outages: out_on("n:1", 2, 0.5).map(|o| Outages {
                    all_s: Some(0.2),
                    failed: 3,
                    ..o
                }),
                ..idle()
            },
            F::Outage,
            L::Outage,
            "nothing succeeded on n:1 for 0.50 s of 1.00 s, in 2 outages, and on no server for the last 0.20 s; \
             3 requests failed on all servers together",
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
    ]
}
