//! rpc-perf's files: what the server executes is what they say, and windows are printed as there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::memcached::Memcached;
use crate::program::{Keystorm, Ran};
use crate::server::{Server, called, free_port};

/// A file of one key space, in a directory of its own.
pub(crate) struct File {
    dir: TempDir,
    port: u16,
    protocol: &'static str,
    /// Lines that are replaced, by the beginning of what stands there.
    changes: Vec<(&'static str, String)>,
}

const PLAIN: &str = "\
[general]
protocol = \"PROTOCOL\"
interval = 1
duration = 1
admin = \"127.0.0.1:0\"
[debug]
[target]
endpoints = [\"127.0.0.1:PORT\"]
[client]
threads = 1
poolsize = 2
connect_timeout = 1000
request_timeout = 60000
[workload]
threads = 1
[workload.ratelimit]
start = 200
";

impl File {
    pub(crate) fn of(port: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, port, protocol: "resp", changes: Vec::new() }
    }

    fn memcache(port: u16) -> Self {
        Self { protocol: "memcache", ..Self::of(port) }
    }

    /// With a line in the place of the one that begins so.
    pub(crate) fn with(mut self, line: &'static str, by: &str) -> Self {
        self.changes.push((line, by.to_owned()));
        self
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// The path of it with these key spaces.
    fn written(&self, keyspaces: &str) -> String {
        let mut text = PLAIN.replace("PROTOCOL", self.protocol);
        text = text.replace("PORT", &self.port.to_string());
        for (line, by) in &self.changes {
            let found = text.lines().find(|found| found.starts_with(line)).unwrap().to_owned();
            text = text.replacen(&found, by, 1);
        }
        for keyspace in keyspaces.split("---") {
            text += &format!("[[workload.keyspace]]\n{keyspace}\n");
        }
        fs::write(self.path("a.toml"), text).unwrap();
        self.path("a.toml")
    }

    /// What runs it with these key spaces, and these words behind the file.
    pub(crate) fn line(&self, keyspaces: &str, words: &str) -> Keystorm {
        Keystorm::new(&format!("rpc-perf {} {words}", self.written(keyspaces)))
    }

    pub(crate) fn run(&self, keyspaces: &str) -> Ran {
        self.line(keyspaces, "").run()
    }
}

/// The lines of a text without their stamps, which must be stamps.
fn unstamped(out: &str) -> Vec<String> {
    let line = |line: &str| {
        let (stamp, rest) = line.split_once(' ').unwrap();
        let shape: String =
            stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000+00:00", "{line}");
        rest.to_owned()
    };
    out.lines().map(line).collect()
}

/// The same with `N` for every number.
fn masked(line: &str) -> String {
    let words = line.split(' ');
    let mask = |word: &str| match word.parse::<f64>() {
        Ok(number) if !number.is_nan() => "N".to_owned(),
        _ => word.to_owned(),
    };
    words.map(mask).collect::<Vec<_>>().join(" ")
}

/// What a server is sent of key spaces, a line for each different form of a command.
#[track_caller]
fn sent(keyspaces: &str) -> Vec<String> {
    let server = Server::redis();
    server.log_commands();
    File::of(server.port()).run(keyspaces).ok();
    let mut all = server.logged();
    let own = |line: &String| {
        let name = line.split(' ').next().unwrap();
        !["CONFIG", "INFO", "SLOWLOG", "COMMAND", "CLIENT", "HELLO"].contains(&name)
    };
    all.retain(own);
    all
}

#[test]
fn a_minimal_file_runs_and_has_a_window_for_each_interval() {
    let server = Server::redis();
    server.reset();
    let file = File::of(server.port()).with("duration", "duration = 3");
    let ran = file.run("nkeys = 10\nklen = 3\ncommands = [{ verb = 'get' }]").ok();
    assert_eq!(ran.err, "");
    let lines = unstamped(&ran.out);
    assert_eq!(lines[..2], ["Protocol: Resp", "rpc-perf 5.25.0"]);
    let windows: Vec<&String> = lines.iter().filter(|line| line.starts_with("Window")).collect();
    assert_eq!(windows, ["Window: 0", "Window: 1", "Window: 2"]);
    assert_eq!(lines.len(), 2 + 3 * 12);
    let window: Vec<String> = lines[2..14].iter().map(|line| masked(line)).collect();
    let p = "p25: N p50: N p75: N p90: N p99: N p999: N p9999: N max: N";
    let expected = [
        "-----".to_owned(),
        "Window: N".to_owned(),
        "Client Connection: Open: N Success Rate: NaN %".to_owned(),
        "Client Connection Rates (/s): Attempt: N Opened: N Errors: N Timeout: N Closed: N"
            .to_owned(),
        "Client Request: Success: N % Unsupported: N %".to_owned(),
        "Client Request Rate (/s): Ok: N Unsupported: N".to_owned(),
        "Client Response: Success: N % Timeout: N % Hit: N %".to_owned(),
        "Client Response Rate (/s): Ok: N Error: N Timeout: N".to_owned(),
        format!("Client Response Latency (us): {p}"),
        "Client Key-Value SET Response Latency (us):".to_owned(),
        format!("Client Key-Value GET Response Latency (us): {p}"),
        "Client Time-to-First-Byte (us):".to_owned(),
    ];
    assert_eq!(window, expected);
    assert!(lines[2..].contains(&"Client Connection: Open: 2 Success Rate: NaN %".to_owned()));
    assert!(lines.iter().any(|line| line.ends_with("Timeout: 0.00 % Hit: 0.00 %")), "{lines:?}");
    let counts = server.counts();
    assert!(counts["get"] > 0 && counts.keys().eq(["get"]), "{counts:?}");
}

#[test]
fn an_interval_longer_than_the_run_prints_no_window() {
    let server = Server::redis();
    let file = File::of(server.port()).with("interval", "interval = 10");
    let json = file.path("run.json");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let ran = file.line(keyspace, &format!("--ks-json {json}")).run().ok();
    assert_eq!(unstamped(&ran.out), ["Protocol: Resp", "rpc-perf 5.25.0"]);
    let shown = Keystorm::new(&format!("show {json}")).run().ok();
    assert!(shown.out.contains("requests completed"), "what is left is kept: {}", shown.out);
}

#[test]
fn strings_are_set_added_replaced_and_live_as_long_as_they_are_told() {
    let set = |ttl: &str, verb: &str| {
        let keyspace = format!("nkeys = 1\nklen = 4\nvlen = 3\nvkind = 'i64'\n{ttl}");
        let all = sent(&format!("{keyspace}\ncommands = [{{ verb = '{verb}' }}]"));
        let words: Vec<&str> = all[0].split(' ').collect();
        words[2].parse::<i64>().unwrap();
        [&words[..2], &words[3..]].concat().join(" ")
    };
    assert_eq!(set("", "set"), "SET 0000");
    assert_eq!(set("", "add"), "SET 0000 NX");
    assert_eq!(set("ttl = '15m'", "replace"), "SET 0000 XX EX 900");
    assert_eq!(set("ttl = '1500ms'", "add"), "SET 0000 NX PX 1500");
}

#[test]
fn every_verb_becomes_its_command() {
    let inner = "nkeys = 1\nklen = 2\ninner_keys_nkeys = 9\ninner_keys_klen = 1\nvkind = 'i64'\n";
    let all = |commands: &str, ttl: &str| {
        let mut all = sent(&format!("{inner}{ttl}\ncommands = [{commands}]"));
        let form = |line: &String| {
            let words = line.split(' ').enumerate().map(|(at, word)| match word {
                // What is drawn.
                _ if at > 1 && word.len() == 1 && word != "0" => "i",
                _ if at > 1 && (word.ends_with("e-9") || word.len() > 5) => "v",
                "0" if !["LRANGE", "ZRANGE"].iter().any(|name| line.starts_with(name)) => "i",
                _ => word,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        all = all.iter().map(form).collect();
        all.sort();
        all.dedup();
        all
    };
    let hashes = "{ verb = 'dictionary_set', cardinality = 2 }, { verb = 'hmget', cardinality = 3 }, \
                  { verb = 'hash_get' }, { verb = 'dictionary_fetch' }, { verb = 'hexists' }, \
                  { verb = 'hash_delete' }, { verb = 'hincrby' }, { verb = 'del' }";
    assert_eq!(
        all(hashes, "ttl = '1500ms'"),
        [
            "DEL 00",
            "HDEL 00 i",
            "HEXISTS 00 i",
            "HGET 00 i",
            "HGETALL 00",
            "HINCRBY 00 i v",
            "HMGET 00 i i i",
            "HSET 00 i v i v",
            "PEXPIRE 00 1500 NX",
        ]
    );
    let sets = "{ verb = 'sadd', cardinality = 5 }, { verb = 'smembers' }, { verb = 'set_remove' }";
    assert_eq!(
        all(sets, "ttl = '1m'"),
        ["EXPIRE 00 60 NX", "SADD 00 i i i i i", "SMEMBERS 00", "SREM 00 i"]
    );
    let sorted = "{ verb = 'zadd', cardinality = 2 }, { verb = 'zrange', start = 5, end = 10, weight = 1 }, \
                  { verb = 'sorted_set_increment' }, { verb = 'zrank' }, { verb = 'zrem' }, \
                  { verb = 'zmscore', cardinality = 2 }, { verb = 'zscore' }";
    assert_eq!(
        all(sorted, ""),
        [
            "ZADD 00 v i v i",
            "ZINCRBY 00 v i",
            "ZMSCORE 00 i i",
            "ZRANGE 00 i 10",
            "ZRANK 00 i",
            "ZREM 00 i",
            "ZSCORE 00 i",
        ]
    );
    let lists = "{ verb = 'lpush' }, { verb = 'rpop' }, { verb = 'lpop' }, { verb = 'list_fetch' }, \
                 { verb = 'llen' }";
    assert_eq!(all(lists, ""), ["LLEN 00", "LPOP 00", "LPUSH 00 i", "LRANGE 00 0 -1", "RPOP 00"]);
}

#[test]
fn a_list_that_is_cut_off_keeps_as_many_as_it_is_told() {
    for (verb, trim) in [("lpush", "LTRIM 00 0 9"), ("rpush", "LTRIM 00 -10 -1")] {
        let server = Server::redis();
        server.log_commands();
        let keyspace = format!(
            "nkeys = 1\nklen = 2\ninner_keys_nkeys = 99\ninner_keys_klen = 2\n\
             commands = [{{ verb = '{verb}', cardinality = 3, truncate = 10 }}]"
        );
        File::of(server.port()).run(&keyspace).ok();
        assert_eq!(server.number(&["LLEN", "00"]), 10);
        assert!(server.logged().contains(&trim.to_owned()));
    }
}

#[test]
fn members_are_different_and_what_reads_them_hits() {
    let server = Server::redis();
    let keyspace = "nkeys = 1\nklen = 2\ninner_keys_nkeys = 5\ninner_keys_klen = 3\n";
    let add = format!("{keyspace}commands = [{{ verb = 'zadd', cardinality = 5 }}]");
    File::of(server.port()).run(&add).ok();
    assert_eq!(server.number(&["ZCARD", "00"]), 5);
    assert!(server.texts(&["ZRANGE", "00", "0", "-1"]).iter().all(|member| member.len() == 3));
    let range = format!(
        "{keyspace}commands = [{{ verb = 'zrange' }}, \
         {{ verb = 'zrange', by_score = true, start = 0, end = 1 }}]"
    );
    let ran = File::of(server.port()).run(&range).ok();
    let hits = unstamped(&ran.out);
    let hits = hits.iter().filter(|line| line.starts_with("Client Response: "));
    assert!(
        hits.clone()
            .all(|line| line == "Client Response: Success: 100.00 % Timeout: 0.00 % Hit: 100.00 %")
    );
    assert_eq!(hits.count(), 1);
}

#[test]
fn keys_are_as_long_as_told_and_the_same_in_every_run() {
    let server = Server::redis();
    let keyspace = "nkeys = 20\nklen = 20\nvlen = 8\ncommands = [{ verb = 'set' }]";
    File::of(server.port()).run(keyspace).ok();
    let keys = server.keys();
    assert_eq!(keys.len(), 20);
    assert!(keys.iter().all(|key| key.len() == 20), "{keys:?}");
    let seeded = File::of(server.port()).with("admin", "admin = '127.0.0.1:0'\ninitial_seed = 'x'");
    seeded.run(keyspace).ok();
    assert_eq!(server.keys(), keys);
}

#[test]
fn keyspaces_of_one_length_share_keys_only_where_they_hold_the_same() {
    let server = Server::redis();
    server.reset();
    let keyspaces = "nkeys = 9\nklen = 3\nvlen = 8\ncommands = [{ verb = 'set' }]\n---\n\
                     nkeys = 5\nklen = 3\ncommands = [{ verb = 'get' }]\n---\n\
                     nkeys = 9\nklen = 3\ninner_keys_nkeys = 2\ninner_keys_klen = 1\n\
                     commands = [{ verb = 'sadd' }]";
    let ran = File::of(server.port()).run(keyspaces).ok();
    assert!(ran.out.contains("Client Response: Success: 100.00 %"), "{}", ran.out);
    assert_eq!(server.keys().len(), 18);
    let kind = |key: &str| server.text(&["TYPE", key]);
    assert_eq!(
        [kind("000"), kind("008"), kind("009"), kind("00H")],
        ["string", "string", "set", "set"]
    );
    let counts = server.counts();
    let third = counts["set"] + counts["get"] + counts["sadd"];
    for name in ["set", "get", "sadd"] {
        let share = counts[name] as f64 / third as f64;
        assert!((0.2..0.5).contains(&share), "{counts:?}");
    }
}

#[test]
fn zipf_keys_begin_with_the_first_and_end_with_the_last() {
    let server = Server::redis();
    let keyspace =
        "nkeys = 9\nklen = 1\nkey_distribution = 'zipf'\nvlen = 4\ncommands = [{ verb = 'set' }]";
    File::of(server.port()).with("start", "start = 2000").run(keyspace).ok();
    assert_eq!(server.keys(), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn values_are_random_bytes_that_compress_as_told() {
    let server = Server::redis();
    let get = |key: &str| {
        let wire::resp::Value::Bulk(bytes) = server.ask(&["GET", key]) else { panic!("{key}") };
        bytes
    };
    let distinct = |bytes: &[u8]| bytes.iter().collect::<std::collections::BTreeSet<_>>().len();
    // Of one kind in the whole file, and of several.
    let one = "nkeys = 1\nklen = 1\nvlen = 4096\ncommands = [{ verb = 'set' }]";
    let two = format!(
        "{one}\n---\nnkeys = 1\nklen = 2\nvlen = 2048\ncompression_ratio = 4.0\ncommands = [{{ verb = 'set' }}]"
    );
    for keyspaces in [one, &two] {
        server.reset();
        File::of(server.port()).run(keyspaces).ok();
        let value = get("0");
        assert!(value.len() == 4096 && distinct(&value) == 256, "{}", distinct(&value));
    }
    let compressible = get("00");
    let filler = compressible.iter().filter(|byte| **byte == b'x').count();
    assert!(compressible.len() == 2048 && (1500..1600).contains(&filler), "{filler}");
}

#[test]
fn memcached_gets_its_own_commands_and_lifetimes() {
    let server = Memcached::new();
    let keyspace = "nkeys = 3\nklen = 5\nvlen = 7\nttl = '1500ms'\ncommands = [{ verb = 'set' }]";
    let ran = File::memcache(server.port()).run(keyspace).ok();
    assert_eq!(unstamped(&ran.out)[0], "Protocol: Memcache");
    assert!(server.say("mg 00002 t s\n").contains(" s7"), "it is there");
    let all = "nkeys = 3\nklen = 5\nvlen = 7\nttl = '15m'\ncommands = [{ verb = 'add' }, \
               { verb = 'replace' }, { verb = 'get', weight = 2 }, { verb = 'del' }]";
    let ran = File::memcache(server.port()).run(all).ok();
    assert!(ran.out.contains("Client Response: Success: 100.00 %"), "{}", ran.out);
    File::memcache(server.port()).run(&all.replace(", { verb = 'del' }", "")).ok();
    let seconds = server.say("mg 00002 t\n");
    let seconds = seconds.split_once('t').and_then(|(_, rest)| rest.split_whitespace().next());
    assert!((700..=900).contains(&seconds.unwrap().parse::<u32>().unwrap()), "{seconds:?}");
}

#[test]
fn the_ping_protocol_sends_lines() {
    let server = Server::redis();
    server.reset();
    let file = File { protocol: "ping", ..File::of(server.port()) };
    file.run("commands = [{ verb = 'ping' }]").ok();
    assert!(server.calls("ping") > 0);
}

#[test]
fn a_server_is_named_by_a_uri_too_and_the_program_by_a_link() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let keyspace = "nkeys = 5\nklen = 2\nvlen = 3\ncommands = [{ verb = 'set' }]";
    let uri = format!("endpoints = ['redis://:hunter2@127.0.0.1:{}/0']", server.port());
    let (_dir, link) = called("rpc-perf");
    let file = File::of(1).with("endpoints", &uri);
    let ran = Keystorm::of(link, [file.written(keyspace)]).run().ok();
    ran.keeps_secret("hunter2");
    assert_eq!(server.keys().len(), 5);
    let unix = format!("endpoints = ['unix://{}']", server.socket().display());
    File::of(1).with("endpoints", &unix).run(keyspace).exits(1).says("NOAUTH");
}

#[test]
fn a_ramp_holds_each_of_its_rates() {
    let server = Server::redis();
    let ramp = "start = 10\nend = 35\nstep = 10\ninterval = 1\non_ramp_completion = 'mirror'";
    let file = File::of(server.port()).with("start", ramp).with("duration", "duration = 6");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let plan = file.line(keyspace, "--print-plan").run().ok();
    let plan: Value = serde_json::from_str(&plan.out).unwrap();
    let stages = plan[0]["pace"]["open"]["stages"].as_array().unwrap();
    let rates: Vec<f64> =
        stages.iter().map(|stage| stage["from_per_s"].as_f64().unwrap()).collect();
    assert_eq!(rates, [10.0, 20.0, 30.0, 30.0, 20.0, 10.0]);
    assert!(stages[..5].iter().all(|stage| stage["lasts_ns"] == 1_000_000_000));
    // As 5.0 to 5.3 wrote it.
    let old =
        File::of(server.port()).with("[workload.ratelimit]", "ratelimit = 10000").with("start", "");
    let plan = old.line(keyspace, "--print-plan").run().ok();
    assert!(plan.out.contains("\"from_per_s\": 10000.0"), "{}", plan.out);
}

#[test]
fn the_file_of_metrics_has_a_line_for_each_interval() {
    let server = Server::redis();
    let file = File::of(server.port());
    let path = file.path("metrics.json");
    let section =
        format!("[debug]\n[metrics]\noutput = '{path}'\nformat = 'json'\ninterval = '500ms'");
    let file = file.with("[debug]", &section).with("duration", "duration = 2");
    file.run("nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]").ok();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    let counter = |line: &Value, name: &str| {
        let counters = line["counters"].as_array().unwrap();
        counters.iter().find(|counter| counter["name"] == name).unwrap()["value"].as_u64().unwrap()
    };
    assert!(
        lines.windows(2).all(|two| counter(&two[0], "get/total") <= counter(&two[1], "get/total"))
    );
    let last = &lines[3];
    let latency = &last["histograms"][0];
    assert_eq!(latency["name"], "response_latency");
    let buckets = latency["value"]["buckets"].as_array().unwrap().iter();
    let sum: u64 = buckets.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, counter(last, "client/response/ok"));
}

/// What an admin port answers: the status, and what follows the head.
fn ask(port: u16, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
        .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The families of a page of metrics and their types, as Prometheus's own client library reads them.
fn families(page: &str) -> BTreeMap<String, String> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-servers/python");
    assert!(library.is_dir(), "{}: `make setup-test` installs it", library.display());
    let script = "import sys\n\
                  from prometheus_client.parser import text_string_to_metric_families as read\n\
                  for family in read(sys.argv[1]): print(family.name, family.type)";
    let mut read = Command::new("python3");
    let read = read.args(["-c", script, page]).env("PYTHONPATH", library).output();
    let read = read.expect("python3, which `make setup-test` installs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let read = String::from_utf8(read.stdout).unwrap();
    let family =
        |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let all: Vec<(String, String)> = read.lines().map(family).collect();
    let count = all.len();
    let families: BTreeMap<String, String> = all.into_iter().collect();
    assert_eq!(families.len(), count, "each family once: {page}");
    families
}

#[test]
fn the_admin_port_tells_of_a_run_and_ends_it() {
    let server = Server::redis();
    let port = free_port();
    let file = File::of(server.port())
        .with("admin", &format!("admin = '127.0.0.1:{port}'"))
        .with("duration", "duration = 600");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let running = file.line(keyspace, "").start();
    running.until("there is a window", |running| running.out().contains("Time-to-First-Byte"));
    let (status, json) = ask(port, "GET /vars.json");
    let vars: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status, 200);
    assert!(vars["client/response/ok"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(vars["ratelimit/current"], 200);
    // Of the last window, which is empty where a machine is busy enough.
    if let Some(p50) = vars["response_latency/p50"].as_u64() {
        assert!(p50 > 1000, "in nanoseconds: {json}");
    }
    assert!(ask(port, "GET /vars").1.contains("\n\"get/ok\": "));
    let (_, page) = ask(port, "GET /metrics");
    assert!(page.contains("# TYPE client_response_ok counter\nclient_response_ok "), "{page}");
    let families = families(&page);
    for (name, kind) in [
        ("client_response_ok", "counter"),
        ("ratelimit_current", "gauge"),
        ("response_latency", "gauge"),
        ("get_hit", "counter"),
    ] {
        assert_eq!(families[name], kind, "{page}");
    }
    assert_eq!(ask(port, "PUT /ratelimit/500").0, 501);
    assert_eq!(ask(port, "POST /quitquitquit").0, 200);
    let ran = running.wait().ok();
    assert_eq!(ran.err, "");
}

#[test]
fn a_server_that_comes_back_is_used_again_and_the_exit_code_tells() {
    let mut server = Server::redis();
    let file = File::of(server.port()).with("duration", "duration = 600");
    let port = free_port();
    let file = file.with("admin", &format!("admin = '127.0.0.1:{port}'"));
    let running = file.line("nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]", "").start();
    running.until("there is a window", |running| running.out().contains("Window: 0"));
    server.kill();
    server.restart();
    running.until("it asks again", |_| server.calls("get") > 0);
    ask(port, "POST /quitquitquit");
    running.wait().exits(1).says("connections were lost");
}

#[test]
fn the_equal_command_line_of_keystorm_sends_the_same() {
    let server = Server::redis();
    let keyspace = "nkeys = 20\nklen = 6\nvlen = 16\nttl = '1m'\ncommands = [{ verb = 'set' }]";
    let said = File::of(server.port()).line(keyspace, "--as keystorm").run().ok();
    let line = said.out.lines().last().unwrap();
    assert!(line.contains("__key:alnum6__"), "{line}");
    server.reset();
    Keystorm::new(line.strip_prefix("keystorm ").unwrap()).run().ok();
    assert_eq!(server.keys().len(), 20);
    assert!(server.number(&["TTL", "00000J"]) > 0);
}

#[test]
fn what_is_read_may_be_written_before() {
    let server = Server::redis();
    let file = File::of(server.port());
    let keyspaces = "nkeys = 20\nklen = 6\nvlen = 16\ncommands = [{ verb = 'get' }, \
                     { verb = 'set', weight = 0 }]";
    let ran = file.line(keyspaces, "--ks-fill").run().ok();
    assert!(ran.out.contains("Hit: 100.00 %"), "{}", ran.out);
    assert_eq!(server.keys().len(), 20);
}
