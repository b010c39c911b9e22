//! The newest servers, Valkey 9.1 and Redis 8.2: what is measured on older ones is on these, and what only they have.

use serde_json::Value;

use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;

#[test]
fn the_suite_and_loads_of_all_names_are_counted() {
    for (told, _, server) in Server::newest(&[]) {
        let ran = server.run("-n 200 -c 5 -P 4 -q").ok();
        assert_eq!(ran.out.matches("requests per second").count(), 24, "{told}: {}", ran.out);
        for command in ["set", "get", "incr", "mset", "mget", "xadd", "fcall"] {
            assert!(server.calls(command) >= 200, "{told}: {command}");
        }
        server.reset();
        let text = server.run("-3 -n 300 -c 3 incr k").ok().prints(told);
        assert_eq!((server.calls("incr"), text.completed().0), (300, 300), "{told}");
        server.run("--rps 2k --duration 0.3 -t set,get -r 100 --fill -q").ok();
        server.reset();
        let memtier = format!("memtier -p {} -n 33 -c 2 -t 1 --hide-histogram", server.port());
        Keystorm::new(&memtier).run().ok();
        assert_eq!((server.calls("set"), server.calls("get")), (6, 60), "{told}");
        server.reset();
        server.run("--as redis-benchmark -n 100 -t set,lrange_100 --csv").ok();
        assert_eq!((server.calls("set"), server.calls("lrange")), (100, 100), "{told}");
    }
}

#[test]
fn messages_arrive_and_a_cluster_is_one() {
    for (told, _, server) in Server::newest(&[]) {
        for kind in ["pubsub", "stream", "invalidate"] {
            let line = format!("deliver {kind} -p {} -n 200 -q", server.port());
            let ran = Keystorm::new(&line).run();
            assert_eq!(ran.code, Some(0), "{told}: {kind}: {}", ran.err);
        }
    }
    let args = ["--cluster-enabled", "yes"];
    for (told, _, node) in Server::newest(&args) {
        node.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        let is_up = || node.text(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
        assert!(within(PATIENCE, is_up), "{told}");
        node.run("--cluster -n 700 -P 8 -q -r 1000 -t set,lrange_600").ok();
        assert_eq!((node.calls("set"), node.calls("lrange")), (700, 700), "{told}");
    }
}

/// Commands that came with these servers have specs of our own, which others say they do not support.
#[test]
fn specs_of_new_commands_run_where_servers_have_them() {
    let wanted = ["hsetex", "hgetex", "hexpire", "ifeq", "vadd", "vsim"];
    let (mut servers, mut have) = (Vec::new(), Vec::new());
    for (told, program, _) in Server::newest(&[]) {
        servers.push((told, program.display().to_string()));
        have.push(match told {
            "redis 8.2.3" => &["hsetex", "hgetex", "hexpire", "vadd", "vsim"][..],
            _ => &["hsetex", "hgetex", "hexpire", "ifeq"],
        });
    }
    servers.push(("redis 7.0", "redis-server".to_owned()));
    have.push(&[]);
    for ((told, program), have) in servers.into_iter().zip(have) {
        let chosen = wanted.join("|");
        let line = format!("suite --spawn={program} --match {chosen} --time 0.1 --format json");
        let ran = Keystorm::new(&line).run().ok();
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let specs = document["specs"].as_array().unwrap();
        assert_eq!(specs.len(), wanted.len(), "{told}: {}", ran.out);
        for name in wanted {
            let spec =
                specs.iter().find(|spec| spec["name"].as_str().unwrap().ends_with(name)).unwrap();
            assert_eq!(spec["skipped"].is_null(), have.contains(&name), "{told}: {spec}");
            let figures = &spec["figures"][0];
            if have.contains(&name) {
                assert!(figures["requests"].as_u64() > Some(0), "{told}: {spec}");
                assert_eq!(figures["errors"], 0, "{told}: {spec}");
            }
        }
    }
}
