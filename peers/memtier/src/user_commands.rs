//! `--command`: commands of the user's own, and the lines of a capture, as operations.

use std::path::Path;

use spec::captured::Capture;
use workload::redis_commands::always_writes;
use workload::{
    CommandSpec, KeySpace, MixStep, Operation, Pick, Piece, RowBy, Slot, StepCondition,
};

use crate::commands::{command, keys_as_text, with_cursor};
use crate::fault::{Fault, check_error};
use crate::monitor::{self, Part};
use crate::operations::{Operations, keys, one};
use crate::options::Options;
use crate::values::Pattern;

/// Commands of the user's own, each as often in a row as its ratio says.
pub(super) fn operations(
    options: &Options,
    value: &Piece,
    notes: &mut Vec<String>,
) -> Result<Operations, Fault> {
    let capture = match &options.monitor_input {
        Some(path) => monitor::load(path, notes)?,
        None => Capture::default(),
    };
    if monitor::is_shared(options) {
        return all_lines(options, capture);
    }
    let captured = capture.commands;
    let (mut operations, mut order) = (Vec::new(), Vec::new());
    for given in &options.commands {
        if monitor::is_all(&given.text) && !captured.is_empty() {
            order.push(Part::Lines(given.ratio));
            continue;
        }
        order.push(Part::Operation(operations.len() as u32, given.ratio));
        let command = match monitor::placeholder(&given.text, &captured) {
            Some(captured) if options.monitor_input.is_some() => captured?,
            _ => {
                notes.extend(keys_as_text(&given.text));
                command(&given.text, &options.key_prefix, value)?
            }
        };
        if given.is_read && always_writes(&command.name()) {
            return Err(check_error(format!(
                "--command-is-read: {} writes, and a replica would refuse it.",
                command.name()
            )));
        }
        let mut operation = one(&command.name(), given.ratio, keys(options, given.pattern)?);
        let mut commands = vec![command];
        if options.scan_walk {
            commands.push(with_cursor(&commands[0]).ok_or_else(|| {
                check_error(
                    "scan-incremental-iteration needs a SCAN with its cursor, as in: SCAN 0",
                )
            })?);
            // A walk stays where it began.
            share_one_key(&mut commands);
            let when = StepCondition::OnCursor { most: options.scan_most };
            operation.steps.push(MixStep { commands: 1, when });
        }
        operations.push((operation, commands));
    }
    if order.iter().any(|part| matches!(part, Part::Lines(_))) {
        return among_lines(options, operations, &order, captured);
    }
    let in_one = options.is_in_one_piece();
    Ok((if in_one { together(operations) } else { operations }, Pick::InOrder, None))
}

/// Every line of a capture, which all connections share.
fn all_lines(options: &Options, capture: Capture) -> Result<Operations, Fault> {
    let by = if options.monitor_random { RowBy::Random } else { RowBy::Request };
    let source = options.monitor_input.as_deref().unwrap_or_default();
    let recorded = capture.recorded(Path::new(source), by).map_err(check_error)?;
    let operation = |(command, name, _): (CommandSpec, String, usize)| {
        (one(&name, 1, KeySpace::default()), vec![command])
    };
    let operations = recorded.operations.into_iter().map(operation).collect();
    Ok((operations, Pick::Row, Some(recorded.rows)))
}

/// Operations among which the lines of a capture come, one after another.
fn among_lines(
    options: &Options,
    mut operations: Vec<(Operation, Vec<CommandSpec>)>,
    order: &[Part],
    captured: Vec<Vec<Vec<u8>>>,
) -> Result<Operations, Fault> {
    if options.monitor_random {
        return Err(check_error(
            "--monitor-pattern R beside other commands is not carried out by keystorm; see \
             docs/memtier.md",
        ));
    }
    let first = operations.len() as u32;
    let spans = monitor::order(order, first, captured.len() as u32)?;
    let mut times = vec![0; operations.len() + captured.len()];
    spans.iter().for_each(|span| times[span.operation as usize] += span.times);
    for words in captured {
        let command = CommandSpec::from_words(words);
        let times = times[operations.len()];
        let operation = one(&command.name(), times, keys(options, Pattern::Random)?);
        operations.push((operation, vec![command]));
    }
    Ok((operations, Pick::Spans(spans), None))
}

/// All of them as one operation, sent in one piece, in which every key is the same.
fn together(operations: Vec<(Operation, Vec<CommandSpec>)>) -> Vec<(Operation, Vec<CommandSpec>)> {
    // Its key is drawn at its first occurrence.
    let first = operations.iter().find(|(_, commands)| commands.iter().any(has_key));
    let keys = first.or(operations.first()).and_then(|(operation, _)| operation.keys.clone());
    let repeated = |(operation, commands): (Operation, Vec<CommandSpec>)| {
        std::iter::repeat_n(commands, operation.weight as usize).flatten()
    };
    let mut commands: Vec<CommandSpec> = operations.into_iter().flat_map(repeated).collect();
    share_one_key(&mut commands);
    let step = MixStep { commands: commands.len() as u32, when: StepCondition::Always };
    let name = "transaction".to_owned();
    vec![(Operation { name, weight: 1, steps: vec![step], keys }, commands)]
}

fn has_key(command: &CommandSpec) -> bool {
    let mut pieces = command.args.iter().flat_map(|arg| &arg.pieces);
    pieces.any(|piece| *piece == Piece::Number(Slot::Fresh))
}

/// Makes all keys of the commands of an operation the same key.
fn share_one_key(commands: &mut [CommandSpec]) {
    let args = commands.iter_mut().flat_map(|command| &mut command.args);
    for piece in args.flat_map(|arg| &mut arg.pieces) {
        if *piece == Piece::Number(Slot::Fresh) {
            *piece = Piece::Number(Slot::Key);
        }
    }
}
