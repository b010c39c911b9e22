//! Recorded traffic on both servers: first a comparison of replies, while both hold their original data, then
//! blocks of runs, then head room.

mod answers;
mod head_room;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cli::compare::CompareJob;
use cli::console::diagnostics;
use cli::job::End;
use cli::replay::ReplayedSides;
use report::compare::{Comparison, ReplayedTraffic};
use workload::{Plan, PlanParts, quantity};

use head_room::HeadRoomSearch;

use super::blocks::RUNS_OF_SIDE;
use super::test_beds::TestBeds;
use super::writer::Writer;
use crate::commands::replay::RecordedLoad;

/// Default time limit of a search.
const BUDGET: Duration = Duration::from_secs(600);

/// A record after its first reading.
pub(super) struct Replayed<'j> {
    sides: &'j ReplayedSides,
    load: RecordedLoad,
    frames: [PlanParts; 2],
    /// Plans that send it to each of the two servers.
    pub(super) plans: [Plan; 2],
    budget: Duration,
}

impl<'j> Replayed<'j> {
    /// Reads the record, makes the plans from it, and prints notes on it.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read or sent.
    pub(super) fn read(
        sides: &'j ReplayedSides,
        plans: &mut [Plan],
        blocks: u32,
        job: &CompareJob,
    ) -> Result<Self> {
        let [a, b] = plans else { bail!("a record is sent to two servers") };
        let frames = [(**a).clone(), (**b).clone()];
        let load = RecordedLoad::read(&sides.record, &frames[0])?;
        load.notes(&sides.record.speed).iter().try_for_each(diagnostics::say)?;
        let blocks_s =
            load.lasts_s(&sides.record.speed) * f64::from(blocks) * (2 * RUNS_OF_SIDE) as f64;
        if blocks_s >= 60.0 {
            let minutes = quantity::counted((blocks_s / 60.0).ceil() as u64, "minute");
            diagnostics::say(format_args!("note: {blocks} blocks take about {minutes}"))?;
        }
        let plan = |side: usize| {
            Ok::<_, anyhow::Error>(load.plan_at(&frames[side], &sides.record.speed, load.rounds)?.0)
        };
        let sent = [plan(0)?, plan(1)?];
        (*a, *b) = sent.clone().into();
        let budget = job.budget.unwrap_or(BUDGET);
        Ok(Self { sides, plans: sent, load, frames, budget })
    }

    /// Prepares the servers, refuses those that must not be written to, and compares their replies.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read again, or a server does not answer.
    pub(super) fn begin(
        &self,
        both: &mut [TestBeds<'_>; 2],
        interrupted: &AtomicBool,
    ) -> Result<ReplayedTraffic> {
        for (side, beds) in both.iter_mut().enumerate() {
            let (_, records) = self.load.plan_at(
                &self.frames[side],
                &self.sides.record.speed,
                self.load.rounds,
            )?;
            beds.admit(&self.load.precaution)?;
            beds.set_records(records);
        }
        let record = self.plans[0].recorded.clone().context("the plan of a record has none")?;
        let asks = self.sides.answers && !self.plans[0].protocol.is_memcache();
        let answers = if asks {
            Some(answers::compare(&self.load, both, &self.plans, interrupted)?)
        } else {
            None
        };
        Ok(ReplayedTraffic { record, answers, head_room: None })
    }

    /// A guess at the seconds of the search for head room.
    pub(super) fn search_s(&self) -> f64 {
        self.sides.slo.as_ref().map_or(0.0, |_| 2.0 * head_room::expected_s(self.budget))
    }

    /// Searches for head room, if requested; the comparison gets the results so far.
    ///
    /// # Errors
    /// Returns an error if a run could not be started.
    pub(super) fn search(
        &self,
        beds: &mut [TestBeds<'_>; 2],
        comparison: &mut Comparison,
        writer: &mut Writer<'_>,
        interrupted: &AtomicBool,
    ) -> Result<End> {
        let Some(slo) = &self.sides.slo else { return Ok(End::Complete) };
        let (load, frames, budget) = (&self.load, &self.frames, self.budget);
        let (names, progress) = (&comparison.names(), writer.files.progress());
        let search =
            HeadRoomSearch { slo, load, frames, beds, names, budget, progress, interrupted };
        search.carry_out(&mut |room| {
            if let Some(of) = &mut comparison.replayed {
                of.head_room = Some(room.clone());
            }
            writer.show(comparison, Vec::new);
        })
    }
}
