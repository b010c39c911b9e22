//! Counting, drawing and writing of key numbers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Properties of a key space beside the number of its keys and their distribution. The default is that of
/// other tools' placeholders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct KeyNumbering {
    /// The number of the first key.
    pub first: u64,
    /// Set if numbers are written without leading zeros.
    pub bare: bool,
    /// Argument of a draw.
    pub by: DrawnBy,
}

/// Argument that determines the draw of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnBy {
    /// The number of the request in the whole test, so that all requests draw separately.
    #[default]
    Request,
    /// Number of earlier requests of its connection, so that all connections draw the same keys.
    Connection,
    /// Number of earlier requests of its operation on its connection: all connections go through the same
    /// keys, separately for each operation. If operations are drawn, equal to
    /// [`Connection`](Self::Connection).
    Operation,
    /// Keys in order, from the connection's own part of the range.
    Slice,
}

impl DrawnBy {
    const ALL: [Self; 4] = [Self::Request, Self::Connection, Self::Operation, Self::Slice];

    /// Name in the option.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Connection => "connection",
            Self::Operation => "operation",
            Self::Slice => "slice",
        }
    }
}

impl FromStr for DrawnBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|by| by.name() == text);
        known.ok_or_else(|| format!("{text:?}: expected request, connection, operation or slice"))
    }
}

impl fmt::Display for DrawnBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The part of `range` keys that belongs to connection `connection` of `connections`: first key and length.
/// Parts are equal, except that the last ones may be shorter; if there are more connections than keys,
/// several share one.
pub fn slice_of(range: u64, connections: u64, connection: u64) -> (u64, u64) {
    let range = range.max(1);
    let width = range.div_ceil(connections.max(1));
    let parts = range.div_ceil(width);
    let first = connection % parts * width;
    (first, width.min(range - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_keys_is_written_by_name() {
        for by in DrawnBy::ALL {
            assert_eq!(by.to_string().parse(), Ok(by));
        }
        assert!("thread".parse::<DrawnBy>().unwrap_err().contains("operation or slice"));
    }

    #[test]
    fn slices_are_next_to_each_other_and_cover_all_keys() {
        for (range, connections) in [(500_000, 20), (10, 3), (7, 7), (10, 6), (1, 1)] {
            let mut next = 0;
            for connection in 0..connections {
                let (first, len) = slice_of(range, connections, connection);
                assert!(len > 0 && first + len <= range);
                if first == next {
                    next += len;
                }
            }
            assert_eq!(next, range, "{connections} connections");
        }
        let firsts: Vec<u64> = (0..7).map(|connection| slice_of(5, 7, connection).0).collect();
        assert_eq!(firsts, [0, 1, 2, 3, 4, 0, 1], "nobody leaves the range");
    }
}
