//! Conversion of options to a job: the plans of the load, and the output.

use naming::{PROBE, START_AT, text};
use report::Persona;
use report::slo::Slo;
use spec::values::OnErrorArg;
use spec::{LoadSpec, SpecError, StartAt, single};

use super::options::{Options, vocabulary};
use super::output;
use crate::suggestions::named;
use crate::{Action, Job};

/// The highest rate of --probe: beyond it, a probe would be a load itself.
const PROBE_MAX: f64 = 100_000.0;

/// Turns options into a job.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub(super) fn job(mut options: Options, persona: Persona) -> Result<Job, SpecError> {
    if let Some(refusal) = options.later.refused() {
        return Err(refusal.into());
    }
    let (warning, mut notes) = (persona.dialect.warning, Vec::new());
    if options.exit_on_error {
        let why = if persona.own_words {
            "An error reply ends the run unless --on-error count says otherwise."
        } else {
            "We now immediately exit on error to avoid false results."
        };
        notes.push(format!("{warning}: -e option has no effect. {why}"));
    }
    let output = output::output(&options, persona)?;
    let slo = options.results.slo.clone();
    // A target for errors requires a run that continues after errors.
    if slo.as_ref().is_some_and(Slo::bounds_errors) {
        options.spec.recording.on_error.get_or_insert(OnErrorArg::Count);
    }
    check_own(&options)?;
    let plans = options.spec.plans(&mut notes)?;
    plans.iter().try_for_each(runner::check_memory)?;
    notes.extend(behind_the_command(&options).map(|text| format!("{warning}: {text}")));
    slo.iter().try_for_each(|slo| slo.check_plans(&plans))?;
    let Options { spec, clients, .. } = options;
    let start_at = spec.load.start_at.map(|StartAt(at)| at);
    if start_at.is_some() {
        single(START_AT, plans.len())?;
    }
    let probe = clients.probe.map(|rate| rate as f64);
    if probe.is_some_and(|rate| !(1.0..=PROBE_MAX).contains(&rate)) {
        return Err(text!("{PROBE}: must be between 1 and {PROBE_MAX} requests per second").into());
    }
    Ok(Job {
        server_clock: clients.server_clock(&plans)?,
        several: clients.several(&plans)?,
        plans,
        slo,
        last: None,
        action: if spec.load.idle {
            Action::Idle
        } else {
            Action::Run { repeat: spec.load.repeat }
        },
        repeats: spec.load.repeats.unwrap_or(1),
        output,
        notes,
        remarks: Vec::new(),
        greeting: String::new(),
        start_at,
        probe,
    })
}

/// Refuses a subcommand of keystorm, or a stray value of an option that takes one only behind `=`, in place of
/// a command for the server.
fn check_own(options: &Options) -> Result<(), String> {
    let LoadSpec { command, data, dialect, .. } = &options.spec;
    if !dialect.minds_slips || data.mix || options.command_is_marked {
        return Ok(());
    }
    let first = command.first().and_then(|word| word.to_str()).unwrap_or_default();
    let is_last = command.get(1).is_none_or(|next| is_option(&next.to_string_lossy()));
    if is_last && first.parse::<f64>().is_ok_and(f64::is_finite) {
        let instead = format!("value of an option, write it behind =, as in --until-sure={first}");
        return Err(format!("{first} is no command of a server; as the {instead}"));
    }
    let mut own = crate::commands().flat_map(|front| front.names());
    let Some(name) = own.find(|name| **name == first) else { return Ok(()) };
    Err(format!(
        "{name} is a command of keystorm and stands before the options: keystorm {name} ... (if {name} is meant for \
         the server, put -- before it)"
    ))
}

/// Returns whether a word is an option of keystorm, with or without its value.
fn is_option(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let is_written_so = word.starts_with("--") || word.starts_with('-') && word.len() == 2;
    is_written_so && named(&vocabulary(), name).is_some()
}

/// Options of keystorm that follow the command, and are therefore sent as arguments of it.
fn behind_the_command(options: &Options) -> Option<String> {
    if !options.spec.dialect.minds_slips {
        return None;
    }
    // Behind `--` every word is meant for the server.
    let typed = std::env::args_os().any(|word| word == "--");
    let mut behind = options.spec.command.iter().skip(1).filter(|_| !typed);
    let known = behind.find(|word| is_option(&word.to_string_lossy()))?;
    let known = known.to_string_lossy();
    // Its value may be an address with a password.
    let known = known.split('=').next().unwrap_or_default();
    Some(format!(
        "{known} follows the command, so it is sent to the server as a word of it; options stand \
         before the command (if {known} is meant for the server, put -- before the command)"
    ))
}
