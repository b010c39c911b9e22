//! Head room: the speed-up of the recorded traffic at which each server still meets a target, found by a
//! search.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::job::End;
use lab::head_room::{SpeedTrials, speed_range};
use lab::{RateOutcome, Search};
use measure::Ending;
use report::compare::{HeadRoom, SpeedRange};
use report::slo::Slo;
use traffic::replay::Speed;
use workload::PlanParts;

use super::super::test_beds::TestBeds;
use crate::commands::replay::RecordedLoad;
use crate::experiment::frame::EarlyEnd;
use crate::experiment::progress::Progress;

/// Shortest trial, in seconds: a shorter record is sent several times.
const TRIAL_MIN_S: f64 = 2.0;
/// Estimated number of trials of a search, for the time left.
const TRIALS_EXPECTED: f64 = 10.0;

/// A guess at the seconds that the search takes on one server.
pub(super) fn expected_s(budget: Duration) -> f64 {
    budget.as_secs_f64().min(TRIAL_MIN_S * TRIALS_EXPECTED)
}

/// The servers of a search, and the time limit for each.
pub(super) struct HeadRoomSearch<'h, 'r> {
    pub(super) slo: &'h Slo,
    pub(super) load: &'h RecordedLoad,
    pub(super) frames: &'h [PlanParts; 2],
    pub(super) beds: &'h mut [TestBeds<'r>; 2],
    pub(super) names: &'h [String],
    pub(super) budget: Duration,
    pub(super) progress: Progress,
    pub(super) interrupted: &'h AtomicBool,
}

impl HeadRoomSearch<'_, '_> {
    /// Searches on both servers, one after the other; `found` gets the results after each server.
    ///
    /// # Errors
    /// Returns an error if a run could not be started.
    pub(super) fn carry_out(mut self, found: &mut dyn FnMut(&HeadRoom)) -> Result<End> {
        let sides = [SpeedRange::default(); 2];
        let mut room = HeadRoom { target: self.slo.text.clone(), sides };
        let mut end = End::Complete;
        for side in 0..2 {
            if end != End::Complete {
                break;
            }
            (room.sides[side], end) = self.on(side)?;
            found(&room);
        }
        Ok(end)
    }

    fn on(&mut self, side: usize) -> Result<(SpeedRange, End)> {
        let after_s = if side == 0 { expected_s(self.budget) } else { 0.0 };
        let settings = SpeedTrials::settings(self.budget.as_secs_f64());
        let (mut trials, mut search) = (SpeedTrials::new(self.slo), Search::new(settings));
        let began = Instant::now();
        let (mut number, mut untried) = (0, None);
        let found = search.run(|times| {
            let speed = Speed::times(times);
            let once_s = self.load.lasts_s(&speed) / self.load.rounds as f64;
            let rounds = (TRIAL_MIN_S / once_s.max(1e-9)).ceil().clamp(1.0, 1e6) as u64;
            let takes_s = once_s * rounds as f64;
            let is_late = began.elapsed() + Duration::from_secs_f64(takes_s) > self.budget;
            if number > 0 && is_late {
                untried = Some(times);
                return Err(EarlyEnd::OutOfTime);
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(EarlyEnd::Ended(End::Interrupted));
            }
            number += 1;
            let left_s = self.budget.saturating_sub(began.elapsed()).as_secs_f64();
            let name = &self.names[side];
            let what = format!("{name}, trial {number}: {times:.2} times the traffic");
            let left_s = left_s.min(takes_s * TRIALS_EXPECTED) + after_s;
            self.progress.begin(what, takes_s, left_s);
            let (plan, records) = self.load.plan_at(&self.frames[side], &speed, rounds)?;
            let beds = &mut self.beds[side];
            beds.restart()?;
            beds.set_records(records);
            let run = beds.run(std::slice::from_ref(&plan), &mut self.progress)?;
            self.progress.end();
            match &run.measurement.ending {
                Ending::Complete => Ok::<RateOutcome, EarlyEnd>(trials.add(times, &run)),
                Ending::Interrupted => Err(EarlyEnd::Ended(End::Interrupted)),
                Ending::Failed(_) => Err(EarlyEnd::Ended(End::Failed)),
            }
        });
        let range = speed_range(&search, untried);
        match found {
            Ok(_) | Err(EarlyEnd::OutOfTime) => Ok((range, End::Complete)),
            Err(EarlyEnd::Ended(end)) => Ok((SpeedRange { is_open: true, ..range }, end)),
            Err(EarlyEnd::Fault(error)) => Err(error),
        }
    }
}
