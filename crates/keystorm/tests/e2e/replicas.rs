//! Reads from replicas: of a cluster as `--rfr` and memtier's `--read-preference` say, and of a primary whose
//! replicas are named. What each node has executed is asked of the node.

use crate::cluster::Cluster;
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;

/// On a cluster of three primaries with a replica each.
pub(crate) fn reads_go_where_memtier_s_words_say(cluster: &Cluster) {
    let run = |line: &str| {
        cluster.reset();
        let port = cluster.masters()[0].port();
        Keystorm::new(&format!("memtier -p {port} --cluster-mode -t 2 -c 4 -n 100 {line}"))
            .run()
            .ok()
    };
    let calls = |command: &str| {
        let calls = cluster.calls(command);
        let (masters, replicas) = calls.split_at(3);
        (masters.iter().sum::<u64>(), replicas.iter().sum::<u64>())
    };
    for (preference, fallback) in [
        ("secondary", ""),
        ("secondary", "primary"),
        ("secondary", "queue"),
        ("secondaryPreferred", ""),
    ] {
        let fallback = match fallback {
            "" => String::new(),
            fallback => format!(" --read-preference-fallback {fallback}"),
        };
        run(&format!("--ratio 1:1 --read-preference {preference}{fallback}"));
        // A replica also counts what its primary replicates to it.
        assert_eq!((calls("set").0, calls("get")), (400, (0, 400)), "{preference}{fallback}");
    }
    run("--ratio 0:1 --read-preference nearest");
    let (masters, replicas) = calls("get");
    assert!(masters + replicas == 800 && masters > 0 && replicas > 0, "{masters} {replicas}");
    run("--ratio 0:1 --read-preference primary");
    assert_eq!(calls("get"), (800, 0));
    run("--read-preference secondary --command 'EVAL \"return 1\" 1 __key__' --command-is-read");
    assert_eq!(calls("eval"), (0, 800));
    run("--read-preference secondary --command 'EVAL \"return 1\" 1 __key__'");
    assert_eq!(calls("eval"), (800, 0));
    // Two connections to a primary for six to a replica, of eight in all to two nodes of each kind.
    run("--ratio 1:1 --read-preference secondary --replica-clients 12 --replicas-per-shard 1");
    assert_eq!(calls("get"), (0, 400));
}

/// A request of several keys goes to the node of all of them.
pub(crate) fn memtier_s_mget_takes_keys_of_one_slot(cluster: &Cluster) {
    let port = cluster.masters()[0].port();
    let memtier = |line: &str| {
        let line =
            format!("memtier -p {port} --cluster-mode -t 1 {line} --json-out-file /dev/null");
        Keystorm::new(&line).run().ok()
    };
    cluster.reset();
    memtier("-c 1 -n 1000 --ratio 1:0 --key-pattern S:S --key-maximum 1000");
    for (preference, of) in [("primary", 0..3), ("secondary", 3..6)] {
        cluster.reset_counts();
        let line = "-c 2 -n 30 --ratio 0:72 --multi-key-get 72 --key-maximum 1000";
        let ran = memtier(&format!("{line} --read-preference {preference}"));
        let calls = cluster.calls("mget");
        assert_eq!(
            (calls.iter().sum::<u64>(), calls[of].iter().sum::<u64>()),
            (60, 60),
            "{calls:?}"
        );
        assert!(!ran.err.contains("CROSSSLOT"), "{}", ran.err);
    }
    cluster.reset_counts();
    memtier("-c 10 -n 200 --ratio 0:10 --multi-key-get 10 --key-maximum 1000");
    let calls = cluster.calls("mget");
    assert!(calls[..3].iter().all(|calls| *calls > 0), "{calls:?}");
}

/// A primary and two replicas of it, in no cluster.
struct ReplicaSet {
    primary: Server,
    replicas: [Server; 2],
}

impl ReplicaSet {
    fn new() -> Self {
        let primary = Server::redis_with(&["--repl-diskless-sync-delay", "0"]);
        let port = primary.port().to_string();
        let replicas = [(); 2].map(|()| Server::redis_with(&["--replicaof", "127.0.0.1", &port]));
        let linked =
            |node: &Server| node.text(&["INFO", "replication"]).contains("master_link_status:up");
        assert!(within(PATIENCE, || replicas.iter().all(linked)), "a replica has no link");
        Self { primary, replicas }
    }

    fn named(&self) -> String {
        self.replicas.each_ref().map(|node| format!("127.0.0.1:{}", node.port())).join(",")
    }

    /// Calls at the primary and at each replica since the last question.
    fn calls(&self, command: &str) -> [u64; 3] {
        let [one, other] = &self.replicas;
        [&self.primary, one, other].map(|node| {
            let calls = node.calls(command);
            node.reset();
            calls
        })
    }
}

#[test]
fn named_replicas_answer_reads_of_a_primary_in_no_cluster() {
    let nodes = ReplicaSet::new();
    let named = nodes.named();
    let lines = "get key:__rand_int__ ; set key:__rand_int__ v";
    let run = |rfr: &str| {
        nodes.primary.reset();
        let line = format!("-c 6 -n 3000 -r 100 -q --replicas {named} {rfr} {lines}");
        nodes.primary.run(&line).ok();
        nodes.calls("get")
    };
    let [of_primary, one, other] = run("");
    assert_eq!((of_primary, one + other), (0, 1500));
    assert!(one.abs_diff(other) <= 2, "{one} {other}");
    let [of_primary, one, other] = run("--rfr all");
    assert_eq!(of_primary + one + other, 1500);
    assert!(of_primary.abs_diff(500) <= 3, "{of_primary} {one} {other}");
    let [of_primary, one, other] = run("--rfr nearest");
    assert!(of_primary + one + other == 1500 && of_primary.min(one).min(other) > 0);
    // Commands without a key are reads, too, and may be all there is.
    let line = format!("-c 2 -n 100 --replicas {named} -- eval_ro 'return 1' 0");
    nodes.primary.run(&line).ok();
    let [of_primary, one, other] = nodes.calls("eval_ro");
    assert_eq!((of_primary, one + other), (0, 100));
    let [_, one, other] = run("--rfr-replicas 1 --rfr-connections 3:1");
    assert_eq!((one, other), (1500, 0));
    let line = format!("-n 100 --replicas {named} get k");
    nodes.primary.run(&line).ok().prints(", primary with 2 replicas, save ");
    nodes.calls("get");
    // In memtier's words.
    let line = format!(
        "memtier -p {} -t 1 -c 4 -n 100 --ratio 1:1 --read-server {} --read-server {}",
        nodes.primary.port(),
        named.split(',').next().unwrap(),
        named.split(',').nth(1).unwrap(),
    );
    Keystorm::new(&format!("{line} --read-preference secondary")).run().ok();
    let [of_primary, one, other] = nodes.calls("get");
    assert_eq!((of_primary, one + other), (0, 200));
    Keystorm::new(&line)
        .run()
        .ok()
        .says("--read-server has no effect with --read-preference primary");
    assert_eq!(nodes.calls("get"), [200, 0, 0]);
}

#[test]
fn what_named_replicas_cannot_be_is_reported() {
    let server = Server::redis();
    let port = server.port();
    server
        .run("--replicas 127.0.0.1:1 -n 10 get k")
        .exits(1)
        .says("--replicas 127.0.0.1:1: ")
        .says("127.0.0.1:1");
    server.run("--replicas nowhere -n 10 get k").exits(2).says("expected HOST:PORT");
    let own = format!("--replicas 127.0.0.1:{port}");
    server.run(&format!("{own} --rfr no -n 10 get k")).exits(2).says("requires --rfr yes");
    server.run(&format!("{own} --cluster -n 10 get k")).exits(2).says("cannot be used with");
}

#[test]
fn a_read_that_may_go_to_no_primary_needs_a_replica() {
    let cluster = Cluster::new(1, 0, &[]);
    let port = cluster.masters()[0].port();
    Keystorm::new(&format!("-p {port} --cluster --rfr yes --rfr-without wait -n 10 get k"))
        .run()
        .exits(1)
        .says("1 of 1 primaries have no ready replica");
    let memtier = format!("memtier -p {port} --cluster-mode -t 1 -c 1 -n 10");
    Keystorm::new(&format!("{memtier} --read-preference secondary"))
        .run()
        .exits(1)
        .says("1 of 1 primaries have no ready replica");
    Keystorm::new(&format!(
        "{memtier} --read-preference secondary --read-preference-fallback primary"
    ))
    .run()
    .ok();
    assert_eq!(cluster.calls("get"), [9]);
}

#[test]
fn reads_that_touch_nothing_are_asked_for() {
    let server = Server::valkey();
    server.run("-c 3 -n 30 -q --no-touch get k").ok();
    assert_eq!(server.calls("client|no-touch"), 3);
    server.reset();
    let line = format!("memtier -p {} -t 1 -c 2 -n 11 --client-no-touch", server.port());
    Keystorm::new(&line).run().ok();
    assert_eq!((server.calls("client|no-touch"), server.calls("get")), (2, 20));
    Keystorm::new("memtier -P memcache_text --client-no-touch")
        .run()
        .exits(2)
        .says("client-no-touch can only be used with redis protocol");
    server.ask(&["ACL", "SETUSER", "default", "-client|no-touch"]);
    server.run("-n 10 --no-touch get k").exits(1).says("NO-TOUCH (--no-touch): ").says("NOPERM");
}
