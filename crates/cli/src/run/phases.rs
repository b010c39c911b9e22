//! `--workload`: the phases of a file as plans, one after another, and a command line as a file.
//!
//! A file sets options of a load. So they are set where none was typed, which counts as the last word.

use std::sync::Arc;

use naming::{
    FILL, FIRST_KEY, KEY_DIST, KEY_RANGE, KEYS_BY, MIX, NAME, ONE_SLOT, OptionId, PHASE,
    SEQUENTIAL, START_AT, STDIN_ARG, TESTS, Text, UNPADDED,
};
use serde_json::Value;
use spec::document::options_in;
use spec::values::Count;
use spec::{LoadOperation, LoadSpec, SpecError, TypedLoad};
use toml::Spanned;
use workload::command_line::{TypedOperation, TypedStep};
use workload::{
    DrawnBy, KeyDist, KeyNumbering, KeySpace, OneGroup, ProtocolKind, StepCondition, limits,
};

use super::options::Options;
use super::{ParsedArgs, plans};
use crate::suggestions::{explained, one_of};
use crate::workload_file::{
    FILL_EXCLUDES, Load, Operation, Phase, Settings, Source, Space, Step, Weight, Words, Workload,
    commands_of, unplaced,
};
use crate::{Job, UsageError, presets};

/// Options that cannot be combined with --workload, because the file decides them; a command cannot, either.
const DECIDED_BY_FILE: [OptionId; 3] = [TESTS, MIX, STDIN_ARG];

/// Options without effect on an operation that has a key space of its own in the file.
const KEY_OPTIONS: [OptionId; 7] =
    [KEY_RANGE, KEY_DIST, SEQUENTIAL, FIRST_KEY, UNPADDED, KEYS_BY, ONE_SLOT];

/// The job of a workload: its phases, each changed by the typed options and by `change`.
pub(super) fn job(
    typed: &ParsedArgs,
    name: &str,
    change: &dyn Fn(&mut Options),
) -> Result<Job, UsageError> {
    let decided = typed.typed().find(|id| OptionId::any_has(&DECIDED_BY_FILE, id));
    let sends = !typed.asked().command.is_empty();
    if let Some(id) = decided.or(sends.then_some("command")) {
        let option = typed.written(id);
        return Err(UsageError(format!(
            "{option} cannot be combined with --workload, which defines what is sent; to turn a \
             command line into a file, use --print-workload without --workload"
        )));
    }
    let workload = opened(typed, name)?;
    let mut job: Option<Job> = None;
    let phases = chosen(typed, &workload)?;
    for phase in &phases {
        let seed = job.as_ref().and_then(|job| job.plans.first()).map(|plan| plan.load.seed as i64);
        let next = job_of(typed, &workload, phase, seed, change)?;
        match &mut job {
            Some(job) => job.plans.extend(next.plans),
            None => job = Some(next),
        }
    }
    let mut job = job.ok_or_else(|| UsageError("--phase: no phase named".to_owned()))?;
    let fills = typed.has(FILL);
    if let Some(load) = phases.iter().find(|phase| fills && phase.every_key) {
        let phase = load.name.as_deref().unwrap_or_default();
        job.notes.push(format!("note: {FILL} is not needed: the phase {phase} writes every key"));
    }
    let named = job.plans.iter().any(|plan| plan.named);
    for (option, given) in [(START_AT, job.start_at.is_some()), (NAME, named)] {
        if given {
            spec::single(option, job.plans.len())?;
        }
    }
    Ok(job)
}

fn opened(typed: &ParsedArgs, name: &str) -> Result<Arc<Workload>, UsageError> {
    let workload = presets::named(name).map_err(UsageError)?;
    let operations = workload.loads().flat_map(|load| match load {
        Load::Operations(operations) => {
            operations.iter().map(|operation| operation.get_ref().keys.is_none()).collect()
        }
        Load::Sequence(_) => vec![true],
    });
    let ranged = typed.typed().find(|id| OptionId::any_has(&KEY_OPTIONS, id));
    let operations: Vec<bool> = operations.collect();
    if let Some(id) = ranged.filter(|_| !operations.is_empty())
        && !operations.contains(&true)
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
        let text = one_of("phase", name, &known);
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
    let is_fixed = |id: &str| phase.every_key && OptionId::any_has(&FILL_EXCLUDES, id);
    let kept: Vec<&str> = typed.typed().filter(|id| !is_fixed(id)).collect();
    kept.iter().for_each(|id| settings.remove_for(&key(id)));
    let at = |named, why: Text| located(workload, phase, &settings, &kept, named, &why);
    let placed = |SpecError { why, .. }: SpecError| {
        UsageError(at(why.options().map(OptionId::field).collect(), why))
    };

    let mut options = typed.options.clone();
    let mut values = settings.values();
    if phase.every_key {
        values.extend(FILL_EXCLUDES.map(|option| (option.key(), Value::Null)));
    }
    options.spec.set(&values).map_err(|error| placed(error.to_string().into()))?;
    options.spec.check_relations().map_err(|error| {
        let named = options_in(&error);
        UsageError(at(named, explained(error, &typed.command).0.into()))
    })?;
    typed.completions.iter().for_each(|complete| complete(&mut options.spec));
    let given = workload.load_of(phase).map(|load| given(workload, phase, load));
    let given = given.transpose().map_err(UsageError)?;
    if let Some(given) = given.as_ref().filter(|_| phase.every_key) {
        let load = &mut options.spec;
        let requests =
            every_key(load, given).map_err(|why| UsageError(source.fault(phase.at, why)))?;
        load.load.requests = Some(Count(requests));
        (load.load.duration, load.data.sequential) = (None, true);
    }
    change(&mut options);
    if options.spec.data.seed.is_none() {
        options.spec.data.seed = seed.map(Count);
    }
    if source.is_preset && spec::protocol(&options.spec.server).is_ok_and(ProtocolKind::is_memcache)
    {
        presets::check_memcached(workload).map_err(UsageError)?;
    }
    // A phase before it has written what it reads.
    let is_loaded = given.as_ref().is_some_and(|given| given.loaded_by.is_some());
    let load = &mut options.spec;
    if is_loaded && !typed.has(PHASE) && load.data.fill_with.is_none() {
        load.data.fill = false;
    }
    load.given = given;
    load.data.phase.clone_from(&phase.name);
    plans::job(options, typed.persona).map_err(placed)
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

/// The key of an option in documents, by the name of its field.
fn key(id: &str) -> String {
    id.replace('_', "-")
}

/// Returns the load of a phase, as a command line would give it.
fn given(workload: &Workload, phase: &Phase, load: Load) -> Result<TypedLoad, String> {
    let source = &workload.source;
    let name = workload.title(phase);
    let (mixed, operations) = match load {
        Load::Operations(operations) => (true, operations),
        Load::Sequence(commands) => {
            let steps = vec![unplaced(Step::new(StepCondition::Always, commands))];
            let steps = Some(unplaced(steps));
            (false, vec![unplaced(Operation { steps, ..Operation::default() })])
        }
    };
    let operation = |operation: Spanned<Operation>| {
        let Operation { name, weight: Weight(weight), keys, .. } = operation.get_ref();
        let space = keys.as_ref().and_then(|keys| workload.keys.0.get_key_value(keys));
        let space = space.map(|(name, space)| {
            drawn(space, phase.every_key).map_err(|why| source.fault(name.span().start, why))
        });
        let steps = operation.get_ref().all();
        let places = steps.iter().flat_map(Step::all);
        let places = places.map(|command| source.place(command.span().start)).collect();
        let steps = steps.iter().map(|step| TypedStep {
            when: step.condition(),
            commands: step.all().into_iter().map(words).collect(),
        });
        let typed = TypedOperation { weight: *weight, steps: steps.collect() };
        Ok(LoadOperation { typed, name: name.clone(), keys: space.transpose()?, places })
    };
    let operations = operations.into_iter().map(operation).collect::<Result<_, String>>()?;
    let (translated, loaded_by) = (source.is_preset, loaded_by(workload, phase));
    Ok(TypedLoad { name, mixed, stepped: true, translated, loaded_by, operations })
}

/// The keys of a space, each once and in order where `every_key` is to be used.
fn drawn(space: &Space, every_key: bool) -> Result<KeySpace, String> {
    let draw = space.dist.clone().unwrap_or(KeyDist::UNIFORM);
    let mut drawn = spec::drawn(space.range.map(|Count(range)| range), &draw)?;
    let first = space.first.map_or(0, |Count(first)| first);
    drawn.numbered = KeyNumbering { first, bare: space.unpadded, by: space.by.unwrap_or_default() };
    drawn.one_slot = space.one_slot.then(OneGroup::default);
    if every_key {
        (drawn.draw, drawn.numbered.by) = (KeyDist::SEQUENTIAL, DrawnBy::Request);
    }
    Ok(drawn)
}

/// The phases that write every key before this one, as `--phase` names them.
fn loaded_by(workload: &Workload, phase: &Phase) -> Option<String> {
    let before = workload.phases.iter().take_while(|other| other.at != phase.at);
    let loads = before.filter(|other| other.every_key && !phase.every_key);
    let names: Vec<&str> = loads.filter_map(|load| load.name.as_deref()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn words(command: Spanned<Words>) -> Vec<Vec<u8>> {
    command.into_inner().0.into_iter().map(String::into_bytes).collect()
}

/// An error of a phase with the location of its cause: the first setting whose option the error names,
/// otherwise the phase; without a location if the error names a typed option.
fn located(
    workload: &Workload,
    phase: &Phase,
    settings: &Settings,
    kept: &[&str],
    named: Vec<String>,
    why: &Text,
) -> String {
    let source: &Source = &workload.source;
    let text = why.to_string();
    if text.starts_with(&format!("{}:", source.name)) {
        return text;
    }
    if kept.iter().any(|id| named.iter().any(|named| named == id)) {
        return text;
    }
    let mut spaces = workload.keys.entries().into_iter().filter(|(_, space)| {
        space.dist.as_ref().is_some_and(|dist| why.names(KEY_DIST, &dist.to_string()))
    });
    let mut causes = settings.iter().filter(|(at, _)| named.iter().any(|named| key(named) == *at));
    match (causes.next(), spaces.next()) {
        (_, Some((name, _))) => source.fault(name.span().start, text),
        (Some((key, set)), None) => source.fault(set.at, format!("{key}: {text}")),
        (None, None) => source.fault(phase.at, text),
    }
}

/// The file that says what a command line says.
pub(super) fn printed(typed: &ParsedArgs) -> Result<String, UsageError> {
    let options = &typed.options;
    if options.spec.data.replay.is_some() {
        let why = "--print-workload: a workload file cannot name the file of --replay";
        return Err(UsageError(why.to_owned()));
    }
    let mut workload = match &options.spec.data.workload {
        // Its faults are reported now, before anything is sent.
        Some(name) => {
            typed.job(|_| ())?;
            Workload::clone(&*opened(typed, name)?)
        }
        None => Workload::default(),
    };
    let own = Settings::of_load(&options.spec).map_err(|error| {
        UsageError(format!("--print-workload: {error}, and a workload file must be UTF-8"))
    })?;
    for phase in workload.phases.iter_mut() {
        let is_fixed = |key: &str| phase.every_key && FILL_EXCLUDES.iter().any(|o| o.key() == key);
        let others = own.iter().map(|(key, _)| key).filter(|key| !is_fixed(key));
        others.for_each(|key| phase.settings.remove_for(key));
    }
    workload.settings = workload.settings.overlaid(&own);
    if options.spec.data.workload.is_none() {
        if !options.spec.command.is_empty() {
            // First of all: -x reads standard input, which can be read only once.
            let load = options.spec.typed(None).map_err(|why| UsageError(why.to_string()))?;
            match commands_of(&load).map_err(UsageError)? {
                Load::Sequence(commands) => workload.sequence = Some(unplaced(commands)),
                Load::Operations(operations) => workload.operation = Some(unplaced(operations)),
            }
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
    Ok(workload.text())
}
