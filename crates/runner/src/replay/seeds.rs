//! Runs of every kind with all kinds of faults, from seeds: the counts of sent and due requests add up, and
//! each report is consistent with itself. `KEYSTORM_SEEDS=N` runs N of them, `KEYSTORM_SEEDS_FROM=K` starts
//! with the Kth.

use std::collections::BTreeSet;

use host::{ServerUse, WatchRecord};
use measure::{Ending, Measurement, WorkerUse};
use report::{Summary, contradictions};
use wire::cluster::slot_of;
use workload::random::SplitMix;
use workload::{
    Arrivals, Backoff, ClusterOptions, CommandSpec, KeySpace, Mix, MixStep, OnError, Operation,
    Pace, Pick, PlanParts, Retry, Schedule, Stage, StepCondition, Stop, Window,
};

use super::cluster::masters;
use super::schedules::run_of;
use super::server::{Fault, Log, Server};
use super::{MS, parts, replay_on};

const SEEDS: u64 = 400;
/// Further seeds, each of which once found a fault. Here, a request that had failed before was given back to
/// a connection that waited to be reopened.
const FOUND: [u64; 1] = [100_133];
const NODES_MAX: u64 = 5;
const FIRST_PORT: u16 = 7000;
const TRANSACTION: [&[&str]; 3] = [&["MULTI"], &["SET", "key:__rand_int__", "v"], &["EXEC"]];

/// Draws of one seed.
pub(super) struct Draws(SplitMix);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.draw() % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn share(&mut self) -> f64 {
        self.below(1001) as f64 / 1000.0
    }
}

/// A number from the environment.
pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

pub(super) fn plan(draws: &mut Draws) -> PlanParts {
    let stop = if draws.one_in(3) {
        Stop::Requests(1 + draws.below(2000))
    } else {
        Stop::AfterNs(MS * (300 + draws.below(2500)))
    };
    let mut plan = parts(1 + draws.below(20) as u32, [1, 1, 4][draws.below(3) as usize], stop);
    if draws.one_in(2) {
        plan.load.concurrency.window = Window::Rolling;
    }
    (plan.recovery.reconnect, plan.load.seed) = (!draws.one_in(4), draws.0.draw());
    plan.recovery.on_error = if draws.one_in(4) { OnError::Stop } else { OnError::Count };
    plan.recovery.timeout_ns = draws.one_in(3).then(|| MS * (20 + draws.below(400)));
    plan.load.concurrency.keep_alive = !draws.one_in(8);
    plan.sequence = vec![plan.sequence[0].clone(); 1 + 2 * usize::from(draws.one_in(6))];
    let rate = [50.0, 700.0, 3000.0][draws.below(3) as usize];
    let arrivals = if draws.one_in(2) { Arrivals::Poisson } else { Arrivals::Constant };
    let to_per_s = if draws.one_in(2) { rate } else { rate * 2.0 * draws.share() };
    let lasts_ns = (to_per_s != rate).then(|| MS * (200 + draws.below(2000)));
    // One that fades out would never have sent its last request.
    let last = Stage::steady(rate, None);
    let first = Stage::ramp(rate, to_per_s, lasts_ns);
    let stages = if lasts_ns.is_some() { vec![first, last] } else { vec![first] };
    if !draws.one_in(3) {
        plan.load.pace = Pace::Open(Schedule { stages, arrivals });
    }
    if draws.one_in(4) {
        mix(draws, &mut plan);
    }
    plan
}

/// The first command of each operation of a mix; no other operation has it.
const FIRST: [&str; 3] = ["GET", "HSET", "INCR"];
/// Number of keys that exist before the inserts.
const RANGE: u64 = 10;

/// Operations that read the newest keys and write them on a miss, inserts of two steps, and plain ones.
fn mix(draws: &mut Draws, plan: &mut PlanParts) {
    let mut operation = |name: &str, steps: &[StepCondition], dist: &str| Operation {
        name: name.into(),
        weight: 1 + draws.below(5) as u32,
        steps: steps.iter().map(|when| MixStep { commands: 1, when: *when }).collect(),
        keys: Some(KeySpace::new(Some(RANGE), dist.parse().unwrap())),
    };
    let operations = vec![
        operation("read", &[StepCondition::Always, StepCondition::OnMiss], "latest"),
        operation("insert", &[StepCondition::Always; 2], "insert"),
        operation("count", &[StepCondition::Always], "uniform"),
    ];
    let commands = [
        ["GET", "k:__key__"],
        ["SET", "k:__key__"],
        ["HSET", "k:__key__"],
        ["ZADD", "i"],
        ["INCR", "n:__key__"],
    ];
    plan.sequence = commands.map(CommandSpec::parse).into();
    let pick = if draws.one_in(3) { Pick::InOrder } else { Pick::Drawn };
    plan.mix = Some(Mix { operations, pick });
    if draws.one_in(2) {
        let first_ns = MS * draws.below(3) * 7;
        let drawn = draws.one_in(2).then(|| draws.below(4) as u32);
        // Requests that time out again and again would not come to an end, or after minutes.
        let without_end = matches!(plan.load.stop, Stop::Requests(_)).then_some(3);
        if let Stop::Requests(requests) = &mut plan.load.stop {
            *requests = (*requests).min(300);
        }
        plan.recovery.retry = Some(Retry {
            most: drawn.or(without_end),
            backoff: Backoff { first_ns, factor: 2.0, longest_ns: 100 * MS },
            jitter: if draws.one_in(2) { 0.5 } else { 0.0 },
            on: Vec::new(),
            waiting_max: 1 + draws.below(8) as u32,
        });
    }
}

/// Draws the masters of a cluster, one time in three.
fn cluster(draws: &mut Draws, plan: &mut PlanParts) -> Option<u16> {
    let masters = draws.one_in(3).then(|| 1 + draws.below(NODES_MAX) as u16)?;
    let per_node = draws.one_in(3);
    plan.target.cluster = Some(ClusterOptions { per_node, ..ClusterOptions::default() });
    plan.data.keys.range = Some(100_000);
    if draws.one_in(4) && plan.mix.is_none() {
        plan.sequence = TRANSACTION.map(|words| CommandSpec::parse(words.iter().copied())).into();
    }
    Some(masters)
}

/// Draws whether only one node of the cluster has the lasting troubles, and whether nodes redirect commands.
fn of_cluster(draws: &mut Draws, masters: u16, server: Server) -> Server {
    let server = if draws.one_in(2) {
        server.at_node(FIRST_PORT + draws.below(u64::from(masters)) as u16)
    } else {
        server
    };
    if draws.one_in(2) { server.answering(redirecting) } else { server }
}

/// Redirects some commands with a key, also to unknown nodes.
fn redirecting(words: &[String], n: usize) -> Vec<u8> {
    let Some(key) = words.get(1) else { return b"+OK\r\n".to_vec() };
    let port = FIRST_PORT + (n as u64 % NODES_MAX) as u16;
    match n % 61 {
        7 => format!("-MOVED {} 127.0.0.1:{port}\r\n", slot_of(key.as_bytes())).into_bytes(),
        19 => format!("-ASK {} 127.0.0.1:{port}\r\n", slot_of(key.as_bytes())).into_bytes(),
        31 => b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n".to_vec(),
        43 => b"-CLUSTERDOWN Hash slot not served\r\n".to_vec(),
        59 => b"-OOM command not allowed\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    }
}

fn server(draws: &mut Draws, plan: &PlanParts) -> Server {
    let mut server = Server::taking([MS / 20, MS / 2, 4 * MS][draws.below(3) as usize]);
    if draws.one_in(2) {
        server = server.wavering(0.5, draws.0.draw());
    }
    if draws.one_in(3) {
        server = server.delaying(MS * draws.below(300));
    }
    let mut span = |most_ms| {
        let from_ns = MS * draws.below(2500);
        from_ns..from_ns + MS * draws.below(most_ms)
    };
    let (freeze, long, down) = (span(400), span(20_000), span(900));
    match draws.below(5) {
        0 => server = server.frozen(freeze),
        1 if plan.recovery.reconnect || plan.recovery.timeout_ns.is_some() => {
            server = server.frozen(long)
        }
        2 if plan.recovery.reconnect => server = server.down(down),
        _ => {}
    }
    let at = draws.below(1500) as usize;
    match draws.below(6) {
        0 => server = server.failing(Fault::CutAt(at)),
        1 => server = server.failing(Fault::ResetAt(at)),
        2 => {
            server = server.answering(|_, n| match n % 97 {
                5 => b"-OOM command not allowed\r\n".to_vec(),
                _ => b"$-1\r\n".to_vec(),
            });
        }
        _ => {}
    }
    if draws.one_in(4) {
        server = server.interrupted_at(MS * draws.below(2500));
    }
    server
}

/// Draws the other observations of a run, so that every rule has its turn.
fn watched(draws: &mut Draws, measured: &mut Measurement) -> WatchRecord {
    let wall_ns = measured.elapsed_ns.max(1);
    let of = |share: f64| (share * wall_ns as f64) as u64;
    let cpu = draws.share();
    let wait_ns = Some(of((1.0 - cpu) * draws.share()));
    measured.workers = vec![WorkerUse { cpu_ns: of(cpu), wall_ns, system_ns: None, wait_ns }];
    let seconds = wall_ns as f64 / 1e9;
    let (busy, is_shared) = (draws.share(), !draws.one_in(4));
    let server = ServerUse {
        cpu_main_s: Some(busy * seconds),
        cpu_wait_s: Some((1.0 - busy) * draws.share() * seconds),
        cpus: vec![0],
        ..ServerUse::default()
    };
    WatchRecord {
        servers: if is_shared { vec![server] } else { vec![] },
        idle_round_trip_ns: is_shared.then_some(MS / 20),
        cpus: if draws.one_in(3) { vec![0] } else { vec![0, 1, 2] },
        ..WatchRecord::default()
    }
}

fn adds_up(parts: &PlanParts, got: &Measurement, log: &Log) {
    let gone = &got.total.connections;
    let ended = got.total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    // What was given up before it was sent; of an operation also its later steps.
    let never_sent = match &parts.mix {
        None => got.total.lateness.as_ref().map_or(0, |lateness| lateness.given_up),
        Some(_) => got.total.deadline.map_or(0, |deadline| deadline.given_up),
    };
    let ended = ended - never_sent;
    sent_adds_up(parts, got, log, ended);
    let plan = parts.clone().build().unwrap();
    let ended = match &parts.mix {
        None => ended,
        Some(_) => operations_add_up(got, log),
    };
    let Some(lateness) = &got.total.lateness else { return };
    let sent = lateness.total.count();
    assert!(sent == ended, "{sent} of {ended} sent");
    match parts.recovery.deadline_ns {
        None => assert_eq!(lateness.given_up, 0, "nothing is given up that may be sent yet"),
        Some(ns) => assert!(lateness.total.max_ns().unwrap_or_default() <= ns, "sent in time"),
    }
    let ended = ended + lateness.given_up;
    let mut pacer = plan.pacer(0, 0, 1).unwrap();
    let mut drawn_by = |end_ns: u64| {
        let drawn = std::iter::from_fn(|| pacer.take(end_ns.checked_sub(1)?)).count();
        (drawn * plan.requests_per_number()) as u64
    };
    match (parts.load.stop, &got.ending) {
        (Stop::AfterNs(ns), Ending::Complete) => assert_eq!(lateness.due, drawn_by(ns), "due"),
        (Stop::Requests(n), Ending::Complete) => assert_eq!((lateness.due, ended), (n, n), "due"),
        (Stop::AfterNs(ns), _) => {
            assert!((ended..=drawn_by(ns)).contains(&lateness.due), "due {}", lateness.due);
        }
        (Stop::Requests(n), _) => {
            assert!((ended..=n).contains(&lateness.due), "due {}", lateness.due);
        }
    }
}

/// Checks that operations add up, and returns how many were begun.
fn operations_add_up(got: &Measurement, log: &Log) -> u64 {
    let gone = &got.total.connections;
    let gone = gone.lost + gone.timed_out + gone.unanswered;
    let redirects: u64 = got.nodes.iter().map(|n| n.moved + n.asked + n.retried).sum();
    let mut inserted = BTreeSet::new();
    for (.., words) in &log.requests {
        let key = || words[1][2..].parse::<u64>().unwrap();
        match words[0].as_str() {
            "HSET" => drop(inserted.insert(key())),
            "GET" => assert!(key() < RANGE || inserted.contains(&key()), "{} is not there", key()),
            _ => {}
        }
    }
    let newest = inserted.last().map_or(RANGE, |key| key + 1);
    // On a cluster some may wait for a node until the end.
    assert!(!got.nodes.is_empty() || inserted.into_iter().eq(RANGE..newest), "no key is left out");
    let begun =
        log.requests.iter().filter(|(.., words)| FIRST.contains(&&*words[0])).count() as u64;
    let over = got.total.operations_ended();
    // On a cluster later steps may wait for their nodes too.
    let open = begun.saturating_sub(over);
    let retries = got.total.connections.retries;
    assert!(
        over <= begun && (open <= gone + retries || !got.nodes.is_empty()),
        "{over} and {gone} of {begun}"
    );
    // What was sent elsewhere was begun once.
    got.total.lateness.as_ref().map_or(begun, |lateness| {
        let count = lateness.total.count();
        let again = redirects + retries;
        assert!(count <= begun && begun <= count + again, "{count} and {again} of {begun}");
        count
    })
}

/// Checks that the server saw all requests that were answered, lost, timed out and unanswered; on a cluster
/// also its redirects and the replies before them.
fn sent_adds_up(parts: &PlanParts, got: &Measurement, log: &Log, ended: u64) {
    let asking = log.requests.iter().filter(|(.., words)| words[0] == "ASKING").count();
    let sent = (log.requests.len() - asking) as u64;
    let redirects: u64 = got.nodes.iter().map(|n| n.moved + n.asked + n.retried).sum();
    let whole = parts.sequence.iter().any(|command| command.name() == "MULTI");
    let at_once = if whole { parts.sequence.len() as u64 } else { 1 };
    let again = redirects * at_once + got.total.connections.retries;
    assert!(ended <= sent && sent <= ended + again, "{ended} + {again} of {sent} sent");
    let gone = &got.total.connections;
    if got.ending == Ending::Complete && gone.timed_out + gone.unanswered == 0 {
        // The last transaction may be cut short by the number of requests, once or more often.
        let short = match parts.load.stop {
            Stop::Requests(n) if whole && n % at_once > 0 => (at_once - n % at_once) * redirects,
            _ => 0,
        };
        assert!(sent + short >= ended + again, "what was sent elsewhere was sent again");
    }
}

fn hold(seed: u64) {
    let mut draws = Draws::new(seed);
    let mut parts = plan(&mut draws);
    let mut server = server(&mut draws, &parts);
    let masters_of = cluster(&mut draws, &mut parts);
    if let Some(masters) = masters_of {
        server = of_cluster(&mut draws, masters, server);
    }
    if parts.load.pace.schedule().is_some() {
        // Drawn apart, so that every seed stays what it is.
        let mut draws = Draws::new(seed ^ 1 << 60);
        parts.recovery.deadline_ns = draws.one_in(3).then(|| MS * (5 + draws.below(200)));
    }
    let topology = masters_of.map(masters);
    // Shown where it does not hold.
    println!("{parts:?}");
    let (mut measured, log) = replay_on(parts.clone(), server, topology.as_ref());
    adds_up(&parts, &measured, &log);
    let watched = watched(&mut draws, &mut measured);
    let workers = measured.workers.clone();
    let mut run = run_of(parts, measured, WatchRecord::default());
    run.measurement.workers = workers;
    let run = report::Run::new(run.plan, run.measurement, run.server, run.version, watched);
    assert_eq!(contradictions(&Summary::from_run(&run)), [""; 0]);
}

#[test]
fn whatever_goes_wrong_counts_add_up_and_no_two_lines_contradict() {
    let from = number("KEYSTORM_SEEDS_FROM").unwrap_or_default();
    let seeds = from..from + number("KEYSTORM_SEEDS").unwrap_or(SEEDS);
    for seed in seeds.chain(FOUND) {
        let held = std::panic::catch_unwind(|| hold(seed));
        assert!(held.is_ok(), "seed {seed}, as told above");
    }
}
