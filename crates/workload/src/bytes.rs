//! Serialisation of bytes in a plan: text where they are text, otherwise an array of numbers. Readable and
//! lossless.
//!
//! Use with `#[serde(with = "...")]`.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserializer, Serializer};

/// Writes bytes.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => serializer.collect_seq(bytes),
    }
}

/// Reads bytes back.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    struct TextOrBytes;

    impl<'de> Visitor<'de> for TextOrBytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text, or an array of bytes")
        }

        fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
            Ok(text.as_bytes().to_vec())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }

    deserializer.deserialize_any(TextOrBytes)
}

/// Serialises paths, which need not be text, like bytes.
pub(crate) mod path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        super::serialize(path.as_os_str().as_bytes(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        super::deserialize(deserializer).map(|bytes| OsString::from_vec(bytes).into())
    }
}

/// Serialises an optional path, with `default` and `skip_serializing_if`.
pub(crate) mod optional_path {
    use std::path::PathBuf;

    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        super::path::serialize(path.as_deref().unwrap_or("".as_ref()), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        super::path::deserialize(deserializer).map(Some)
    }
}

/// Serialises the words of commands as texts, with `***` for passwords.
pub(crate) mod commands {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::secret::shown_sequence;

    type Words = Vec<Vec<u8>>;

    pub(crate) fn serialize<S: Serializer>(commands: &[Words], to: S) -> Result<S::Ok, S::Error> {
        let text = |word: Vec<u8>| String::from_utf8_lossy(&word).into_owned();
        let texts = |words: &Words| Vec::from_iter(shown_sequence(words).into_iter().map(text));
        to.collect_seq(commands.iter().map(texts))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Words>, D::Error> {
        let commands = Vec::<Vec<String>>::deserialize(from)?.into_iter();
        Ok(commands.map(|words| words.into_iter().map(String::into_bytes).collect()).collect())
    }
}
