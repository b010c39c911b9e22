//! Commands that may have no reply, which the next reply reveals.
//!
//! A reply with a mark answers the command of that index in the sequence; one without a mark answers the
//! oldest command that must be answered. Commands sent before it that may keep silent have done so, and are
//! settled then, with the latency of that next reply.

use measure::Outcome;
use wire::{Protocol, Silence};

use super::receive::Settler;
use crate::Fatal;
use crate::request::{Keys, Requests, SettledReply};
use crate::route::Route;

impl<P: Protocol, R: Route> Settler<'_, P, R> {
    /// Settles commands that kept silent before a reply with this mark.
    ///
    /// # Errors
    /// Returns an error if no command in flight has that mark.
    pub(super) fn settle_silent(
        &mut self,
        requests: &mut Requests<R::Mark>,
        mark: Option<u32>,
    ) -> Result<(), Fatal> {
        while let Some(oldest) = requests.oldest_mut() {
            let command = oldest.command;
            let silence = self.context.reply_rules.silence(command);
            let (false, Some(silence)) = (mark == Some(command), silence) else {
                return match mark {
                    Some(mark) if mark != command => Err(Fatal::new(format!(
                        "the server answered a command (opaque O{mark}) that was not asked, or was \
                         answered before"
                    ))),
                    _ => Ok(()),
                };
            };
            let outcome = match silence {
                Silence::Done => Outcome::Ok,
                Silence::Miss => Outcome::Miss,
            };
            oldest.progress.missed |= outcome == Outcome::Miss;
            let Some((first_byte_ns, request)) = requests.settle(self.now_ns) else {
                break;
            };
            let answered = request.answered(first_byte_ns);
            let keys = Keys { asked: self.context.reply_rules.keys(command), found: 0 };
            self.record(request, &SettledReply { answered, outcome, bytes: 0, keys });
            self.complete(request);
            requests.advance(self.context.sequence_len);
        }
        Ok(())
    }
}
