//! `keystorm ycsb … memcached`: records as JSON objects, added, replaced and got.

use crate::memcached::Memcached;
use crate::program::{Keystorm, RunOutput};
use crate::ycsb::count;

fn ycsb(server: &Memcached, phase: &str, rest: &str) -> RunOutput {
    let hosts = format!("memcached.hosts=127.0.0.1:{}", server.port());
    Keystorm::new(&format!("ycsb {phase} memcached -p {hosts} {rest}")).run()
}

const KEY_0: &str = "usertable-user6284781860667377211";

/// The object of record 0.
fn record(server: &Memcached) -> serde_json::Value {
    let reply = server.say(&format!("get {KEY_0}\n"));
    let (_, rest) = reply.split_once("\r\n").unwrap();
    let (object, _) = rest.rsplit_once("\r\nEND").unwrap();
    serde_json::from_str(object).unwrap()
}

#[test]
fn records_are_objects_that_are_added_replaced_and_got() {
    let server = Memcached::new();
    let small = "-P workloads/workloada -p recordcount=1 -p operationcount=40 -p fieldlength=50";
    let load = ycsb(&server, "load", small).ok();
    assert_eq!(count(&load.out, "INSERT", "Return=OK"), 1);
    let object = record(&server);
    assert_eq!(object.as_object().unwrap().len(), 10);
    assert_eq!(object["field9"].as_str().unwrap().len(), 50);
    let again = ycsb(&server, "load", small).ok();
    assert_eq!(count(&again.out, "INSERT", "Return=ERROR"), 1, "what is there is not added");
    assert_eq!(count(&again.out, "INSERT-FAILED", "Operations"), 1);
    let uniform = "-p requestdistribution=uniform";
    let ran = ycsb(&server, "run", &format!("{small} {uniform}")).ok();
    assert_eq!(count(&ran.out, "READ", "Return=OK") + count(&ran.out, "UPDATE", "Return=OK"), 40);
    assert_eq!(record(&server).as_object().unwrap().len(), 1, "an update leaves what it wrote");
    let all = format!("{small} {uniform} -p writeallfields=true -p memcached.protocol=binary");
    ycsb(&server, "run", &all).ok();
    assert_eq!(record(&server).as_object().unwrap().len(), 10);
}

#[test]
fn a_miss_is_no_failure_of_a_read_and_one_of_an_update() {
    let server = Memcached::new();
    let run = "-P workloads/workloada -p recordcount=10 -p operationcount=100";
    let ran = ycsb(&server, "run", run).ok();
    assert_eq!(count(&ran.out, "READ", "Return=ERROR"), 0);
    assert!(
        count(&ran.out, "READ", "Return=OK") > 20 && count(&ran.out, "READ", "Operations") > 20
    );
    assert_eq!(count(&ran.out, "UPDATE", "Return=OK"), 0);
    assert!(count(&ran.out, "UPDATE-FAILED", "Operations") > 20);
}

#[test]
fn several_hosts_have_the_keys_that_spymemcached_gives_them() {
    let servers = [Memcached::new(), Memcached::new()];
    let [a, b] = servers.each_ref().map(Memcached::port);
    let hosts = format!("-p memcached.hosts=127.0.0.1:{a},127.0.0.1:{b}");
    let of = |phase: &str, rest: &str| {
        Keystorm::new(&format!("ycsb {phase} memcached {hosts} -p recordcount=4 {rest}")).run()
    };
    of("load", "-P workloads/workloadc -p fieldlength=9").ok();
    // Records 0 to 3; spymemcached's own test vectors are in crates/wire.
    for (hash, place) in [
        ("6284781860667377211", 1),
        ("8517097267634966620", 1),
        ("1820151046732198393", 0),
        ("4052466453699787802", 0),
    ] {
        for (at, server) in servers.iter().enumerate() {
            let reply = server.say(&format!("get usertable-user{hash}\n"));
            assert_eq!(reply.starts_with("VALUE "), at == place, "{hash} on {at}: {reply}");
        }
    }
    let all = "-p requestdistribution=uniform -p operationcount=100 -threads 3";
    let ran = of("run", &format!("-P workloads/workloadf -p fieldlength=9 {all}")).ok();
    assert_eq!(count(&ran.out, "READ", "Return=OK"), 100);
    let figure = |server: &Memcached, name: &str| {
        let stats = server.say("stats\n");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    let sum = |name: &str| servers.iter().map(|server| figure(server, name)).sum::<u64>();
    // Those that looked for the keys above: four were there, four were not.
    assert_eq!((sum("get_hits"), sum("get_misses")), (104, 4));
    assert_eq!(sum("cmd_set"), 4 + count(&ran.out, "UPDATE", "Return=OK"));
}

#[test]
fn what_memcached_cannot_do_is_refused_by_name() {
    let server = Memcached::new();
    for (rest, why) in [
        ("-P workloads/workloade", "scanproportion"),
        ("-P workloads/workloada -p memcached.hosts=a,b:x", "the port is no number"),
        ("-P workloads/workloada -p memcached.hosts=a,", "a host is missing"),
        ("-P workloads/workloada -p memcached.protocol=udp", "text or binary"),
        ("-P workloads/workloada -p memcached.failureMode=Retry", "memcached.failureMode"),
    ] {
        let ran = ycsb(&server, "run", rest).exits(2);
        assert!(ran.err.contains(why), "{rest}: {}", ran.err);
    }
    let nowhere = Keystorm::new("ycsb run memcached -P workloads/workloada").run().exits(2);
    assert!(nowhere.err.contains("memcached.hosts"), "{}", nowhere.err);
}

#[test]
fn checked_values_are_checked_in_records_too() {
    let server = Memcached::new();
    for protocol in ["text", "binary"] {
        server.say("flush_all\n");
        let line = format!(
            "-P workloads/workloadc -p recordcount=20 -p operationcount=100 -p dataintegrity=true \
             -p requestdistribution=sequential -p memcached.protocol={protocol}"
        );
        ycsb(&server, "load", &line).ok();
        let object = record(&server);
        let value = object["field0"].as_str().unwrap();
        assert!(
            value.starts_with("user6284781860667377211:field0:-56807877:2032869390:"),
            "{value}"
        );
        let good = ycsb(&server, "run", &line).ok();
        assert_eq!(count(&good.out, "VERIFY", "Return=OK"), 100);
        let wrong = object.to_string().replace(":-10\"", ":-11\"");
        assert_ne!(wrong, object.to_string());
        server.say(&format!("set {KEY_0} 0 0 {}\n{wrong}\n", wrong.len()));
        let bad = ycsb(&server, "run", &line).exits(1);
        assert_eq!(count(&bad.out, "VERIFY", "Return=UNEXPECTED_STATE"), 5);
        assert_eq!(count(&bad.out, "VERIFY", "Return=OK"), 95);
        assert_eq!(count(&bad.out, "READ", "Return=OK"), 100);
        // What was updated in part is one field, which is right, and what is gone is nothing.
        let one = format!("{line} -p updateproportion=1 -p readproportion=0");
        ycsb(&server, "run", &one).ok();
        assert_eq!(count(&ycsb(&server, "run", &line).ok().out, "VERIFY", "Return=OK"), 100);
        server.say(&format!("delete {KEY_0}\n"));
        let missing = ycsb(&server, "run", &line);
        assert_eq!(count(&missing.out, "VERIFY", "Return=ERROR"), 5, "{}", missing.out);
        assert_eq!(count(&missing.out, "READ", "Return=OK"), 100);
    }
}
