//! Plays the acts one after another, each until it has ended, with a rest before it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use lab::impact::{ActRecord, Condition};
use runner::{NoObserver, Start};

use super::options::{Options, StagedAct};
use super::stage::Stage;
use crate::test_bed::TestBed;

/// Interval at which the end condition of an act and the server's memory are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// State of an act.
pub(super) enum Scene {
    /// The act has not been played yet.
    Waiting,
    /// The act is left out for this reason.
    LeftOut(String),
    /// The server does not support the act, for this reason.
    NotSupported(String),
    /// The act was played.
    Played(Times),
}

/// Times of an act by this machine's clock, and the memory that the server used.
pub(super) struct Times {
    rest_from: SystemTime,
    from: SystemTime,
    ended: Option<SystemTime>,
    until: SystemTime,
    memory_before: Option<u64>,
    memory_peak: Option<u64>,
}

impl Times {
    /// Returns the times in seconds since the measured part of a run began.
    pub(super) fn since(&self, start: SystemTime) -> ActRecord {
        ActRecord {
            rest_from_s: seconds_since(start, self.rest_from).max(0.0),
            from_s: seconds_since(start, self.from),
            ended_s: self.ended.map(|ended| seconds_since(start, ended)),
            until_s: seconds_since(start, self.until),
            memory_before: self.memory_before,
            memory_peak: self.memory_peak,
        }
    }
}

/// Seconds from `start` to `at`; negative if `at` is earlier.
fn seconds_since(start: SystemTime, at: SystemTime) -> f64 {
    match at.duration_since(start) {
        Ok(after) => after.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// Plays acts on a stage.
pub(super) struct Player<'p, 'b> {
    pub(super) job: &'p Options,
    pub(super) bed: &'p TestBed<'b>,
    pub(super) stage: &'p Stage<'p>,
}

impl Player<'_, '_> {
    /// Prepares every act, before load begins.
    pub(super) fn prepare(&self) -> Vec<Scene> {
        let acts = self.job.staged.iter().map(|staged| match self.prepare_one(staged) {
            Ok(scene) => scene,
            Err(error) => Scene::NotSupported(format!("{error:#}")),
        });
        acts.collect()
    }

    fn prepare_one(&self, staged: &StagedAct) -> Result<Scene> {
        let act = &staged.act;
        if act.destroys && !self.bed.server.is_own() && self.job.of.is_empty() {
            let why = format!("it destroys data; --of {} plays it", act.name);
            return Ok(Scene::LeftOut(why));
        }
        if let Some(condition) = act.requires.as_deref().and_then(Condition::parse)
            && !self.stage.holds(&condition)?
        {
            let wanted = act.requires.as_deref().unwrap_or_default();
            return Ok(Scene::NotSupported(format!("it requires {wanted}")));
        }
        self.stage.will_undo(&act.undo);
        for _ in 0..act.prepare_times {
            for command in &act.prepare {
                if self.bed.interrupted().load(Ordering::Relaxed) {
                    return Ok(Scene::Waiting);
                }
                self.stage.send(command)?;
            }
        }
        Ok(Scene::Waiting)
    }

    /// Plays every possible act, until `stop`.
    pub(super) fn play(&self, scenes: &mut [Scene], stop: &AtomicBool) {
        let rest = self.job.rest();
        self.wait(rest, stop, |_| {});
        for (staged, scene) in self.job.staged.iter().zip(scenes) {
            if self.is_over(stop) {
                return;
            }
            if !matches!(scene, Scene::Waiting) {
                continue;
            }
            *scene = match self.play_one(staged, rest, stop) {
                Ok(times) => Scene::Played(times),
                Err(error) => Scene::NotSupported(format!("{error:#}")),
            };
        }
    }

    fn is_over(&self, stop: &AtomicBool) -> bool {
        stop.load(Ordering::Relaxed) || self.bed.interrupted().load(Ordering::Relaxed)
    }

    fn play_one(&self, staged: &StagedAct, rest: Duration, stop: &AtomicBool) -> Result<Times> {
        let act = &staged.act;
        let memory_before = self.stage.memory();
        let changed = self.stage.settings(&act.restore)?;
        let mut memory_peak = memory_before;
        let mut look = |memory: Option<u64>| memory_peak = memory_peak.max(memory);
        let commands = act.start.iter().map(|command| self.stage.filled(command));
        let commands = commands.collect::<Result<Vec<_>>>()?;
        let from = SystemTime::now();
        // The first half of a rest may have to do with the act before it.
        let rest_from = from.checked_sub(rest / 2).unwrap_or(from);
        let started = self.start(staged, &commands, stop);
        let mut ended = None;
        if started.is_ok() {
            ended = self.until_ended(act.until.as_deref(), stop, &mut look);
        }
        self.stage.restore(&changed)?;
        started?;
        self.wait(rest, stop, |_| look(self.stage.memory()));
        let until = SystemTime::now();
        Ok(Times { rest_from, from, ended, until, memory_before, memory_peak })
    }

    fn start(&self, staged: &StagedAct, commands: &[String], stop: &AtomicBool) -> Result<()> {
        for command in commands {
            self.stage.send_slowly(command)?;
        }
        if let Some(load) = &staged.load {
            self.bed.load(load, Start::Ready, None, stop, &mut NoObserver)?;
        }
        if staged.act.full_sync {
            self.stage.full_sync(&|| self.is_over(stop))?;
        }
        if staged.act.migrate_slots > 0 {
            self.stage.migrate_slots(staged.act.migrate_slots, &|| self.is_over(stop))?;
        }
        Ok(())
    }

    /// Returns the time at which the end condition was met; `None` if it was not met in time.
    fn until_ended(
        &self,
        until: Option<&str>,
        stop: &AtomicBool,
        look: &mut impl FnMut(Option<u64>),
    ) -> Option<SystemTime> {
        let Some(condition) = until.and_then(Condition::parse) else {
            return Some(SystemTime::now());
        };
        let deadline = Instant::now() + self.job.act_timeout();
        while Instant::now() < deadline && !self.is_over(stop) {
            look(self.stage.memory());
            if self.stage.holds(&condition).unwrap_or(false) {
                return Some(SystemTime::now());
            }
            thread::sleep(LOOK_EVERY);
        }
        None
    }

    /// Lets time pass, and calls `look` now and then.
    fn wait(&self, length: Duration, stop: &AtomicBool, mut look: impl FnMut(Instant)) {
        let deadline = Instant::now() + length;
        while Instant::now() < deadline && !self.is_over(stop) {
            look(Instant::now());
            let left = deadline.saturating_duration_since(Instant::now());
            thread::sleep(left.min(4 * LOOK_EVERY));
        }
    }
}
