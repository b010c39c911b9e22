//! What memtier_benchmark is pointed at: addresses, protocols, captures and collectors.

use crate::memcached::Memcached;
use crate::memtier::{ONE, run, sent};
use crate::program::Keystorm;
use crate::server::Server;

#[test]
fn uris_name_the_server_the_login_and_the_database() {
    let server = Server::redis_with(&["--requirepass", "pw"]);
    let uri = format!("--uri=redis://:pw@127.0.0.1:{}/3", server.port());
    let ran =
        Keystorm::new(&format!("memtier {uri} -p 1 {ONE} -n 10 --ratio 1:0 --key-pattern S:S"))
            .run();
    ran.ok()
        .says("warning: both URI and --port specified, URI takes precedence")
        .keeps_secret("pw@");
    server.ask(&["SELECT", "3"]);
    assert_eq!(server.keys().len(), 10);
}

#[test]
fn unix_sockets_and_resp3_are_spoken() {
    let server = Server::redis();
    for protocol in ["redis", "resp2", "resp3"] {
        server.reset();
        let socket = server.socket();
        let line = format!("memtier -S {} -P {protocol} {ONE} -n 22", socket.display());
        Keystorm::new(&line).run().ok();
        assert_eq!((server.calls("set"), server.calls("get")), (2, 20), "{protocol}");
    }
}

#[test]
fn memcached_is_spoken_in_text_and_binary() {
    let server = Memcached::new();
    for protocol in ["memcache_text", "memcache_binary"] {
        let line =
            format!("memtier -h 127.0.0.1 -p {} -P {protocol} -t 2 -c 2 -n 22", server.port());
        Keystorm::new(&line).run().ok().prints("Gets").prints("Totals");
    }
    let line = format!(
        "memtier -h 127.0.0.1 -p {} -P memcache_text --multi-key-get 4 --ratio 1:10 {ONE} -n 4 --json-out-file /dev/stdout",
        server.port()
    );
    let out = Keystorm::new(&line).run().ok().out;
    let json = &out[out.find('{').unwrap()..=out.rfind('}').unwrap()];
    // What is written last stands in the device's place.
    assert!(json.contains("\"Count\": 3"), "{out}");
}

#[test]
fn several_keys_at_a_time_are_those_of_mget() {
    let server = Server::redis();
    let fill =
        format!("{ONE} -n 10 --ratio 1:0 --key-pattern S:S --key-minimum 1 --key-maximum 10");
    run(&server, &fill).ok();
    let keys = "--key-minimum 1 --key-maximum 20 --key-pattern S:S";
    let line = format!("{ONE} -n 5 --ratio 0:4 --multi-key-get 4 {keys}");
    let gets = sent(&server, &line);
    assert_eq!(gets.len(), 5);
    assert_eq!(gets[1], "MGET memtier-5 memtier-6 memtier-7 memtier-8");
    let line = format!("{ONE} -n 4 --ratio 1:10 --multi-key-get 4 --key-minimum 1");
    let lengths: Vec<usize> =
        sent(&server, &line).iter().map(|line| line.split(' ').count() - 1).collect();
    assert_eq!(lengths, [2, 4, 4, 2], "a SET, and ten keys in three pieces");
    run(&server, "-P memcache_binary --multi-key-get 2").exits(2).says("Redis protocols");
}

#[test]
fn captures_of_monitor_are_replayed() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m");
    let lines = (1..=5).map(|n| format!("1.{n} [0 127.0.0.1:1] \"SET\" \"k{n}\" \"a b\"\n"));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let line = |rest: &str| format!("{ONE} --monitor-input {} {rest}", file.display());
    assert_eq!(sent(&server, &line("-n 2 --command=__monitor_line3__")), ["SET k3 a b"; 2]);
    // All lines are sent once, by whichever connection.
    server.reset();
    let all =
        format!("-t 2 -c 5 -n 1 --monitor-input {} --command=__monitor_line@__", file.display());
    run(&server, &all).ok().says("Loaded 5 monitor commands from 5 total lines");
    assert_eq!((server.calls("set"), server.keys().len()), (10, 5));
    // Among other commands they come one after another too.
    let mixed = "-n 7 --command=__monitor_line5__ --command=__monitor_line@__ --command-ratio 2";
    let keys: Vec<String> = sent(&server, &line(mixed))
        .iter()
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["k5", "k1", "k2", "k5", "k3", "k4", "k5"]);
    for bad in ["9__", "1", "1_", "1__garbage", "1abc__", "__"] {
        let ran = run(&server, &line(&format!("--command=__monitor_line{bad}"))).exits(1);
        ran.says("error: invalid monitor placeholder");
    }
}

#[test]
fn statsd_is_reported_once_a_second_and_at_the_end() {
    let server = Server::redis();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let port = socket.local_addr().unwrap().port();
    run(
        &server,
        &format!("{ONE} -n 50 --statsd-host 127.0.0.1 --statsd-port {port} --statsd-run-label l"),
    )
    .ok()
    .says(&format!(
        "statsd: initialized, sending metrics to 127.0.0.1:{port} with prefix 'memtier'"
    ));
    let mut lines = Vec::new();
    let mut buffer = [0; 200];
    while !lines.iter().any(|line: &String| line == "memtier.l.latency_p99_9:0.000000|g") {
        let length = socket.recv(&mut buffer).unwrap();
        lines.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    for part in [
        "memtier.l.progress_pct:100.000000|g",
        "memtier.l.connections:1|g",
        "memtier.l.ops_sec:0|g",
    ] {
        assert!(lines.iter().any(|line| line == part), "no {part} in {lines:?}");
    }
    assert!(
        lines.iter().any(|line| line.starts_with("memtier.l.latency_ms:") && line.ends_with("|ms"))
    );
}
