//! `keystorm deliver pubsub --slow`: subscribers that do not read are cut off by the server, and are no losses.

use serde_json::Value;

use crate::deliver::{count, deliver, test};
use crate::program::RunOutput;
use crate::server::Server;

/// A subscriber that reads may be 1.3 s behind without being cut off.
const LIMIT: [&str; 2] = ["--client-output-buffer-limit", "pubsub 16mb 0 0"];

/// How often a run is begun at most.
const TRIES: usize = 6;

fn slow(test: &Value, name: &str) -> u64 {
    test["deliveries"]["slow_subscribers"][name].as_u64().unwrap()
}

/// How often the server says that it cut off a client that did not read.
fn cut_by(server: &Server) -> u64 {
    server.log().matches("overcoming of output buffer limits").count() as u64
}

/// A run, and how many subscribers the server cut off in it. A machine that keeps those that read from it for so long
/// that they are cut off, too, gets it again.
fn read_by_others(server: &Server, line: &str) -> (RunOutput, u64) {
    for _ in 1..TRIES {
        let before = cut_by(server);
        let ran = deliver(server, line).run();
        if ran.code == Some(0) {
            return (ran, cut_by(server) - before);
        }
    }
    let before = cut_by(server);
    let ran = deliver(server, line).run().ok();
    (ran, cut_by(server) - before)
}

/// Checks that all that were to be read came, and that what the slow ones had and missed adds up to all.
fn adds_up(test: &Value, each: u64) {
    let sent = count(test, "messages_acknowledged");
    let counts = ["expected", "received", "lost", "doubled", "out_of_order", "receivers_cut_off"];
    assert_eq!(counts.map(|name| count(test, name)), [sent * each, sent * each, 0, 0, 0, 0]);
    let [subscribers, received, missed] =
        ["subscribers", "received", "missed"].map(|name| slow(test, name));
    assert_eq!(received + missed, subscribers * sent, "{test}");
}

#[test]
fn subscribers_that_do_not_read_are_cut_off_and_others_lose_nothing() {
    for server in [Server::redis_with(&LIMIT), Server::valkey()] {
        server.ask(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 16777216 0 0"]);
        for line in ["", "-3 --engine epoll", "--patterns", "--sharded --receiver-threads 2"] {
            let line = format!(
                "pubsub -d 200k --rps 80 -n 300 --channels 2 --subscribers 4 --slow 3 --json - {line}"
            );
            let (ran, cut) = read_by_others(&server, &line);
            let test = test(ran);
            adds_up(&test, 2);
            assert_eq!(slow(&test, "cut_off"), 3, "{line}: {test}");
            assert!(slow(&test, "missed") > 100, "of 900 that are 180 MB: {test}");
            let seen = test["deliveries"]["slow_subscribers"]["last_cut_s"].as_f64().unwrap();
            assert!(seen > 0.0, "{test}");
            assert_eq!(cut, 3, "{line}");
        }
    }
}

#[test]
fn subscribers_that_do_not_read_come_back_and_go_on_not_reading() {
    let server = Server::redis_with(&LIMIT);
    let line = "pubsub -d 200k --rps 60 --duration 6s --channels 1 --subscribers 1 --slow 2";
    let (ran, cut) = read_by_others(&server, &format!("{line} --json -"));
    let test = test(ran);
    adds_up(&test, 1);
    assert!(slow(&test, "cut_off") > 2, "{test}");
    assert!(cut == slow(&test, "cut_off"), "{cut}: {test}");
    read_by_others(&server, &format!("{line} --duration 4s"))
        .0
        .prints("slow subscribers: 2, which did not read; the server cut them off ")
        .prints(" did not reach them");
}

#[test]
fn what_stays_below_the_limit_reaches_slow_subscribers_too() {
    let server = Server::redis();
    let line = "pubsub -n 500 --channels 1 --subscribers 2 --slow 4";
    let ran = test(deliver(&server, &format!("{line} --json -")).run().ok());
    adds_up(&ran, 2);
    assert_eq!((slow(&ran, "received"), slow(&ran, "cut_off")), (2_000, 0));
    let text = deliver(&server, line).run().ok();
    text.prints("the server cut none of them off; 0 messages did not reach them");
    for (line, why) in [
        ("--slow 101", "the maximum is 100"),
        ("--slow 1 --channels 2 --subscribers 3", "no multiple of 2 channels"),
        ("--slow x", "--slow"),
    ] {
        deliver(&server, &format!("pubsub -n 1 {line}")).run().exits(2).says(why);
    }
}
