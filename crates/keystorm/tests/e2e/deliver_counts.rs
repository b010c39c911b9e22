//! What a delivery counts where something is missing: messages that are refused, receivers that stop, clients that are
//! lost, keys that stay.

use rustix::process::{Pid, Signal, kill_process};

use crate::deliver::{count, deliver, test};
use crate::fleet::children;
use crate::program::{PATIENCE, within};
use crate::queue_faults::refused;
use crate::server::Server;

#[test]
fn refused_messages_are_no_received_ones_and_are_what_an_outage_is_made_of() {
    let server = Server::redis();
    for (kind, send) in [
        ("list", "lpush"),
        ("zset", "zadd"),
        ("stream --groups 2 --consumers 2", "xadd"),
        ("notify --enable-events", "set"),
        ("invalidate --tracking default --keys 5 --caches 2", "xadd"),
    ] {
        server.reset();
        let line = format!("{kind} --rps 500 --duration 3 --drain 1s --json -");
        let running = deliver(&server, &line).start();
        assert!(within(PATIENCE, || server.calls(send) > 100), "{kind}");
        server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
        let all = refused(&server, send) + 200;
        assert!(within(PATIENCE, || refused(&server, send) > all), "{kind}");
        server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
        let test = test(running.wait().ok());
        let received = count(&test, "received");
        assert!(received > 0, "{kind}: {test}");
        assert_eq!(test["requests"], received, "{kind}");
        let figure = |name: &str| test[name].as_f64().unwrap();
        let counted = figure("throughput_rps") * figure("elapsed_s");
        assert!((counted - received as f64).abs() < 1.0, "{kind}: {counted} and {received}");
        let errors: u64 = test["errors"]["by_kind"]
            .as_object()
            .map(|kinds| kinds.values().filter_map(serde_json::Value::as_u64).sum())
            .unwrap_or_default();
        assert!(errors >= 200, "{kind}: {}", test["errors"]);
        let outages = test["outages"].as_array().unwrap();
        let failed = outages.iter().filter_map(|outage| outage["errors"].as_u64());
        assert!(failed.sum::<u64>() > 100, "{kind}: {outages:?}");
    }
}

#[test]
fn messages_are_sent_at_the_rate_of_their_sending_and_a_run_lasts_as_long() {
    let server = Server::redis();
    // The one receiver finds nothing soon after the beginning, and does not look again.
    let line = "list --receivers 1 --pop lpop --poll 8 --drain 0.1 --rps 100 -n 60";
    let ran = deliver(&server, &format!("{line} --json -")).run().exits(1);
    let test = test(ran);
    assert!(count(&test, "lost") > 0, "{test}");
    // The last of 60 messages is due 0.59 s after the first.
    assert!(test["elapsed_s"].as_f64().unwrap() >= 0.58, "{test}");
    let ran = deliver(&server, line).run().exits(1);
    let line = ran.out.lines().find(|line| line.contains("throughput:")).unwrap();
    let sent = line.split("received, ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(sent.parse::<f64>().unwrap() < 105.0, "{line}");
}

#[test]
fn keys_that_may_not_be_removed_are_told_of() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-unlink"]);
    for (kind, keys) in [
        ("list --keys 2", 2),
        ("list --pop blmove --receivers 2", 1),
        ("zset", 1),
        ("stream", 1),
        ("stream --groups 1", 1),
        ("invalidate --tracking default --keys 3 --caches 2", 3),
    ] {
        server.ask(&["FLUSHALL"]);
        let line = format!("{kind} --user app -a p -n 200 --seed 5");
        let ran = deliver(&server, &line).run().ok();
        // What is empty is gone without being removed.
        assert!(server.keys().len() <= keys, "{kind}: {:?}", server.keys());
        let kept = if kind.contains("stream") || kind.contains("invalidate") { keys } else { 0 };
        assert_eq!(server.keys().len(), kept, "{kind}");
        let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = text.contains("could not be removed (NOPERM")
            && text.contains("remove what begins with keystorm:00000005:");
        assert!(told, "{kind}: {}", ran.out);
        server.ask(&["FLUSHALL"]);
    }
}

#[test]
fn a_client_that_is_lost_is_counted_with_what_it_had_sent() {
    let server = Server::redis();
    for line in [
        "pubsub --channels 2 --subscribers 4",
        "pubsub --channels 2 --subscribers 4 --between-clients",
        "list --receivers 4 --keys 2",
    ] {
        server.reset();
        let line = format!("{line} --rps 500 --duration 600 --on local:2");
        let running = deliver(&server, &line).start();
        let send = if line.contains("list") { "lpush" } else { "publish" };
        // Each client reports once a second.
        assert!(within(PATIENCE, || server.calls(send) > 1_250), "{line}");
        kill_process(Pid::from_raw(children(running.pid())[0] as i32).unwrap(), Signal::KILL)
            .unwrap();
        let ran = running.wait().exits(1);
        let number = |before: &str, behind: &str| -> u64 {
            let text = ran.out.split(before).nth(1).unwrap().split(behind).next().unwrap();
            text.trim().replace(',', "").parse().unwrap()
        };
        let received = ran.out.split(" messages received").next().unwrap();
        let received = received.rsplit("  ").next().unwrap().trim().replace(',', "");
        let deliveries = number("deliveries: ", " of ");
        assert_eq!(received.parse::<u64>().unwrap(), deliveries, "{line}: {}", ran.out);
        let rows: Vec<&str> = ran.out.lines().collect();
        let sent = number("  messages: ", " sent");
        assert!(sent > 600 && sent <= server.calls(send), "{line}: {sent}: {rows:?}");
        if line.contains("list") {
            assert!(ran.out.contains("its client was lost"), "{}", ran.out);
        }
    }
}
