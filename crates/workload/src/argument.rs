//! An argument of a command as data: literal bytes and placeholders.
//!
//! Owns the placeholder syntax of `valkey-benchmark` (`__rand_int__`, `__rand_1st__` … `__rand_9th__`,
//! `__field:name__`, `{tag}` in cluster mode), plus `__key__` and `__ttl__`. `wire` encodes arguments.

use std::borrow::Cow;
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::derived::{self, DerivedText};
use crate::secret::SecretBytes;
use crate::values::Lcg;
use crate::{Lifetime, message};

/// Argument, as a list of pieces that are joined.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arg {
    /// The pieces in order.
    pub pieces: Vec<Piece>,
}

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// Bytes as they are.
    Bytes(#[serde(with = "crate::bytes")] Vec<u8>),
    /// Bytes that are a password: sent like others, but never shown.
    Secret(SecretBytes),
    /// A zero-padded decimal number from the key space.
    Number(Slot),
    /// A cell of the current dataset row, by column.
    Field(usize),
    /// `{tag}` in cluster mode: a hash tag of three characters in its braces, equal throughout a sequence,
    /// that spreads the sequences over all slots.
    Tag,
    /// A value of the plan's `values`, whose size or bytes vary between requests.
    Value,
    /// Lifetime of a key in seconds, drawn for each request.
    Lifetime(Lifetime),
    /// A text derived from the key or the request.
    Derived(DerivedText),
    /// The value from the reply to an earlier step of the operation.
    Reply {
        /// Text used if there was no reply.
        #[serde(with = "crate::bytes")]
        or: Vec<u8>,
    },
    /// The token of the item that an earlier step read (memcached's `cas`).
    Cas,
    /// A [`Message`](crate::Message), the last of its command.
    Message,
    /// The number of a message, if a whole message has no room.
    MessageNumber,
    /// `len` bytes of the classic payload generator, from offset `skip` of its stream. Kept as numbers so
    /// that a plan with a 1 GiB value stays small; see [`Lcg`].
    Fill {
        /// Bytes.
        len: u32,
        /// Bytes of the stream that earlier values used.
        skip: u64,
    },
}

/// Number that replaces a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// `__rand_int__`: a fresh number at every occurrence.
    Fresh,
    /// `__rand_1st__` to `__rand_9th__` (1 to 9): one number for all occurrences in a sequence.
    Shared(u8),
    /// `__key__`: one number for all occurrences in a sequence, that of its key.
    Key,
    /// The three characters of a [`Piece::Tag`].
    Tag,
}

/// Placeholder of a [`Piece::Tag`] on the command line of cluster mode.
pub const TAG_PLACEHOLDER: &[u8] = b"{tag}";

/// Placeholder of a lifetime on the command line.
const LIFETIME_PLACEHOLDER: &[u8] = b"__ttl__";

/// Minimum number of digits of a number that replaces a placeholder, the length of the placeholder in other
/// tools.
pub const PLACEHOLDER_LEN: usize = 12;

const NUMBER_PLACEHOLDERS: [(&str, Slot); 11] = [
    ("__key__", Slot::Key),
    ("__rand_int__", Slot::Fresh),
    ("__rand_1st__", Slot::Shared(1)),
    ("__rand_2nd__", Slot::Shared(2)),
    ("__rand_3rd__", Slot::Shared(3)),
    ("__rand_4th__", Slot::Shared(4)),
    ("__rand_5th__", Slot::Shared(5)),
    ("__rand_6th__", Slot::Shared(6)),
    ("__rand_7th__", Slot::Shared(7)),
    ("__rand_8th__", Slot::Shared(8)),
    ("__rand_9th__", Slot::Shared(9)),
];

/// Returns the placeholder of a number on the command line.
pub fn placeholder(slot: Slot) -> &'static str {
    let found = NUMBER_PLACEHOLDERS.iter().find(|(_, s)| *s == slot);
    found.map_or("__rand_int__", |(text, _)| text)
}

impl Piece {
    /// Length of its message in bytes; 0 without one.
    pub fn message_bytes(&self) -> usize {
        match self {
            Self::Message => message::BYTES,
            Self::MessageNumber => message::NUMBER_BYTES,
            _ => 0,
        }
    }

    /// Text or placeholder that it is written as, without parameters.
    pub fn shown(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Bytes(bytes) => return String::from_utf8_lossy(bytes),
            Self::Number(slot) => placeholder(*slot),
            Self::Tag => "{tag}",
            Self::Derived(derived) if derived.names_key() => "__key:...__",
            Self::Derived(_) => "__draw:...__",
            Self::Field(_) => "__field:...__",
            Self::Reply { .. } => "__reply__",
            Self::Value => "__data__",
            Self::Lifetime(_) => "__ttl__",
            Self::Cas => "__cas__",
            Self::Secret(_) | Self::Fill { .. } | Self::Message | Self::MessageNumber => "...",
        })
    }

    fn size_hint(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Secret(bytes) => bytes.reveal().len() as u64,
            Self::Number(_) | Self::Lifetime(_) => PLACEHOLDER_LEN as u64,
            Self::Field(_) | Self::Value | Self::Reply { .. } | Self::Cas => 0,
            Self::Message | Self::MessageNumber => self.message_bytes() as u64,
            Self::Derived(DerivedText::Checked { len, .. }) => u64::from(*len),
            Self::Derived(DerivedText::Random(random)) => u64::from(random.len),
            Self::Derived(_) => 2 * PLACEHOLDER_LEN as u64,
            Self::Tag => TAG_PLACEHOLDER.len() as u64,
            Self::Fill { len, .. } => u64::from(*len),
        }
    }
}

impl Arg {
    /// An argument that consists of these bytes.
    pub fn literal(bytes: &[u8]) -> Self {
        Self { pieces: vec![Piece::Bytes(bytes.to_vec())] }
    }

    /// Creates an argument that is a lifetime in seconds.
    pub fn of_lifetime(lifetime: Lifetime) -> Self {
        Self::literal(LIFETIME_PLACEHOLDER).with_lifetimes(lifetime)
    }

    /// Approximate length in bytes, like [`CommandSpec::size_hint`].
    pub(crate) fn size_hint(&self) -> u64 {
        self.pieces.iter().map(Piece::size_hint).sum()
    }

    /// Number of its varying values.
    pub(crate) fn values(&self) -> u64 {
        self.pieces.iter().filter(|piece| **piece == Piece::Value).count() as u64
    }

    /// Replaces every number placeholder in the literal pieces.
    pub fn with_numbers(self) -> Self {
        NUMBER_PLACEHOLDERS.iter().fold(self, |arg, (text, slot)| {
            arg.split_literals(text.as_bytes(), || Piece::Number(*slot))
        })
    }

    /// Replaces every `{tag}`, as cluster mode does.
    pub fn with_tags(self) -> Self {
        self.split_literals(TAG_PLACEHOLDER, || Piece::Tag)
    }

    /// Replaces every `__data__` by `len` payload bytes, each from the offset `skip` in the stream, which
    /// advances.
    pub fn with_data(self, len: u32, skip: &mut u64) -> Self {
        self.split_literals(b"__data__", || {
            let piece = Piece::Fill { len, skip: *skip };
            *skip += u64::from(len);
            piece
        })
    }

    /// Replaces every `__data__` by a varying value.
    pub fn with_values(self) -> Self {
        self.split_literals(b"__data__", || Piece::Value)
    }

    /// Replaces every `__ttl__` by a lifetime.
    pub fn with_lifetimes(self, lifetime: Lifetime) -> Self {
        self.split_literals(LIFETIME_PLACEHOLDER, || match lifetime.fixed() {
            Some(seconds) => Piece::Bytes(seconds.to_string().into_bytes()),
            None => Piece::Lifetime(lifetime),
        })
    }

    /// Replaces every placeholder of a derived text, such as `__key:fnv,1__`.
    ///
    /// # Errors
    /// Returns an error if a text that begins like such a placeholder is malformed.
    pub fn with_derived(self) -> Result<Self, String> {
        let next = |bytes: &[u8]| {
            let openings = derived::OPENINGS.iter();
            let at = openings.filter_map(|open| find(bytes, open.as_bytes())).min()?;
            let (_, named, after) = next_named(&bytes[at..], b"__")?;
            Some((bytes[..at].to_vec(), named, after))
        };
        self.split(next, |named| Ok(Piece::Derived(String::from_utf8_lossy(&named).parse()?)))
    }

    /// Returns whether it has a `__ttl__`.
    pub fn names_lifetime(&self) -> bool {
        let named = |bytes: &Vec<u8>| find(bytes, LIFETIME_PLACEHOLDER).is_some();
        self.pieces.iter().any(|piece| matches!(piece, Piece::Bytes(bytes) if named(bytes)))
    }

    /// Replaces every `__reply__`, and every `__reply_or:TEXT__`.
    pub fn with_replies(self) -> Self {
        let arg = self.split_literals(b"__reply__", || Piece::Reply { or: Vec::new() });
        let next = |bytes: &[u8]| next_named(bytes, b"__reply_or:");
        let Ok(arg) = arg.split(next, |or| Ok::<_, Infallible>(Piece::Reply { or }));
        arg
    }

    /// Replaces every `__cas__`.
    pub fn with_cas(self) -> Self {
        self.split_literals(b"__cas__", || Piece::Cas)
    }

    /// Replaces every `__field:name__` by that column.
    ///
    /// # Errors
    /// Returns the name that `columns` lacks.
    pub fn with_fields(self, columns: &[String]) -> Result<Self, String> {
        self.split(next_field, |name| {
            let name = String::from_utf8_lossy(&name).into_owned();
            Ok(Piece::Field(columns.iter().position(|c| *c == name).ok_or(name)?))
        })
    }

    /// Returns whether it has a `__field:name__`.
    pub fn names_field(&self) -> bool {
        self.pieces.iter().any(|p| matches!(p, Piece::Bytes(b) if next_field(b).is_some()))
    }

    /// Bytes of an argument whose only placeholders are filled data; `None` if it has others.
    pub fn fixed_bytes(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Secret(bytes) => out.extend_from_slice(bytes.reveal()),
                Piece::Fill { len, skip } => Lcg::at(*skip).fill(*len as usize, &mut out),
                _ => return None,
            }
        }
        Some(out)
    }

    /// Literal bytes, without placeholders.
    pub(crate) fn literals(&self) -> Vec<u8> {
        let literals = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Bytes(bytes) => bytes.clone(),
            Piece::Secret(secret) => secret.reveal().to_vec(),
            _ => Vec::new(),
        });
        literals.collect()
    }

    /// Turns its literal bytes into secrets, except the first `open` bytes.
    pub(crate) fn hide_from(&mut self, mut open: usize) {
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in std::mem::take(&mut self.pieces) {
            let Piece::Bytes(mut bytes) = piece else {
                pieces.push(piece);
                continue;
            };
            let hidden = bytes.split_off(open.min(bytes.len()));
            open -= bytes.len();
            push_literal(&mut pieces, bytes);
            if !hidden.is_empty() {
                pieces.push(Piece::Secret(SecretBytes::new(hidden)));
            }
        }
        self.pieces = pieces;
    }

    fn split_literals(self, needle: &[u8], mut make: impl FnMut() -> Piece) -> Self {
        let next = |bytes: &[u8]| {
            let (before, after) = bytes.split_at(find(bytes, needle)?);
            Some((before.to_vec(), Vec::new(), after[needle.len()..].to_vec()))
        };
        let Ok(arg) = self.split(next, |_| Ok::<_, Infallible>(make()));
        arg
    }

    /// Replaces what `next` finds in literal pieces by what `make` makes of its content.
    fn split<E>(
        self,
        next: impl Fn(&[u8]) -> Option<Found>,
        mut make: impl FnMut(Vec<u8>) -> Result<Piece, E>,
    ) -> Result<Self, E> {
        let mut pieces = Vec::new();
        for piece in self.pieces {
            let Piece::Bytes(mut bytes) = piece else {
                pieces.push(piece);
                continue;
            };
            while let Some((before, content, after)) = next(&bytes) {
                push_literal(&mut pieces, before);
                pieces.push(make(content)?);
                bytes = after;
            }
            push_literal(&mut pieces, bytes);
        }
        Ok(Self { pieces })
    }
}

/// The text before a placeholder, its content, and the rest.
pub(crate) type Found = (Vec<u8>, Vec<u8>, Vec<u8>);

fn push_literal(pieces: &mut Vec<Piece>, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        pieces.push(Piece::Bytes(bytes));
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn next_field(bytes: &[u8]) -> Option<Found> {
    next_named(bytes, b"__field:")
}

/// Splits at the first placeholder that begins with `open` and ends in `__`.
pub(crate) fn next_named(bytes: &[u8], open: &[u8]) -> Option<Found> {
    let start = find(bytes, open)?;
    let name_at = start + open.len();
    let name_len = find(&bytes[name_at..], b"__")?;
    let name = bytes[name_at..name_at + name_len].to_vec();
    Some((bytes[..start].to_vec(), name, bytes[name_at + name_len + 2..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_pieces() {
        let arg = Arg::literal(b"a:__rand_int__:b__rand_1st__").with_numbers();
        assert_eq!(
            arg.pieces,
            [
                Piece::Bytes(b"a:".to_vec()),
                Piece::Number(Slot::Fresh),
                Piece::Bytes(b":b".to_vec()),
                Piece::Number(Slot::Shared(1)),
            ]
        );
    }

    #[test]
    fn number_placeholders_of_the_peers_are_twelve_characters() {
        for (text, slot) in NUMBER_PLACEHOLDERS {
            assert!(text.len() == PLACEHOLDER_LEN || slot == Slot::Key);
            assert_eq!(Arg::literal(text.as_bytes()).with_numbers().pieces, [Piece::Number(slot)]);
            assert_eq!(placeholder(slot), text);
        }
    }

    #[test]
    fn data_takes_the_next_bytes_at_each_occurrence() {
        let mut skip = 7;
        let arg = Arg::literal(b"__data__-__data__").with_data(3, &mut skip);
        assert_eq!(arg.pieces[0], Piece::Fill { len: 3, skip: 7 });
        assert_eq!(arg.pieces[2], Piece::Fill { len: 3, skip: 10 });
        assert_eq!(skip, 13);
    }

    #[test]
    fn tags_are_found() {
        let arg = Arg::literal(b"k:{tag}:__rand_int__").with_numbers().with_tags();
        assert_eq!(arg.pieces[1], Piece::Tag);
        assert_eq!(arg.pieces[3], Piece::Number(Slot::Fresh));
        assert_eq!(arg.fixed_bytes(), None);
    }

    #[test]
    fn derived_texts_are_found_and_wrong_ones_reported() {
        let arg = Arg::literal(b"user__key:fnv,1__:__draw:0..9__!").with_derived().unwrap();
        assert!(matches!(arg.pieces[1], Piece::Derived(DerivedText::Key(_))), "{arg:?}");
        assert!(matches!(arg.pieces[3], Piece::Derived(DerivedText::Drawn(_))), "{arg:?}");
        assert_eq!((arg.pieces.len(), arg.fixed_bytes()), (5, None));
        let plain = Arg::literal(b"__key__ __key:1").with_derived().unwrap();
        assert_eq!(plain, Arg::literal(b"__key__ __key:1"));
        assert!(Arg::literal(b"__draw:x__").with_derived().unwrap_err().contains("1..100"));
    }

    #[test]
    fn fields_are_found_and_unknown_ones_named() {
        let columns = ["id".to_owned(), "title".to_owned()];
        let arg = Arg::literal(b"doc:__field:title__!").with_fields(&columns).unwrap();
        assert_eq!(arg.pieces[1], Piece::Field(1));
        assert_eq!(Arg::literal(b"__field:no__").with_fields(&columns), Err("no".to_owned()));
        assert!(!Arg::literal(b"__field:").names_field());
    }
}
