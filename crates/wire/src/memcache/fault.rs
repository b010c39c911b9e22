//! Errors for bytes that are not a memcached reply.

use naming::advice::{ADD_TLS, MEMCACHE_BINARY, SPEAK_RESP};

use crate::ProtocolError;

/// Name of the protocols in errors.
pub(super) const TEXT: &str = "memcached's text protocol";
pub(super) const BINARY: &str = "memcached's binary protocol";

/// An error about the bytes at the start of `input`.
#[cold]
pub(super) fn fault(
    protocol: &'static str,
    why: impl Into<Box<str>>,
    input: &[u8],
) -> ProtocolError {
    ProtocolError::new(protocol, why, input)
}

/// The error for a first byte that begins no reply; most likely the server speaks another protocol.
#[cold]
pub(super) fn stranger(protocol: &'static str, input: &[u8]) -> ProtocolError {
    let why = match input.first() {
        Some(b'+' | b'-' | b':' | b'$' | b'*') => format!("this server speaks RESP; {SPEAK_RESP}"),
        Some(0x81) => format!("this server speaks the binary protocol; use {MEMCACHE_BINARY}"),
        Some(0x15 | 0x16) => format!("it requires TLS: {ADD_TLS}"),
        _ => "a reply cannot begin like this".to_owned(),
    };
    fault(protocol, why, input)
}
