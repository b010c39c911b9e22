//! `--fill`, `--hit-ratio` and `--verify`: what a test reads is there, or a share of it, or is compared.

use naming::{CLEAN, FILL, FILL_WITH, HIT_RATIO, KEY_RANGE, MIX, Text, text};
use workload::command_line::split_operations;
use workload::{CommandSpec, Data, KeySpace, PlanParts, ProtocolKind, limits};

use crate::LoadSpec;
use crate::commands::CommandReader;

/// Has plans read what the options say is there. `values` says whether values are drawn, and how long
/// they are.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub(crate) fn prepare(
    parts: &mut [PlanParts],
    options: &LoadSpec,
    suite: bool,
    varies: bool,
    value_len: u32,
) -> Result<(), Text> {
    let data = &options.data;
    if let Some(share) = &data.hit_ratio {
        let mut any = false;
        for parts in parts.iter_mut() {
            any |= hit(parts, share, data.mix)?;
        }
        if !any {
            return Err(text!(
                "{HIT_RATIO} {share}: no command reads numbered keys, as get \
                key:__rand_int__ does"
            ));
        }
    }
    if data.fill {
        fill(parts, options, suite, varies, value_len)?;
    } else if data.clean && data.workload.is_none() {
        return Err(text!("{CLEAN} removes what {FILL} wrote; add {FILL}"));
    }
    Ok(())
}

/// Gives the plans the commands that write the data that they read; `SET` needs none.
///
/// # Errors
/// Returns an error if they read data that `SET` cannot write, or nothing at all.
fn fill(
    parts: &mut [PlanParts],
    options: &LoadSpec,
    suite: bool,
    varies: bool,
    value_len: u32,
) -> Result<(), Text> {
    let protocol = parts.first().map_or(ProtocolKind::Resp2, |parts| parts.protocol);
    let dataset = parts.first().and_then(|parts| parts.data.dataset.clone());
    let mut reading = CommandReader::new(options, protocol, dataset.as_deref(), varies, value_len);
    let with = match &options.data.fill_with {
        None => Vec::new(),
        Some(line) => {
            let words = shell_words::split(line).map_err(|e| text!("{FILL_WITH} {line}: {e}"))?;
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
        // A fill has the keys and values of its test.
        fill.parts.iter().try_for_each(wire::check).map_err(|why| text!("{FILL_WITH}: {why}"))?;
        if let Some(why) = fill.unforeseen.first() {
            return Err(text!(
                "{FILL}: {why}, so nobody knows beforehand which keys are read; write them first, or \
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
            return Err(text!(
                "{FILL}: SET cannot write the keys of {name}; add a command that can, such as \
                 {FILL_WITH} '{such_as}'"
            ));
        }
    }
    if any { Ok(()) } else { Err(text!("{FILL}: no command reads a key that {FILL} could write")) }
}

/// Makes this share of the reads of a plan hit. Returns whether the plan reads.
///
/// # Errors
/// Returns an error if the share is invalid, or commands change the keys that they read, so the share would not last.
fn hit(parts: &mut PlanParts, share: &str, drawn: bool) -> Result<bool, Text> {
    let fault = |why: Text| text!("{HIT_RATIO}: {why}");
    let PlanParts { sequence, mix, data: Data { keys, .. }, protocol, .. } = parts;
    let hitting = |keys: &KeySpace| -> Result<KeySpace, Text> {
        let draw = keys.draw.clone().with_hits(share).map_err(|why| fault(why.into()))?;
        if keys.range.is_none_or(|range| range > MISSING_MAX) {
            return Err(fault(text!("add {KEY_RANGE}, the number of keys, up to 10^17")));
        }
        Ok(KeySpace { draw, ..keys.clone() })
    };
    let reads = |commands: &[CommandSpec]| -> Result<bool, Text> {
        let any = commands.iter().any(|command| command.reads(*protocol));
        let writer = commands.iter().find(|command| command.may_write(*protocol));
        if let (true, Some(writer)) = (any, writer) {
            let name = writer.name().to_lowercase();
            let with = if drawn { Text::default() } else { text!(" with {MIX}") };
            return Err(fault(text!(
                "{name} changes keys that the same sequence reads, so their share would not last; \
                 make it an operation of its own{with}"
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

/// Maximum number of keys of which others beyond can be numbered.
const MISSING_MAX: u64 = 100_000_000_000_000_000;
