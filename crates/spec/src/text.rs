//! Values in documents: written as the text behind their option, read from texts and plain numbers.
//!
//! Use with `#[serde(with = "crate::text")]`, or [`as_text`] for a type of this crate.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::Serializer;

/// Writes a value as its text, or as the number that it is.
pub(crate) fn write<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    let text = value.to_string();
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => to.serialize_i64(number),
        _ => to.serialize_str(&text),
    }
}

/// Reads a value from a text or a number.
pub(crate) fn read<'de, D: Deserializer<'de>, T>(from: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    from.deserialize_any(Typed(PhantomData))
}

struct Typed<T>(PhantomData<T>);

impl<T: FromStr> Visitor<'_> for Typed<T>
where
    T::Err: Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Writes an optional value.
///
/// # Errors
/// Returns an error if the document cannot hold the value.
pub fn serialize<S: Serializer>(value: &Option<impl Display>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => write(value, to),
        None => to.serialize_none(),
    }
}

/// Reads an optional value.
///
/// # Errors
/// Returns an error if the text is no such value.
pub fn deserialize<'de, D: Deserializer<'de>, T>(from: D) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    struct Text<T>(T);

    impl<'de, T: FromStr> Deserialize<'de> for Text<T>
    where
        T::Err: Display,
    {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            read(from).map(Self)
        }
    }

    Ok(Option::<Text<T>>::deserialize(from)?.map(|Text(value)| value))
}

/// Makes types serialise as their text.
macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                crate::text::write(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                crate::text::read(from)
            }
        }
    )+};
}
pub(crate) use as_text;

/// Words of commands as texts, with `***` for passwords.
pub(crate) mod words {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    use serde::{Deserialize, Deserializer, Serializer, ser::Error};
    use workload::secret;

    pub(crate) fn serialize<S: Serializer>(words: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let shown = secret::shown_sequence(&words).into_iter().map(String::from_utf8);
        let shown: Vec<String> =
            shown.collect::<Result<_, _>>().map_err(|_| S::Error::custom("not UTF-8"))?;
        to.collect_seq(shown)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OsString>, D::Error> {
        let words = Vec::<String>::deserialize(from)?;
        Ok(words.into_iter().map(|word| OsString::from_vec(word.into_bytes())).collect())
    }
}
