//! `--replay`: the commands of a file that MONITOR has printed.

use std::path::Path;
use std::sync::Arc;

use naming::{DATASET, FILL, HIT_RATIO, REPLAY, ROWS_BY, TTL, Text, VERIFY, text};
use workload::quantity::counted;
use workload::{Data, Load, Mix, MixStep, Operation, Pick, PlanParts, RowBy, StepCondition, Stop};

use crate::LoadSpec;
use crate::captured::{self, CapturedOperations, Scripts};

/// Refuses options and commands that contradict `--replay`.
///
/// # Errors
/// Returns an error that names the first of them.
pub(crate) fn check(options: &LoadSpec) -> Result<(), Text> {
    let data = &options.data;
    let Some(path) = &data.replay else {
        return match data.rows_by {
            Some(by) if data.dataset.is_none() => {
                Err(text!("{ROWS_BY}={by}: requires {DATASET} or {REPLAY}"))
            }
            _ => Ok(()),
        };
    };
    if !options.command.is_empty() {
        let path = path.display();
        return Err(text!("{REPLAY} {path}: cannot be combined with a command"));
    }
    let of_own_keys = [
        (FILL, data.fill),
        (HIT_RATIO, data.hit_ratio.is_some()),
        (VERIFY, data.verify),
        (TTL, data.ttl.is_some()),
    ];
    if let Some((option, _)) = of_own_keys.into_iter().find(|(_, given)| *given) {
        return Err(text!(
            "{option}: has no effect with {REPLAY}, whose keys and values are captured"
        ));
    }
    match data.rows_by {
        Some(by @ (RowBy::Key | RowBy::Turn)) => {
            Err(text!("{ROWS_BY}={by}: with {REPLAY}, request or random"))
        }
        _ => Ok(()),
    }
}

/// The plan of a capture: every command once, unless options ask for more.
///
/// # Errors
/// Returns an error if the file is invalid.
pub(crate) fn parts(
    base: PlanParts,
    options: &LoadSpec,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<PlanParts, Text> {
    let fault = |why: String| text!("{REPLAY} {}: {why}", path.display());
    if base.protocol.is_memcache() {
        return Err(fault(
            "MONITOR is a command of Redis and Valkey, and this is memcached".into(),
        ));
    }
    let by = options.data.rows_by.unwrap_or_default();
    let is_tools = options.peer.is_some();
    let scripts = if is_tools { Scripts::EveryLine } else { Scripts::Called };
    let known = options.peer.as_ref().and_then(|peer| peer.capture.as_deref().cloned());
    let capture = known.map_or_else(|| captured::read(path, scripts), Ok).map_err(fault)?;
    let count = capture.commands.len() as u64;
    let left_out = [
        (capture.unreadable.len(), "hold no command"),
        (capture.unreplayable, "are about the connection that sent them, such as AUTH"),
        (capture.of_scripts, "were sent by scripts, whose calls are replayed"),
    ];
    let left_out = left_out.into_iter().filter(|(lines, _)| *lines > 0 && !is_tools);
    notes.extend(left_out.map(|(lines, why)| {
        let lines = counted(lines as u64, "line");
        format!("warning: {REPLAY} {}: {lines} left out, which {why}", path.display())
    }));
    let behind_the_key = |words: &Vec<Vec<u8>>| words.iter().skip(2).map(Vec::len).sum::<usize>();
    let bytes: usize = capture.commands.iter().map(behind_the_key).sum();
    let CapturedOperations { operations, rows } = capture.operations(path, by).map_err(fault)?;
    let several = |name| operations.iter().filter(|(_, other, _)| other == name).count() > 1;
    let named = operations.iter().map(|(_, name, arguments)| Operation {
        name: match name.to_lowercase() {
            _ if is_tools => name.clone(),
            lower if several(name) => format!("{lower} ({arguments} args)"),
            lower => lower,
        },
        weight: 1,
        steps: vec![MixStep { commands: 1, when: StepCondition::Always }],
        keys: None,
    });
    let mix = Mix { operations: named.collect(), pick: Pick::Row };
    let load = &options.load;
    let is_bounded = load.requests.is_some() || matches!(base.load.stop, Stop::AfterNs(_));
    Ok(PlanParts {
        name: format!("replay {}", path.display()),
        mix: Some(mix),
        sequence: operations.into_iter().map(|(command, ..)| command).collect(),
        load: Load {
            stop: if is_bounded { base.load.stop } else { Stop::Requests(count) },
            ..base.load
        },
        data: Data {
            dataset: Some(Arc::new(rows)),
            payload_bytes: bytes as u64 / count,
            ..base.data
        },
        ..base
    })
}
