//! `--command`: commands of the user's own, and the lines of a capture, as operations.

use workload::redis_commands::always_writes;
use workload::{MixStep, Operation, Pick, StepCondition};

use crate::memtier::commands::{command, keys_as_text, name, with_cursor};
use crate::memtier::fault::{Fault, check_error};
use crate::memtier::monitor::{self, Part};
use crate::memtier::operations::{DRAWN_KEY, Operations, Words, keys, one};
use crate::memtier::options::Options;
use crate::memtier::values::Pattern;

/// Commands of the user's own, each as often in a row as its ratio says, with the commands `captured` where they name
/// these.
pub(super) fn operations(
    options: &Options,
    value: &str,
    captured: &[Vec<Vec<u8>>],
    notes: &mut Vec<String>,
) -> Result<Operations, Fault> {
    if monitor::is_shared(options) {
        return Ok((Vec::new(), Pick::Row));
    }
    let (mut operations, mut order) = (Vec::new(), Vec::new());
    for given in &options.commands {
        if monitor::is_all(&given.text) && !captured.is_empty() {
            order.push(Part::Lines(given.ratio));
            continue;
        }
        order.push(Part::Operation(operations.len() as u32, given.ratio));
        let command = match monitor::placeholder(&given.text, captured) {
            Some(captured) if options.monitor_input.is_some() => captured?,
            _ => {
                notes.extend(keys_as_text(&given.text));
                command(&given.text, &options.key_prefix, value)?
            }
        };
        let name = name(&command);
        if given.is_read && always_writes(&name) {
            return Err(check_error(format!(
                "--command-is-read: {name} writes, and a replica would refuse it."
            )));
        }
        let mut operation = one(&name, given.ratio, keys(options, given.pattern)?);
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
    Ok((if in_one { together(operations) } else { operations }, Pick::InOrder))
}

/// Operations among which the lines of a capture come, one after another.
fn among_lines(
    options: &Options,
    mut operations: Vec<(Operation, Vec<Words>)>,
    order: &[Part],
    captured: &[Vec<Vec<u8>>],
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
        let command = monitor::command(words);
        let times = times[operations.len()];
        let operation = one(&name(&command), times, keys(options, Pattern::Random)?);
        operations.push((operation, vec![command]));
    }
    Ok((operations, Pick::Spans(spans)))
}

/// All of them as one operation, sent in one piece, in which every key is the same.
fn together(operations: Vec<(Operation, Vec<Words>)>) -> Vec<(Operation, Vec<Words>)> {
    // Its key is drawn at its first occurrence.
    let first = operations.iter().find(|(_, commands)| commands.iter().any(has_key));
    let keys = first.or(operations.first()).and_then(|(operation, _)| operation.keys.clone());
    let commands = operations.into_iter().flat_map(|(operation, commands)| {
        std::iter::repeat_n(commands, operation.weight as usize).flatten()
    });
    let mut commands: Vec<Words> = commands.collect();
    share_one_key(&mut commands);
    let step = MixStep { commands: commands.len() as u32, when: StepCondition::Always };
    let name = "transaction".to_owned();
    vec![(Operation { name, weight: 1, steps: vec![step], keys }, commands)]
}

fn has_key(command: &Words) -> bool {
    command.iter().any(|word| word.contains(DRAWN_KEY))
}

/// Makes all keys of the commands of an operation the same key.
fn share_one_key(commands: &mut [Words]) {
    let words = commands.iter_mut().flatten();
    words.for_each(|word| *word = word.replace(DRAWN_KEY, "__key__"));
}
