//! Tables: the servers that they start, and the terms common to both sides.

use workload::{Arg, CommandSpec, Credentials, KeySpace, Pace, ProtocolKind, Stop};

use super::*;

fn machine(cores: usize) -> Machine {
    let cpus: Vec<usize> = (0..cores).collect();
    Machine { cores: cpus.iter().map(|cpu| vec![*cpu]).collect(), cpus, ..Machine::default() }
}

fn spawned(program: &str, args: &[&str], protocol: ProtocolKind) -> Side {
    let endpoint = Endpoint::Spawned {
        program: Some(program.to_owned()),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        unix: false,
        cpus: Vec::new(),
        counted: false,
    };
    Side { target: Target { endpoint, ..Target::default() }, protocol }
}

fn test(words: &[&str]) -> Test {
    let plan = r#"{"name":"t","target":{"endpoint":{"unix":"/s"},"db":0,"tracking":false,"mptcp":false},
        "protocol":"resp2","engine":"auto","sequence":[{"args":[[{"bytes":"PING"}]]}],
        "load":{"concurrency":{"workers":1,"multi_thread":false,"connections":50,"pipeline_depth":32,
        "window":"batch","keep_alive":true},"pace":"closed","warmup_ns":0,"stop":{"requests":1000},"seed":7},
        "data":{"keys":{"range":1000,"draw":"uniform"},"payload_bytes":3},
        "recording":{"precision":3,"first_byte":false},"recovery":{"on_error":"stop","reconnect":false}}"#;
    let plan: Plan = serde_json::from_str(plan).unwrap();
    let mut load = PlanParts { sequence: vec![CommandSpec::parse(words)], ..(*plan).clone() };
    load.data.keys = KeySpace { range: Some(1000), ..KeySpace::default() };
    Test { name: words[0].to_owned(), load, value: Arg::literal(b"v") }
}

fn terms() -> ComparisonTerms {
    let keys: Vec<&str> = ["mget"].into_iter().chain(["k:__rand_int__"; 10]).collect();
    ComparisonTerms {
        sides: [
            spawned("redis-server", &["my.conf", "--hz", "5"], ProtocolKind::Resp2),
            spawned("/opt/memcached", &[], ProtocolKind::MemcacheText),
        ],
        tests: vec![test(&["get", "k:__rand_int__"]), test(&keys)],
        kinds: TermKind::ALL.to_vec(),
        cores: None,
        threads_given: false,
        cpus_given: false,
    }
}

fn arguments(target: &Target) -> (String, Vec<usize>) {
    match &target.endpoint {
        Endpoint::Spawned { args, cpus, .. } => (args.join(" "), cpus.clone()),
        other => panic!("{other}"),
    }
}

#[test]
fn each_table_starts_what_it_is_named_for() {
    let terms = terms();
    let (tables, left_out) = terms.tables(&machine(8)).unwrap();
    assert_eq!(left_out, [""; 0]);
    let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Per core",
            "Per machine: 4 processes of redis-server",
            "Per machine: redis-server with 4 I/O threads",
            "Multi-get, by keys and by requests",
            "Multi-get over 4 processes of redis-server",
        ]
    );
    let of = |table: usize, side: usize| arguments(&tables[table].servers[side][0]);
    let evicts = "--maxmemory-policy allkeys-lru";
    let redis = format!("my.conf --maxmemory 1024mb {evicts} --hz 5");
    assert_eq!(of(0, 0), (redis, vec![0]));
    // The pipelines of 32 are not cut.
    assert_eq!(of(0, 1), ("-t 1 -R 32".to_owned(), vec![0]));
    assert_eq!((tables[1].servers[0].len(), tables[1].servers[1].len()), (4, 1));
    assert_eq!(of(1, 1), ("-t 4 -R 32".to_owned(), vec![0, 1, 2, 3]));
    assert!(of(1, 0).0.contains("--maxmemory 256mb"), "all together have as much");
    assert!(of(2, 0).0.contains("--io-threads 4"));
    assert_eq!(tables[0].paired_loads[0].sides[0][0].load.concurrency.cpus, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn shares_of_a_load_are_the_same_on_both_sides_and_divide_all_of_it() {
    let (tables, _) = terms().tables(&machine(4)).unwrap();
    let [a, b] = &tables[1].paired_loads[0].sides;
    assert_eq!((a.len(), b.len()), (2, 2));
    for (share, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a.data.keys.range, Some(500));
        assert_eq!(a.load.stop, Stop::Requests(500));
        assert_eq!((a.load.concurrency.connections, a.load.concurrency.workers), (25, 1));
        assert_eq!(
            (&a.load.concurrency, &a.data.keys, a.load.seed),
            (&b.load.concurrency, &b.data.keys, b.load.seed)
        );
        let key = |plan: &Plan| format!("{:?}", plan.sequence[0].args[1]);
        assert_eq!(key(a), key(b));
        assert!(key(a).contains(&format!("{:?}", format!("s{share}:").as_bytes())), "{}", key(a));
        assert_ne!(a.protocol, b.protocol);
    }
    let split = &tables[4].paired_loads[0].sides;
    let keys = |side: usize| split[side][0].keys_per_request();
    assert_eq!((keys(0), keys(1)), (Some(5.0), Some(10.0)), "each process has half of the keys");
}

#[test]
fn latencies_are_compared_at_shares_of_the_slower_ones_best() {
    let terms = terms();
    let best = [("get".to_owned(), 1000.0)];
    let table = terms.latency(&machine(2), &best).unwrap().unwrap();
    let rates: Vec<f64> = table
        .paired_loads
        .iter()
        .map(|paired| paired.sides[1][0].load.pace.schedule().unwrap().peak_per_s())
        .collect();
    assert_eq!(rates, [500.0, 800.0]);
    assert!(
        table.paired_loads[0].name.starts_with("get at 500 requests/s"),
        "{}",
        table.paired_loads[0].name
    );
    assert!(terms.latency(&machine(2), &[]).unwrap().is_none());
}

#[test]
fn what_cannot_be_measured_here_is_left_out_with_its_reason() {
    let mut terms = terms();
    let (tables, left_out) = terms.tables(&machine(2)).unwrap();
    assert_eq!((tables.len(), left_out.len()), (2, 2));
    assert!(left_out[0].contains("--cores 2"), "{left_out:?}");
    terms.cores = Some(2);
    let (tables, left_out) = terms.tables(&machine(2)).unwrap();
    assert_eq!((tables.len(), left_out.len()), (5, 0));
    assert!(tables[1].text.contains("they share them"), "{}", tables[1].text);
    terms.sides[1].target.endpoint = Endpoint::default();
    let (tables, left_out) = terms.tables(&machine(8)).unwrap();
    assert_eq!((tables.len(), left_out.len()), (2, 2));
    assert_eq!(tables[0].title, "As the servers run");
    assert_eq!(tables[0].servers[1], [Target::default()]);
    assert!(tables[0].paired_loads[0].sides[0][0].load.concurrency.cpus.is_empty());
}

#[test]
fn what_is_equal_is_reported_and_what_is_not() {
    let mut terms = terms();
    let describe = |terms: &ComparisonTerms| format!("{:?}", terms.equal());
    assert!(
        describe(&terms).contains("1,000 keys, each equally likely")
            && describe(&terms).contains("TCP")
    );
    terms.sides[0].target.endpoint = Endpoint::Unix("/s".into());
    assert!(describe(&terms).contains("NOT equal: a unix socket to A and TCP to B"));
    terms.tests[0].load.load.pace = Pace::Closed;
    terms.sides[0].target.credentials =
        Some(Credentials { user: None, password: workload::Secret::new("hunter2") });
    assert!(!describe(&terms).contains("hunter2"));
}

#[test]
fn servers_get_as_many_cores_as_one_of_them_has_threads() {
    let of = |cores: usize, args: &[&str], protocol| {
        let plans = [&["-t", "1"], args].map(|args| {
            let target = spawned("s", args, protocol).target;
            PlanParts { target, protocol, ..PlanParts::default() }
        });
        Pins::from_machine(&machine(cores), &plans).map(|pins| pins.description)
    };
    let described = |cores, args: &[&str]| of(cores, args, ProtocolKind::Resp2);
    let eight = "Servers run on CPUs 0, 1, 2, 3, the client on CPUs 4, 5, 6, 7.";
    assert_eq!(described(8, &["--io-threads", "4"]).as_deref(), Some(eight));
    assert_eq!(described(8, &["my.conf", "--threads=4"]).as_deref(), Some(eight));
    let two = "Servers run on CPU 0, the client on CPU 1.";
    assert_eq!(described(2, &["--save", ""]).as_deref(), Some(two));
    let few = format!("{two} These are too few for a server with 4 threads.");
    assert_eq!(described(2, &["-t", "4"]), Some(few));
    assert_eq!(described(1, &["-t", "4"]), None);
    assert_eq!(of(8, &["-m", "64"], ProtocolKind::MemcacheText).as_deref(), Some(eight));
}
