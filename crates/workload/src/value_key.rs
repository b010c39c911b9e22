//! The number of the key that a value belongs to: the rule for writing values and for checking returned ones.

use std::ops::RangeInclusive;

use crate::{Arg, CommandSpec, Piece, Slot, hashes};

/// Slot of a number in a command, and the count of fresh numbers before it.
pub type ValueKey = (Slot, u64);

/// Commands that write several keys, each followed by its value.
const WRITES_PAIRS: [&str; 2] = ["MSET", "MSETNX"];

/// Returns the number of the key of the value at each argument, for a command whose values each follow their
/// own key. `None` for any other command.
pub fn of_pairs(command: &CommandSpec) -> Option<Vec<Option<ValueKey>>> {
    if !WRITES_PAIRS.contains(&command.name().as_str()) {
        return None;
    }
    let each = of_each(command);
    // Keys are at odd indexes, and their values follow at even ones.
    let key_ofs =
        (0..each.len()).map(|at: usize| each.get(at.saturating_sub(1) | 1).copied().flatten());
    Some(key_ofs.collect())
}

/// Commands that write fields of a hash, each followed by its value, with the index of the first field.
const WRITES_FIELDS: [(&str, usize); 3] = [("HSET", 2), ("HMSET", 2), ("HSETNX", 2)];

/// Returns a number that distinguishes the values of one key by field: equal for the same field, whichever
/// command names it. `None` if the field is not fixed.
pub fn of_field(field: &Arg) -> Option<u64> {
    let text = field.pieces.iter().filter_map(|piece| match piece {
        Piece::Bytes(bytes) => Some(&bytes[..]),
        _ => None,
    });
    let name: Vec<u8> = text.flatten().copied().collect();
    (!name.is_empty()).then(|| hashes::fnv_text(&name))
}

/// The variant of the value at this argument of a command that writes fields; `None` for any other command.
pub fn of_value(command: &CommandSpec, at: usize) -> Option<u64> {
    let name = command.name();
    let (_, first) = WRITES_FIELDS.iter().find(|(known, _)| *known == name)?;
    // Fields and values take turns.
    let field = at.checked_sub(1).filter(|field| field >= first && (field - first) % 2 == 0)?;
    of_field(command.args.get(field)?)
}

/// Returns the number of the key in each argument, for a command with several keys: that of `__key__` if it is
/// in the argument, otherwise the last one.
pub fn of_each(command: &CommandSpec) -> Vec<Option<ValueKey>> {
    let mut fresh = 0;
    command.args.iter().map(|arg| of_args(std::slice::from_ref(arg), &mut fresh)).collect()
}

/// Returns the number of the key that a value at this argument belongs to, for a command with one key: that of
/// `__key__` if it is anywhere in the command, otherwise the last number up to the argument.
pub fn of_one(command: &CommandSpec, at: usize) -> Option<ValueKey> {
    if let Some(key) = named(command) {
        return Some(key);
    }
    let until: RangeInclusive<usize> = 0..=at.min(command.args.len().saturating_sub(1));
    of_args(command.args.get(until)?, &mut 0)
}

/// `__key__`, if it is in a command.
pub fn named(command: &CommandSpec) -> Option<ValueKey> {
    command.args.iter().any(names_key).then_some(KEY)
}

const KEY: ValueKey = (Slot::Key, 0);

fn names_key(arg: &Arg) -> bool {
    arg.pieces.iter().any(|piece| match piece {
        Piece::Number(slot) => *slot == Slot::Key,
        Piece::Derived(derived) => derived.names_key(),
        _ => false,
    })
}

/// Finds the last number in these arguments. `fresh` counts the fresh numbers before them.
fn of_args(args: &[Arg], fresh: &mut u64) -> Option<ValueKey> {
    let mut last = None;
    for piece in args.iter().flat_map(|arg| &arg.pieces) {
        if let Piece::Number(slot) = piece {
            last = Some((*slot, *fresh));
            *fresh += u64::from(*slot == Slot::Fresh);
        }
    }
    if args.iter().any(names_key) { Some(KEY) } else { last }
}
