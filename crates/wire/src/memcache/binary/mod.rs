//! The binary protocol: a header of 24 bytes, extras, key and value.
//!
//! memcached has deprecated it; it is here for comparing clients that still speak it.
//! <https://docs.memcached.org/protocols/binary/>

mod decode;
#[cfg(test)]
mod decode_tests;
mod encode;
mod header;

use std::ops::Range;

use workload::CommandSpec;

use super::words;
use crate::{Protocol, Template};

pub use decode::BinaryDecoder;
pub(super) use header::Header;

/// memcached's binary protocol as a [`Protocol`].
#[derive(Debug, Clone, Copy)]
pub struct Binary;

impl Protocol for Binary {
    type Decoder = BinaryDecoder;
    const RINGS: bool = true;

    fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
        encode::compile(command, digits)
    }

    fn check(command: &CommandSpec, digits: Option<usize>) -> Result<(), String> {
        encode::check(command, digits)
    }

    const SHOWS: bool = true;

    fn keys(command: &CommandSpec) -> Range<usize> {
        words::key_places(command)
    }

    fn keys_asked(command: &CommandSpec) -> u32 {
        u32::from(words::reads(&words::name(command)))
    }
}
