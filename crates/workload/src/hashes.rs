//! Hash functions that other tools use to spread or order keys.

/// The prime of 64-bit FNV.
pub(crate) const FNV_PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over the eight bytes of a number, the least significant first, made non-negative: YCSB's hash of a
/// number.
#[inline]
pub fn fnv(mut number: u64) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for _ in 0..8 {
        hash = (hash ^ (number & 0xFF)).wrapping_mul(FNV_PRIME);
        number >>= 8;
    }
    hash.cast_signed().unsigned_abs()
}

/// FNV-1a over a text.
pub fn fnv_text(text: &[u8]) -> u64 {
    text.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
    })
}

/// Continues Java's `String.hashCode` with more ASCII text; `hash` belongs to the text before it, 0 for none.
#[inline]
pub fn java(hash: i32, text: &[u8]) -> i32 {
    text.iter().fold(hash, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_hash_as_in_ycsb() {
        let hashes = [0, 1, 2, 3, 999, 1000].map(fnv);
        assert_eq!(
            hashes,
            [
                6_284_781_860_667_377_211,
                8_517_097_267_634_966_620,
                1_820_151_046_732_198_393,
                4_052_466_453_699_787_802,
                2_071_219_101_098_386_137,
                5_952_875_239_596_136_740
            ]
        );
    }

    #[test]
    fn texts_hash_as_published() {
        // <http://www.isthe.com/chongo/src/fnv/test_fnv.c>
        assert_eq!(fnv_text(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_text(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_text(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn texts_hash_as_in_java_in_one_piece_or_several() {
        assert_eq!(java(0, b"user6284781860667377211"), -594_971_599);
        assert_eq!(java(java(0, b"user851709726"), b"7634966620"), -314_243_905);
        assert_eq!(java(0, b"user1820151046732198393"), -338_223_234);
        assert_eq!(java(0, b""), 0);
    }
}
