//! What only the whole of a workload tells: names that are not there or there twice, and what excludes
//! each other.

use std::collections::BTreeSet;

use super::settings::OF_NO_FILL;
use super::{Load, LocatedName, Operation, Phase, Source, Workload};
use crate::near::{nearest, one_of};

fn fault<T>(source: &Source, at: usize, why: impl std::fmt::Display) -> Result<T, String> {
    Err(source.fault(at, why))
}

/// Checks what only the whole tells.
pub(super) fn check(source: &Source, workload: &Workload) -> Result<(), String> {
    check_load(source, workload, workload.load.as_ref())?;
    if workload.load.is_some()
        && let Some(tests) = workload.settings.get("tests")
    {
        return fault(source, tests.at, "tests cannot be combined with a sequence or operations");
    }
    let mut names = BTreeSet::new();
    for phase in &workload.phases {
        check_load(source, workload, phase.load.as_ref())?;
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

fn check_phase(source: &Source, workload: &Workload, phase: &Phase) -> Result<(), String> {
    let tests = phase.settings.get("tests");
    if let Some(tests) = tests.filter(|_| phase.load.is_some() || phase.mix.is_some()) {
        return fault(source, tests.at, "tests cannot be combined with a sequence or operations");
    }
    if phase.every_key {
        let own = OF_NO_FILL.iter().find_map(|key| phase.settings.get(key));
        if let Some(set) = own {
            let why = format!(
                "{} cannot be combined with every-key, which uses every key once, in order and \
                 at full speed",
                set.setting.key
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
    let Some(mix) = &phase.mix else { return Ok(()) };
    if phase.load.is_some() {
        return fault(
            source,
            phase.at,
            "a mix refers to the operations of the file; operations of a phase have their own \
             weight",
        );
    }
    let Some(Load::Operations(operations)) = &workload.load else {
        return fault(
            source,
            phase.at,
            "a mix refers to the operations of the file: \
            [[operation]]",
        );
    };
    let names: Vec<&str> = operations.iter().filter_map(|o| o.name.as_deref()).collect();
    let mut parts = mix.iter().map(|part| &part.name);
    match parts.find(|part| !names.contains(&part.name.as_str())) {
        Some(LocatedName { name, at }) => {
            let meant = nearest(name, names.iter().copied());
            fault(source, *at, one_of("operation", name, meant, &names))
        }
        None => Ok(()),
    }
}

fn check_load(source: &Source, workload: &Workload, load: Option<&Load>) -> Result<(), String> {
    let Some(Load::Operations(operations)) = load else { return Ok(()) };
    let mut names = BTreeSet::new();
    for Operation { name, keys, at, .. } in operations {
        if let Some(name) = name.as_deref().filter(|name| !names.insert(*name)) {
            return fault(source, *at, format!("operation {name:?} is defined twice"));
        }
        let unknown = keys.as_ref().filter(|keys| workload.space(&keys.name).is_none());
        if let Some(LocatedName { name, at }) = unknown {
            let known: Vec<&str> = workload.spaces.iter().map(|s| &*s.name).collect();
            let meant = nearest(name, known.iter().copied());
            return fault(source, *at, one_of("key space", name, meant, &known));
        }
    }
    Ok(())
}
