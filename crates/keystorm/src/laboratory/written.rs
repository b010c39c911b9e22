//! What a survey writes into a server that was given, and its removal.
//!
//! Owns the names: which keys and function libraries plans write, and which of them were there
//! before. Those are never removed, whatever becomes of the survey.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Result, bail};
use host::{Client, Transport};
use wire::cluster::{KeyPlace, known};
use wire::resp::Value;
use workload::{Arg, CommandSpec, Piece, Plan};

/// Keys that are asked for, or removed, by one command.
const AT_ONCE: usize = 1000;

/// Keys of one shape.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Family {
    before: Vec<u8>,
    /// How many numbers stand between the two, and their digits; none if the key has no number.
    numbers: Option<(u64, usize)>,
    after: Vec<u8>,
}

impl Family {
    /// The keys of an argument; `None` if they cannot be told from the plan.
    fn of(key: &Arg, plan: &Plan) -> Option<Self> {
        let mut family = Self { before: Vec::new(), numbers: None, after: Vec::new() };
        for piece in &key.pieces {
            match (piece, plan.keys.range) {
                (Piece::Number(_), Some(range)) if family.numbers.is_none() => {
                    family.numbers = Some((range.max(1), plan.keys.digits()));
                }
                (Piece::Bytes(bytes), _) if family.numbers.is_none() => {
                    family.before.extend_from_slice(bytes);
                }
                (Piece::Bytes(bytes), _) => family.after.extend_from_slice(bytes),
                (Piece::Number(slot), None) => {
                    family
                        .before
                        .extend_from_slice(workload::command::placeholder(*slot).as_bytes());
                }
                _ => return None,
            }
        }
        Some(family)
    }

    fn count(&self) -> u64 {
        self.numbers.map_or(1, |(count, _)| count)
    }

    fn key(&self, number: u64) -> Vec<u8> {
        let mut key = self.before.clone();
        if let Some((_, digits)) = self.numbers {
            key.extend_from_slice(format!("{number:0digits$}").as_bytes());
        }
        key.extend_from_slice(&self.after);
        key
    }

    /// For a person: the key, or the first and the last.
    fn told(&self) -> String {
        let key = |number| String::from_utf8_lossy(&self.key(number)).into_owned();
        match self.count() {
            1 => key(0),
            count => format!("{} to {}", key(0), key(count - 1)),
        }
    }
}

/// What plans write.
#[derive(Debug, Default)]
pub(super) struct Written {
    families: BTreeSet<Family>,
    libraries: BTreeSet<String>,
    /// What of it was there before.
    foreign: HashSet<Vec<u8>>,
    foreign_libraries: HashSet<String>,
}

impl Written {
    /// What these plans write.
    pub(super) fn by<'p>(plans: impl Iterator<Item = &'p Plan>) -> Self {
        let mut written = Self::default();
        for plan in plans {
            for command in plan.setup.iter().chain(&plan.sequence) {
                written.libraries.extend(library(command));
                let sub = command.args.get(1).and_then(|arg| arg.fixed_bytes());
                let sub = sub.map(|sub| String::from_utf8_lossy(&sub).into_owned());
                let routing = known(&command.name(), sub.as_deref());
                if let Some(KeyPlace::Arg(place)) = routing.map(|routing| routing.key)
                    && let Some(key) = command.args.get(place)
                {
                    written.families.extend(Family::of(key, plan));
                }
            }
        }
        // Keys with a smaller range are among those of the larger.
        let all = written.families.clone();
        written.families.retain(|family| {
            !all.iter().any(|other| {
                (&other.before, &other.after) == (&family.before, &family.after)
                    && other.numbers > family.numbers
                    && family.numbers.is_some()
            })
        });
        written
    }

    /// Asks which of it is there already.
    ///
    /// # Errors
    /// The server does not answer.
    pub(super) fn look(&mut self, client: &mut Client<Transport>) -> Result<()> {
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
        self.foreign = foreign;
        for library in &self.libraries {
            let words: [&[u8]; 4] = [b"FUNCTION", b"LIST", b"LIBRARYNAME", library.as_bytes()];
            // A server that knows no functions will not be given any.
            if let Value::Array(found) = client.ask(&words)?
                && !found.is_empty()
            {
                self.foreign_libraries.insert(library.clone());
            }
        }
        Ok(())
    }

    /// What will be written, in a sentence.
    pub(super) fn told(&self, place: &str, keep: bool) -> String {
        let keys: u64 = self.families.iter().map(Family::count).sum();
        let names: Vec<String> = self.families.iter().map(Family::told).collect();
        let end = match keep {
            true => "--keep leaves all of it there",
            false => "what was not there before is removed at the end (--keep leaves it)",
        };
        format!(
            "This writes up to {} keys into {place}: {}; {end}.",
            page::chart::grouped(keys as f64),
            names.join(", ")
        )
    }

    /// What will be changed that was there before, in a sentence; `None` if there is nothing.
    pub(super) fn overwritten(&self) -> Option<String> {
        let count = self.foreign.len() + self.foreign_libraries.len();
        let first = self.foreign.iter().min();
        let first = first.map(|key| String::from_utf8_lossy(key).into_owned());
        let first = first.or_else(|| self.foreign_libraries.iter().min().cloned())?;
        Some(format!(
            "{} of them are there already, such as {first}: the survey writes to them, takes from \
             lists and sets, and does not remove them; Ctrl-C now and --dbnum N takes another database",
            page::chart::grouped(count as f64)
        ))
    }

    /// Removes what was not there before.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub(super) fn remove(&self, client: &mut Client<Transport>) -> Result<u64> {
        let mut removed = 0;
        self.in_batches(|keys| {
            let own: Vec<Vec<u8>> =
                keys.iter().filter(|key| !self.foreign.contains(*key)).cloned().collect();
            if own.is_empty() {
                return Ok(());
            }
            let reply = match ask(client, b"UNLINK", &own)? {
                // Servers before Redis 4, and users who may not.
                Value::Error(_) => ask(client, b"DEL", &own)?,
                reply => reply,
            };
            removed += number(&reply)?;
            Ok(())
        })?;
        for library in self.libraries.difference(&self.foreign_libraries.iter().cloned().collect())
        {
            // It is there only if the chapter that loads it was reached.
            client.ask(&[b"FUNCTION", b"DELETE", library.as_bytes()])?;
        }
        Ok(removed)
    }

    fn in_batches(&self, mut each: impl FnMut(&[Vec<u8>]) -> Result<()>) -> Result<()> {
        for family in &self.families {
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
        _ => bail!("an answer that is no number"),
    }
}
