//! `--fill`: what a plan reads is written before it runs, as fast as it can be, unmeasured.
//!
//! Stands behind [`Rig::run`], so that every experiment has it, and fills a server once with the same,
//! however many plans read it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use measure::Ending;
use report::{Persona, Run};
use workload::{Plan, PlanParts, quantity};

use crate::aside::say;
use crate::live::Live;
use crate::rig::{Rig, With};

/// What a server was filled with.
#[derive(Debug, Default)]
pub(crate) struct Filled(Mutex<HashSet<String>>);

impl Filled {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server is another.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    /// Whether a server is yet to be filled so.
    fn is_new(&self, parts: &PlanParts) -> Result<bool> {
        let PlanParts { sequence, keys, values, seed, shard, .. } = parts;
        let what = serde_json::to_string(&(sequence, keys, values, seed, shard))?;
        Ok(self.lock().insert(what))
    }
}

/// Writes what a plan reads, unless that was done.
///
/// # Errors
/// A key could not be written. Whoever interrupts it interrupts what comes after it too.
pub(crate) fn fill(rig: &Rig<'_>, plan: &Plan) -> Result<()> {
    for parts in plan.filled_by().parts {
        if !rig.filled.is_new(&parts)? {
            continue;
        }
        let fill = parts.build()?;
        let Some(run) = written(rig, &fill, "--fill")? else { return Ok(()) };
        if rig.tells {
            let measured = &run.measurement;
            let (mb, s) = (
                measured.total.connections.bytes_out as f64 / 1e6,
                measured.elapsed_ns as f64 / 1e9,
            );
            let keys = quantity::counted(fill.keys_filled(), "key");
            let written = match mb {
                mb if mb < 0.1 => format!("{:.1} kB", mb * 1e3),
                mb => format!("{mb:.1} MB"),
            };
            say(format_args!("filled {keys}: {written} written in {s:.2} s"))?;
        }
    }
    Ok(())
}

/// Writes what a test of memcached's suite must find, every time: the test before may have changed it.
///
/// # Errors
/// As [`fill`].
pub(crate) fn prepare(rig: &Rig<'_>, plan: &Plan) -> Result<()> {
    for parts in plan.prepared_by() {
        written(rig, &parts.build()?, "storing the keys of the test")?;
    }
    Ok(())
}

/// Carries out a plan that writes; `None` if somebody interrupted it.
fn written(rig: &Rig<'_>, plan: &Plan, what: &str) -> Result<Option<Run>> {
    let mut live = Live::new(plan, 1, 1, Some(Persona::Ours));
    let run = rig.run_without_probe(plan, With::default(), &mut live)?;
    live.clear();
    match &run.measurement.ending {
        Ending::Failed(why) => bail!("{what}: {why}"),
        Ending::Interrupted => Ok(None),
        Ending::Complete => Ok(Some(run)),
    }
}
