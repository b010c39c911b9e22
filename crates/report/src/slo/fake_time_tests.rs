//! Targets of runs with known noise, on fake time: the same requests with and without it.

use std::collections::VecDeque;
use std::time::UNIX_EPOCH;

use host::{Journal, JournalEntry, MachineSpan, ServerUse};
use measure::statistics::Noise;
use measure::{Latency, Point};
use workload::{Pace, Stop};

use super::{Measure, Observation, Outcome, Slo};
use crate::{Run, fixture};

const SECOND: f64 = 1e9;
const MS: f64 = 1e6;
const QUARTER: f64 = 0.25 * SECOND;

/// A span of a pause, in nanoseconds.
type Pause = (f64, f64);

/// Events of a run.
pub(crate) struct SimulatedLoad {
    pub(crate) seconds: f64,
    /// Connections of a closed loop; 0 for an open one.
    pub(crate) slots: usize,
    pub(crate) due: Vec<f64>,
    pub(crate) service_ns: f64,
    /// Slow commands of the server.
    pub(crate) stalls: Vec<Pause>,
    /// Times at which the server, or the client, has no CPU.
    pub(crate) server_waits: Vec<Pause>,
    pub(crate) client_waits: Vec<Pause>,
    /// Time for which the server waits for a CPU at each wake-up.
    pub(crate) wake_up_ns: f64,
}

/// The end of work of this length from this time on, suspended by pauses; the pauses met are added to
/// `rested`.
fn end_of(from_ns: f64, work_ns: f64, pauses: &[Pause], rested: &mut Vec<Pause>) -> f64 {
    let mut end_ns = from_ns + work_ns;
    for (start, end) in pauses.iter().filter(|(_, end)| *end > from_ns) {
        if *start >= end_ns {
            break;
        }
        let rest = (start.max(from_ns), *end);
        rested.push(rest);
        end_ns += rest.1 - rest.0;
    }
    end_ns
}

impl SimulatedLoad {
    pub(crate) fn random(noise: &mut Noise) -> Self {
        let seconds = 5.0;
        let rate = [200.0, 1000.0, 4000.0][(noise.uniform() * 3.0) as usize];
        let busy = [0.02, 0.3, 0.6][(noise.uniform() * 3.0) as usize];
        let mut due: Vec<f64> = (0..(seconds * rate) as usize)
            .map(|n| (n as f64 + noise.uniform()) / rate * SECOND)
            .collect();
        due.sort_by(f64::total_cmp);
        let pauses = |noise: &mut Noise, most: f64, longest_ms: f64| {
            let count = (noise.uniform() * most) as usize;
            let mut all: Vec<Pause> = Vec::new();
            for _ in 0..count {
                let from = noise.uniform() * seconds * SECOND;
                all.push((from, from + noise.uniform() * longest_ms * MS));
            }
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all.dedup_by(|later, earlier| later.0 <= earlier.1);
            all
        };
        let is_noisy = noise.uniform() < 0.7;
        let most = if is_noisy { 80.0 } else { 0.0 };
        Self {
            seconds,
            slots: 0,
            due,
            service_ns: busy / rate * SECOND,
            stalls: pauses(noise, 6.0, 200.0),
            server_waits: pauses(noise, most, 30.0),
            client_waits: pauses(noise, most / 2.0, 20.0),
            wake_up_ns: if is_noisy { noise.uniform() * 0.3 * MS } else { 0.0 },
        }
    }

    /// Plays the run: the time of each answer, the wall-clock length of each stall, and the waits.
    pub(crate) fn played(&self, with_noise: bool) -> Played {
        let none = Vec::new();
        let server_waits = if with_noise { &self.server_waits } else { &none };
        let client_waits = if with_noise { &self.client_waits } else { &none };
        let wake_up_ns = if with_noise { self.wake_up_ns } else { 0.0 };
        let (mut server, mut client) = (Vec::new(), Vec::new());
        let mut stalls = self.stalls.iter().copied().peekable();
        let (mut free_ns, mut responses, mut recorded) = (0.0f64, Vec::new(), Vec::new());
        let mut due = self.due.clone();
        if self.slots > 0 {
            due = (0..self.slots).map(|slot| slot as f64).collect();
        }
        // Of a closed loop, the reply makes the next one due.
        let mut due: VecDeque<f64> = due.into();
        while let Some(due_ns) = due.pop_front() {
            let sent_ns = end_of(due_ns, 1.0, client_waits, &mut client);
            // Another client's command that came before runs first.
            while let Some((from, to)) = stalls.next_if(|(from, _)| *from <= sent_ns.max(free_ns)) {
                let begin_ns = from.max(free_ns);
                free_ns = end_of(begin_ns, to - from, server_waits, &mut server);
                recorded.push((begin_ns, free_ns));
            }
            let mut begin_ns = free_ns.max(sent_ns);
            if sent_ns > free_ns {
                server.push((sent_ns, sent_ns + wake_up_ns));
                begin_ns += wake_up_ns;
            }
            free_ns = end_of(begin_ns, self.service_ns, server_waits, &mut server);
            let read_ns = end_of(free_ns, 1.0, client_waits, &mut client);
            responses.push((read_ns, read_ns - due_ns));
            if self.slots > 0 && read_ns < self.seconds * SECOND {
                due.push_back(read_ns);
            }
        }
        // A thread that waits for one thing waits once, however many requests wait with it.
        Played { responses, recorded, server: joined(server), client: joined(client) }
    }
}

pub(crate) struct Played {
    pub(crate) responses: Vec<(f64, f64)>,
    recorded: Vec<Pause>,
    server: Vec<Pause>,
    client: Vec<Pause>,
}

fn joined(mut pauses: Vec<Pause>) -> Vec<Pause> {
    pauses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<Pause> = Vec::new();
    for (from, to) in pauses {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Seconds of waits that ended in a span, as the kernel counts a wait when it ends.
fn ended_s(pauses: &[Pause], from_ns: f64, to_ns: f64) -> f64 {
    let ended = pauses.iter().filter(|(_, end)| (from_ns..to_ns).contains(end));
    ended.map(|(from, to)| (to - from) / SECOND).sum()
}

/// The measured run.
pub(crate) fn run(load: &SimulatedLoad, played: &Played) -> Run {
    let rate = played.responses.len() as f64 / load.seconds;
    let elapsed_ns = (load.seconds * SECOND) as u64;
    let mut run = fixture::changed(|parts| {
        parts.load.pace = if load.slots > 0 { Pace::Closed } else { Pace::constant(rate) };
        parts.load.concurrency.connections = load.slots.max(1) as u32;
        parts.load.stop = Stop::AfterNs(elapsed_ns);
    });
    run.measurement.elapsed_ns = elapsed_ns;
    run.measurement.timeline.interval_ns = QUARTER as u64;
    run.measurement.timeline.points.clear();
    let mut total = Latency::new(3);
    let last_ns = played.responses.iter().map(|(at, _)| *at).fold(0.0, f64::max);
    let quarters = (last_ns / QUARTER) as u32 + 1;
    for index in 0..quarters {
        let span = f64::from(index) * QUARTER..f64::from(index + 1) * QUARTER;
        let mut response = Latency::new(3);
        for (_, ns) in played.responses.iter().filter(|(at, _)| span.contains(at)) {
            response.record_n(*ns as u64, 1);
        }
        total.merge(&response);
        run.measurement.timeline.points.push(Point::with(index, response.count(), 0, &response));
    }
    let lateness = run.measurement.total.lateness.get_or_insert_default();
    *lateness = measure::Lateness::default();
    lateness.record_n(0, 0, 0, load.due.len() as u64);
    lateness.due = load.due.len() as u64;
    let share = |pauses: &[Pause]| ended_s(pauses, 0.0, f64::MAX) / load.seconds;
    let busy = load.service_ns * rate / SECOND;
    fixture::use_cpu(&mut run, (0.1, share(&played.client)), (busy, share(&played.server)));
    let command = &mut run.measurement.total.commands[0];
    (command.ok, command.service) = (total.count(), total.clone());
    if load.slots > 0 {
        run.measurement.total.lateness = None;
    } else {
        run.measurement.total.commands[0].scheduled_response = Some(total);
    }
    let start_s = run.measurement.started_at.duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    run.watched.machine = (0..quarters)
        .map(|index: u32| {
            let (from, to) = (f64::from(index) * QUARTER, f64::from(index + 1) * QUARTER);
            MachineSpan {
                from_s: start_s + from / SECOND,
                lasted_s: 0.25,
                wait_s: Some(ended_s(&played.client, from, to)),
                server_wait_s: Some(ended_s(&played.server, from, to)),
                ..MachineSpan::default()
            }
        })
        .collect();
    let entries = played.recorded.iter().map(|(from, to)| {
        let second = (start_s + to / SECOND).floor();
        JournalEntry {
            from_s: second - (to - from) / SECOND,
            to_s: second + 1.0,
            usec: Some(((to - from) / 1e3) as u64),
            what: "KEYS *".to_owned(),
            ..JournalEntry::default()
        }
    });
    let entries = entries.collect();
    let journal = Some(Journal { entries, ..Journal::default() });
    let server = run.watched.servers.pop().unwrap_or_default();
    run.watched.servers = vec![ServerUse { journal, ..server }];
    run
}

/// Returns whether these responses miss a target.
fn misses(played: &Played, measure: Measure, below_ns: f64) -> bool {
    let mut all: Vec<f64> = played.responses.iter().map(|(_, ns)| *ns).collect();
    all.sort_by(f64::total_cmp);
    match measure {
        Measure::Quantile(quantile) => {
            let beyond = all.iter().filter(|ns| **ns >= below_ns).count();
            beyond as f64 > (1.0 - quantile) * all.len() as f64
        }
        Measure::Mean => all.iter().sum::<f64>() / all.len() as f64 >= below_ns,
        _ => all.last().is_some_and(|ns| *ns >= below_ns),
    }
}

#[test]
fn noise_makes_no_target_missed_and_none_kept() {
    let mut noise = Noise::new(46);
    let targets =
        ["p99<10ms", "p50<1ms", "p99<2ms", "p99.9<50ms", "mean<3ms", "max<60ms", "p90<5ms"];
    let mut seen = std::collections::BTreeMap::new();
    for number in 0..60 {
        let load = SimulatedLoad::random(&mut noise);
        let (measured, truth) = (load.played(true), load.played(false));
        let run = run(&load, &measured);
        for target in targets {
            let slo = Slo::parse(target).unwrap();
            let clause = &slo.clauses[0];
            let judgement = slo.judge(&[&Observation::new(&slo, &run)]);
            let missed = misses(&truth, clause.measure, clause.below);
            match judgement.outcome {
                Outcome::Missed => assert!(missed, "{number} {target}: {judgement:?}"),
                Outcome::Kept => assert!(!missed, "{number} {target}: {judgement:?}"),
                Outcome::Undecided | Outcome::Void => {}
            }
            let noisy = load.wake_up_ns > 0.0;
            *seen.entry((format!("{:?}", judgement.outcome), noisy)).or_insert(0) += 1;
        }
    }
    for outcome in ["Kept", "Missed", "Undecided"] {
        for noisy in [false, true] {
            let count = seen.get(&(outcome.to_owned(), noisy)).copied().unwrap_or(0);
            assert!(count > 10, "{seen:?}");
        }
    }
}

#[test]
fn what_servers_recorded_beyond_their_waits_misses_a_target_on_any_machine() {
    let mut noise = Noise::new(53);
    let mut noisy = 0;
    for number in 0..60 {
        let mut load = SimulatedLoad::random(&mut noise);
        load.stalls.retain(|(from, _)| *from < 4.0 * SECOND);
        load.stalls.iter_mut().for_each(|(_, to)| *to += 0.2 * SECOND);
        let measured = load.played(true);
        let length_ns = |pauses: &[Pause], less_ns: f64| -> f64 {
            pauses.iter().map(|(from, to)| (to - from - less_ns).max(0.0)).sum()
        };
        // All waits may have been within stalls.
        let waited_ns = length_ns(&measured.server, 0.0);
        if length_ns(&measured.recorded, 10.0 * MS) - waited_ns < 0.02 * load.seconds * SECOND {
            continue;
        }
        let slo = Slo::parse("p99<10ms").unwrap();
        let judgement = slo.judge(&[&Observation::new(&slo, &run(&load, &measured))]);
        assert_eq!(judgement.outcome, Outcome::Missed, "{number}: {judgement:?}");
        noisy += usize::from(waited_ns > 0.02 * load.seconds * SECOND);
    }
    assert!(noisy > 10, "{noisy}");
}
