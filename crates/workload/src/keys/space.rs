//! A plan's keys: their number, distribution and parameters.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::groups::OneGroup;
use super::missing::{Hits, Missing};
use super::numbered::KeyNumbering;
use super::trace::Trace;
use super::{KEY_DRAWS, KeyDraw, Source};
use crate::parameters;
use crate::unmasked::is_unmasked;

/// Numbers that replace placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeySpace {
    /// Keys are `0..range`. `None` leaves placeholders as text, as `redis-benchmark` does without `-r`. A
    /// range of 0 means only key 0, as there.
    pub range: Option<u64>,
    /// The distribution.
    pub draw: KeyDist,
    /// Counting and writing of the keys' numbers.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub numbered: KeyNumbering,
    /// Set if all keys of a request are in the hash slot of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_slot: Option<OneGroup>,
}

impl KeySpace {
    /// Keys `0..range`, drawn so.
    pub fn new(range: Option<u64>, draw: KeyDist) -> Self {
        Self { range, draw, ..Self::default() }
    }

    /// Draws of these keys.
    pub fn draws(&self) -> Box<dyn KeyDraw> {
        self.draw.over(self.range.unwrap_or(0).max(1))
    }

    /// Source of its keys.
    pub fn source(&self) -> Source {
        self.draws().source()
    }

    /// Digits that hold every key: 12, or more for ranges beyond 10^12. 0 for unpadded numbers.
    pub fn digits(&self) -> usize {
        if self.numbered.bare {
            return 0;
        }
        let range = self.range.unwrap_or(0);
        let missing = if self.draw.hits.is_some() { range } else { 0 };
        let largest = range.saturating_add(missing).saturating_sub(1);
        let largest = largest.saturating_add(self.numbered.first);
        crate::argument::PLACEHOLDER_LEN.max(largest.max(1).ilog10() as usize + 1)
    }
}

/// A distribution as text: a name in [`KEY_DRAWS`], and parameters after a colon. After an `@` comes the
/// share of draws from the range, if not all; the others go to equally many keys beyond it, which are never
/// written.
///
/// Saved as that text. A loaded `file:` has no keys to send.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyDist {
    text: Cow<'static, str>,
    trace: Option<Arc<[u64]>>,
    hits: Option<Hits>,
}

impl KeyDist {
    /// Every key equally likely.
    pub const UNIFORM: Self = Self::named("uniform");
    /// All keys in order.
    pub const SEQUENTIAL: Self = Self::named("sequential");

    /// New keys, one after another.
    pub const INSERT: Self = Self::named("insert");

    const fn named(name: &'static str) -> Self {
        Self { text: Cow::Borrowed(name), trace: None, hits: None }
    }

    /// Text of the distribution.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Sets up draws from `0..range`; `range` is at least 1.
    ///
    /// # Panics
    /// Panics if the text was not checked by this program's table, which only a bug in keystorm can cause.
    pub fn over(&self, range: u64) -> Box<dyn KeyDraw> {
        let keys = match &self.trace {
            Some(keys) => Box::new(Trace::new(keys.clone(), range)),
            None => made(&self.text, range).expect("a distribution is read before it is one"),
        };
        match self.hits {
            Some(hits) => Box::new(Missing::new(keys, range, hits)),
            None => keys,
        }
    }

    /// Draws this share of the keys, from 0 to 1, from the range and the others from beyond it.
    ///
    /// # Errors
    /// Returns an error if the share is malformed.
    pub fn with_hits(self, share: &str) -> Result<Self, String> {
        Ok(Self { hits: Some(share.parse()?), ..self })
    }

    /// Returns whether some draws go to keys beyond the range.
    pub fn may_miss(&self) -> bool {
        self.hits.is_some()
    }

    /// The file of the keys, and the name of its column if one is given.
    pub fn file(&self) -> Option<(&str, Option<&str>)> {
        let source = self.text.strip_prefix("file:")?;
        Some(source.split_once('#').map_or((source, None), |(path, name)| (path, Some(name))))
    }

    /// Returns whether its file has not been read, so that it can be shown and compared, but not sent.
    pub fn is_description(&self) -> bool {
        self.file().is_some() && self.trace.is_none()
    }

    /// Adds the keys of its file.
    ///
    /// # Errors
    /// Returns an error if there are no keys.
    pub fn with_trace(self, keys: Vec<u64>) -> Result<Self, String> {
        if keys.is_empty() {
            return Err("the file has no keys".to_owned());
        }
        Ok(Self { trace: Some(keys.into()), ..self })
    }

    /// The least range that holds every key of the file.
    pub fn trace_range(&self) -> Option<u64> {
        self.trace.as_ref()?.iter().max().map(|largest| largest.saturating_add(1))
    }
}

fn made(text: &str, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    parameters::read("key distribution", KEY_DRAWS, text, |make, parameters| {
        make(parameters, range)
    })
}

impl FromStr for KeyDist {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A path may have the sign in it.
        let split = if text.starts_with("file:") { None } else { text.rsplit_once('@') };
        let (text, hits) = split.map_or((text, None), |(text, hits)| (text, Some(hits)));
        made(text, 1)?;
        let hits = hits.map(str::parse).transpose()?;
        Ok(Self { text: Cow::Owned(text.to_owned()), trace: None, hits })
    }
}

impl Default for KeyDist {
    fn default() -> Self {
        Self::UNIFORM
    }
}

/// Text of a distribution; written in full, with the keys of its file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KeyDistText<'a> {
    Text(Cow<'a, str>),
    InFull { text: Cow<'a, str>, keys: Cow<'a, [u64]> },
}

impl Serialize for KeyDist {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = Cow::Borrowed(&*self.text);
        match &self.trace {
            Some(keys) if is_unmasked() => {
                KeyDistText::InFull { text, keys: Cow::Borrowed(keys) }.serialize(serializer)
            }
            _ => KeyDistText::Text(text).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for KeyDist {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match KeyDistText::deserialize(deserializer)? {
            KeyDistText::Text(text) => text.parse(),
            KeyDistText::InFull { text, keys } => {
                text.parse().and_then(|dist: Self| dist.with_trace(keys.into_owned()))
            }
        };
        read.map_err(D::Error::custom)
    }
}

impl fmt::Display for KeyDist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.hits.map_or(Ok(()), |hits| write!(f, "@{hits}"))
    }
}

/// Leaves out the rows of a file.
impl fmt::Debug for KeyDist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_grow_only_beyond_twelve() {
        let digits = |range| KeySpace::new(Some(range), KeyDist::UNIFORM).digits();
        assert_eq!(digits(0), 12);
        assert_eq!(digits(1_000_000_000_000), 12);
        assert_eq!(digits(1_000_000_000_001), 13);
        assert_eq!(digits(u64::MAX), 20);
    }

    #[test]
    fn what_cannot_be_read_is_quoted_and_what_could_be_is_stated() {
        let fault = |text: &str| text.parse::<KeyDist>().unwrap_err();
        assert!(
            fault("zip").contains("\"zip\"; available: uniform, sequential, zipf[:S[,FIRST]], ")
        );
        assert!(fault("uniform:3").contains("no parameters; expected uniform"));
        assert!(fault("zipf:9").contains("\"zipf:9\": \"9\" is not a valid exponent"));
        assert!(fault("zipf:9").ends_with("expected zipf[:S[,FIRST]], such as zipf:0.99"));
    }

    #[test]
    fn it_survives_being_saved() {
        let space = KeySpace::new(Some(9), "zipf:1.2".parse().unwrap());
        let text = serde_json::to_string(&space).unwrap();
        assert_eq!(text, r#"{"range":9,"draw":"zipf:1.2"}"#);
        assert_eq!(serde_json::from_str::<KeySpace>(&text).unwrap(), space);
        let bad = serde_json::from_str::<KeySpace>(r#"{"range":9,"draw":"zigzag"}"#).unwrap_err();
        assert!(bad.to_string().contains("zigzag"), "{bad}");
        let file: KeyDist = "file:a#b#c".parse().unwrap();
        assert_eq!(file.file(), Some(("a", Some("b#c"))));
        assert!(file.is_description() && !file.with_trace(vec![1]).unwrap().is_description());
    }

    #[test]
    fn a_share_of_hits_is_written_behind_the_distribution() {
        let dist: KeyDist = "zipf:1.2@0.9".parse().unwrap();
        assert_eq!((dist.to_string().as_str(), dist.text()), ("zipf:1.2@0.9", "zipf:1.2"));
        assert_eq!(
            "uniform".parse::<KeyDist>().unwrap().with_hits("0.5").unwrap().to_string(),
            "uniform@0.5"
        );
        assert!("uniform@1.1".parse::<KeyDist>().unwrap_err().contains("from 0 to 1"));
        let file: KeyDist = "file:a@b.csv".parse().unwrap();
        assert_eq!(file.file(), Some(("a@b.csv", None)));
    }
}
