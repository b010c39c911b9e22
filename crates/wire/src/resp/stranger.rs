//! Bytes that no reply of RESP begins with: who may be speaking.

use super::NAME;
use crate::ProtocolError;

/// An error about bytes that no reply begins with.
#[cold]
pub(super) fn stranger(input: &[u8]) -> ProtocolError {
    ProtocolError::new(NAME, speaker(input).unwrap_or("no reply type begins like this"), input)
}

/// Returns what sends bytes that are not RESP, and what to do about it, if that is known.
#[must_use]
pub fn speaker(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        // A TLS alert record: <https://www.rfc-editor.org/rfc/rfc8446#section-5.1>
        [0x15, 0x03, ..] => "it requires TLS: add --tls",
        [b'E', b'R', b'R', b'O', b'R', ..] | [b'C', b'L', b'I', b'E', b'N', b'T', b'_', ..] => {
            "this may be memcached: use --protocol memcache"
        }
        // The settings that an HTTP/2 server begins with: <https://www.rfc-editor.org/rfc/rfc9113#section-6.5>
        [0, 0, _, 4, 0, ..] => {
            "it speaks HTTP/2; the head node of a Ray cluster does, also on port 6379 by \
             default; check -h and -p"
        }
        [b'H', b'T', b'T', b'P', ..] => "it is a web server; check -h and -p",
        [b'S', b'S', b'H', ..] => "it is an SSH server; check -h and -p",
        _ => return None,
    })
}
