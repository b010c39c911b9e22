//! The formats of records: one file each, and a row here.

pub(crate) mod aof;
mod binary;
mod dragonfly;
mod keystorm;
mod lines;
mod meta;
mod monitor;
mod oracle;
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
    /// Set if the head is the whole file.
    pub is_whole: bool,
    /// Set if times begin later in an append-only file.
    pub is_stamped_later: bool,
    /// Name of the file, by which a format without marks is recognised.
    pub name: &'h str,
}

/// A format of records.
#[derive(Debug)]
pub struct Format {
    /// Name on a command line.
    pub name: &'static str,
    /// Name in a sentence.
    pub title: &'static str,
    /// Returns whether a file with this beginning has the format.
    pub recognizes: fn(&Head<'_>) -> bool,
    /// Makes its decoder, and the facts of the record.
    pub open: OpenFormat,
}

type OpenFormat = fn(&Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault>;

/// All formats. The first that recognises a file reads it, so those with marks of their own come first.
pub const FORMATS: &[Format] = &[
    keystorm::FORMAT,
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
