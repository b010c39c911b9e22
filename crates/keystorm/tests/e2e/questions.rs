//! What a server is asked beside the load: nothing that it must answer, and by a peer's name nothing
//! that this tool does not ask.

use crate::listener::{Listener, Stranger};
use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::rpc_perf::File;
use crate::server::{Server, called, calls};
use crate::ycsb;

const STRANGERS: [Stranger; 3] = [Stranger::Closes, Stranger::IsSilent, Stranger::Refuses];

#[test]
fn a_server_that_answers_get_and_set_alone_is_measured() {
    for stranger in STRANGERS {
        let server = Listener::that_knows_load_only(stranger);
        let ran = server.run("-n 100 -c 2 get k").ok();
        ran.prints("unknown server").says("Could not fetch server CONFIG");
        assert!((100..=101).contains(&server.asked("GET")), "{stranger:?}");
        server.run("-n 50 -q set k v").ok();
        assert_eq!(server.asked("SET"), 50, "{stranger:?}");
    }
}

#[test]
fn so_is_a_memcached_without_version_and_stats() {
    for stranger in STRANGERS {
        let server = Listener::that_knows_load_of_memcached_only(stranger);
        server.run("--protocol memcache -n 100 -c 2 get k").ok().prints("unknown server");
        assert!((100..=101).contains(&server.asked("get")), "{stranger:?}");
    }
}

#[test]
fn by_memtiers_name_no_server_is_asked_what_it_is() {
    let server = Listener::that_knows_load_only(Stranger::IsSilent);
    let line = "memtier -t 1 -c 2 -n 11 --hide-histogram";
    let ran = server.by_name(line).ok();
    assert!(!ran.err.contains("CONFIG"), "{}", ran.err);
    assert_eq!(server.all_asked(), calls([("GET", 20), ("SET", 2)]));
    let server = Listener::that_knows_load_of_memcached_only(Stranger::IsSilent);
    server.by_name(&format!("{line} -P memcache_text")).ok();
    assert_eq!(server.all_asked(), calls([("get", 20), ("set", 2)]));
}

#[test]
fn by_a_peers_name_nothing_is_asked_but_what_that_tool_asks() {
    let server = Server::redis();
    let port = server.port();
    let asked = |keystorm: Keystorm, load: &[&str]| {
        server.ask(&["CONFIG", "RESETSTAT"]);
        keystorm.run().ok();
        let mut counts = server.all_counts();
        // The reset itself is counted too.
        counts.retain(|name, _| !load.contains(&name.as_str()) && name != "config|resetstat");
        counts
    };
    let settings = calls([("config|get", 2)]);
    for name in ["redis-benchmark", "valkey-benchmark"] {
        let (_dir, link) = called(name);
        let of = || server.keystorm("-n 100 -c 2 -q get k").called(&link);
        assert_eq!(asked(of(), &["get"]), settings, "{name}");
        let with_verdict = asked(of().env("KEYSTORM_VERDICT", "stderr"), &["get"]);
        assert!(with_verdict["config|get"] > 2, "{name}: {with_verdict:?}");
    }
    let memtier = format!("memtier -p {port} -t 1 -c 2 -n 11 --hide-histogram");
    assert_eq!(asked(Keystorm::new(&memtier), &["get", "set"]), calls([]));
    let with_verdict = Keystorm::new(&format!("{memtier} --ks-verdict"));
    assert!(asked(with_verdict, &["get", "set"])["config|get"] > 2);
    let ycsb = ycsb::line(&server, "load", "-P workloads/workloada -p recordcount=10");
    assert_eq!(asked(ycsb, &["hmset", "zadd"]), calls([]));
    let file = File::from_port(port);
    let rpc_perf = file.line("nkeys = 10\nklen = 3\ncommands = [{ verb = 'get' }]", "");
    assert_eq!(asked(rpc_perf, &["get"]), calls([]));
}

#[test]
fn by_a_peers_name_a_memcached_is_not_asked_for_its_statistics() {
    let server = Memcached::new();
    let before = server.say("stats\n");
    let line = format!("memtier -p {} -P memcache_text -t 1 -c 1 -n 11 -d 2000", server.port());
    Keystorm::new(&line).run().ok();
    let connections = |text: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix("STAT total_connections "));
        line.unwrap().trim().parse().unwrap()
    };
    // The one of the load, one that finds out whether somebody listens, and those that ask here; to ask
    // takes three more.
    let after = server.say("stats\n");
    assert!(connections(&after) - connections(&before) <= 4, "{before}\n{after}");
}
