//! Warnings about options that change nothing, or something other than they seem to. Only keystorm under its own name
//! prints them.

use naming::{KEY_RANGE, PIPELINE, PRECISION, SEQUENTIAL, SIZE, TTL};
use workload::{CommandSpec, PlanParts};

use crate::LoadSpec;
use crate::data::Size;
use crate::misspelled::misspelled;
use crate::values::Count;

/// Maximum number of digits that `--precision` has an effect with.
const PRECISION_MAX: i64 = 4;
/// Commands that write strings and have no lifetime for them.
const WITHOUT_LIFETIME: [&str; 2] = ["MSET", "MSETNX"];

/// The warnings about these plans.
pub(crate) fn notes(options: &LoadSpec, parts: &[PlanParts]) -> Vec<String> {
    if !options.dialect.minds_slips {
        return Vec::new();
    }
    let found =
        [precision(options), size(options), sequential(options, parts), ttl(options, parts)];
    let found = found.into_iter().chain([pipeline(options), placeholder(parts)]).flatten();
    found.map(|text| format!("{}: {text}", options.dialect.warning)).collect()
}

fn precision(options: &LoadSpec) -> Option<String> {
    let digits = options
        .recording
        .precision
        .map(|Count(digits)| digits)
        .filter(|digits| !(0..=PRECISION_MAX).contains(digits))?;
    let used = if digits < 0 { 3 } else { PRECISION_MAX };
    Some(format!("{PRECISION} {digits}: from 1 to {PRECISION_MAX} digits are kept; {used} are"))
}

fn size(options: &LoadSpec) -> Option<String> {
    let Some(Size::Nearest { asked, bytes }) = options.data.size else { return None };
    Some(format!("{SIZE} {asked}: a value has from 1 byte to 1 GiB; {bytes} are sent"))
}

fn pipeline(options: &LoadSpec) -> Option<String> {
    let asked = options.load.pipeline.map(|Count(asked)| asked).filter(|asked| *asked < 1)?;
    Some(format!("{PIPELINE} {asked}: a pipeline has at least 1 request; 1 is sent at a time"))
}

fn sequential(options: &LoadSpec, parts: &[PlanParts]) -> Option<String> {
    let ranged = parts.iter().any(|parts| parts.key_spaces().any(|(_, keys)| keys.range.is_some()));
    let is_vain = options.data.sequential && !ranged;
    is_vain.then(|| format!("{SEQUENTIAL} has no effect without {KEY_RANGE}, the number of keys"))
}

fn ttl(options: &LoadSpec, parts: &[PlanParts]) -> Option<String> {
    let lifetime = options.data.ttl?;
    // Commands of memcached that store a value always have a lifetime, which --ttl sets.
    if options.data.fill || parts.iter().any(|parts| parts.protocol.is_memcache()) {
        return None;
    }
    let commands = || parts.iter().flat_map(|parts| &parts.sequence);
    let takes = |command: &CommandSpec| command.name() == "SET";
    let typed = options.command.iter().any(|word| word.to_string_lossy().contains("__ttl__"));
    let lasting =
        commands().map(CommandSpec::name).find(|n| WITHOUT_LIFETIME.contains(&n.as_str()));
    match lasting {
        Some(name) => Some(format!(
            "{TTL} {lifetime}: {} has no lifetime, so the keys that it writes do not expire",
            name.to_lowercase()
        )),
        None if typed || options.data.workload.is_some() || commands().any(takes) => None,
        None => Some(format!(
            "{TTL} {lifetime} has no effect: no command is a SET, or has __ttl__ in it"
        )),
    }
}

fn placeholder(parts: &[PlanParts]) -> Option<String> {
    let args = parts.iter().flat_map(|parts| &parts.sequence).flat_map(|command| &command.args);
    let (typed, meant) = misspelled(args)?;
    Some(format!("{typed} is no placeholder, so it is sent as it stands; did you mean {meant}?"))
}
