//! One recorded command, in buffers that are reused for the next.

/// Properties of a command beside its arguments, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// More commands of the same pipeline follow.
    pub const PIPELINED: Self = Self(1);
    /// A script or function sent it, so repeating the script's call repeats it.
    pub const SCRIPT_EFFECT: Self = Self(2);
    /// A client that cannot be distinguished from others, such as one over a unix socket in the output of
    /// MONITOR.
    pub const SHARED_CLIENT: Self = Self(4);
    /// No known client, because the server sent it by itself or for a script, as in an append-only file.
    pub const NO_CLIENT: Self = Self(8);

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets the bits of `other`.
    pub const fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Byte for a file.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Parses a byte of a file; unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 15)
    }
}

/// Outcome of a command, if recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Not recorded.
    #[default]
    Unknown,
    /// A read that found its key, with a value of this many bytes.
    Hit(u32),
    /// A read of a key with a value of this many bytes; hit or miss is not recorded.
    Value(u32),
    /// A read that missed its key.
    Miss,
    /// A write was carried out.
    Done,
    /// A refused write, such as an `add` of an existing key.
    Refused,
}

/// Argument of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument<'e> {
    /// Bytes of the argument; `None` if only its size was recorded. In records that replace keys by shorter
    /// names, their length differs from `size`.
    pub bytes: Option<&'e [u8]>,
    /// Length of the argument in bytes when it was recorded.
    pub size: u32,
    /// Percentage by which compression shrinks it; 0 if its bytes are recorded, or it is unknown.
    pub compressibility: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    end: u32,
    size: u32,
    compressibility: u8,
    has_bytes: bool,
}

/// A recorded command. Its buffers keep their capacity from one event to the next.
///
/// Commands of memcached have one form, whatever the record: `get key…`, `gat expiry key…`, `set key value flags
/// expiry` (and `add`, `replace`, `append`, `prepend`, `cas … unique`), `delete key`, `incr key delta`,
/// `touch key expiry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Time in nanoseconds; [`crate::Source::clock`] gives the origin, and [`crate::Source::stamps`] the
    /// moment that it marks.
    pub at_ns: u64,
    /// Client that sent it: an arbitrary number, equal for the same client.
    pub client: u64,
    /// Database of the command.
    pub db: u32,
    /// Other properties of the command.
    pub flags: Flags,
    /// Outcome of the command.
    pub outcome: Outcome,
    /// Number of times that the command was sent in its second, and how many of these were hits. Records that
    /// count have one line for all, from which the reader makes single events. 0 means once.
    pub(crate) repeats: u32,
    pub(crate) repeated_hits: u32,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Event {
    /// Clears it for the next command.
    pub fn clear(&mut self) {
        self.at_ns = 0;
        self.client = 0;
        self.db = 0;
        self.flags = Flags::default();
        self.outcome = Outcome::Unknown;
        self.repeats = 0;
        self.repeated_hits = 0;
        self.clear_arguments();
    }

    /// Removes the arguments.
    pub fn clear_arguments(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Adds an argument.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.end_argument();
    }

    /// Adds an argument with these bytes, whose original had `size` bytes.
    pub fn push_resized(&mut self, bytes: &[u8], size: u32) {
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len() as u32;
        self.spans.push(Span { end, size, compressibility: 0, has_bytes: true });
    }

    /// Adds an argument of which only the size, and the percentage of compression, is known.
    pub fn push_size(&mut self, size: u32, compressibility: u8) {
        let end = self.bytes.len() as u32;
        self.spans.push(Span { end, size, compressibility, has_bytes: false });
    }

    /// Returns the buffer for the bytes of the next argument, before [`Self::end_argument`].
    pub(crate) fn open_argument(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Completes an argument from the bytes appended since the last one.
    pub(crate) fn end_argument(&mut self) {
        let begin = self.spans.last().map_or(0, |span| span.end);
        let end = self.bytes.len() as u32;
        self.spans.push(Span { end, size: end - begin, compressibility: 0, has_bytes: true });
    }

    /// Returns the number of arguments, the name included.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns whether the event has no arguments.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at an index; 0 is the command's name.
    pub fn argument(&self, at: usize) -> Option<Argument<'_>> {
        let span = self.spans.get(at)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.spans[before].end as usize);
        let bytes = span.has_bytes.then(|| &self.bytes[begin..span.end as usize]);
        Some(Argument { bytes, size: span.size, compressibility: span.compressibility })
    }

    /// All arguments, the name first.
    pub fn arguments(&self) -> impl Iterator<Item = Argument<'_>> {
        (0..self.len()).filter_map(|at| self.argument(at))
    }

    /// Bytes of an argument; empty if there is none, or only its size was recorded.
    pub fn bytes(&self, at: usize) -> &[u8] {
        self.argument(at).and_then(|argument| argument.bytes).unwrap_or_default()
    }

    /// The command's name in its original case.
    pub fn name(&self) -> &[u8] {
        self.bytes(0)
    }

    /// Returns whether the command has this name, in letters of any case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }

    /// Returns whether an argument is one of these words, in letters of any case.
    pub fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.bytes(at).eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Number of recorded bytes of all its arguments, for bounds of memory.
    pub fn bytes_held(&self) -> usize {
        self.bytes.len() + self.spans.len() * size_of::<Span>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_bytes_or_sizes() {
        let mut event = Event::default();
        event.push(b"SET");
        event.push_resized(b"7", 12);
        event.push_size(100, 30);
        event.push(b"");
        let of = |at| event.argument(at).unwrap();
        assert_eq!(of(0), Argument { bytes: Some(b"SET"), size: 3, compressibility: 0 });
        assert_eq!(of(1), Argument { bytes: Some(b"7"), size: 12, compressibility: 0 });
        assert_eq!(of(2), Argument { bytes: None, size: 100, compressibility: 30 });
        assert_eq!(of(3), Argument { bytes: Some(b""), size: 0, compressibility: 0 });
        assert_eq!((event.argument(4), event.len(), event.is("set")), (None, 4, true));
        event.clear();
        assert_eq!(event, Event::default());
    }
}
