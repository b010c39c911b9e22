//! Once load runs, requests allocate nothing: ten times the requests, the same allocations.
//!
//! One test in a process of its own, since the counting allocator counts every thread.
#![allow(missing_docs, clippy::unwrap_used)]

use std::alloc::System;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Address;
use runner::{NoObserver, RingJob, RingServer, RunJob, ServerSet, run};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use workload::{
    Arg, CommandSpec, Concurrency, Content, Data, Delivery, DeliveryKind, Endpoint, EngineKind,
    KeyDist, KeySpace, ListPop, ListPush, Load, Mix, MixStep, Operation, Pace, Pick, Piece, Plan,
    PlanParts, ProtocolKind, Queue, Recording, RingHash, SizeBy, Slot, StepCondition, Stop,
    Subscription, ValueSpec,
};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Blocks that the whole process allocated until now; one that grows counts again.
fn allocated() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as u64
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Keys by zipf, and values whose size is drawn for each.
fn varied(requests: u64, depth: u32, engine: EngineKind) -> Plan {
    let mut parts = (*plan(requests, depth, engine, Pace::Closed)).clone();
    let words = ["SET", "key:__key__", "__data__"];
    let args = words.map(|word| Arg::literal(word.as_bytes()).with_values().with_numbers());
    parts.sequence = vec![CommandSpec { args: args.into(), inline: false }];
    parts.data.keys.draw = "zipf".parse().unwrap();
    let sizes = "uniform:1..4k".parse().unwrap();
    parts.data.values = Some(ValueSpec { sizes, by: SizeBy::Request, content: Content::Random });
    parts.build().unwrap()
}

/// A walk through the keys on each connection.
fn walk(requests: u64, engine: EngineKind) -> Plan {
    let mut parts = (*plan(requests, 1, engine, Pace::Closed)).clone();
    let words = ["SCAN", "__reply__"].map(|word| Arg::literal(word.as_bytes()).with_replies());
    let next = CommandSpec { args: words.into(), inline: false };
    parts.sequence = vec![CommandSpec::parse(["SCAN", "0"]), next];
    let step = |when| MixStep { commands: 1, when };
    let steps = vec![step(StepCondition::Always), step(StepCondition::OnCursor { most: None })];
    let operations = vec![Operation { name: "scan".into(), weight: 1, steps, keys: None }];
    parts.mix = Some(Mix { operations, pick: Pick::Drawn });
    parts.build().unwrap()
}

/// Plan with a log, which takes a block for every 4096 requests.
fn logged(requests: u64, engine: EngineKind) -> Plan {
    let mut parts = (*plan(requests, 16, engine, Pace::Closed)).clone();
    parts.peer.logged = vec![workload::LogSubject::Command(0)];
    parts.build().unwrap()
}

/// Memcached's commands: some that find several keys, and some that keep silent.
fn memcached(requests: u64, protocol: ProtocolKind) -> Plan {
    let mut parts = (*plan(requests, 8, EngineKind::Epoll, Pace::Closed)).clone();
    let lines: &[&str] = match protocol {
        ProtocolKind::MemcacheBinary => &["set k:__key__ 0 0 xxx", "get k:__key__"],
        ProtocolKind::MemcacheText => &["set k:__key__ 0 0 xxx", "get k:__key__ k:__rand_int__"],
        _ => &["mg k:__rand_int__ v q O0", "mn"],
    };
    parts.sequence = lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect();
    parts.protocol = protocol;
    parts.build().unwrap()
}

/// Memcached plan on two servers that share out keys, which are one here: most `get`s go to both.
fn on_ring(requests: u64, address: &Address) -> Plan {
    let mut parts = (*memcached(requests, ProtocolKind::MemcacheText)).clone();
    let Address::Unix(path) = address else { panic!("a socket") };
    let other = Endpoint::Tcp { host: "other".into(), port: 1 };
    let servers = vec![Endpoint::Unix(path.clone()), other];
    parts.target.endpoint = Endpoint::Ring { servers, hash: RingHash::Ketama };
    parts.build().unwrap()
}

/// Messages that each go to one receiver.
fn delivered(requests: u64, command: &str, kind: DeliveryKind, engine: EngineKind) -> Plan {
    let mut parts = (*plan(requests, 4, engine, Pace::Closed)).clone();
    let prefix = "allocations:".to_owned();
    let place = vec![Piece::Bytes(prefix.clone().into_bytes()), Piece::Number(Slot::Key)];
    let payload = vec![Piece::Fill { len: 96, skip: 0 }, Piece::Message];
    let args = [vec![Piece::Bytes(command.as_bytes().to_vec())], place, payload];
    let args = args.map(|pieces| Arg { pieces }).into();
    parts.sequence = vec![CommandSpec { args, inline: false }];
    let places = 4;
    parts.data.keys = KeySpace::new(Some(places.into()), KeyDist::UNIFORM);
    parts.recording.first_byte = false;
    parts.delivery = Some(Delivery {
        kind,
        receivers: places,
        threads: 1,
        prefix,
        places,
        places_each: 1,
        at: Vec::new(),
        exchange: None,
        wait: None,
        // As long as a busy machine needs: receivers end once they have everything.
        drain_ns: 600_000_000_000,
        node_receivers: Vec::new(),
    });
    parts.build().unwrap()
}

fn plan(requests: u64, depth: u32, engine: EngineKind, pace: Pace) -> Plan {
    let (connections, pipeline_depth) = (20, depth);
    let concurrency = Concurrency { connections, pipeline_depth, ..Concurrency::default() };
    PlanParts {
        name: "SET".into(),
        engine,
        sequence: vec![CommandSpec::parse(["SET", "key:__rand_int__", "xxx"])],
        load: Load { concurrency, pace, stop: Stop::Requests(requests), ..Load::default() },
        data: Data { keys: KeySpace::new(Some(1000), KeyDist::UNIFORM), ..Data::default() },
        recording: Recording { first_byte: true, ..Recording::default() },
        ..PlanParts::default()
    }
    .build()
    .unwrap()
}

/// Blocks that the whole process allocated during a run, and its intervals.
fn blocks(plan: &Plan, address: &Address) -> (u64, u64) {
    let known_as = ["a", "b"].map(|name| (name.to_owned(), 1));
    let server = |known_as| RingServer { known_as, address: address.clone() };
    let servers = known_as.map(server);
    let ring = RingJob { servers: &servers, hash: RingHash::Ketama };
    let before = allocated();
    let interrupted = AtomicBool::new(false);
    let measured = run(
        &RunJob {
            password: None,
            receivers_at: Vec::new(),
            source: None,
            rate: None,
            plan,
            address,
            resolver: None,
            tls: None,
            local_ports: None,
            start: runner::Start::Ready,
            several: plan.target.ring().map(|_| ServerSet::Ring(ring)),
            interrupted: &interrupted,
        },
        &mut NoObserver,
    )
    .unwrap();
    let Stop::Requests(n) = plan.load.stop else { panic!("a run by count") };
    assert_eq!(measured.total.requests(), n, "{:?}", measured.ending);
    let intervals = measured.timeline.points.len() as u64;
    (allocated() - before, intervals)
}

#[test]
fn requests_allocate_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock");
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket);
    let _server = Server(command.stdout(Stdio::null()).spawn().unwrap());
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let address = Address::Unix(socket);
    for engine in [EngineKind::Epoll, EngineKind::Auto] {
        let paced = Pace::constant(50_000.0);
        for (depth, plans) in [
            (1, [4_000, 40_000].map(|n| plan(n, 1, engine, Pace::Closed))),
            (16, [4_000, 40_000].map(|n| plan(n, 16, engine, Pace::Closed))),
            (4, [4_000, 40_000].map(|n| plan(n, 4, engine, paced.clone()))),
            (16, [4_000, 40_000].map(|n| varied(n, 16, engine))),
            (1, [4_000, 40_000].map(|n| walk(n, engine))),
            (16, [4_000, 40_000].map(|n| logged(n, engine))),
        ] {
            hold(&format!("{engine:?}, depth {depth}"), plans, &address);
        }
    }
    let queue = Queue::List { push: ListPush::Lpush, pop: ListPop::Brpop };
    let list = DeliveryKind::Queue { queue, count: 1, block_ns: 0 };
    let pubsub = DeliveryKind::Pubsub { subscription: Subscription::Channels };
    for engine in [EngineKind::Epoll, EngineKind::Auto] {
        for (command, kind) in [("PUBLISH", pubsub), ("LPUSH", list)] {
            let plans = [20_000, 200_000].map(|n| delivered(n, command, kind, engine));
            hold_with(DELIVERED, &format!("{engine:?}, {command}"), plans, &address);
        }
    }
    let socket = directory.path().join("memcached.sock");
    let mut command = Command::new("memcached");
    command.args(["-u", "root", "-s"]).arg(&socket);
    let _memcached = Server(command.stdout(Stdio::null()).spawn().unwrap());
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let address = Address::Unix(socket);
    use ProtocolKind::{MemcacheBinary, MemcacheMeta, MemcacheText};
    for protocol in [MemcacheText, MemcacheMeta, MemcacheBinary] {
        let plans = [4_000, 40_000].map(|n| memcached(n, protocol));
        hold(&format!("{protocol:?}"), plans, &address);
    }
    // Requests in parts have buffers for as many as are on their way at most, which takes a while to be
    // reached.
    hold("several servers", [40_000, 160_000].map(|n| on_ring(n, &address)), &address);
}

/// Blocks that a run may take more than a shorter one: whatever its length, and for each interval more.
struct Allowance {
    once: u64,
    each_interval: u64,
}

/// The collector makes a tally for each interval, beside the workers; and buffers find their size in the first
/// moments, not always in the requests of the first plan.
const REQUESTS: Allowance = Allowance { once: 100, each_interval: 40 };

/// Senders and receivers have a collector each, and twice as many buffers.
const DELIVERED: Allowance = Allowance { once: 400, each_interval: 80 };

/// Checks that the second plan, of several times the requests, allocates no more than the first.
fn hold(what: &str, plans: [Plan; 2], address: &Address) {
    hold_with(REQUESTS, what, plans, address);
}

fn hold_with(allowance: Allowance, what: &str, plans: [Plan; 2], address: &Address) {
    let [(few, short), (many, long)] = plans.map(|plan| blocks(&plan, address));
    let more = many.saturating_sub(few);
    let intervals = long - short.min(long);
    let allowed = allowance.once + allowance.each_interval * intervals;
    assert!(more < allowed, "{what}: {more} blocks and {intervals} intervals more");
    eprintln!("{what}: {few} blocks, then {many}");
}
