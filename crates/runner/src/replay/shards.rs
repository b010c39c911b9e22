//! A cluster whose primaries die, are replaced, come back and give slots away: the reported outages are
//! compared with the known history. `KEYSTORM_SEEDS=N` runs N random histories, and `KEYSTORM_SEEDS_FROM=K`
//! begins with the Kth.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::ops::Range;

use engine::{Address, ConnId, Script, ScriptedEvent};
use measure::{Ending, Measurement};
use wire::cluster::{Node, Role, Topology, slot_of};
use workload::{OnError, Pace, PlanParts, Stop};

use super::cluster::on_cluster;
use super::seeds::{Draws, number};
use super::server::resp;
use super::{MS, RunHandles, SECOND, replay_cluster};
use crate::route::cluster::TopologyWatch;

const FIRST_PORT: u16 = 7000;
const SHARDS: usize = 3;
/// Each primary has a replica, and one node more may join.
const NODES: u16 = 2 * SHARDS as u16 + 1;
const JOINING: u16 = NODES - 1;
/// Slots move in blocks.
const BLOCKS: usize = 64;
const BLOCK_SLOTS: u16 = 16_384 / BLOCKS as u16;
const RUN_NS: u64 = 12 * SECOND;
/// Delay until a client learns of a change of the cluster.
const LEARNT_NS: u64 = 150 * MS;
const SERVICE_NS: u64 = 8 * MS;
/// Time without answers for a primary that dies and is replaced, and for a primary that restarts.
const ELECTED_NS: u64 = 1_700 * MS;
const RESTARTED_NS: u64 = 900 * MS;
/// Longest wait before a connection is reopened, plus the two slices by which an outage is uncertain.
const LATE_NS: u64 = 1_100 * MS;
const EXACT_NS: u64 = 30 * MS;
/// Longest time for which a closed loop draws nothing because another node's queue is full: four pipelines a
/// connection.
const FULL_NS: u64 = 4 * SERVICE_NS;
/// Interval at which workers note whether a node is asked anything; an outage may be dated earlier by this
/// much.
const ASKED_NS: u64 = 280 * MS;

/// Event of a shard, or of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Kill(usize),
    KillAll,
    PlannedFailover(usize),
    Failover(usize),
    /// Half of the slots go to the next shard, block by block.
    Reshard(usize),
    Join,
    Restart(usize),
}

/// A cluster, all its events, and the outages that the result must report.
struct History {
    downs: BTreeMap<u16, Vec<Range<u64>>>,
    /// The owner of each block from these times on.
    owners: Vec<(u64, Vec<u16>)>,
    /// Holder of each shard, and whether it stays.
    holders: [(u16, bool); SHARDS],
    /// Outages: the node, the start, and the earliest end; `None` for the end of the run.
    outages: Vec<(u16, u64, Option<u64>)>,
}

impl History {
    fn new() -> Self {
        let shard = |block: usize| (block * SHARDS / BLOCKS) as u16;
        Self {
            downs: BTreeMap::new(),
            owners: vec![(0, (0..BLOCKS).map(shard).collect())],
            holders: [(0, true), (1, true), (2, true)],
            outages: Vec::new(),
        }
    }

    fn down(&mut self, node: u16, span: Range<u64>) {
        self.downs.entry(node).or_default().push(span);
    }

    fn owners_now(&self) -> Vec<u16> {
        self.owners.last().unwrap().1.clone()
    }

    /// Gives the blocks of one node to another.
    fn take_over(&mut self, from: u16, to: u16, at_ns: u64) {
        let mut owners = self.owners_now();
        owners.iter_mut().filter(|owner| **owner == from).for_each(|owner| *owner = to);
        self.owners.push((at_ns, owners));
    }

    fn replica(&self, shard: usize) -> u16 {
        let (holder, _) = self.holders[shard];
        if holder == shard as u16 { (SHARDS + shard) as u16 } else { shard as u16 }
    }

    /// Time within which a node is asked for something, at this rate with random keys: the first request
    /// reveals an outage. It is exceeded once in a hundred thousand cases.
    fn asked_within_ns(&self, node: u16, at_ns: u64, rate: f64) -> u64 {
        let (_, owners) = self.owners.iter().rev().find(|(from_ns, _)| *from_ns <= at_ns).unwrap();
        let share = owners.iter().filter(|owner| **owner == node).count() as f64 / BLOCKS as f64;
        (12.0 / (rate * share) * SECOND as f64) as u64
    }

    /// Returns whether an event can happen in the present state.
    fn allows(&self, event: Event) -> bool {
        match event {
            Event::Kill(shard)
            | Event::PlannedFailover(shard)
            | Event::Failover(shard)
            | Event::Restart(shard) => self.holders[shard].1,
            Event::Reshard(shard) => self.holders[shard].1 && self.holders[(shard + 1) % SHARDS].1,
            Event::KillAll => self.holders.iter().any(|(_, alive)| *alive),
            Event::Join => {
                !self.owners_now().contains(&JOINING)
                    && self.holders.iter().all(|(_, alive)| *alive)
            }
        }
    }

    fn add(&mut self, event: Event, at_ns: u64) {
        match event {
            Event::Kill(shard) => {
                let (holder, alive) = &mut self.holders[shard];
                *alive = false;
                let holder = *holder;
                self.outages.push((holder, at_ns, None));
                self.down(holder, at_ns..u64::MAX);
            }
            Event::KillAll => {
                let joined = self.owners_now().contains(&JOINING).then_some(JOINING);
                self.outages.extend(joined.map(|node| (node, at_ns, None)));
                joined.into_iter().for_each(|node| self.down(node, at_ns..u64::MAX));
                let alive: Vec<usize> = (0..SHARDS).filter(|n| self.holders[*n].1).collect();
                alive.into_iter().for_each(|shard| self.add(Event::Kill(shard), at_ns));
            }
            Event::PlannedFailover(shard) | Event::Failover(shard) => {
                let (from, to) = (self.holders[shard].0, self.replica(shard));
                let mut taken_ns = at_ns;
                if matches!(event, Event::Failover(_)) {
                    taken_ns += ELECTED_NS;
                    self.outages.push((from, at_ns, Some(taken_ns)));
                    // It is back as a replica.
                    self.down(from, at_ns..taken_ns + SECOND);
                }
                self.take_over(from, to, taken_ns);
                self.holders[shard].0 = to;
            }
            Event::Restart(shard) => {
                let holder = self.holders[shard].0;
                self.outages.push((holder, at_ns, Some(at_ns + RESTARTED_NS)));
                self.down(holder, at_ns..at_ns + RESTARTED_NS);
            }
            Event::Reshard(shard) => {
                let (from, to) = (self.holders[shard].0, self.holders[(shard + 1) % SHARDS].0);
                self.give(from, to, 2, at_ns);
            }
            Event::Join => {
                for shard in 0..SHARDS {
                    self.give(self.holders[shard].0, JOINING, 4, at_ns + shard as u64 * 300 * MS);
                }
            }
        }
    }

    /// Moves one in `one_in` blocks of a node to another, one every 20 ms.
    fn give(&mut self, from: u16, to: u16, one_in: usize, at_ns: u64) {
        let owners = self.owners_now();
        let own = (0..BLOCKS).filter(|block| owners[*block] == from).step_by(one_in);
        for (n, block) in (0..).zip(own) {
            let mut owners = self.owners_now();
            owners[block] = to;
            self.owners.push((at_ns + n * 20 * MS, owners));
        }
    }

    fn topology(&self, owners: &[u16]) -> Topology {
        let nodes = (0..NODES).filter(|node| *node != JOINING || owners.contains(node));
        let of = |number: u16| {
            let blocks = (0..BLOCKS as u16).filter(|block| owners[usize::from(*block)] == number);
            let slots: Vec<_> =
                blocks.map(|b| b * BLOCK_SLOTS..=b * BLOCK_SLOTS + BLOCK_SLOTS - 1).collect();
            let other = (number + SHARDS as u16) % (2 * SHARDS as u16);
            let role = if slots.is_empty() && number != JOINING {
                Role::Replica { of: usize::from(other) }
            } else {
                Role::Master
            };
            Node {
                id: String::new(),
                host: "127.0.0.1".into(),
                hostname: None,
                port: FIRST_PORT + number,
                address: Some(SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + number))),
                role,
                slots,
            }
        };
        Topology { nodes: nodes.map(of).collect() }
    }
}

/// Plays all nodes of a cluster.
struct Nodes<'w> {
    history: &'w History,
    watch: &'w TopologyWatch,
    published: usize,
    leads_to: BTreeMap<ConnId, u16>,
    held: BTreeMap<ConnId, Vec<u8>>,
    service_ns: u64,
}

impl Nodes<'_> {
    fn owner(&self, slot: u16, now_ns: u64) -> u16 {
        let owners = self.history.owners.iter().rev().find(|(at_ns, _)| *at_ns <= now_ns);
        owners.unwrap().1[usize::from(slot / BLOCK_SLOTS)]
    }

    fn downs(&self, conn: ConnId) -> &[Range<u64>] {
        self.history.downs.get(&self.leads_to[&conn]).map_or(&[], Vec::as_slice)
    }
}

impl Script for Nodes<'_> {
    fn connected(&mut self, conn: ConnId, to: &Address, now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        let Address::Tcp(to) = to else { panic!("nodes have ports") };
        self.leads_to.insert(conn, to.port() - FIRST_PORT);
        self.held.remove(&conn);
        let downs = self.downs(conn);
        if downs.iter().any(|span| span.contains(&now_ns)) {
            return vec![(now_ns, ScriptedEvent::Fail(ErrorKind::ConnectionRefused))];
        }
        let dies = downs.iter().filter(|span| span.start > now_ns).map(|span| span.start).min();
        let reset = dies.map(|ns| (ns, ScriptedEvent::Fail(ErrorKind::ConnectionReset)));
        [(now_ns, ScriptedEvent::Accept)].into_iter().chain(reset).collect()
    }

    fn received(&mut self, conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        let node = self.leads_to[&conn];
        let mut held = self.held.remove(&conn).unwrap_or_default();
        held.extend_from_slice(bytes);
        let mut deliveries = Vec::new();
        while let Some((words, len)) = resp(&held) {
            held.drain(..len);
            let done_ns = now_ns + self.service_ns * (1 + deliveries.len() as u64);
            let slot = slot_of(words[1].as_bytes());
            let reply = match self.owner(slot, now_ns) {
                owner if owner == node => "+OK\r\n".to_owned(),
                owner => format!("-MOVED {slot} 127.0.0.1:{}\r\n", FIRST_PORT + owner),
            };
            deliveries.push((done_ns, ScriptedEvent::Bytes(reply.into_bytes())));
        }
        self.held.insert(conn, held);
        deliveries
    }

    fn resumes_ns(&mut self, now_ns: u64) -> u64 {
        let known =
            self.history.owners.iter().take_while(|(at_ns, _)| at_ns + LEARNT_NS <= now_ns).count();
        if known > self.published.max(1) {
            self.published = known;
            let (_, owners) = &self.history.owners[known - 1];
            self.watch.publish(self.history.topology(owners));
        }
        now_ns
    }
}

/// A run while this happens.
fn measured(parts: PlanParts, history: &History) -> Measurement {
    let topology = history.topology(&history.owners[0].1);
    let watch = TopologyWatch::new(&topology);
    let nodes = Nodes {
        history,
        watch: &watch,
        published: 0,
        leads_to: BTreeMap::new(),
        held: BTreeMap::new(),
        service_ns: SERVICE_NS,
    };
    replay_cluster(parts, nodes, &RunHandles::default(), (&watch, &topology))
}

/// Checks that the reported outages are exactly those that happened, each perhaps a little early.
fn reported_as_it_was(events: &[(Event, u64)], parts: PlanParts, early_ns: u64) {
    let mut history = History::new();
    for (event, at_ns) in events {
        if history.allows(*event) {
            history.add(*event, *at_ns);
        }
    }
    // Changes of several events may overlap.
    let in_order = history.owners.is_sorted_by_key(|(at_ns, _)| *at_ns);
    assert!(in_order, "{events:?}");
    let rate = match &parts.load.pace {
        Pace::Closed => None,
        Pace::Open(schedule) => Some(schedule.peak_per_s()),
    };
    let load = format!("{rate:?} per second on {} connections", parts.load.concurrency.connections);
    let got = measured(parts, &history);
    assert_eq!(got.ending, Ending::Complete, "{events:?}");
    let lines: Vec<_> = got
        .outages
        .iter()
        .map(|o| (got.nodes[usize::from(o.node)].name.as_str(), o.from_ns, o.to_ns, o.to_the_end))
        .collect();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let shown: Vec<String> = lines
        .iter()
        .map(|(who, from, to, end)| format!("{who} {}..{} {end}", seconds(*from), seconds(*to)))
        .collect();
    assert_eq!(lines.len(), history.outages.len(), "{events:?}, {load}: {shown:?}");
    for (node, from_ns, to_ns) in &history.outages {
        let idle_ns = match rate {
            Some(rate) => history.asked_within_ns(*node, *from_ns, rate),
            None => FULL_NS,
        };
        let late_ns = EXACT_NS + idle_ns;
        let is_it = |(who, from, to, end): &&(&str, u64, u64, bool)| {
            let until = match to_ns {
                Some(to_ns) => *to + EXACT_NS >= *to_ns && *to <= to_ns + LATE_NS && !end,
                None => *end && *to >= RUN_NS,
            };
            *who == format!("127.0.0.1:{}", FIRST_PORT + *node)
                && from + early_ns >= *from_ns
                && *from <= from_ns + late_ns
                && until
        };
        let is_reported = lines.iter().any(|o| is_it(&o));
        assert!(is_reported, "{node} at {from_ns} in {events:?}, {load}: {shown:?}");
    }
    // A node that has joined dies only with all others.
    let joined = history.owners_now().contains(&JOINING)
        && !history.outages.iter().any(|(out, ..)| *out == JOINING);
    let all_dead = !joined && history.holders.iter().all(|(_, alive)| !alive);
    let has_total = got.outages.iter().any(|outage| outage.of_all);
    assert_eq!(has_total, all_dead, "{events:?}: {shown:?}");
}

fn load(connections: u32, rate: Option<f64>) -> PlanParts {
    let mut parts = on_cluster(connections, 1, Stop::AfterNs(RUN_NS));
    (parts.recovery.reconnect, parts.recovery.on_error) = (true, OnError::Count);
    if let Some(rate) = rate {
        parts.load.pace = Pace::constant(rate);
    }
    parts
}

fn all(shard: usize) -> [Event; 7] {
    [
        Event::Kill(shard),
        Event::KillAll,
        Event::PlannedFailover(shard),
        Event::Failover(shard),
        Event::Reshard(shard),
        Event::Join,
        Event::Restart(shard),
    ]
}

#[test]
fn each_event_alone_is_reported_as_it_was() {
    for event in all(1) {
        for rate in [None, Some(900.0)] {
            reported_as_it_was(&[(event, 3 * SECOND)], load(18, rate), EXACT_NS);
        }
    }
    reported_as_it_was(&[], load(18, None), EXACT_NS);
}

#[test]
fn each_pair_of_events_is_reported_as_it_was() {
    for first in all(0) {
        for (shard, rate) in [(0, None), (1, Some(900.0))] {
            for second in all(shard) {
                reported_as_it_was(
                    &[(first, 2 * SECOND), (second, 7 * SECOND)],
                    load(18, rate),
                    EXACT_NS,
                );
            }
        }
    }
}

/// The last of three primaries to die is out as the others are, with one connection or many.
#[test]
fn primaries_that_die_one_after_the_other_are_out_to_the_end() {
    let events: Vec<_> = (0..3).map(|n| (Event::Kill(n), (2 + 3 * n as u64) * SECOND)).collect();
    for connections in [18, 60] {
        reported_as_it_was(&events, load(connections, None), EXACT_NS);
        reported_as_it_was(&events, load(connections, Some(900.0)), EXACT_NS);
    }
}

#[test]
fn whatever_happens_to_a_cluster_is_reported_as_it_was() {
    let from = number("KEYSTORM_SEEDS_FROM").unwrap_or_default();
    for seed in from..from + number("KEYSTORM_SEEDS").unwrap_or(60) {
        let mut draws = Draws::new(seed);
        let mut at_ns = SECOND;
        let mut events = Vec::new();
        for _ in 0..1 + draws.below(4) {
            at_ns += 600 * MS + draws.below(1000) * MS;
            let event = all(draws.below(SHARDS as u64) as usize)[draws.below(7) as usize];
            events.push((event, at_ns));
            // Until it is over, and its connections are back.
            at_ns += match event {
                Event::Failover(_) => ELECTED_NS + LATE_NS,
                Event::Restart(_) => RESTARTED_NS + LATE_NS,
                Event::Join | Event::Reshard(_) => 1_400 * MS,
                _ => LEARNT_NS,
            };
        }
        events.retain(|(_, at_ns)| *at_ns < RUN_NS - 3 * SECOND);
        let rate = (!draws.one_in(2)).then(|| 300.0 + draws.below(700) as f64);
        let parts = load(8 + draws.below(40) as u32, rate);
        let held = std::panic::catch_unwind(|| reported_as_it_was(&events, parts, ASKED_NS));
        assert!(held.is_ok(), "seed {seed}, as told above");
    }
}

/// A node that joins is known from its first slot on; a node that nothing is asked of is not named.
#[test]
fn names_are_of_nodes_that_had_to_answer() {
    let mut history = History::new();
    history.add(Event::Failover(2), 3 * SECOND);
    let got = measured(load(9, None), &history);
    let named: BTreeSet<u16> = got.outages.iter().map(|outage| outage.node).collect();
    assert_eq!(named, BTreeSet::from([2]));
}
