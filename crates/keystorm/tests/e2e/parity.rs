//! Side by side with Debian's redis-benchmark: the same command line, the same data and layout.

use crate::mask::masked;
use crate::program::{Keystorm, RunOutput};
use crate::server::{Server, called};

/// Runs the same arguments with the peer and, by the peer's name, with keystorm.
fn both(server: &Server, line: &str, mut after: impl FnMut(&'static str, RunOutput)) {
    let (_dir, link) = called("redis-benchmark");
    for (name, program) in [("the peer", "redis-benchmark".into()), ("keystorm", link)] {
        server.reset();
        let args = format!("-p {} {line}", server.port());
        after(name, Keystorm::new(&args).called(program).run().ok());
    }
}

/// Every key with all that it holds.
fn contents(server: &Server) -> Vec<(String, String)> {
    let keys = server.keys();
    keys.into_iter()
        .map(|key| {
            let dump = format!("{:?}", server.ask(&["DUMP", &key]));
            (key, dump)
        })
        .collect()
}

/// What is left of a live line once a terminal has rewritten it.
fn settled(out: &str) -> String {
    out.split('\n').map(|line| line.rsplit('\r').next().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn both_leave_the_same_data() {
    let server = Server::redis();
    let tests = "set get incr lpush rpush lpop rpop sadd hset spop zadd zpopmin lrange_100 mset";
    for test in tests.split(' ') {
        for size in ["", "-d 8", "-d 100"] {
            let mut left = Vec::new();
            both(&server, &format!("-q -n 60 -c 1 {size} -t {test}"), |_, _| {
                left.push((contents(&server), server.counts()));
            });
            assert_eq!(left[0], left[1], "-t {test} {size}");
        }
    }
}

#[test]
fn both_run_the_same_tests_in_the_same_order() {
    let server = Server::redis();
    let mut titles = Vec::new();
    both(&server, "--csv -n 50 -c 5", |_, ran| {
        let lines = ran.out.lines().map(|line| line.split(',').next().unwrap().to_owned());
        titles.push(lines.collect::<Vec<_>>());
    });
    assert_eq!(titles[0], titles[1]);
}

/// What the peer warns of we warn of by its name, and of nothing else.
#[test]
fn both_say_the_same_beside_results() {
    let server = Server::redis();
    for line in [
        "-n 100 -q -t set",
        "-n 100 --csv -t set,get",
        "-n 100 -k 0 -c 3 -q -t get",
        "-n 100 -e -q -t get",
        "-n 100 -q -t set get k",
        "-n 100 -q --threads 501 -c 3 get k",
        "-n 100 -q --cacert /no/such/file get k",
        "-n 100 -q -d 0 -P 0 get k",
    ] {
        let mut lines = Vec::new();
        both(&server, line, |_, ran| lines.push(ran.err));
        assert_eq!(lines[0], lines[1], "{line}");
    }
}

#[test]
fn both_find_the_same_server() {
    let server = Server::redis();
    let (_dir, link) = called("redis-benchmark");
    let port = server.port();
    for line in [
        format!("-u redis://127.0.0.1 -p {port}"),
        format!("-p {port} -u redis://127.0.0.1"),
        format!("-p 1 -u redis://127.0.0.1:{port}"),
        format!("-u redis://127.0.0.1:1 -p {port}"),
        format!("-u redis://no-such-host.invalid:{port} -h 127.0.0.1"),
        format!("-h no-such-host.invalid -u redis://127.0.0.1:{port}"),
        format!("-u redis://127.0.0.1:{port}/3 --dbnum 0"),
        format!("--dbnum 99 -u redis://127.0.0.1:{port}/0"),
    ] {
        for program in ["redis-benchmark".into(), link.clone()] {
            server.reset();
            let line = format!("{line} -n 10 -c 1 -q incr k");
            Keystorm::new(&line).called(program).run().ok();
            assert_eq!((server.calls("incr"), server.keys()), (10, vec!["k".to_owned()]), "{line}");
        }
    }
}

#[test]
fn both_print_the_same_layout() {
    let server = Server::redis();
    for line in [
        "-n 2000 -t set",
        "-n 2000 -t set,get -c 7 -d 100 -P 4",
        "-n 2000 -c 3 --threads 2 -t get",
        "-n 2000 -k 0 -c 3 -t get",
        "-n 2000 -c 3 set k v",
        "-n 2000 -q -t set,get",
        "-n 2000 -q set k v",
        "-n 2000 --csv -t set,get",
    ] {
        let mut layouts = Vec::new();
        both(&server, line, |_, ran| layouts.push(masked(&settled(&ran.out))));
        assert_eq!(layouts[0], layouts[1], "{line}");
    }
}
