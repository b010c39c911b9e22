//! Queues whose keys go or change, whose server refuses, and runs of them that are broken off: nothing hangs.

use crate::deliver::{count, deliver, test};
use crate::program::{PATIENCE, within};
use crate::server::Server;

const KINDS: [(&str, &str, &str); 4] = [
    ("list", "lpush", "brpop"),
    ("list --pop blmove", "lpush", "blmove"),
    ("zset", "zadd", "bzpopmin"),
    ("stream --groups 1", "xadd", "xreadgroup"),
];

#[test]
fn a_run_that_is_interrupted_prints_what_it_has_and_leaves_no_key() {
    for server in [Server::redis(), Server::valkey()] {
        for (kind, send, _) in KINDS {
            server.reset();
            let running = deliver(&server, &format!("{kind} --rps 500 --duration 600")).start();
            assert!(within(PATIENCE, || server.calls(send) > 200), "{kind}");
            running.interrupt();
            let ran = running.wait().exits(130).prints("none lost, doubled or out of order");
            ran.prints("  messages: ");
            assert!(server.keys().is_empty(), "{kind}: {:?}", server.keys());
        }
    }
}

/// How often a server refused a command before it ran.
pub(crate) fn refused(server: &Server, command: &str) -> u64 {
    let stats = server.text(&["INFO", "commandstats"]);
    let line = stats.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:")));
    let number = line.and_then(|line| line.split_once("rejected_calls=")?.1.split(',').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn receivers_that_are_refused_ask_less_and_less_often() {
    let (server, other) = (Server::redis(), Server::redis());
    let line = "list --rps 200 --duration 5s --drain 0.2 --json -";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("lpush") > 50));
    server.ask(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    assert!(within(PATIENCE, || refused(&server, "lpush") > 300), "senders go on");
    let times = refused(&server, "brpop");
    assert!((10..1_000).contains(&times), "{times} times in more than a second");
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    let test = test(running.wait());
    assert!((1..=10).contains(&count(&test, "receivers_cut_off")), "each once: {test}");
    assert!(count(&test, "received") > 60, "they go on: {test}");
}

#[test]
fn a_key_that_is_deleted_loses_what_was_in_it_and_no_more() {
    for (kind, send, _) in KINDS {
        let server = Server::redis();
        let line = format!("{kind} --receivers 1 --rps 500 --duration 2s --drain 2 --json -");
        let line = line.replace("--groups 1 --receivers 1", "--groups 1 --consumers 1");
        let running = deliver(&server, &line).start();
        assert!(within(PATIENCE, || server.calls(send) > 100), "{kind}");
        for _ in 0..20 {
            for key in server.keys() {
                server.ask(&["DEL", &key]);
            }
        }
        let ran = running.wait();
        let code = ran.code;
        let test = test(ran);
        let lost = count(&test, "lost");
        assert_eq!(code, Some(i32::from(lost > 0)), "{kind}: {test}");
        let all = count(&test, "messages_acknowledged");
        assert_eq!(count(&test, "received") + lost, all, "{kind}: {test}");
        assert!(count(&test, "received") > all / 2, "{kind}: it goes on: {test}");
        assert!(server.keys().is_empty(), "{kind}");
    }
}

#[test]
fn a_key_of_the_wrong_type_is_named() {
    for (kind, send, _) in KINDS {
        let server = Server::redis();
        let line = format!("{kind} --seed 5 --rps 500 --duration 5s --drain 0.2");
        let running = deliver(&server, &line).start();
        assert!(within(PATIENCE, || server.calls(send) > 100), "{kind}");
        let key = "keystorm:00000005:000000000000";
        server.ask(&["SET", key, "a string"]);
        let ran = running.wait();
        // A receiver that meets it cannot go on; senders count it.
        let is_fatal = ran.err.contains("WRONGTYPE");
        assert!(is_fatal || ran.out.contains("WRONGTYPE"), "{kind}: {ran:?}");
        let loses = !ran.out.contains("none lost, doubled or out of order");
        assert_eq!(ran.code, Some(i32::from(is_fatal || loses)), "{kind}: {ran:?}");
        assert!(server.keys().is_empty(), "{kind}: {:?}", server.keys());
    }
}
