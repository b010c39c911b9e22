//! Decisions between servers, and their sentences.

use measure::statistics::Interval;

use super::*;
use crate::{Figures, LimitedBy};

fn candidate(name: &str, kept: TargetState, cpu_us: f64, limit: f64) -> Candidate {
    Candidate {
        kept: Some(kept),
        figures: Figures::default()
            .with(Metric::Throughput, Some(30_000.0))
            .with(Metric::P99, Some(0.5))
            .with(Metric::ServerCpu, Some(cpu_us)),
        server_cpu_interval: Some(Interval { low: cpu_us - 1.0, high: cpu_us + 1.0 }),
        memory_bytes: Some(10_000_000),
        limit: Some((limit, LimitedBy::Server)),
        limit_range: Some([limit * 0.95, limit * 1.05]),
        ..Candidate::new(name, &[], &[])
    }
}

fn question(candidates: Vec<Candidate>) -> Question {
    Question { name: "GET".into(), unit: CountUnit::Request, rate_rps: Some(30_000.0), candidates }
}

#[test]
fn the_answer_names_everybody_once() {
    use TargetState::{No, Undecided, Void, Yes};
    let of = |kept: [TargetState; 3]| {
        let names = ["redis", "valkey", "memcached"];
        let all = names.iter().zip(kept).map(|(n, kept)| candidate(n, kept, 10.0, 1e5));
        question(all.collect()).answer(Some("p99<2ms"))
    };
    assert_eq!(of([Yes; 3]), "GET: at 30,000 requests/s, all 3 servers keep p99<2ms");
    assert_eq!(
        of([Yes, No, Yes]),
        "GET: at 30,000 requests/s, redis and memcached keep p99<2ms; valkey does not"
    );
    assert_eq!(
        of([No, Undecided, Void]),
        "GET: at 30,000 requests/s, no server was shown to keep p99<2ms; redis does not; the runs \
         do not say for valkey; memcached cannot be judged here"
    );
}

#[test]
fn what_a_difference_is_worth_is_reported_those_that_keep_the_target() {
    use TargetState::{No, Yes};
    let all = vec![
        candidate("redis", Yes, 20.0, 100_000.0),
        candidate("valkey", Yes, 15.0, 150_000.0),
        candidate("other", No, 1.0, 900_000.0),
    ];
    let worth = question(all).worth();
    assert!(worth[0].starts_with("valkey needs the least server CPU: 15.0 µs per request, 25 %"));
    assert!(worth[0].contains("which is 0.15 of a core"), "{worth:?}");
    assert!(
        worth[1].starts_with("valkey has the most room: about 150,000 requests/s"),
        "{worth:?}"
    );
    assert_eq!(worth.len(), 2, "memory is the same: {worth:?}");
    let alike = vec![candidate("a", Yes, 20.0, 1e5), candidate("b", Yes, 20.1, 1e5)];
    assert!(question(alike).worth()[0].starts_with("No difference in server CPU"));
}

#[test]
fn limits_of_which_runs_overlap_or_that_others_decided_are_no_difference() {
    use TargetState::Yes;
    let room = |other: Candidate| {
        let all = vec![candidate("redis", Yes, 20.0, 100_000.0), other];
        question(all).worth().join(" ").contains("has the most room")
    };
    assert!(room(candidate("valkey", Yes, 20.0, 120_000.0)));
    assert!(!room(candidate("valkey", Yes, 20.0, 108_000.0)), "the runs overlap");
    let contended = (150_000.0, LimitedBy::Contention);
    assert!(!room(Candidate {
        limit: Some(contended),
        ..candidate("valkey", Yes, 20.0, 150_000.0)
    }));
}

#[test]
fn messages_are_counted_as_messages() {
    let all = vec![
        candidate("redis", TargetState::Yes, 20.0, 100_000.0),
        candidate("valkey", TargetState::Yes, 10.0, 150_000.0),
    ];
    let of_messages = Question { unit: CountUnit::Message, ..question(all) };
    let words = of_messages.answer(Some("p99<2ms")) + &of_messages.worth().join(" ");
    for part in ["at 30,000 messages/s", "10.0 µs per message", "150,000 messages/s at full"] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

/// GET at these rates on two servers with these states of the target.
fn at_rates(states: [&[TargetState]; 2], target: Option<&str>) -> Comparison {
    let questions = [5_000.0, 1_000.0, 20_000.0].into_iter().enumerate().map(|(at, rate)| {
        let candidates = ["redis", "valkey"].into_iter().zip(states).map(|(name, states)| {
            let of = candidate(name, states[at], 20.0, 100_000.0);
            let reached = Some(if states[at] == TargetState::No { rate / 2.0 } else { rate });
            let figures = of.figures.with(Metric::Throughput, reached);
            Candidate { figures, pace_rps: reached, kept: target.map(|_| states[at]), ..of }
        });
        let candidates = candidates.collect();
        let question = Question {
            name: "GET".into(),
            unit: CountUnit::Request,
            rate_rps: Some(rate),
            candidates,
        };
        ComparedTest {
            name: format!("GET at {rate}/s"),
            pairs: Vec::new(),
            question: Some(question),
        }
    });
    let tests = questions.collect();
    let target = target.map(str::to_owned);
    Comparison { target, tests, ..super::tests::comparison(Vec::new(), None) }
}

#[test]
fn a_list_of_rates_says_how_far_each_server_comes() {
    use TargetState::{No, Undecided, Void, Yes};
    // At 5,000, 1,000 and 20,000/s, as they were measured.
    let answer = |states: [&[TargetState]; 2], target| {
        let comparison = at_rates(states, target);
        let curves = comparison.curves();
        assert_eq!(curves.len(), 1);
        curves[0].answer()
    };
    assert_eq!(
        answer([&[Yes, Yes, No], &[Yes, Yes, Yes]], Some("p99<2ms")),
        "GET: redis keeps p99<2ms up to 5,000/s and misses it at 20,000/s; valkey keeps p99<2ms up to \
         20,000/s, the highest rate tried"
    );
    // What is kept above a rate that is missed is no knee; a void rate below one that is kept is none either.
    assert_eq!(
        answer([&[No, Yes, Yes], &[Yes, Void, Undecided]], Some("p99<2ms")),
        "GET: redis keeps p99<2ms up to 1,000/s and misses it at 5,000/s; valkey keeps p99<2ms up to \
         5,000/s; 20,000/s is undecided"
    );
    assert_eq!(
        answer([&[Yes, No, Yes], &[Void, Void, Void]], Some("p99<2ms")),
        "GET: redis does not keep p99<2ms at 1,000/s; valkey cannot be judged here"
    );
    assert_eq!(
        answer([&[Yes, Yes, No], &[Yes, Yes, Yes]], None),
        "GET: redis keeps pace up to 5,000/s and falls behind at 20,000/s; valkey keeps pace up to 20,000/s, \
         the highest rate tried"
    );
}

#[test]
fn the_knee_of_each_server_is_in_the_document() {
    use TargetState::{No, Yes};
    let comparison = at_rates([&[Yes, Yes, No], &[Yes, Yes, Yes]], Some("p99<2ms"));
    let json: serde_json::Value = serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
    assert_eq!(json["curves"][0]["servers"][0]["knee_rps"], 5_000.0);
    assert_eq!(json["curves"][0]["servers"][0]["next_kept"], "no");
    assert_eq!(json["curves"][0]["servers"][1]["next_rps"], serde_json::Value::Null);
    assert!(comparison.curves()[0].has_several() && !comparison.is_target_open());
}
