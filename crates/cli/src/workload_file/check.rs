//! Checks of a whole workload: missing and duplicate names, and conflicting settings.

use std::collections::BTreeSet;

use toml::Spanned;
use workload::StepCondition;

use super::{FILL_EXCLUDES, List, Load, Operation, Phase, Source, Step, Words, Workload};
use crate::suggestions::one_of;

fn fault<T>(source: &Source, at: usize, why: impl std::fmt::Display) -> Result<T, String> {
    Err(source.fault(at, why))
}

/// Checks what only the whole tells.
pub(super) fn check(source: &Source, workload: &Workload) -> Result<(), String> {
    check_one_load(source, &workload.sequence, &workload.operation)?;
    for (name, space) in workload.keys.entries() {
        let has_own_range = space.dist.as_ref().is_some_and(|dist| dist.file().is_some());
        if space.range.is_none() && !has_own_range {
            let why = "range is missing: the number of keys to draw from";
            return fault(source, name.span().start, why);
        }
    }
    check_load(source, workload, workload.own_load().as_ref())?;
    if workload.own_load().is_some()
        && let Some(tests) = workload.settings.get("tests")
    {
        return fault(source, tests.at, "tests cannot be combined with a sequence or operations");
    }
    let mut names = BTreeSet::new();
    for phase in &workload.phases {
        check_one_load(source, &phase.sequence, &phase.operation)?;
        check_load(source, workload, phase.own_load().as_ref())?;
        check_phase(source, workload, phase)?;
        if let Some(name) = phase.name.as_deref().filter(|name| !names.insert(*name)) {
            return fault(source, phase.at, format!("phase {name:?} is defined twice"));
        }
    }
    let says = |phase: &Phase| {
        workload.load_of(phase).is_some() || workload.settings_of(phase).get("tests").is_some()
    };
    match workload.phases().iter().find(|phase| !says(phase)) {
        Some(phase) => {
            fault(source, phase.at, "nothing to send: add [[operation]], sequence or tests")
        }
        None => Ok(()),
    }
}

/// Refuses the second of several keys of which a table may have one.
fn exclusive(source: &Source, said: &[(&str, Option<usize>)], why: &str) -> Result<(), String> {
    let mut places: Vec<_> = said.iter().filter_map(|(key, at)| Some(((*at)?, *key))).collect();
    places.sort_unstable();
    match places.get(1) {
        Some((at, key)) => fault(source, source.key_before(*at, key), why),
        None => Ok(()),
    }
}

/// Position of a value.
fn place<T>(value: &Option<Spanned<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.span().start)
}

/// Refuses a list that is there and empty.
fn filled<T>(source: &Source, key: &str, list: &Option<List<T>>) -> Result<(), String> {
    match list.as_ref().filter(|list| list.get_ref().is_empty()) {
        Some(empty) => {
            fault(source, empty.span().start, format!("{key} is a list without commands"))
        }
        None => Ok(()),
    }
}

fn check_one_load(
    source: &Source,
    sequence: &Option<List<Words>>,
    operations: &Option<List<Operation>>,
) -> Result<(), String> {
    filled(source, "sequence", sequence)?;
    filled(source, "operation", operations)?;
    let said = [("sequence", place(sequence)), ("operation", place(operations))];
    let why = "use either a sequence or operations; a sequence is a single operation with all \
        commands in one step";
    exclusive(source, &said, why)
}

fn check_phase(source: &Source, workload: &Workload, phase: &Phase) -> Result<(), String> {
    let tests = phase.settings.get("tests");
    let has_load = phase.own_load().is_some();
    if let Some(tests) = tests.filter(|_| has_load || phase.mix.is_some()) {
        return fault(source, tests.at, "tests cannot be combined with a sequence or operations");
    }
    if phase.every_key {
        let mut own = FILL_EXCLUDES
            .iter()
            .filter_map(|option| Some((option.key(), phase.settings.get(&option.key())?)));
        if let Some((key, set)) = own.next() {
            let why = format!(
                "{key} cannot be combined with every-key, which uses every key once, in order and \
                 at full speed"
            );
            return fault(source, set.at, why);
        }
        let one = match workload.load_of(phase) {
            Some(Load::Sequence(_)) => true,
            Some(Load::Operations(operations)) => operations.len() == 1,
            None => false,
        };
        if !one {
            return fault(source, phase.at, "every-key requires a sequence or a single operation");
        }
    }
    let (Some(mix), Some(parts)) = (&phase.mix, phase.parts()) else { return Ok(()) };
    if parts.is_empty() {
        let why = "a mix is a table of operations and weights: { read = 9, write = 1 }";
        return fault(source, mix.span().start, why);
    }
    if has_load {
        let why = "a mix refers to the operations of the file; operations of a phase have their \
            own weight";
        return fault(source, phase.at, why);
    }
    let Some(operations) = &workload.operation else {
        let why = "a mix refers to the operations of the file: [[operation]]";
        return fault(source, phase.at, why);
    };
    let operations = operations.get_ref().iter();
    let names = operations.filter_map(|operation| operation.get_ref().name.as_deref());
    let names: Vec<&str> = names.collect();
    match parts.iter().find(|(name, _)| !names.contains(&name.get_ref().as_str())) {
        Some((name, _)) => {
            let why = one_of("operation", name.get_ref(), &names);
            fault(source, name.span().start, why)
        }
        None => Ok(()),
    }
}

fn check_load(source: &Source, workload: &Workload, load: Option<&Load>) -> Result<(), String> {
    let Some(Load::Operations(operations)) = load else { return Ok(()) };
    let mut names = BTreeSet::new();
    for operation in operations {
        check_operation(source, operation)?;
        let Operation { name, keys, .. } = operation.get_ref();
        if let Some(name) = name.as_deref().filter(|name| !names.insert(*name)) {
            let why = format!("operation {name:?} is defined twice");
            return fault(source, operation.span().start, why);
        }
        if let Some(keys) = keys.as_ref().filter(|keys| !workload.keys.0.contains_key(*keys)) {
            let known = workload.keys.entries();
            let known: Vec<&str> = known.iter().map(|(name, _)| name.get_ref().as_str()).collect();
            let why = one_of("key space", keys.get_ref(), &known);
            return fault(source, keys.span().start, why);
        }
    }
    Ok(())
}

/// Checks which commands and steps an operation has.
fn check_operation(source: &Source, operation: &Spanned<Operation>) -> Result<(), String> {
    let Operation { command, commands, steps, .. } = operation.get_ref();
    let said =
        [("command", place(command)), ("commands", place(commands)), ("steps", place(steps))];
    let why = "an operation has either a command, commands that are sent together, or steps";
    exclusive(source, &said, why)?;
    filled(source, "commands", commands)?;
    filled(source, "steps", steps)?;
    if said.iter().all(|(_, at)| at.is_none()) {
        let why =
            "an operation requires a command, such as command = \"get user:__key__\", or steps";
        return fault(source, operation.span().start, why);
    }
    for (number, step) in steps.iter().flat_map(Spanned::get_ref).enumerate() {
        let Step { command, commands, when } = step.get_ref();
        let said = [("command", place(command)), ("commands", place(commands))];
        exclusive(source, &said, "a step has either a command or commands")?;
        filled(source, "commands", commands)?;
        if command.is_none() && commands.is_none() {
            return fault(source, step.span().start, "a step requires a command");
        }
        let when = when.as_ref().filter(|when| when.get_ref().0 != StepCondition::Always);
        if let Some(when) = when.filter(|_| number == 0) {
            let why =
                "the first step cannot depend on a miss, a list or a cursor of an earlier step";
            return fault(source, when.span().start, why);
        }
    }
    Ok(())
}
