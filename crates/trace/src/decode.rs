//! The seam between bytes and events, and what could not be read.

use crate::Event;

/// Progress of a decoder at the beginning of its input, with how many bytes it is done with. More than there are may be
/// named: they are dropped as they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The event is complete.
    Event(u64),
    /// Part of an event, or of what lies between two.
    Progress(u64),
    /// A whole line or record of no interest, such as a blank line.
    Ignored(u64),
    /// Something that should have been an event is not.
    Lost(u64, Loss),
    /// Too little input to tell.
    More,
}

/// Reason why something of a record is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Content that is not what the format has there.
    Unreadable,
    /// Content that is longer than a reader keeps.
    TooLong,
    /// The file ends in the middle of it.
    Cut,
    /// A block does not have its checksum; it held so many events, or claimed to.
    Damaged(u64),
    /// The recorded server dropped so many events before they were recorded.
    Dropped(u64),
}

/// Amounts of a record that are missing, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lines or records that are not what the format has there.
    pub unreadable: u64,
    /// Lines or records longer than a reader keeps.
    pub too_long: u64,
    /// Events that the end of a file cut.
    pub cut: u64,
    /// Events of blocks that do not have their checksum.
    pub damaged: u64,
    /// Events that the recorded server dropped before they were recorded.
    pub dropped: u64,
    /// Commands before the first time of a record that has times later.
    pub undated: u64,
    /// Commands that are there, with the time of the one before: theirs is damaged.
    pub misdated: u64,
    /// The number of the first line or record that is missing or has a damaged time, from 1.
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

    /// All commands that are not there.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self { unreadable, too_long, cut, damaged, dropped, undated, misdated: _, first: _ } =
            *self;
        [unreadable, too_long, cut, damaged, dropped, undated]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// Reason why nothing more of a file can be read, as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

/// Makes events of bytes that arrive in any pieces.
///
/// Its input begins where the last step ended. It never keeps what its input holds beyond a bound, whatever lengths
/// the input claims, and decoding the pieces of an input gives the events of decoding it whole.
pub trait Decode: Send {
    /// Reads on. `event` is the same from call to call until one is complete, and is then cleared by the caller;
    /// `is_end` says that no more bytes follow `input`. A step that consumes nothing is an event that was held.
    ///
    /// # Errors
    /// The rest cannot be read, and why.
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Step, Fault>;
}
