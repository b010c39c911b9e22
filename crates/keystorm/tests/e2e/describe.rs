//! `keystorm describe` on records of known loads: what it finds, and that a load made of it is the same load.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::server::Server;

/// How far shares and mean sizes of the load may be from those of the record, as a share of them.
const TOLERANCE: f64 = 0.05;
/// How far the exponent may be.
const EXPONENT_TOLERANCE: f64 = 0.05;

/// What MONITOR prints of a server, until the key `end` is deleted.
fn monitor(server: &Server) -> JoinHandle<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(b"MONITOR\r\n").unwrap();
    let mut ok = [0; 5];
    stream.read_exact(&mut ok).unwrap();
    assert_eq!(&ok, b"+OK\r\n");
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut part = vec![0; 1 << 16];
        loop {
            let n = stream.read(&mut part).unwrap();
            assert!(n > 0, "the server closed the connection");
            text.extend_from_slice(&part[..n]);
            let last = text.len().saturating_sub(n + 64);
            if let Some(at) = text[last..].windows(12).position(|w| w == b"\"DEL\" \"end\"\r") {
                // Its own line is no part of the load.
                let end = text[..last + at].iter().rposition(|byte| *byte == b'\n').unwrap();
                text.truncate(end + 1);
                return text;
            }
        }
    })
}

/// The record of a run, in a file.
fn recorded(server: &Server, line: &str, file: &Path) {
    let recording = monitor(server);
    server.run(line).ok();
    server.ask(&["DEL", "end"]);
    fs::write(file, recording.join().unwrap()).unwrap();
}

fn described(line: &str) -> Value {
    let ran = Keystorm::new(&format!("describe --json {line}")).run().ok();
    let json = serde_json::from_str(&ran.out).unwrap();
    crate::record::valid_by("keystorm.describe.1.json", &json);
    json
}

/// The share and the mean value size of a command.
fn figures(of: &Value, name: &str) -> (f64, f64) {
    let commands = of["commands"].as_array().unwrap();
    let command = commands.iter().find(|command| command["name"] == name).unwrap();
    let size = command["value_bytes"]["mean"].as_f64().unwrap_or_default();
    (command["share"].as_f64().unwrap(), size)
}

fn assert_near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= TOLERANCE * a.abs(), "{what}: {a} recorded, {b} sent");
}

#[test]
fn a_load_made_of_a_record_is_like_it() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let [first, second, load] =
        ["first.txt", "second.txt", "load.toml"].map(|name| dir.path().join(name));
    let line = "-n 30000 -c 4 --rps 15000 -r 1000 --key-dist zipf:0.9 -d uniform:50..400 --seed 7 -q \
                set user:__key:4__:cart __data__ ; 3 get user:__key:4__:cart ; hset session:__key:6__ f __data__";
    recorded(&server, line, &first);
    let before = described(&format!("{} --workload {}", first.display(), load.display()));
    // A busy machine sends too few in the time of the record to compare their shares.
    recorded(&server, &format!("--workload {} -n 40000 --seed 8 -q", load.display()), &second);
    let after = described(&second.display().to_string());

    for name in ["set", "get", "hset"] {
        let (recorded, sent) = (figures(&before, name), figures(&after, name));
        assert_near(recorded.0, sent.0, &format!("share of {name}"));
        assert_near(recorded.1, sent.1, &format!("size of {name}"));
    }
    // The exponent of all keys together is left out: two patterns mixed follow no single law, and what is fitted to
    // them moves with how much was drawn.
    for pattern in [&before, &after].into_iter().flat_map(|of| of["patterns"].as_array().unwrap()) {
        let exponent = pattern["zipf"]["exponent"].as_f64().unwrap();
        assert!((exponent - 0.9).abs() < EXPONENT_TOLERANCE, "{pattern}");
    }
    let patterns = |of: &Value| {
        let patterns = of["patterns"].as_array().unwrap().iter();
        patterns.map(|pattern| pattern["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(patterns(&before), patterns(&after));
}

#[test]
fn a_load_made_of_a_record_has_what_a_replay_of_single_commands_sends() {
    let dir = tempfile::tempdir().unwrap();
    let (record, load) = (dir.path().join("monitor.txt"), dir.path().join("load.toml"));
    let commands = [
        "GET a",
        "AUTH (redacted)",
        "CONFIG SET maxmemory 1",
        "CLIENT SETNAME shop",
        "CLIENT REPLY OFF",
        "WATCH a",
        "MULTI",
        "INCR n",
        "EXEC",
        "BLPOP q 0",
        "WAIT 0 0",
        "XREAD BLOCK 0 STREAMS s $",
        "XREAD STREAMS s 0",
        "SHUTDOWN",
        "EVAL return(1) 0",
        "SELECT 3",
    ];
    let line = |(n, command): (usize, &&str)| {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        format!("1700000000.{:06} [0 10.0.0.1:5000] {}\n", n * 1000, words.join(" "))
    };
    fs::write(&record, commands.iter().enumerate().map(line).collect::<String>()).unwrap();
    let line = format!("describe {} --workload {}", record.display(), load.display());
    Keystorm::new(&line).run().ok();
    let written = fs::read_to_string(&load).unwrap();
    let sent = written.lines().filter_map(|line| line.strip_prefix("command = "));
    let mut sent: Vec<&str> = sent.map(|words| words.trim_matches('"')).collect();
    sent.sort_unstable();
    let expected =
        ["client SETNAME shop", "eval \\\"return(1)\\\" 0", "get a", "incr n", "xread STREAMS s 0"];
    assert_eq!(sent, expected, "{written}");
    let server = Server::redis();
    server.run(&format!("--workload {} -q", load.display())).ok();
    assert!(server.calls("xread") > 0 && server.calls("multi") == 0);
}

#[test]
fn what_a_record_has_is_told_as_text_and_as_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let (record, page) = (dir.path().join("monitor.txt"), dir.path().join("page.html"));
    let mut text = String::from("+OK\r\n");
    for second in 0..4 {
        for n in 0..50 {
            let at = format!("170000000{second}.{:06}", n * 1000);
            text += &format!("{at} [0 10.0.0.{}:5000] \"GET\" \"user:{}\"\r\n", n % 5, n % 10);
        }
    }
    text += "1700000003.900000 [0 10.0.0.1:5000] \"KEYS\" \"*\"\r\n";
    text += "1700000003.910000 [0 10.0.0.1:5000] \"MGET\" \"user:1\" \"user:2\"\r\n";
    text += "no line of MONITOR\r\n";
    fs::write(&record, text).unwrap();
    let line = format!("describe {} --html {}", record.display(), page.display());
    let ran = Keystorm::new(&line).run().ok();
    ran.prints("202 commands of 5 clients in 3.91 s")
        .prints("\nuser:N ")
        .prints("KEYS")
        .prints("1 could not be read");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("202 commands of 5 clients") && page.contains("<svg"));
}

#[test]
fn traces_of_others_are_described() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let twitter: String =
        (0..300).map(|n| format!("{},key{},4,120,{},get,0\n", n / 10, n % 30, n % 7)).collect();
    let of = described(&file("cluster.csv", &twitter));
    assert_eq!(
        (of["format"].as_str(), of["events"].as_u64()),
        (Some("twitter"), Some(300)),
        "{of}"
    );
    assert_eq!(of["clients"], 7);
    let meta: String = std::iter::once("key,op,size,op_count,key_size\n".to_owned())
        .chain((0..200).map(|n| format!("{},GET,100,1,40\n", n % 20)))
        .collect();
    let of = described(&file("kvcache.csv", &meta));
    assert_eq!((of["format"].as_str(), of["events"].as_u64()), (Some("meta"), Some(200)), "{of}");
}

#[test]
fn what_is_no_record_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("letter.txt");
    fs::write(&text, "Dear server,\nhow are you?\n").unwrap();
    let refused = |line: &str, code: i32, why: &str| {
        Keystorm::new(&format!("describe {line}")).run().exits(code).says(why);
    };
    refused(&text.display().to_string(), 1, "letter.txt: not a record of traffic");
    refused("/nonexistent/record", 1, "/nonexistent/record: ");
    refused("", 2, "FILE");
    refused(&format!("{} --format pcap", text.display()), 2, "expected one of keystorm");
    let over = format!("{0} --workload {0}", text.display());
    refused(&over, 2, "--workload");
}

/// A file of lines as MONITOR prints them, 1 ms apart, of commands with their words between blanks.
fn lines(file: &Path, commands: impl Iterator<Item = String>) {
    let line = |(n, command): (usize, String)| {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        let (s, us) = (1_700_000_000 + n / 1000, n % 1000 * 1000);
        format!("{s}.{us:06} [0 10.0.0.7:5001] {}\n", words.join(" "))
    };
    fs::write(file, commands.enumerate().map(line).collect::<String>()).unwrap();
}

/// Rounds of commands in which `#` is a number below 50, other in each round.
fn rounds(commands: &'static [&'static str]) -> impl Iterator<Item = String> {
    let of =
        |round: usize| commands.iter().map(move |c| c.replace('#', &(round * 7 % 50).to_string()));
    (0..200).flat_map(of)
}

#[test]
fn a_load_made_of_common_traffic_fails_in_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (file, load) = (dir.path().join("monitor.txt"), dir.path().join("load.toml"));
    let traffic: [(&'static [&'static str], &[&str]); 6] = [
        // A counter that begins with a number, keys of two types, and an entry with its recorded number.
        (&["SET rl:# 0 EX 60 NX", "INCR rl:#"], &["set", "incr"]),
        (&["SET obj:# x", "GET obj:#", "HSET obj:1# f v", "HGETALL obj:1#"], &["get", "hgetall"]),
        (&["XADD s 1700000000000-# f v", "SADD fixed m", "LLEN list"], &["xadd", "sadd"]),
        // A group that was created long before, and one that is created.
        (
            &["XADD s:# * f v", "XREADGROUP GROUP g c STREAMS s:# >", "XACK s:# g 1-1"],
            &["xreadgroup", "xack"],
        ),
        // Times that are past by now.
        (
            &["SET session:# v PXAT 1700003600000", "PEXPIREAT session:# 1700003600000"],
            &["set", "pexpire"],
        ),
        // What needs what is not there is left out.
        (
            &[
                "GET k",
                "EVALSHA 0123456789012345678901234567890123456789 0",
                "RENAME a# b#",
                "PUBLISH ch:# m",
            ],
            &["get", "publish"],
        ),
    ];
    for (commands, sent) in traffic {
        let server = Server::redis();
        lines(&file, rounds(commands));
        let described =
            Keystorm::new(&format!("describe {} --workload {}", file.display(), load.display()))
                .run()
                .ok();
        let ran = server.run(&format!("--workload {} -n 3000 -q", load.display())).ok();
        let written = fs::read_to_string(&load).unwrap();
        // The server's own count has errors of questions about it, too.
        let failed = server.text(&["INFO", "errorstats"]);
        let kinds = ["WRONGTYPE", "NOGROUP", "NOSCRIPT", "BUSYGROUP"];
        assert!(!kinds.iter().any(|kind| failed.contains(kind)), "{failed}{written}");
        assert!(!ran.out.contains("errors"), "{written}{}", ran.out);
        sent.iter().for_each(|name| assert!(server.calls(name) > 300, "{name}: {written}"));
        if commands[0] == "GET k" {
            assert!(written.contains("evalsha 200, rename 200"), "{written}");
            described.says("leaves out").says("evalsha 200, rename 200");
        } else if commands[0].starts_with("SET session") {
            described.prints("3599 s");
            let left = |key: &String| server.number(&["PTTL", key]);
            let keys = server.keys();
            assert!(
                keys.iter().all(|key| (3_000_000..3_700_000).contains(&left(key))),
                "{written}"
            );
            assert!(keys.len() > 40);
        }
    }
}

#[test]
fn a_load_made_of_a_trace_of_memcached_is_one_for_memcached() {
    let dir = tempfile::tempdir().unwrap();
    let (file, load) = (dir.path().join("twitter.csv"), dir.path().join("load.toml"));
    let operations = ["get,0", "set,60", "add,10", "cas,0", "delete,0"];
    let line = |n: usize| format!("{},key{},4,120,1,{}\n", n / 100, n * 7 % 30, operations[n % 5]);
    fs::write(&file, (0..1000).map(line).collect::<String>()).unwrap();
    Keystorm::new(&format!("describe {} --workload {}", file.display(), load.display())).run().ok();
    let server = Memcached::new();
    let line = format!(
        "--workload {} --protocol memcache -p {} -n 2000 -q",
        load.display(),
        server.port()
    );
    let ran = Keystorm::new(&line).run().ok();
    assert!(!ran.out.contains("errors"), "{}", ran.out);
    let stats = server.say("stats\n");
    let count = |name: &str| -> u64 {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap().trim().parse().unwrap()
    };
    assert!(count("cmd_get") > 200 && count("cmd_set") > 600, "{stats}");
}
