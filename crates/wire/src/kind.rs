//! From a protocol's name to what it says of commands, for whoever is no generic over it.

use workload::{CommandSpec, ProtocolKind};

use crate::Protocol;
use crate::memcache::{Binary, Text};
use crate::resp::Resp;

/// Whether a command can be written in a protocol, with numbers of so many digits.
///
/// # Errors
/// Why not, in words for the person who typed it.
pub fn check(
    protocol: ProtocolKind,
    command: &CommandSpec,
    digits: Option<usize>,
) -> Result<(), String> {
    match protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => Resp::check(command, digits),
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => Text::check(command, digits),
        ProtocolKind::MemcacheBinary => Binary::check(command, digits),
    }
}

/// Bytes of a command in a protocol, its placeholders as text and what varies left out.
#[must_use]
pub fn encoded_len(protocol: ProtocolKind, command: &CommandSpec) -> u64 {
    let template = match protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => Resp::compile(command, None),
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => Text::compile(command, None),
        ProtocolKind::MemcacheBinary => Binary::compile(command, None),
    };
    template.bytes.len() as u64
}
