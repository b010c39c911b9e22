//! Lines: classic commands, and the meta commands beside them.

mod decode;
#[cfg(test)]
mod decode_tests;
mod encode;

use std::ops::Range;

use workload::CommandSpec;

use super::{quiet, words};
use crate::{Protocol, Silence, Split, Template};

pub use decode::TextDecoder;

/// memcached's text protocol as a [`Protocol`], classic and meta.
#[derive(Debug, Clone, Copy)]
pub struct Text;

impl Protocol for Text {
    type Decoder = TextDecoder;

    fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
        encode::compile(command, digits)
    }

    fn check(command: &CommandSpec, digits: Option<usize>) -> Result<(), String> {
        encode::check(command, digits)
    }

    const QUIET: bool = true;
    const RINGS: bool = true;

    fn silence(command: &CommandSpec) -> Option<Silence> {
        quiet::silence(command)
    }

    fn keys_asked(command: &CommandSpec) -> u32 {
        let asked = words::reads(&words::name(command)).then(|| words::keys(command).len());
        asked.unwrap_or(0) as u32
    }

    fn keys(command: &CommandSpec) -> Range<usize> {
        words::key_places(command)
    }

    fn split(command: &CommandSpec, digits: Option<usize>) -> Option<Split> {
        Some(encode::split(command, digits))
    }

    const SHOWS: bool = true;

    /// Returns whether the next replies are uncertain after this error. A server that refuses the line of a
    /// storage command reads its data as commands, and one that refuses a key of a retrieval drops replies
    /// that it owes. A value that is too large or finds no memory is swallowed, and later replies are fine.
    fn is_refusal(error: &[u8]) -> bool {
        error.starts_with(b"ERROR Too many open connections")
    }

    fn is_last_words(command: &CommandSpec, error: &[u8], alone: bool) -> bool {
        let name = words::name(command);
        if error.starts_with(b"SERVER_ERROR") {
            return words::reads(&name) && !alone;
        }
        let refused = error.starts_with(b"ERROR") || error.starts_with(b"CLIENT_ERROR");
        refused && (words::storage(command).is_some() || words::reads(&name) && !alone)
    }
}
