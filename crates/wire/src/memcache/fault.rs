//! Bytes that are no reply of memcached's.

use crate::ProtocolError;

/// Name of the protocols in errors.
pub(super) const TEXT: &str = "memcached's text protocol";
pub(super) const BINARY: &str = "memcached's binary protocol";

/// An error about the bytes at the start of `input`.
#[cold]
pub(super) fn fault(protocol: &'static str, why: &'static str, input: &[u8]) -> ProtocolError {
    ProtocolError::new(protocol, why, input)
}

/// The error for a first byte that begins no reply: most likely the server speaks something else.
#[cold]
pub(super) fn stranger(protocol: &'static str, input: &[u8]) -> ProtocolError {
    let why = match input.first() {
        Some(b'+' | b'-' | b':' | b'$' | b'*') => "this server speaks RESP; remove --protocol",
        Some(0x81) => "this server speaks the binary protocol; use --protocol memcache-binary",
        Some(0x15 | 0x16) => "it requires TLS: add --tls",
        _ => "a reply cannot begin like this",
    };
    fault(protocol, why, input)
}
