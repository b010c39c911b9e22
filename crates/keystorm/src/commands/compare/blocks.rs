//! Blocks of runs: each side in turn and then in reverse order, restarts between blocks, and the decision
//! which blocks count.

use std::time::{Duration, Instant};

use anyhow::Result;
use cli::compare::CompareJob;
use cli::console::diagnostics;
use cli::console::live::LiveDisplay;
use cli::console::metrics::ObserverPair;
use cli::job::End;
use measure::Ending;
use report::compare::RunDigest;
use report::{Cause, Disturbance, LiveLine, Run};
use workload::Plan;

use super::test_beds::TestBeds;
use crate::experiment::progress::{Progress, planned_s};

/// Number of times that blocks are judged: they are doubled twice while the result is unclear.
const LOOKS: u32 = 3;

/// Load with a plan for each side, or one for each share of its keys.
pub(in crate::commands) struct Load {
    pub(in crate::commands) name: String,
    pub(in crate::commands) sides: Vec<Vec<Plan>>,
}

impl Load {
    /// Planned seconds of a block of this load.
    pub(in crate::commands) fn block_s(&self) -> f64 {
        let side_s = self.sides.iter().filter_map(|plans| plans.first()).map(planned_s);
        side_s.sum::<f64>() * RUNS_OF_SIDE as f64
    }
}

/// Settings for taking blocks.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct BlockSchedule {
    /// Number of blocks that are to count.
    pub(in crate::commands) blocks: u32,
    /// Maximum number of times that the blocks are judged: while the result is unclear, their number is
    /// doubled.
    pub(in crate::commands) looks: u32,
    /// Time that all blocks may take while the result is unclear.
    pub(in crate::commands) budget: Duration,
    /// Set if a block in which the client did not do its work is repeated.
    pub(in crate::commands) repeats_void: bool,
    /// Set if servers are restarted for each run and not only for each block.
    pub(in crate::commands) is_fresh: bool,
    pub(in crate::commands) live: Option<LiveLine>,
}

/// Returns how often growing data may be judged: each further time makes each test stricter.
pub(super) fn looks(job: &CompareJob) -> u32 {
    if job.budget.is_some() { LOOKS } else { 1 }
}

/// Returns the settings for this many blocks.
pub(super) fn schedule(job: &CompareJob, blocks: u32) -> BlockSchedule {
    // With --until-sure it is not known in advance how often.
    let looks = if job.until_sure.is_some() { u32::MAX } else { looks(job) };
    let budget = job.budget.unwrap_or_default();
    let (repeats_void, live) = (job.repeats_void, job.output.live);
    BlockSchedule { blocks, looks, budget, repeats_void, is_fresh: false, live }
}

/// Result of blocks.
pub(in crate::commands) enum BlockResult<'t> {
    /// The first run of each side, before everything else.
    First(&'t [Run]),
    /// After each block: the runs of each load so far; empty for loads whose runs were all given before.
    Block(&'t [Taken]),
    /// All runs of a load, by its number.
    Load(usize, Taken),
}

/// The runs of a load.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct Taken {
    /// Runs that count, for each side.
    pub(in crate::commands) runs: Vec<Vec<RunDigest>>,
    /// Blocks that do not count, by reason.
    pub(in crate::commands) void: Vec<Cause>,
    /// Runs of the blocks that do not count: their failures count, and a target has rules of its own for
    /// them.
    pub(in crate::commands) void_runs: Vec<Vec<RunDigest>>,
}

impl Taken {
    fn new(sides: usize) -> Self {
        let runs = vec![Vec::new(); sides];
        Self { void_runs: runs.clone(), runs, void: Vec::new() }
    }

    /// Number of blocks that count.
    fn blocks(&self) -> usize {
        self.runs.first().map_or(0, Vec::len) / RUNS_OF_SIDE
    }

    /// The runs of two sides that do not count.
    pub(in crate::commands) fn void_runs_of(&self, a: usize, b: usize) -> [&[RunDigest]; 2] {
        [a, b].map(|side| self.void_runs.get(side).map_or(&[][..], Vec::as_slice))
    }

    /// Returns whether there are no blocks.
    pub(in crate::commands) fn is_empty(&self) -> bool {
        self.blocks() == 0 && self.void.is_empty()
    }
}

/// Runs of a side in a block.
pub(in crate::commands) const RUNS_OF_SIDE: usize = 2;

/// The sides in the order in which a block runs them: forwards and backwards, so that a steady change affects
/// all alike. Every other block begins at the other end, since being first costs or saves a few tenths of a
/// per cent.
pub(in crate::commands) fn order_of(sides: usize, block: u32) -> Vec<usize> {
    let there = 0..sides;
    let back = (0..sides).rev();
    match block % 2 {
        0 => there.chain(back).collect(),
        _ => back.chain(there).collect(),
    }
}

/// Participants, and the blocks taken so far.
pub(in crate::commands) struct Blocks<'b, 'r> {
    sides: &'b mut [TestBeds<'r>],
    names: &'b [String],
    loads: &'b [Load],
    schedule: BlockSchedule,
    taken: Vec<Taken>,
    /// Number of blocks begun, whether they count or not.
    begun: u32,
    /// The last block for which the servers were started.
    started_for: u32,
    /// Number of blocks of each load that should count by now.
    wanted: u32,
    progress: Progress,
    /// Planned seconds of everything after the blocks.
    after_s: f64,
}

impl<'b, 'r> Blocks<'b, 'r> {
    pub(in crate::commands) fn new(
        sides: &'b mut [TestBeds<'r>],
        names: &'b [String],
        loads: &'b [Load],
        schedule: BlockSchedule,
        progress: Progress,
    ) -> Self {
        let taken = vec![Taken::new(sides.len()); loads.len()];
        let (begun, started_for, wanted, after_s) = (0, 0, schedule.blocks, 0.0);
        Self { sides, names, loads, schedule, taken, begun, started_for, wanted, progress, after_s }
    }

    /// Returns these blocks with this many planned seconds after all of them.
    pub(in crate::commands) fn before(self, after_s: f64) -> Self {
        Self { after_s, ..self }
    }

    /// Runs each load on all sides in turn, for the given number of blocks, and prints each result as soon as
    /// it is known. If blocks may be judged more than once, `is_open` decides whether more are needed.
    ///
    /// # Errors
    /// Returns an error if a run could not be started, or its result not be printed.
    pub(in crate::commands) fn carry_out(
        &mut self,
        is_open: &mut dyn FnMut(&[Taken]) -> bool,
        tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>,
    ) -> Result<End> {
        let (began, budget_s) = (Instant::now(), self.schedule.budget.as_secs_f64());
        let mut left = self.schedule.looks - 1;
        let mut doubled = |taken: &[Taken], wanted: u32| {
            let may_look = left > 0;
            left = left.saturating_sub(1);
            let block_s = began.elapsed().as_secs_f64() / f64::from(wanted.max(1));
            let fitting = (budget_s / block_s) as u32;
            let next = wanted.saturating_mul(2).min(fitting);
            (may_look && next > wanted && is_open(taken)).then_some(next)
        };
        self.carry_out_until(&mut doubled, tell)
    }

    /// Takes blocks. After each stage, `next` gets the number of blocks of each load and returns the next
    /// number, or `None` to stop.
    ///
    /// # Errors
    /// Returns an error if a run could not be started, or its result not be printed.
    pub(in crate::commands) fn carry_out_until(
        &mut self,
        next: &mut dyn FnMut(&[Taken], u32) -> Option<u32>,
        tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>,
    ) -> Result<End> {
        let mut end = self.take(tell)?;
        while end == End::Complete {
            let Some(wanted) = next(&self.taken, self.wanted) else { break };
            self.wanted = wanted;
            end = self.take(tell)?;
        }
        // A block that is not whole has no ratio, so its runs are not counted.
        for at in 0..self.loads.len() {
            let taken = std::mem::take(&mut self.taken[at]);
            if !taken.is_empty() {
                tell(BlockResult::Load(at, taken))?;
            }
        }
        Ok(end)
    }

    /// Takes blocks until enough of each load count; at most as many again may be void.
    fn take(&mut self, tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>) -> Result<End> {
        let restarts = self.sides.iter().any(TestBeds::is_own);
        let all: Vec<usize> = (0..self.loads.len()).collect();
        // Where each block has servers of its own, all loads of a block and then those of the next: a test
        // finds what those before it wrote. Otherwise all blocks of a load come first, so that its result is
        // printed early.
        let rounds: Vec<Vec<usize>> =
            if restarts { vec![all] } else { all.into_iter().map(|load| vec![load]).collect() };
        for round in rounds {
            while let Some(open) = self.open(&round) {
                for load in open {
                    let end = self.block(load, restarts, tell)?;
                    if end != End::Complete {
                        return Ok(end);
                    }
                }
                self.begun += 1;
            }
            if !restarts && self.schedule.looks == 1 {
                for load in round {
                    tell(BlockResult::Load(load, std::mem::take(&mut self.taken[load])))?;
                }
            }
        }
        Ok(End::Complete)
    }

    /// The loads that need further blocks.
    fn open(&self, loads: &[usize]) -> Option<Vec<usize>> {
        let blocks = self.wanted as usize;
        let open: Vec<usize> =
            loads.iter().filter(|load| self.taken[**load].blocks() < blocks).copied().collect();
        (!open.is_empty()).then_some(open)
    }

    /// Runs a block of one load.
    fn block(
        &mut self,
        load: usize,
        restarts: bool,
        tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>,
    ) -> Result<End> {
        let Load { name, sides: plans } = &self.loads[load];
        let order = order_of(self.sides.len(), self.begun);
        if self.begun != self.started_for && restarts && !self.schedule.is_fresh {
            for side in &order[..self.sides.len()] {
                self.sides[*side].restart()?;
            }
            self.started_for = self.begun;
        }
        let mut runs: Vec<Vec<Run>> = self.sides.iter().map(|_| Vec::new()).collect();
        let mut left_s = self.missing_s() + self.after_s;
        for side in order {
            let Some(first) = plans[side].first() else { continue };
            if self.schedule.is_fresh {
                self.sides[side].restart()?;
            }
            let title = self.title(load, side);
            let count = (self.loads.len() as u32).max(1);
            left_s = (left_s - planned_s(first)).max(0.0);
            self.progress.begin(report::escape(&title), planned_s(first), left_s);
            let mut line =
                LiveDisplay::new(first, load as u32 + 1, count, self.schedule.live).titled(title);
            let mut shown = ObserverPair(&mut line, Some(&mut self.progress));
            let ran = self.sides[side].run(&plans[side], &mut shown);
            // Nothing of it is left behind, also where the run could not be started.
            line.clear();
            self.progress.end();
            let run = ran?;
            if let Some(why) = report::Summary::from_run(&run).shortfall() {
                let test = report::escape(name);
                let server = report::escape(&self.names[side]);
                diagnostics::say(format_args!("{test} on {server}: {why}"))?;
            }
            let end = match run.measurement.ending {
                Ending::Complete => End::Complete,
                Ending::Interrupted => End::Interrupted,
                Ending::Failed(_) => End::Failed,
            };
            if end != End::Complete {
                return Ok(end);
            }
            runs[side].push(run);
        }
        if (load, self.begun) == (0, 0) {
            let first: Vec<Run> = runs.iter().filter_map(|runs| runs.first().cloned()).collect();
            tell(BlockResult::First(&first))?;
        }
        let taken = &mut self.taken[load];
        // A client that is late again and again is so on all sides: then blocks count as they are.
        let repeats = self.schedule.repeats_void && taken.void.len() < self.wanted as usize;
        let spoiled = runs.iter().flatten().find_map(Disturbance::voiding_turn).filter(|_| repeats);
        taken.void.extend(spoiled);
        let of_sides = if spoiled.is_some() { &mut taken.void_runs } else { &mut taken.runs };
        for (glances, runs) in of_sides.iter_mut().zip(&runs) {
            glances.extend(runs.iter().filter_map(RunDigest::from_run));
        }
        tell(BlockResult::Block(&self.taken))?;
        Ok(End::Complete)
    }

    /// Planned seconds of the blocks that are still missing.
    fn missing_s(&self) -> f64 {
        let times = self.loads.iter().zip(&self.taken).map(|(load, taken)| {
            let is_given = taken.runs.is_empty();
            let blocks = (self.wanted as usize).saturating_sub(taken.blocks());
            if is_given { 0.0 } else { blocks as f64 * load.block_s() }
        });
        times.sum()
    }

    /// Returns the title of a run in the live line.
    fn title(&self, load: usize, side: usize) -> String {
        let (name, taken) = (&self.loads[load].name, &self.taken[load]);
        let block = (taken.blocks() + 1).min(self.wanted as usize);
        let again = match taken.void.len() {
            0 => String::new(),
            void => format!(" ({void} void)"),
        };
        let blocks = self.wanted;
        // The distinguishing part comes first, as a narrow terminal shows no more.
        let side = short_name(&self.names[side]);
        format!("{side}, block {block} of {blocks}{again}, {name}")
    }
}

/// Returns the end of a name in parentheses, which distinguishes servers of one product, or else the whole
/// name.
fn short_name(name: &str) -> &str {
    let inner = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    inner.map_or(name, |(_, inner)| inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_at_being_first() {
        let two = [0, 1, 2].map(|block| order_of(2, block));
        assert_eq!(two, [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]);
        assert_eq!(order_of(3, 0), [0, 1, 2, 2, 1, 0]);
        assert_eq!(order_of(3, 1), [2, 1, 0, 0, 1, 2]);
    }
}
