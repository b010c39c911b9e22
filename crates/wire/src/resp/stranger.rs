//! Errors for bytes that begin no RESP reply, with the likely sender.

use naming::advice::{ADD_TLS, ADDRESS, MEMCACHE_TEXT};
use naming::{Text, text};

use super::NAME;
use crate::ProtocolError;

/// The error for bytes that begin no reply.
#[cold]
pub(super) fn stranger(input: &[u8]) -> ProtocolError {
    let why = speaker(input).unwrap_or_else(|| "no reply type begins like this".into());
    ProtocolError::new(NAME, why.to_string(), input)
}

/// Returns the likely sender of bytes that are not RESP, and the remedy, if known.
pub fn speaker(bytes: &[u8]) -> Option<Text> {
    Some(match bytes {
        // A TLS alert record: <https://www.rfc-editor.org/rfc/rfc8446#section-5.1>
        [0x15, 0x03, ..] => text!("it requires TLS: {ADD_TLS}"),
        [b'E', b'R', b'R', b'O', b'R', ..] | [b'C', b'L', b'I', b'E', b'N', b'T', b'_', ..] => {
            text!("this may be memcached: use {MEMCACHE_TEXT}")
        }
        // The settings that an HTTP/2 server begins with: <https://www.rfc-editor.org/rfc/rfc9113#section-6.5>
        [0, 0, _, 4, 0, ..] => {
            text!(
                "it speaks HTTP/2; the head node of a Ray cluster does, also on port 6379 by default; check {ADDRESS}"
            )
        }
        [b'H', b'T', b'T', b'P', ..] => text!("it is a web server; check {ADDRESS}"),
        [b'S', b'S', b'H', ..] => text!("it is an SSH server; check {ADDRESS}"),
        _ => return None,
    })
}
