//! `--fill`: writes the data that a plan reads before it runs, at full speed, unmeasured.
//!
//! Part of [`TestBed::run`], so that every experiment has it, and writes the same data to a server once,
//! however many plans read it.

use std::fmt::Display;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use cli::console::diagnostics::say;
use cli::console::live::LiveDisplay;
use measure::Ending;
use naming::{CLEAN, FILL};
use report::Run;
use runner::{NoObserver, Start};
use workload::{Plan, PlanParts, quantity};

use crate::fill_record::Content;
use crate::test_bed::{LoadContext, TestBed};

/// Writes the data that a plan reads, unless that was done.
///
/// # Errors
/// Returns an error if a key could not be written. An interruption here also interrupts what follows.
pub(crate) fn fill(bed: &TestBed<'_>, plan: &Plan) -> Result<()> {
    if let Some(prefill) = &bed.settings.records.prefill {
        written(bed, prefill, "--prefill")?;
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
        Ending::Failed(failure) if failure.is_of_server() => {
            let server = bed.server.spawned().unwrap_or_else(|| plan.target.endpoint.to_string());
            Err(failure.at(server).at(what).into())
        }
        Ending::Failed(failure) => Err(failure.at(what).into()),
        Ending::Interrupted => Ok(None),
        Ending::Complete => {
            bed.filled.note(&run, &what.to_string());
            Ok(Some(run))
        }
    }
}
