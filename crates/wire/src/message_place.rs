//! Where in a command its message stands.

use workload::{Arg, CommandSpec, Message, Piece, Plan, message};

use crate::argument::Length;

/// What ends an argument.
const END: &str = "\r\n";

/// The place of the message in each command of a plan: what stands on one side of it is always as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessagePlace {
    /// It begins so many bytes behind the start of the command.
    FromStart(usize),
    /// So many bytes stand behind it.
    FromEnd(usize),
}

impl MessagePlace {
    /// That of the plan's command, if one carries a message.
    pub(crate) fn from_plan(plan: &Plan) -> Option<Self> {
        let is_message = |arg: &Arg| arg.pieces.contains(&Piece::Message);
        let at = |command: &CommandSpec| command.args.iter().position(is_message);
        let (command, at) = plan.sequence.iter().find_map(|c| Some((c, at(c)?)))?;
        let (before, behind) = (&command.args[..=at], &command.args[at + 1..]);
        let varies = |args: &[Arg]| args.iter().any(|arg| arg.pieces.contains(&Piece::Value));
        if varies(behind) {
            let header = format!("*{}{END}", command.args.len()).len();
            let end: usize = before.iter().map(argument_len).sum();
            return Some(Self::FromStart(header + end - END.len() - message::BYTES));
        }
        Some(Self::FromEnd(END.len() + behind.iter().map(argument_len).sum::<usize>()))
    }

    /// Writes a message into a command.
    #[inline]
    pub(crate) fn write(self, message: Message, command: &mut [u8]) {
        let start = match self {
            Self::FromStart(start) => start,
            Self::FromEnd(behind) => command.len() - behind - message::BYTES,
        };
        command[start..start + message::BYTES].copy_from_slice(&message.to_bytes());
    }
}

/// Bytes of an argument that is always as long, as it is sent.
fn argument_len(arg: &Arg) -> usize {
    let len = Length::new(arg, None, &[]).fixed;
    format!("${len}{END}").len() + len + END.len()
}
