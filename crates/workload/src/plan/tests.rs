//! Refused plans, and the saved form of plans.

use super::*;
use crate::{KeyDist, KeySpace, Shard};

/// A small valid set of parts, for tests to change one.
pub(crate) fn parts() -> PlanParts {
    PlanParts {
        name: "PING".into(),
        sequence: vec![CommandSpec::from_words(["PING"])],
        load: Load { stop: Stop::Requests(1000), ..Load::default() },
        ..PlanParts::default()
    }
}

fn trace() -> KeyDist {
    "file:f".parse::<KeyDist>().unwrap().with_trace(vec![0, 1]).unwrap()
}

type Change = fn(&mut PlanParts);

#[test]
fn valid_parts_make_a_plan() {
    assert_eq!(parts().build().unwrap().name, "PING");
}

#[test]
fn each_bound_is_checked_and_named() {
    let cases: [(Change, &str); 17] = [
        (|p| p.load.concurrency.connections = 0, "-c 0"),
        (|p| p.load.concurrency.connections = limits::CONNECTIONS_MAX + 1, "-c 1000001"),
        (|p| p.load.concurrency.pipeline_depth = limits::PIPELINE_MAX + 1, "-P 1000001"),
        (|p| p.load.concurrency.workers = 501, "--threads"),
        (|p| p.load.stop = Stop::Requests(0), "-n 0"),
        (|p| p.load.stop = Stop::AfterNs(0), "--duration"),
        (|p| p.load.pace = Pace::constant(f64::NAN), "--rps"),
        (|p| p.load.pace = Pace::constant(0.0), "--rps"),
        (|p| p.load.shard = Shard { index: 3, of: 2 }, "--shard 3/2"),
        (|p| p.load.shard = Shard { index: 1, of: 51 }, "-c 50"),
        (|p| (p.load.shard, p.load.stop) = (Shard { index: 1, of: 9 }, Stop::Requests(8)), "-n is"),
        (|p| p.recovery.timeout_ns = Some(limits::TIMEOUT_NS_MIN - 1), "--timeout"),
        (|p| p.sequence.clear(), "no command"),
        (|p| p.data.keys.draw = "latest".parse().unwrap(), "no operation inserts any"),
        (|p| p.data.keys.draw = "insert".parse().unwrap(), "no operation inserts any"),
        (|p| p.data.keys.draw = trace(), "beyond -r 1"),
        (|p| p.sequence[0].args.push(Arg { pieces: vec![Piece::Field(0)] }), "--dataset"),
    ];
    for (change, expected) in cases {
        let mut parts = parts();
        change(&mut parts);
        let error = parts.build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} should contain {expected:?}");
    }
}

use crate::Arg;

#[test]
fn a_plan_survives_being_saved_and_is_checked_again() {
    let mut parts = parts();
    parts.target.endpoint = crate::Endpoint::Unix(
        <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(b"/t/\xff".into()).into(),
    );
    let odd = crate::Credentials { user: None, password: crate::Secret::new("hunter2") };
    parts.target.credentials = Some(odd);
    parts.load.pace = Pace::constant(0.1 + 0.2);
    parts.sequence.push(CommandSpec::parse([&b"SET"[..], b"k:__rand_1st__", b"\x00\xff"]));
    parts.data.keys = KeySpace::new(Some(u64::MAX), KeyDist::SEQUENTIAL);
    let plan = parts.build().unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    let loaded: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&loaded).unwrap(), text);
    assert_eq!(loaded.sequence, plan.sequence);
    assert_eq!(loaded.target.endpoint, plan.target.endpoint);
    assert_eq!(loaded.target.credentials.as_ref().unwrap().password.reveal(), "***");
    for (from, to) in [("\"connections\":50", "\"connections\":0"), ("sequential", "zigzag")] {
        let bad = serde_json::from_str::<Plan>(&text.replace(from, to));
        let error = bad.unwrap_err().to_string();
        assert!(error.contains("-c 0") || error.contains("zigzag"), "{error}");
    }
}

#[test]
fn a_password_in_a_command_is_sent_and_shown_nowhere() {
    let mut parts = parts();
    let login = crate::Credentials { user: None, password: crate::Secret::new("hunter1") };
    parts.target.credentials = Some(login);
    parts.target.endpoint = Endpoint::Spawned {
        program: None,
        args: ["--requirepass", "hunter3", "--io-threads", "2"].map(String::from).into(),
        unix: false,
        cpus: vec![],
        counted: false,
    };
    parts.sequence = vec![
        CommandSpec::parse(["acl", "setuser", "u__rand_int__", ">hunter2__rand_int__"]),
        CommandSpec::parse(["set", "k", "hunter1"]),
    ];
    let plan = parts.build().unwrap();
    let sent = Arg::literal(b">hunter2__rand_int__").with_numbers().pieces;
    assert_eq!(plan.sequence[0].args[3].pieces.len(), sent.len() + 1, "the sign stays");
    assert_eq!(plan.sequence[1].args[2].fixed_bytes().unwrap(), b"hunter1");
    let saved = serde_json::to_string(&plan).unwrap();
    assert!(!saved.contains("hunter") && saved.contains("--io-threads"), "{saved}");
    assert!(!format!("{:?}", plan.sequence).contains("hunter"));
    assert_eq!(plan.secrets(), ["hunter1", "hunter2", "hunter3"]);
    let loaded: Plan = serde_json::from_str(&saved).unwrap();
    assert_eq!(serde_json::to_string(&loaded).unwrap(), saved);
}

#[test]
fn a_batch_that_no_memory_holds_is_refused() {
    let mut parts = parts();
    parts.sequence[0].args.push(Arg { pieces: vec![Piece::Fill { len: 1 << 30, skip: 0 }] });
    parts.load.concurrency.pipeline_depth = 5;
    assert!(parts.build().unwrap_err().to_string().contains("lower -P or -d"));
}

#[test]
fn bursts_are_as_far_apart_as_their_size_says() {
    let every = |arrivals, of| {
        let mut parts = parts();
        let schedule = Schedule { arrivals, ..Schedule::constant(100.0) };
        parts.load.pace = Pace::Open(schedule);
        parts.load.shard = Shard { index: 1, of };
        parts.build().unwrap().due_every_ns() / 1_000_000
    };
    assert_eq!([every(Arrivals::Constant, 1), every(Arrivals::Constant, 4)], [10, 40]);
    // A share of four has its part of each burst, if that is large enough.
    assert_eq!([every(Arrivals::Bursts(50), 1), every(Arrivals::Bursts(50), 4)], [500, 500]);
    assert_eq!(every(Arrivals::Bursts(2), 4), 40);
}
