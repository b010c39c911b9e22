//! rpc-perf's files: how they are run, and the windows that are printed. What is sent for verbs, keys and the
//! admin port have files of their own.

use std::fs;

use tempfile::TempDir;

use crate::memcached::Memcached;
use crate::program::{Keystorm, RunOutput};
use crate::rpc_perf_admin::ask;
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
    pub(crate) fn from_port(port: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, port, protocol: "resp", changes: Vec::new() }
    }

    pub(crate) fn speaking(self, protocol: &'static str) -> Self {
        Self { protocol, ..self }
    }

    pub(crate) fn memcache(port: u16) -> Self {
        Self::from_port(port).speaking("memcache")
    }

    /// With a line that replaces the one of the same beginning.
    pub(crate) fn with(mut self, line: &'static str, by: &str) -> Self {
        self.changes.push((line, by.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> String {
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

    pub(crate) fn run(&self, keyspaces: &str) -> RunOutput {
        self.line(keyspaces, "").run()
    }
}

/// The lines of a text without their stamps, which must be stamps.
pub(crate) fn unstamped(out: &str) -> Vec<String> {
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

#[test]
fn a_minimal_file_runs_and_has_a_window_for_each_interval() {
    let server = Server::redis();
    server.reset();
    let file = File::from_port(server.port()).with("duration", "duration = 3");
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
    let file = File::from_port(server.port()).with("interval", "interval = 10");
    let json = file.path("run.json");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let ran = file.line(keyspace, &format!("--ks-json {json}")).run().ok();
    assert_eq!(unstamped(&ran.out), ["Protocol: Resp", "rpc-perf 5.25.0"]);
    let shown = Keystorm::new(&format!("show {json}")).run().ok();
    assert!(shown.out.contains("requests completed"), "what is left is kept: {}", shown.out);
}

#[test]
fn a_server_is_named_by_a_uri_too_and_the_program_by_a_link() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let keyspace = "nkeys = 5\nklen = 2\nvlen = 3\ncommands = [{ verb = 'set' }]";
    let uri = format!("endpoints = ['redis://:hunter2@127.0.0.1:{}/0']", server.port());
    let (_dir, link) = called("rpc-perf");
    let file = File::from_port(1).with("endpoints", &uri);
    let ran = Keystorm::exec(link, [file.written(keyspace)]).run().ok();
    ran.keeps_secret("hunter2");
    assert_eq!(server.keys().len(), 5);
    let unix = format!("endpoints = ['unix://{}']", server.socket().display());
    File::from_port(1).with("endpoints", &unix).run(keyspace).exits(1).says("NOAUTH");
}

#[test]
fn a_server_that_comes_back_is_used_again_and_the_exit_code_tells() {
    let mut server = Server::redis();
    let file = File::from_port(server.port()).with("duration", "duration = 600");
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
fn connections_are_closed_and_opened_again_at_their_rate() {
    let server = Server::redis();
    let port = free_port();
    let file = File::from_port(server.port())
        .with("admin", &format!("admin = '127.0.0.1:{port}'"))
        .with("threads", "threads = 2")
        .with("poolsize", "poolsize = 4\nconcurrency = 3\nreconnect_rate = 40")
        .with("start", "start = 1000")
        .with("duration", "duration = 600");
    let json = file.path("run.json");
    let get = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let running = file.line(get, &format!("--ks-json {json}")).start();
    let accepted = || -> u64 {
        let info = server.text(&["INFO", "stats"]);
        let line = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        line.unwrap().trim().parse().unwrap()
    };
    // Tests ask the server over connections of their own, but not hundreds.
    running.until("most of them are of the run", |_| {
        let clients = server.text(&["CLIENT", "LIST"]).lines().count() as u64;
        assert!(clients < 20, "those before are closed");
        accepted() > 400
    });
    let (_, vars) = ask(port, "GET /vars.json");
    let vars: serde_json::Value = serde_json::from_str(&vars).unwrap();
    assert!(vars["client/connect/reconnect"].as_u64().unwrap() > 0, "{vars}");
    ask(port, "POST /quitquitquit");
    let ran = running.wait().ok();
    assert_eq!(ran.err, "", "none was lost");
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let connections = &saved["tests"][0]["connections"];
    let [renewed, dropped] = ["renewed", "dropped"].map(|name| connections[name].as_u64().unwrap());
    assert!(renewed > 0 && dropped == 0, "{connections}");
    assert_eq!(connections["lost"], 0);
    assert_eq!(saved["tests"][0]["errors"]["total"], 0, "{}", saved["tests"][0]["errors"]);
    let as_ours = file.line(get, "--as keystorm").run().ok();
    as_ours.prints(" --set 'renew=40' ");
}

#[test]
fn the_equal_command_line_of_keystorm_sends_the_same() {
    let server = Server::redis();
    let keyspace = "nkeys = 20\nklen = 6\nvlen = 16\nttl = '1m'\ncommands = [{ verb = 'set' }]";
    let text = File::from_port(server.port()).line(keyspace, "--as keystorm").run().ok();
    let line = text.out.lines().last().unwrap();
    assert!(line.contains("__key:alnum6__"), "{line}");
    server.reset();
    Keystorm::new(line.strip_prefix("keystorm ").unwrap()).run().ok();
    assert_eq!(server.keys().len(), 20);
    assert!(server.number(&["TTL", "00000J"]) > 0);
}

#[test]
fn several_endpoints_have_as_many_connections_each_and_share_the_requests() {
    let servers = [Server::redis(), Server::redis(), Server::redis()];
    let endpoints: Vec<String> =
        servers.iter().map(|server| format!("'127.0.0.1:{}'", server.port())).collect();
    let file = File::from_port(1)
        .with("endpoints", &format!("endpoints = [{}]", endpoints.join(", ")))
        .with("threads", "threads = 2")
        .with("poolsize", "poolsize = 5")
        .with("start", "start = 3000")
        .with("duration", "duration = 2");
    servers.iter().for_each(Server::reset);
    let json = file.path("run.json");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let ran = file.line(keyspace, &format!("--ks-json {json}")).run().ok();
    let open = ran.out.lines().filter(|line| line.contains("Client Connection: Open: "));
    assert!(
        open.clone().count() == 2 && open.clone().all(|line| line.contains(" 15 ")),
        "{}",
        ran.out
    );
    let counts = servers.each_ref().map(|server| server.calls("get"));
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let measured = saved["tests"][0]["requests"].as_u64().unwrap();
    let all: u64 = counts.iter().sum();
    // 3000 and what the machine left out of them were of the second before the first window.
    assert!(all >= measured && all <= measured + 3000, "{counts:?} of {measured}");
    assert!(counts.iter().all(|count| count * 4 > all), "{counts:?}");
    assert_eq!(
        saved["plan"][0]["target"]["endpoint"]["pool"]["servers"].as_array().unwrap().len(),
        3
    );
    let as_ours = file.line(keyspace, "--as keystorm").run().ok();
    let others =
        format!(" --pool 127.0.0.1:{},127.0.0.1:{} ", servers[1].port(), servers[2].port());
    as_ours.prints(&others);
    file.line(keyspace, "--ks-fill")
        .run()
        .exits(2)
        .says("--ks-fill: a key would be written to one");
}

#[test]
fn each_of_several_endpoints_has_its_share_of_connections() {
    let servers = [Server::redis(), Server::redis()];
    let port = free_port();
    let endpoints = format!("'127.0.0.1:{}', '127.0.0.1:{}'", servers[0].port(), servers[1].port());
    let file = File::from_port(1)
        .with("endpoints", &format!("endpoints = [{endpoints}]"))
        .with("admin", &format!("admin = '127.0.0.1:{port}'"))
        .with("threads", "threads = 3")
        .with("poolsize", "poolsize = 20")
        .with("start", "start = 1000")
        .with("duration", "duration = 600");
    let running = file.line("nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]", "").start();
    let with_load = |server: &Server| {
        server.text(&["CLIENT", "LIST"]).lines().filter(|line| line.contains(" cmd=get ")).count()
    };
    running.until("every connection has sent", |_| {
        servers.iter().all(|server| with_load(server) == 20)
    });
    ask(port, "POST /quitquitquit");
    running.wait().ok();
}

#[test]
fn several_endpoints_of_memcache_and_ping_are_interchangeable() {
    let servers = [Memcached::new(), Memcached::new()];
    let endpoints = format!("'127.0.0.1:{}', '127.0.0.1:{}'", servers[0].port(), servers[1].port());
    let file = File::memcache(1).with("endpoints", &format!("endpoints = [{endpoints}]"));
    file.run("nkeys = 3\nklen = 5\nvlen = 7\ncommands = [{ verb = 'set' }]").ok();
    for server in &servers {
        // No key belongs to one of them.
        for key in ["00000", "00001", "00002"] {
            assert!(server.say(&format!("mg {key} s\n")).contains(" s7"), "{key}");
        }
    }
    let servers = [Server::redis(), Server::redis()];
    servers.iter().for_each(Server::reset);
    let endpoints = format!("'127.0.0.1:{}', '127.0.0.1:{}'", servers[0].port(), servers[1].port());
    let file = File::from_port(1)
        .speaking("ping")
        .with("endpoints", &format!("endpoints = [{endpoints}]"));
    file.run("commands = [{ verb = 'ping' }]\nnkeys = 1").ok();
    assert!(servers.iter().all(|server| server.calls("ping") > 0));
}
