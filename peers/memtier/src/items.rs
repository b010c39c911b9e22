//! Parts of its built-in SETs and GETs: keys, values and times to live, generated or from a file.

use spec::dump::{DATA, KEY, TTL};
use workload::{Arg, DrawnBy, KeyDist, KeyNumbering, KeySpace, Lifetime, Piece, Slot};

use super::fault::{Fault, check_error};
use super::import::ImportedItems;
use super::operations::{between, keys};
use super::options::Options;

/// The keys, values and expiry times of the generated SETs and GETs.
pub(super) struct Items {
    pub(super) key: Arg,
    pub(super) value: Arg,
    pub(super) lifetime: Option<Arg>,
    /// The keys of SETs, and those of GETs.
    pub(super) keys: [KeySpace; 2],
}

impl Items {
    /// Returns the items of a file, if one is given, and otherwise `value` under keys that are numbers.
    pub(super) fn new(
        options: &Options,
        value: &Piece,
        imported: Option<&ImportedItems>,
    ) -> Result<Self, Fault> {
        let expires = options.expiry_range.map(|(least_s, most_s)| match least_s {
            // To memcached that is for ever.
            0 => between(0, u32::try_from(most_s).unwrap_or(u32::MAX), 3),
            _ => Arg::literal(b"__ttl__").with_lifetimes(Lifetime { least_s, most_s }),
        });
        let [set, get] = options.patterns();
        let numbered = Self {
            key: numbered(&options.key_prefix),
            value: value.clone().into(),
            lifetime: expires.clone(),
            keys: [keys(options, set)?, keys(options, get)?],
        };
        let Some(imported) = imported else { return Ok(numbered) };
        let value = field(DATA);
        let lifetime = match expires {
            None if !options.import.no_expiry => file_lifetime(options, imported)?,
            expires => expires,
        };
        if options.import.generate_keys {
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
        Ok(Self { key: field(KEY), value, lifetime, keys: [in_order, keys(&range, get)?] })
    }
}

fn field(column: usize) -> Arg {
    Piece::Field(column).into()
}

fn numbered(prefix: &str) -> Arg {
    [Piece::Bytes(prefix.into()), Piece::Number(Slot::Fresh)].into_iter().collect()
}

/// Lifetime of the items of a file, if they tell it: memcached takes 0 for never.
fn file_lifetime(options: &Options, imported: &ImportedItems) -> Result<Option<Arg>, Fault> {
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
