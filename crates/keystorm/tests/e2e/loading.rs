//! Servers that load their data from disk: every command says so, names the server once and asks for nothing more.

use crate::program::Keystorm;
use crate::server::Server;

/// Commands for the server at `ADDRESS`, and for its `PORT`.
const LINES: [&str; 12] = [
    "-p PORT -n 10 -q get k",
    "search -p PORT --slo p99<9s -t get --budget 1s",
    "sweep -p PORT -t get -c 1,2",
    "survey -p PORT --quick",
    "suite -p PORT --match geo",
    "impact -p PORT --yes --of bgsave",
    "footprint -p PORT --no-steps string:10",
    "compare ADDRESS ADDRESS -t get",
    "compare ADDRESS ADDRESS -t get --rps 100 --slo p99<9s",
    "deliver list -p PORT -n 10",
    "connect -p PORT -n 10",
    "record -p PORT --duration 1 -o FILE",
];

#[test]
fn every_command_says_that_a_server_is_loading() {
    let mut server = Server::redis();
    server.ask(&["DEBUG", "POPULATE", "30000", "k", "10"]);
    server.ask(&["SAVE"]);
    server.kill();
    // It takes a minute if it is left alone.
    let delay = ["--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024"];
    let loading = server.begin_again(&delay);
    let address = format!("127.0.0.1:{}", loading.port());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("record").display().to_string();
    for line in LINES {
        let line = line.replace("ADDRESS", &address).replace("FILE", &file);
        let line = line.replace("PORT", &loading.port().to_string());
        let ran = Keystorm::new(&line).run().exits(1);
        let error = ran.err.lines().find(|line| line.contains("loading")).unwrap_or_default();
        assert!(error.contains("is still loading its data set"), "{line}: {}", ran.err);
        assert_eq!(error.matches(&address).count(), 1, "{line}: {}", ran.err);
    }
}
