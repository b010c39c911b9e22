//! Keys by their pattern: digits become `N`, hexadecimal words `H`, UUIDs `U`.

use std::collections::{BTreeMap, HashMap};

use super::sizes::Sizes;
use super::sketch::DistinctCounter;
use crate::commands::DataType;

/// Maximum number of patterns that are distinguished; keys of others are counted together.
const PATTERNS_MAX: usize = 1024;
/// The longest pattern.
const PATTERN_BYTES_MAX: usize = 120;
/// Maximum number of TTLs that are counted individually for each pattern.
const TTLS_MAX: usize = 64;
/// Minimum length of a hexadecimal word.
const HEX_MIN: usize = 8;
const UUID: usize = 36;

/// The pattern of keys beyond [`PATTERNS_MAX`].
pub(super) const OTHER: &[u8] = b"(others)";

/// Counter of the keys of a pattern: of few registers, as there are many patterns, for an error of 1.6 %.
type KeyCounter = DistinctCounter<12>;

/// Figures of the keys of a pattern.
#[derive(Debug, Clone, Default)]
pub(super) struct Pattern {
    /// Number among all patterns.
    pub(super) number: u32,
    pub(super) distinct: KeyCounter,
    pub(super) reads: u64,
    pub(super) writes: u64,
    /// Uses that may read or write, such as by scripts.
    pub(super) others: u64,
    /// For each type of commands, their uses and a count of distinct keys.
    pub(super) types: BTreeMap<DataType, (u64, KeyCounter)>,
    /// Set if a command takes the values of these keys as numbers, or sorts by them.
    pub(super) is_counted: bool,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) key_bytes: Sizes,
    pub(super) value_bytes: Sizes,
    pub(super) ttls: HashMap<u64, u64>,
    pub(super) ttl_s: Sizes,
}

impl Pattern {
    /// Returns the number of uses of its keys.
    pub(super) fn uses(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub(super) fn add_type(&mut self, data_type: DataType, hash: u64) {
        let (uses, distinct) = self.types.entry(data_type).or_default();
        *uses += 1;
        distinct.add(hash);
    }

    pub(super) fn add_ttl(&mut self, ttl_s: u64) {
        self.ttl_s.add(ttl_s, 1);
        if let Some(times) = self.ttls.get_mut(&ttl_s) {
            *times += 1;
        } else if self.ttls.len() < TTLS_MAX {
            self.ttls.insert(ttl_s, 1);
        }
    }
}

/// All patterns.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    all: HashMap<Vec<u8>, Pattern>,
    buffer: Vec<u8>,
}

impl Patterns {
    /// Returns the figures of the pattern of a key.
    pub(super) fn entry(&mut self, key: &[u8]) -> &mut Pattern {
        self.buffer.clear();
        pattern(key, &mut self.buffer);
        let number = self.all.len();
        let pattern = || Pattern { number: number as u32, ..Pattern::default() };
        if !self.all.contains_key(&self.buffer) && number >= PATTERNS_MAX {
            return self.all.entry(OTHER.to_vec()).or_insert_with(pattern);
        }
        self.all.entry(std::mem::take(&mut self.buffer)).or_insert_with(pattern)
    }

    /// The pattern with the most requests first.
    pub(super) fn sorted(self) -> Vec<(Vec<u8>, Pattern)> {
        let mut all: Vec<_> = self.all.into_iter().collect();
        all.sort_by(|(a, of_a), (b, of_b)| of_b.uses().cmp(&of_a.uses()).then_with(|| a.cmp(b)));
        all
    }
}

/// Appends the pattern of a key.
pub(super) fn pattern(key: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while at < key.len() && out.len() < PATTERN_BYTES_MAX {
        let rest = &key[at..];
        if rest.len() >= UUID && is_uuid(&rest[..UUID]) {
            out.push(b'U');
            at += UUID;
            continue;
        }
        let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if word == 0 {
            out.push(rest[0]);
            at += 1;
            continue;
        }
        let word = &rest[..word];
        at += word.len();
        let has_digits = word.iter().any(u8::is_ascii_digit);
        if word.len() >= HEX_MIN
            && has_digits
            && !word.iter().all(u8::is_ascii_digit)
            && word.iter().all(u8::is_ascii_hexdigit)
        {
            out.push(b'H');
            continue;
        }
        let mut is_number = false;
        for byte in word {
            if !byte.is_ascii_digit() {
                out.push(*byte);
            } else if !is_number {
                out.push(b'N');
            }
            is_number = byte.is_ascii_digit();
        }
    }
}

fn is_uuid(word: &[u8]) -> bool {
    word.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_hex_and_uuids_are_replaced() {
        for (key, expected) in [
            ("user:1234:cart", "user:N:cart"),
            ("key:000000000042", "key:N"),
            ("v2user17x", "vNuserNx"),
            ("s:deadbeef01", "s:H"),
            ("s:deadbeef", "s:deadbeef"),
            ("s:123e4567-e89b-12d3-a456-426614174000:x", "s:U:x"),
            ("{user:7}:a", "{user:N}:a"),
            ("", ""),
        ] {
            let mut out = Vec::new();
            pattern(key.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn patterns_are_bounded() {
        let mut patterns = Patterns::default();
        for number in 0..5000_u32 {
            let letters: String = number.to_string().bytes().map(|d| char::from(d + 49)).collect();
            patterns.entry(letters.as_bytes()).reads += 1;
        }
        let sorted = patterns.sorted();
        assert_eq!((sorted.len(), &sorted[0].0[..]), (PATTERNS_MAX + 1, OTHER));
        assert_eq!(sorted.iter().map(|(_, of)| of.reads).sum::<u64>(), 5000);
    }
}
