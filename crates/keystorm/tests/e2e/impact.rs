//! `keystorm impact`: acts beside a load are played, priced, checked against what the server says, and undone.

use std::fs;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::program::Keystorm;
use crate::record::valid_by;
use crate::server::Server;

fn impact(server: &Server, line: &str) -> Keystorm {
    Keystorm::new(&format!("impact -p {} --yes --rps 300 -c 5 -r 1000 {line}", server.port()))
}

fn act<'l>(list: &'l Value, name: &str) -> &'l Value {
    let acts = list["prices"].as_array().unwrap();
    acts.iter().find(|act| act["operation"] == name).unwrap_or_else(|| panic!("{name}: {acts:?}"))
}

/// A value of a setting.
fn setting(server: &Server, name: &str) -> String {
    match server.ask(&["CONFIG", "GET", name]) {
        wire::resp::Value::Array(pair) => pair[1].text().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The longest event of this name that the server remembers, in milliseconds.
fn longest(server: &Server, event: &str) -> i64 {
    let wire::resp::Value::Array(entries) = server.ask(&["LATENCY", "HISTORY", event]) else {
        panic!("no history")
    };
    let ms = |entry: &wire::resp::Value| match entry {
        wire::resp::Value::Array(pair) => match pair[1] {
            wire::resp::Value::Integer(ms) => ms,
            _ => panic!("{pair:?}"),
        },
        other => panic!("{other:?}"),
    };
    entries.iter().map(ms).max().unwrap_or(0)
}

/// Plays some of the built-in acts, which are all measured.
fn list_of(server: &Server, acts: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("acts.toml");
    // Sets of 50,000 members do as well here.
    let built_in = Keystorm::new("impact --print-acts").run().ok().out;
    fs::write(&file, built_in.replace("prepare-times = 20", "prepare-times = 1")).unwrap();
    let options = "--rest 0.6s --slo 'p99<50ms' --format json";
    let line = format!("--acts {} --of {acts} {options}", file.display());
    serde_json::from_str(&impact(server, &line).run().ok().out).unwrap()
}

#[test]
fn acts_are_measured_or_not_supported_and_leave_no_key_behind() {
    for (name, server) in Server::both() {
        let acts = "bgsave,full-sync,unlink,connections,config-rewrite,failover,flushall";
        let list = list_of(&server, acts);
        assert_eq!(list["schema"], "keystorm.impact/1", "{name}");
        valid_by("keystorm.impact.1.json", &list);
        assert_eq!(list["complete"], true, "{name}");
        for played in ["bgsave", "full-sync", "unlink", "connections", "flushall"] {
            let price = act(&list, played);
            assert_eq!(price["outcome"], "measured", "{name} {played}");
            assert!(
                price["lasted_s"].as_f64().is_some(),
                "{name} {played}: {}",
                act(&list, played)
            );
            assert!(price["memory_before"].as_u64().is_some(), "{name} {played}");
        }
        for lacking in ["config-rewrite", "failover"] {
            assert!(
                act(&list, lacking)["outcome"]["not_supported"].is_string(),
                "{}",
                act(&list, lacking)
            );
        }
        assert_eq!(server.calls("ping"), 500, "{name}: the storm");
        assert_eq!(server.number(&["DBSIZE"]), 0, "{name}: keys of the acts are gone");
    }
}

#[test]
fn scripts_and_functions_cost_what_the_server_says_and_leave_nothing_behind() {
    for (name, server) in Server::both() {
        server.ask(&["CONFIG", "SET", "latency-monitor-threshold", "1"]);
        let list = list_of(&server, "script,function-load,flushall");
        for played in ["script", "function-load"] {
            let price = act(&list, played);
            assert_eq!(price["outcome"], "measured", "{name} {played}");
            assert!(price["lasted_s"].as_f64().is_some(), "{name} {played}: {price}");
            assert!(price["memory_before"].as_u64().is_some(), "{name} {played}");
        }
        // Whoever is due when the script begins waits until it has ended.
        let server_ms = longest(&server, "command");
        assert!(server_ms >= 100, "{name}: the server says {server_ms} ms");
        let price = act(&list, "script");
        assert!(price["max_ms"].as_f64().unwrap() >= 90.0, "{name}: {price}");
        assert!(price["user_seconds"].as_f64().unwrap() > 0.0, "{name}: {price}");
        let events = price["events"].to_string();
        assert!(events.contains("EVAL") || events.contains("command"), "{name}: {events}");
        assert_eq!(server.number(&["DBSIZE"]), 0, "{name}: keys of the acts are gone");
        let functions = server.ask(&["FUNCTION", "LIST"]);
        assert_eq!(functions, wire::resp::Value::Array(vec![]), "{name}");
    }
}

const ENDLESS: &str = r#"
[[act]]
name = "endless"
restore = ["maxmemory"]
prepare = ["SET {key}x 1"]
undo = ["DEL {key}x"]
start = ["CONFIG SET maxmemory 77mb"]
until = "loading:1"
"#;

#[test]
fn what_an_act_changed_is_put_back_after_ctrl_c_too() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("acts.toml");
    fs::write(&file, ENDLESS).unwrap();
    let line = format!("--acts {} --rest 0.5s", file.display());
    let running = impact(&server, &line).start();
    running.until("the act has begun", |_| setting(&server, "maxmemory") != "0");
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.out.contains("endless"), "{}", ran.out);
    assert_eq!(setting(&server, "maxmemory"), "0");
    assert_eq!(server.number(&["EXISTS", "keystorm:impact:x"]), 0);
}

#[test]
fn a_server_that_was_there_is_disturbed_only_if_that_is_meant() {
    let server = Server::redis();
    let asked = format!("impact -p {} --of bgsave", server.port());
    Keystorm::new(&asked).run().exits(2).says("add --yes to go ahead");
    assert_eq!(server.calls("bgsave"), 0);
    let printed = Keystorm::new("impact --print-acts").run().ok();
    assert!(printed.out.contains("name = \"bgrewriteaof\""), "{}", printed.out);
    let dir = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| dir.path().join(name));
    for file in &files {
        let line = format!("--of keys --rest 0.5s --json {} --csv", file.display());
        let ran = impact(&server, &line).run().ok();
        assert!(ran.out.contains("\"keys\",\"measured\""), "{}", ran.out);
    }
    let [a, b] = files.each_ref().map(|file| file.display().to_string());
    let ran = Keystorm::new(&format!("compare {a} {b}")).run().ok();
    assert!(ran.out.contains("keys") && ran.out.contains("ratio"), "{}", ran.out);
    let ran = Keystorm::new("impact --of bgsav").run().exits(2);
    assert!(ran.err.contains("bgsave"), "{}", ran.err);
}

#[test]
fn slots_go_to_another_node_and_come_back() {
    let cluster = Cluster::new(3, 0, &[]);
    let of_each = || -> Vec<i64> {
        cluster
            .masters()
            .iter()
            .map(|node| node.number(&["CLUSTER", "COUNTKEYSINSLOT", "0"]))
            .collect()
    };
    let line = "--of slot-migration,atomic-migration --rest 0.6s --format json --fill get key:__rand_int__";
    let first = &cluster.masters()[0];
    let ran = impact(first, &format!("--cluster -r 60000 {line}")).run().ok();
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let price = act(&list, "slot-migration");
    assert!(price["lasted_s"].as_f64().is_some_and(|s| s > 0.0), "{list}");
    assert_eq!(price["failed"], 0, "{price}");
    // Servers before Valkey 9 have no such command.
    assert!(act(&list, "atomic-migration")["outcome"]["not_supported"].is_string(), "{list}");
    let migrated: u64 = cluster.calls("migrate").iter().sum();
    assert!(migrated >= 100, "the keys of 100 slots go there and back: {migrated}");
    let [here, there, other] = of_each()[..] else { unreachable!() };
    assert!(here > 0 && there == 0 && other == 0, "{here} {there} {other}");
    for node in cluster.masters() {
        let nodes = node.text(&["CLUSTER", "NODES"]);
        assert!(!nodes.contains("->-") && !nodes.contains("-<-"), "{nodes}");
    }
}

#[test]
fn a_server_that_tells_nothing_of_itself_is_not_filled_first() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "default", "-info"]);
    let line = format!("impact -p {} --yes --of script --rps 100", server.port());
    Keystorm::new(&line).run().exits(1).says("refused INFO");
    assert_eq!(server.number(&["DBSIZE"]), 0);
}
