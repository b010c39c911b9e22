//! Memory of a key: fills of three sizes, the slope through them, and changes of encodings.

mod curve;
mod item;
mod settling;
mod slope;
mod step;

use measure::statistics::Mean;
use serde::{Deserialize, Serialize};

pub use curve::{MemoryCurve, MemoryPoint};
pub use item::{Item, KEY_BYTES, Type, Words};
pub use settling::{Settling, Steadiness};
pub use slope::{KeyBytes, Reading};
pub use step::{Axis, Growth, MemoryStep, growths, last_before_step};

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.footprint/1";
/// Fills, each with twice the keys of the previous one, so that doubling tables are equally full at each.
pub const FILLS: [u64; 3] = [1, 2, 4];
/// Minimum number of bytes of the largest fill, unless the number of keys is given: a server's own buffers vary
/// by some ten kilobytes, which are then below a hundredth. And least keys of the smallest fill.
const BYTES_OF_FILL: u64 = 8 << 20;
const KEYS_MIN: u64 = 16;
/// Number of keys of a short string, which are cheap to store and more precise in number.
const KEYS_OF_ONE: u64 = 1 << 14;

/// Measurements so far. Saved as the document `keystorm.footprint/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    schema: String,
    /// Set if everything has been measured as planned.
    pub complete: bool,
    /// Number of starts of each server; 1 for a given one.
    pub starts: u32,
    /// The servers in order.
    pub servers: Vec<Server>,
    /// Costs of each item on each server.
    pub rows: Vec<FootprintRow>,
    /// Sizes at which encodings change.
    pub steps: Vec<MemoryStep>,
    /// Warnings that a reader needs before believing the figures; unescaped.
    pub warnings: Vec<String>,
}

/// A server in which items are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Name with version: `redis 7.0.15`.
    pub name: String,
    /// Allocator of the server, if it reports it.
    pub allocator: Option<String>,
}

/// Cost of an item on a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FootprintRow {
    /// The item, as on the command line.
    pub item: String,
    /// Index of the server.
    pub server: usize,
    /// Keys of each fill.
    pub keys: [u64; 3],
    /// Elements of a key.
    pub elements: u32,
    /// Bytes that the user stores with a key, including its name.
    pub payload_bytes: u64,
    /// Encoding of the item, in the server's word.
    pub encoding: Option<String>,
    /// Bytes per key, for each start of the server.
    pub bytes_per_key: Vec<KeyBytes>,
    /// Bytes of one key by `MEMORY USAGE`.
    pub memory_usage: Option<u64>,
    /// Reason why there is no figure.
    pub failure: Option<String>,
}

impl FootprintRow {
    /// A part of the bytes in bytes per key, over all starts.
    pub fn mean(&self, part: impl Fn(&KeyBytes) -> Option<f64>) -> Option<Mean> {
        let values: Option<Vec<f64>> = self.bytes_per_key.iter().map(part).collect();
        Mean::from_values(&values?)
    }

    /// Bytes of `used_memory` per key; for a memcached, of its chunk.
    pub fn used(&self) -> Option<Mean> {
        self.mean(|bytes| Some(bytes.used))
    }
}

impl Footprint {
    /// A document without rows.
    pub fn new(servers: Vec<Server>, starts: u32) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            starts,
            servers,
            rows: Vec::new(),
            steps: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Keys of each fill: powers of two, so that doubling tables are equally full.
pub fn fills(item: &Item, keys: Option<u64>) -> [u64; 3] {
    let by_bytes = BYTES_OF_FILL.div_ceil(item.payload_bytes()) / FILLS[2];
    let by_count = if item.elements == 1 { KEYS_OF_ONE.min(by_bytes) } else { by_bytes };
    let least = keys.unwrap_or(by_count.max(KEYS_MIN)).next_power_of_two();
    FILLS.map(|times| least * times)
}

/// Items that are measured by default.
pub const ITEMS: [&str; 16] = [
    "string:int",
    "string:10",
    "string:44",
    "string:100",
    "string:100+ttl",
    "string:1000",
    "hash:10x20",
    "hash:10x20+ttl",
    "hash:1000x20",
    "list:100x20",
    "set:100xint",
    "set:100x20",
    "set:1000x20",
    "zset:100x20",
    "zset:1000x20",
    "stream:100x20",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_double_and_are_powers_of_two() {
        let item = |text| Item::parse(text).unwrap();
        assert_eq!(fills(&item("string:10"), None), [1 << 14, 1 << 15, 1 << 16]);
        assert_eq!(fills(&item("hash:1000x20"), None), [1 << 7, 1 << 8, 1 << 9]);
        assert_eq!(fills(&item("string:1M"), None), [16, 32, 64]);
        assert_eq!(fills(&item("string:10"), Some(1000)), [1024, 2048, 4096]);
        ITEMS.iter().for_each(|text| assert_eq!(item(text).to_string(), *text));
    }
}
