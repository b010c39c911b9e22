//! A command as data: its arguments, and settings for all of them.

use serde::{Deserialize, Serialize};

use crate::secret::{self, SecretBytes};
use crate::{Arg, Lifetime, Piece};

/// Command: its arguments, and its form on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The arguments, the command's name first.
    pub args: Vec<Arg>,
    /// Sent as a plain line instead of an array of bulk strings (`PING_INLINE`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inline: bool,
}

impl From<Piece> for Arg {
    fn from(piece: Piece) -> Self {
        Self { pieces: vec![piece] }
    }
}

impl From<&str> for Arg {
    fn from(word: &str) -> Self {
        Self::literal(word.as_bytes())
    }
}

impl From<Vec<Arg>> for CommandSpec {
    fn from(args: Vec<Arg>) -> Self {
        Self { args, inline: false }
    }
}

impl CommandSpec {
    /// A command of literal words.
    pub fn from_words<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Self {
        words.into_iter().map(|w| Arg::literal(w.as_ref())).collect::<Vec<_>>().into()
    }

    /// Parses words as a command, with number placeholders.
    pub fn parse<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Self {
        let args = words.into_iter().map(|w| Arg::literal(w.as_ref()).with_numbers());
        args.collect::<Vec<_>>().into()
    }

    /// The first argument as text, for labels, without placeholders.
    pub fn name(&self) -> String {
        let pieces = self.args.first().map_or(&[][..], |a| &a.pieces);
        let bytes = pieces.iter().filter_map(|p| match p {
            Piece::Bytes(b) => Some(b.as_slice()),
            _ => None,
        });
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>().concat()).to_ascii_uppercase()
    }

    /// Turns its passwords, and arguments equal to `known`, into secrets.
    pub(crate) fn hide_passwords(&mut self, known: Option<&str>) {
        let words: Vec<Vec<u8>> = self.args.iter().map(Arg::literals).collect();
        let known = known.filter(|known| !known.is_empty()).map(str::as_bytes);
        let equal = words.iter().enumerate().skip(1).filter(|(_, word)| Some(&word[..]) == known);
        let equal = equal.map(|(at, _)| (at, 0));
        for (at, open) in secret::in_command(&words).into_iter().chain(equal) {
            self.args[at].hide_from(open);
        }
    }

    /// Passwords in it.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretBytes> {
        self.args.iter().flat_map(|arg| &arg.pieces).filter_map(|piece| match piece {
            Piece::Secret(secret) => Some(secret),
            _ => None,
        })
    }

    /// Adds a lifetime if the command is a `SET` without one.
    pub fn with_lifetime(mut self, lifetime: Lifetime) -> Self {
        let options = ["EX", "PX", "EXAT", "PXAT", "KEEPTTL"];
        if self.name() == "SET"
            && !self.args.iter().skip(3).any(|arg| {
                arg.fixed_bytes().is_some_and(|word| {
                    options.iter().any(|s| s.as_bytes().eq_ignore_ascii_case(&word))
                })
            })
        {
            self.args.push(Arg::literal(b"EX"));
            self.args.push(Arg::of_lifetime(lifetime));
        }
        self
    }

    /// Replaces each repetition of the fill pattern by a value that varies between requests.
    pub fn with_values(mut self) -> Self {
        for piece in self.args.iter_mut().flat_map(|arg| &mut arg.pieces) {
            if matches!(piece, Piece::Fill { .. }) {
                *piece = Piece::Value;
            }
        }
        self
    }

    /// Returns whether it contains the reply to an earlier step.
    pub fn names_reply(&self) -> bool {
        let pieces = self.args.iter().flat_map(|arg| &arg.pieces);
        pieces.into_iter().any(|piece| matches!(piece, Piece::Reply { .. } | Piece::Cas))
    }

    /// Number of its varying values.
    pub fn values(&self) -> u64 {
        self.args.iter().map(Arg::values).sum()
    }

    /// Approximate length in bytes on the wire, without dataset fields and varying values.
    pub fn size_hint(&self) -> u64 {
        self.args.iter().map(|arg| 8 + arg.size_hint()).sum::<u64>() + 8
    }
}
