//! memtier_benchmark's dumps: items of a file are written, read and compared.

use std::fmt::Write;
use std::fs;

use tempfile::TempDir;

use crate::memcached::Memcached;
use crate::program::{Keystorm, RunOutput};
use crate::server::{Server, calls};

/// Five items as memcached-dump writes them, each with its time to live.
const ITEMS: [(&str, &str); 5] = [
    ("k1", "one"),
    ("k 2", "a \"quoted\", value"),
    ("k3", ""),
    ("k4", "line\nline"),
    ("k5", "xyz"),
];

struct Dump(TempDir);

impl Dump {
    fn new(exptime: impl Fn(usize) -> u32) -> Self {
        let dir = TempDir::new().unwrap();
        let mut text =
            "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data\n"
                .to_owned();
        for (at, (key, data)) in ITEMS.iter().enumerate() {
            let (lengths, quoted) = ((data.len() + 2, key.len()), data.replace('"', "\"\""));
            let (nbytes, nkey) = lengths;
            let expires = exptime(at);
            writeln!(text, "0, 1, {expires}, {nbytes}, 10, 0, 1, {nkey}, \"{key}\", \"{quoted}\"")
                .unwrap();
        }
        fs::write(dir.path().join("dump.csv"), text).unwrap();
        Self(dir)
    }

    fn line(&self, rest: &str) -> String {
        format!("-t 1 -c 1 --data-import {} {rest}", self.0.path().join("dump.csv").display())
    }
}

fn run(server: &Server, line: &str) -> RunOutput {
    Keystorm::new(&format!("memtier -p {} {line}", server.port())).run()
}

fn executed(server: &Server, line: &str) -> std::collections::BTreeMap<String, u64> {
    server.reset();
    run(server, line).ok();
    let mut counts = server.counts();
    counts.retain(|name, _| name != "flushall" && !name.starts_with("command"));
    counts
}

#[test]
fn sets_write_one_item_after_another_and_gets_ask_for_any() {
    let server = Server::redis();
    let dump = Dump::new(|_| 0);
    assert_eq!(executed(&server, &dump.line("-n 14 --ratio 1:1")), calls([("set", 7), ("get", 7)]));
    for (key, data) in ITEMS {
        assert_eq!(server.text(&["GET", key]), data, "{key}");
    }
    assert_eq!(server.keys().len(), 5);
    // Keys are those of the file, whatever the pattern; each connection begins with the first.
    let line = dump.line("-c 3 -n 1 --ratio 1:0 --key-pattern R:S");
    assert_eq!(executed(&server, &line), calls([("set", 3)]));
    assert_eq!(server.keys(), ["k1"]);
    server.log_commands();
    let ran = run(&server, &dump.line("-n 10 --ratio 0:1 --key-pattern S:S")).ok();
    ran.says("Reading keys from ").says("... 5 keys read.");
    let mut sent = server.logged();
    sent.retain(|line| line.starts_with("GET "));
    let in_order: Vec<String> = ITEMS.iter().map(|(key, _)| format!("GET {key}")).collect();
    assert_eq!(sent, [in_order.clone(), in_order].concat());
}

#[test]
fn items_live_as_long_as_the_file_or_the_line_says() {
    let server = Server::redis();
    let line = "-n 5 --ratio 1:0";
    let all = Dump::new(|at| 100 + at as u32);
    assert_eq!(executed(&server, &all.line(line)), calls([("setex", 5)]));
    let left = server.number(&["TTL", "k5"]);
    assert!((90..=104).contains(&left), "{left}");
    let kept = all.line(&format!("{line} --no-expiry"));
    assert_eq!(executed(&server, &kept), calls([("set", 5)]));
    let ranged = all.line(&format!("{line} --expiry-range 1000-2000"));
    assert_eq!(executed(&server, &ranged), calls([("setex", 5)]));
    assert!(server.number(&["TTL", "k1"]) > 500);
    let some = Dump::new(|at| if at == 2 { 60 } else { 0 });
    run(&server, &some.line(line)).exits(1).says("1 of 5 items have a time to live");
}

#[test]
fn what_was_written_is_compared_with_the_file() {
    let server = Server::redis();
    let dump = Dump::new(|_| 0);
    let dir = TempDir::new().unwrap();
    let json = dir.path().join("j");
    let line = format!("-n 11 --ratio 1:1 -x 2 --data-verify --json-out-file {}", json.display());
    server.reset();
    let ran = run(&server, &dump.line(&line)).ok();
    ran.prints("AGGREGATED AVERAGE").prints(
        "\n\nPerforming data verification...\nData verification completed:\n\
         6          keys verified successfuly.\n0          keys failed.\n",
    );
    assert_eq!((server.calls("set"), server.calls("get")), (12, 10 + 6), "once, after both runs");
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let results = &value["client verifications results"];
    assert_eq!(results["keys verified successfuly"], 6);
    assert_eq!(results["keys failed"], 0);
    assert_eq!(value["configuration"]["data_verify"], "true");
    // One that is another, and one that is not there.
    server.ask(&["SET", "k 2", "a \"quoted\", walue"]);
    server.ask(&["DEL", "k5"]);
    server.ask(&["SET", "k1", "one and more"]);
    server.ask(&["CONFIG", "RESETSTAT"]);
    let ran = run(&server, &dump.line("-n 5 --ratio 1:0 --verify-only")).exits(1);
    let ran = ran
        .prints("2          keys verified successfuly.\n3          keys failed.\n")
        .says("GET k 2: byte 12 of 17 is wrong")
        .says("missing: GET k5")
        .says("GET k1: read more than the 3 bytes");
    assert!(!ran.out.contains("ALL STATS"), "{}", ran.out);
    assert_eq!((server.calls("set"), server.calls("get")), (0, 5));
    // Without a count each item is compared once.
    run(&server, &dump.line("--test-time 1 --verify-only"))
        .exits(1)
        .prints("3          keys failed");
}

#[test]
fn keys_may_be_made_up_for_the_items_of_a_file() {
    let server = Server::redis();
    let dump = Dump::new(|_| 0);
    let line = dump.line(
        "-n 7 --ratio 1:0 --generate-keys --key-prefix g --key-minimum 1 --key-maximum 10 \
         --key-pattern S:S --data-verify",
    );
    assert_eq!(executed(&server, &line), calls([("set", 7), ("get", 7)]));
    let values = ["g1", "g2", "g6", "g7"].map(|key| server.text(&["GET", key]));
    assert_eq!(values, [ITEMS[0].1, ITEMS[1].1, ITEMS[0].1, ITEMS[1].1]);
}

#[test]
fn memcached_has_the_items_too() {
    let server = Memcached::new();
    let dump = Dump::new(|at| if at == 0 { 1000 } else { 0 });
    // A key of memcached has no blank in it.
    let file = dump.0.path().join("dump.csv");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("k 2", "k_2")).unwrap();
    for (protocol, rest) in [("memcache_text", ""), ("memcache_binary", "--no-expiry")] {
        let line = dump.line(&format!("-n 10 --ratio 1:1 --data-verify {rest}"));
        let at = format!("memtier -h 127.0.0.1 -p {} -P {protocol}", server.port());
        Keystorm::new(&format!("{at} {line}"))
            .run()
            .ok()
            .prints("5          keys verified successfuly.\n0          keys failed.\n");
    }
}

#[test]
fn a_pipe_is_read_once() {
    let server = Server::redis();
    let piped = |line: &str, text: &str| {
        server.reset();
        let line = format!("memtier -p {} -t 1 -c 1 {line}", server.port());
        Keystorm::new(&line).stdin(text).run().ok();
    };
    let dump = Dump::new(|_| 0);
    let items = fs::read_to_string(dump.0.path().join("dump.csv")).unwrap();
    piped("--data-import /dev/stdin -n 5 --ratio 1:0", &items);
    assert_eq!(server.keys().len(), 5);
    let capture = "1700000000.1 [0 127.0.0.1:1] \"SET\" \"a\" \"b\"\n1700000000.2 [0 127.0.0.1:1] \"INCR\" \"c\"\n";
    piped("--monitor-input /dev/stdin --command __monitor_line@__ -n 4", capture);
    assert_eq!((server.text(&["GET", "a"]), server.text(&["GET", "c"])), ("b".into(), "2".into()));
}
