//! The hash slot of a key, and a tag for each slot.
//!
//! A slot is the CRC-16/XMODEM of the key modulo 16384. If the key has a non-empty `{tag}`, only the text
//! between its first `{` and the next `}` is hashed.
//! <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model>

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr;

/// Slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// The slot of a key.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(0, &key[hashed(key)]) % SLOTS
}

/// The part of a key that determines its slot.
pub fn hashed(key: &[u8]) -> Range<usize> {
    let Some(open) = memchr(b'{', key) else { return 0..key.len() };
    match memchr(b'}', &key[open + 1..]) {
        None | Some(0) => 0..key.len(),
        Some(len) => open + 1..open + 1 + len,
    }
}

/// Continues a CRC-16/XMODEM (polynomial 0x1021, starting at 0) over `bytes`.
#[inline]
pub(super) fn crc16(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Three characters whose slot is `slot`.
#[inline]
pub fn tag_of(slot: u16) -> [u8; 3] {
    TAGS[usize::from(slot % SLOTS)]
}

/// The first three-character text of each slot, in alphabetical order.
static TAGS: LazyLock<Vec<[u8; 3]>> = LazyLock::new(|| {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut tags = vec![[0; 3]; usize::from(SLOTS)];
    for a in LETTERS {
        for b in LETTERS {
            for c in LETTERS {
                let tag = &mut tags[usize::from(slot_of(&[*a, *b, *c]))];
                if tag[0] == 0 {
                    *tag = [*a, *b, *c];
                }
            }
        }
    }
    tags
});

/// Slot of the `{tag}` in request number `number`. Any 16,384 consecutive numbers visit every slot once, far
/// apart from one number to the next; with fewer `tags`, that many slots.
#[inline]
pub(crate) fn slot_of_request(number: u64, seed: u64, tags: u16) -> u16 {
    // Odd, so that it is a permutation of the slots; near the golden ratio of them.
    const STRIDE: u64 = 10_127;
    let number = if tags < SLOTS { number % u64::from(tags) } else { number };
    (number.wrapping_mul(STRIDE).wrapping_add(seed) % u64::from(SLOTS)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        // The check value of CRC-16/XMODEM, and slots that CLUSTER KEYSLOT of Redis 7.0 gives.
        assert_eq!(crc16(0, b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"bar"), 5_061);
        assert_eq!(slot_of(b""), 0);
    }

    #[test]
    fn only_a_tag_counts_where_there_is_one() {
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
        assert_ne!(slot_of(b"foo{bar"), slot_of(b"bar"));
    }

    #[test]
    fn every_slot_has_a_tag() {
        for slot in 0..SLOTS {
            assert_eq!(slot_of(&tag_of(slot)), slot);
        }
    }

    #[test]
    fn the_tags_of_requests_cover_every_slot_once() {
        let slots = |of: u16, tags: u16| {
            let all = (5..5 + u64::from(of)).map(|n| slot_of_request(n, 9, tags));
            all.collect::<std::collections::BTreeSet<u16>>()
        };
        assert!(slots(SLOTS, SLOTS).into_iter().eq(0..SLOTS));
        // A few are spread over the slots: each of three primaries has some.
        let few = slots(1000, 8);
        assert_eq!(few.len(), 8);
        for third in 0..3 {
            assert!(few.iter().filter(|slot| *slot * 3 / SLOTS == third).count() >= 2, "{few:?}");
        }
    }
}
