//! The formats of records: one file each, and a row here.

pub(crate) mod aof;
mod binary;
mod dragonfly;
mod lines;
mod meta;
mod monitor;
mod oracle;
mod own;
mod snapshot;
mod twitter;
mod watch;

use crate::{Decode, Fault, Source};

pub use monitor::client_number;

/// Beginning of a file.
#[derive(Debug, Clone, Copy)]
pub struct Head<'h> {
    /// First bytes of the file, unpacked.
    pub bytes: &'h [u8],
    /// Set if that is all of the file.
    pub is_whole: bool,
    /// Set if times follow further on, of an append-only file that has none so far.
    pub is_stamped_later: bool,
    /// The file's name: what a format without marks of its own is known by.
    pub name: &'h str,
}

/// A format of records.
#[derive(Debug)]
pub struct Format {
    /// Name on a command line.
    pub name: &'static str,
    /// Name in a sentence.
    pub title: &'static str,
    /// Function that returns whether a file that begins so has this format.
    pub recognizes: fn(&Head<'_>) -> bool,
    /// Makes its decoder, and says what the record is of.
    pub open: OpenFormat,
}

type OpenFormat = fn(&Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault>;

/// Every format. The first that recognizes a file reads it: those with marks of their own come first.
pub const FORMATS: &[Format] = &[
    own::FORMAT,
    monitor::FORMAT,
    watch::FORMAT,
    aof::FORMAT,
    twitter::FORMAT,
    meta::FORMAT,
    dragonfly::FORMAT,
    oracle::FORMAT,
];

#[cfg(test)]
mod suite;
