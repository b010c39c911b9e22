//! `--as keystorm`: what it prints is what the other tool's command line means, plan for plan.

use std::path::Path;

use serde_json::Value;

use crate::program::{Keystorm, RunOutput};
use crate::server::{KEYSTORM, Server, free_port};

/// Command lines without a word that keystorm has none for. `MONITOR` and `ITEMS` are files.
const MEMTIER: &[&str] = &[
    "",
    "-t 1 -c 1 -n 11",
    "-t 2 -c 10 -n allkeys --ratio=1:0 --key-pattern=P:P --key-minimum=1 --key-maximum=500000",
    "-t 4 -c 8 -n 1000 --pipeline 16",
    "--test-time 2 -n allkeys --key-maximum 100",
    "--rate-limit=100 --test-time 5",
    "-n 300 --command 'SET __key__ __data__' --command 'GET __key__' --command-ratio 2",
    "--command 'GET a' --command 'GET b'",
    "-n 6 --ratio 1:0 --key-pattern S:S --data-size-list 10:1,20:2",
    "--ratio 1:0 --expiry-range 10-10 -n 10",
    "--expiry-range 10-20 -n 10",
    "--data-offset 5",
    "-P memcache_text --multi-key-get 4 -n 4",
    "-P memcache_binary -n 4",
    "-P memcache_text -n 4 --expiry-range 5-6",
    "--ratio 1:0 --wait-ratio 1:1 --num-slaves 1-1 --wait-timeout 1-1",
    "--ratio 1:0 --wait-ratio 1:1 --num-slaves 1-3 --wait-timeout 1-10",
    "--ratio 2:3 --wait-ratio 3:2 --wait-timeout 5-6 --key-pattern S:G",
    "--reconnect-interval=20 --pipeline 5 -n 50",
    "--scan-incremental-iteration --scan-incremental-max-iterations 3 -n 8 --command 'SCAN 0'",
    "--clients-start 1 --clients-step 2 --step-duration 1 -c 5 -t 2 --test-time 4",
    "--thread-conn-start-min-jitter-micros 10 --thread-conn-start-max-jitter-micros 500 -n 5",
    "--key-pattern G:G --key-stddev 100 --key-median 500 --key-maximum 1000",
    "--key-pattern Z:R --key-zipf-exp 1.2 --key-minimum 5",
    "--key-pattern R:S --data-size-range 5-100 --data-size-pattern S",
    "--data-size-range 5-100 -R",
    "-d 5000",
    "-d 100 -R",
    "--multi-key-get 3",
    "--cluster-mode --multi-key-get 3",
    "--cluster-mode --test-time 3 --rate-limiting 100 --key-pattern P:P -t 2 -c 3",
    "--key-pattern Z:Z --key-minimum 950000 --key-maximum 1000000",
    "--cluster-mode --read-preference secondary --read-preference-fallback queue \
     --command \"EVAL 'return 1' 0\" --command-is-read",
    "--read-server 127.0.0.1:7000 --read-server 127.0.0.1:7001 --read-preference nearest \
     --replica-clients 3 --replicas-per-shard 1",
    "--client-no-touch",
    "--retry-on-error --max-retries 5 --retry-backoff-ms 10 --retry-backoff-factor 1.5 \
     --retry-on LOADING,BUSY --max-retry-queue 9",
    "--retry-on-error --pipeline 4",
    "--test-time 3 --reconnect-on-error --reconnect-backoff-factor 1.5 \
     --max-reconnect-attempts 4 --connection-timeout 2",
    "--transaction --command MULTI --command 'SET __key__ 1' --command EXEC -n 30",
    "--transaction --command MULTI --command 'SET __key__ 1' --command-key-pattern S \
     --command EXEC -n 30",
    "-P memcache_text --expiry-range 0-60 -n 10",
    "--command 'MSET __key__ __data__ __key__ __data__' --command-key-pattern Z \
     --command 'GET __key__' --command-key-pattern S",
    "--uri=redis://127.0.0.1:6379/3 -n 10",
    "-S /tmp/s.sock -n 10",
    "--protocol resp3 --select-db 2 -n 10",
    "-x 3 -n 10",
    "--tls --tls-skip-verify --tls-protocols TLSv1.2 --cert c --key k --cacert a --sni h",
    "--command 'SET k ;' -n 10",
    "--command 'SET k __rand_int__' --command 'SET a__reply____key__ __hex:61__' -n 10",
    "--cluster-mode --command 'SET {tag}__key__ 1' -n 10",
    "--command 'SET k \"a\nEND\nb\"' --command-key-pattern R --command 'GET __key__' \
     --command-key-pattern S -n 10",
    r#"--command 'SET k "\xff\x00"' --command 'SET k ;>' --command-ratio 2 -n 10"#,
    "--monitor-input MONITOR --command __monitor_line2__ -n 10",
    "--monitor-input MONITOR --command __monitor_line@__ -n 10",
    "--monitor-input MONITOR --command __monitor_line@__ --monitor-pattern R -n 10",
    "--monitor-input MONITOR --command __monitor_line@__ --command 'GET __key__' -n 10",
    "--data-import ITEMS -n 10",
    "--data-import ITEMS --generate-keys --key-maximum 10 -n 10",
    "--data-import ITEMS --data-verify --key-pattern S:S -n 10",
    "--ks-cpus 1 --ks-rps 500 --ks-warmup 1 -n 10",
];

const YCSB: &[&str] = &[
    "load redis -P workloads/workloada",
    "run redis -P workloads/workloada",
    "run redis -P workloads/workloadb -threads 4 -target 100",
    "run redis -P workloads/workloadc -p requestdistribution=uniform",
    "run redis -P workloads/workloadd",
    "run redis -P workloads/workloade",
    "run redis -P workloads/workloadf -p redis.cluster=true",
    "run redis -P workloads/workloada -p fieldlengthdistribution=zipfian -p insertorder=ordered \
     -p zeropadding=12",
    "run redis -P workloads/workloada -p fieldlengthdistribution=uniform \
     -p insertproportion=0.1 -p requestdistribution=hotspot -p maxexecutiontime=5",
    "run redis -P workloads/workloada -p requestdistribution=exponential \
     -p readallfields=false -p writeallfields=true",
    "load redis -P workloads/workloada -p core_workload_insertion_retry_limit=3",
    "load memcached -P workloads/workloada -p memcached.hosts=127.0.0.1",
    "run memcached -P workloads/workloadf -p memcached.hosts=127.0.0.1:11211,127.0.0.2",
];

/// The parts of rpc-perf's files that differ: the protocol and its endpoints, rates, and keyspaces.
const RPC_PERF: &[[&str; 3]] = &[
    [
        "resp\"\n#",
        "start = 1000\nend = 2000\nstep = 500\ninterval = 1",
        "[[workload.keyspace]]\nklen = 16\nnkeys = 1000\nvlen = 64\n\
         commands = [{ verb = 'get', weight = 8 }, { verb = 'set', weight = 2 }]\n\
         [[workload.keyspace]]\nweight = 2\nklen = 12\nnkeys = 500\nvlen = 32\nttl = '1500ms'\n\
         inner_keys_klen = 5\ninner_keys_nkeys = 20\n\
         commands = [{ verb = 'hget' }, { verb = 'hset' }, { verb = 'lpush', truncate = 5 }]",
    ],
    [
        "memcache\"\n#",
        "",
        "[[workload.keyspace]]\nklen = 16\nnkeys = 1000\nvlen = 64\nttl = '90s'\n\
         commands = [{ verb = 'get' }, { verb = 'set' }, { verb = 'add' }, { verb = 'delete' }]",
    ],
    [
        "resp\"\n",
        "start = 10\nend = 30\nstep = 10\ninterval = 1\non_ramp_completion = 'mirror'",
        "[[workload.keyspace]]\nklen = 9\nnkeys = 9\nvlen = 64\nkey_distribution = 'zipf'\n\
         compression_ratio = 2.0\n\
         commands = [{ verb = 'get' }, { verb = 'zadd', cardinality = 2 }, { verb = 'ping' }]\n\
         inner_keys_klen = 5\ninner_keys_nkeys = 20",
    ],
];

/// A file with a second endpoint and connections that are renewed, unless the protocol ends in a `#`.
fn rpc_perf_file([protocol, rates, keyspaces]: &[&str; 3]) -> String {
    let (protocol, one) = (protocol.trim_end_matches('#'), protocol.ends_with('#'));
    let more = if one { "" } else { ", \"127.0.0.1:6380\", \"unix:///tmp/s.sock\"" };
    let renewed = if one { 0 } else { 40 };
    format!(
        "[general]\nprotocol = \"{protocol}interval = 1\nduration = 4\nadmin = \"127.0.0.1:0\"\n\
         initial_seed = \"any\"\n[debug]\n[target]\nendpoints = [\"127.0.0.1:6379\"{more}]\n\
         [client]\nthreads = 1\npoolsize = 2\nconnect_timeout = 1000\nrequest_timeout = 1000\n\
         reconnect_rate = {renewed}\n[workload]\nthreads = 1\n[workload.ratelimit]\n{rates}\n\
         {keyspaces}\n"
    )
}

/// What a shell prints for a text that calls keystorm, with these words behind its name.
fn by_shell(text: &str, words: &str) -> RunOutput {
    let called = format!("{KEYSTORM} {words} ");
    let script = text.lines().map(|line| match line.strip_prefix("keystorm ") {
        Some(rest) => format!("{called}{rest}\n"),
        None => format!("{line}\n"),
    });
    Keystorm::exec("sh", ["-c", &script.collect::<String>()]).run()
}

/// Plans one after another, as what they send to a server: without names, and what is kept of it.
fn plans(text: &str) -> Vec<Value> {
    let lists = serde_json::Deserializer::from_str(text).into_iter::<Vec<Value>>();
    lists.flat_map(Result::unwrap).map(sent).collect()
}

fn sent(mut plan: Value) -> Value {
    let parts = plan.as_object_mut().unwrap();
    parts.remove("name");
    let peer = parts.entry("peer").or_insert(serde_json::json!({}));
    peer.as_object_mut().unwrap().retain(|option, _| option == "checks");
    let data = parts["data"].as_object_mut().unwrap();
    for of_reports in ["payload_bytes", "loaded_by"] {
        data.remove(of_reports);
    }
    if let Some(dataset) = data.get_mut("dataset") {
        dataset.as_object_mut().unwrap().remove("values");
    }
    let keys = data.remove("keys").unwrap_or_default();
    let commands = parts["sequence"].as_array().unwrap().len();
    // A sequence is the only operation of a mix.
    let steps = serde_json::json!([{ "commands": commands, "when": "always" }]);
    let alone = serde_json::json!({
        "operations": [{ "name": "", "weight": 1, "steps": steps }],
        "pick": "drawn",
    });
    let mix = parts.entry("mix").or_insert(alone);
    let operations = mix["operations"].as_array_mut().unwrap();
    if let [only] = &mut operations[..] {
        only["weight"] = 1.into();
    }
    for operation in operations {
        let operation = operation.as_object_mut().unwrap();
        operation.remove("name");
        operation.entry("keys").or_insert(keys.clone());
    }
    plan
}

/// Asks one tool for its plans, and for keystorm's words, which must lead to the same plans.
fn same(line: &str) {
    let theirs = Keystorm::new(&format!("{line} --print-plan")).run().ok();
    let printed = Keystorm::new(&format!("{line} --as keystorm")).run().ok().out;
    assert!(!printed.contains("# "), "{line}: {printed}");
    let ours = by_shell(&printed, "--print-plan").ok();
    assert_eq!(plans(&ours.out), plans(&theirs.out), "{line}: {printed}");
}

fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn every_memtier_line_has_words_of_keystorm_that_mean_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let stamp = "1700000000.1 [0 127.0.0.1:1]";
    let monitor = format!("{stamp} \"SET\" \"a\" \"1 2\"\n{stamp} \"GET\" \"a\"\n");
    let monitor = file(dir.path(), "monitor", &monitor);
    let items = "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data\n\
                 1, 2, 0, 6, 4, 0, 1, 2, \"k1\", \"v,\"\"\n\"\n1, 2, 0, 2, 4, 0, 1, 1, \"a\", \"\"\n";
    let items = file(dir.path(), "items", items);
    for line in MEMTIER {
        let line = line.replace("MONITOR", &monitor).replace("ITEMS", &items);
        same(&format!("memtier {line}"));
    }
}

#[test]
fn every_ycsb_line_has_words_of_keystorm_that_mean_the_same() {
    for line in YCSB {
        same(&format!("ycsb {line} -p redis.host=127.0.0.1 --ks-seed 5"));
    }
}

#[test]
fn every_rpc_perf_file_has_words_of_keystorm_that_mean_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for (number, parts) in RPC_PERF.iter().enumerate() {
        let path = file(dir.path(), &format!("{number}.toml"), &rpc_perf_file(parts));
        same(&format!("rpc-perf {path}"));
    }
}

#[test]
fn a_shell_carries_out_what_is_printed() {
    let server = Server::redis();
    let port = server.port();
    for line in [
        "-t 2 -c 3 -n 12 --ratio 3:1 --key-pattern P:P --key-minimum 5 --key-maximum 104",
        "-c 2 -n 20 --ratio 1:0 --wait-ratio 1:1 --wait-timeout 1-2 --key-pattern S:R",
        "-t 1 -c 3 -n 9 --command 'RPUSH __key__ __data__' --command-key-pattern S \
         --command 'HSET h__key__ f v' --command-key-pattern G",
    ] {
        let line = format!("memtier -p {port} {line}");
        let left = |run: &dyn Fn()| {
            server.ask(&["FLUSHALL"]);
            server.ask(&["CONFIG", "RESETSTAT"]);
            run();
            let mut counts = server.counts();
            counts.retain(|name, _| ["set", "get", "wait", "rpush", "hset"].contains(&&**name));
            let mut keys = server.keys();
            keys.sort_unstable();
            (counts, keys)
        };
        let theirs = left(&|| drop(Keystorm::new(&line).run().ok()));
        let printed = Keystorm::new(&format!("{line} --as keystorm")).run().ok().out;
        let ours = left(&|| drop(by_shell(&printed, "-q").ok()));
        assert_eq!(ours, theirs, "{printed}");
        assert!(!ours.1.is_empty());
    }
}

#[test]
fn a_workload_file_may_come_from_standard_input() {
    let line = format!("-p {} --print-plan --workload -", free_port());
    let file = "requests = 5\nsequence = [\"get a\"]\n";
    Keystorm::new(&line).stdin(file).run().ok().prints("\"requests\": 5").prints("stdin");
    Keystorm::new(&line).stdin("request = 5").run().exits(2).says("stdin:1:1: unknown key");
    Keystorm::new(&line).stdin([0xff]).run().exits(2).says("standard input: the text is not UTF-8");
}
