//! `--until-sure`: takes further blocks until the intervals are narrow enough, or the time is over.

use std::time::Instant;

use anyhow::Result;
use cli::compare::UntilSure;
use cli::console::diagnostics;
use cli::job::End;
use report::compare::{TestComparison, Width, next_blocks};

use super::blocks::{BlockResult, Blocks, Taken};

/// Takes blocks until the interval of every test is narrow enough, or cannot become so in time, and prints
/// which.
///
/// # Errors
/// Returns the errors of [`Blocks::carry_out`].
pub(super) fn carry_out(
    blocks: &mut Blocks<'_, '_>,
    asked: UntilSure,
    compared: &dyn Fn(usize, &Taken) -> TestComparison,
    tell: &mut dyn FnMut(BlockResult<'_>) -> Result<()>,
) -> Result<End> {
    let mut state = UntilSureState::begin(asked);
    let mut next = |taken: &[Taken], wanted: u32| {
        let tests = taken.iter().enumerate().map(|(at, taken)| compared(at, taken));
        state.next(&tests.collect::<Vec<_>>(), wanted)
    };
    let end = blocks.carry_out_until(&mut next, tell)?;
    state.tell()?;
    let is_open = end == End::Complete && !state.is_sure();
    Ok(if is_open { End::Inconclusive } else { end })
}

/// State of the tests so far.
struct UntilSureState {
    asked: UntilSure,
    began: Instant,
    widths: Vec<Width>,
    block_s: f64,
    /// Set if a test has no ratio.
    is_refused: bool,
}

impl UntilSureState {
    /// Returns the state before the first block.
    fn begin(asked: UntilSure) -> Self {
        let began = Instant::now();
        Self { asked, began, widths: Vec::new(), block_s: 0.0, is_refused: false }
    }

    /// Returns the next total number of blocks after `blocks` of them; `None` to stop.
    fn next(&mut self, tests: &[TestComparison], blocks: u32) -> Option<u32> {
        let UntilSure { share, within } = self.asked;
        self.widths = tests.iter().filter_map(|test| test.width(share)).collect();
        self.is_refused = self.widths.len() < tests.len();
        let elapsed_s = self.began.elapsed().as_secs_f64();
        self.block_s = elapsed_s / f64::from(blocks.max(1));
        next_blocks(&self.widths, share, blocks, elapsed_s, within.as_secs_f64())
    }

    /// Returns whether the interval of every test is as narrow as requested.
    fn is_sure(&self) -> bool {
        let share = self.asked.share;
        !self.is_refused && self.widths.iter().all(|width| width.is_within(share))
    }

    /// Prints the width of each test's interval, and the number of blocks that a narrower one needs.
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
