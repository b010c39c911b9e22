//! Rules of protocols for commands, found by protocol name, for callers that are not generic over protocols.

use naming::{FAIL_ON_MISS, text};
use workload::{CommandSpec, PlanParts, ProtocolKind};

use crate::batch::digits_of;
use crate::memcache::{Binary, Text};
use crate::resp::Resp;
use crate::{Protocol, Silence};

/// Checks that every command of a plan can be encoded in its protocol.
///
/// # Errors
/// Returns the reason in words for a person if one cannot.
pub fn check(plan: &PlanParts) -> Result<(), naming::Text> {
    let check = match plan.protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => Resp::check,
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => Text::check,
        ProtocolKind::MemcacheBinary => Binary::check,
    };
    if plan.data.fail_on_miss
        && plan.protocol.is_memcache()
        && let Some(quiet) = plan.sequence.iter().find(|c| Text::silence(c) == Some(Silence::Miss))
    {
        return Err(text!(
            "{FAIL_ON_MISS}: a quiet {} that finds nothing has no reply; remove its flag q",
            quiet.name().to_lowercase()
        ));
    }
    plan.key_spaces().try_for_each(|(span, keys)| {
        let digits = digits_of(keys);
        plan.sequence[span].iter().try_for_each(|command| check(command, digits))?;
        Ok(())
    })
}

/// Encoded length of a command, with placeholders as text and varying parts left out.
pub fn encoded_len(protocol: ProtocolKind, command: &CommandSpec) -> u64 {
    let template = match protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => Resp::compile(command, None),
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => Text::compile(command, None),
        ProtocolKind::MemcacheBinary => Binary::compile(command, None),
    };
    template.bytes.len() as u64
}
