//! Clusters of real servers: three masters with a replica each, started by the tests.
//!
//! What a node has executed is asked of the node. One cluster is shared by the tests that leave
//! it as it is; what breaks one has its own.

use wire::cluster::{Topology, slot_of};

use crate::counts::is_even;
use crate::moving_slots::move_slots;
use crate::program::{Keystorm, PATIENCE, RunOutput, goes_on, within};
use crate::record::place;
use crate::replicas;
use crate::server::Server;

/// How soon a cluster of the tests takes a silent node for gone.
pub(crate) const NODE_TIMEOUT_MS: u64 = 1000;
/// A running cluster: masters first, then the replica of each.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    masters: usize,
}

impl Cluster {
    pub(crate) fn new(masters: usize, replicas: usize, args: &[&str]) -> Self {
        Self::with(masters, replicas, |_| args.iter().map(|a| (*a).to_owned()).collect(), None)
    }

    /// With arguments for each node, and its port in TLS if the nodes speak that to each other.
    pub(crate) fn with(
        masters: usize,
        replicas: usize,
        args: impl Fn(usize) -> Vec<String>,
        tls_ports: Option<&[u16]>,
    ) -> Self {
        let timeout = NODE_TIMEOUT_MS.to_string();
        let mut all = vec!["--cluster-enabled", "yes", "--cluster-node-timeout", &timeout];
        all.extend(["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"]);
        let start = |n: usize| {
            let own = args(n);
            let own = own.iter().map(String::as_str);
            Server::redis_with(&all.iter().copied().chain(own).collect::<Vec<_>>())
        };
        let nodes: Vec<Server> = (0..masters * (1 + replicas)).map(start).collect();
        let cluster = Self { nodes, masters };
        for (n, master) in cluster.masters().iter().enumerate() {
            let bound = |n: usize| (16_384 * n / masters).to_string();
            let last = (16_384 * (n + 1) / masters - 1).to_string();
            master.ask(&["CLUSTER", "ADDSLOTSRANGE", &bound(n), &last]);
            master.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()]);
        }
        let port = |n: usize| tls_ports.map_or(cluster.nodes[n].port(), |ports| ports[n]);
        let meets = |n: &usize| cluster.nodes[0].meets(&cluster.nodes[*n], port(*n));
        let have_met = || (1..cluster.nodes.len()).filter(|n| !meets(n)).count() == 0;
        assert!(within(PATIENCE, have_met), "the nodes do not meet");
        for (n, replica) in cluster.nodes[masters..].iter().enumerate() {
            let master = cluster.nodes[n % masters].text(&["CLUSTER", "MYID"]);
            let joined =
                || replica.ask(&["CLUSTER", "REPLICATE", &master]).text().as_deref() == Some("OK");
            assert!(within(PATIENCE, joined), "a replica does not join");
        }
        let ready = |node: &Server| {
            let info = node.text(&["CLUSTER", "INFO"]);
            let known = format!("cluster_known_nodes:{}", cluster.nodes.len());
            info.contains("cluster_state:ok") && info.contains(&known)
        };
        assert!(within(PATIENCE, || cluster.nodes.iter().all(ready)), "the cluster is not up");
        let linked =
            |node: &Server| node.text(&["INFO", "replication"]).contains("master_link_status:up");
        assert!(
            within(PATIENCE, || cluster.replicas().iter().all(linked)),
            "a replica has no link"
        );
        // Every node must tell of every replica, which a master does not while that seems to be loading.
        let describes = |node: &Server| {
            let shards = node.ask(&["CLUSTER", "SHARDS"]);
            let topology = Topology::of_shards(&shards, "127.0.0.1", tls_ports.is_some());
            topology.is_some_and(|topology| topology.nodes.len() == cluster.nodes.len())
                || node.text(&["INFO"]).contains("redis_version:6")
        };
        let described = within(PATIENCE, || cluster.nodes.iter().all(describes));
        assert!(described, "a node does not tell of all");
        cluster
    }

    /// A master without slots that joins it.
    pub(crate) fn join(&self, args: &[&str]) -> Server {
        let timeout = NODE_TIMEOUT_MS.to_string();
        let all = ["--cluster-enabled", "yes", "--cluster-node-timeout", &timeout];
        let node = Server::redis_with(&[&all[..], args].concat());
        let met = || self.nodes[0].meets(&node, node.port());
        assert!(within(PATIENCE, met), "the node does not meet the others");
        let known = format!("cluster_known_nodes:{}", self.nodes.len() + 1);
        let knows = |node: &Server| {
            let info = node.text(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains(&known)
        };
        let all = || self.nodes.iter().chain([&node]).all(knows);
        assert!(within(PATIENCE, all), "the node joins");
        node
    }

    pub(crate) fn masters(&self) -> &[Server] {
        &self.nodes[..self.masters]
    }

    /// Those that copy them.
    pub(crate) fn replicas(&self) -> &[Server] {
        &self.nodes[self.masters..]
    }

    pub(crate) fn keystorm(&self, line: &str) -> Keystorm {
        Keystorm::new(&format!("-p {} --cluster {line}", self.nodes[0].port()))
    }

    pub(crate) fn run(&self, line: &str) -> RunOutput {
        self.keystorm(line).run()
    }

    pub(crate) fn reset_counts(&self) {
        for node in &self.nodes {
            node.ask(&["CONFIG", "RESETSTAT"]);
        }
    }

    pub(crate) fn reset(&self) {
        self.reset_counts();
        for node in self.masters() {
            node.ask(&["FLUSHALL"]);
        }
    }

    /// Calls of a command, node by node.
    pub(crate) fn calls(&self, command: &str) -> Vec<u64> {
        self.nodes.iter().map(|node| node.calls(command)).collect()
    }
}

/// The requests and the redirects that the table of nodes shows for this port.
pub(crate) fn row(ran: &RunOutput, port: u16) -> (u64, u64) {
    let name = format!("127.0.0.1:{port}");
    let line = ran.out.lines().find(|l| l.split_whitespace().next() == Some(&name));
    let line = line.unwrap_or_else(|| panic!("no row of {name} in {}", ran.out));
    let cells: Vec<&str> = line.split_whitespace().collect();
    (cells[3].parse().unwrap(), cells[9].parse().unwrap())
}

/// One test, since a cluster takes seconds to come up: everything that leaves it whole.
#[test]
fn load_on_a_cluster_goes_to_the_nodes_that_own_it() {
    let cluster = Cluster::new(3, 1, &[]);
    keys_fall_on_their_nodes(&cluster);
    memtier_s_keys_do_too(&cluster);
    counts_are_exact(&cluster);
    tags_spread_over_all_slots(&cluster);
    the_suite_stays_in_one_slot(&cluster);
    lists_are_as_long_as_their_tests_say(&cluster);
    a_transaction_stays_on_one_connection(&cluster);
    replicas_are_read_from(&cluster);
    replicas::reads_go_where_memtier_s_words_say(&cluster);
    replicas::memtier_s_mget_takes_keys_of_one_slot(&cluster);
    a_user_needs_few_permissions(&cluster);
    a_schedule_is_kept(&cluster);
    a_survey_takes_its_keys_away(&cluster);
    several_clients_load_it(&cluster);
    by_the_name_of_a_peer_the_words_are_its(&cluster);
    slots_move_while_load_runs(&cluster);
}

fn several_clients_load_it(cluster: &Cluster) {
    cluster.reset();
    let ran = cluster.run("-n 3000 -c 12 -r 1000 --on local:4 set key:__rand_int__ v").ok();
    let calls = cluster.calls("set");
    assert_eq!(calls[..3].iter().sum::<u64>(), 3000);
    let shown: u64 = cluster.masters().iter().map(|node| row(&ran, node.port()).0).sum();
    assert_eq!(shown, 3000, "{}", ran.out);
    ran.prints("  4 clients started within ");
}

fn by_the_name_of_a_peer_the_words_are_its(cluster: &Cluster) {
    for (name, format, expected) in [
        ("redis-benchmark", "-q", "Cluster has 3 master nodes:\n\nMaster 0: "),
        ("redis-benchmark", "--csv", "Cluster has 3 master nodes:\n\nMaster 0: "),
        ("redis-benchmark", "", "  cluster mode: yes (3 masters)\n  node [0] configuration:\n"),
        ("valkey-benchmark", "-q", "Cluster has 3 primary nodes:\n\nNode 0(Primary): "),
        ("valkey-benchmark", "--rfr yes -q", "Cluster has 3 replica nodes:\n\nNode 0(Replica): "),
        ("valkey-benchmark", "--rfr all -q", "Cluster has 6 cluster nodes:\n\nNode 0(Primary): "),
        ("valkey-benchmark", "", "  cluster mode: yes (3 primary)\n  node [0] configuration:\n"),
    ] {
        let ran = cluster.run(&format!("--as {name} {format} -n 100 -c 6 -t get")).ok();
        assert_eq!(ran.err, "", "{name} {format}");
        let ran = ran.prints(expected);
        assert!(!ran.out.contains("node summary"), "{}", ran.out);
    }
}

/// In memtier_benchmark's words: counted for each connection, tags and what stands around keys included.
fn memtier_s_keys_do_too(cluster: &Cluster) {
    let run = |line: &str| {
        cluster.reset();
        let port = cluster.nodes[0].port();
        Keystorm::new(&format!("memtier -p {port} --cluster-mode -t 2 -c 3 {line}")).run().ok()
    };
    let all = |command: &str| cluster.calls(command)[..3].iter().sum::<u64>();
    let ran = run("-n 110").prints("MOVED/sec      ASK/sec ");
    assert_eq!((all("set"), all("get")), (60, 600), "{}", ran.out);
    run("-n allkeys --ratio 1:0 --key-pattern P:P --key-minimum 1 --key-maximum 60");
    let keys: u64 = cluster.masters().iter().map(|node| node.number(&["DBSIZE"]) as u64).sum();
    assert_eq!((all("set"), keys), (60, 60));
    run("-n 50 --ratio 1:0 --key-prefix {tag}k");
    let calls = cluster.calls("set");
    assert_eq!(calls[..3].iter().filter(|calls| **calls > 0).count(), 1, "{calls:?}");
    run("-n 50 --command 'SET p:__key__:s __data__'");
    assert_eq!(all("set"), 300);
}

fn keys_fall_on_their_nodes(cluster: &Cluster) {
    cluster.reset();
    let ran = cluster.run("-n 30000 -r 1000000 -P 16 set key:__rand_int__ v").ok();
    ran.completed();
    let calls = cluster.calls("set");
    assert!(is_even(&calls[..3]), "{calls:?}");
    assert_eq!(calls[..3].iter().sum::<u64>(), 30_000);
    for (node, calls) in cluster.masters().iter().zip(&calls) {
        assert_eq!(row(&ran, node.port()), (*calls, 0), "{}", ran.out);
        node.keys().iter().for_each(|key| {
            let slot = usize::from(slot_of(key.as_bytes()));
            let owner = (0..3).find(|n| slot < 16_384 * (n + 1) / 3).unwrap();
            assert_eq!(cluster.nodes[owner].port(), node.port(), "{key}");
        });
    }
    let ran = ran.prints(", cluster of 3 masters\n").prints("    3 with save \"");
    ran.prints("Cluster has 3 master nodes:").prints("Master 2: ");
    let quiet = cluster.run("-q -n 100 -t get").ok();
    let lines = quiet.out.lines().filter(|line| !line.is_empty()).count();
    assert!(quiet.out.starts_with("GET: ") && lines == 1, "{}", quiet.out);
    let (_dir, file) = place();
    for format in ["text", "quiet", "classic", "csv"] {
        let kept = format!("--json {} --format {format} -n 300 set k v", file.display());
        let printed = cluster.run(&kept).ok().out;
        let show = format!("show {} --format {format}", file.display());
        assert_eq!(Keystorm::new(&show).run().ok().out, printed, "{format}");
    }
}

fn counts_are_exact(cluster: &Cluster) {
    for line in [
        "-n 1 -c 1 incr k:__rand_int__",
        "-n 7 -c 50 incr k:__rand_int__",
        "-n 1003 -c 1 incr k:__rand_int__",
        "-n 1003 -c 2 --threads 2 -P 4 incr k:__rand_int__",
        "-n 10007 -c 50 --threads 3 -P 16 incr k:__rand_int__",
        "-n 5003 -c 8 -P 16 --window rolling --engine epoll incr k:__rand_int__",
        "-n 1000 -c 7 -P 3 -k 0 incr k:__rand_int__",
        "-n 1003 -c 9 -P 2 incr k:__rand_int__ ';' 2 incr other:__rand_1st__",
    ] {
        cluster.reset();
        cluster.run(&format!("-q -r 1000 {line}")).ok();
        let n: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        // Replicas carry out what changes data too.
        assert_eq!(cluster.calls("incr")[..3].iter().sum::<u64>(), n, "{line}");
    }
    cluster.reset();
    cluster.run("-q -n 3000 -r 3000 --sequential -P 8 set key:__rand_int__ v").ok();
    let keys: i64 = cluster.masters().iter().map(|node| node.number(&["DBSIZE"])).sum();
    assert_eq!(keys, 3000, "each key once");
}

fn tags_spread_over_all_slots(cluster: &Cluster) {
    cluster.reset();
    cluster.run("-q -n 16384 -P 32 set 'key:{tag}' v").ok();
    for (n, node) in cluster.masters().iter().enumerate() {
        let slots = 16_384 * (n + 1) / 3 - 16_384 * n / 3;
        assert_eq!(node.number(&["DBSIZE"]), slots as i64, "one key in every slot");
    }
}

fn the_suite_stays_in_one_slot(cluster: &Cluster) {
    cluster.reset();
    let ran = cluster.run("-n 300 -r 100 -P 4 -q --num-keys-in-fcall 2").ok();
    assert!(ran.out.contains("MSET (10 keys): ") && ran.out.contains("FCALL: "), "{}", ran.out);
    for command in ["mset", "mget", "incr", "xadd", "fcall", "ping"] {
        let calls = cluster.calls(command);
        let expected = if command == "ping" { 600 } else { 300 };
        // Replicas are given what changes data.
        let masters: u64 = calls[..3].iter().sum();
        assert!(masters >= expected, "{command}: {calls:?}");
        assert!(calls[..3].iter().all(|n| *n > 0), "{command}: {calls:?}");
    }
}

/// Checks that `LRANGE_600` reads 600 elements, by every name.
fn lists_are_as_long_as_their_tests_say(cluster: &Cluster) {
    for name in ["keystorm", "redis-benchmark", "valkey-benchmark"] {
        cluster.reset();
        let as_name = if name == "keystorm" { String::new() } else { format!("--as {name} ") };
        cluster.run(&format!("{as_name}-n 6000 -P 16 -q -t lrange_600")).ok();
        for (node, read) in cluster.masters().iter().zip(cluster.calls("lrange")) {
            for key in node.keys() {
                assert!(node.number(&["LLEN", &key]) >= 600, "{name}: {key}");
            }
            assert!(read > 0, "{name}: every node has lists");
        }
        assert_eq!(cluster.calls("lrange")[..3].iter().sum::<u64>(), 6000, "{name}");
    }
}

fn a_survey_takes_its_keys_away(cluster: &Cluster) {
    cluster.reset();
    let dir = tempfile::tempdir().unwrap();
    cluster.run("-q -n 1 set 'key:{abc}:000000000001' theirs").ok();
    let sizes =
        || -> Vec<i64> { cluster.masters().iter().map(|n| n.number(&["DBSIZE"])).collect() };
    let line = format!(
        "survey -p {} --cluster --quick --seconds 0.02 --keys 1000 -o {}",
        cluster.nodes[0].port(),
        dir.path().display()
    );
    let holder = cluster.masters().iter().find(|node| node.number(&["DBSIZE"]) == 1).unwrap();
    let refused = format!("{} has 1 key, and a survey needs an empty cluster", holder.port());
    Keystorm::new(&line).run().exits(1).says(&refused);
    assert_eq!(sizes().iter().sum::<i64>(), 1);
    cluster.reset();
    let ran = Keystorm::new(&line).run().ok();
    ran.says("to the cluster of 127.0.0.1:").says("Removed ");
    assert_eq!(sizes(), [0; 3]);
    let ran = Keystorm::new(&format!("{line} --keep")).run().ok();
    ran.says("--keep leaves them there");
    assert!(sizes().iter().sum::<i64>() > 1000);
}

fn a_transaction_stays_on_one_connection(cluster: &Cluster) {
    cluster.reset();
    let line =
        "-q -n 4000 -r 1000 -P 2 multi ';' set '{tag}a:__rand_1st__' v ';' incr '{tag}n' ';' exec";
    cluster.run(line).ok();
    let calls: Vec<u64> = ["multi", "set", "incr", "exec"]
        .iter()
        .map(|command| cluster.calls(command)[..3].iter().sum())
        .collect();
    assert_eq!(calls, [1000; 4]);
}

fn replicas_are_read_from(cluster: &Cluster) {
    for (rfr, masters, replicas) in [("yes", 0, 3000), ("all", 1500, 1500), ("no", 3000, 0)] {
        cluster.reset();
        let ran = cluster.run(&format!("-n 3000 -r 1000 --rfr {rfr} get key:__rand_int__")).ok();
        let calls = cluster.calls("get");
        let (of_masters, of_replicas) = calls.split_at(3);
        assert_eq!(calls.iter().sum::<u64>(), 3000, "--rfr {rfr}: {calls:?}");
        for (got, expected) in [(of_masters, masters), (of_replicas, replicas)] {
            let got: u64 = got.iter().sum();
            assert!(got.abs_diff(expected) <= 3, "--rfr {rfr}: {calls:?}");
        }
        if rfr == "yes" {
            assert_eq!(row(&ran, cluster.nodes[3].port()), (calls[3], 0));
        }
    }
    cluster.reset();
    cluster.run("-q -n 300 -r 100 --rfr yes set key:__rand_int__ v").ok();
    assert_eq!(cluster.calls("set")[..3].iter().sum::<u64>(), 300, "writes go to masters");
}

fn a_user_needs_few_permissions(cluster: &Cluster) {
    for node in &cluster.nodes {
        let user = ["ACL", "SETUSER", "ann", "on", ">secret1", "~*", "+set", "+cluster|slots"];
        assert_eq!(node.ask(&user).text().as_deref(), Some("OK"));
    }
    cluster.reset();
    let line = "-q -n 300 -r 100 --user ann -a secret1 set key:__rand_int__ v";
    cluster.run(line).ok().keeps_secret("secret1");
    assert_eq!(cluster.calls("set")[..3].iter().sum::<u64>(), 300);
    for node in &cluster.nodes {
        node.ask(&["ACL", "SETUSER", "ann", "-cluster|slots"]);
    }
    cluster.run(line).exits(1).says("+cluster|shards").keeps_secret("secret1");
}

fn a_schedule_is_kept(cluster: &Cluster) {
    cluster.reset();
    cluster.run("-n 1000 --rps 2000 -r 1000 -c 6 incr key:__rand_int__").ok();
    assert_eq!(cluster.calls("incr")[..3].iter().sum::<u64>(), 1000);
}

/// Moves slots from the first master to the second, keys and all, as `redis-cli --cluster
/// reshard` does.
fn slots_move_while_load_runs(cluster: &Cluster) {
    cluster.reset();
    let running = cluster
        .keystorm("--duration 6 -c 12 -P 4 -r 20000 --on-error stop incr key:__rand_int__")
        .start();
    load_arrives(cluster);
    move_slots(cluster, 0..150);
    let ran = running.wait().ok();
    let (requests, _) = ran.completed();
    let calls = cluster.calls("incr");
    assert_eq!(calls[..3].iter().sum::<u64>(), requests, "{}", ran.out);
    let redirects: u64 = cluster.masters().iter().map(|node| row(&ran, node.port()).1).sum();
    assert!(redirects > 0, "{}", ran.out);
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
    for (node, calls) in cluster.masters().iter().zip(&calls) {
        assert_eq!(row(&ran, node.port()).0, *calls, "{}", ran.out);
    }
}

/// Waits until every master has load.
pub(crate) fn load_arrives(cluster: &Cluster) {
    let runs = || cluster.masters().iter().all(|node| node.calls("incr") > 300);
    assert!(within(PATIENCE, runs), "load reaches every master");
}

/// Waits until every master has load, and has had it for a few intervals.
pub(crate) fn load_runs(cluster: &Cluster) {
    load_arrives(cluster);
    let least = || cluster.masters().iter().map(|node| node.calls("incr")).min().unwrap_or(0);
    goes_on(4, least);
}

/// The number after these words; 0 without them.
pub(crate) fn figure(ran: &RunOutput, words: &str) -> u64 {
    let after = ran.out.split(words).nth(1).map_or("0", |rest| rest.split(' ').next().unwrap());
    after.trim().parse().unwrap()
}

#[test]
fn one_node_is_a_cluster_too() {
    let cluster = Cluster::new(1, 0, &[]);
    let ran = cluster.run("-n 1000 -r 100 -P 4 incr key:__rand_int__").ok();
    ran.prints(", cluster of 1 master\n");
    assert_eq!(cluster.calls("incr"), [1000]);
    let ran = cluster.run("-n 100 -r 100 -q --rfr yes get key:__rand_int__").ok();
    ran.says("warning: --rfr: 1 of 1 primaries have no ready replica");
    assert_eq!(cluster.calls("get"), [100]);
    // By its unix socket, and by a name.
    let socket = cluster.nodes[0].socket();
    Keystorm::new(&format!("-s {} --cluster -q -n 10 ping", socket.display())).run().ok();
    let port = cluster.nodes[0].port();
    Keystorm::new(&format!("-h localhost -p {port} --cluster -q -n 10 ping")).run().ok();
}

#[test]
fn what_is_no_cluster_is_stated() {
    let server = Server::redis();
    server.run("--cluster -n 10 ping").exits(1).says("not a cluster node").says("--cluster");
    server.run("--rfr yes -n 10 ping").exits(2).says("--rfr requires --cluster");
    let empty = Server::redis_with(&["--cluster-enabled", "yes"]);
    empty.run("--cluster -n 10 ping").exits(1).says("without assigned slots");
}
