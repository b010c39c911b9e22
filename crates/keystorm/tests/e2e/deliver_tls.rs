//! `keystorm deliver --tls`: senders, receivers, probes and what is asked at the end speak it.

use crate::deliver::{all_came, test};
use crate::program::Keystorm;
use crate::tls::TlsServer;

#[test]
fn every_kind_speaks_tls() {
    let secure = TlsServer::new();
    let options = format!("-p {} --tls --cacert {}", secure.port, secure.file("ca.crt").display());
    for (line, each) in [
        ("pubsub --channels 2 --subscribers 4", 2),
        ("pubsub --channels 1 --subscribers 3 -3 --engine epoll", 3),
        ("list", 1),
        ("list --pop blmove -3 --engine epoll", 1),
        ("zset --zpop bzmpop --count 4", 1),
        ("stream --groups 2 --consumers 2", 2),
        ("stream --receivers 2 -3 --receiver-threads 2", 2),
        ("notify --enable-events --subscribers 2", 2),
        ("invalidate --caches 3", 3),
    ] {
        secure.server.reset();
        let line = format!("deliver {line} {options} -n 1000 --json -");
        let test = test(Keystorm::new(&line).run().ok());
        all_came(&test, 1_000 * each, &line);
        // Those of notify live for a second.
        let left = !line.contains("notify") && !secure.server.keys().is_empty();
        assert!(!left, "{line}: {:?}", secure.server.keys());
    }
    let plain = Keystorm::new(&format!("deliver list -p {} -n 10", secure.port)).run();
    plain.exits(1).says("TLS");
}
