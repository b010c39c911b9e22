//! Settings of a server that speaks RESP, by `CONFIG GET`.

use wire::resp::Value;

use crate::{Client, Transport};

/// Settings that affect speed, or the meaning of other figures.
pub(super) const SETTINGS: [&str; 6] =
    ["save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "io-threads"];

/// Reads those of these settings that are visible.
pub(super) fn shown_settings(
    client: &mut Client<Transport>,
    names: &[&str],
) -> Vec<(String, String)> {
    let mut words: Vec<&[u8]> = vec![b"CONFIG", b"GET"];
    words.extend(names.iter().map(|name| name.as_bytes()));
    // Before Redis 7 it took one name at a time.
    let whole = client.ask(&words).ok().and_then(|reply| pairs(&reply));
    whole.unwrap_or_else(|| {
        let replies =
            names.iter().filter_map(|name| client.ask(&[b"CONFIG", b"GET", name.as_bytes()]).ok());
        replies.filter_map(|reply| pairs(&reply)).flatten().collect()
    })
}

/// The pairs of a `CONFIG GET`, in RESP2's or RESP3's form; `None` for an error.
pub(super) fn pairs(reply: &Value) -> Option<Vec<(String, String)>> {
    let pairs = reply.pairs()?.into_iter();
    Some(pairs.filter_map(|(name, value)| name.text().zip(value.text())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_either_protocol() {
        let bulk = |text: &str| Value::Bulk(text.into());
        let expected = Some(vec![("save".to_owned(), "3600 1".to_owned())]);
        assert_eq!(pairs(&Value::Array(vec![bulk("save"), bulk("3600 1")])), expected);
        assert_eq!(pairs(&Value::Map(vec![(bulk("save"), bulk("3600 1"))])), expected);
        assert_eq!(pairs(&Value::Error(b"ERR wrong number of arguments".into())), None);
    }
}
