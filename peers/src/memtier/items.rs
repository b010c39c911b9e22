//! Parts of its built-in SETs and GETs: keys, values and times to live, generated or from a file.

use spec::dump::{COLUMNS, DATA, KEY, TTL};
use spec::escape::literal;
use workload::{DrawnBy, KeyDist, KeyNumbering, KeySpace, Lifetime};

use super::fault::{Fault, check_error};
use super::import::ImportedItems;
use super::operations::{DRAWN_KEY, between, keys};
use super::options::Options;

/// The keys, values and expiry times of the generated SETs and GETs, as words.
#[derive(Clone)]
pub(super) struct Items {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) lifetime: Option<String>,
    /// Lifetimes that are drawn.
    pub(super) lifetimes: Option<Lifetime>,
    /// The keys of SETs, and those of GETs.
    pub(super) keys: [KeySpace; 2],
}

impl Items {
    /// Returns the items of a file, if one is given, and otherwise `value` under keys that are numbers.
    pub(super) fn new(
        options: &Options,
        value: &str,
        imported: Option<&ImportedItems>,
    ) -> Result<Self, Fault> {
        let lifetimes =
            options.expiry_range.filter(|(least_s, most_s)| *least_s > 0 && least_s < most_s);
        let lifetimes = lifetimes.map(|(least_s, most_s)| Lifetime { least_s, most_s });
        let expires = options.expiry_range.map(|(least_s, most_s)| match lifetimes {
            Some(_) => "__ttl__".to_owned(),
            None if least_s == most_s => least_s.to_string(),
            // To memcached 0 is for ever.
            None => between(0, u32::try_from(most_s).unwrap_or(u32::MAX), 3),
        });
        let [set, get] = options.patterns();
        let numbered = Self {
            key: literal(options.key_prefix.as_bytes(), "", DRAWN_KEY) + DRAWN_KEY,
            value: value.to_owned(),
            lifetime: expires.clone(),
            lifetimes,
            keys: [keys(options, set)?, keys(options, get)?],
        };
        let Some(imported) = imported else { return Ok(numbered) };
        let value = field(DATA);
        let lifetime = match expires {
            None if !options.no_expiry => file_lifetime(options, imported)?,
            expires => expires,
        };
        if options.generate_keys {
            return Ok(Self { value, lifetime, ..numbered });
        }
        let count = imported.items.len() as u64;
        let range = Options { key_minimum: 1, key_maximum: count, ..options.clone() };
        let in_order = KeySpace {
            range: Some(count),
            draw: KeyDist::SEQUENTIAL,
            numbered: KeyNumbering { first: 1, bare: true, by: DrawnBy::Operation },
            one_slot: None,
        };
        let keys = [in_order, keys(&range, get)?];
        Ok(Self { key: field(KEY), value, lifetime, lifetimes, keys })
    }
}

fn field(column: usize) -> String {
    format!("__field:{}__", COLUMNS[column])
}

/// Lifetime of the items of a file, if they tell it: memcached takes 0 for never.
fn file_lifetime(options: &Options, imported: &ImportedItems) -> Result<Option<String>, Fault> {
    if imported.expiring == 0 {
        return Ok(None);
    }
    let some = imported.expiring < imported.items.len();
    match options.protocol.as_str() {
        "memcache_binary" => Err(check_error(
            "--data-import: times to live of items are not carried out with memcache_binary; say \
             --no-expiry or --expiry-range",
        )),
        "memcache_text" => Ok(Some(field(TTL))),
        _ if some => Err(check_error(format!(
            "--data-import: {} of {} items have a time to live, and SETEX is for all or none; say \
             --no-expiry or --expiry-range",
            imported.expiring,
            imported.items.len()
        ))),
        _ => Ok(Some(field(TTL))),
    }
}
