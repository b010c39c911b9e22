//! Position of the message in a command.

use workload::{Arg, CommandSpec, Message, Piece, Plan, message};

use crate::argument::Length;

/// The end of an argument.
const END: &str = "\r\n";

/// Position, in each command of a plan, of the message or its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessagePlace {
    at: Anchor,
    is_number: bool,
}

/// Fixed side of a message's position: the bytes on this side always have the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// Begins this many bytes after the start of the command.
    FromStart(usize),
    /// Ends this many bytes before the end of the command.
    FromEnd(usize),
}

impl MessagePlace {
    /// Finds the position in the plan's command, if one carries a message.
    pub(crate) fn from_plan(plan: &Plan) -> Option<Self> {
        let is_message = |arg: &Arg| arg.pieces.iter().any(|piece| piece.message_bytes() > 0);
        let at = |command: &CommandSpec| command.args.iter().position(is_message);
        let (command, at) = plan.sequence.iter().find_map(|c| Some((c, at(c)?)))?;
        let is_number = command.args[at].pieces.contains(&Piece::MessageNumber);
        let (before, behind) = (&command.args[..=at], &command.args[at + 1..]);
        if behind.iter().any(|arg| arg.pieces.contains(&Piece::Value)) {
            let header = format!("*{}{END}", command.args.len()).len();
            let end: usize = before.iter().map(argument_len).sum();
            let len = if is_number { message::NUMBER_BYTES } else { message::BYTES };
            return Some(Self { at: Anchor::FromStart(header + end - END.len() - len), is_number });
        }
        let behind = END.len() + behind.iter().map(argument_len).sum::<usize>();
        Some(Self { at: Anchor::FromEnd(behind), is_number })
    }

    /// Writes a message into a command.
    #[inline]
    pub(crate) fn write(self, message: Message, command: &mut [u8]) {
        if self.is_number {
            self.put(&message.to_number(), command)
        } else {
            self.put(&message.to_bytes(), command)
        }
    }

    #[inline]
    fn put(self, message: &[u8], command: &mut [u8]) {
        let start = match self.at {
            Anchor::FromStart(start) => start,
            Anchor::FromEnd(behind) => command.len() - behind - message.len(),
        };
        command[start..start + message.len()].copy_from_slice(message);
    }
}

/// Encoded bytes of an argument of fixed length.
fn argument_len(arg: &Arg) -> usize {
    let len = Length::new(arg, None, &[]).fixed;
    format!("${len}{END}").len() + len + END.len()
}
