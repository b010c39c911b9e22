//! Servers that cannot be reached, or are none.

use std::net::TcpListener;

use crate::listener::Listener;
use crate::memcached::Memcached;
use crate::program::{Keystorm, PATIENCE, within};
use crate::rpc_perf::File;
use crate::server::{KEYSTORM, Server, free_port};

#[test]
fn no_server_is_reported_at_once_with_address_reason_and_a_way_out() {
    let port = free_port();
    for options in ["", "-q", "--csv", "-I", "-l --threads 3", "get k"] {
        let ran = Keystorm::new(&format!("-p {port} {options}")).run().exits(1);
        let ran = ran.says(&format!("127.0.0.1:{port}")).says("refused").says("--spawn");
        assert_eq!(ran.out, "", "{options}");
    }
}

#[test]
fn a_host_that_is_not_found_is_reported() {
    let ran = Keystorm::new("-h no-such-host.invalid -n 1 ping").run().exits(1);
    ran.says("no-such-host.invalid").says("-h");
    Keystorm::new("-u redis://no-such-host.invalid -n 1 ping").run().exits(1).says("no-such-host");
}

#[test]
fn a_web_server_is_none_of_ours() {
    let web = Listener::that_says("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    web.run("-n 10 get k").exits(1).says("RESP").says("HTTP/1.1 400").says("-p");
}

#[test]
fn a_reply_that_is_not_resp_ends_the_run() {
    let web = Listener::that_answers_load("HTTP/1.1 400 Bad Request\r\n\r\n");
    let ran = web.run("-n 10 -c 2 -q get k").exits(1);
    ran.says("HTTP/1.1 400").says("RESP");
    let broken = Listener::that_answers_load("$99999999999999999999\r\n");
    broken.run("-n 10 -c 2 -q get k").exits(1).says("RESP");
    let eager = Listener::that_answers_load("+OK\r\n+OK\r\n");
    eager.run("-n 10 -c 2 -q get k").exits(1).says("to no request");
}

#[test]
fn a_server_that_accepts_and_never_answers_is_given_up_on() {
    let silent = Listener::that_answers(|_| "");
    silent.run("-n 10 get k").exits(1).says("did not answer");
    // The kernel accepts, and nobody is there.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let run = |line: &str| Keystorm::new(line).run();
    for name in ["redis-benchmark", "valkey-benchmark"] {
        run(&format!("--as {name} -p {port} -n 10 -q -t set")).exits(1).says("did not answer");
    }
    let limit = "--connection-stage-timeout=1 -n 10 -c 1 -t 1";
    for protocol in ["redis", "memcache_text", "memcache_binary"] {
        run(&format!("memtier -p {port} -P {protocol} {limit}")).exits(2);
    }
    let line = "-P workloads/workloada -p recordcount=10 -p redis.host=127.0.0.1";
    let line = format!("ycsb load redis {line} -p redis.port={port}");
    run(&line).exits(1).says("not answered within 2000 ms (redis.timeout");
    // However long it waits for a reply: longer than it runs, or not.
    for timeout in ["request_timeout = 500", "request_timeout = 60000"] {
        let file = File::from_port(port).with("request_timeout", timeout);
        let ran = file.run("nkeys = 10\nklen = 3\ncommands = [{ verb = 'get' }]");
        ran.exits(1).says("no request was answered");
    }
}

/// By every name the error says what listens at the port, in the words of that name.
#[test]
fn a_server_of_the_other_protocol_is_called_so() {
    let (redis, memcached) = (Server::redis(), Memcached::new());
    let (resp, memcache) = (redis.port(), memcached.port());
    let memtier = "-n 10 -c 1 -t 1 --hide-histogram";
    let ycsb = "-P workloads/workloada -p recordcount=10";
    for (line, says) in [
        (format!("--as redis-benchmark -p {memcache} -n 10 -q -t set"), "this may be memcached"),
        (format!("memtier -p {memcache} {memtier}"), "use --protocol memcache_text"),
        (format!("memtier -p {resp} -P memcache_text {memtier}"), "use --protocol redis"),
        (
            format!("ycsb load redis {ycsb} -p redis.host=127.0.0.1 -p redis.port={memcache}"),
            "use the binding memcached",
        ),
        (
            format!("ycsb load memcached {ycsb} -p memcached.hosts=127.0.0.1:{resp}"),
            "use the binding redis",
        ),
    ] {
        let ran = Keystorm::new(&line).run().says(says);
        assert_ne!(ran.code, Some(0), "{line}");
    }
}

#[test]
fn hosts_are_taken_as_they_are_found_elsewhere() {
    let server = Server::redis_with(&["--bind", "127.0.0.1", "::1"]);
    let port = server.port();
    let of = |line: &str| Keystorm::new(line).run();
    for host in
        [format!("-h [::1] -p {port}"), format!("-h [::1]:{port}"), format!("-h 127.0.0.1:{port}")]
    {
        of(&format!("{host} -n 10 -q get k")).ok();
        of(&format!("--as redis-benchmark {host} -n 10 -q get k")).ok();
        of(&format!("memtier {host} -n 10 -c 1 -t 1 --hide-histogram")).ok();
    }
    assert_eq!(server.calls("get"), 3 * (10 + 10 + 9), "each went there");
    let other = format!("-h 127.0.0.1:{port} -p 1 -n 10 -q get k");
    of(&other).exits(2).says("-p 1: -h names port");
    let crlf = format!("{port}\r");
    Keystorm::exec(
        KEYSTORM,
        ["--as", "redis-benchmark", "-n", "10", "-q", "-p", &crlf, "get", "k"],
    )
    .run()
    .ok();
    let ran = Keystorm::exec(KEYSTORM, ["--as", "redis-benchmark", "-p", "x\r", "get", "k"]).run();
    assert!(!ran.err.contains('\r') && ran.err.contains("x\\r"), "{:?}", ran.err);
    let ran = Keystorm::exec(KEYSTORM, ["memtier", "--hide-histogram\r"]).run().exits(2);
    assert!(!ran.err.contains('\r') && ran.err.contains("histogram\\r"), "{:?}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_socket_without_a_file_is_reached_by_its_name() {
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    let server = Server::redis();
    let name = format!("keystorm-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let socket = server.socket();
    let between = |mut from: UnixStream, mut to: UnixStream| {
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                if to.write_all(&chunk[..n]).is_err() {
                    return;
                }
            }
        })
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(to) = UnixStream::connect(&socket) else { return };
            between(client.try_clone().unwrap(), to.try_clone().unwrap());
            between(to, client);
        }
    });
    Keystorm::new(&format!("-s @{name} -c 2 -n 100 -q incr k")).run().ok();
    assert_eq!(server.calls("incr"), 100);
}

#[test]
fn a_redirection_names_the_option_for_clusters() {
    for error in ["-MOVED 1 127.0.0.1:1\r\n", "-ASK 1 127.0.0.1:1\r\n", "-CLUSTERDOWN no\r\n"] {
        let node = Listener::that_answers_load(error);
        let ran = node.run("-n 10 -q get k").exits(1).says("--cluster");
        ran.says(&format!("Error from server: {}", error[1..].trim_end()));
    }
}

/// Else a run stands still for a minute, and nobody knows why.
#[test]
fn a_slot_without_a_node_is_told_before_the_load() {
    let args = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"];
    let node = Server::redis_with(&args);
    node.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16382"]);
    assert!(within(PATIENCE, || node.text(&["CLUSTER", "INFO"]).contains("cluster_state:ok")));
    for name in ["", "--as redis-benchmark ", "--as valkey-benchmark "] {
        let ran = node.run(&format!("{name}--cluster -n 10 -c 2 -q set b v")).ok();
        assert!(ran.err.contains("no node of the cluster serves 1 slot; "), "{name}{}", ran.err);
    }
}

#[test]
fn a_node_of_a_real_cluster_names_it_too() {
    let node = Server::redis_with(&["--cluster-enabled", "yes"]);
    node.run("-n 10 -q get k").exits(1).says("CLUSTERDOWN").says("--cluster");
    node.run("-n 10 --dbnum 1 get k").exits(1).says("cluster mode");
}

#[test]
fn what_a_server_says_moves_no_cursor() {
    let rude = Listener::that_answers_load("-ERR \x1b[2J\x1b]0;title\x07\r\n");
    let ran = rude.run("-n 10 -q get k").exits(1);
    assert!(!ran.err.contains(['\x1b', '\x07']), "{:?}", ran.err);
    let ran = rude.run("-n 10 --on-error count get k").ok();
    assert!(!ran.out.contains(['\x1b', '\x07']), "{:?}", ran.out);
}
