//! Replies of a transaction, which arrive as elements of the reply to `EXEC`. Hits and missing values of the
//! queued commands are seen there.

use wire::Reply;

use super::reply_rules::Queue;

/// State of the incoming reply to an `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct QueuedReplies {
    /// Number of elements begun.
    begun: u32,
    /// State of the current element's reply.
    reply: NestedReply,
    /// The first command whose reply lacked a required value.
    lacking: Option<u32>,
}

/// A reply within another.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum NestedReply {
    #[default]
    Value,
    Null,
    Number(u32),
    /// A collection of this many values, nulls not counted.
    Values(u32),
}

impl QueuedReplies {
    /// An element begins with this line.
    pub(super) fn begin(&mut self, queue: Queue<'_>, header: &[u8]) {
        self.element_ended(queue);
        self.begun += 1;
        let text = header.get(1..).unwrap_or_default();
        let number = || std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        let counted = || number().map(|n| u32::try_from(n.max(0)).unwrap_or(u32::MAX));
        self.reply = match header.first() {
            Some(b'$' | b'*') if text == b"-1" => NestedReply::Null,
            Some(b'_') => NestedReply::Null,
            Some(b':') => NestedReply::Number(counted().unwrap_or(0)),
            Some(b'*' | b'~' | b'%') => NestedReply::Values(counted().unwrap_or(0)),
            _ => NestedReply::Value,
        };
    }

    /// Takes in a null in the current element.
    pub(super) fn null(&mut self) {
        if let NestedReply::Values(values) = &mut self.reply {
            *values = values.saturating_sub(1);
        }
    }

    /// Returns the command that the current element answers.
    pub(super) fn command(&self, queue: Queue<'_>) -> Option<u32> {
        let at = queue.commands.start.checked_add(self.begun.checked_sub(1)?)?;
        queue.commands.contains(&at).then_some(at)
    }

    /// Ends the reply. Returns the number of elements, and the first command whose reply lacked a required
    /// value.
    pub(super) fn ended(&mut self, queue: Queue<'_>) -> (u32, Option<u32>) {
        self.element_ended(queue);
        let Self { begun, lacking, .. } = std::mem::take(self);
        (begun, lacking)
    }

    fn element_ended(&mut self, queue: Queue<'_>) {
        let Some(command) = self.command(queue) else { return };
        let reply = match self.reply {
            NestedReply::Value => Reply::Done,
            NestedReply::Null => Reply::Miss,
            NestedReply::Number(number) => Reply::Number(number),
            NestedReply::Values(0) => Reply::Empty,
            NestedReply::Values(values) => Reply::Found(values),
        };
        if queue.reply_rules.lacks(queue.reply_rules.meant(reply, command), command) {
            self.lacking.get_or_insert(command);
        }
    }
}
