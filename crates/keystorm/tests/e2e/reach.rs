//! Servers that cannot be reached, or are none.

use crate::listener::Listener;
use crate::program::Keystorm;
use crate::server::{Server, free_port};

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
}

#[test]
fn a_redirection_names_the_option_for_clusters() {
    for error in ["-MOVED 1 127.0.0.1:1\r\n", "-ASK 1 127.0.0.1:1\r\n", "-CLUSTERDOWN no\r\n"] {
        let node = Listener::that_answers_load(error);
        let ran = node.run("-n 10 -q get k").exits(1).says("--cluster");
        ran.says(&format!("Error from server: {}", error[1..].trim_end()));
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
