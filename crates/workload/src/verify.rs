//! Which replies are values that were written, so that they can be compared with what they must be.

use crate::{CommandSpec, Piece, Slot};

/// The values that a command asks for: of which arguments, in the order in which the reply has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Of the key that this argument ends.
    One(usize),
    /// Of each argument behind the name.
    Each,
}

/// Commands whose replies are values as they were written, and nothing else.
const READS: [(&str, Asks); 5] = [
    ("GET", Asks::One(1)),
    ("GETEX", Asks::One(1)),
    ("GETDEL", Asks::One(1)),
    ("HGET", Asks::One(2)),
    ("MGET", Asks::Each),
];

/// The names of the commands whose replies can be compared, in lower case.
pub fn names() -> impl Iterator<Item = String> {
    READS.iter().map(|(name, _)| name.to_lowercase())
}

/// The keys whose values a command asks for, in the order of its reply: which number each is, and how
/// many fresh ones stand before it in the command. Empty of a command whose reply is none, and of one
/// whose keys are no numbers. The rule is that for values: the key is `__key__` if the command has it,
/// otherwise the number that stands before the value would.
#[must_use]
pub fn keys_asked(command: &CommandSpec) -> Vec<(Slot, u64)> {
    let name = command.name();
    let Some((_, asks)) = READS.iter().find(|(known, _)| *known == name) else { return Vec::new() };
    let named = command.args.iter().flat_map(|arg| &arg.pieces).any(|piece| *piece == KEY);
    let mut fresh = 0;
    let mut last = named.then_some((Slot::Key, 0));
    let mut keys = Vec::new();
    for (at, arg) in command.args.iter().enumerate() {
        for piece in &arg.pieces {
            if let Piece::Number(slot) = piece {
                last = if named { last } else { Some((*slot, fresh)) };
                fresh += u64::from(*slot == Slot::Fresh);
            }
        }
        match asks {
            Asks::One(of) if *of == at => keys.extend(last),
            Asks::Each if at > 0 => keys.extend(last),
            Asks::One(_) | Asks::Each => {}
        }
    }
    keys
}

const KEY: Piece = Piece::Number(Slot::Key);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_asked_for_by_the_number_that_it_was_stored_under() {
        let of = |line: &str| keys_asked(&CommandSpec::parse(line.split(' ')));
        assert_eq!(of("get k:__rand_int__"), [(Slot::Fresh, 0)]);
        assert_eq!(of("GET k:__key__:__rand_1st__"), [(Slot::Key, 0)]);
        assert_eq!(of("hget h:__rand_int__ f:__rand_int__"), [(Slot::Fresh, 1)]);
        assert_eq!(of("mget __rand_int__ __rand_int__"), [(Slot::Fresh, 0), (Slot::Fresh, 1)]);
        for none in ["set k:__key__ v", "get k", "lrange k:__key__ 0 9", "mget a b"] {
            assert_eq!(of(none), [], "{none}");
        }
    }
}
