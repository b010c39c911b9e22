//! Every check, both ways: on a recording of a good machine and server, and on a spoilt one.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use host::HostFacts;
use host::doctor::{
    Area, CHECKS, Clients, Evidence, Info, Level, Load, MemcacheEvidence, MemcachedCounts,
    RoundTrips, ServerEvidence, ServerLocation, SlowCommand, Traffic, cheap, examine,
};
use host::machine::{CpuTimes, Delays, Intrinsic};

const VM: &str = include_str!("recorded/vm.tree");
const INFO: &str = include_str!("recorded/redis-7.0.15.info");
const CONFIG: &str = include_str!("recorded/redis-7.0.15.config");
const MONITORED: &str = include_str!("recorded/monitored.clients");

/// A machine that delays every moment and timer by up to this many microseconds.
fn intrinsic(us: f64) -> Option<Intrinsic> {
    let delays = Delays {
        count: 1,
        p50_us: 0.0,
        p90_us: us / 4.0,
        p99_us: us / 2.0,
        p999_us: us,
        p9999_us: us,
        max_us: us,
    };
    let (busy, timers) = (delays, delays);
    let (stolen, waited) = (Some(0.0), Some(0.0));
    Some(Intrinsic { seconds: 1.0, busy, timers, interrupted: 0.0, stolen, waited })
}

/// The facts in which a good machine differs from the recorded one.
const METAL: &str = "== proc/cpuinfo\nprocessor : 0\nmodel name : EPYC\nflags : fpu tsc\n\
    == proc/sys/vm/overcommit_memory\n1\n== proc/loadavg\n0.01 0.02 0.03 1/9 9\n\
    == proc/stat\ncpu  967057 24675 295503 2465744 70398 0 73004 3586 0 0\nprocs_running 1\n\
    == proc/pressure/cpu\nsome avg10=0.00 avg60=0.00 avg300=0.00 total=1\n\
    == proc/pressure/io\nsome avg10=0.00 avg60=0.00 avg300=0.00 total=1\n\
    == sys/devices/system/cpu/cpufreq/policy0/scaling_governor\nperformance\n\
    == sys/devices/system/cpu/cpufreq/boost\n0\n== sys/class/net/eth0/speed\n25000\n\
    == sys/class/net/eth0/mtu\n1500\n";

/// The facts in which a spoilt machine differs.
const SPOILT: &str = "== proc/loadavg\n9.00 9.00 9.00 1/9 9\n\
    == proc/stat\ncpu  967057 24675 295503 2465744 70398 0 73004 3586 0 0\nprocs_running 9\n\
    == proc/pressure/cpu\nsome avg10=60.00 avg60=0.00 avg300=0.00 total=1\n\
    == proc/pressure/memory\nsome avg10=30.00 avg60=0.00 avg300=0.00 total=1\n\
    == proc/pressure/io\nsome avg10=30.00 avg60=0.00 avg300=0.00 total=1\n\
    == proc/meminfo\nMemTotal: 8000000 kB\nSwapTotal: 4000000 kB\nSwapFree: 1000000 kB\n\
    == sys/devices/system/cpu/cpufreq/policy0/scaling_governor\npowersave\n\
    == sys/devices/system/cpu/intel_pstate/no_turbo\n0\n\
    == sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n\
    == sys/kernel/mm/transparent_hugepage/enabled\n[always] madvise never\n\
    == sys/fs/cgroup/cpu.max\n50000 100000\n\
    == sys/devices/system/cpu/online\n0-7\n\
    == sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list\n0-3\n\
    == sys/devices/system/cpu/cpu4/cache/index3/shared_cpu_list\n4-7\n\
    == sys/devices/system/node/node0/cpulist\n0-3\n== sys/devices/system/node/node1/cpulist\n4-7\n\
    == proc/self/limits\nMax open files 64 64 files\n\
    == proc/sys/net/ipv4/ip_local_port_range\n32768 32799\n\
    == proc/sys/net/ipv4/tcp_tw_reuse\n0\n== proc/sys/net/core/somaxconn\n16\n\
    == sys/class/net/eth0/speed\n100\n";

/// Facts of recorded trees laid over each other: `== path` and its text, `-> path` and its target.
fn host(trees: &[&str]) -> HostFacts {
    let dir = tempfile::tempdir().unwrap();
    for part in trees.iter().flat_map(|tree| {
        format!("\n{tree}").split("\n== ").skip(1).map(str::to_owned).collect::<Vec<_>>()
    }) {
        let (file, link) =
            part.split_once("\n-> ").map_or((part.as_str(), None), |(f, l)| (f, Some(l)));
        let (path, text) = file.split_once('\n').unwrap_or((file, ""));
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        if let Some((from, to)) = link.and_then(|link| link.split_once('\n')) {
            std::os::unix::fs::symlink(to.trim(), dir.path().join(from)).unwrap();
        }
    }
    HostFacts::read_from(dir.path())
}

fn config(changes: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = CONFIG.lines().map(|line| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    });
    let mut config: BTreeMap<String, String> = pairs.collect();
    config.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    config
}

fn info(changes: &[(&str, &str)]) -> Info {
    let lines = INFO.lines().map(|line| {
        let name = line.split(':').next().unwrap_or_default();
        let change = changes.iter().find(|(changed, _)| *changed == name);
        change.map_or(line.to_owned(), |(name, value)| format!("{name}:{value}"))
    });
    Info::parse(&lines.collect::<Vec<_>>().join("\r\n"))
}

fn trips(us: u64, slow_us: u64) -> Result<RoundTrips, String> {
    let mut samples = vec![Duration::from_micros(us); 95];
    samples.extend([Duration::from_micros(slow_us); 5]);
    Ok(RoundTrips::from_samples(samples).unwrap())
}

fn good() -> Evidence {
    let server = ServerEvidence {
        info: Ok(info(&[
            ("redis_version", "7.2.5"),
            ("used_memory", "1073741824"),
            ("mem_fragmentation_ratio", "1.1"),
        ])),
        config: Ok(config(&[("latency-monitor-threshold", "100")])),
        clients: Ok(Clients::default()),
        slowlog: Ok(0),
        slow_commands: vec![],
        latency_events: Ok(vec![]),
        missing_commands: Ok(vec![]),
        forbidden_commands: Ok(vec![]),
        traffic: Ok(Traffic { commands: 0, seconds: 1.0 }),
        data_filesystem: Ok("ext4".into()),
    };
    Evidence {
        meanwhile: Some(CpuTimes { total: 200, idle: 190, steal: 0, work: 10 }),
        location: ServerLocation::Local,
        round_trips: trips(40, 60),
        server: Ok(server),
        intrinsic: intrinsic(60.0),
        ..Evidence::of_host(host(&[VM, METAL]), Load::default())
    }
}

fn spoilt() -> Evidence {
    let load =
        Load { rate_per_s: Some(1e6), value_bytes: 20_000, keep_alive: false, ..Load::default() };
    let server = ServerEvidence {
        info: Ok(info(&[
            ("redis_version", "7.0.4"),
            ("arch_bits", "32"),
            ("mem_allocator", "libc"),
            ("used_memory", "1073741824"),
            ("mem_fragmentation_ratio", "0.5"),
        ])),
        config: Ok(config(&[
            ("loglevel", "debug"),
            ("save", "3600 1"),
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("maxmemory", "1073741824"),
            ("maxmemory-policy", "allkeys-lru"),
            ("io-threads", "64"),
            ("maxclients", "10"),
            ("slowlog-log-slower-than", "0"),
        ])),
        clients: Ok(Clients::parse(MONITORED, Some("6")).unwrap()),
        slowlog: Ok(128),
        slow_commands: vec![],
        latency_events: Ok(vec![("fork".into(), 90)]),
        missing_commands: Ok(vec!["CONFIG".into()]),
        forbidden_commands: Ok(vec!["SET".into()]),
        traffic: Ok(Traffic { commands: 5000, seconds: 1.0 }),
        data_filesystem: Ok("nfs4".into()),
    };
    Evidence {
        meanwhile: Some(CpuTimes { total: 100, idle: 0, steal: 20, work: 80 }),
        location: ServerLocation::Local,
        round_trips: trips(100, 9000),
        server: Ok(server),
        intrinsic: intrinsic(8_000.0),
        ..Evidence::of_host(host(&[VM, SPOILT]), load)
    }
}

#[test]
fn what_is_off_or_was_not_seen_is_not_called_good() {
    let with = |change: fn(&mut ServerEvidence)| {
        let mut evidence = good();
        change(evidence.server.as_mut().unwrap());
        examine(&evidence)
    };
    let unknown = |found: &[host::doctor::Finding], name: &str, words: &str| {
        let finding = found.iter().find(|finding| finding.name == name).unwrap();
        assert!(finding.level == Level::Unknown && finding.seen.contains(words), "{finding:?}");
    };
    let off = with(|server| server.config = Ok(config(&[("latency-monitor-threshold", "0")])));
    unknown(&off, "latency monitor", "off (latency-monitor-threshold 0)");
    let off = with(|server| server.config = Ok(config(&[("slowlog-log-slower-than", "-1")])));
    unknown(&off, "slowlog", "off (slowlog-log-slower-than -1): the server records no slow");
    let hidden = with(|server| server.config = Err("CONFIG is renamed".into()));
    unknown(&hidden, "latency monitor", "it may be off: CONFIG is renamed");
    unknown(&hidden, "slowlog", "threshold unknown: CONFIG is renamed");
    let small = with(|server| server.info = Ok(info(&[("used_memory", "1000000")])));
    unknown(&small, "fragmentation", "too little data");
    let alone = with(|server| server.clients = Err("CLIENT is renamed".into()));
    unknown(&alone, "monitors", "CLIENT is renamed");
    unknown(&alone, "maxclients", "the number of other clients is unknown: CLIENT is renamed");
    let silent = with(|server| server.info = Err("INFO is renamed".into()));
    unknown(&silent, "save", "whether a snapshot is being written is unknown: INFO is renamed");
    unknown(&silent, "appendonly", "whether a file is being rewritten is unknown");
    // A text that lists nobody is no list: this connection stands in it.
    assert_eq!(Clients::parse("OK", Some("1")), None);
    let mut evidence = good();
    evidence.host.network.time_wait = None;
    unknown(&examine(&evidence), "port range", "does not report how many are in TIME_WAIT");
}

/// The evidence, with the server behind `eth0`.
fn remote(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    let address = "192.0.2.9".parse().unwrap();
    evidence.location = ServerLocation::Remote { address, interface: Some("eth0".into()) };
    evidence
}

#[test]
fn a_good_machine_and_server_have_no_fault() {
    for finding in examine(&good()) {
        assert_eq!(finding.level, Level::Ok, "{finding:?}");
        assert!(finding.mend.is_empty(), "{finding:?}");
    }
    for finding in examine(&remote(&good())).iter().filter(|f| f.level != Level::Ok) {
        let here_only = ["data directory", "accept queue"].contains(&finding.name.as_str());
        assert!(here_only && finding.level == Level::Unknown, "{finding:?}");
        assert!(finding.seen.contains("another machine"), "{finding:?}");
    }
}

#[test]
fn a_spoilt_machine_and_server_have_every_fault() {
    let here = examine(&spoilt());
    let mut far = spoilt();
    // A card with two queues on one CPU, and flow tables without the common one.
    for card in far.host.network.interfaces.iter_mut().filter(|card| card.name == "eth0") {
        (card.rx_queues, card.rfs_queues, card.irq_cpus) = (2, 2, vec![0]);
    }
    let far = examine(&remote(&far));
    for (here, far) in here.iter().zip(&far) {
        // What has to do with a network card shows where the server is elsewhere.
        let finding = if here.level >= Level::Warn { here } else { far };
        assert!(finding.level >= Level::Warn, "{finding:?}");
        assert!(!finding.why.is_empty() && !finding.mend.is_empty(), "{finding:?}");
    }
}

#[test]
fn what_loses_data_is_advised_for_nobody_elses_server() {
    let cases = [
        ("db0:keys=3,expires=0,avg_ttl=0", Clients::default(), Some("it holds 3 keys")),
        ("", Clients { others: 2, ..Clients::default() }, Some("it serves 2 other clients")),
        ("", Clients::default(), None),
    ];
    let dangerous = ["save ''", "appendonly no", "maxmemory 0", "noeviction", "then restart"];
    for (more, clients, why) in cases {
        let mut evidence = spoilt();
        let server = evidence.server.as_mut().unwrap();
        let text = format!(
            "{INFO}\nused_memory:1073741824\nmem_fragmentation_ratio:0.5\nrdb_bgsave_in_progress:0\n\
             aof_rewrite_in_progress:0\n{more}"
        );
        (server.info, server.clients) = (Ok(Info::parse(&text)), Ok(clients));
        let found = examine(&evidence);
        for name in ["save", "appendonly", "maxmemory", "maxmemory policy", "fragmentation"] {
            let mend = &found.iter().find(|finding| finding.name == name).unwrap().mend;
            match why {
                Some(why) => {
                    assert!(mend.contains(why) && mend.contains("--spawn"), "{name}: {mend}");
                    assert!(!dangerous.iter().any(|words| mend.contains(words)), "{name}: {mend}");
                }
                None => assert!(!mend.contains("--spawn"), "{name}: {mend}"),
            }
        }
    }
}

#[test]
fn slow_commands_that_a_log_holds_are_shown() {
    let mut evidence = good();
    let server = evidence.server.as_mut().unwrap();
    let command = |what: &str, us, s| SlowCommand {
        what: what.to_owned(),
        ran: Duration::from_micros(us),
        ago: Duration::from_secs(s),
    };
    server.config = Ok(config(&[("slowlog-log-slower-than", "10000")]));
    server.slowlog = Ok(2);
    server.slow_commands = vec![command("KEYS *", 78_000, 600), command("SET k", 400, 5)];
    let found = examine(&evidence);
    let finding = found.iter().find(|finding| finding.name == "slowlog").unwrap();
    assert_eq!(finding.level, Level::Warn);
    assert_eq!(finding.seen, "from 10000 µs, 2 entries; slowest: KEYS * 78.0 ms, 10 min ago");
}

#[test]
fn delays_of_the_machine_are_judged_by_what_they_hide() {
    for (us, level) in [(900.0, Level::Ok), (1_500.0, Level::Warn), (2_100.0, Level::Bad)] {
        let found = examine(&Evidence { intrinsic: intrinsic(us), ..good() });
        for name in ["busy thread", "timers"] {
            let finding = found.iter().find(|finding| finding.name == name).unwrap();
            assert_eq!(finding.level, level, "{finding:?}");
        }
    }
}

#[test]
fn a_report_of_a_test_tells_what_competed_with_it() {
    let mut busy = spoilt();
    (busy.host.load.running_beside, busy.host.load.average) = (Some(7.2), None);
    busy.host.cpu.logical = Some(2);
    let found = examine(&busy);
    let load = found.iter().find(|finding| finding.name == "load").unwrap();
    assert_eq!(
        load.of_test(),
        "load: other programs competed for the CPU: 7.2 runnable tasks on 2 CPUs when the test \
         began; see keystorm doctor"
    );
}

#[test]
fn without_evidence_everything_is_unknown_and_says_why() {
    let nothing = Evidence::of_host(HostFacts::default(), Load::default());
    for finding in examine(&nothing) {
        assert_eq!(finding.level, Level::Unknown, "{finding:?}");
        assert!(!finding.seen.is_empty(), "{finding:?}");
    }
    let of_redis = CHECKS.iter().filter(|check| check.is_for(&nothing)).count();
    assert_eq!(examine(&nothing).len(), of_redis);
    let nothing = Evidence { memcache: Some(Err("nobody answers".into())), ..nothing };
    let found = examine(&nothing);
    assert!(found.iter().all(|finding| finding.level == Level::Unknown), "{found:?}");
    assert!(found.len() < CHECKS.len() && nothing.unasked() == Some("nobody answers"));
}

/// The figures of a memcached that was just started, changed by the given ones.
fn memcache(
    stats: &[(&str, &str)],
    settings: &[(&str, &str)],
    grown: MemcachedCounts,
) -> MemcacheEvidence {
    let of = |all: &[(&str, &str)], changes: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = all.iter().chain(changes);
        pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let text = [
        ("version", "1.6.38"),
        ("curr_connections", "2"),
        ("rejected_connections", "0"),
        ("listen_disabled_num", "0"),
        ("conn_yields", "0"),
        ("bytes", "1000"),
        ("limit_maxbytes", "1073741824"),
        ("evictions", "0"),
        ("hash_power_level", "16"),
        ("hash_is_expanding", "0"),
    ];
    let set = [
        ("num_threads", "1"),
        ("reqs_per_event", "20"),
        ("maxconns", "1024"),
        ("item_size_max", "1048576"),
        ("tcp_backlog", "1024"),
        ("evictions", "on"),
    ];
    let (stats, settings) = (of(&text, stats), Ok(of(&set, settings)));
    MemcacheEvidence { stats, settings, grown: Ok(grown), listening: Some(2) }
}

#[test]
fn a_good_memcached_has_no_fault_and_a_spoilt_one_every() {
    let fresh = memcache(&[], &[], MemcachedCounts { seconds: 1.0, ..MemcachedCounts::default() });
    let well = Evidence { memcache: Some(Ok(fresh)), ..good() };
    let found = examine(&well);
    assert!(found.iter().all(|finding| finding.level == Level::Ok), "{found:?}");
    // Of the two connections that it counts beside one that does not count, two only listen.
    assert!(found.iter().any(|finding| finding.seen.ends_with("0 other clients")), "{found:?}");
    assert!(!found.iter().any(|finding| finding.name == "appendonly"));
    let stats = [
        ("version", "1.6.18"),
        ("conn_yields", "5"),
        ("listen_disabled_num", "1"),
        ("bytes", "67000000"),
        ("limit_maxbytes", "67108864"),
        ("evictions", "9"),
        ("hash_is_expanding", "1"),
    ];
    let settings = [
        ("num_threads", "64"),
        ("maxconns", "60"),
        ("item_size_max", "1024"),
        ("tcp_backlog", "16"),
        ("evictions", "off"),
    ];
    let grown = MemcachedCounts { commands: 5000, evictions: 3, seconds: 1.0 };
    let load = Load { pipeline: 64, value_bytes: 2000, ..Load::default() };
    let badly = memcache(&stats, &settings, grown);
    let badly = Evidence { memcache: Some(Ok(badly)), load, ..spoilt() };
    for finding in
        examine(&badly).iter().filter(|f| f.area == Area::Server || f.name == "accept queue")
    {
        assert!(finding.level >= Level::Warn && !finding.mend.is_empty(), "{finding:?}");
    }
}

#[test]
fn connections_that_threads_cannot_share_evenly_are_reported() {
    let of = |connections: u32| {
        let fresh = memcache(&[], &[("num_threads", "4")], MemcachedCounts::default());
        let load = Load { connections, ..Load::default() };
        let mut evidence = Evidence { memcache: Some(Ok(fresh)), load, ..remote(&good()) };
        evidence.host.cpu.logical = Some(16);
        let found = examine(&evidence);
        let threads = found.into_iter().find(|finding| finding.name == "threads").unwrap();
        (threads.level, threads.mend)
    };
    assert_eq!(of(52).0, Level::Ok);
    assert_eq!(of(50), (Level::Warn, "-c 52, a multiple of -t 4".to_owned()));
}

#[test]
fn a_server_elsewhere_is_not_judged_by_this_machine() {
    let far = examine(&remote(&spoilt()));
    let of = |name: &str| far.iter().find(|finding| finding.name == name).unwrap();
    for name in ["data directory", "accept queue"] {
        assert_eq!(of(name).level, Level::Unknown);
    }
    assert_eq!(of("io-threads").level, Level::Ok);
}

#[test]
fn the_cheap_ones_are_those_of_this_machine() {
    let found = cheap(&host(&[VM, SPOILT]), &Load::default());
    assert!(found.iter().any(|f| f.name == "swap" && f.level == Level::Bad), "{found:?}");
    assert!(found.iter().all(|f| f.level != Level::Unknown || f.name == "turbo"), "{found:?}");
}
