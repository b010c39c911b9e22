//! keystorm as a replacement for a peer: the command lines that the test suites of Redis and Valkey run, with a
//! caller that takes any byte on standard error for a failure, as Tcl's `exec` does.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use crate::certificates::{Identity, Subject};
use crate::program::{Keystorm, PATIENCE, RunOutput, within};
use crate::server::{KEYSTORM, Server, called, calls, free_port, guarded, start};

/// A peer: its name and the server that it comes with.
struct Peer {
    name: &'static str,
    link: OsString,
    _dir: TempDir,
    server: Server,
}

impl Peer {
    fn both() -> [Self; 2] {
        [("redis-benchmark", Server::redis()), ("valkey-benchmark", Server::valkey())].map(
            |(name, server)| {
                let (dir, link) = called(name);
                Self { name, link, _dir: dir, server }
            },
        )
    }

    fn valkey() -> Self {
        let [_, valkey] = Self::both();
        valkey
    }

    /// The arguments, as they are, after nothing.
    fn exec(&self, line: &str) -> Keystorm {
        Keystorm::new(line).called(&self.link)
    }

    /// Runs against the server as it was at first; what it says on standard error is a failure.
    #[track_caller]
    fn bench(&self, line: &str) -> RunOutput {
        self.quietly(self.exec(&format!("-h 127.0.0.1 -p {} {line}", self.server.port())))
    }

    #[track_caller]
    fn quietly(&self, keystorm: Keystorm) -> RunOutput {
        self.server.reset();
        let ran = keystorm.run().ok();
        assert_eq!(ran.err, "", "{}", self.name);
        ran
    }

    #[track_caller]
    fn counts<const N: usize>(&self, expected: [(&str, u64); N]) {
        assert_eq!(self.server.counts(), calls(expected), "{}", self.name);
    }
}

#[test]
fn the_lines_of_both_suites() {
    for peer in Peer::both() {
        let server = &peer.server;
        let set_get = [("get", 10), ("set", 10)];
        peer.bench("-c 5 -n 10 -t set,get");
        peer.counts(set_get);
        let port = server.port();
        peer.quietly(peer.exec(&format!("-u redis://127.0.0.1:{port} -c 5 -n 10 -t set,get")));
        peer.counts(set_get);
        // The default user needs no password, and so any is right.
        let user = format!("-u redis://default:pass@127.0.0.1:{port} -c 5 -n 10 -t set,get");
        peer.quietly(peer.exec(&user));
        assert_eq!((server.calls("set"), server.calls("get")), (10, 10));
        peer.bench("--threads 10 -c 5 -n 10 -t set,get");
        peer.counts(set_get);
        peer.bench("-P 5 -c 10 -n 10010 -t set,get");
        peer.counts([("get", 10_010), ("set", 10_010)]);
        assert_eq!(server.number(&["DBSIZE"]), 1);
        peer.bench("-c 5 -n 150 INCRBYFLOAT mykey 10.0");
        peer.counts([("incrbyfloat", 150)]);
        peer.bench("-r 50 -t set -n 1000");
        assert_eq!(server.number(&["DBSIZE"]), 50);
        peer.quietly(peer.exec(&format!("-p {port} -x -n 10 set key")).stdin("arg"));
        assert_eq!(server.text(&["GET", "key"]), "arg");
        let ran = peer.bench("-c 1 -n 1 -t set");
        let words = ran.out.to_lowercase();
        let odd = words.split(|c: char| !c.is_alphabetic()).find(|w| ["nan", "inf"].contains(w));
        assert_eq!(odd, None, "{}", ran.out);
        peer.bench("-3 -c 5 -n 10 -t set,get");
        assert_eq!((server.calls("set"), server.calls("get")), (10, 10));
    }
}

#[test]
fn the_whole_suite_is_theirs() {
    for peer in Peer::both() {
        peer.bench("-c 10 -n 100");
        let mut expected = calls([
            ("ping", 200),
            ("set", 100),
            ("get", 100),
            ("incr", 100),
            ("lpush", 200),
            ("rpush", 100),
            ("lpop", 100),
            ("rpop", 100),
            ("sadd", 100),
            ("hset", 100),
            ("spop", 100),
            ("zadd", 100),
            ("zpopmin", 100),
            ("lrange", 400),
            ("mset", 100),
        ]);
        if peer.name == "valkey-benchmark" {
            // One more loads the function that is called.
            let more = [("mget", 100), ("xadd", 100), ("fcall", 100), ("function|load", 101)];
            expected.extend(calls(more));
        }
        assert_eq!(peer.server.counts(), expected, "{}", peer.name);
    }
}

#[test]
fn a_connection_too_many_is_an_error() {
    for peer in Peer::both() {
        let port = peer.server.port();
        for most in ["5", "1"] {
            peer.server.ask(&["CONFIG", "SET", "maxclients", most]);
            for line in ["-c 10 -I", "-c 10 -n 100000 -q -t get"] {
                let ran = peer.exec(&format!("-h 127.0.0.1 -p {port} {line}")).run().exits(1);
                assert!(ran.err.contains("Error"), "{} {line}: {:?}", peer.name, ran.err);
            }
        }
    }
}

#[test]
fn a_server_that_is_no_cluster_is_an_error() {
    for peer in Peer::both() {
        let line = format!("-p {} --cluster -c 1 -n 1 -t set", peer.server.port());
        let ran = peer.exec(&line).run().exits(1);
        ran.says("Failed to fetch cluster configuration").says("cluster support disabled");
    }
}

#[test]
fn the_lines_of_valkeys_suite() {
    let peer = Peer::valkey();
    let server = &peer.server;
    for pace in ["", "--rps 10"] {
        peer.bench(&format!("-c 1 -n 1 {pace} INCR counter"));
        peer.counts([("incr", 1)]);
    }
    peer.bench("-c 5 -n 10 --rps 10 INCR counter");
    peer.counts([("incr", 10)]);
    peer.bench("-n 12 -- incr foo ; 3 incr bar");
    let foo_bar = ["foo", "bar"].map(|key| server.text(&["GET", key]));
    assert_eq!((foo_bar, server.calls("incr")), (["3".to_owned(), "9".to_owned()], 12));
    peer.bench("-n 1 -d 42 -- set k value:__data__");
    assert_eq!(server.number(&["STRLEN", "k"]), 48);
    peer.bench("-r 50 -t set -n 50 --sequential");
    assert_eq!(server.number(&["DBSIZE"]), 50);
    peer.bench("-r 50 -n 1000 --sequential -- set j__rand_int__ rain ; set k__rand_1st__ rain");
    assert_eq!((server.calls("set"), server.number(&["DBSIZE"])), (1000, 100));
    peer.bench("-r 100 -n 100 --sequential -- set rain__rand_int__ rain__rand_int__");
    assert_eq!((server.calls("set"), server.number(&["DBSIZE"])), (100, 50));
    peer.bench("-r 100 -n 100 -P 5 --sequential -- set rain__rand_1st__ rain__rand_1st__");
    assert_eq!((server.calls("set"), server.number(&["DBSIZE"])), (100, 100));
    peer.bench("-r 30000000 -n 20 -- set rain__rand_int__ rain__rand_1st__");
    let pairs = server.keys().into_iter().map(|key| (server.text(&["GET", &key]), key));
    assert!(pairs.into_iter().any(|(value, key)| value != key));
    peer.bench("-r 50 -n 50 --sequential -t zadd");
    assert_eq!((server.number(&["DBSIZE"]), server.number(&["ZCARD", "myzset"])), (1, 50));
    peer.bench("-c 5 -n 10 -t mget");
    peer.counts([("mget", 10)]);
    let csv = peer.bench("-c 5 -n 10 -t set,get --csv");
    assert!(!csv.out.contains("requests per second") && !csv.out.contains(['\r']), "{}", csv.out);
    peer.counts([("get", 10), ("set", 10)]);
    let quiet = peer.bench("-c 5 -n 10 -t set,get -q").prints("requests per second");
    assert!(!quiet.out.contains("distribution") && !quiet.out.contains("percentile"));
}

#[test]
fn the_lines_of_valkeys_suite_that_take_time() {
    let peer = Peer::valkey();
    let ran = peer.bench("-r 5 --warmup 1 --duration 1 -t set");
    assert!(ran.took >= Duration::from_secs(2) && ran.completed().1 >= 1.0, "{ran:?}");
    let ran = peer.bench("-r 5 --warmup 1 -n 100 -t set");
    assert!(ran.took >= Duration::from_secs(1), "{ran:?}");
    assert_eq!(ran.completed().0, 100);
    peer.bench("-r 5 --warmup 0.3 -n 50 -t set,get,incr");
    for command in ["set", "get", "incr"] {
        assert!(peer.server.calls(command) > 50, "{command}");
    }
    for line in ["-r 5 -n 5 --duration 1 -t set", "-r 5 --duration 1 -n 5 -t set"] {
        let ran = peer.exec(&format!("-p {} {line}", peer.server.port())).run();
        ran.exits(2).says("Options -n and --duration are mutually exclusive");
    }
}

#[test]
fn the_datasets_of_valkeys_suite() {
    let peer = Peer::valkey();
    let (server, dir) = (&peer.server, tempfile::tempdir().unwrap());
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let csv = file("d.csv", "name,value\nitem1,\"Book, Part 1\"\nitem2,value2\nitem3,value3");
    let tsv = file("d.tsv", "name\tvalue\tcount\nitem1\tvalue1\t100\nitem2\tvalue2\t200");
    let xml = file(
        "d.xml",
        "<doc><title>XML Title 1</title><abstract>XML Abstract 1</abstract><url>http://1.com</url>\
         <links><sublink><anchor>t1</anchor></sublink></links></doc>\n<doc><title>XML Title 2</title>\
         <abstract>XML Abstract 2</abstract><url>http://2.com</url></doc>\n",
    );
    let values = |key: &str| {
        let keys = server.texts(&["KEYS", &format!("{key}:*")]);
        let mut values: Vec<String> = keys.iter().map(|key| server.text(&["GET", key])).collect();
        values.sort();
        values.dedup();
        values
    };
    peer.bench(&format!(
        "--dataset {csv} -n 4 -r 1000 --sequential -- SET i:__rand_int__ __field:value__"
    ));
    assert_eq!(values("i"), ["Book, Part 1", "value2", "value3"]);
    let most = "--maxdocs 2 -n 4 -r 1000 --sequential -- SET i:__rand_int__ __field:value__";
    peer.bench(&format!("--dataset {csv} {most}"));
    assert_eq!(values("i"), ["Book, Part 1", "value2"]);
    let hset = "-n 6 -r 100 -- HSET t:__rand_int__ name __field:name__ count __field:count__ score \
                __rand_1st__";
    peer.bench(&format!("--dataset {tsv} {hset}"));
    let key = server.text(&["RANDOMKEY"]);
    let found = ["name", "count", "score"].map(|field| server.text(&["HGET", &key, field]));
    assert!(["item1", "item2"].contains(&found[0].as_str()), "{found:?}");
    assert!(["100", "200"].contains(&found[1].as_str()) && found[2].len() == 12, "{found:?}");
    let set = "-n 4 -r 1000 --sequential -- SET x:__rand_int__ __field:abstract__";
    let ran = peer.bench(&format!("--dataset {xml} --xml-root-element doc --csv {set}"));
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert_eq!(values("x"), ["XML Abstract 1", "XML Abstract 2"]);
    for (line, says) in [
        (format!("{csv} -n 1 -- SET i __field:invalid_field__"), "not found in dataset fields"),
        (
            format!("{csv} -n 10 -r 10 -t set"),
            "Dataset mode requires a command with field placeholders",
        ),
        (
            format!("{xml} -n 1 -- SET x __field:title__"),
            "XML dataset requires --xml-root-element parameter",
        ),
    ] {
        let ran = peer.exec(&format!("-p {} --dataset {line}", server.port())).run();
        ran.exits(2).says(says);
    }
}

#[test]
fn the_lines_of_both_suites_in_tls() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Identity::authority("test CA");
    let (ca_file, _) = ca.write(dir.path(), "ca");
    // For no host: theirs are, and the peers do not look.
    let nobody = Subject { names: &["Server-only"], ips: &[], rsa: true, ..Subject::default() };
    let (cert, key) = ca.signs(&nobody).write(dir.path(), "server");
    let (own_cert, own_key) = ca.signs(&nobody).write(dir.path(), "client");
    let port = free_port().to_string();
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (ca_file, cert, key) = (path(&ca_file), path(&cert), path(&key));
    let mut args = vec!["--tls-port", &port, "--tls-ca-cert-file", &ca_file];
    args.extend(["--tls-cert-file", &cert, "--tls-key-file", &key]);
    let server = Server::redis_with(&args);
    let files = format!(
        "--tls --cert {} --key {} --cacert {ca_file}",
        own_cert.display(),
        own_key.display()
    );
    for name in ["redis-benchmark", "valkey-benchmark"] {
        let (_link_dir, link) = called(name);
        for (line, set) in [
            (format!("-p {port} {files} -c 5 -n 10 -t set,get"), 10),
            (format!("-u rediss://127.0.0.1:{port} {files} -c 5 -n 10 -q -t set,get"), 10),
            (format!("-u redis://default:pass@127.0.0.1:{port} {files} -n 10 --csv -t set"), 10),
            (
                format!(
                    "-p {port} {files} -r 50 -t set -n 1000 --tls-ciphers DEFAULT:-AES128-SHA256"
                ),
                1000,
            ),
            (
                format!(
                    "-p {port} {files} -r 50 -t set -n 1000 -q --tls-ciphersuites TLS_AES_128_GCM_SHA256"
                ),
                1000,
            ),
            (format!("-p {port} {files} -r 50 -t set -n 1000 -q --tls-groups prime256v1"), 1000),
        ] {
            server.reset();
            let ran = Keystorm::new(&line).called(&link).run().ok();
            assert_eq!((ran.err.as_str(), server.calls("set")), ("", set), "{name} {line}");
            assert!(!ran.out.contains("TLS"), "{name} {line}: {}", ran.out);
        }
    }
}

#[test]
fn the_name_may_be_an_option() {
    let server = Server::redis();
    for name in ["redis-benchmark", "valkey-benchmark"] {
        let line = format!("-q -n 20 -c 2 --as {name} -t get --rps 1000");
        let ran = server.run(&line).ok();
        assert_eq!(ran.err, "", "{name}");
        let long = server.run(&format!("--as {name} -n 20 -c 2 -t get --rps 1000")).ok();
        assert!(!long.out.contains("service time") && !long.out.contains("limited by"));
    }
    let titles = server.run("--as redis-benchmark --csv -n 10 -c 2").ok().out;
    assert!(!titles.contains("XADD") && titles.contains("MSET"), "{titles}");
    server.run("--as memtier_benchmark -n 10 get k").exits(2).says("redis-benchmark");
    Keystorm::new("sweep --spawn -c 1,2 --as redis-benchmark").run().exits(2).says("--as");
    // A spawned server is announced only under keystorm's own name.
    let spawned = Keystorm::new("--as redis-benchmark --spawn -q -n 10 -t get").run().ok();
    assert_eq!(spawned.err, "");
}

/// Standard output and standard error in one pipe, of which somebody reads the first line.
#[test]
fn whoever_has_read_enough_ends_it_without_a_word() {
    let server = Server::redis();
    let port = server.port();
    for line in [
        format!("-p {port} -n 500 -t set,get,ping -l --csv"),
        format!("-p {port} -n 500 -t set,get,ping -l -q"),
        format!("-p {port} -n 500 -t set -l"),
        format!("-p {port} -n 500 -t set -l -q --as redis-benchmark"),
        "--spawn -n 500 -t set,get -l -q".to_owned(),
    ] {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = guarded(KEYSTORM);
        command.args(line.split(' ')).stdin(Stdio::null());
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = start(command).unwrap();
        let mut first = Vec::new();
        while !first.ends_with(b"\n") {
            let mut byte = [0];
            assert_eq!(reader.read(&mut byte).unwrap(), 1, "{line} says nothing");
            first.push(byte[0]);
        }
        drop(reader);
        let ended = within(PATIENCE, || !matches!(child.try_wait(), Ok(None)));
        let _ = child.kill();
        let status = child.wait().unwrap();
        assert!(ended, "{line} goes on");
        assert_eq!(status.signal(), Some(signal_hook::consts::SIGPIPE), "{line}: {status}");
        let first = String::from_utf8(first).unwrap();
        if let Some((_, address)) = first.trim().split_once(" on ") {
            assert!(TcpStream::connect(address).is_err(), "the server outlives the run");
        }
    }
}

#[test]
fn a_full_disk_behind_standard_error_costs_nothing_but_its_lines() {
    let server = Server::redis();
    let port = server.port();
    for (line, code) in [
        (format!("-p {port} -n 500 -q -t set"), 0),
        (format!("-p {port} -n 500 -k 0 -c 3 --csv -t set"), 0),
        (format!("-p {port} -n 500 -q get"), 1),
        (format!("-p {port} --no-such-option"), 2),
        ("sweep --frob".to_owned(), 2),
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = guarded(KEYSTORM);
        command.args(line.split(' ')).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(full);
        let output = start(command).unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert_eq!(code == 0, !output.stdout.is_empty(), "{line}");
    }
}
