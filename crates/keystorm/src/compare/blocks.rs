//! Blocks of A B B A, every other one B A A B: the order of the runs, restarts between blocks, and what
//! counts.

use anyhow::Result;
use lab::terms::PairedLoad;
use measure::Ending;
use report::compare::Glance;
use report::{Persona, Run};

use super::rigs::Rigs;
use crate::aside;
use crate::execute::End;
use crate::live::Live;

/// The order of a block, as indices of the sides. What changes steadily meanwhile hits both alike.
pub(super) const BLOCK: [usize; 4] = [0, 1, 1, 0];

/// Who takes the part of a side in a block: in every other one they are changed, since being first costs or
/// saves a few tenths of a per cent.
fn in_part_of(side: usize, block: u32) -> usize {
    side ^ usize::from(block % 2 == 1)
}

/// What came of blocks.
pub(super) enum Told<'t> {
    /// The first run of each side, before all else.
    First(&'t Run, &'t Run),
    /// All runs of a load, by its number.
    PairedLoad(usize, [Vec<Glance>; 2]),
}

/// Puts each load on both in turn, as often as there are blocks.
///
/// # Errors
/// A run could not be started, or what came of it not be told.
pub(super) fn carry_out(
    both: &mut [Rigs<'_>; 2],
    paired_loads: &[PairedLoad],
    blocks: u32,
    live: Option<Persona>,
    tell: &mut dyn FnMut(Told<'_>) -> Result<()>,
) -> Result<End> {
    let restarts = both.iter().any(Rigs::is_own);
    let steps = order(paired_loads.len(), blocks, restarts);
    let mut glances = vec![[Vec::new(), Vec::new()]; paired_loads.len()];
    let count = steps.len() * BLOCK.len();
    let (mut done, mut block_before) = (0, 0);
    let mut end = End::Complete;
    for Step { paired, block } in steps {
        let sides = &paired_loads[paired].sides;
        if block != block_before && restarts {
            for side in [0, 1] {
                both[in_part_of(side, block)].restart()?;
            }
        }
        block_before = block;
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        for side in BLOCK.map(|side| in_part_of(side, block)) {
            done += 1;
            let Some(first) = sides[side].first() else { continue };
            let mut line = Live::new(first, done, count as u32, live);
            let run = both[side].run(&sides[side], &mut line)?;
            line.clear();
            if let Some(why) = report::Summary::of(&run).shortfall() {
                let test = report::escape(&paired_loads[paired].name);
                aside::say(format_args!("{test} of {}: {why}", ["A", "B"][side]))?;
            }
            end = match run.measurement.ending {
                Ending::Complete => End::Complete,
                Ending::Interrupted => End::Interrupted,
                Ending::Failed(_) => End::Failed,
            };
            if end != End::Complete {
                break;
            }
            runs[side].push(run);
        }
        if let ([a, ..], [b, ..]) = (&runs[0][..], &runs[1][..])
            && (paired, block) == (0, 0)
        {
            tell(Told::First(a, b))?;
        }
        if end != End::Complete {
            break;
        }
        for (glances, runs) in glances[paired].iter_mut().zip(&runs) {
            glances.extend(runs.iter().filter_map(Glance::of));
        }
        if block + 1 == blocks {
            tell(Told::PairedLoad(paired, std::mem::take(&mut glances[paired])))?;
        }
    }
    // A block that is not whole has no ratio, so its runs are not counted.
    for (paired, glances) in glances.into_iter().enumerate() {
        if !glances[0].is_empty() {
            tell(Told::PairedLoad(paired, glances))?;
        }
    }
    Ok(end)
}

/// A block of one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    paired: usize,
    block: u32,
}

/// All blocks of a load and then those of the next, so that each is told as soon as it is known. Where
/// each block has servers of its own, all loads of a block and then those of the next: a test finds
/// what those before it wrote.
fn order(paired_loads: usize, blocks: u32, restarts: bool) -> Vec<Step> {
    let step = |paired, block| Step { paired, block };
    if restarts {
        return (0..blocks).flat_map(|b| (0..paired_loads).map(move |t| step(t, b))).collect();
    }
    (0..paired_loads).flat_map(|t| (0..blocks).map(move |b| step(t, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_at_being_first() {
        let of = |block| BLOCK.map(|side| in_part_of(side, block));
        assert_eq!([of(0), of(1), of(2)], [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]);
    }

    #[test]
    fn servers_of_our_own_get_every_test_before_they_are_started_again() {
        let told = |restarts| -> Vec<(usize, u32)> {
            order(2, 3, restarts).iter().map(|step| (step.paired, step.block)).collect()
        };
        assert_eq!(told(false), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(told(true), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }
}
