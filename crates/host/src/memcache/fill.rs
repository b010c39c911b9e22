//! Filling a server before a test: a command for each key of a range, or once if it names no key by
//! number.

use wire::memcache::{Binary, Text};
use wire::{Protocol, Template};
use workload::{CommandSpec, KeySpace, ProtocolKind};

use super::{Dialect, MemcacheClient};

/// Requests that are sent before their replies are read.
const AT_ONCE: u64 = 256;

/// Sends a command once for each key, with the key's number in the place of every placeholder; once in
/// all if it has none.
///
/// # Errors
/// The server refuses it or does not answer, in words for a person.
pub fn fill(
    client: &mut MemcacheClient,
    protocol: ProtocolKind,
    command: &CommandSpec,
    keys: &KeySpace,
) -> Result<(), String> {
    let digits = keys.range.map(|_| keys.digits());
    let template = match Dialect::of(protocol) {
        Dialect::Text => Text::compile(command, digits),
        Dialect::Binary => Binary::compile(command, digits),
    };
    let Template { mut bytes, holes, .. } = template;
    let count = keys.range.filter(|_| !holes.is_empty()).unwrap_or(1);
    let mut first = 0;
    while first < count {
        let end = count.min(first + AT_ONCE);
        let mut request = Vec::new();
        for number in first..end {
            for hole in &holes {
                let digits = format!("{number:0width$}", width = hole.digits);
                bytes[hole.at..hole.at + hole.digits].copy_from_slice(digits.as_bytes());
            }
            request.extend_from_slice(&bytes);
        }
        let sent = client.send(&command.name().to_lowercase(), &request, (end - first) as usize);
        sent.map_err(|error| error.to_string())??;
        first = end;
    }
    Ok(())
}
