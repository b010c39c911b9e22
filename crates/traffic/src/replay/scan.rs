//! The first reading of a record: facts that a plan needs before the first command is sent.

use std::collections::{BTreeMap, HashMap};

use workload::{CommandSpec, RecordedStall, Schedule, Stage};

use super::clients::ClientList;
use super::prefill::{Prefill, PrefillPlan};
use super::role::{Reason, Role, is_of_session};
use super::walk::{Replay, Walk};
use super::{Clients, Speed};
use crate::commands::writes;
use crate::intervals::Intervals;
use crate::{Flags, Gap, Losses, Source, Stamps};

/// Maximum number of kinds of commands with counts of their own; all further kinds are counted as one.
const KINDS_MAX: usize = 250;
/// The name of the kind that holds all further ones.
const OTHERS: &[u8] = b"OTHERS";
/// Longest name of a command that is remembered.
const NAME_MAX: usize = 64;
/// Maximum number of intervals whose rates are counted: as many as a schedule may have stages.
const STRETCHES_MAX: usize = 1_000;
/// The shortest interval.
const STRETCH_NS: u64 = 100_000_000;
/// Maximum number of stalls of the recorded server that are marked in a run.
const STALLS_MAX: usize = 100;

/// Findings of a first reading of a record.
#[derive(Default)]
pub struct Scan {
    /// Source of the record.
    pub source: Source,
    /// Number of commands that are sent.
    pub commands: u64,
    /// Number of sent commands that may block; their waiting is not latency.
    pub blocking: u64,
    /// Number of sent commands that certainly change data.
    pub writes: u64,
    /// Kinds of commands: names and numbers of commands.
    pub kinds: Vec<(Vec<u8>, u64)>,
    /// An example of each kind, in the protocol of the server that it is sent to.
    pub examples: Vec<CommandSpec>,
    /// Numbers of commands that are not sent, by reason.
    pub left_out: BTreeMap<Reason, u64>,
    /// Parts of the record that could not be read.
    pub losses: Losses,
    /// Number of times that the recorded clock was set back.
    pub steps_back: u64,
    /// Spans in which the recorded server finished no command, the longest first; empty if the record cannot
    /// show any.
    pub stalls: Vec<Gap>,
    /// Time from the first command to the last, in nanoseconds.
    pub span_ns: u64,
    /// Highest number of a database that is used.
    pub db_max: u32,
    /// Data to write beforehand, if requested.
    pub prefill: Option<PrefillPlan>,
    /// Set if some clients are indistinguishable (unix socket) and are treated as one.
    pub shares_clients: bool,
    clients: ClientList,
    stretches: Intervals<STRETCHES_MAX, STRETCH_NS>,
    numbers: HashMap<Vec<u8>, u32>,
}

/// Reads a record once, and collects the data to prefill if `prefill` is set.
///
/// # Errors
/// Returns an error if the record cannot be read, or contains nothing that can be sent.
pub fn scan(replay: &Replay, prefill: bool) -> Result<Scan, String> {
    let mut walk = Walk::new(replay)?;
    let mut prefill = prefill.then(Prefill::default);
    let mut scan = Scan::default();
    while let Some(next) = walk.next()? {
        let event = &walk.event;
        if let Role::LeftOut(reason) = next.role {
            *scan.left_out.entry(reason).or_default() += 1;
            continue;
        }
        scan.commands += 1;
        scan.blocking += u64::from(next.role == Role::Blocks);
        scan.writes += u64::from(writes(walk.recorded(), event) == Some(true));
        scan.span_ns = next.since_ns;
        scan.db_max = scan.db_max.max(event.db);
        scan.stretches.add(next.since_ns);
        scan.shares_clients |= event.flags.has(Flags::SHARED_CLIENT);
        scan.clients.see(event.client, is_of_session(event, next.role));
        next.waits_for.into_iter().for_each(|client| scan.clients.see_waiting(client));
        scan.count(event.name());
        prefill.iter_mut().for_each(|prefill| prefill.see(walk.recorded(), event, &walk.keys));
    }
    (scan.steps_back, scan.losses) = (walk.steps_back, walk.reader().losses());
    scan.source = walk.source().clone();
    if scan.source.stamps == Stamps::Completion {
        scan.stalls = walk.stalls.found();
    }
    if scan.commands == 0 {
        return Err("nothing in it can be sent".to_owned());
    }
    scan.examples = scan.kinds.iter().map(|(name, _)| example(name, replay.to_cache)).collect();
    scan.prefill = prefill.map(Prefill::plan);
    Ok(scan)
}

/// A command of this kind, for a plan. It has only a name if the protocol has no grammar.
fn example(name: &[u8], to_cache: bool) -> CommandSpec {
    let upper = name.to_ascii_uppercase();
    if !to_cache {
        return CommandSpec::from_words([upper]);
    }
    // Names of both kinds of record: as the twin is called.
    CommandSpec::from_words(match upper.as_slice() {
        b"SET" | b"SETEX" | b"CAS" => vec!["set", "k", "0", "0", "v"],
        b"ADD" | b"SETNX" => vec!["add", "k", "0", "0", "v"],
        b"REPLACE" => vec!["replace", "k", "0", "0", "v"],
        b"APPEND" => vec!["append", "k", "0", "0", "v"],
        b"PREPEND" => vec!["prepend", "k", "0", "0", "v"],
        b"DEL" | b"DELETE" | b"UNLINK" => vec!["delete", "k"],
        b"INCR" | b"INCRBY" => vec!["incr", "k", "1"],
        b"DECR" | b"DECRBY" => vec!["decr", "k", "1"],
        b"TOUCH" | b"EXPIRE" => vec!["touch", "k", "0"],
        b"GAT" | b"GATS" | b"GETEX" => vec!["gat", "0", "k"],
        b"MGET" => vec!["get", "k", "l"],
        _ => vec!["get", "k"],
    })
}

impl Scan {
    fn count(&mut self, name: &[u8]) {
        let name = &name[..name.len().min(NAME_MAX)];
        if let Some(number) = self.numbers.get(name) {
            self.kinds[*number as usize].1 += 1;
            return;
        }
        let upper = name.to_ascii_uppercase();
        let found = self.kinds.iter().position(|(known, _)| *known == upper);
        let number = match found {
            Some(number) => number,
            None => {
                let is_full = self.kinds.len() >= KINDS_MAX;
                let named = if is_full { OTHERS.to_vec() } else { upper };
                if !is_full || self.kinds.last().is_none_or(|(last, _)| last != OTHERS) {
                    self.kinds.push((named, 0));
                }
                self.kinds.len() - 1
            }
        };
        self.kinds[number].1 += 1;
        // Names of random letters are no kinds: what was not kept is of the last one.
        if self.numbers.len() < 4 * KINDS_MAX {
            self.numbers.insert(name.to_vec(), number as u32);
        }
    }

    /// Index of the kind of each name, as written in the record; names that are missing belong to the last
    /// kind.
    pub(crate) fn numbers(&self) -> HashMap<Vec<u8>, u32> {
        self.numbers.clone()
    }

    /// Number of clients.
    pub fn clients(&self) -> u64 {
        self.clients.len()
    }

    /// Recorded time from the first command of one round to the first of the next, in nanoseconds. The gap
    /// between the rounds is the mean gap between commands.
    pub(crate) fn round_ns(&self) -> u64 {
        self.span_ns + self.span_ns / self.commands.saturating_sub(1).max(1)
    }

    /// Assigns the clients to this many connections; with `None` each has its own, up to a thousand.
    pub fn shared_out(&self, connections: Option<u32>) -> Clients {
        self.clients.clone().on(connections)
    }

    /// Returns the times of the recorded server's stalls in a run that sends the record `rounds` times at
    /// this speed.
    pub fn stalls_at(&self, speed: &Speed, rounds: u64) -> Vec<RecordedStall> {
        if speed.is_max() {
            return Vec::new();
        }
        let mut in_order = self.stalls.clone();
        in_order.sort_unstable_by_key(|gap| gap.at_ns);
        let mut speed = speed.clone();
        let starts = (0..rounds).map(|round| round * self.round_ns());
        let gaps = starts.flat_map(|start_ns| in_order.iter().map(move |gap| (start_ns, gap)));
        gaps.take(STALLS_MAX)
            .map(|(start_ns, gap)| RecordedStall {
                from_ns: speed.due_ns(start_ns + gap.at_ns),
                to_ns: speed.due_ns(start_ns + gap.at_ns + gap.length_ns),
            })
            .collect()
    }

    /// The rates at which commands are due, as a schedule, if the record is sent `rounds` times at this
    /// speed. `None` if commands have no due times.
    pub fn schedule(&self, speed: &Speed, rounds: u64) -> Option<Schedule> {
        if speed.is_max() {
            return None;
        }
        let Intervals { counts, each_ns } = &self.stretches;
        let mut stages: Vec<Stage> = Vec::new();
        let (mut speed, mut from_ns) = (speed.clone(), 0);
        for (end, count) in (1..).zip(counts) {
            let until_ns = speed.due_ns((end * each_ns).min(self.round_ns().max(1)));
            let lasts_ns = until_ns.saturating_sub(from_ns).max(1);
            stages.push(Stage::steady(*count as f64 * 1e9 / lasts_ns as f64, Some(lasts_ns)));
            from_ns = until_ns;
        }
        let one: Vec<Stage> = stages.clone();
        let room = STRETCHES_MAX / one.len().max(1);
        for _ in 1..rounds.min(room.max(1) as u64) {
            stages.extend(&one);
        }
        if let Some(last) = stages.last_mut()
            && last.from_per_s > 0.0
        {
            last.lasts_ns = None;
        }
        Some(Schedule { stages, arrivals: workload::Arrivals::Constant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_is_no_peak() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("monitor.txt");
        let lines =
            (0..3).map(|tenth: u32| format!("1700000000.{tenth}00000 [0 h:1] \"GET\" \"k\"\n"));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let scan = scan(&Replay { paths: vec![path], ..Replay::default() }, false).unwrap();
        let schedule = scan.schedule(&Speed::times(2.0), 2).unwrap();
        assert_eq!(schedule.stages.len(), 6);
        let peak_per_s = schedule.peak_per_s();
        assert!((19.9..20.1).contains(&peak_per_s), "{peak_per_s}");
    }

    #[test]
    fn stalls_of_the_recorded_server_are_where_they_are_in_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("monitor.txt");
        let lines = (0..1000).chain(1500..2000).map(|ms: u64| {
            let command = if ms.is_multiple_of(2) { "GET" } else { "PING" };
            format!("170000000{}.{:03}000 [0 h:1] \"{command}\" \"k\"\n", ms / 1000, ms % 1000)
        });
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let selection =
            crate::replay::Selection { commands: vec!["GET".into()], ..Default::default() };
        let replay = Replay { paths: vec![path], selection, ..Replay::default() };
        let scan = scan(&replay, false).unwrap();
        assert_eq!(scan.stalls.len(), 1);
        let marked = scan.stalls_at(&Speed::times(2.0), 2);
        let ms = |ns: u64| ns / 1_000_000;
        let marked: Vec<_> = marked.iter().map(|one| (ms(one.from_ns), ms(one.to_ns))).collect();
        assert_eq!(marked[0], (499, 750));
        assert_eq!(marked.len(), 2);
        assert!(scan.stalls_at(&Speed::parse("max").unwrap(), 1).is_empty());
    }

    #[test]
    fn rates_are_those_of_the_record_however_long_it_is() {
        for seconds in [1u64, 100, 5_000] {
            let mut stretches = Intervals::<STRETCHES_MAX, STRETCH_NS>::default();
            (0..seconds * 20).for_each(|n| stretches.add(n * 50_000_000));
            assert!(stretches.counts.len() <= STRETCHES_MAX);
            assert_eq!(stretches.counts.iter().sum::<u64>(), seconds * 20);
        }
    }
}
