//! How many times the recorded traffic each server takes while it keeps a target: a search over the speed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use job::{End, RehearseJob};
use lab::head_room::{HeadRoom, SpeedRange, SpeedTrials};
use lab::{Answer, Search};
use replay::Speed;
use report::slo::Slo;

use super::{Servers, end_of};
use crate::commands::replay::RecordedLoad;
use crate::experiment::progress::Progress;

/// Shortest trial, in seconds: a record that is over sooner is sent several times.
const TRIAL_MIN_S: f64 = 2.0;
/// Trials that a search takes, as a guess for the time left.
const TRIALS_EXPECTED: f64 = 10.0;

/// Why a search ends early.
enum Stop {
    Ended(End),
    OutOfTime,
    Fault(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// A guess at the seconds that the search takes on one server.
pub(super) fn expected_s(job: &RehearseJob) -> f64 {
    job.budget_s.min(TRIAL_MIN_S * TRIALS_EXPECTED)
}

/// Searches on both servers, one after the other; `found` has what is known after each.
///
/// # Errors
/// A run could not be started.
pub(super) fn search(
    slo: &Slo,
    job: &RehearseJob,
    load: &RecordedLoad,
    (servers, mut progress): (&mut Servers<'_>, Progress),
    interrupted: &AtomicBool,
    found: &mut dyn FnMut(&HeadRoom),
) -> Result<End> {
    let mut room = HeadRoom { target: slo.text.clone(), sides: [SpeedRange::default(); 2] };
    let mut end = End::Complete;
    for side in 0..2 {
        if end != End::Complete {
            break;
        }
        let after_s = if side == 0 { expected_s(job) } else { 0.0 };
        let shown = (&mut progress, after_s);
        (room.sides[side], end) = of_side(slo, job, load, (servers, side), shown, interrupted)?;
        found(&room);
    }
    Ok(end)
}

fn of_side(
    slo: &Slo,
    job: &RehearseJob,
    load: &RecordedLoad,
    (servers, side): (&mut Servers<'_>, usize),
    (progress, after_s): (&mut Progress, f64),
    interrupted: &AtomicBool,
) -> Result<(SpeedRange, End)> {
    let settings = SpeedTrials::settings(job.budget_s);
    let (mut trials, mut search) = (SpeedTrials::new(slo), Search::new(settings));
    let (budget, began) = (Duration::from_secs_f64(job.budget_s), Instant::now());
    let name = servers.names[side].clone();
    let (mut number, mut untried) = (0, None);
    let found = search.run(|times| {
        let speed = Speed::times(times);
        let once_s = load.lasts_s(&speed) / load.rounds as f64;
        let rounds = (TRIAL_MIN_S / once_s.max(1e-9)).ceil().clamp(1.0, 1e6) as u64;
        let takes_s = once_s * rounds as f64;
        let is_late = began.elapsed() + Duration::from_secs_f64(takes_s) > budget;
        if number > 0 && is_late {
            untried = Some(times);
            return Err(Stop::OutOfTime);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Stop::Ended(End::Interrupted));
        }
        number += 1;
        let left_s = budget.saturating_sub(began.elapsed()).as_secs_f64();
        let what = format!("{name}, trial {number}: {times:.2} times the traffic");
        progress.begin(what, takes_s, left_s.min(takes_s * TRIALS_EXPECTED) + after_s);
        let (plan, records) = load.plan_at(&servers.frames[side], &speed, rounds)?;
        let beds = &mut servers.beds[side];
        beds.restart()?;
        beds.set_records(records);
        let run = beds.run(std::slice::from_ref(&plan), progress)?;
        progress.end();
        match end_of(&run.measurement.ending) {
            End::Complete => Ok::<Answer, Stop>(trials.add(times, &run)),
            end => Err(Stop::Ended(end)),
        }
    });
    let range = SpeedRange::from_search(&search, untried);
    match found {
        Ok(_) | Err(Stop::OutOfTime) => Ok((range, End::Complete)),
        Err(Stop::Ended(end)) => Ok((SpeedRange { is_open: true, ..range }, end)),
        Err(Stop::Fault(error)) => Err(error),
    }
}
