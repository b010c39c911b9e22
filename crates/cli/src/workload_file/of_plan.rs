//! The operations of a plan, each with its keys, as those of a file.

use std::collections::BTreeSet;

use spec::values::Count;
use spec::words_of;
use toml::Spanned;
use workload::{DrawnBy, KeyDist, KeySpace, Plan};

use super::{Operation, Space, Step, Weight, Words, Workload, unplaced};

/// The workload file of a plan. Settings that files do not have stay on the command line.
pub(crate) fn of_plan(plan: &Plan) -> Workload {
    let mut spaces: Vec<(String, KeySpace)> = Vec::new();
    let mut names = BTreeSet::new();
    let mut operations = Vec::new();
    for (operation, span) in plan.mix.iter().flat_map(|mix| mix.spans()) {
        let drawn = operation.keys.as_ref().unwrap_or(&plan.data.keys);
        let inserts = drawn.draw == KeyDist::INSERT;
        let mut keys = drawn.clone();
        if inserts {
            // The file has a placeholder for new keys in the command instead.
            keys.draw = KeyDist::UNIFORM;
        }
        let name = unique(&operation.name, |name| !names.contains(name));
        names.insert(name.clone());
        let mut commands = span.map(|at| unplaced(Words(words_of(plan, at, inserts))));
        let steps = operation.steps.iter().map(|step| {
            let commands = commands.by_ref().take(step.commands as usize).collect();
            unplaced(Step::new(step.when, commands))
        });
        operations.push(unplaced(Operation {
            name: Some(name.clone()),
            weight: Weight(operation.weight),
            steps: Some(unplaced(steps.collect())),
            // Without a range there is one key, which needs no key space.
            keys: keys.range.map(|_| {
                let known = spaces.iter().find(|(_, known)| *known == keys);
                let name = match known {
                    Some((name, _)) => name.clone(),
                    None => {
                        let taken = |name: &str| spaces.iter().any(|(known, _)| known == name);
                        let name = unique(&name.to_lowercase(), |name| !taken(name));
                        spaces.push((name.clone(), keys));
                        name
                    }
                };
                unplaced(name)
            }),
            ..Operation::default()
        }));
    }
    let spaces = (0..).zip(spaces);
    let spaces = spaces.map(|(at, (name, keys))| (Spanned::new(at..at, name), space(&keys)));
    let operation = Some(unplaced(operations));
    Workload { keys: spaces.collect(), operation, ..Workload::default() }
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
