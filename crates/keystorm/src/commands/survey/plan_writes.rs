//! Data that a survey writes into a given server, and its removal.
//!
//! Owns the keys and function libraries that plans write, their size, and which of them existed before. Those
//! are never removed, however the survey ends.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Result, bail};
use host::{Client, Transport};
use wire::cluster::{KeyPlace, known, slot_of};
use wire::resp::Value;
use workload::{Arg, CommandSpec, DerivedText, Piece, Plan};

use super::families::Family;

/// Number of keys per command that looks for or removes keys.
const AT_ONCE: usize = 1000;

/// Bytes that a server needs for a key in addition to its name and value, measured for short keys of Redis 7.
const OVERHEAD_BYTES: u64 = 70;
/// Commands whose keys grow with every request, at the speed of the server.
const GROWING: [&str; 5] = ["LPUSH", "RPUSH", "SADD", "ZADD", "XADD"];

/// Keys and libraries that plans write.
#[derive(Debug, Default)]
pub(super) struct PlanWrites {
    /// Keys, with the total bytes of their values.
    families: BTreeMap<Family, u64>,
    /// Set if some of them grow as long as they are written to.
    grows: bool,
    libraries: BTreeSet<String>,
    /// Keys among them that existed before.
    foreign: HashSet<Vec<u8>>,
    foreign_libraries: HashSet<String>,
}

impl PlanWrites {
    /// Collects the data that these plans write.
    pub(super) fn by<'p>(plans: impl Iterator<Item = &'p Plan>) -> Self {
        let mut written = Self::default();
        for plan in plans {
            let filled = plan.filled_by().parts.into_iter().flat_map(|fill| fill.sequence);
            // As many elements as are taken away again.
            written.grows |=
                filled.into_iter().any(|command| GROWING.contains(&command.name().as_str()));
            for command in plan.setup.iter().chain(&plan.sequence) {
                written.libraries.extend(library(command));
                let sub = command.args.get(1).and_then(|arg| arg.fixed_bytes());
                let sub = sub.map(|sub| String::from_utf8_lossy(&sub).into_owned());
                let routing = known(&command.name(), sub.as_deref());
                if let Some(KeyPlace::Arg(place)) = routing.map(|routing| routing.key)
                    && let Some(key) = command.args.get(place)
                    && let Some(family) = Family::from_key(key, plan)
                {
                    let grows = GROWING.contains(&command.name().as_str());
                    written.grows |= grows;
                    let value = if grows { 0 } else { value_bytes(command, place, plan) };
                    let largest = written.families.entry(family).or_default();
                    *largest = value.max(*largest);
                }
            }
        }
        written.join();
        written
    }

    /// Merges keys with a smaller range into the larger range that contains them.
    fn join(&mut self) {
        let all = std::mem::take(&mut self.families);
        for (family, value) in &all {
            let covering = all.keys().filter(|other| other.covers(family));
            let whole = covering.max_by_key(|other| other.count()).unwrap_or(family);
            // So many of the larger have such values, where not all of them do.
            let values = self.families.entry(whole.clone()).or_default();
            *values = values.saturating_add(family.count().saturating_mul(*value));
        }
    }

    /// Finds out which of the data exists already.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub(super) fn look(&mut self, holders: &mut Holders) -> Result<()> {
        self.foreign = match holders {
            Holders::One(client) => self.present(client)?,
            Holders::Masters(clients) => {
                let mut found = HashSet::new();
                for client in clients {
                    found.extend(self.scanned(client)?);
                }
                found
            }
        };
        for client in holders.clients() {
            for library in &self.libraries {
                let words: [&[u8]; 4] = [b"FUNCTION", b"LIST", b"LIBRARYNAME", library.as_bytes()];
                // A server that knows no functions will not be given any.
                if let Value::Array(found) = client.ask(&words)?
                    && !found.is_empty()
                {
                    self.foreign_libraries.insert(library.clone());
                }
            }
        }
        Ok(())
    }

    /// The keys that exist on one server, by asking for each.
    fn present(&self, client: &mut Client<Transport>) -> Result<HashSet<Vec<u8>>> {
        let mut foreign = HashSet::new();
        self.in_batches(|keys| {
            // Most often there is none, which one answer for all says.
            if number(&ask(client, b"EXISTS", keys)?)? > 0 {
                for key in keys {
                    if number(&ask(client, b"EXISTS", std::slice::from_ref(key))?)? > 0 {
                        foreign.insert(key.clone());
                    }
                }
            }
            Ok(())
        })?;
        Ok(foreign)
    }

    /// The keys that exist on a master of a cluster, by a scan: with tags there are too many names to ask for
    /// each.
    fn scanned(&self, client: &mut Client<Transport>) -> Result<Vec<Vec<u8>>> {
        let (mut found, mut cursor) = (Vec::new(), b"0".to_vec());
        loop {
            let count = AT_ONCE.to_string();
            let (next, keys) = match client.ask(&[b"SCAN", &cursor, b"COUNT", count.as_bytes()])? {
                Value::Array(page) => match <[Value; 2]>::try_from(page) {
                    Ok([Value::Bulk(next), Value::Array(keys)]) => (next, keys),
                    _ => bail!("the reply to SCAN is not a page of keys"),
                },
                Value::Error(text) => bail!("{}", String::from_utf8_lossy(&text)),
                _ => bail!("the reply to SCAN is not a page of keys"),
            };
            found.extend(keys.into_iter().filter_map(|key| match key {
                Value::Bulk(key) => Some(key).filter(|key| self.is_written(key)),
                _ => None,
            }));
            if next == b"0" {
                return Ok(found);
            }
            cursor = next;
        }
    }

    fn is_written(&self, key: &[u8]) -> bool {
        self.families.keys().any(|family| family.matches(key))
    }

    /// Describes in a sentence what will be written.
    pub(super) fn describe(&self, place: &str, keep: bool) -> String {
        let keys: u64 = self.families.keys().map(Family::count).sum();
        let bytes = self.families.iter().map(|(family, values)| {
            let key_bytes = family.key(0).len() as u64 + OVERHEAD_BYTES;
            family.count().saturating_mul(key_bytes).saturating_add(*values)
        });
        let mb = bytes.fold(0, u64::saturating_add).div_ceil(1_000_000);
        let names: Vec<String> = self.families.keys().map(Family::describe).collect();
        let tags = if self.families.keys().any(Family::has_tags) {
            ", and more where {tag} differs"
        } else {
            ""
        };
        let growth = if self.grows { ", and more as lists, sets and streams grow" } else { "" };
        let end = if keep {
            "--keep leaves all of them there"
        } else {
            "keys that did not exist before are removed at the end (--keep leaves them)"
        };
        format!(
            "This writes up to {} keys, about {} MB, to {place}{tags}{growth}: {}; {end}.",
            report::grouped(keys as f64),
            report::grouped(mb as f64),
            names.join(", ")
        )
    }

    /// Describes in a sentence which existing data will be changed; `None` if there is none.
    pub(super) fn overwritten(&self) -> Option<String> {
        let count = self.foreign.len() + self.foreign_libraries.len();
        let first = self.foreign.iter().min();
        let first = first.map(|key| String::from_utf8_lossy(key).into_owned());
        let first = first.or_else(|| self.foreign_libraries.iter().min().cloned())?;
        Some(format!(
            "{} of them already {}, such as {first}: the survey writes to them, pops from lists \
             and sets, and does not remove them; to use another database, press Ctrl-C and add \
             --dbnum N",
            report::grouped(count as f64),
            if count == 1 { "exists" } else { "exist" }
        ))
    }

    /// Removes what did not exist before.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or refuses.
    pub(super) fn remove(&self, holders: &mut Holders) -> Result<u64> {
        let removed = match holders {
            Holders::One(client) => {
                let mut removed = 0;
                self.in_batches(|keys| {
                    removed += self.unlink(client, keys)?;
                    Ok(())
                })?;
                removed
            }
            Holders::Masters(clients) => {
                let mut removed = 0;
                for client in clients {
                    // One command of a cluster has keys of one slot.
                    let mut by_slot: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
                    for key in self.scanned(client)? {
                        by_slot.entry(slot_of(&key)).or_default().push(key);
                    }
                    for keys in by_slot.values().flat_map(|keys| keys.chunks(AT_ONCE)) {
                        removed += self.unlink(client, keys)?;
                    }
                }
                removed
            }
        };
        for client in holders.clients() {
            for library in &self.libraries {
                if !self.foreign_libraries.contains(library) {
                    // It is there only if the chapter that loads it was reached.
                    client.ask(&[b"FUNCTION", b"DELETE", library.as_bytes()])?;
                }
            }
        }
        Ok(removed)
    }

    /// Removes those of `keys` that did not exist before.
    fn unlink(&self, client: &mut Client<Transport>, keys: &[Vec<u8>]) -> Result<u64> {
        let own: Vec<Vec<u8>> =
            keys.iter().filter(|key| !self.foreign.contains(*key)).cloned().collect();
        if own.is_empty() {
            return Ok(0);
        }
        let reply = match ask(client, b"UNLINK", &own)? {
            // Servers before Redis 4, and users who may not.
            Value::Error(_) => ask(client, b"DEL", &own)?,
            reply => reply,
        };
        number(&reply)
    }

    fn in_batches(&self, mut each: impl FnMut(&[Vec<u8>]) -> Result<()>) -> Result<()> {
        for family in self.families.keys() {
            let mut next = 0;
            while next < family.count() {
                let end = family.count().min(next + AT_ONCE as u64);
                let keys: Vec<Vec<u8>> = (next..end).map(|number| family.key(number)).collect();
                each(&keys)?;
                next = end;
            }
        }
        Ok(())
    }
}

/// Servers that have the keys.
pub(super) enum Holders {
    /// Server alone.
    One(Box<Client<Transport>>),
    /// The masters of a cluster.
    Masters(Vec<Client<Transport>>),
}

impl Holders {
    fn clients(&mut self) -> &mut [Client<Transport>] {
        match self {
            Self::One(client) => std::slice::from_mut(client),
            Self::Masters(clients) => clients,
        }
    }
}

/// The bytes of a command after its key.
fn value_bytes(command: &CommandSpec, key: usize, plan: &Plan) -> u64 {
    let pieces = command.args.iter().skip(key + 1).flat_map(|arg| &arg.pieces);
    let bytes = pieces.map(|piece| match piece {
        Piece::Bytes(bytes) => bytes.len() as u64,
        Piece::Number(_) => plan.data.keys.digits() as u64,
        Piece::Fill { len, .. } => u64::from(*len),
        Piece::Value | Piece::Lifetime(_) | Piece::Reply { .. } => plan.data.payload_bytes,
        Piece::Derived(DerivedText::Checked { len, .. }) => u64::from(*len),
        Piece::Derived(_) => plan.data.keys.digits() as u64,
        Piece::Secret(_) | Piece::Field(_) | Piece::Tag | Piece::Cas => 0,
        Piece::Message | Piece::MessageNumber => piece.message_bytes() as u64,
    });
    bytes.sum()
}

/// The name of the library that a command loads.
fn library(command: &CommandSpec) -> Option<String> {
    let [name, sub, .., script] = &command.args[..] else { return None };
    let is = |arg: &Arg, word: &[u8]| {
        arg.fixed_bytes().is_some_and(|bytes| bytes.eq_ignore_ascii_case(word))
    };
    if !is(name, b"FUNCTION") || !is(sub, b"LOAD") {
        return None;
    }
    let script = script.fixed_bytes()?;
    let script = String::from_utf8_lossy(&script);
    let first = script.lines().next()?;
    first.split_whitespace().find_map(|word| word.strip_prefix("name=")).map(str::to_owned)
}

fn ask(client: &mut Client<Transport>, command: &[u8], keys: &[Vec<u8>]) -> Result<Value> {
    let words: Vec<&[u8]> =
        std::iter::once(command).chain(keys.iter().map(Vec::as_slice)).collect();
    Ok(client.ask(&words)?)
}

fn number(reply: &Value) -> Result<u64> {
    match reply {
        Value::Integer(n) => Ok(n.unsigned_abs()),
        Value::Error(text) => bail!("{}", String::from_utf8_lossy(text)),
        _ => bail!("the reply is not a number"),
    }
}
