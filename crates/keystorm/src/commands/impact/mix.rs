//! The segments of a mix, in blocks, and repeats of void ones.

use std::collections::VecDeque;

use anyhow::Result;
use cli::console::diagnostics;
use cli::job::{End, Job};
use cli::run::ParsedArgs;
use lab::impact::{MixRecord, REPLIES_MIN, Segment, SegmentResult, design};
use lab::{Findings, Impact};
use measure::Ending;
use workload::Plan;

use super::options::Options;
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::test_bed::TestBed;

/// Greatest extension of a segment, so that the rarest kind has a percentile.
const LONGER_MAX: f64 = 10.0;

/// Measures the capacity, then all segments.
pub(super) fn carry_out(job: &Options, load: &ParsedArgs, first: &Job) -> Result<End> {
    let Some(plan) = first.plans.first() else { return Ok(End::Complete) };
    let frame = Frame::open(&first.notes, &job.output)?;
    let mut bed = frame.reach(first, plan, plan.own_connections())?;
    // All segments read the keys of one fill.
    bed.prepare(plan)?;
    bed.settings.keeps_data = true;
    let mut list = Impact::new(bed.server.facts.name().unwrap_or_else(|| "the server".to_owned()));
    let record = MixRecord::new(plan, job.loads());
    let (kinds, loads, seed) = (record.kinds.len(), job.at.len(), plan.load.seed);
    list.mix = Some(record);
    let of_block = |block: usize| seed.wrapping_add(block as u64);
    let blocks = || 0..job.blocks() as usize;
    let closed = blocks().map(|block| design::closed_block(block, kinds, of_block(block)));
    let open = blocks().map(|block| design::open_block(block, kinds, loads, of_block(block)));
    let blocks: VecDeque<Block> = closed.chain(open).map(Block::new).collect();
    let seconds = job.seconds();
    frame.carry_out(&mut Segments {
        job,
        load,
        plan,
        bed: &bed,
        list,
        blocks,
        capacity_per_s: None,
        seconds,
        number: 0,
    })
}

/// Segments that are still to be run, and the number of repeats left.
struct Block {
    left: VecDeque<Segment>,
    repeats: usize,
}

impl Block {
    fn new(segments: Vec<Segment>) -> Self {
        Self { repeats: segments.len(), left: segments.into() }
    }
}

/// The segments of a mix; each step runs one.
struct Segments<'c, 'r> {
    job: &'c Options,
    load: &'c ParsedArgs,
    plan: &'c Plan,
    bed: &'c TestBed<'r>,
    list: Impact,
    blocks: VecDeque<Block>,
    /// Capacity: requests per second of the closed loops; `None` until all have run.
    capacity_per_s: Option<f64>,
    /// The length of a segment.
    seconds: f64,
    /// Number of segments begun so far, which is the seed of the next.
    number: u64,
}

impl Experiment for Segments<'_, '_> {
    fn planned_s(&self) -> f64 {
        self.blocks.iter().map(|block| block.left.len() as f64 * self.seconds).sum()
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let Some(block) = self.blocks.front_mut() else {
            return Ok(Step::Last(End::Complete));
        };
        let Some(segment) = block.left.pop_front() else {
            self.blocks.pop_front();
            return Ok(Step::Next);
        };
        if segment.level.is_some() && self.capacity_per_s.is_none() {
            self.list.estimate_prices();
            let effects = self.list.mix.as_ref().map(|mix| &mix.effects);
            let Some(capacity) = effects.and_then(|effects| effects.capacity_per_s) else {
                return Ok(Step::Last(End::Complete));
            };
            self.capacity_per_s = Some(capacity.value);
            self.seconds = self.seconds(capacity.value);
        }
        let end = self.run(segment, frame)?;
        self.list.estimate_prices();
        Ok(end.map_or(Step::Next, Step::Last))
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.list
    }
}

impl Segments<'_, '_> {
    /// Returns the length of segments: extended if the rarest kind would have too few replies for a
    /// percentile.
    fn seconds(&self, capacity_per_s: f64) -> f64 {
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let kinds = self.list.mix.iter().flat_map(|mix| &mix.kinds);
        let share = least(&mut kinds.map(|kind| kind.share));
        let load = least(&mut self.job.loads().into_iter());
        // A margin for chance.
        let needed_s = 1.3 * REPLIES_MIN as f64 / (share * load * capacity_per_s);
        needed_s.clamp(self.job.seconds(), self.job.seconds() * LONGER_MAX)
    }

    /// Runs a segment; if it is void, queues a repeat at the end of its block. Returns an `End` to stop
    /// the experiment.
    fn run(&mut self, segment: Segment, frame: &mut Frame<'_>) -> Result<Option<End>> {
        let load = segment.level.and_then(|level| self.job.loads().get(level).copied());
        let rate_per_s = self.capacity_per_s.zip(load).map(|(capacity, load)| capacity * load);
        self.number += 1;
        let Self { plan: whole, seconds, number, .. } = *self;
        let job = self.load.job(|load| {
            design::change(load, whole, segment.treatment, rate_per_s, seconds, number);
        })?;
        let Some(plan) = job.plans.first() else { return Ok(Some(End::Complete)) };
        let title = match load {
            Some(load) => format!("block {}, {:.0} %", segment.block + 1, load * 100.0),
            None => format!("capacity, block {}", segment.block + 1),
        };
        let run = frame.run(self.bed, plan, title, self.planned_s())?.failed_if_refused();
        self.list.add_run(&run)?;
        if let Some(mix) = &mut self.list.mix {
            let mut measured = SegmentResult::from_run(segment, rate_per_s, &run);
            let block = self.blocks.front_mut().filter(|block| block.repeats > 0);
            match block {
                Some(block) if !measured.is_valid() => {
                    block.repeats -= 1;
                    block.left.push_back(segment);
                }
                // A client that is late again and again is so in all segments: then they count as they are.
                None => measured.void = None,
                Some(_) => {}
            }
            mix.segments.push(measured);
        }
        Ok(match run.measurement.ending {
            Ending::Complete => None,
            Ending::Interrupted => Some(End::Interrupted),
            Ending::Failed(failure) => {
                diagnostics::say(failure.at(&plan.name))?;
                Some(End::Failed)
            }
        })
    }
}
