//! The measured item: a type with a number and size of elements, and the commands that store one.

use std::fmt;

use serde::{Deserialize, Serialize};
use workload::quantity;

/// The words of a command.
pub type Words = Vec<Vec<u8>>;

/// Bytes of every key.
pub const KEY_BYTES: usize = 16;
/// Lifetime in seconds, long enough that nothing expires during the measurement.
const LIFETIME_S: &str = "31536000";
/// Elements that one command adds.
const ELEMENTS_AT_ONCE: u32 = 512;
/// Maximum number of elements of a key.
const ELEMENTS_MAX: u64 = 1 << 20;
/// Maximum length of an element in bytes.
const SIZE_MAX: u64 = 1 << 20;
/// First integer: Redis shares objects of those below 10,000, which would cost nothing.
const INTEGERS_FROM: u64 = 1_000_000_000;
/// Bytes of field names.
const FIELD_BYTES: usize = 8;

/// A type of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// A string.
    String,
    /// A hash; the size is for values.
    Hash,
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set; scores are integers.
    Zset,
    /// A stream of entries with one field; the size is for its value.
    Stream,
}

const TYPES: [(&str, Type); 6] = [
    ("string", Type::String),
    ("hash", Type::Hash),
    ("list", Type::List),
    ("set", Type::Set),
    ("zset", Type::Zset),
    ("stream", Type::Stream),
];

/// Content of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Type of the key.
    pub of: Type,
    /// Number of elements; 1 for a string.
    pub elements: u32,
    /// Bytes of an element; `None` for integers.
    pub size: Option<u32>,
    /// Set if the key has a lifetime.
    pub expires: bool,
}

impl Item {
    /// Parses `string:100`, `string:int`, `hash:10x20`, `set:100xint`, each with `+ttl` for a lifetime.
    ///
    /// # Errors
    /// Returns the fault in words for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text}: {why}");
        let (body, expires) = match text.strip_suffix("+ttl") {
            Some(body) => (body, true),
            None => (text, false),
        };
        let (name, shape) = body.split_once(':').unwrap_or((body, ""));
        let found = TYPES.iter().find(|(known, _)| *known == name);
        let Some((_, of)) = found else {
            let names = TYPES.map(|(name, _)| name).join(", ");
            return Err(wrong(&format!(
                "no such type; there are {names} (a server is named by --spawn or -h)"
            )));
        };
        let (elements, size) = match (of, shape.split_once('x')) {
            (_, _) if shape.is_empty() => {
                return Err(wrong(
                    "add a size, as in string:100, or elements and size: hash:10x20",
                ));
            }
            (Type::String, None) => (1, shape),
            (Type::String, Some(_)) => return Err(wrong("a string has a size only: string:100")),
            (_, Some((elements, size))) => {
                (limited(elements, 1..=ELEMENTS_MAX).map_err(|e| wrong(&e))?, size)
            }
            (_, None) => return Err(wrong("add elements and size, as in hash:10x20")),
        };
        let size = match size {
            "int" => None,
            size => Some(limited(size, 0..=SIZE_MAX).map_err(|e| wrong(&e))?),
        };
        let item = Self { of: *of, elements, size, expires };
        let least = item.distinct_bytes();
        match size {
            Some(size) if size < least => Err(wrong(&format!(
                "{elements} different members need {least} bytes each; write {elements}x{least} or more"
            ))),
            _ => Ok(item),
        }
    }

    /// Minimum number of bytes that make members differ.
    fn distinct_bytes(&self) -> u32 {
        let distinct = matches!(self.of, Type::Set | Type::Zset);
        if distinct { 1 + (self.elements.max(1) - 1).to_string().len() as u32 } else { 0 }
    }

    /// The key of this number.
    pub fn key(number: u64) -> Vec<u8> {
        format!("foot:{number:011}").into_bytes()
    }

    /// Bytes that a user stores with a key: its name, values, members and field names.
    pub fn payload_bytes(&self) -> u64 {
        let element = self.element(0).len() as u64;
        let field = match self.of {
            Type::Hash | Type::Stream => FIELD_BYTES as u64,
            _ => 0,
        };
        KEY_BYTES as u64 + u64::from(self.elements) * (element + field)
    }

    /// An element, different from all others of its key. An integer differs from key to key, too.
    fn element(&self, number: u64) -> Vec<u8> {
        match self.size {
            None => (INTEGERS_FROM + number).to_string().into_bytes(),
            Some(size) => {
                let size = size as usize;
                let digits = number.to_string();
                let digits = &digits[..digits.len().min(size.saturating_sub(1))];
                let mut element = vec![b'v'; size - digits.len()];
                element.extend_from_slice(digits.as_bytes());
                element
            }
        }
    }

    /// Commands that store the key with this number.
    pub fn commands(&self, number: u64) -> Vec<Words> {
        let key = Self::key(number);
        let word = |text: &str| text.as_bytes().to_vec();
        let mut commands = match self.of {
            Type::String => {
                let value = self.element(if self.size.is_none() { number } else { 0 });
                vec![vec![word("SET"), key.clone(), value]]
            }
            Type::Stream => (0..u64::from(self.elements)).map(|at| self.entry(&key, at)).collect(),
            _ => self.additions(&key),
        };
        if self.expires {
            commands.push(vec![word("EXPIRE"), key, word(LIFETIME_S)]);
        }
        commands
    }

    /// An entry of a stream, a millisecond after the previous one.
    fn entry(&self, key: &[u8], at: u64) -> Words {
        let id = format!("{}-0", 1_700_000_000_000 + at);
        vec![b"XADD".to_vec(), key.to_vec(), id.into_bytes(), field(0), self.element(at)]
    }

    fn additions(&self, key: &[u8]) -> Vec<Words> {
        let name = match self.of {
            Type::Hash => "HSET",
            Type::List => "RPUSH",
            Type::Zset => "ZADD",
            _ => "SADD",
        };
        let starts = (0..self.elements).step_by(ELEMENTS_AT_ONCE as usize);
        let additions = starts.map(|start: u32| {
            let mut words = vec![name.as_bytes().to_vec(), key.to_vec()];
            for at in start..self.elements.min(start + ELEMENTS_AT_ONCE) {
                match self.of {
                    Type::Hash => words.push(field(at.into())),
                    Type::Zset => words.push(at.to_string().into_bytes()),
                    _ => {}
                }
                words.push(self.element(at.into()));
            }
            words
        });
        additions.collect()
    }
}

/// The name of a field.
fn field(at: u64) -> Vec<u8> {
    format!("f{at:0digits$}", digits = FIELD_BYTES - 1).into_bytes()
}

/// Parses a count within limits, like options.
fn limited(text: &str, limits: std::ops::RangeInclusive<u64>) -> Result<u32, String> {
    let number = quantity::count(text)?;
    if limits.contains(&number) {
        Ok(number as u32)
    } else {
        Err(format!("{number} is not within {} to {}", limits.start(), limits.end()))
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = TYPES.iter().find(|(_, of)| *of == self.of).map_or("", |(name, _)| name);
        let size = self.size.map_or("int".to_owned(), |size| size.to_string());
        let expires = if self.expires { "+ttl" } else { "" };
        match self.of {
            Type::String => write!(f, "{name}:{size}{expires}"),
            _ => write!(f, "{name}:{}x{size}{expires}", self.elements),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        Item::parse(text).unwrap()
    }

    #[test]
    fn an_item_reads_as_it_is_written() {
        for text in ["string:100", "string:int+ttl", "hash:10x20", "set:100xint", "stream:5x0"] {
            assert_eq!(item(text).to_string(), text);
        }
        assert_eq!(item("hash:1kx20").elements, 1000);
        for (text, why) in [
            ("strings:1", "no such type"),
            ("string", "add a size"),
            ("string:2x2", "a string has a size only"),
            ("hash:10", "add elements and size"),
            ("hash:0x10", "is not within 1 to"),
            ("set:100x2", "need 3 bytes each"),
            ("hash:axb", "a"),
        ] {
            let refused = Item::parse(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn what_a_key_holds_is_what_was_asked_for() {
        for text in
            ["string:100", "hash:600x20", "list:3x5", "set:100x4", "zset:1000x9", "stream:7x50"]
        {
            let item = item(text);
            let (mut bytes, mut members) = (KEY_BYTES, std::collections::HashSet::new());
            for words in item.commands(7) {
                assert_eq!(words[1], Item::key(7), "{text}");
                let from = if item.of == Type::Stream { 3 } else { 2 };
                let scores = item.of == Type::Zset;
                let stored: Vec<_> = words[from..].iter().skip(usize::from(scores)).collect();
                let stored = stored.into_iter().step_by(if scores { 2 } else { 1 });
                stored.for_each(|word| {
                    members.insert(word.clone());
                    bytes += word.len();
                });
            }
            assert_eq!(bytes as u64, item.payload_bytes(), "{text}");
            if matches!(item.of, Type::Set | Type::Zset) {
                assert_eq!(members.len(), item.elements as usize, "{text}");
            }
        }
        let [one, two] = [1, 2].map(|number| item("string:int").commands(number)[0][2].clone());
        assert!(one != two && one.len() == 10, "integers are not shared");
        assert_eq!(item("list:1x1+ttl").commands(0)[1][0], b"EXPIRE");
    }
}
