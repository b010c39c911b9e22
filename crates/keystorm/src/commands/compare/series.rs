//! The blocks of a comparison of servers: each load at its requested rate, then, if an answer needs it, at
//! full speed.

use anyhow::Result;
use cli::job::End;
use report::Run;
use report::compare::{self, Comparison};

use super::blocks::{BlockResult, BlockSchedule, Blocks, Load, Taken, schedule};
use super::loads::{self, AllTaken, Judge, NumberedLoad};
use super::test_beds::TestBeds;
use super::until_sure;
use super::writer::Writer;

/// Blocks of a load at full speed. If four runs of one server are all faster than four of another, that is
/// chance once in 70 times.
const LIMIT_BLOCKS: u32 = 2;

/// Blocks of all loads of a comparison.
pub(super) struct Series<'j> {
    pub(super) judge: Judge<'j>,
    /// Set if servers are restarted for each run.
    pub(super) is_fresh: bool,
}

impl Series<'_> {
    /// Takes the blocks, and adds their results to the comparison. `after_s` more seconds are planned.
    ///
    /// # Errors
    /// Returns an error if a run could not be started, or its result not be printed.
    pub(super) fn carry_out(
        &self,
        beds: &mut [TestBeds<'_>],
        comparison: &mut Comparison,
        writer: &mut Writer<'_>,
        after_s: f64,
    ) -> Result<End> {
        let judge = self.judge;
        let count = judge.loads.len();
        let limits = loads::at_limit(judge.loads);
        let limit_s: f64 = limits.iter().map(|(_, load)| load.block_s()).sum();
        let mut all = AllTaken { asked: vec![Taken::default(); count], ..AllTaken::default() };
        let after_s = after_s + limit_s * f64::from(LIMIT_BLOCKS);
        let mut end = self.asked(beds, after_s, &mut all, comparison, writer)?;
        if end == End::Complete && !limits.is_empty() {
            all.memory = beds.iter().map(TestBeds::resident_bytes).collect();
            all.limits = vec![Taken::default(); count];
            end = self.limits(beds, limits, &mut all, comparison, writer)?;
        }
        if judge.sides.decides {
            comparison.tests = judge.tests(&all);
            for test in &comparison.tests {
                writer.test(test, &test.name, comparison.target.as_deref())?;
            }
        }
        Ok(end)
    }

    /// Takes the blocks of the loads at their requested rates.
    fn asked(
        &self,
        beds: &mut [TestBeds<'_>],
        after_s: f64,
        all: &mut AllTaken,
        comparison: &mut Comparison,
        writer: &mut Writer<'_>,
    ) -> Result<End> {
        let judge = self.judge;
        let loads = loads::as_asked(judge.loads);
        let so_far = Comparison { complete: true, ..comparison.clone() };
        let tests = |taken: &[Taken]| {
            judge.tests(&AllTaken { asked: taken.to_vec(), ..AllTaken::default() })
        };
        let mut is_open =
            |taken: &[Taken]| Comparison { tests: tests(taken), ..so_far.clone() }.is_open();
        let progress = writer.files.page_progress();
        let mut tell = |result: BlockResult<'_>| match result {
            BlockResult::First(runs) => {
                comparison.warnings = beside(judge.names, runs);
                writer.warn(&comparison.warnings)
            }
            BlockResult::Block(taken) => {
                writer.show(comparison, || tests(taken));
                Ok(())
            }
            BlockResult::Load(at, taken) => {
                all.asked[at] = taken;
                let test = judge.test(at, all);
                if !judge.sides.decides {
                    writer.test(&test, &test.name, None)?;
                }
                comparison.tests.push(test);
                writer.keep(comparison)
            }
        };
        let schedule = schedule(judge.job, judge.sides.blocks);
        let schedule = BlockSchedule { is_fresh: self.is_fresh, ..schedule };
        let mut blocks = Blocks::new(beds, judge.names, &loads, schedule, progress).before(after_s);
        match judge.job.until_sure {
            None => blocks.carry_out(&mut is_open, &mut tell),
            Some(asked) => {
                let compared = |at: usize, taken: &Taken| judge.pair(at, taken, 1);
                until_sure::carry_out(&mut blocks, asked, &compared, &mut tell)
            }
        }
    }

    /// Takes the blocks of these loads at full speed.
    fn limits(
        &self,
        beds: &mut [TestBeds<'_>],
        limits: Vec<NumberedLoad>,
        all: &mut AllTaken,
        comparison: &Comparison,
        writer: &mut Writer<'_>,
    ) -> Result<End> {
        let judge = self.judge;
        let (places, loads): (Vec<usize>, Vec<Load>) = limits.into_iter().unzip();
        let schedule = BlockSchedule { looks: 1, ..schedule(judge.job, LIMIT_BLOCKS) };
        let progress = writer.files.page_progress();
        let untested = Comparison { tests: Vec::new(), ..comparison.clone() };
        let mut tell = |result: BlockResult<'_>| {
            match result {
                BlockResult::First(_) => {}
                BlockResult::Block(taken) => writer.show(&untested, || {
                    let mut so_far = all.clone();
                    let begun = places.iter().zip(taken).filter(|(_, taken)| !taken.is_empty());
                    begun.for_each(|(at, taken)| so_far.limits[*at] = taken.clone());
                    judge.tests(&so_far)
                }),
                BlockResult::Load(at, taken) => all.limits[places[at]] = taken,
            }
            Ok(())
        };
        let mut blocks = Blocks::new(beds, judge.names, &loads, schedule, progress);
        blocks.carry_out(&mut |_| false, &mut tell)
    }
}

/// Returns the differences, other than the servers themselves, between the first run and each other.
fn beside(names: &[String], runs: &[Run]) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for (other, name) in others.iter().zip(&names[1..]) {
        found.extend(compare::beside(&[names[0].clone(), name.clone()], first, other));
    }
    found.dedup();
    found
}
