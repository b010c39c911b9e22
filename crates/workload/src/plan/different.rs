//! Distinct commands of a sequence.
//!
//! Commands are counted once for each distinct one, so that a command repeated a thousand times takes no more
//! memory than one.

use std::collections::HashMap;

use super::Plan;
use crate::{CommandSpec, Piece};

/// The different commands of a sequence.
#[derive(Debug, Clone)]
pub struct DistinctCommands<'p> {
    /// The distinct commands, in order of first occurrence.
    pub commands: Vec<&'p CommandSpec>,
    /// For each of them, whether its replies report misses, so that it has hits and misses.
    pub looks_up: Vec<bool>,
    /// Number of the distinct command that each command of the sequence is.
    pub of: Vec<u32>,
}

impl Plan {
    /// The distinct commands of the sequence. The content of `__data__` is ignored: it is drawn from one
    /// stream, and so differs in every command.
    pub fn different_commands(&self) -> DistinctCommands<'_> {
        let mut known: HashMap<(usize, bool, CommandSpec), u32> = HashMap::new();
        let transactions = self.transactions();
        let mut different =
            DistinctCommands { commands: Vec::new(), looks_up: Vec::new(), of: Vec::new() };
        // Equal commands of two operations are distinct, as each operation has its own figures. A command
        // queued by a transaction is distinct, too, as its reply says nothing of its lookup.
        for (operation, (commands, _)) in self.key_spaces().enumerate() {
            for at in commands {
                let (command, queued) = (&self.sequence[at], transactions.is_queued(at));
                let next = different.commands.len() as u32;
                let key = (operation, queued, without_data(command));
                let which = *known.entry(key).or_insert(next);
                if which == next {
                    different.commands.push(command);
                    different.looks_up.push(!queued && command.looks_up(self.protocol));
                }
                different.of.push(which);
            }
        }
        different
    }
}

fn without_data(command: &CommandSpec) -> CommandSpec {
    let mut command = command.clone();
    for piece in command.args.iter_mut().flat_map(|arg| &mut arg.pieces) {
        if let Piece::Fill { skip, .. } = piece {
            *skip = 0;
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;
    use crate::Arg;

    #[test]
    fn repeats_are_one_command_whatever_their_data() {
        let mut parts = parts();
        let set = |len, skip| {
            let mut command = CommandSpec::from_words(["SET", "k"]);
            command.args.push(Arg { pieces: vec![Piece::Fill { len, skip }] });
            command
        };
        let get = CommandSpec::from_words(["GET", "k"]);
        let other = CommandSpec::from_words(["GET", "K"]);
        parts.sequence = vec![set(3, 0), get.clone(), set(3, 3), other, get, set(4, 6)];
        let plan = parts.build().unwrap();
        let different = plan.different_commands();
        assert_eq!(different.of, [0, 1, 0, 2, 1, 3]);
        assert_eq!(different.commands.len(), 4);
        assert!(std::ptr::eq(different.commands[2], &raw const plan.sequence[3]));
    }
}
