//! Servers of different protocols on equal terms: the tables to measure, and the servers of each side.
//!
//! The authors of Redis and memcached could agree on these tables: one core against one core, all cores
//! against all cores, latency at the same rate, and gets of several keys. Commands are parsed once and
//! translated into each side's protocol; the rest of the plan is common. Owns the equal terms, the starts of
//! servers, and the omissions with their reasons. The binary carries the tables out.

mod description;
mod placement;
mod shares;
mod start;
mod table;
#[cfg(test)]
mod tests;

use workload::{CacheCommand, Endpoint, Pace, Plan, PlanParts, Target, Window};

use crate::survey::Machine;
use placement::CpuPlacement;
use shares::Shares;
use start::Start;
pub use table::{ComparisonTerms, PairedLoad, Side, Table, TermKind, Test};

/// Default CPUs of the client and of the servers that are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    placement: CpuPlacement,
    /// Description in a sentence.
    pub description: String,
}

impl Pins {
    /// Pins to the cores of a machine: as many for the servers as one of them has threads, and at least one for the
    /// client, which gets all others. `None` for a single core.
    pub fn from_machine<'p>(
        machine: &Machine,
        plans: impl IntoIterator<Item = &'p PlanParts>,
    ) -> Option<Self> {
        let threads = plans.into_iter().map(start::threads).max().unwrap_or(1);
        let cores = threads.min(machine.cores.len().saturating_sub(1)).max(1);
        let placement = CpuPlacement::new(machine, cores);
        let mut description = placement.describe();
        if threads > cores {
            description += &format!(" These are too few for a server with {threads} threads.");
        }
        (!placement.servers.is_empty()).then_some(Self { placement, description })
    }
}

/// The plan with separate CPUs for server and client, unless it names some.
///
/// # Errors
/// Returns an error in words for a person if the plan is invalid.
pub fn pinned(plan: &Plan, pins: Option<&Pins>) -> Result<Plan, String> {
    let Some(Pins { placement, .. }) = pins else { return Ok(plan.clone()) };
    let pinned = plan.with(|parts| {
        if let Endpoint::Spawned { cpus, .. } = &mut parts.target.endpoint
            && cpus.is_empty()
        {
            cpus.clone_from(&placement.servers);
        }
        if parts.load.concurrency.cpus.is_empty() {
            let turns = placement.client.iter().copied().cycle();
            parts.load.concurrency.cpus =
                turns.take(usize::from(parts.load.concurrency.workers)).collect();
        }
    });
    pinned.map_err(|error| error.to_string())
}

/// A server started alike for comparisons on equal terms: one thread for requests, the same memory, nothing
/// on disk. A given server is left as it is.
pub fn started_alike(side: &Side, load: &PlanParts) -> Target {
    let depth =
        u64::from(load.load.concurrency.pipeline_depth).saturating_mul(load.sequence.len() as u64);
    Start::Core.targets(side, &[], depth).swap_remove(0)
}

/// Rates of the table of latencies, as shares of the slower side's best, and in words.
const RATES: [(f64, &str); 2] = [(0.5, "half"), (0.8, "four fifths")];

impl ComparisonTerms {
    /// Returns the tables that need no earlier measurement, in order, and the omissions.
    ///
    /// # Errors
    /// Returns an error in words for a person if a side cannot carry out a test.
    pub fn tables(&self, machine: &Machine) -> Result<(Vec<Table>, Vec<String>), String> {
        let (mut tables, mut left_out) = (Vec::new(), Vec::new());
        let wants = |kind| self.kinds.contains(&kind);
        // What rates the latencies are compared at is read off this one.
        if wants(TermKind::Core) || wants(TermKind::Latency) {
            tables.extend(self.core(machine)?);
        }
        let cores = self.cores.unwrap_or(machine.cores.len() / 2);
        let alone = match (self.are_given(), cores) {
            (true, _) => Some(
                "an existing server is measured as it runs; servers started by name get the same \
                 cores"
                    .to_owned(),
            ),
            (false, 0 | 1) => Some(format!(
                "half of the {} cores of this machine is one, which the per-core table covers; \
                 with --cores 2, servers and client share cores",
                machine.cores.len()
            )),
            (false, _) => None,
        };
        if wants(TermKind::Machine) && self.singles().next().is_some() {
            match &alone {
                Some(why) => left_out.push(format!("Per machine: {why}.")),
                None => tables.extend(self.machine(machine, cores)?),
            }
        }
        if wants(TermKind::MultiGet) && self.multi_gets().next().is_some() {
            tables.push(self.multi_get(machine)?);
            match &alone {
                Some(why) => left_out.push(format!("Multi-get over several processes: {why}.")),
                None => tables.push(self.multi_get_split(machine, cores)?),
            }
        }
        Ok((tables, left_out))
    }

    /// Returns the table of latencies, given the best rates of these tests on the slower side.
    ///
    /// # Errors
    /// Returns an error in words for a person if a side cannot carry out a test.
    pub fn latency(
        &self,
        machine: &Machine,
        slower: &[(String, f64)],
    ) -> Result<Option<Table>, String> {
        if !self.kinds.contains(&TermKind::Latency) {
            return Ok(None);
        }
        let placement = self.place(machine, 1);
        let servers = self.started(Start::Core, &placement);
        let shares = self.shares(1, &placement);
        let mut paired_loads = Vec::new();
        let mut unknown = Vec::new();
        for test in self.singles() {
            let Some((_, best)) = slower.iter().find(|(name, _)| *name == test.name) else {
                unknown.push(test.name.as_str());
                continue;
            };
            for (share, called) in RATES {
                let rate = (best * share).round().max(1.0);
                let mut load = test.load.clone();
                (load.load.pace, load.load.concurrency.window) =
                    (Pace::constant(rate), Window::Rolling);
                let test = Test {
                    name: format!("{} at {rate:.0} requests/s, {called}", test.name),
                    load,
                    ..test.clone()
                };
                paired_loads.push(shares.paired(&self.sides, [&test, &test], &servers)?);
            }
        }
        let text = "Requests leave on a schedule that slow replies do not delay, at the same \
            rates for both: half and four fifths of what the slower one reached in the first \
            table. At its own maximum, each would show the latency of a full queue.";
        let left_out = match &*unknown {
            [] => String::new(),
            names => format!(" Left out: {}, for which that table has no rate.", names.join(", ")),
        };
        Ok((!paired_loads.is_empty()).then(|| Table {
            kind: TermKind::Latency,
            title: "Latency at the same offered rate".to_owned(),
            text: format!("{text}{left_out} {}", placement.describe()),
            servers,
            paired_loads,
        }))
    }

    /// Returns whether one of the servers existed before.
    fn are_given(&self) -> bool {
        !self.sides.iter().all(|side| matches!(side.target.endpoint, Endpoint::Spawned { .. }))
    }

    fn singles(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| !test.is_multi_get())
    }

    fn multi_gets(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.is_multi_get())
    }

    fn core(&self, machine: &Machine) -> Result<Option<Table>, String> {
        let placement = self.place(machine, 1);
        let (title, text) = if self.are_given() {
            (
                "As the servers run",
                "An existing server is measured as it runs. Its number of cores is not \
                 controlled, so this is not a per-core table."
                    .to_owned(),
            )
        } else {
            (
                "Per core",
                format!(
                    "One core for the server: {} executes commands on one thread without I/O \
                     threads, memcached has one worker (-t 1), and background threads share the \
                     core.",
                    self.sides[self.of_redis()].called()
                ),
            )
        };
        let text = format!("{text} {}", placement.describe());
        let table =
            self.table(TermKind::Core, title.to_owned(), text, Start::Core, 1, &placement)?;
        Ok(Some(table).filter(|table| !table.paired_loads.is_empty()))
    }

    /// Plans the tables of this many cores: as processes among which the client divides the keys, and as one
    /// process with threads.
    fn machine(&self, machine: &Machine, cores: usize) -> Result<Vec<Table>, String> {
        let placement = self.place(machine, cores);
        let redis = self.sides[self.of_redis()].called();
        let description = placement.describe();
        let processes = format!(
            "{cores} processes of {redis}, with the keys distributed by the client, against one \
             memcached with {cores} workers (-t {cores}). Both get the same {cores} shares of \
             the load, each with its own connections and threads. {description}"
        );
        let threads = format!(
            "One {redis} with {cores} I/O threads, which still executes commands on one thread, \
             against one memcached with {cores} workers (-t {cores}). {description}"
        );
        let titles = [
            format!("Per machine: {cores} processes of {redis}"),
            format!("Per machine: {redis} with {cores} I/O threads"),
        ];
        let [of_processes, of_threads] = titles;
        let kind = TermKind::Machine;
        Ok(vec![
            self.table(kind, of_processes, processes, Start::Processes(cores), cores, &placement)?,
            self.table(kind, of_threads, threads, Start::Threads(cores), 1, &placement)?,
        ])
    }

    /// Makes a table of the tests other than multi-gets.
    fn table(
        &self,
        kind: TermKind,
        title: String,
        text: String,
        start: Start,
        shares: usize,
        placement: &CpuPlacement,
    ) -> Result<Table, String> {
        let servers = self.started(start, placement);
        let shares = self.shares(shares, placement);
        let paired_loads =
            self.singles().map(|test| shares.paired(&self.sides, [test, test], &servers));
        let paired_loads = paired_loads.collect::<Result<_, _>>()?;
        Ok(Table { kind, title, text, servers, paired_loads })
    }

    fn multi_get(&self, machine: &Machine) -> Result<Table, String> {
        let placement = self.place(machine, 1);
        let servers = self.started(Start::Core, &placement);
        let shares = self.shares(1, &placement);
        let paired_loads =
            self.multi_gets().map(|test| shares.paired(&self.sides, [test, test], &servers));
        let whose = if self.are_given() { "as the servers run" } else { "one core for the server" };
        Ok(Table {
            kind: TermKind::MultiGet,
            title: "Multi-get, by keys and by requests".to_owned(),
            text: format!(
                "One request reads several keys, all of which exist; {whose}. Keys per second \
                 are requests per second times keys per request. {}",
                placement.describe()
            ),
            paired_loads: paired_loads.collect::<Result<_, _>>()?,
            servers,
        })
    }

    /// Plans gets of several keys over several processes, where the client must ask each process for its own
    /// keys.
    fn multi_get_split(&self, machine: &Machine, cores: usize) -> Result<Table, String> {
        let placement = self.place(machine, cores);
        let servers = self.started(Start::Processes(cores), &placement);
        let shares = self.shares(cores, &placement);
        let redis = self.of_redis();
        let mut paired_loads = Vec::new();
        for test in self.multi_gets() {
            let split = Test { load: split(&test.load, cores)?, ..test.clone() };
            let tests = if redis == 0 { [&split, test] } else { [test, &split] };
            paired_loads.push(shares.paired(&self.sides, tests, &servers)?);
        }
        let name = self.sides[redis].called();
        Ok(Table {
            kind: TermKind::MultiGet,
            title: format!("Multi-get over {cores} processes of {name}"),
            text: format!(
                "The keys of a get are on {cores} processes of {name}, so the client sends \
                 {cores} requests, each for its share of the keys; one memcached with {cores} \
                 workers answers all in one request. Compare keys per second: in requests per \
                 second, {name} counts {cores} for each get, and its latencies are those of one \
                 of them. {}",
                placement.describe()
            ),
            paired_loads,
            servers,
        })
    }

    /// Returns the number of the side that speaks RESP.
    fn of_redis(&self) -> usize {
        self.sides.iter().position(|side| !side.protocol.is_memcache()).unwrap_or(0)
    }

    fn place(&self, machine: &Machine, cores: usize) -> CpuPlacement {
        // Given servers are not moved, nor those whose CPUs the user chose.
        let placed = self.are_given() || self.cpus_given;
        if placed { CpuPlacement::nowhere() } else { CpuPlacement::new(machine, cores) }
    }

    fn started(&self, start: Start, placement: &CpuPlacement) -> [Vec<Target>; 2] {
        self.sides.each_ref().map(|side| start.targets(side, &placement.servers, self.depth()))
    }

    /// Maximum number of commands in flight on a connection.
    fn depth(&self) -> u64 {
        let depths = self.tests.iter().map(|test| {
            u64::from(test.load.load.concurrency.pipeline_depth)
                .saturating_mul(test.load.sequence.len() as u64)
        });
        depths.max().unwrap_or(1)
    }

    fn shares<'w>(&'w self, count: usize, placement: &'w CpuPlacement) -> Shares<'w> {
        Shares { count, terms: self, placement }
    }
}

/// The part of each multi-get for one of this many processes.
fn split(load: &PlanParts, processes: usize) -> Result<PlanParts, String> {
    let mut load = load.clone();
    for command in &mut load.sequence {
        if let CacheCommand::MultiGet(mut keys) = CacheCommand::read(command)? {
            keys.truncate(keys.len().div_ceil(processes));
            *command = CacheCommand::MultiGet(keys).in_protocol(load.protocol)?;
        }
    }
    Ok(load)
}
