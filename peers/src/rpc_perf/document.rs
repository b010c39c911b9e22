//! A file as serde reads it: places in it by the names that errors have for them, and keys that no schema has.

use std::fmt::Display;
use std::ops::Range;

use cli::workload_file::Source;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use spec::document::{expected, quoted};
use toml::Spanned;
use toml::de::{self, DeString, DeTable, DeValue};

use super::fault::Fault;

/// A file, parsed.
pub(super) struct Document<'s> {
    source: &'s Source,
    table: Spanned<DeTable<'s>>,
    places: Vec<Place>,
}

/// A value in a file.
struct Place {
    /// Name in errors, such as `[client]`, `[client] poolsize` and `keyspace 1 command 2 verb`.
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl<'s> Document<'s> {
    /// Parses a file.
    ///
    /// # Errors
    /// Returns the place and the reason if it is not TOML.
    pub(super) fn parse(source: &'s Source) -> Result<Self, Fault> {
        let table = DeTable::parse(&source.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Fault::File(source.fault(at, error.message()))
        })?;
        let mut places = vec![Place { name: String::new(), key: 0..0, value: table.span() }];
        list(&mut places, table.get_ref(), "");
        Ok(Self { source, table, places })
    }

    /// Reads it, and returns remarks about keys that are unknown, except those of the list `silent`, by name or key.
    ///
    /// # Errors
    /// Returns the place and the reason if it is none of that schema.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        silent: &str,
    ) -> Result<(T, Vec<String>), Fault> {
        let (mut table, mut remarks) = (self.table.clone(), Vec::new());
        loop {
            let error = match T::deserialize(de::Deserializer::from(table.clone())) {
                Ok(read) => return Ok((read, remarks)),
                Err(error) => error,
            };
            let (span, message) = (error.span().unwrap_or_default(), error.message());
            let (at, name) = (span.start, self.name_of(&span));
            let is_unknown = message.starts_with("unknown field ");
            if !is_unknown || !remove(table.get_mut(), at) {
                return Err(Fault::File(self.message(at, name, described(name, message))));
            }
            let (_, key) = name.rsplit_once(' ').unwrap_or_default();
            if !silent.split(", ").any(|known| known == name || known == key) {
                remarks.push(self.message(at, &format!("WARNING: {name}"), "unknown key"));
            }
        }
    }

    /// Makes values of a key that are no tables the only value of one, under the key `inner`.
    pub(super) fn wrap(&mut self, key: &str, inner: &'static str) {
        wrap(self.table.get_mut(), key, inner);
    }

    /// Returns whether a place is in the file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.iter().any(|place| place.name == name)
    }

    /// A string as it is written between its quotes.
    pub(super) fn text(&self, name: &str) -> Option<&'s str> {
        let place = self.places.iter().find(|place| place.name == name)?;
        Some(self.source.text.get(place.value.clone())?.trim_matches(['"', '\'']))
    }

    /// Returns the fault of a place that is none of the schema.
    pub(super) fn broken(&self, name: &str, why: impl Display) -> Fault {
        Fault::File(self.message(self.position(name), name, why))
    }

    /// Returns the fault of a place that makes no sense, or is not carried out.
    pub(super) fn refused(&self, name: &str, why: impl Display) -> Fault {
        Fault::Usage(self.message(self.position(name), name, why))
    }

    fn message(&self, at: usize, name: &str, why: impl Display) -> String {
        let gap = if name.is_empty() { "" } else { ": " };
        self.source.fault(at, format!("{name}{gap}{why}"))
    }

    /// Position of a value; of its table where it is not set.
    fn position(&self, name: &str) -> usize {
        let table = name.rsplit_once(' ').map_or("", |(table, _)| table);
        let of = |name: &str| self.places.iter().find(|place| place.name == name);
        of(name).or_else(|| of(table)).map_or(0, |place| place.value.start)
    }

    /// Name of what stands at a span: a value, or else the innermost around it.
    fn name_of(&self, span: &Range<usize>) -> &str {
        let around = |at: &Range<usize>| at == span || at.contains(&span.start);
        let here = self.places.iter().filter(|place| around(&place.value) || around(&place.key));
        let of = here.min_by_key(|place| (place.value != *span, place.value.len()));
        of.map_or("", |place| &place.name)
    }
}

/// Lists values of a table, and of those within it.
fn list(places: &mut Vec<Place>, table: &DeTable<'_>, within: &str) {
    let mut add = |name: &str, key: Range<usize>, value: Range<usize>| {
        places.push(Place { name: name.trim_start().to_owned(), key, value });
    };
    let section = within.trim_matches(['[', ']']);
    let mut inner: Vec<(String, &DeTable<'_>)> = Vec::new();
    for (key, value) in table {
        let (span, key) = (key.span(), key.get_ref());
        match value.get_ref() {
            DeValue::Table(table) => {
                let dot = if section.is_empty() { "" } else { "." };
                let name = format!("[{section}{dot}{key}]");
                add(&name, span, value.span());
                inner.push((name, table));
            }
            DeValue::Array(items) => {
                let outer = if within.starts_with('[') { "" } else { within };
                for (n, item) in (1..).zip(items) {
                    let Some(table) = item.get_ref().as_table() else { continue };
                    let name = format!("{outer} {} {n}", key.trim_end_matches('s'));
                    add(&name, item.span(), item.span());
                    inner.push((name.trim_start().to_owned(), table));
                }
                // Behind them: an array of tables begins where its first does, which errors mean.
                add(&format!("{within} {key}"), span, value.span());
            }
            _ => add(&format!("{within} {key}"), span, value.span()),
        }
    }
    for (name, table) in inner {
        list(places, table, &name);
    }
}

/// A message of serde's about a place.
fn described(name: &str, message: &str) -> String {
    match (expected(message), &quoted(message)[..]) {
        (Some(what), _) => format!("must be {what}"),
        (None, [section]) if message.starts_with("missing field ") && name.is_empty() => {
            format!("[{section}] is missing")
        }
        (None, [key]) if message.starts_with("missing field ") => format!("{key} is missing"),
        (None, [found, known @ ..]) if message.starts_with("unknown variant ") => {
            format!("{found:?} is none of {}", known.join(", "))
        }
        (None, _) if message.starts_with("invalid value: integer ") => "out of range".to_owned(),
        (None, _) => message.to_owned(),
    }
}

/// Tables that a value is or holds.
fn tables<'t, 'i>(value: &'t mut Spanned<DeValue<'i>>) -> Vec<&'t mut DeTable<'i>> {
    match value.get_mut() {
        DeValue::Table(table) => vec![table],
        DeValue::Array(items) => items.iter_mut().flat_map(tables).collect(),
        _ => Vec::new(),
    }
}

/// Removes the key at a position, and returns whether there was one.
fn remove(table: &mut DeTable<'_>, at: usize) -> bool {
    if let Some(key) = table.keys().find(|key| key.span().start == at).cloned() {
        return table.remove(&key).is_some();
    }
    table.iter_mut().flat_map(|(_, value)| tables(value)).any(|inner| remove(inner, at))
}

fn wrap(table: &mut DeTable<'_>, key: &str, inner: &'static str) {
    for (name, value) in table.iter_mut() {
        for table in tables(value) {
            wrap(table, key, inner);
        }
        if name.get_ref() == key && !value.get_ref().is_table() {
            let only = (Spanned::new(name.span(), DeString::Borrowed(inner)), value.clone());
            *value.get_mut() = DeValue::Table([only].into_iter().collect());
        }
    }
}

/// A truth value; one in quotes, as shipped files have it, is one too.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    let read = match Value::deserialize(from)? {
        Value::String(text) => text.parse().ok(),
        value => value.as_bool(),
    };
    read.map(Some).ok_or_else(|| D::Error::custom("must be true or false"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        client: BTreeMap<String, u32>,
        #[serde(default)]
        keyspace: Vec<Keyspace>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Keyspace {
        #[serde(default)]
        klen: u32,
        commands: Vec<BTreeMap<String, u32>>,
    }

    fn read(text: &str) -> (Result<Vec<String>, Fault>, u32) {
        let source = Source { name: "a.toml".to_owned(), text: text.to_owned(), is_preset: false };
        let read = Document::parse(&source).unwrap().read::<File>("[log], level");
        let klen = read.as_ref().map_or(0, |(file, _)| {
            file.keyspace.iter().map(|of| of.klen + of.commands.len() as u32).sum::<u32>()
                + file.client.len() as u32
        });
        (read.map(|(_, remarks)| remarks), klen)
    }

    #[test]
    fn a_fault_has_its_place_and_the_name_of_the_key() {
        for (text, message) in [
            ("[client]\nthreads = 'x'", "a.toml:2:11: [client] threads: must be a whole number"),
            ("[other]\n[client]\nthreads = -1", "a.toml:3:11: [client] threads: out of range"),
            ("[other]", "a.toml:1:1: [client] is missing"),
            ("client = 5", "a.toml:1:10: client: must be a table"),
            ("client = {}\nkeyspace = 5", "a.toml:2:12: keyspace: must be a list"),
            (
                "[client]\n[[keyspace]]\ncommands = []\n[[keyspace]]\n",
                "a.toml:4:1: keyspace 2: commands is missing",
            ),
            (
                "[client]\n[[keyspace]]\ncommands = [{ a = 1 }, { b = true }]",
                "a.toml:3:30: keyspace 1 command 2 b: must be a whole number",
            ),
        ] {
            assert_eq!(read(text).0, Err(Fault::File(message.to_owned())), "{text}");
        }
    }

    #[test]
    fn each_unknown_key_is_a_remark_and_the_rest_is_read() {
        let (remarks, klen) = read(
            "fast = true\n[client]\n[log]\nx = 1\n[other]\ny = 1\n[[keyspace]]\nlevel = 1\nklen = 7\n\
             commands = [{}]\nspeed = { klen = 9 }\n[[keyspace]]\nspeed = 1\ncommands = []\n",
        );
        let mut remarks = remarks.unwrap();
        remarks.sort();
        let expected = [
            "a.toml:11:1: WARNING: [keyspace 1.speed]: unknown key",
            "a.toml:13:1: WARNING: keyspace 2 speed: unknown key",
            "a.toml:1:1: WARNING: fast: unknown key",
            "a.toml:5:2: WARNING: [other]: unknown key",
        ];
        assert_eq!((&remarks[..], klen), (&expected.map(str::to_owned)[..], 8));
    }
}
