//! Further counts of commands, in plans that ask for them.

use super::Recorder;
use crate::request::{CommandReply, Request};

impl Recorder {
    /// Notes which of the requested items were found.
    pub(crate) fn found(&mut self, answered: &CommandReply, found: &[bool]) {
        if self.counts(answered.measured) {
            let command = self.tallies[answered.command as usize] as usize;
            self.tally.commands[command].add_places(found);
        }
    }

    /// Notes the number of receivers that the replies to a request named.
    pub(crate) fn reached<M>(&mut self, request: &Request<M>, receivers: u64) {
        if self.counts(request.measured) {
            let command = self.tallies[request.command as usize] as usize;
            let reached = &mut self.tally.commands[command].receivers;
            *reached = reached.saturating_add(receivers);
        }
    }

    /// Adds bytes sent for a command, if they are counted by command.
    #[inline]
    pub(crate) fn sent_bytes(&mut self, command: u32, bytes: usize, measured: bool) {
        if measured {
            let command = self.tallies[command as usize] as usize;
            self.tally.commands[command].bytes_out += bytes as u64;
            self.optional.put_together(command, bytes as u64);
        }
    }
}
