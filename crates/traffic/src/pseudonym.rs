//! Pseudonyms of equal length and structure, made with a secret that is not kept.
//!
//! A name is divided at every character that is not a letter, digit or byte beyond ASCII. Each part becomes
//! another part of the same length, digits for digits and letters for letters, the same one in every name; no
//! two parts become equal. So patterns, hash tags, lengths and frequencies of keys stay.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A secret for making pseudonyms. The secret is random, and lost with this value.
#[derive(Debug, Clone, Default)]
pub struct Pseudonyms {
    secret: RandomState,
}

/// Kind of the letters and digits in a part.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Hexadecimal in small letters, of digits and letters.
    Hex,
    Any,
}

impl Pseudonyms {
    /// Replaces all parts of a name.
    pub fn replace(&self, name: &mut [u8]) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let mut begin = 0;
        while begin < name.len() {
            let length = name[begin..].iter().take_while(|byte| is_part(byte)).count();
            self.replace_part(&mut name[begin..begin + length]);
            begin += length.max(1);
        }
    }

    /// Shifts each letter within its class, by a number that depends on the previous ones; then again from
    /// the end, so that parts with a common beginning do not keep it. Both steps are reversible, hence no two
    /// parts become equal.
    fn replace_part(&self, part: &mut [u8]) {
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let has_both = part.iter().any(u8::is_ascii_digit) && !part.iter().all(u8::is_ascii_digit);
        let kind = if has_both && part.iter().all(is_hex) { Kind::Hex } else { Kind::Any };
        for pass in 0..2_u8 {
            let mut state = self.secret.build_hasher();
            state.write_u8(pass);
            state.write_usize(part.len());
            for step in 0..part.len() {
                let at = if pass == 0 { step } else { part.len() - 1 - step };
                let before = part[at];
                let (first, count) = class(before, kind);
                let offset = u64::from(before - first);
                let moved = (offset + state.finish() % u64::from(count)) % u64::from(count);
                state.write_u8(before);
                part[at] = first + moved as u8;
            }
        }
    }
}

/// First and number of the bytes that a byte may become.
fn class(byte: u8, kind: Kind) -> (u8, u8) {
    match byte {
        b'0'..=b'9' => (b'0', 10),
        b'a'..=b'f' if kind == Kind::Hex => (b'a', 6),
        b'a'..=b'z' => (b'a', 26),
        b'A'..=b'Z' => (b'A', 26),
        _ => (0x80, 128),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn replaced(names: &Pseudonyms, name: &str) -> String {
        let mut bytes = name.as_bytes().to_vec();
        names.replace(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn structure_and_length_stay_and_the_same_part_becomes_the_same() {
        let names = Pseudonyms::default();
        let (one, other) =
            (replaced(&names, "user:{4711}:cart"), replaced(&names, "user:{4711}:Name"));
        assert_eq!(one.len(), 16);
        assert_eq!(one[..11], other[..11], "the same hash tag");
        assert_ne!(&one[..4], "user");
        let shape: String = one.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        assert_eq!((&shape[4..11], &one[11..12]), (":{9999}", ":"));
        assert!(other.ends_with(|c: char| c.is_ascii_lowercase()));
        assert_ne!(replaced(&Pseudonyms::default(), "customer"), replaced(&names, "customer"));
    }

    #[test]
    fn no_two_names_become_one() {
        let names = Pseudonyms::default();
        let all: HashSet<String> =
            (0..20_000).map(|n| replaced(&names, &format!("k:{n:05}"))).collect();
        assert_eq!(all.len(), 20_000);
        let short: HashSet<String> = (0..10).map(|n| replaced(&names, &n.to_string())).collect();
        assert_eq!(short.len(), 10);
    }

    #[test]
    fn identifiers_stay_hexadecimal_and_odd_bytes_are_replaced() {
        let names = Pseudonyms::default();
        let id = replaced(&names, "3f2a-00e1");
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{id}");
        let mut bytes = vec![0xc3, 0xa4, b'-', 0];
        names.replace(&mut bytes);
        assert_eq!((bytes.len(), &bytes[2..]), (4, &b"-\0"[..]));
        names.replace(&mut []);
    }
}
