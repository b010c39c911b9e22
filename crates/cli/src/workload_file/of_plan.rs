//! The operations of a plan, each with its keys, as those of a file.

use std::collections::BTreeSet;

use spec::words_of;
use workload::{KeyDist, KeySpace, Plan};

use super::{Command, Load, LocatedName, Operation, Space, Step, Workload};

/// The workload file of a plan. Settings that files do not have stay on the command line.
pub(crate) fn of_plan(plan: &Plan) -> Workload {
    let mut spaces: Vec<(Space, KeySpace)> = Vec::new();
    let mut names = BTreeSet::new();
    let mut operations = Vec::new();
    for (operation, span) in plan.mix.iter().flat_map(|mix| mix.spans()) {
        let drawn = operation.keys.as_ref().unwrap_or(&plan.data.keys);
        let inserts = drawn.draw == KeyDist::INSERT;
        let keys = match inserts {
            // The file has a placeholder for new keys in the command instead.
            true => KeySpace { draw: KeyDist::UNIFORM, ..drawn.clone() },
            false => drawn.clone(),
        };
        let name = unique(&operation.name, |name| !names.contains(name));
        names.insert(name.clone());
        let mut commands = span.map(|at| Command { words: words_of(plan, at, inserts), at: 0 });
        let steps = operation.steps.iter().map(|step| Step {
            when: step.when,
            commands: commands.by_ref().take(step.commands as usize).collect(),
        });
        operations.push(Operation {
            name: Some(name.clone()),
            weight: operation.weight,
            steps: steps.collect(),
            // Without a range there is one key, which needs no key space.
            keys: keys.range.map(|range| {
                let known = spaces.iter().find(|(_, known)| *known == keys);
                let name = match known {
                    Some((space, _)) => space.name.clone(),
                    None => {
                        let taken = |name: &str| spaces.iter().any(|(space, _)| space.name == name);
                        let name = unique(&name.to_lowercase(), |name| !taken(name));
                        spaces.push((space(&name, range, &keys), keys));
                        name
                    }
                };
                LocatedName { name, at: 0 }
            }),
            at: 0,
        });
    }
    let spaces = spaces.into_iter().map(|(space, _)| space).collect();
    Workload { spaces, load: Some(Load::Operations(operations)), ..Workload::default() }
}

fn space(name: &str, range: u64, keys: &KeySpace) -> Space {
    Space {
        name: name.to_owned(),
        range: Some(range),
        dist: keys.draw.clone(),
        numbered: keys.numbered,
        one_slot: keys.one_slot.is_some(),
        at: 0,
    }
}

/// The name, with a number behind it where it is not free.
fn unique(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}
