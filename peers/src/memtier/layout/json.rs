//! The JSON file: its tree, and its unusual layout with commas before keys.
//!
//! Texts are escaped, and values that are not numbers are `null`; the original wrote files that no parser
//! accepts.

/// A value of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// A number as it is written.
    Number(String),
    /// A text, or nothing where it was not set.
    Text(Option<String>),
    /// Values by their keys.
    Object(Vec<Entry>),
    /// Values without.
    Array(Vec<Json>),
}

/// A value with its key.
pub(crate) type Entry = (String, Json);

impl Json {
    /// A whole number.
    pub(crate) fn whole(number: u64) -> Self {
        Self::Number(number.to_string())
    }

    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(Some(text.into()))
    }

    pub(super) fn decimal(number: f64, digits: usize) -> Self {
        if number.is_finite() {
            Self::Number(format!("{number:.digits$}"))
        } else {
            Self::Text(None)
        }
    }

    /// The file that has this for its tree.
    pub(crate) fn file(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out.push('\n');
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let next = |out: &mut String, comma: bool| {
            out.push('\n');
            out.extend(std::iter::repeat_n('\t', depth + 1));
            out.push_str(if comma { "," } else { "" });
        };
        match self {
            Self::Number(number) => out.push_str(number),
            Self::Text(None) => out.push_str("null"),
            Self::Text(Some(text)) => out.push_str(&quoted(text)),
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    next(out, at > 0);
                    out.push_str(&quoted(key));
                    let nested = matches!(value, Self::Object(_) | Self::Array(_));
                    out.push_str(if nested { ":" } else { ": " });
                    value.write(depth + 1, out);
                }
                next(out, false);
                out.push('}');
            }
            Self::Array(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    next(out, at > 0);
                    value.write(depth + 1, out);
                }
                next(out, false);
                out.push(']');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(super) fn entry(key: &str, value: Json) -> Entry {
    (key.to_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_written_as_oddly_as_there() {
        let inner = |entries: &[(&str, Json)]| {
            Json::Object(entries.iter().map(|(key, value)| entry(key, value.clone())).collect())
        };
        let tree = inner(&[
            (
                "configuration",
                inner(&[("server", Json::text("a\"b")), ("port", Json::whole(6379))]),
            ),
            ("run information", inner(&[("uri", Json::Text(None))])),
        ]);
        let text = tree.file();
        assert_eq!(
            text,
            "{\n\t\"configuration\":{\n\t\t\"server\": \"a\\\"b\"\n\t\t,\"port\": 6379\n\t\t}\n\t,\
             \"run information\":{\n\t\t\"uri\": null\n\t\t}\n\t}\n"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!(Json::decimal(f64::NAN, 2), Json::Text(None));
        assert_eq!(Json::decimal(1.0, 2), Json::Number("1.00".into()));
    }
}
