//! Files of rpc-perf that are not carried out: with which message, and which exit code.

use crate::program::{Keystorm, RunOutput};
use crate::rpc_perf::File;
use crate::server::Server;

const GET: &str = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";

/// The error, which is one line behind a place in a file.
#[track_caller]
fn fails(ran: RunOutput, code: i32, says: &str) {
    let ran = ran.exits(code).says(says);
    assert_eq!((ran.err.lines().count(), ran.out.as_str()), (1, ""), "{}", ran.err);
}

#[test]
fn a_file_that_is_none_ends_with_exit_code_1() {
    for (line, by, says) in [
        ("[debug]", "", "[debug] is missing"),
        ("[workload.ratelimit]", "[workload.other]", "[workload]: ratelimit is missing"),
        ("admin", "", "[general]: admin is missing"),
        ("interval", "interval = 0", "[general] interval: "),
        (
            "protocol",
            "protocol = 'grpc'",
            "[general] protocol: \"grpc\" is none of resp, memcache, ping",
        ),
        ("poolsize", "poolsize = 'x'", ":11:12: [client] poolsize: must be a whole number"),
        ("threads", "threads = ", "a.toml:10:"),
        ("start", "ramp = 'steep'", "[workload.ratelimit] ramp: "),
        ("[debug]", "[debug]\nlog_level = 'loud'", "[debug] log_level: "),
    ] {
        fails(File::from_port(1).with(line, by).run(GET), 1, says);
    }
    for (keyspace, says) in [
        ("nkeys = 1", "keyspace 1: commands is missing"),
        ("commands = [{ verb = 'flushall' }]", "\"flushall\" is not a verb"),
        ("commands = [{ weight = 1 }]", "keyspace 1 command 1: verb is missing"),
    ] {
        fails(File::from_port(1).run(keyspace), 1, says);
    }
    fails(Keystorm::new("rpc-perf /no/such.toml").run(), 1, "/no/such.toml: ");
    Keystorm::new("rpc-perf").run().exits(1).says("no file given");
}

#[test]
fn broken_rules_end_with_exit_code_2() {
    let inner = "nkeys = 9\nklen = 2\ninner_keys_nkeys = 3\ninner_keys_klen = 1\n";
    for (more, says) in [
        ("commands = [{ verb = 'get', cardinality = 2 }]", "get has exactly one"),
        ("commands = [{ verb = 'sadd', cardinality = 0 }]", "must be at least 1"),
        (
            "commands = [{ verb = 'sadd', cardinality = 5 }]",
            "5 different ones, but inner_keys_nkeys is 3",
        ),
        ("commands = [{ verb = 'set' }]", "set: the keyspace requires vlen"),
        ("commands = [{ verb = 'get', truncate = 3 }]", "only lists that are pushed"),
        ("commands = [{ verb = 'lpush', truncate = 0 }]", "must be at least 1"),
        ("commands = [{ verb = 'get', weight = 0 }]", "no command has a weight above 0"),
        ("commands = [{ verb = 'get_batch' }]", "get_batch: rpc-perf sends nothing for it"),
        ("ttl = 'soon'\ncommands = [{ verb = 'get' }]", "\"soon\" is not a time"),
    ] {
        fails(File::from_port(1).run(&format!("{inner}{more}")), 2, says);
    }
    for (keyspace, says) in [
        ("nkeys = 100\nklen = 1\ncommands = [{ verb = 'get' }]", "make 62 different texts"),
        ("nkeys = 2\ncommands = [{ verb = 'get' }]", "make 1 different texts"),
        ("nkeys = 2\nklen = 1\ncommands = [{ verb = 'sadd' }]", "inner_keys_nkeys"),
        ("nkeys = 0\nklen = 1\ncommands = [{ verb = 'get' }]", "nkeys: from 1 on"),
    ] {
        fails(File::from_port(1).run(keyspace), 2, says);
    }
    let ramp = |lines: &str| File::from_port(1).with("start", lines).run(GET);
    fails(ramp("end = 5"), 2, "a ramp needs all of end, step and interval");
    fails(ramp("start = 0\nend = 5\nstep = 1\ninterval = 1"), 2, "start: start, step and interval");
}

#[test]
fn what_is_for_other_systems_is_refused_by_name() {
    for (line, by, says) in [
        ("protocol", "protocol = 'momento'", "momento: keystorm measures keyspaces of Redis"),
        ("protocol", "protocol = 'kafka'", "kafka: keystorm measures keyspaces of Redis"),
        ("protocol", "protocol = 'mysql'", "mysql: keystorm measures keyspaces of Redis"),
        ("protocol", "protocol = 's3'", "s3: keystorm measures keyspaces of Redis"),
        ("protocol", "protocol = 'ping_grpc'", "ping_grpc: keystorm measures keyspaces of Redis"),
        ("protocol", "protocol = 'blabber'", "blabber: keystorm measures keyspaces of Redis"),
        ("[debug]", "[debug]\n[oltp]", "[oltp]: keystorm measures"),
        ("[debug]", "[debug]\n[replay]", "[replay]: keystorm measures"),
        ("endpoints", "endpoints = ['redis://a:1/1', 'redis://b:1/2']", "login, database and TLS"),
        ("endpoints", "endpoints = ['a:1', 'b']", "is not ADDRESS:PORT"),
        ("endpoints", "endpoints = ['localhost']", "is not ADDRESS:PORT"),
        ("endpoints", "endpoints = ['a:1']\n[tls]", "rediss://"),
        ("poolsize", "poolsize = 1\nreconnect_rate = 2000000", "2000000 reconnects per second"),
        (
            "[debug]",
            "[debug]\n[metrics]\noutput = 'x'\nformat = 'parquet'",
            "parquet is not supported",
        ),
    ] {
        fails(File::from_port(1).with(line, by).run(GET), 2, says);
    }
    let both = "admin = '127.0.0.1:0'\nmetrics_output = 'x'";
    let metrics = |interval: &str| {
        let section =
            format!("[debug]\n[metrics]\noutput = 'x'\nformat = 'json'\ninterval = '{interval}'");
        File::from_port(1)
            .with("admin", both)
            .with("[debug]", &section)
            .line(GET, "--print-plan")
            .run()
    };
    fails(metrics("1s"), 1, "set it only once");
    metrics("100ms").ok();
    for own in ["--ks-rps 5", "--ks-renew 1", "--ks-unpadded", "--ks-duration 9", "--ks-quiet"] {
        let name = own.split(' ').next().unwrap_or_default();
        fails(File::from_port(1).line(GET, own).run(), 2, &format!("{name}: set this in the file"));
    }
    fails(
        File::from_port(1).line(GET, "--ks-json -").run(),
        2,
        "--ks-json -: standard output is taken by the report",
    );
    let memcache = File::from_port(1).with("protocol", "protocol = 'memcache'");
    fails(
        memcache.run("nkeys = 2\nklen = 1\ncommands = [{ verb = 'llen' }]"),
        2,
        "has no list_length",
    );
}

#[test]
fn files_of_older_versions_are_known_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    for (text, version) in [
        (
            "[general]\nprotocol = 'redis'\n[[workload]]\nname = 'get'\nmethod = 'get'\nrate = 5",
            "2.x",
        ),
        (
            "[general]\nclients = 1\ninterval = 60\n[[keyspace]]\nlength = 8\ncommands = [{ action = 'get' }]",
            "3.x",
        ),
        (
            "[general]\nprotocol = 'redis'\n[target]\nendpoints = []\n[request]\n[[keyspace]]\nlength = 8\n\
             commands = [{ verb = 'get' }]",
            "4.0",
        ),
    ] {
        let path = dir.path().join("old.toml");
        std::fs::write(&path, text).unwrap();
        let ran = Keystorm::new(&format!("rpc-perf {}", path.display())).run();
        fails(ran, 1, &format!("{version}; convert it to 5.x with --convert"));
        let new = Keystorm::new(&format!("rpc-perf {} --convert", path.display())).run();
        new.ok().prints("[[workload.keyspace]]\n");
    }
}

#[test]
fn what_no_schema_has_is_a_remark_where_remarks_go() {
    let server = Server::redis();
    let file = File::from_port(server.port())
        .with("poolsize", "poolsize = 2\nfancy = true")
        // Of 5.0 to 5.4.
        .with("interval", "interval = 1\njson_output = 'windows.json'");
    let keyspace = "nkeys = 9\nklen = 2\nspeed = 5\ncommands = [{ verb = 'get', end = 3 }]";
    let quiet = file.run(keyspace).ok();
    assert_eq!(quiet.err, "");
    let text = file.line(keyspace, "--ks-verdict stderr").run().ok();
    for says in [
        "[general] json_output: unknown key",
        "[client] fancy: unknown key",
        "speed: unknown key",
        "of zrange alone",
    ] {
        assert!(text.err.contains(says), "{says}: {}", text.err);
    }
}

#[test]
fn a_metrics_file_that_will_have_no_samples_is_a_remark() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    for (interval, has_samples) in [("1500ms", false), ("500ms", true)] {
        let metrics = format!(
            "interval = 1\nmetrics_output = '{}'\nmetrics_interval = '{interval}'",
            path.display()
        );
        let file = File::from_port(server.port()).with("interval", &metrics);
        let ran = file.line(GET, "--ks-verdict stderr").run().ok();
        assert_eq!(ran.err.contains("will have no samples"), !has_samples, "{}", ran.err);
        assert_eq!(std::fs::read_to_string(&path).unwrap().is_empty(), !has_samples);
    }
}

#[test]
fn a_server_that_is_not_there_and_an_address_that_is_taken_are_errors() {
    let port = crate::server::free_port();
    File::from_port(port).run(GET).exits(1).says("Error: ");
    let server = Server::redis();
    let taken = format!("admin = '127.0.0.1:{}'", server.port());
    let ran = File::from_port(server.port()).with("admin", &taken).run(GET).exits(1);
    assert!(ran.err.contains("[general] admin: ") && ran.err.contains("is in use"), "{}", ran.err);
}
