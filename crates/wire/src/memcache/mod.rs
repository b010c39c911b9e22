//! memcached: its text protocol with the meta commands, and its binary protocol.
//! <https://docs.memcached.org/protocols/>
//!
//! Classic and meta commands are lines on the same connection and may alternate, so one type serves both; the
//! plan chooses. Commands are memcached's own words, as people type them, without the count of bytes:
//! [`words`] knows the positions of key and data.

mod binary;
mod fault;
mod quiet;
mod ring;
pub mod stats;
mod text;
mod words;

pub use binary::{Binary, BinaryDecoder};
pub use quiet::number_quiet;
pub use ring::Ring;
pub use text::{Text, TextDecoder};

/// Longest key that a server takes, in bytes.
pub const KEY_MAX: usize = 250;

/// Maximum number of bytes of an error's text that are returned.
const ERROR_KEPT: usize = 1024;
