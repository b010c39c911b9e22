//! Operations of a typed load as those of a file, with their keys.

use std::collections::BTreeSet;

use spec::values::Count;
use spec::{LoadOperation, TypedLoad, operation_names};
use toml::Spanned;
use workload::command_line::TypedStep;
use workload::{DrawnBy, KeySpace, secret};

use super::{Load, Operation, Space, Step, Table, Weight, Words, Workload, unplaced};

/// The workload file of a load whose operations have the keys of `all`, if not their own. Settings that files do not
/// have stay on the command line.
pub(crate) fn of_load(load: &TypedLoad, all: &KeySpace) -> Workload {
    let mut spaces: Vec<(String, KeySpace)> = Vec::new();
    let mut names = BTreeSet::new();
    let mut operations = operations(load);
    for (operation, LoadOperation { keys, .. }) in operations.iter_mut().zip(&load.operations) {
        let keys = keys.as_ref().unwrap_or(all);
        let name = operation.name.take().unwrap_or_default();
        let name = unique(&name, |name| !names.contains(name));
        names.insert(name.clone());
        // Without a range there is one key, which needs no key space.
        operation.keys = keys.range.map(|_| {
            let known = spaces.iter().find(|(_, known)| known == keys);
            let own = known.map(|(name, _)| name.clone()).unwrap_or_else(|| {
                let own = unique(&name.to_lowercase(), |name| {
                    !spaces.iter().any(|(known, _)| known == name)
                });
                spaces.push((own.clone(), keys.clone()));
                own
            });
            unplaced(own)
        });
        operation.name = Some(name);
    }
    let spaces = (0..).zip(spaces);
    let spaces = spaces.map(|(at, (name, keys))| (Spanned::new(at..at, name), space(&keys)));
    let operation = Some(unplaced(operations.into_iter().map(unplaced).collect()));
    Workload { keys: Table(spaces.collect()), operation, ..Workload::default() }
}

/// The commands of a load as those of a file without key spaces.
///
/// # Errors
/// Returns an error if a command has a password, or is not text.
pub(crate) fn commands_of(load: &TypedLoad) -> Result<Load, String> {
    let steps = load.operations.iter().flat_map(|operation| &operation.typed.steps);
    steps.flat_map(|step| &step.commands).try_for_each(|command| check(command))?;
    let operations = operations(load);
    Ok(match &operations[..] {
        [one] if !load.mixed && one.steps.is_none() => {
            Load::Sequence(one.all().iter().flat_map(Step::all).collect())
        }
        _ => Load::Operations(operations.into_iter().map(unplaced).collect()),
    })
}

fn check(command: &[Vec<u8>]) -> Result<(), &'static str> {
    if secret::shown_sequence(command) != command {
        return Err("--print-workload: a command contains a password, which keystorm never \
            prints; write the file yourself");
    }
    if command.iter().any(|word| std::str::from_utf8(word).is_err()) {
        return Err("--print-workload: a command is not UTF-8, which a workload file must be");
    }
    Ok(())
}

fn operations(load: &TypedLoad) -> Vec<Operation> {
    let typed: Vec<_> = load.operations.iter().map(|operation| &operation.typed).collect();
    let word = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
    let words = |command: &Vec<Vec<u8>>| unplaced(Words(command.iter().map(word).collect()));
    let step = |step: &TypedStep| Step::new(step.when, step.commands.iter().map(words).collect());
    let named = load.operations.iter().zip(operation_names(&typed));
    let operations = named.map(|(LoadOperation { typed, name, .. }, by_commands)| Operation {
        name: Some(name.clone().unwrap_or(by_commands)),
        weight: Weight(typed.weight),
        ..Operation::of(typed.steps.iter().map(step).collect())
    });
    operations.collect()
}

fn space(keys: &KeySpace) -> Space {
    Space {
        range: keys.range.map(Count),
        dist: Some(keys.draw.clone()),
        first: Some(Count(keys.numbered.first)).filter(|Count(first)| *first > 0),
        by: Some(keys.numbered.by).filter(|by| *by != DrawnBy::default()),
        unpadded: keys.numbered.bare,
        one_slot: keys.one_slot.is_some(),
    }
}

/// The name, with a number behind it where it is not free.
fn unique(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}
