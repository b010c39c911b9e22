//! Blocks of A B B A: the order of the runs, restarts between blocks, and what counts.

use anyhow::Result;
use lab::terms::Bout;
use measure::Ending;
use report::compare::Glance;
use report::{Persona, Run};

use super::corner::Corner;
use crate::aside;
use crate::execute::End;
use crate::live::Live;

/// The order of a block, as indices of the sides. What changes steadily meanwhile hits both alike.
pub(super) const BLOCK: [usize; 4] = [0, 1, 1, 0];

/// What came of blocks.
pub(super) enum Told<'t> {
    /// The first run of each side, before all else.
    First(&'t Run, &'t Run),
    /// All runs of a bout, by its number.
    Bout(usize, [Vec<Glance>; 2]),
}

/// Puts each load on both in turn, as often as there are blocks.
///
/// # Errors
/// A run could not be started, or what came of it not be told.
pub(super) fn carry_out(
    corners: &mut [Corner<'_>; 2],
    bouts: &[Bout],
    blocks: u32,
    live: Option<Persona>,
    tell: &mut dyn FnMut(Told<'_>) -> Result<()>,
) -> Result<End> {
    let restarts = corners.iter().any(Corner::is_own);
    let steps = order(bouts.len(), blocks, restarts);
    let mut glances = vec![[Vec::new(), Vec::new()]; bouts.len()];
    let count = steps.len() * BLOCK.len();
    let (mut done, mut block_before) = (0, 0);
    let mut end = End::Complete;
    for Step { bout, block } in steps {
        let sides = &bouts[bout].sides;
        if block != block_before && restarts {
            corners.iter_mut().try_for_each(Corner::restart)?;
        }
        block_before = block;
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        for side in BLOCK {
            done += 1;
            let Some(first) = sides[side].first() else { continue };
            let mut line = Live::new(first, done, count as u32, live);
            let run = corners[side].run(&sides[side], &mut line)?;
            line.clear();
            if let Some(why) = report::Summary::of(&run).shortfall() {
                let test = report::escape(&bouts[bout].name);
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
            && (bout, block) == (0, 0)
        {
            tell(Told::First(a, b))?;
        }
        if end != End::Complete {
            break;
        }
        for (glances, runs) in glances[bout].iter_mut().zip(&runs) {
            glances.extend(runs.iter().filter_map(Glance::of));
        }
        if block + 1 == blocks {
            tell(Told::Bout(bout, std::mem::take(&mut glances[bout])))?;
        }
    }
    // A block that is not whole has no ratio, so its runs are not counted.
    for (bout, glances) in glances.into_iter().enumerate() {
        if !glances[0].is_empty() {
            tell(Told::Bout(bout, glances))?;
        }
    }
    Ok(end)
}

/// A block of one bout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    bout: usize,
    block: u32,
}

/// All blocks of a bout and then those of the next, so that each is told as soon as it is known. Where
/// each block has servers of its own, all bouts of a block and then those of the next: a test finds
/// what those before it wrote.
fn order(bouts: usize, blocks: u32, restarts: bool) -> Vec<Step> {
    let step = |bout, block| Step { bout, block };
    if restarts {
        return (0..blocks).flat_map(|b| (0..bouts).map(move |t| step(t, b))).collect();
    }
    (0..bouts).flat_map(|t| (0..blocks).map(move |b| step(t, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_our_own_get_every_test_before_they_are_started_again() {
        let told = |restarts| -> Vec<(usize, u32)> {
            order(2, 3, restarts).iter().map(|step| (step.bout, step.block)).collect()
        };
        assert_eq!(told(false), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(told(true), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }
}
