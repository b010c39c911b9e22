//! The seam between bytes and events, and the causes of losses.

use crate::Event;

/// Progress of a decoder at the beginning of its input, with the number of consumed bytes. That may exceed
/// the input; the rest is then dropped as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// The event is complete.
    Event(u64),
    /// Part of an event, or of what lies between two.
    Progress(u64),
    /// A whole line or record without an event, such as a blank line.
    Ignored(u64),
    /// A malformed event.
    Lost(u64, Loss),
    /// More input is needed.
    More,
}

/// Reason why a part of a record is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Content that violates the format.
    Unreadable,
    /// Content that exceeds a reader's limit.
    TooLong,
    /// Content cut off by the end of the file.
    Cut,
    /// A block without its checksum, with this claimed number of events.
    Damaged(u64),
    /// Events that the recorded server dropped before they were recorded.
    Dropped(u64),
}

/// Missing parts of a record, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lines or records that violate the format.
    pub unreadable: u64,
    /// Lines or records longer than a reader keeps.
    pub too_long: u64,
    /// Events cut off by the end of a file.
    pub cut: u64,
    /// Events of blocks without their checksum.
    pub damaged: u64,
    /// Events that the recorded server dropped before they were recorded.
    pub dropped: u64,
    /// Commands before the first time of a record that has times later.
    pub undated: u64,
    /// Commands with a damaged time, which got the previous one.
    pub misdated: u64,
    /// Number of the first line or record that is missing or has a damaged time, from 1.
    pub first: Option<u64>,
}

impl Losses {
    /// Counts a loss at a line or record.
    pub fn add(&mut self, loss: Loss, position: u64) {
        match loss {
            Loss::Unreadable => self.unreadable += 1,
            Loss::TooLong => self.too_long += 1,
            Loss::Cut => self.cut += 1,
            Loss::Damaged(events) => self.damaged = self.damaged.saturating_add(events),
            Loss::Dropped(events) => self.dropped = self.dropped.saturating_add(events),
        }
        self.first.get_or_insert(position);
    }

    /// Adds the losses of another file.
    pub fn merge(&mut self, other: &Self) {
        let Self { unreadable, too_long, cut, damaged, dropped, undated, misdated, first } = *other;
        self.unreadable += unreadable;
        self.too_long += too_long;
        self.cut += cut;
        self.damaged = self.damaged.saturating_add(damaged);
        self.dropped = self.dropped.saturating_add(dropped);
        self.undated += undated;
        self.misdated += misdated;
        self.first = self.first.or(first);
    }

    /// Number of missing commands.
    pub fn total(&self) -> u64 {
        let Self { unreadable, too_long, cut, damaged, dropped, undated, misdated: _, first: _ } =
            *self;
        [unreadable, too_long, cut, damaged, dropped, undated]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// Reason why the rest of a file cannot be read, as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

/// Decodes events from bytes that arrive in any pieces.
///
/// The input begins at the end of the last step. It never keeps more than a bound, whatever lengths the input
/// claims, and decoding the pieces of an input gives the same events as decoding it whole.
pub trait Decode: Send {
    /// Decodes the next part. `event` is the same from call to call until one is complete, and is then
    /// cleared by the caller; `is_end` says that no more bytes follow `input`. A step that consumes nothing
    /// is a held event.
    ///
    /// # Errors
    /// Returns the reason why the rest cannot be read.
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Decoded, Fault>;
}
