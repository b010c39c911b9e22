//! `keystorm replay`: recorded traffic is sent again, to the command, by the clients and in the databases that it was
//! recorded of; and to no server that may be the recorded one.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::memcached::Memcached;
use crate::program::{Keystorm, within};
use crate::server::Server;

const PATIENCE: Duration = Duration::from_secs(30);

/// Writes what MONITOR of a server prints into a file, until it prints this.
fn monitor(server: &Server, path: &Path, end: &'static str) -> thread::JoinHandle<()> {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    socket.write_all(b"MONITOR\r\n").unwrap();
    let mut lines = BufReader::new(socket);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "+OK\r\n");
    let mut file = File::create(path).unwrap();
    thread::spawn(move || {
        for line in lines.lines() {
            let line = line.unwrap();
            if line.contains(end) {
                return;
            }
            writeln!(file, "{line}").unwrap();
        }
    })
}

/// A file of lines as MONITOR prints them, 10 ms apart: of a client, a database, and a command with its words
/// between blanks.
fn lines(dir: &Path, commands: &[(&str, u32, &str)]) -> String {
    let mut text = String::new();
    for (n, (client, db, command)) in commands.iter().enumerate() {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        let words = words.join(" ");
        let (s, us) = (1_700_000_000 + n / 100, n % 100 * 10_000);
        text += &format!("{s}.{us:06} [{db} {client}] {words}\n");
    }
    let path = dir.join("monitor.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_run_of_redis_benchmark_is_sent_again_to_the_command() {
    let (recorded, other) = (Server::redis(), Server::redis());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("monitor.txt");
    let watching = monitor(&recorded, &path, "\"end of the record\"");
    let port = recorded.port().to_string();
    let line = ["-p", &port, "-c", "8", "-n", "2000", "-P", "4", "-r", "500", "-q", "-t"];
    let tests = "set,get,lpush,hset,spop,zadd";
    let ran = Command::new("redis-benchmark").args(line).arg(tests).output().unwrap();
    assert!(ran.status.success());
    let counts = recorded.counts();
    recorded.ask(&["ECHO", "end of the record"]);
    watching.join().unwrap();
    let (file, json) = (path.display(), dir.path().join("run.json"));
    other.reset();
    let line = format!("replay {file} -p {} --speed 2 --json {}", other.port(), json.display());
    let ran = Keystorm::new(&line).run().ok();
    ran.prints("requests completed").prints("response time (ms)").says("times are those at which");
    let of = |name: &str| (counts[name], other.calls(name));
    for name in ["set", "get", "lpush", "hset", "spop", "zadd"] {
        assert_eq!(of(name), (2000, 2000), "{name}");
    }
    // What was recorded is in the saved run, which says so.
    Keystorm::new(&format!("show {}", json.display())).run().ok().prints("replay ");
    let saved = std::fs::read_to_string(&json).unwrap();
    assert!(saved.contains("\"recorded\"") && saved.contains("\"speed\": \"2\""), "{saved:.2000}");
}

#[test]
fn databases_transactions_and_scripts_are_those_of_the_record() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = ("127.0.0.1:1", "[::1]:2");
    let file = lines(
        dir.path(),
        &[
            (a, 0, "AUTH (redacted)"),
            (a, 0, "SET k 0"),
            (a, 3, "SELECT 3"),
            (b, 0, "WATCH k"),
            (a, 3, "SET k 3"),
            (b, 0, "MULTI"),
            (b, 0, "INCR k"),
            (b, 0, "INCR n"),
            (b, 0, "EXEC"),
            (b, 0, "EVAL return(redis.call('incr','script')) 0"),
            ("lua", 0, "incr script"),
            (b, 0, "EVALSHA 0123456789012345678901234567890123456789 0"),
            (a, 3, "PEXPIREAT k 1700000100000"),
            (a, 3, "SET lives 1 EXAT 1700000200"),
            (a, 3, "SUBSCRIBE c"),
            (a, 3, "NOSUCH command"),
            ("unix:/tmp/a b", 0, "BLPOP queue 0"),
        ],
    );
    let json = dir.path().join("run.json");
    let line = format!("replay {file} -p {} --json {}", server.port(), json.display());
    let ran = Keystorm::new(&line).run().ok();
    let ran = ran.says("1 command left out, which scripts ran").says("about the connection");
    let ran = ran.says("no reply of their own").says("1 command may wait for other clients");
    ran.prints("NOSCRIPT").prints("unknown command");
    let counts = server.counts();
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert_eq!(["multi", "exec", "watch", "eval", "blpop", "incr"].map(of), [1, 1, 1, 1, 1, 3]);
    assert_eq!(server.texts(&["MGET", "k", "n", "script"]), ["1", "1", "1"]);
    server.ask(&["SELECT", "3"]);
    // Both deadlines were past when the record was sent again.
    let left = |key: &str| server.number(&["TTL", key]);
    assert!((50..=100).contains(&left("k")) && (150..=200).contains(&left("lives")));
}

#[test]
fn who_waits_on_a_unix_socket_holds_up_nobody_who_looks_like_him() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let socket = "unix:/tmp/a b";
    let commands =
        [(socket, 0, "BLPOP queue 0"), (socket, 0, "RPUSH queue x"), (socket, 0, "SET done yes")];
    let file = lines(dir.path(), &commands);
    let ran = Keystorm::new(&format!("replay {file} -p {}", server.port())).run().ok();
    ran.says("cannot tell clients of a unix socket apart");
    assert_eq!(["blpop", "rpush", "set"].map(|name| server.calls(name)), [1, 1, 1]);
    assert_eq!(server.number(&["EXISTS", "queue"]), 0);
}

#[test]
fn a_stall_of_the_recorded_server_is_told_and_shaded() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let [file, page, json] =
        ["monitor.txt", "page.html", "run.json"].map(|name| dir.path().join(name));
    let line = |ms: u64| {
        let (s, us) = (1_700_000_000 + ms / 1000, ms % 1000 * 1000);
        format!("{s}.{us:06} [0 10.0.0.1:1] \"GET\" \"k\"\n")
    };
    let text: String = (0..400).chain(1400..1800).map(line).collect();
    std::fs::write(&file, text).unwrap();
    let [file, page, json] = [file, page, json].map(|path| path.display().to_string());
    let line = format!("replay {file} -p {} --speed 2 --html {page} --json {json}", server.port());
    let ran = Keystorm::new(&line).run().ok();
    ran.says("a burst: 1 gap, the longest of 1.00 s after 0.40 s");
    assert!(std::fs::read_to_string(&page).unwrap().contains("gap of the record"));
    let saved: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let stall = &saved["plan"][0]["recorded"]["stalls"][0];
    let ms = |name: &str| stall[name].as_u64().map(|ns| ns / 1_000_000);
    assert_eq!((ms("from_ns"), ms("to_ns")), (Some(199), Some(700)), "{stall}");
}

#[test]
fn clients_commands_keys_and_databases_are_chosen_and_rounds_added() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let clients: Vec<String> = (0..40).map(|n| format!("10.0.0.1:{n}")).collect();
    let commands: Vec<(&str, u32, &str)> = clients
        .iter()
        .flat_map(|c| [(&**c, 0, "SET user:1 v"), (&**c, 0, "GET user:1"), (&**c, 1, "GET x")])
        .collect();
    let file = lines(dir.path(), &commands);
    let sent = |words: &str| {
        server.reset();
        let line = format!("replay {file} -p {} --speed max --yes {words}", server.port());
        let ran = Keystorm::new(&line).run().ok();
        (server.calls("set"), server.calls("get"), ran)
    };
    assert!(matches!(sent("--loop 3"), (120, 240, _)));
    assert!(matches!(sent("--only get -c 3"), (0, 80, _)));
    assert!(matches!(sent("--without set --only-db 1"), (0, 40, _)));
    assert!(matches!(sent("--only-keys 'user:*'"), (40, 40, _)));
    assert!(matches!(sent("--first 300ms --wait-replies"), (10, 20, _)));
    let (set, get, ran) = sent("--only-clients 50 -q");
    assert!((5..35).contains(&set) && get == 2 * set);
    ran.says("are not selected").prints("requests per second");
    let (_, _, ran) = sent("-c 3 --threads 2");
    ran.says("40 clients share 3 connections");
}

#[test]
fn what_is_read_before_it_is_written_is_there_with_prefill() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let client = "127.0.0.1:1";
    let file = lines(
        dir.path(),
        &[
            (client, 0, "GET text"),
            (client, 0, "SET text 12345"),
            (client, 2, "HGET hash field"),
            (client, 0, "LRANGE list 0 -1"),
            (client, 0, "SISMEMBER set one"),
            (client, 0, "ZSCORE sorted one"),
            (client, 0, "SET own v"),
            (client, 0, "GET own"),
            (client, 0, "XLEN stream"),
        ],
    );
    let line = format!("replay {file} -p {} --prefill --without set", server.port());
    Keystorm::new(&line).run().ok().says("written first");
    let kind = |key: &str| server.text(&["TYPE", key]);
    assert_eq!(["list", "set", "stream"].map(kind), ["list", "set", "stream"]);
    assert_eq!(server.text(&["TYPE", "sorted"]), "zset");
    assert_eq!(server.number(&["EXISTS", "text"]), 1);
    // Sizes are those that the record writes later.
    let file = lines(dir.path(), &[(client, 0, "GET t"), (client, 0, "SET t 12345678")]);
    server.ask(&["FLUSHALL"]);
    server.reset();
    Keystorm::new(&format!("replay {file} -p {} --prefill", server.port())).run().ok();
    assert_eq!(server.calls("set"), 2);
    assert_eq!(server.info("keyspace_misses"), 0);
}

#[test]
fn a_server_that_may_be_the_recorded_one_is_not_written_to() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = lines(dir.path(), &[("127.0.0.1:1", 0, "SET a 1"), ("127.0.0.1:1", 0, "GET a")]);
    server.reset();
    server.ask(&["SET", "precious", "1"]);
    let line = format!("replay {file} -p {}", server.port());
    Keystorm::new(&line).run().exits(2).says("holds 1 keys").says("--yes");
    assert_eq!(server.calls("set"), 1);
    Keystorm::new(&format!("{line} --only get")).run().ok();
    Keystorm::new(&format!("{line} --yes")).run().ok();
    assert_eq!((server.calls("set"), server.calls("get")), (2, 2));
    let file = lines(dir.path(), &[("127.0.0.1:1", 99, "GET a")]);
    let line = format!("replay {file} -p {}", server.port());
    Keystorm::new(&line).run().exits(2).says("SELECT 99").says("--only-db");
}

#[test]
fn commands_with_a_twin_are_sent_to_memcached() {
    let server = Memcached::new();
    let dir = tempfile::tempdir().unwrap();
    let client = "127.0.0.1:1";
    let commands = [
        (client, 0, "SET a 12345"),
        (client, 0, "GET a"),
        (client, 0, "MGET a b"),
        (client, 0, "SETEX c 100 v"),
        (client, 0, "HSET h f v"),
        (client, 0, "DEL a"),
    ];
    let file = lines(dir.path(), &commands);
    let line = format!("replay {file} -p {} --protocol memcache", server.port());
    let ran = Keystorm::new(&line).run().ok();
    ran.says("1 command left out, which this kind of server does not have");
    assert_eq!(server.grown(&["cmd_set"]), 2);
    assert_eq!(server.grown(&["cmd_get"]), 3);
    assert_eq!(server.say("get c\n"), "VALUE c 0 1\r\nv\r\nEND\r\n");
}

#[test]
fn damaged_records_are_sent_as_far_as_they_go_and_what_is_none_is_refused() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = lines(dir.path(), &[("127.0.0.1:1", 0, "GET a"), ("127.0.0.1:1", 0, "GET b")]);
    let mut text = std::fs::read(&file).unwrap();
    text.extend_from_slice(b"1700000001.000000 [0 127.0.0.1:1] GET b\r\n\xff\xfe\0\n");
    text.extend_from_slice(b"1700000001.000000 [0 127.0.0.1:1] \"GET\" \"cut");
    std::fs::write(&file, text).unwrap();
    let line = format!("replay {file} -p {}", server.port());
    Keystorm::new(&line).run().ok().says("could not be read");
    assert_eq!(server.calls("get"), 2);
    let none = dir.path().join("none");
    std::fs::write(&none, "").unwrap();
    Keystorm::new(&format!("replay {}", none.display())).run().exits(2).says("empty");
    Keystorm::new("replay /no/such").run().exits(2).says("/no/such");
    Keystorm::new("replay").run().exits(2).says("name the file");
    Keystorm::new("replay - --spawn").run().exits(2).says("read twice");
    Keystorm::new(&format!("replay {file} -t get"))
        .run()
        .exits(2)
        .says("a record, which says what is sent");
    let refused = Keystorm::new(&format!("replay {file} --on h1,h2")).run().exits(2);
    refused.says("--on does not go with a record: one process sends it");
    Keystorm::new(&format!("replay {file} --speed 0")).run().exits(2).says("--speed");
    Keystorm::new(&format!("replay {file} --only hset -p {}", server.port()))
        .run()
        .exits(2)
        .says("nothing in it can be sent");
}

/// Whatever a record has gone through, what can be read of it is sent, and the rest is counted.
#[test]
fn records_of_all_kinds_of_servers_clients_and_accidents_are_sent() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let mut text = b"OK\r\n".to_vec();
    for line in [
        // All line ends, and every kind of client.
        "+1700000000.000100 [0 127.0.0.1:5000] \"SET\" \"a\" \"1\"\r\n",
        "1700000000.000200 [0 [::1]:5000] \"GET\" \"a\"\r",
        "1700000000.000300 [0 unix:/tmp/a b.sock] \"GET\" \"\\xff\\x00\\r\\n\"\n",
        "1700000000.000400 (db 0) \"GET\" \"a\"\n",
        // A script, and what it did.
        "1700000000.000500 [0 10.0.0.1:5000] \"EVAL\" \"return redis.call('incr','n')\" \"0\"\n",
        "1700000000.000600 [0 lua] \"incr\" \"n\"\n",
        // A port that is used again, by a client of another server, too.
        "1700000000.000700 [0 10.0.0.1:5000] \"AUTH\" \"(redacted)\"\n",
        "1700000000.000800 [0 10.0.0.1:5000] \"HELLO\" \"3\" \"AUTH\" \"(redacted)\" \"(redacted)\"\n",
        "1700000000.000900 [0 10.0.0.2:5000] \"GET\" \"a\"\n",
        // A clock that is set back, and comes from nowhere.
        "1699999990.000000 [0 10.0.0.1:5000] \"GET\" \"a\"\n",
        "99999999999999999999.0 [0 10.0.0.1:5000] \"GET\" \"a\"\n",
        // No server has it, this one does not, and nobody understands it.
        "1700000000.001000 [0 10.0.0.1:5000] \"JSON.SET\" \"j\" \"$\" \"1\"\n",
        "1700000000.001100 [0 10.0.0.1:5000] \"\" \"a\"\n",
        "1700000000.001200 [0 10.0.0.1:5000 \"GET\n",
        "1700000000.001300 [4294967295 10.0.0.1:5000] nothing\n",
    ] {
        text.extend_from_slice(line.as_bytes());
    }
    text.extend_from_slice(b"\xff\xfe\0\x80\n1700000000.001400 [0 10.0.0.1:5000] \"GET\" \"cut");
    let file = dir.path().join("monitor.txt");
    std::fs::write(&file, text).unwrap();
    let line = format!("replay {} -p {}", file.display(), server.port());
    let ran = Keystorm::new(&line).run().ok();
    let ran = ran.says("clock was set back").says("could not be read").says("which scripts ran");
    let ran = ran.prints("unknown command");
    let of = ["set", "get", "eval", "incr", "auth"].map(|name| server.calls(name));
    assert_eq!(of, [1, 5, 1, 1, 0], "{} {}", ran.out, ran.err);
    let described = Keystorm::new(&format!("describe {}", file.display())).run().ok();
    described.prints("5 clients").prints("could not be read").prints("went back");
}

#[test]
fn a_server_that_dies_on_the_way_is_told_and_nothing_hangs() {
    let mut server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let commands: Vec<_> = (0..400).map(|_| ("127.0.0.1:1", 0, "GET a")).collect();
    let file = lines(dir.path(), &commands);
    let line = format!("replay {file} -p {} --reconnect no", server.port());
    let running = Keystorm::new(&line).start();
    assert!(within(PATIENCE, || server.calls("get") > 5));
    server.kill();
    running.wait().exits(1).prints("INCOMPLETE");
}

#[test]
fn prefilled_keys_have_the_types_that_the_record_reads() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let commands = [
        "PFCOUNT pf",
        "GEOSEARCH geo FROMLONLAT 1 1 BYRADIUS 100 km",
        "GEOPOS places m",
        "ZUNION 2 zu1 zu2",
        "ZDIFF 2 za zb",
        "ZINTERCARD 2 za zb",
        "SINTERCARD 2 sa sb",
        "SORT_RO l",
        "XPENDING x g",
        "XREADGROUP GROUP workers me COUNT 1 STREAMS jobs >",
        "GETEX a EX 100",
        "GETDEL b",
        "HGETALL h",
        "LPOS list v",
    ];
    let commands = commands.map(|command| ("127.0.0.1:1", 0, command));
    let line = format!("replay {} -p {} --prefill", lines(dir.path(), &commands), server.port());
    let ran = Keystorm::new(&line).run().ok();
    assert!(!ran.out.contains("errors:"), "{}", ran.out);
    assert_eq!(server.info("keyspace_misses"), 0, "{}", ran.out);
    // Reads of a record are counted even if none was missed.
    let file = lines(dir.path(), &[("127.0.0.1:1", 0, "GETEX c EX 100")]);
    let line = format!("replay {file} -p {} --prefill --yes", server.port());
    Keystorm::new(&line).run().ok().prints("  1 hit, 0 misses\n");
}

#[test]
fn who_waits_for_others_does_not_keep_its_own_commands_waiting() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let client = "127.0.0.1:1";
    // Nobody sends what the first waits for; what waits in a transaction is answered in it.
    let commands = [
        (client, 0, "BLPOP queue 0"),
        (client, 0, "GET a"),
        (client, 0, "MULTI"),
        (client, 0, "BLPOP other 0"),
        (client, 0, "INCR n"),
        (client, 0, "EXEC"),
        (client, 0, "GET b"),
    ];
    let line = format!("replay {} -p {}", lines(dir.path(), &commands), server.port());
    let ran = Keystorm::new(&line).run().ok().prints("1 client and").prints("2 connections");
    assert_eq!(["get", "incr", "exec"].map(|name| server.calls(name)), [2, 1, 1], "{}", ran.out);
    assert_eq!(server.text(&["GET", "n"]), "1");
}

#[test]
fn errors_of_what_waits_are_counted_and_who_stops_others_is_left_out() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let client = "127.0.0.1:1";
    let mut commands = vec![(client, 0, "SET a 1")];
    commands.extend([(client, 0, "BLPOP a 1"); 5]);
    commands.extend([(client, 0, "XREADGROUP GROUP g c BLOCK 100 STREAMS s >"); 5]);
    let admin = "127.0.0.1:2";
    commands.extend(
        ["CLIENT KILL TYPE normal", "CLIENT PAUSE 60000", "SLOWLOG RESET"].map(|c| (admin, 0, c)),
    );
    commands.push((client, 0, "GET a"));
    let line = format!("replay {} -p {}", lines(dir.path(), &commands), server.port());
    let ran = Keystorm::new(&line).run().ok();
    ran.prints("WRONGTYPE: 5").prints("NOGROUP: 5").says("3 commands left out");
    let stopped = ["client|kill", "client|pause", "slowlog|reset"].map(|name| server.calls(name));
    assert_eq!((stopped, server.calls("get")), ([0, 0, 0], 1));
}
