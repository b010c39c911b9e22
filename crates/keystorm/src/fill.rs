//! `--fill`: writes the data that a plan reads before it runs, at full speed, unmeasured.
//!
//! Part of [`TestBed::run`], so that every experiment has it, and writes the same data to a server once,
//! however many plans read it.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use console::diagnostics::say;
use console::live::LiveDisplay;
use measure::Ending;
use naming::{CLEAN, FILL};
use report::{Run, Summary, Warning, WarningKind};
use runner::{NoObserver, Start};
use workload::{CommandSpec, Data, Load, Plan, PlanParts, quantity};

use crate::test_bed::{LoadContext, TestBed};

/// Record of the data that a server was filled with.
#[derive(Debug, Default)]
pub(crate) struct FillRecord(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Content last written, for each form of keys.
    written: HashMap<String, String>,
    /// Fills that were announced.
    announced: HashSet<String>,
    /// Warning about evictions by the last fill.
    evicted: Option<Warning>,
    /// Keys that were written and are to be removed at the end, once for each form.
    to_remove: HashMap<String, PlanParts>,
}

/// Keys to fill, and their content.
struct Content {
    keys: String,
    all: String,
}

impl Content {
    fn from_parts(parts: &PlanParts) -> Result<Self> {
        let PlanParts { sequence, load: Load { seed, shard, .. }, data, .. } = parts;
        let Data { keys, values, .. } = data;
        let names: Vec<_> = sequence.iter().map(|command| command.args.get(1)).collect();
        Ok(Self {
            keys: serde_json::to_string(&(names, keys, shard))?,
            all: serde_json::to_string(&(sequence, keys, values, seed, shard))?,
        })
    }
}

impl FillRecord {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all fills, as the server is another.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        (state.evicted, state.written) = (None, HashMap::new());
    }

    /// Returns the warning for every run that reads the data.
    pub(crate) fn evicted(&self) -> Option<Warning> {
        self.lock().evicted.clone()
    }

    /// Notes evictions during the fill of `what`.
    fn note(&self, run: &Run, what: &str) {
        let counts = run.watched.servers.iter().filter_map(|server| server.evicted_keys);
        let evicted = counts.fold(0, u64::saturating_add);
        let text = format!(
            "{what}: the server evicted {} keys in the course of {} writes, to stay below its limit of memory",
            report::grouped(evicted as f64),
            report::grouped(run.measurement.total.requests() as f64)
        );
        if evicted > 0 {
            self.lock().evicted = Some(Warning::about(WarningKind::Evicted, what, text));
        }
    }

    /// After a run that may have used up its data, forgets the fill, so that the next run fills anew. Evicted
    /// data would be evicted again, and intentionally missing data was never written.
    pub(crate) fn forget_used(&self, run: &Run) {
        let plan = &run.plan;
        let removes =
            |command: &CommandSpec| !command.reads(plan.protocol) && !plan.writes(command);
        let evicts = self.evicted().is_some()
            || run.watched.servers.iter().any(|server| server.evicted_keys > Some(0));
        let is_meant = plan.key_spaces().any(|(_, keys)| keys.draw.may_miss());
        let used = plan.data.fill_lifetime.is_some()
            || plan.sequence.iter().any(removes)
            || !evicts && !is_meant && Summary::from_run(run).lookups.misses > 0;
        if plan.data.fill.is_some() && used {
            self.forget();
        }
    }

    /// Notes a content. Returns whether the server was not filled with it before.
    fn is_new(&self, content: &Content) -> bool {
        let Content { keys, all } = content;
        self.lock().written.insert(keys.clone(), all.clone()).as_ref() != Some(all)
    }
}

/// Writes the data that a plan reads, unless that was done.
///
/// # Errors
/// Returns an error if a key could not be written. An interruption here also interrupts what follows.
pub(crate) fn fill(bed: &TestBed<'_>, plan: &Plan) -> Result<()> {
    if plan.is_recorded() {
        return bed
            .settings
            .records
            .prefill()
            .map_or(Ok(()), |prefill| written(bed, prefill, "--prefill").map(drop));
    }
    for parts in plan.filled_by().parts {
        let content = Content::from_parts(&parts)?;
        if !bed.filled.is_new(&content) {
            continue;
        }
        let removes = plan.data.clean && !bed.server.is_own();
        if removes {
            bed.filled.lock().to_remove.insert(content.keys.clone(), parts.removed_by());
        }
        let fill = parts.build()?;
        let Some(run) = written(bed, &fill, FILL)? else { return Ok(()) };
        if !bed.settings.fills_quietly && bed.filled.lock().announced.insert(content.all.clone()) {
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
            let stay = match () {
                () if removes => format!("; {CLEAN} removes them at the end"),
                () if bed.server.is_own() => String::new(),
                () => format!("; they stay in the server ({CLEAN} removes them)"),
            };
            say(format_args!("filled {keys}: {written} written in {s:.2} s{stay}"))?;
        }
    }
    Ok(())
}

impl Drop for TestBed<'_> {
    /// Removes the keys to be removed at the end, also after an interrupted run.
    fn drop(&mut self) {
        let forms = std::mem::take(&mut self.filled.lock().to_remove);
        let mut keys = 0;
        for parts in forms.into_values() {
            match removed(self, parts) {
                Ok(removed) => keys += removed,
                Err(error) => {
                    let _ = say(format_args!(
                        "warning: {CLEAN}: keys that {FILL} wrote may still be there: {error:#}"
                    ));
                }
            }
        }
        if keys > 0 && !self.settings.fills_quietly {
            let _ = say(format_args!("removed {}", quantity::counted(keys, "key")));
        }
    }
}

fn removed(bed: &TestBed<'_>, parts: PlanParts) -> Result<u64> {
    let plan = parts.build()?;
    let never = AtomicBool::new(false);
    let ending = bed.load(&plan, Start::Ready, None, &never, &mut NoObserver)?.ending;
    match ending {
        Ending::Failed(failure) => Err(failure.at("removing").into()),
        Ending::Interrupted | Ending::Complete => Ok(plan.keys_filled()),
    }
}

/// Writes the required data of a test of memcached's suite, every time, as the previous test may have changed
/// it.
///
/// # Errors
/// Returns the errors of [`fill`].
pub(crate) fn prepare(bed: &TestBed<'_>, plan: &Plan) -> Result<()> {
    for parts in plan.prepared_by() {
        written(bed, &parts.build()?, "storing the keys of the test")?;
    }
    Ok(())
}

/// Carries out a plan that writes; `None` if the user interrupted it.
fn written(bed: &TestBed<'_>, plan: &Plan, what: impl Display) -> Result<Option<Run>> {
    let mut live = LiveDisplay::new(plan, 1, 1, Some(report::LiveLine::All));
    let run = bed.run_without_probe(plan, LoadContext::default(), &mut live)?;
    live.clear();
    match &run.measurement.ending {
        Ending::Failed(failure) => Err(failure.at(what).into()),
        Ending::Interrupted => Ok(None),
        Ending::Complete => {
            bed.filled.note(&run, &what.to_string());
            Ok(Some(run))
        }
    }
}
