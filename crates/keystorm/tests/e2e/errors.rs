//! Error replies: the end of the run, or counted by kind.

use crate::server::Server;

#[test]
fn an_error_reply_ends_the_run_as_in_the_peers() {
    for (product, server) in Server::both() {
        server.ask(&["SET", "k", "v"]);
        for options in ["-q", "", "--csv", "--format classic", "-q -P 16 --threads 2"] {
            server.ask(&["CONFIG", "RESETSTAT"]);
            let ran = server.run(&format!("-n 100000 -c 2 {options} lpush k v")).exits(1);
            ran.says("Error from server: WRONGTYPE Operation against a key");
            assert!(server.calls("lpush") < 1000, "{product} {options}");
        }
    }
}

#[test]
fn an_error_in_a_suite_leaves_the_results_before_it() {
    let server = Server::redis();
    server.ask(&["SET", "mylist", "v"]);
    let ran = server.run("-t set,get,lpush,sadd -n 500 -q").exits(1);
    ran.says("LPUSH: Error from server: WRONGTYPE").prints("SET: ").prints("GET: ");
    assert_eq!(server.calls("sadd"), 0);
}

#[test]
fn errors_can_be_counted_by_kind_instead() {
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    let line = "--on-error count -n 300 -c 5 -P 4 lpush k v ';' nosuch ';' get k";
    let ran = server.run(line).ok();
    assert_eq!(ran.completed().0, 300);
    let ran = ran.prints("  errors: 200\n").prints("    WRONGTYPE: 100\n");
    let ran = ran.prints("    ERR: 100\n");
    assert!(ran.out.contains("first: "), "{}", ran.out);
    let quiet = server.run(&format!("-q {line}")).ok();
    assert!(quiet.out.ends_with(", 200 errors, limited by errors\n"), "{}", quiet.out);
    server.run(&format!("--format classic {line}")).ok().prints("WRONGTYPE: 100");
    let csv = server.run(&format!("--csv {line}")).ok();
    assert_eq!(csv.out.lines().count(), 2, "{}", csv.out);
}

#[test]
fn errors_in_a_csv_run_are_reported_on_standard_error() {
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    server.run("--csv --on-error count -n 30 lpush k v").ok().says("30").says("WRONGTYPE");
}

#[test]
fn what_only_fails_has_no_latency() {
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    let line = "--on-error count -n 30 lpush k v";
    let text = server.run(line).ok();
    let row = text.out.lines().find(|line| line.contains("latency (ms)")).unwrap();
    assert_eq!(row.split_whitespace().skip(2).collect::<Vec<_>>(), ["-"; 6], "{}", text.out);
    let quiet = server.run(&format!("-q {line}")).ok();
    assert!(!quiet.out.contains("p50") && quiet.out.contains(", 30 errors"), "{}", quiet.out);
    let csv = server.run(&format!("--csv {line}")).ok();
    let cells: Vec<&str> = csv.out.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(cells[2..8], ["\"\""; 6], "{}", csv.out);
    let peer = server.run(&format!("--as redis-benchmark -q {line}")).ok();
    assert!(peer.out.contains(" requests per second, p50=0.000 msec"), "{}", peer.out);
}

#[test]
fn one_request_is_not_several() {
    let server = Server::redis();
    let ran = server.run("-n 1 -c 1 -d 1 -t set").ok().prints("  1 request completed in ");
    ran.prints("  1 connection, pipeline of 1, values of 1 byte, ");
    server.ask(&["SET", "k", "v"]);
    let ran = server.run("-n 1 -c 1 --on-error count lpush k v").ok();
    ran.prints("errors: the only request was refused or lost; ");
}

#[test]
fn a_preparation_that_is_refused_ends_the_run() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "default", "-function"]);
    server.run("-t get,fcall -n 50 -q").exits(1).prints("GET: ").says("NOPERM").says("FUNCTION");
}
