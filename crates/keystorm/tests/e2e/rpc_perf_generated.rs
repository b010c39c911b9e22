//! rpc-perf's files, generated: each valid file is accepted and run, and what the server has executed is what
//! its schedule says.
//!
//! The files are those of fixed seeds; `KEYSTORM_GENERATED=FROM..TO` tries others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::server::Server;

/// Files that are tried where nothing else is asked for.
const SEEDS: std::ops::Range<u64> = 0..16;
/// Files that run at the same time.
const AT_ONCE: usize = 4;

/// Numbers of a seed (xorshift).
struct Draws(u64);

impl Draws {
    fn from_seed(seed: u64) -> Self {
        let mut draws = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = draws.next());
        draws
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.within(1, of) == 1
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.within(0, all.len() as u64 - 1) as usize]
    }

    /// Weights of which one is above 0 at least.
    fn weights(&mut self, count: usize) -> Vec<u64> {
        let mut weights: Vec<u64> = (0..count).map(|_| self.within(0, 4)).collect();
        if weights.iter().all(|weight| *weight == 0) {
            weights[0] = 1;
        }
        weights
    }

    fn quoted(&mut self, text: &str) -> String {
        if self.one_in(2) { format!("'{text}'") } else { format!("\"{text}\"") }
    }
}

/// The verbs of each kind of data by all their names, and whether one takes several members.
const TEXT: &[(&[&str], bool)] = &[
    (&["get"], false),
    (&["set"], false),
    (&["add"], false),
    (&["replace"], false),
    (&["delete", "del"], false),
];
const HASH: &[(&[&str], bool)] = &[
    (&["hash_set", "hset", "hmset", "dictionary_set"], true),
    (&["hash_get", "hget", "hmget", "dictionary_get"], true),
    (&["hash_get_all", "hgetall", "dictionary_fetch"], false),
    (&["hash_delete", "hdel"], true),
    (&["hash_exists", "hexists"], false),
    (&["hash_increment", "hincrby"], false),
    (&["delete", "del"], false),
];
const LIST: &[(&[&str], bool)] = &[
    (&["list_push_front", "lpush"], true),
    (&["list_push_back", "rpush"], true),
    (&["list_fetch"], false),
    (&["list_length", "llen"], false),
    (&["list_pop_front", "lpop"], false),
    (&["list_pop_back", "rpop"], false),
];
const SET: &[(&[&str], bool)] = &[
    (&["set_add", "sadd"], true),
    (&["set_members", "smembers"], false),
    (&["set_remove", "srem"], true),
];
const SORTED_SET: &[(&[&str], bool)] = &[
    (&["sorted_set_add", "zadd"], true),
    (&["sorted_set_range", "zrange"], false),
    (&["sorted_set_increment", "zincrby"], false),
    (&["sorted_set_rank", "zrank"], false),
    (&["sorted_set_remove", "zrem"], true),
    (&["sorted_set_score", "zscore", "zmscore"], true),
];
const PING: &[(&[&str], bool)] = &[(&["ping"], false)];

/// A file and what is to come of it.
struct GeneratedFile {
    text: String,
    protocol: &'static str,
    /// The rate of the second before the first window, and requests that are due in all windows; `None`
    /// without a rate.
    due: Option<(Vec<u64>, u64)>,
    /// Whether a file of metrics has samples, if there is one.
    metrics: Option<bool>,
}

fn generated(seed: u64, port: u16, dir: &str) -> GeneratedFile {
    let mut draws = Draws::from_seed(seed);
    let protocol = *draws.pick(&["resp", "resp", "resp", "memcache", "ping"]);
    let duration = draws.within(1, 3);
    let mut text = String::from("# generated\n[general]\n");
    let name = draws.quoted(protocol);
    let interval = draws.within(1, 4);
    let _ =
        writeln!(text, "protocol = {name}\ninterval = {interval} # seconds\nduration = {duration}");
    text += "admin = '127.0.0.1:0'\n";
    if draws.one_in(2) {
        let _ = writeln!(text, "initial_seed = 'seed {seed}'");
    }
    let metrics = draws.one_in(3);
    let format = *draws.pick(&["json", "msgpack"]);
    let in_general = draws.one_in(2);
    if metrics && in_general {
        let _ = writeln!(text, "metrics_output = '{dir}/metrics'\nmetrics_format = '{format}'");
    }
    if draws.one_in(4) {
        text += "unheard_of = true\n";
    }
    let mut every_ms = 100;
    if metrics && (!in_general || draws.one_in(2)) {
        let own = *draws.pick(&[250, 1000, 1500]);
        every_ms = if in_general { every_ms } else { own };
        let interval = format!("{every_ms}ms");
        let _ = writeln!(
            text,
            "[metrics]\noutput = '{dir}/metrics'\nformat = '{format}'\ninterval = '{interval}'"
        );
        if draws.one_in(2) {
            let histogram = draws.pick(&["standard", "sparse"]);
            let _ = writeln!(text, "histogram = '{histogram}'");
        }
    }
    text += "[debug]\n";
    if draws.one_in(2) {
        let level = draws.pick(&["error", "warn", "info", "debug", "trace"]);
        let _ = writeln!(text, "log_level = \"{level}\"");
    }
    let endpoint = match (protocol, draws.within(0, 3)) {
        ("resp", 0) => format!("redis://127.0.0.1:{port}"),
        ("resp", 1) => format!("redis://127.0.0.1:{port}/3"),
        _ => format!("127.0.0.1:{port}"),
    };
    let endpoints = vec![draws.quoted(&endpoint); draws.within(1, 2) as usize].join(", ");
    let _ = writeln!(text, "[target]\nendpoints = [{endpoints}]\n[client]");
    let _ = writeln!(text, "threads = {}\npoolsize = {}", draws.within(1, 3), draws.within(1, 4));
    text += "connect_timeout = 10_000\nrequest_timeout = 60_000\n";
    if draws.one_in(2) {
        let _ = writeln!(text, "concurrency = {}", draws.within(1, 8));
    }
    if draws.one_in(4) {
        let _ = writeln!(text, "reconnect_rate = {}", draws.within(0, 5));
    }
    if draws.one_in(4) {
        text += "read_buffer_size = 8192\nwrite_buffer_size = 65536\n";
    }
    let _ = writeln!(text, "[workload]\nthreads = {}", draws.within(1, 2));
    let due = ratelimit(&mut draws, &mut text, duration);
    let keyspaces = draws.within(1, if protocol == "ping" { 2 } else { 4 }) as usize;
    for weight in draws.weights(keyspaces) {
        keyspace(&mut draws, &mut text, protocol, weight);
    }
    let metrics = metrics.then_some(every_ms <= duration * 1000);
    GeneratedFile { text, protocol, due, metrics }
}

/// A rate, and what follows from it: the rates that the second before the first window may have, and
/// requests that are due afterwards.
fn ratelimit(draws: &mut Draws, text: &mut String, duration: u64) -> Option<(Vec<u64>, u64)> {
    let start = draws.within(20, 150);
    match draws.within(0, 6) {
        0 => {
            let _ = writeln!(text, "ratelimit = {start}");
            Some((vec![start], start * duration))
        }
        1 => {
            *text += "[workload.ratelimit]\n";
            None
        }
        2 | 3 => {
            let _ = writeln!(text, "[workload.ratelimit]\nstart = {start}");
            Some((vec![start], start * duration))
        }
        _ => Some(ramp(draws, text, start, duration)),
    }
}

fn ramp(draws: &mut Draws, text: &mut String, start: u64, duration: u64) -> (Vec<u64>, u64) {
    // Shuffled, a ramp has as many steps as there are seconds, so that each comes once.
    let shuffled = draws.one_in(3);
    let after = *draws.pick(&["stable", "loop", "mirror"]);
    let step = draws.within(1, 60);
    let steps = if shuffled { duration } else { draws.within(1, 4) };
    // The end need not be a rate.
    let end = start + (steps - 1) * step + draws.within(0, step - 1);
    let _ = writeln!(
        text,
        "[workload.ratelimit]\nstart = {start}\nend = {end}\nstep = {step}\ninterval = 1"
    );
    if shuffled || draws.one_in(2) {
        let ramp = if shuffled { "shuffled" } else { "linear" };
        let _ = writeln!(text, "ramp = '{ramp}'");
    }
    let _ = writeln!(text, "on_ramp_completion = '{after}'");
    let up: Vec<u64> = (0..steps).map(|at| start + at * step).collect();
    let down: Vec<u64> = up.iter().rev().copied().collect();
    let rates: Vec<u64> = match after {
        "loop" => up.iter().copied().cycle().take(duration as usize).collect(),
        "mirror" => up.iter().chain(&down).copied().cycle().take(duration as usize).collect(),
        _ => (0..duration).map(|at| up[(at as usize).min(up.len() - 1)]).collect(),
    };
    let first = if shuffled { up } else { vec![start] };
    (first, rates.iter().sum())
}

fn keyspace(draws: &mut Draws, text: &mut String, protocol: &str, weight: u64) {
    let verbs = match protocol {
        "memcache" => TEXT,
        "ping" => PING,
        _ => draws.pick(&[TEXT, HASH, LIST, SET, SORTED_SET, PING]),
    };
    let klen = draws.within(1, 30);
    let nkeys = draws.within(1, if klen == 1 { 62 } else { 500 });
    let _ = writeln!(text, "[[workload.keyspace]]\nweight = {weight}");
    // Without a word there is one key, which is empty.
    if protocol != "resp" || !draws.one_in(8) {
        let _ = writeln!(text, "nkeys = {nkeys}\nklen = {klen}");
    }
    let members = draws.within(1, 20);
    let _ =
        writeln!(text, "inner_keys_nkeys = {members}\ninner_keys_klen = {}", draws.within(2, 9));
    let _ = writeln!(text, "vlen = {}", draws.within(0, 300));
    if draws.one_in(4) {
        let kind = draws.pick(&["bytes", "i64"]);
        let _ = writeln!(text, "vkind = '{kind}'");
    }
    if draws.one_in(4) {
        let _ = writeln!(text, "compression_ratio = {}.{}", draws.within(1, 4), draws.within(0, 9));
    }
    if draws.one_in(3) {
        let distribution = draws.pick(&["uniform", "zipf"]);
        let _ = writeln!(text, "key_distribution = '{distribution}'");
    }
    if draws.one_in(3) {
        let ttl = draws.pick(&["1500ms", "15m", "1h 30m", "2s", "500ms", "1day"]);
        let _ = writeln!(text, "ttl = \"{ttl}\"");
    }
    let count = draws.within(1, 5) as usize;
    let commands: Vec<String> = draws
        .weights(count)
        .into_iter()
        .map(|weight| command(draws, verbs, members, weight))
        .collect();
    let separator = *draws.pick(&[", ", ",\n    "]);
    let _ = writeln!(text, "commands = [{}]", commands.join(separator));
}

fn command(draws: &mut Draws, verbs: &[(&[&str], bool)], members: u64, weight: u64) -> String {
    let (names, several) = *draws.pick(verbs);
    let verb = *draws.pick(names);
    let name = draws.quoted(verb);
    let mut words = vec![format!("verb = {name}")];
    if weight != 1 || draws.one_in(2) {
        words.push(format!("weight = {weight}"));
    }
    if several && draws.one_in(2) {
        words.push(format!("cardinality = {}", draws.within(1, members)));
    }
    let pushes = names.iter().any(|name| name.contains("push"));
    if pushes && draws.one_in(2) {
        words.push(format!("truncate = {}", draws.within(1, 9)));
    }
    if names.contains(&"zrange") && draws.one_in(2) {
        words.push(format!("start = {}, end = {}", draws.within(0, 3), draws.within(3, 9)));
        if draws.one_in(2) {
            words.push("by_score = true".to_owned());
        }
    }
    format!("{{ {} }}", words.join(", "))
}

/// What a server has executed of requests: commands behind them, such as EXPIRE, are a part of each.
fn of_requests(counts: &BTreeMap<String, u64>) -> u64 {
    let behind = ["expire", "pexpire", "ltrim", "select", "hello", "auth", "flushall"];
    counts.iter().filter(|(name, _)| !behind.contains(&name.as_str())).map(|(_, count)| count).sum()
}

/// Whether a file is there, with `samples` if it has any.
fn is_written(path: &Path, samples: bool) -> bool {
    std::fs::metadata(path).is_ok_and(|file| !samples || file.len() > 0)
}

/// Runs the file of a seed; what is wrong with what came of it.
fn tried(seed: u64) -> Result<(), String> {
    let dir = TempDir::new().unwrap();
    let at = dir.path().display().to_string();
    let is_memcache = generated(seed, 1, "").protocol == "memcache";
    let (redis, memcached) =
        if is_memcache { (None, Some(Memcached::new())) } else { (Some(Server::redis()), None) };
    let port = match (&redis, &memcached) {
        (Some(server), _) => server.port(),
        (_, Some(server)) => server.port(),
        _ => unreachable!("one of both is there"),
    };
    if let Some(server) = &redis {
        server.reset();
    }
    let file = generated(seed, port, &at);
    std::fs::write(dir.path().join("a.toml"), &file.text).unwrap();
    let ran = Keystorm::new(&format!("rpc-perf {at}/a.toml --ks-json {at}/j")).run();
    let describe = |what: String| format!("seed {seed}: {what}\n{}\n{}", ran.err, file.text);
    if ran.code != Some(0) {
        return Err(describe(format!("exit code {:?}", ran.code)));
    }
    let executed = match (&redis, &memcached) {
        (Some(server), _) => of_requests(&server.counts()),
        (_, Some(server)) => {
            let counted = ["cmd_get", "cmd_set", "delete_hits", "delete_misses"];
            server.grown(&counted) as u64
        }
        _ => 0,
    };
    let json: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("j")).unwrap()).unwrap();
    let test = &json["tests"][0];
    if file.metrics.is_some_and(|samples| !is_written(&dir.path().join("metrics"), samples)) {
        return Err(describe("the file of metrics is not there, or empty".to_owned()));
    }
    let Some((before, due)) = file.due else {
        let requests = test["requests"].as_u64().unwrap();
        return if executed > 0 && requests > 0 {
            Ok(())
        } else {
            Err(describe(format!("{executed} executed, {requests} counted")))
        };
    };
    let sent = test["lateness_ms"]["total"]["exact"]["count"].as_u64().unwrap_or_default();
    let is_whole = before.iter().any(|first| executed == first + due);
    // A machine too busy to send them all in time leaves the last of them out.
    let most = before.iter().max().copied().unwrap_or_default() + due;
    let is_late = || executed < most && crate::real_clock::is_busy();
    if sent > 0 && sent <= executed && (is_whole || is_late()) {
        Ok(())
    } else {
        Err(describe(format!("{executed} executed, {sent} sent, {before:?} + {due} due")))
    }
}

#[test]
fn valid_files_are_accepted_and_send_what_their_schedule_says() {
    let asked = std::env::var("KEYSTORM_GENERATED").ok();
    let range = asked.as_deref().and_then(|asked| {
        let (from, to) = asked.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    let seeds = Mutex::new(range.unwrap_or(SEEDS));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(seed) = seeds.lock().unwrap().next() else { break };
                    failures.lock().unwrap().extend(tried(seed).err());
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} files: {}", failures.len(), failures.join("\n"));
}
