//! Texts that follow from the number of a key, or are drawn for each request: keys in other tools' forms,
//! scores, and numbers in a range.
//!
//! As data, and between the `__` of a placeholder, each is a word with parameters after colons.

mod drawn;
mod key_text;
mod random_bytes;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use drawn::{DrawnNumber, Skew};
pub use key_text::KeyText;
pub use random_bytes::RandomBytes;

use crate::{hashes, parameters};
use key_text::Digits;

/// A text that follows from the number of a key or is drawn for each request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DerivedText {
    /// The number of the key.
    Key(KeyText),
    /// Java's hash of this text and the key's number, in the form in which Java writes a double.
    Score(NamedKey),
    /// A number.
    Drawn(DrawnNumber),
    /// Random bytes.
    Random(RandomBytes),
    /// A value that names its key, in YCSB's form for checks: the key, the name of the field, and hashes of
    /// the preceding text, cut off at this many bytes.
    Checked {
        /// Bytes.
        len: u32,
        /// The key.
        key: NamedKey,
        /// The field.
        field: String,
        /// The number at the end of the field's name, if it is drawn.
        number: Option<DrawnNumber>,
    },
}

/// A key: this text, which is ASCII, and its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedKey {
    /// The text.
    pub prefix: String,
    /// Form of the number.
    pub number: KeyText,
}

/// Form of values that name their key, as [`DerivedText::Checked`] writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedValues {
    /// Bytes of each.
    pub len: u32,
    /// The key under which they are stored.
    pub key: NamedKey,
}

/// Source of the texts of a request.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The number of its key; ignored if the text [names none](DerivedText::names_key).
    pub key: u64,
    /// The seed of the plan.
    pub seed: u64,
    /// The number of the request.
    pub request: u64,
}

impl DerivedText {
    /// Returns whether it depends on the number of the key.
    pub fn names_key(&self) -> bool {
        !matches!(self, Self::Drawn(_) | Self::Random(_))
    }

    /// Bytes of the text.
    pub fn len(&self, of: Source) -> usize {
        match self {
            Self::Key(text) => text.digits(of.key).as_bytes().len(),
            Self::Score(key) => JavaDouble::from_number(key.hash(of.key)).as_bytes().len(),
            Self::Drawn(drawn) => drawn.digits(of.seed, of.request).as_bytes().len(),
            Self::Random(random) => random.len as usize,
            Self::Checked { len, .. } => *len as usize,
        }
    }

    /// Appends the text.
    pub fn append(&self, of: Source, out: &mut Vec<u8>) {
        match self {
            Self::Key(text) => out.extend_from_slice(text.digits(of.key).as_bytes()),
            Self::Score(key) => {
                out.extend_from_slice(JavaDouble::from_number(key.hash(of.key)).as_bytes());
            }
            Self::Drawn(drawn) => {
                out.extend_from_slice(drawn.digits(of.seed, of.request).as_bytes());
            }
            Self::Random(random) => random.append(of.seed, of.request, out),
            Self::Checked { len, key, field, number } => {
                let number = number.map(|number| number.digits(of.seed, of.request));
                let digits = number.as_ref().map_or(&[][..], Digits::as_bytes);
                append_checked(*len as usize, key, of.key, [field.as_bytes(), digits], out);
            }
        }
    }
}

/// Appends the correct value of a field of a key.
pub fn append_checked(
    len: usize,
    key: &NamedKey,
    number: u64,
    field: [&[u8]; 2],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend_from_slice(key.prefix.as_bytes());
    out.extend_from_slice(key.number.digits(number).as_bytes());
    out.push(b':');
    field.into_iter().for_each(|part| out.extend_from_slice(part));
    let (mut hash, mut hashed) = (0, start);
    while out.len() - start < len {
        out.push(b':');
        hash = hashes::java(hash, &out[hashed..]);
        hashed = out.len();
        if hash < 0 {
            out.push(b'-');
        }
        out.extend_from_slice(Digits::new(u64::from(hash.unsigned_abs()), 1).as_bytes());
    }
    out.truncate(start + len);
}

impl NamedKey {
    /// Java's hash of it.
    pub fn hash(&self, number: u64) -> i32 {
        let prefix = hashes::java(0, self.prefix.as_bytes());
        hashes::java(prefix, self.number.digits(number).as_bytes())
    }
}

/// A whole number as Java writes a double.
struct JavaDouble {
    text: [u8; 16],
    len: usize,
}

impl JavaDouble {
    fn from_number(number: i32) -> Self {
        let mut this = Self { text: [0; 16], len: 0 };
        if number < 0 {
            this.push(b"-");
        }
        let digits = Digits::new(u64::from(number.unsigned_abs()), 1);
        let digits = digits.as_bytes();
        if number.unsigned_abs() < 10_000_000 {
            this.push(digits);
            this.push(b".0");
            return this;
        }
        let (first, rest) = digits.split_at(1);
        let zeros = rest.iter().rev().take_while(|digit| **digit == b'0').count();
        this.push(first);
        this.push(b".");
        this.push(if zeros == rest.len() { b"0" } else { &rest[..rest.len() - zeros] });
        this.push(b"E");
        this.push(&[b'0' + rest.len() as u8]);
        this
    }

    fn push(&mut self, bytes: &[u8]) {
        self.text[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

impl fmt::Display for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, number } = self;
        write!(f, "{prefix}:{number}")
    }
}

impl fmt::Display for DerivedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(text) => write!(f, "key:{text}"),
            Self::Score(key) => write!(f, "score:{key}"),
            Self::Drawn(drawn) => write!(f, "draw:{drawn}"),
            Self::Random(random) => write!(f, "random:{random}"),
            Self::Checked { len, key, field, number } => {
                write!(f, "checked:{len}:{key}:{field}")?;
                number.map_or(Ok(()), |number| write!(f, ":{number}"))
            }
        }
    }
}

impl FromStr for DerivedText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let named = |prefix: &str, number: &str| format!("{prefix}:{number}").parse::<NamedKey>();
        match parts[..] {
            ["key", number] => Ok(Self::Key(number.parse()?)),
            ["score", prefix, number] => Ok(Self::Score(named(prefix, number)?)),
            ["draw", drawn] => Ok(Self::Drawn(drawn.parse()?)),
            ["random", random] => Ok(Self::Random(random.parse()?)),
            ["checked", len, prefix, number, field, ref drawn @ ..] if drawn.len() <= 1 => {
                let len = len.parse().map_err(|_| format!("{len:?} is not a length"))?;
                let key = named(prefix, number)?;
                let number = drawn.first().map(|drawn| drawn.parse()).transpose()?;
                Ok(Self::Checked { len, key, field: field.to_owned(), number })
            }
            _ => Err(format!(
                "unknown placeholder __{text}__; available: __key:[fnv,]WIDTH__, \
                 __key:alnumWIDTH__, __score:TEXT:[fnv,]WIDTH__, \
                 __draw:FROM..TO[,zipf][,alnumWIDTH][,STREAM]__, __random:LEN[,RATIO[,STREAM]]__ \
                 and __checked:LEN:TEXT:[fnv,]WIDTH:FIELD[:FROM..TO]__"
            )),
        }
    }
}

impl FromStr for NamedKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (prefix, number) =
            text.split_once(':').ok_or_else(|| format!("{text:?} is not TEXT:[fnv,]WIDTH"))?;
        let prefix = prefix.to_owned();
        if prefix.is_ascii() {
            Ok(Self { prefix, number: number.parse()? })
        } else {
            Err(format!("{prefix:?} is not ASCII"))
        }
    }
}

parameters::saved_as_text!(NamedKey);
parameters::saved_as_text!(DerivedText);

/// Beginnings of the placeholders of these texts.
pub const OPENINGS: [&str; 5] = ["__key:", "__score:", "__draw:", "__random:", "__checked:"];

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str, key: u64) -> String {
        let derived: DerivedText = of.parse().unwrap();
        assert_eq!(derived.to_string(), of);
        let source = Source { key, seed: 1, request: 9 };
        let mut out = b"before".to_vec();
        derived.append(source, &mut out);
        assert_eq!(out.len() - 6, derived.len(source), "{of}");
        String::from_utf8(out.split_off(6)).unwrap()
    }

    #[test]
    fn keys_are_written_as_ycsb_writes_them() {
        assert_eq!(text("key:fnv,1", 2), "1820151046732198393");
        assert_eq!(text("key:8", 5), "00000005");
        assert_eq!(text("key:1", 0), "0");
        assert_eq!(text("key:fnv,25", 0), "0000006284781860667377211");
    }

    #[test]
    fn letters_are_digits_too_where_that_is_asked_for() {
        assert_eq!(text("key:alnum1", 61), "z");
        assert_eq!(text("key:alnum3", 62), "010");
        assert_eq!(text("key:alnum1", u64::MAX), "LygHa16AHYF");
        assert_eq!(text("draw:5..5,alnum4", 0), "0005");
        assert_eq!(text("draw:61..61,alnum1,3", 0), "z");
    }

    #[test]
    fn scores_are_doubles_of_java() {
        assert_eq!(text("score:user:fnv,1", 0), "-5.94971599E8");
        assert_eq!(text("score:user:fnv,1", 1), "-3.14243905E8");
        for (number, written) in [
            (0, "0.0"),
            (9_999_999, "9999999.0"),
            (10_000_000, "1.0E7"),
            (-120_000_000, "-1.2E8"),
            (i32::MIN, "-2.147483648E9"),
        ] {
            assert_eq!(JavaDouble::from_number(number).as_bytes(), written.as_bytes());
        }
    }

    #[test]
    fn checked_values_are_those_of_ycsb() {
        assert_eq!(
            text("checked:100:user:fnv,1:field0", 0),
            "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:\
             -1039977118:-10"
        );
        assert_eq!(text("checked:40:user:1:field9", 0), "user0:field9:539063526:428534329:4265275");
        assert_eq!(text("checked:9:user:1:field9", 0), "user0:fie");
        let drawn = text("checked:40:user:1:field:0..9", 0);
        let field = text("draw:0..9", 0);
        assert!(drawn.starts_with(&format!("user0:field{field}:")), "{drawn}");
    }

    #[test]
    fn what_is_none_says_what_there_is() {
        for bad in ["key", "key:x", "key:0", "score:user", "draw:9", "draw:9..1", "what:1"] {
            assert!(bad.parse::<DerivedText>().is_err(), "{bad}");
        }
    }
}
