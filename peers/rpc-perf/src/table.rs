//! Tables of a file: values are read by key with a type, and keys that were never read become remarks.

use std::cell::RefCell;
use std::fmt::Display;

use cli::workload_file::Source;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Fault;

/// A table of a file.
pub(super) struct Table<'v, 'i> {
    source: &'v Source,
    /// Name in errors, such as `[general]`.
    pub(super) name: String,
    /// Position at which it begins.
    at: usize,
    entries: &'v DeTable<'i>,
    asked: RefCell<Vec<String>>,
}

type Value<'v, 'i> = &'v Spanned<DeValue<'i>>;

impl<'v, 'i> Table<'v, 'i> {
    /// The whole of a file.
    pub(super) fn root(source: &'v Source, entries: &'v DeTable<'i>) -> Self {
        Self { source, name: String::new(), at: 0, entries, asked: RefCell::default() }
    }

    fn subtable(&self, name: String, value: Value<'v, 'i>) -> Option<Self> {
        let entries = value.get_ref().as_table()?;
        let (source, at) = (self.source, value.span().start);
        Some(Self { source, name, at, entries, asked: RefCell::default() })
    }

    fn value(&self, key: &str) -> Option<Value<'v, 'i>> {
        self.asked.borrow_mut().push(key.to_owned());
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Returns whether a key is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Position at which a key is set; where the table begins if it is not.
    fn place(&self, key: &str) -> usize {
        self.value(key).map_or(self.at, |value| value.span().start)
    }

    fn message(&self, key: &str, why: impl Display) -> String {
        let name = format!("{} {key}", self.name);
        match name.trim() {
            "" => self.source.fault(self.place(key), why),
            name => self.source.fault(self.place(key), format!("{name}: {why}")),
        }
    }

    /// Returns the fault of a key that is none of the schema.
    pub(super) fn broken(&self, key: &str, why: impl Display) -> Fault {
        Fault::File(self.message(key, why))
    }

    /// Returns the fault of a key that makes no sense, or is not carried out.
    pub(super) fn refused(&self, key: &str, why: impl Display) -> Fault {
        Fault::Usage(self.message(key, why))
    }

    /// A table in it.
    pub(super) fn table(&self, key: &str) -> Result<Option<Self>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let name = match self.name.trim_matches(['[', ']']) {
            "" => format!("[{key}]"),
            outer => format!("[{outer}.{key}]"),
        };
        self.subtable(name, value).map(Some).ok_or_else(|| self.broken(key, "must be a table"))
    }

    /// Tables in it; none where the key is not set. `name` is what errors call them.
    pub(super) fn tables(&self, key: &str, name: &str) -> Result<Vec<Self>, Fault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let fault = || self.broken(key, "must be a list of tables");
        let list = value.get_ref().as_array().ok_or_else(fault)?;
        let of = |(n, value)| self.subtable(format!("{name} {n}"), value).ok_or_else(fault);
        (1..).zip(list.iter()).map(of).collect()
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = value.get_ref().as_str().map(str::to_owned);
        text.map(Some).ok_or_else(|| self.broken(key, "must be a string"))
    }

    /// Texts.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let fault = || self.broken(key, "must be a list of strings");
        let list = value.get_ref().as_array().ok_or_else(fault)?;
        let text = |value: Value<'_, '_>| value.get_ref().as_str().map(str::to_owned);
        list.iter().map(|value| text(value).ok_or_else(fault)).collect::<Result<_, _>>().map(Some)
    }

    /// A whole number.
    pub(super) fn number<N: TryFrom<i64>>(&self, key: &str) -> Result<Option<N>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let read = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => return Err(self.broken(key, "must be a whole number")),
        };
        let number = read.and_then(|number| N::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.broken(key, "out of range"))
    }

    /// A number.
    pub(super) fn float(&self, key: &str) -> Result<Option<f64>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let read = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let number = read.filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| self.broken(key, "must be a number"))
    }

    /// A truth value; one in quotes, as shipped files have it, is one too.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let value = value.get_ref();
        let read = match value.as_str() {
            Some(text) => text.parse().ok(),
            None => value.as_bool(),
        };
        read.map(Some).ok_or_else(|| self.broken(key, "must be true or false"))
    }

    /// Returns a value that must be there.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, Fault> {
        value.ok_or_else(|| self.broken("", format!("{key} is missing")))
    }

    /// Remarks about keys that were never read.
    pub(super) fn unknown(&self) -> impl Iterator<Item = String> + '_ {
        let asked = self.asked.borrow().clone();
        let keys = self.entries.iter().map(|(key, _)| key);
        let unknown = keys.filter(move |key| !asked.iter().any(|name| name == key.get_ref()));
        unknown.map(|key| {
            let at = key.span().start;
            let why = format!("WARNING: {} {}: unknown key", self.name, key.get_ref());
            self.source.fault(at, why.replace("  ", " "))
        })
    }
}
