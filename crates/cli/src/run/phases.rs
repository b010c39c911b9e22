//! `--workload`: the phases of a file as plans, one after another, and a command line as a file.
//!
//! A file speaks in the options of the command line. So its settings are words before those that were
//! typed, and the last word counts, as always.

use std::ffi::OsString;

use lab::Line;
use naming::{NAME, START_AT};
use spec::values::Count;
use spec::{LoadOperation, LoadSpec, TypedLoad};
use workload::command_line::{TypedOperation, TypedStep};
use workload::{DrawnBy, KeyDist, KeySpace, OneGroup, ProtocolKind, StepCondition, limits, secret};

use super::options::Options;
use super::{ParsedArgs, plans};
use crate::experiment::takes_of;
use crate::near::{self, explained, nearest, one_of};
use crate::workload_file::settings::{self, Assignment, OF_NO_FILL, written};
use crate::workload_file::{
    Command, Form, Load, Operation, Phase, Setting, Settings, Source, Step, Workload, open, read,
    write,
};
use crate::{Job, UsageError, presets};

/// Options that cannot be combined with --workload, because the file decides them; by their fields' names.
const OF_THE_FILE: [&str; 4] = ["tests", "mix", "stdin_arg", "command"];

/// Options without effect on an operation that has a key space of its own in the file; by their fields' names.
const OF_KEYS: [&str; 7] =
    ["key_range", "key_dist", "sequential", "first_key", "unpadded", "keys_by", "one_slot"];

/// The job of a workload: its phases, each changed by what was typed and by `change`.
pub(super) fn job(
    typed: &ParsedArgs,
    name: &str,
    change: &dyn Fn(&mut Options),
) -> Result<Job, UsageError> {
    if let Some(id) = typed.typed().find(|id| OF_THE_FILE.contains(id)) {
        let option = typed.written(id);
        return Err(UsageError(format!(
            "{option} cannot be combined with --workload, which defines what is sent; to turn a \
             command line into a file, use --print-workload without --workload"
        )));
    }
    let workload = opened(typed, name)?;
    let mut job: Option<Job> = None;
    for phase in chosen(typed, &workload)? {
        let seed = job.as_ref().and_then(|job| job.plans.first()).map(|plan| plan.load.seed as i64);
        let next = job_of(typed, &workload, &phase, seed, change)?;
        match &mut job {
            Some(job) => job.plans.extend(next.plans),
            None => job = Some(next),
        }
    }
    let job = job.ok_or_else(|| UsageError("--phase: no phase named".to_owned()))?;
    let named = job.plans.iter().any(|plan| plan.named);
    for (option, given) in [(START_AT, job.start_at.is_some()), (NAME, named)] {
        if given {
            spec::single(option, job.plans.len())?;
        }
    }
    Ok(job)
}

fn opened(typed: &ParsedArgs, name: &str) -> Result<Workload, UsageError> {
    let workload = read(open(name).map_err(UsageError)?, super::vocabulary());
    let workload = workload.map_err(UsageError)?;
    let loads = std::iter::once(&workload.load).chain(workload.phases.iter().map(|p| &p.load));
    let mut operations = loads.flatten().flat_map(|load| match load {
        Load::Operations(operations) => operations.iter().map(|o| o.keys.is_none()).collect(),
        Load::Sequence(_) => vec![true],
    });
    let ranged = typed.typed().find(|id| OF_KEYS.contains(id));
    if let Some(id) = ranged.filter(|_| operations.clone().next().is_some())
        && !operations.any(|takes_range| takes_range)
    {
        return Err(UsageError(format!(
            "{} has no effect: every operation of {} has its own key space, [keys.NAME]",
            typed.written(id),
            workload.source.name
        )));
    }
    Ok(workload)
}

/// The phases that `--phase` names, in the order of the file.
fn chosen(typed: &ParsedArgs, workload: &Workload) -> Result<Vec<Phase>, UsageError> {
    let phases = workload.phases();
    let Some(asked) = typed.matches.get_one::<String>("phase") else { return Ok(phases) };
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    let known: Vec<&str> = phases.iter().filter_map(|phase| phase.name.as_deref()).collect();
    if let Some(name) = asked.iter().find(|name| !known.contains(name)) {
        let text = one_of("phase", name, nearest(name, known.iter().copied()), &known);
        return Err(UsageError(format!("--phase: {text}")));
    }
    let in_order: Vec<&str> = known.iter().filter(|name| asked.contains(name)).copied().collect();
    let mut once = asked.clone();
    once.dedup();
    if once != in_order {
        return Err(UsageError(format!(
            "--phase {}: phases run in the order of the file, each once: {}",
            asked.join(","),
            in_order.join(",")
        )));
    }
    let is_asked = |phase: &Phase| phase.name.as_deref().is_some_and(|n| asked.contains(&n));
    Ok(phases.into_iter().filter(is_asked).collect())
}

fn job_of(
    typed: &ParsedArgs,
    workload: &Workload,
    phase: &Phase,
    seed: Option<i64>,
    change: &dyn Fn(&mut Options),
) -> Result<Job, UsageError> {
    let source = &workload.source;
    let mut settings = workload.settings_of(phase);
    let mut line = Line::parse(typed.args.clone(), |name| takes_of(&typed.command, name));
    if phase.every_key {
        line.take(|given| {
            of_option(typed, &given.name).is_some_and(|s| OF_NO_FILL.contains(&s.key))
        });
    }
    let kept: Vec<&Setting> =
        line.options.iter().filter_map(|given| of_option(typed, &given.name)).collect();
    kept.iter().for_each(|setting| settings.remove_for(setting.key));
    let placed = |why: String| UsageError(located(typed, workload, phase, &settings, &line, &why));

    let words = std::iter::once(OsString::from("keystorm"));
    let words = words.chain(settings_words(typed, &settings)).chain(line.words());
    let mut command = typed.command.clone();
    let matches = command.try_get_matches_from_mut(words);
    let matches = matches.map_err(|error| placed(explained(error, &command).0))?;
    let mut options = typed.options_of(&matches)?;
    change(&mut options);
    if options.spec.data.seed.is_none() {
        options.spec.data.seed = seed.map(Count);
    }
    if source.is_preset && spec::protocol(&options.spec.server).is_ok_and(ProtocolKind::is_memcache)
    {
        presets::check_memcached(workload).map_err(UsageError)?;
    }
    let given = workload.load_of(phase).map(|load| given(workload, phase, load));
    let given = given.transpose().map_err(UsageError)?;
    // A phase before it has written what it reads.
    let is_loaded = given.as_ref().is_some_and(|given| given.loaded_by.is_some());
    let load = &mut options.spec;
    if is_loaded && !typed.typed().any(|id| id == "phase") && load.data.fill_with.is_none() {
        load.data.fill = false;
    }
    if let Some(given) = given.as_ref().filter(|_| phase.every_key) {
        let requests =
            every_key(load, given).map_err(|why| UsageError(source.fault(phase.at, why)))?;
        load.load.requests = Some(Count(requests));
        (load.load.duration, load.data.sequential) = (None, true);
    }
    load.given = given;
    plans::job(options, typed.persona).map_err(|why| placed(why.to_string()))
}

/// Returns how many requests take every key once.
fn every_key(options: &LoadSpec, given: &TypedLoad) -> Result<u64, String> {
    let mut spaces = given.operations.iter().filter_map(|operation| operation.keys.as_ref());
    let range = match spaces.next() {
        Some(space) => space.range,
        None => spec::space(&options.data)?.range,
    };
    let range = range.ok_or("every-key requires key-range, the number of keys")?;
    // Each command of a sequence counts as a request.
    let steps = given.operations.iter().flat_map(|operation| &operation.typed.steps);
    let commands: u64 = steps.map(|step| step.commands.len() as u64).sum();
    let each = if given.is_mix() { 1 } else { commands };
    Ok(range.max(1).saturating_mul(each).min(limits::REQUESTS_MAX))
}

/// The setting of a workload file that an option corresponds to.
fn of_option(typed: &ParsedArgs, name: &str) -> Option<&'static Setting> {
    Setting::of_option(near::named(&typed.command, name)?.get_id().as_str())
}

fn settings_words(typed: &ParsedArgs, settings: &Settings) -> Vec<OsString> {
    let options = || typed.command.get_arguments();
    let words = |set: &Assignment| {
        let option = options().find(|arg| arg.get_id() == set.setting.option);
        option.map(|option| set.words(option)).unwrap_or_default()
    };
    settings.iter().flat_map(words).collect()
}

/// Returns the load of a phase, as a command line would give it.
fn given(workload: &Workload, phase: &Phase, load: Load) -> Result<TypedLoad, String> {
    let source = &workload.source;
    let name = workload.title(phase);
    let (mixed, operations) = match load {
        Load::Operations(operations) => (true, operations),
        Load::Sequence(commands) => {
            let steps = vec![Step { when: StepCondition::Always, commands }];
            (false, vec![Operation { name: None, weight: 1, keys: None, steps, at: phase.at }])
        }
    };
    let operation = |Operation { name, weight, keys, steps, .. }: Operation| {
        let space = keys.and_then(|keys| workload.space(&keys.name));
        let space = space.map(|space| {
            let mut drawn =
                spec::drawn(space.range, &space.dist).map_err(|why| source.fault(space.at, why))?;
            drawn.numbered = space.numbered;
            drawn.one_slot = space.one_slot.then(OneGroup::default);
            if phase.every_key {
                drawn.draw = KeyDist::SEQUENTIAL;
                drawn.numbered.by = DrawnBy::Request;
            }
            Ok::<KeySpace, String>(drawn)
        });
        let places = steps.iter().flat_map(|step| &step.commands);
        let places = places.map(|command| source.place(command.at)).collect();
        let steps = steps.into_iter().map(|Step { when, commands }| TypedStep {
            when,
            commands: commands.into_iter().map(words).collect(),
        });
        let typed = TypedOperation { weight, steps: steps.collect() };
        Ok(LoadOperation { typed, name, keys: space.transpose()?, places })
    };
    let operations = operations.into_iter().map(operation).collect::<Result<_, String>>()?;
    let (translated, loaded_by) = (source.is_preset, loaded_by(workload, phase));
    Ok(TypedLoad { name, mixed, stepped: true, translated, loaded_by, operations })
}

/// The phases that write every key before this one, as `--phase` names them.
fn loaded_by(workload: &Workload, phase: &Phase) -> Option<String> {
    let before = workload.phases.iter().take_while(|other| other.at != phase.at);
    let loads = before.filter(|other| other.every_key && !phase.every_key);
    let names: Vec<&str> = loads.filter_map(|load| load.name.as_deref()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn words(command: Command) -> Vec<Vec<u8>> {
    command.words.into_iter().map(String::into_bytes).collect()
}

/// An error of a phase with the place of what causes it: the setting whose option it names, or the
/// phase, unless it names an option that was typed.
fn located(
    typed: &ParsedArgs,
    workload: &Workload,
    phase: &Phase,
    settings: &Settings,
    line: &Line,
    why: &str,
) -> String {
    let source: &Source = &workload.source;
    if why.starts_with(&format!("{}:", source.name)) {
        return why.to_owned();
    }
    let names = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let mut found = why.match_indices(word);
        found.any(|(at, _)| {
            let (before, after) = (&why[..at], &why[at + word.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
    };
    if line.options.iter().any(|given| names(&given.name)) {
        return why.to_owned();
    }
    let describe = |set: &&Assignment| {
        let mut options = typed.command.get_arguments();
        let option = options.find(|arg| arg.get_id() == set.setting.option);
        option.is_some_and(|option| {
            names(&written(option)) || option.get_long().is_some_and(|l| names(&format!("--{l}")))
        })
    };
    let spaces = workload.spaces.iter();
    let mut spaces = spaces.filter(|space| names(&format!("--key-dist {}", space.dist)));
    match (settings.iter().find(describe), spaces.next()) {
        (_, Some(space)) => source.fault(space.at, why),
        (Some(set), None) => source.fault(set.at, format!("{}: {why}", set.setting.key)),
        (None, None) => source.fault(phase.at, why),
    }
}

/// The file that says what a command line says.
pub(super) fn printed(typed: &ParsedArgs) -> Result<String, UsageError> {
    let options = typed.options()?;
    if options.spec.data.replay.is_some() {
        let why = "--print-workload: a workload file cannot name the file of --replay";
        return Err(UsageError(why.to_owned()));
    }
    let mut workload = match &options.spec.data.workload {
        // Its faults are reported now, before anything is sent.
        Some(name) => {
            typed.job(|_| ())?;
            opened(typed, name)?
        }
        None => Workload::default(),
    };
    let mut own = Settings::default();
    for setting in settings::settings() {
        let typed_here = typed.typed().any(|id| id == setting.option);
        if let Some(set) = typed_here.then(|| set_of(typed, setting)).transpose()? {
            own.put(set);
        }
    }
    for phase in workload.phases.iter_mut() {
        let fixed = |set: &&Assignment| phase.every_key && OF_NO_FILL.contains(&set.setting.key);
        let others: Vec<&str> =
            own.iter().filter(|set| !fixed(set)).map(|set| set.setting.key).collect();
        others.iter().for_each(|key| phase.settings.remove_for(key));
    }
    workload.settings = workload.settings.overlaid(&own);
    if options.spec.data.workload.is_none() {
        if !options.spec.command.is_empty() {
            // First of all: -x reads standard input, which can be read only once.
            workload.load = Some(typed_load(&options.spec).map_err(UsageError)?);
        } else if workload.settings.get("tests").is_none() {
            let names = workload::suite::names();
            let text = format!(
                "--print-workload: a workload file needs the names of its tests; name them with \
                 -t: {}",
                names.join(",")
            );
            return Err(UsageError(text));
        }
        typed.job(|_| ())?;
    }
    Ok(write(&workload))
}

fn set_of(typed: &ParsedArgs, setting: &'static Setting) -> Result<Assignment, UsageError> {
    let value = match setting.form {
        Form::Flag => None,
        Form::Value | Form::Either(..) => {
            let raw = typed.matches.get_raw(setting.option).and_then(Iterator::last);
            let text = raw.unwrap_or_default().to_str().map(str::to_owned);
            let option = typed.written(setting.option);
            let fault = || {
                format!(
                    "--print-workload: {option}: not UTF-8, which a workload file \
                must be"
                )
            };
            Some(text.ok_or_else(|| UsageError(fault()))?)
        }
    };
    let value = match (setting.form, value) {
        // As in the peers, every number but 0 is a yes.
        (Form::Either(yes, no), Some(value)) if value != no => Some(yes.to_owned()),
        (_, value) => value,
    };
    Ok(Assignment { setting, value, at: 0 })
}

fn typed_load(options: &LoadSpec) -> Result<Load, String> {
    let operations = options.operations()?;
    let names = spec::operation_names(&operations.iter().collect::<Vec<_>>());
    let mut read = Vec::new();
    for (TypedOperation { weight, steps }, name) in operations.into_iter().zip(names) {
        let mut own = Vec::new();
        for TypedStep { when, commands } in steps {
            let commands: Result<Vec<Command>, String> =
                commands.into_iter().map(command_of).collect();
            own.push(Step { when, commands: commands? });
        }
        read.push(Operation { name: Some(name), weight, keys: None, steps: own, at: 0 });
    }
    match &mut read[..] {
        [Operation { steps, .. }] if !options.data.mix && steps.len() == 1 => {
            Ok(Load::Sequence(steps.remove(0).commands))
        }
        _ => Ok(Load::Operations(read)),
    }
}

fn command_of(words: Vec<Vec<u8>>) -> Result<Command, String> {
    let shown = secret::shown_sequence(&words);
    if shown != words {
        return Err("--print-workload: a command contains a password, which keystorm never \
            prints; write the file yourself"
            .to_owned());
    }
    let words: Result<Vec<String>, _> = words.into_iter().map(String::from_utf8).collect();
    let words = words.map_err(|_| {
        "--print-workload: a command is not UTF-8, which a workload \
        file must be"
    })?;
    Ok(Command { words, at: 0 })
}
