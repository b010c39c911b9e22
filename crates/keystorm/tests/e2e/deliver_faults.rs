//! What goes wrong between senders and receivers: a server that is late, refuses or hangs up, receivers that die.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::broker::{Broker, Fate, listening, words};
use crate::deliver::{count, deliver, test};
use crate::program::{Keystorm, PATIENCE, within};
use crate::real_clock::holds_when_quiet;
use crate::server::Server;

/// What the broker of the test below holds each message for.
const DELAY: Duration = Duration::from_millis(20);

#[test]
fn a_known_delay_is_measured_as_such() {
    let broker = Broker::new(|_| Fate::Delayed(DELAY));
    let test = test(broker.run("--json - -c 1 --channels 1 --subscribers 1 -n 50").ok());
    assert_eq!((count(&test, "received"), count(&test, "lost")), (50, 0));
    let of = |name: &str| test["latency_ms"]["service"][name].as_f64().unwrap();
    let (min, p50) = (of("min"), of("p50"));
    // Histograms keep three digits. No clock makes a message come early.
    assert!(min >= 19.98, "{min} ms");
    // The broker says for how long it really held each; on a busy machine that is longer.
    let held = broker.held();
    assert_eq!(held.len(), 50);
    let least_ms = held.iter().min().unwrap().as_secs_f64() * 1e3;
    assert!(min >= least_ms * 0.999, "{min} ms, held for {least_ms} ms at least");
    let mut held = held;
    held.sort_unstable();
    let middle_ms = held[24].as_secs_f64() * 1e3;
    assert!(p50 >= middle_ms * 0.999, "median of {p50} ms, held for {middle_ms} ms");
    // Beside that there are two wake-ups of threads, and three digits of 20 ms.
    let seen = format!("median of {p50} ms, held for {middle_ms} ms");
    holds_when_quiet("a delay is measured as long as it is", p50 < middle_ms + 0.5, seen);
}

/// A server that hangs up when it is asked to subscribe, as some proxies do.
fn hangs_up() -> u16 {
    listening(|mut stream: TcpStream| {
        let mut input = BufReader::new(stream.try_clone().unwrap());
        while let Some(words) = words(&mut input) {
            let reply: &[u8] = match words[0].to_ascii_uppercase().as_slice() {
                b"SUBSCRIBE" => return,
                b"CONFIG" => b"*0\r\n",
                b"INFO" => b"$15\r\nredis_version:7\r\n",
                _ => b"-ERR unknown command\r\n",
            };
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_server_that_refuses_to_subscribe_is_named_and_nothing_hangs() {
    let server = Server::redis_with(&["--rename-command", "SUBSCRIBE", ""]);
    let ran = deliver(&server, "pubsub -n 10 --channels 1 --subscribers 2").run().exits(1);
    ran.says("SUBSCRIBE").says("this server has no such command");
    assert_eq!(server.calls("publish"), 0);
    let line = format!("deliver pubsub -p {} -n 10 --channels 1 --subscribers 2", hangs_up());
    Keystorm::new(&line).run().exits(1).says("closed the connection");
}

#[test]
fn consumers_that_are_killed_come_back_and_what_they_had_is_claimed() {
    let server = Server::redis();
    let line = "stream --groups 1 --consumers 3 --claim 0.2 --rps 500 --duration 2s --json -";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("xadd") > 100));
    let clients = server.text(&["CLIENT", "LIST"]);
    let consumers = clients.lines().filter(|client| client.contains("cmd=xreadgroup"));
    let id = |client: &str| client.split(' ').next().unwrap().trim_start_matches("id=").to_owned();
    let ids: Vec<String> = consumers.map(id).collect();
    assert!(!ids.is_empty(), "{clients}");
    for id in &ids {
        server.ask(&["CLIENT", "KILL", "ID", id]);
    }
    let test = test(running.wait());
    assert_eq!(count(&test, "receivers_cut_off"), ids.len() as u64);
    // What was read and not acknowledged yet comes again, and counts as doubled.
    assert_eq!((count(&test, "lost"), count(&test, "corrupt")), (0, 0));
    assert_eq!(test["deliveries"]["waits"]["never_acknowledged"], 0);
    assert!(server.keys().is_empty());
}

#[test]
fn flushed_lists_lose_what_was_in_them_and_waits_go_on() {
    let server = Server::redis();
    // Nobody takes anything for as long as the receivers pause.
    let line = "list --pop rpop --poll 1.5 --rps 200 --duration 2s --drain 3s --json -";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || { server.calls("lpush") > 100 && !server.keys().is_empty() }));
    server.ask(&["FLUSHALL"]);
    let test = test(running.wait().exits(1));
    let [expected, received, lost] =
        ["expected", "received", "lost"].map(|name| count(&test, name));
    assert!(lost > 0 && received > 0, "{received} received, {lost} lost");
    assert_eq!(received + lost, expected);
    assert_eq!((count(&test, "doubled"), count(&test, "out_of_order")), (0, 0));
}
