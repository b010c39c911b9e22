//! Values of the configuration, as its JSON file and `--show-config` have them.

use std::fmt::Display;

use serde::Serialize;
use serde_json::json;

use crate::memtier::layout::{Entry, Json};

/// A value as it is: numbers, texts, `null`, and truth values, which are texts.
pub(super) fn json(value: &impl Serialize) -> Json {
    match json!(value) {
        serde_json::Value::Null => Json::Text(None),
        serde_json::Value::String(text) => Json::text(text),
        serde_json::Value::Bool(flag) => Json::text(flag.to_string()),
        number => Json::Number(number.to_string()),
    }
}

/// Numbers that its file cuts to 32 bits, at least eleven characters wide.
pub(super) fn wide(number: u64) -> Json {
    Json::Number(format!("{number:>11}"))
}

pub(super) fn decimals(number: Option<f64>) -> Json {
    Json::Number(format!("{:.6}", number.unwrap_or(0.0)))
}

/// Name of a file without its folder, to hide the location of certificates.
pub(super) fn file_name(path: &Option<String>) -> Json {
    Json::Text(path.as_ref().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()))
}

/// `A:B`.
pub(super) fn pair<T: Display>((a, b): (T, T)) -> Json {
    Json::text(format!("{a}:{b}"))
}

/// Values with commas between them.
pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> Json {
    Json::text(values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(","))
}

/// Options that `--show-config` has, in its order, a line each; later ones follow it.
const SHOWN: &str = include_str!("shown_options.txt");
/// Ranges, which have a dash there and a colon in JSON.
const RANGES: [&str; 3] = ["data_size_range", "expiry_range", "num-slaves"];

/// The entries of a configuration, a line each, and the file of the results, which JSON does not name.
pub(super) fn shown(mut entries: Vec<Entry>, json_file: &Option<String>) -> String {
    entries.push(("json-out-file".to_owned(), json(json_file)));
    // Entries that are in no list follow in their order.
    entries
        .sort_by_key(|(key, _)| SHOWN.lines().position(|shown| shown == key).unwrap_or(usize::MAX));
    let lines = entries.iter().map(|(key, value)| {
        let value = match value {
            Json::Number(number) => number.trim().to_owned(),
            Json::Text(None) => "(null)".to_owned(),
            Json::Text(Some(text)) => match text.as_str() {
                "true" => "yes".to_owned(),
                "false" => "no".to_owned(),
                range if RANGES.contains(&key.as_str()) => range.replacen(':', "-", 1),
                text => report::escape(text),
            },
            Json::Object(_) | Json::Array(_) => String::new(),
        };
        format!("{key} = {value}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtier::options::Options;

    fn shown(options: &Options) -> String {
        super::shown(options.entries(), &options.json_out_file)
    }

    #[test]
    fn no_password_is_shown() {
        let options = Options {
            authenticate: Some("user:geheim".into()),
            uri: Some("redis://user:geheim@host".into()),
            ..Options::new()
        };
        let text = format!("{:?} {}", options.entries(), shown(&options));
        assert!(!text.contains("geheim"), "{text}");
    }

    #[test]
    fn every_option_has_a_line_as_there() {
        let options = Options { data_size_range: Some((3, 9)), ..Options::new() };
        let shown = shown(&options);
        let lines: Vec<&str> = shown.lines().collect();
        for (line, name) in lines.iter().zip(SHOWN.lines()) {
            assert!(line.starts_with(&format!("{name} = ")), "{line}: {name}");
        }
        for line in [
            "ratio = 1:10",
            "tls = no",
            "unix socket = (null)",
            "uri = ",
            "data_size_range = 3-9",
            "num-slaves = 0-0",
            "wait-ratio = 0:0",
            "key_maximum = 10000000",
            "json-out-file = (null)",
        ] {
            assert!(lines.contains(&line), "{line}: {shown}");
        }
    }

    #[test]
    fn what_another_option_takes_the_place_of_has_no_default() {
        let of = |options: &Options, key: &str| {
            let entries = options.entries();
            entries.iter().find(|(known, _)| known == key).unwrap().1.clone()
        };
        let socket = Options { unix_socket: Some("s".into()), ..Options::new() };
        assert_eq!((of(&socket, "server"), of(&socket, "port")), (Json::Text(None), json(&0)));
        let mut import = Options::new();
        import.data_import = Some("f".into());
        assert_eq!(
            ["data_size", "key_prefix", "key_maximum"].map(|key| of(&import, key)),
            [json(&0), Json::Text(None), wide(0)]
        );
        import.generate_keys = true;
        assert_eq!(of(&import, "key_prefix"), Json::text("memtier-"));
    }
}
