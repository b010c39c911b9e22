//! `--fill`, `--hit-ratio` and `--verify`: what a test reads is there, or a share of it, or is compared.

use workload::command_line::split_operations;
use workload::{CommandSpec, Data, KeySpace, PlanParts, ProtocolKind, limits};

use crate::LoadSpec;
use crate::commands::CommandReader;

/// Has plans read what the options say is there. `values` says whether values are drawn, and how long
/// they are.
///
/// # Errors
/// What makes no sense, in words for the person who typed it.
pub(crate) fn prepare(
    parts: &mut [PlanParts],
    options: &LoadSpec,
    suite: bool,
    values: (bool, u32),
) -> Result<(), String> {
    let data = &options.data;
    if let Some(share) = &data.hit_ratio {
        let mut any = false;
        for parts in parts.iter_mut() {
            any |= hit(parts, share, data.mix)?;
        }
        if !any {
            return Err(format!(
                "--hit-ratio {share}: no command reads numbered keys, as get \
                key:__rand_int__ does"
            ));
        }
    }
    if data.fill {
        fill(parts, options, suite, values)?;
    } else if data.clean && data.workload.is_none() {
        return Err("--clean removes what --fill wrote; add --fill".to_owned());
    }
    Ok(())
}

/// The commands that fill a server with what these plans read: none for `SET`.
///
/// # Errors
/// They read what `SET` cannot write, or nothing at all.
fn fill(
    parts: &mut [PlanParts],
    options: &LoadSpec,
    suite: bool,
    values: (bool, u32),
) -> Result<(), String> {
    let protocol = parts.first().map_or(ProtocolKind::Resp2, |parts| parts.protocol);
    let dataset = parts.first().and_then(|parts| parts.data.dataset.clone());
    let mut reading = CommandReader::new(options, protocol, dataset.as_deref(), values);
    let with = match &options.data.fill_with {
        None => Vec::new(),
        Some(line) => {
            let words = shell_words::split(line).map_err(|e| format!("--fill-with {line}: {e}"))?;
            let words: Vec<Vec<u8>> = words.into_iter().map(String::into_bytes).collect();
            let typed = split_operations(&words, false, false, limits::SEQUENCE_MAX)?;
            let steps = typed.iter().flat_map(|operation| &operation.steps);
            let commands = steps.flat_map(|step| &step.commands);
            commands.map(|words| reading.command(words)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let mut any = false;
    for parts in parts {
        (parts.data.fill, parts.data.fill_lifetime) = (Some(with.clone()), options.data.ttl);
        parts.data.clean = options.data.clean;
        let fill = parts.filled_by();
        any |= !fill.parts.is_empty();
        // What fills has keys and values as what it is for.
        fill.parts.iter().try_for_each(wire::check).map_err(|why| format!("--fill-with: {why}"))?;
        if let Some(why) = fill.unforeseen.first() {
            return Err(format!(
                "--fill: {why}, so nobody knows beforehand which keys are read; write them first, or \
                 use one number for each key"
            ));
        }
        if let (Some(name), false) = (fill.unfillable.first(), suite) {
            let name = name.to_lowercase();
            let such_as = if parts.protocol.is_memcache() {
                "set user:__key__ 0 0 100"
            } else {
                "hset user:__key__ name __data__"
            };
            return Err(format!(
                "--fill: SET cannot write the keys of {name}; add a command that can, such as \
                 --fill-with '{such_as}'"
            ));
        }
    }
    if any {
        Ok(())
    } else {
        Err("--fill: no command reads a key that --fill could write".to_owned())
    }
}

/// Has this share of what a plan reads be there. Whether it reads.
///
/// # Errors
/// The share is none, or what is read is changed too, and would be there, or gone, from then on.
fn hit(parts: &mut PlanParts, share: &str, drawn: bool) -> Result<bool, String> {
    let fault = |why: String| format!("--hit-ratio: {why}");
    let PlanParts { sequence, mix, data: Data { keys, .. }, protocol, .. } = parts;
    let hitting = |keys: &KeySpace| -> Result<KeySpace, String> {
        let draw = keys.draw.clone().with_hits(share).map_err(fault)?;
        if keys.range.is_none_or(|range| range > MISSING_MAX) {
            return Err(fault("add -r, the number of keys, up to 10^17".to_owned()));
        }
        Ok(KeySpace { draw, ..keys.clone() })
    };
    let reads = |commands: &[CommandSpec]| -> Result<bool, String> {
        let any = commands.iter().any(|command| command.reads(*protocol));
        let writer = commands.iter().find(|command| command.may_write(*protocol));
        if let (true, Some(writer)) = (any, writer) {
            let (name, apart) = (
                writer.name().to_lowercase(),
                if drawn {
                    "an operation of its own"
                } else {
                    "an operation of its own with --mix"
                },
            );
            return Err(fault(format!(
                "{name} changes keys that the same sequence reads, so their share would not last; \
                 make it {apart}"
            )));
        }
        Ok(any)
    };
    let Some(mix) = mix else {
        let some = reads(sequence)?;
        if some {
            *keys = hitting(keys)?;
        }
        return Ok(some);
    };
    let spans: Vec<_> = mix.spans().map(|(_, span)| span).collect();
    let mut any = false;
    for (operation, span) in mix.operations.iter_mut().zip(spans) {
        if reads(&sequence[span])? {
            operation.keys = Some(hitting(operation.keys.as_ref().unwrap_or(keys))?);
            any = true;
        }
    }
    Ok(any)
}

/// Most keys of which others beyond can be numbered.
const MISSING_MAX: u64 = 100_000_000_000_000_000;
