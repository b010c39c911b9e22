//! Every kind of delivery in each way to speak to a server: RESP2 and RESP3, over TCP, a unix socket and TLS.

use crate::deliver::{count, is_exact, test};
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;
use crate::tls::TlsServer;

/// Messages of each run.
const MESSAGES: u64 = 300;

/// The kinds, and how many deliveries each message has. Where `AT` stands, the address of the server is put.
const KINDS: [(&str, u64); 12] = [
    ("pubsub --channels 2 --subscribers 4", 2),
    ("pubsub --channels 2 --subscribers 4 --patterns", 2),
    ("pubsub --channels 2 --subscribers 4 --sharded", 2),
    ("list --keys 2 --receivers 4", 1),
    ("list --pop blmove --receivers 4", 1),
    ("zset --keys 2 --receivers 4", 1),
    ("zset --zpop bzmpop --count 3", 1),
    ("stream --receivers 3", 3),
    ("stream --groups 2 --consumers 2", 2),
    ("notify --enable-events --subscribers 3", 3),
    ("invalidate --caches 3", 3),
    ("replica --at AT", 1),
];

/// Carries out each kind by these words, and checks that every delivery came once, and that nothing stays behind.
fn each_kind_arrives(server: &Server, at: u16, words: &str) {
    for (kind, copies) in KINDS {
        let kind = kind.replace("AT", &format!("127.0.0.1:{at}"));
        let line = format!("deliver {kind} {words} -n {MESSAGES} --json -");
        let test = test(Keystorm::new(&line).run().ok());
        is_exact(&test, MESSAGES * copies, &line);
        assert_eq!(count(&test, "from_other_runs"), 0, "{line}");
        assert_eq!(count(&test, "messages_acknowledged"), MESSAGES, "{line}");
        let overtaken = test["deliveries"]["polls"]["overtaken"].as_u64().unwrap_or(0);
        assert_eq!(count(&test, "received") + overtaken, MESSAGES * copies, "{line}");
        let is_empty = || server.keys().is_empty();
        assert!(within(PATIENCE, is_empty), "{line}: {:?}", server.keys());
    }
}

#[test]
fn every_kind_arrives_over_tcp_and_unix_sockets_in_both_protocols() {
    for (_, server) in Server::both() {
        let port = server.port();
        for way in [format!("-p {port}"), format!("-s {}", server.socket().display())] {
            for protocol in ["", " -3"] {
                each_kind_arrives(&server, port, &format!("{way}{protocol}"));
            }
        }
    }
}

#[test]
fn every_kind_arrives_over_tls_in_both_protocols() {
    let secure = TlsServer::new();
    let trust = format!("-p {} --tls --cacert {}", secure.port, secure.file("ca.crt").display());
    for protocol in ["", " -3"] {
        each_kind_arrives(&secure.server, secure.port, &format!("{trust}{protocol}"));
    }
}
