//! `--until-sure`: how many blocks are taken, by how narrow intervals are and how long a block takes.

use std::time::Instant;

use anyhow::Result;
use console::diagnostics;
use job::{End, UntilSure};
use report::compare::{TestComparison, Width, next_blocks};

use super::blocks::{BlockResult, Blocks, Taken};

/// Takes blocks until all tests are known as well as was asked for, or could not be in time, and says which.
///
/// # Errors
/// As [`Blocks::carry_out`].
pub(super) fn carry_out(
    blocks: &mut Blocks<'_, '_>,
    asked: UntilSure,
    compared: &dyn Fn(usize, &Taken) -> TestComparison,
    tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>,
) -> Result<End> {
    let mut growth = UntilSureState::begin(asked);
    let mut next = |taken: &[Taken], wanted: u32| {
        let tests = taken.iter().enumerate().map(|(at, taken)| compared(at, taken));
        growth.next(&tests.collect::<Vec<_>>(), wanted)
    };
    let end = blocks.carry_out_until(&mut next, tell)?;
    growth.tell()?;
    let is_open = end == End::Complete && !growth.is_sure();
    Ok(if is_open { End::Inconclusive } else { end })
}

/// What is known of the tests so far.
struct UntilSureState {
    asked: UntilSure,
    began: Instant,
    widths: Vec<Width>,
    block_s: f64,
    /// Whether a test has no ratio.
    is_refused: bool,
}

impl UntilSureState {
    /// Before the first block.
    fn begin(asked: UntilSure) -> Self {
        let began = Instant::now();
        Self { asked, began, widths: Vec::new(), block_s: 0.0, is_refused: false }
    }

    /// How many blocks there are to be next, after so many; `None` for no more.
    fn next(&mut self, tests: &[TestComparison], blocks: u32) -> Option<u32> {
        let UntilSure { share, within } = self.asked;
        self.widths = tests.iter().filter_map(|test| test.width(share)).collect();
        self.is_refused = self.widths.len() < tests.len();
        let elapsed_s = self.began.elapsed().as_secs_f64();
        self.block_s = elapsed_s / f64::from(blocks.max(1));
        next_blocks(&self.widths, share, blocks, elapsed_s, within.as_secs_f64())
    }

    /// Whether every test is known as well as was asked for.
    fn is_sure(&self) -> bool {
        let share = self.asked.share;
        !self.is_refused && self.widths.iter().all(|width| width.is_within(share))
    }

    /// Says of each test how well it is known and what more would take.
    fn tell(&self) -> Result<()> {
        for width in &self.widths {
            let text = width.sentence(self.asked.share, self.block_s);
            let is_open = !width.is_within(self.asked.share) && width.blocks_for_it.is_some();
            let more = if is_open { "; --sure-within allows more time" } else { "" };
            let text = format!("{text}{more}");
            diagnostics::say(report::escape(text))?;
        }
        Ok(())
    }
}
