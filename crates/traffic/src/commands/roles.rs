//! Roles of a command's arguments: names, stored values, and arguments that may be kept.

use super::{Command, keys_of};
use crate::{Event, Protocol};

/// Role of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The command's name.
    Name,
    /// A key, or the name of a channel.
    Key,
    /// A field of a hash, or a member of a set.
    Member,
    /// A value, which is stored and never looked up.
    Value,
    /// An option, number, script or other argument.
    Other,
}

/// Writes the role of each argument of an event to `out`; `keys` is a buffer.
pub fn roles(protocol: Protocol, event: &Event, keys: &mut Vec<usize>, out: &mut Vec<Role>) {
    keys_of(protocol, event, keys);
    out.clear();
    out.resize(event.len(), Role::Other);
    if let Some(name) = out.first_mut() {
        *name = Role::Name;
    }
    keys.iter().for_each(|at| out[*at] = Role::Key);
    let values = match (protocol, event.name()) {
        (Protocol::Memcache, b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas") => "v",
        (Protocol::Memcache, _) => "",
        (Protocol::Resp, _) => Command::for_event(event).values,
    };
    match values {
        "" => {}
        "set" => {
            in_turn("v", out);
            compared(event, out);
        }
        "compared" => compared(event, out),
        "entry" => from(entry_id(event) + 1, &[Role::Member, Role::Value], out),
        "scored" => from(behind_options(event), &[Role::Other, Role::Member], out),
        "placed" => from(behind_options(event), &[Role::Other, Role::Other, Role::Member], out),
        "fields" => from(behind_fields(event), &[Role::Member, Role::Value], out),
        "names" => from(behind_fields(event), &[Role::Member], out),
        kinds => in_turn(kinds, out),
    }
}

/// Assigns kinds to the arguments other than keys, one after another; kinds before a `+` repeat.
fn in_turn(kinds: &str, out: &mut [Role]) {
    let (kinds, repeats) = match kinds.strip_suffix('+') {
        Some(kinds) => (kinds.as_bytes(), true),
        None => (kinds.as_bytes(), false),
    };
    let others = out.iter_mut().filter(|role| **role == Role::Other);
    for (number, role) in others.enumerate() {
        let kind = if repeats { kinds.get(number % kinds.len()) } else { kinds.get(number) };
        match kind {
            Some(b'v') => *role = Role::Value,
            Some(b'f') => *role = Role::Member,
            _ => {}
        }
    }
}

/// These roles again and again, from an argument on.
fn from(first: usize, roles: &[Role], out: &mut [Role]) {
    let places = out.iter_mut().skip(first);
    places.zip(roles.iter().cycle()).for_each(|(place, role)| *place = *role);
}

/// Assigns the role of a value that the stored one is compared with.
fn compared(event: &Event, out: &mut [Role]) {
    for at in 2..out.len().saturating_sub(1) {
        let is_open = out[at] == Role::Other && out[at + 1] == Role::Other;
        if is_open && event.is_one_of(at, &["IFEQ", "IFNE", "IFDEQ", "IFDNE"]) {
            out[at + 1] = Role::Value;
        }
    }
}

/// Returns the index of the entry number in `XADD`, after the options.
pub fn entry_id(event: &Event) -> usize {
    let mut at = 2;
    loop {
        at += match () {
            () if event.is_one_of(at, &["NOMKSTREAM", "KEEPREF", "DELREF", "ACKED"]) => 1,
            () if event.is_one_of(at, &["LIMIT", "IDMPAUTO"]) => 2,
            () if event.is_one_of(at, &["IDMP"]) => 3,
            () if event.is_one_of(at, &["MAXLEN", "MINID"]) => {
                if event.is_one_of(at + 1, &["=", "~"]) { 3 } else { 2 }
            }
            () => return at,
        }
    }
}

/// Returns the index of the first score or position of a member.
fn behind_options(event: &Event) -> usize {
    (2..event.len())
        .find(|at| !event.is_one_of(*at, &["NX", "XX", "GT", "LT", "CH", "INCR"]))
        .unwrap_or(event.len())
}

/// Returns the index of the first field after the word `FIELDS` and their number.
fn behind_fields(event: &Event) -> usize {
    let word = (2..event.len()).find(|at| event.is_one_of(*at, &["FIELDS"]));
    word.map_or(event.len(), |word| word + 2)
}
