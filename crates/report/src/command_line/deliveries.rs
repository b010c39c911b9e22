//! The receivers of a plan, as the options of `keystorm deliver KIND`.

use std::fmt::Display;

use workload::{
    Delivery, DeliveryKind, Named, Plan, Queue, ReplicaWait, StreamAck, Subscription, quantity,
};

/// Default wait for the last messages, in nanoseconds.
const DRAIN_NS: u64 = 5_000_000_000;
/// Default number of entries that streams are trimmed to.
const MAXLEN: &[u8] = b"100000";

/// Returns the name of a kind for `deliver`.
pub(super) fn name(kind: DeliveryKind) -> &'static str {
    match kind {
        DeliveryKind::Pubsub { .. } => "pubsub",
        DeliveryKind::Queue { queue: Queue::List { .. }, .. } => "list",
        DeliveryKind::Queue { queue: Queue::SortedSet { .. }, .. } => "zset",
        DeliveryKind::Queue { queue: Queue::Stream { .. }, .. } => "stream",
        DeliveryKind::Notify { .. } => "notify",
        DeliveryKind::Replica => "replica",
        DeliveryKind::Invalidate { .. } => "invalidate",
    }
}

/// Options with their values, in order; empty for options without a value.
#[derive(Default)]
struct Options(Vec<(&'static str, String)>);

impl Options {
    fn option(&mut self, name: &'static str, value: &dyn Display) {
        self.0.push((name, value.to_string()));
    }

    fn flags(&mut self, flags: &[(bool, &'static str)]) {
        let set = flags.iter().filter(|(set, _)| *set);
        self.0.extend(set.map(|(_, flag)| (*flag, String::new())));
    }
}

/// The options of a delivery with this many receiving threads in each client.
pub(super) fn options(
    plan: &Plan,
    delivery: &Delivery,
    threads: u16,
) -> Vec<(&'static str, String)> {
    let mut options = Options::default();
    let words = &mut options;
    let Delivery {
        kind,
        receivers: _,
        threads: _,
        prefix: _,
        places,
        places_each,
        at,
        wait,
        drain_ns,
        exchange,
        node_receivers: _,
    } = delivery;
    let receivers = &delivery.logical_receivers();
    let names = kind.names();
    match kind {
        DeliveryKind::Queue { queue: Queue::Stream { groups: groups @ 1.., .. }, .. } => {
            words.option("--groups", groups);
            words.option("--consumers", &(receivers / groups));
        }
        DeliveryKind::Replica => {}
        _ => words.option(names.receivers, receivers),
    }
    if !matches!(kind, DeliveryKind::Notify { .. } | DeliveryKind::Invalidate { .. }) {
        words.option(names.places, places);
        if *places_each > 1 {
            words.option(names.places_each, places_each);
        }
    }
    how(plan, *kind, words);
    for (host, port) in at.iter().filter(|_| *kind == DeliveryKind::Replica) {
        words.option("--at", &format_args!("{host}:{port}"));
    }
    wait.iter().for_each(|wait| replica_wait(wait, words));
    let drain_ns = drain_ns.saturating_sub(kind.delay_ns());
    if drain_ns != DRAIN_NS {
        words.option("--drain", &quantity::shown(drain_ns));
    }
    words.flags(&[(exchange.is_some(), "--between-clients")]);
    if threads > 1 {
        words.option("--receiver-threads", &threads);
    }
    options.0
}

/// Writes the options of sending and taking messages.
fn how(plan: &Plan, kind: DeliveryKind, words: &mut Options) {
    match kind {
        DeliveryKind::Pubsub { subscription } => {
            words.flags(&[
                (subscription == Subscription::Patterns, "--patterns"),
                (subscription == Subscription::Shards, "--sharded"),
            ]);
        }
        DeliveryKind::Queue { queue, count, block_ns } => {
            let mut wait = "--block";
            match queue {
                Queue::List { push, pop } => {
                    words.option("--push", &push.name());
                    words.option("--pop", &pop.name());
                    wait = if pop.polls() { "--poll" } else { wait };
                }
                Queue::SortedSet { pop, .. } => words.option("--zpop", &pop.name()),
                Queue::Stream { groups, ack, claim_ns } => {
                    stream(plan, groups, ack, claim_ns, words);
                }
            }
            words.option("--count", &count);
            if block_ns > 0 {
                words.option(wait, &quantity::shown(block_ns));
            }
        }
        DeliveryKind::Notify { event, ttl_ms, enable, .. } => {
            words.option("--event", &event.name());
            words.option("--ttl", &quantity::shown(ttl_ms.saturating_mul(1_000_000)));
            words.flags(&[(enable, "--enable-events")]);
        }
        DeliveryKind::Invalidate { tracking } => {
            words.option("--tracking", &tracking.mode.name());
            let names = kind.names();
            let (places, each) =
                plan.delivery.as_ref().map_or((1, 1), |d| (d.places, d.places_each));
            if tracking.mode.follows_reads() || places > 1 {
                words.option(names.places, &places);
            }
            if !tracking.mode.follows_reads() && each > 1 {
                words.option(names.places_each, &each);
            }
            words.flags(&[(tracking.noloop, "--noloop"), (tracking.redirect, "--redirect")]);
        }
        DeliveryKind::Replica => {}
    }
}

fn stream(plan: &Plan, groups: u32, ack: StreamAck, claim_ns: u64, words: &mut Options) {
    if groups > 0 {
        words.option("--ack", &ack.name());
        if claim_ns > 0 {
            words.option("--claim", &quantity::shown(claim_ns));
        }
    }
    let args = plan.sequence.first().map_or(&[][..], |command| &command.args);
    let fixed = |at: usize| args.get(at).and_then(workload::Arg::fixed_bytes).unwrap_or_default();
    let maxlen = if fixed(2) == b"MAXLEN" { fixed(4) } else { b"0".to_vec() };
    if maxlen != MAXLEN {
        words.option("--maxlen", &String::from_utf8_lossy(&maxlen));
    }
}

fn replica_wait(wait: &ReplicaWait, words: &mut Options) {
    let ReplicaWait { local, replicas, timeout_ms } = wait;
    match local {
        Some(local) => words.option("--waitaof", &format_args!("{local},{replicas}")),
        None => words.option("--wait", replicas),
    }
    words.option("--wait-timeout", &format_args!("{timeout_ms}ms"));
}
