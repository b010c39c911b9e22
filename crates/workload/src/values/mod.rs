//! The bytes of values, as a pure function of the seed, the key and the version.
//!
//! These three determine any byte of a value, so a server's reply is checked without memory of the sent
//! bytes. Bytes are copied from one block that all values share; a value begins with a stamp of 16 bytes that
//! is unique to its key and version.

mod content;
mod lcg;

use std::ops::Range;

use crate::random;

pub use content::{CONTENTS, Content};
pub use lcg::Lcg;

/// Makes values.
pub struct Values {
    content: Content,
    seed: u64,
    block: Vec<u8>,
}

/// Size of the block of random bytes, which fits in the caches of a core.
const BLOCK: usize = 256 << 10;
/// Groups of six bytes in a block of YCSB's.
const YCSB_GROUPS: usize = BLOCK / 6;
/// Period of the classic bytes.
const CLASSIC_PERIOD: usize = 1 << 22;
/// Unit of a compressible value, whose first part is random, as in fio.
pub(crate) const CHUNK: usize = 512;
/// Filler after the random part of such a unit.
pub(crate) const FILLER: u8 = b'x';
/// Version and check of a value, 8 bytes each.
const STAMP: usize = 16;
/// Random stream of values, separate from keys and sizes.
const STREAM: u64 = 12 << 56;

impl Values {
    /// Values of up to `largest` bytes.
    pub fn new(content: Content, seed: u64, largest: u32) -> Self {
        let seed = seed.wrapping_add(STREAM);
        let mut block = Vec::new();
        match content {
            Content::Classic => Lcg::at(0).fill(CLASSIC_PERIOD.min(largest as usize), &mut block),
            Content::Same => {}
            Content::Random | Content::Compressible { .. } => {
                let words = (0..BLOCK as u64 / 8).map(|n| random::draw(seed, n).to_le_bytes());
                block.extend(words.flatten());
            }
            Content::Ycsb | Content::YcsbJson => {
                block.extend((0..YCSB_GROUPS as u64).flat_map(|n| ycsb(random::draw(seed, n))));
                let escaped = block.iter_mut().filter(|byte| matches!(**byte, b'"' | b'\\'));
                if content == Content::YcsbJson {
                    escaped.for_each(|byte| *byte = b'_');
                }
            }
        }
        Self { content, seed, block }
    }

    /// Appends the value of `len` bytes of `key` in this version.
    pub fn append(&self, key: u64, version: u64, len: usize, out: &mut Vec<u8>) {
        let start = out.len();
        // Nearly always the bytes are one piece of the block.
        let piece = match self.content {
            Content::Classic => self.block.get(..len),
            Content::Random => {
                let place = self.place(key, version);
                self.block.get(place..place + len)
            }
            Content::Ycsb | Content::YcsbJson => {
                let place = self.ycsb_place(key, version);
                self.block.get(place..place + len)
            }
            Content::Same | Content::Compressible { .. } => None,
        };
        let Some(piece) = piece else {
            out.resize(start + len, FILLER);
            return self.write(key, version, len, 0, &mut out[start..]);
        };
        out.extend_from_slice(piece);
        if self.content == Content::Random {
            self.stamp(key, version, 0, &mut out[start..]);
        }
    }

    /// Offset of the first wrong byte in a part of the value that begins at `from`.
    pub fn differs_at(
        &self,
        key: u64,
        version: u64,
        len: usize,
        from: usize,
        part: &[u8],
    ) -> Option<usize> {
        let mut expected = [0; CHUNK];
        for (n, got) in part.chunks(CHUNK).enumerate() {
            let at = from + n * CHUNK;
            if at + got.len() > len {
                return Some(len.max(from));
            }
            let expected = &mut expected[..got.len()];
            self.write(key, version, len, at, expected);
            if expected != got {
                return expected.iter().zip(got).position(|(a, b)| a != b).map(|n| at + n);
            }
        }
        None
    }

    /// The version encoded in the first bytes of a value of this key; `None` for content common to all keys.
    pub fn version(&self, key: u64, first: [u8; 8]) -> Option<u64> {
        let alike = matches!(self.content, Content::Classic | Content::Same);
        let tells = !alike && !self.content.is_fresh();
        tells.then(|| u64::from_le_bytes(first) ^ self.mask(key))
    }

    /// Writes the bytes of a value from `from` on.
    fn write(&self, key: u64, version: u64, len: usize, from: usize, out: &mut [u8]) {
        let all = from..from + out.len();
        match self.content {
            Content::Classic => self.copy(0, all, out),
            Content::Same => out.fill(FILLER),
            Content::Ycsb | Content::YcsbJson => {
                self.copy(self.ycsb_place(key, version), all, out);
            }
            Content::Random => {
                self.copy(self.place(key, version), all, out);
                self.stamp(key, version, from, out);
            }
            Content::Compressible { ratio } => {
                let place = self.place(key, version);
                let mut at = all.start;
                while at < all.end {
                    let chunk = at - at % CHUNK;
                    let chunk_end = (chunk + CHUNK).min(len);
                    let random_end = chunk + ((chunk_end - chunk) as f64 / ratio).ceil() as usize;
                    let end = chunk_end.min(all.end);
                    let random_end = random_end.clamp(at, end);
                    let (random, filler) = out[at - from..end - from].split_at_mut(random_end - at);
                    self.copy(place, at..random_end, random);
                    filler.fill(FILLER);
                    at = end;
                }
                self.stamp(key, version, from, out);
            }
        }
    }

    /// Copies the bytes `range` of the endless stream that begins at `place` in the block.
    fn copy(&self, place: usize, range: Range<usize>, out: &mut [u8]) {
        let (mut at, mut out) = (place + range.start, out);
        while !out.is_empty() {
            let (lap, start) = (at / self.block.len(), at % self.block.len());
            let step = out.len().min(self.block.len() - start);
            let (now, later) = out.split_at_mut(step);
            now.copy_from_slice(&self.block[start..start + step]);
            if lap > 0 && self.content != Content::Classic && !self.content.is_fresh() {
                // No lap repeats another, or large values would compress.
                let word = random::draw(!self.seed, lap as u64).to_le_bytes();
                now.iter_mut().enumerate().for_each(|(n, b)| *b ^= word[(start + n) % word.len()]);
            }
            at += step;
            out = later;
        }
    }

    fn stamp(&self, key: u64, version: u64, from: usize, out: &mut [u8]) {
        if from >= STAMP {
            return;
        }
        let words = [version ^ self.mask(key), self.hash(key, version)];
        let mut stamp = [0; STAMP];
        for (bytes, word) in stamp.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let len = (STAMP - from).min(out.len());
        out[..len].copy_from_slice(&stamp[from..from + len]);
    }

    fn place(&self, key: u64, version: u64) -> usize {
        random::within(random::mix(self.hash(key, version)), self.block.len() as u64) as usize
    }

    /// Makes versions look random.
    fn mask(&self, key: u64) -> u64 {
        random::draw(!self.seed, key)
    }

    /// Offset at which a group of six begins.
    fn ycsb_place(&self, key: u64, version: u64) -> usize {
        random::within(self.hash(key, version), YCSB_GROUPS as u64) as usize * 6
    }

    fn hash(&self, key: u64, version: u64) -> u64 {
        random::draw(self.mask(key), version)
    }
}

/// Six bytes, as YCSB makes them from a random number.
fn ycsb(bits: u64) -> [u8; 6] {
    let part = |shift: u32, mask: u64| ((bits >> shift & mask) + 32) as u8;
    [part(0, 31), part(5, 63), part(10, 95), part(15, 31), part(20, 63), part(25, 95)]
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    fn contents() -> [Content; 4] {
        let compressible = Content::Compressible { ratio: 4.0 };
        [Content::Classic, Content::Same, Content::Random, compressible]
    }

    fn value(values: &Values, key: u64, version: u64, len: usize) -> Vec<u8> {
        let mut out = b"before".to_vec();
        values.append(key, version, len, &mut out);
        assert!(out.starts_with(b"before") && out.len() == len + 6);
        out.split_off(6)
    }

    #[test]
    fn any_part_of_a_value_is_distinguished_from_any_other_value() {
        for content in contents() {
            let values = Values::new(content, 7, 2 << 20);
            for len in [0, 1, 7, 16, 17, 511, 513, 5000, BLOCK + 3, 3 * BLOCK] {
                let mut bytes = value(&values, 3, 9, len);
                for step in [1 + len / 7, 600, len.max(1)] {
                    for (n, part) in bytes.chunks(step).enumerate() {
                        assert_eq!(values.differs_at(3, 9, len, n * step, part), None);
                    }
                }
                for at in [0, len / 3, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
                    bytes[at] ^= 1;
                    assert_eq!(values.differs_at(3, 9, len, 0, &bytes), Some(at), "{content:?}");
                    bytes[at] ^= 1;
                }
                bytes.push(b'x');
                assert_eq!(values.differs_at(3, 9, len, 0, &bytes), Some(len), "longer");
            }
        }
    }

    #[test]
    fn keys_versions_and_seeds_have_values_of_their_own() {
        for content in [Content::Random, Content::Compressible { ratio: 3.0 }] {
            let values = Values::new(content, 7, 100);
            let mut seen = std::collections::HashSet::new();
            for (key, version) in (0..100).flat_map(|key| (0..100).map(move |v| (key, v))) {
                let bytes = value(&values, key, version, 40);
                let first = bytes[..8].try_into().unwrap();
                assert_eq!(values.version(key, first), Some(version));
                assert_ne!(values.version(key + 1, first), Some(version));
                assert!(seen.insert(bytes));
            }
            assert!(seen.insert(value(&Values::new(content, 8, 100), 0, 0, 40)));
        }
        assert_eq!(Values::new(Content::Classic, 7, 100).version(1, *b"VXKeHogK"), None);
    }

    #[test]
    fn bytes_of_ycsb_are_printable_in_its_pattern() {
        let values = Values::new(Content::Ycsb, 7, 100);
        let bytes = value(&values, 3, 0, 600);
        let most = [63, 95, 127];
        assert!(bytes.iter().enumerate().all(|(n, b)| (32..=most[n % 3]).contains(b)));
        assert_ne!(bytes[..100], value(&values, 4, 0, 100));
        assert_eq!(ycsb(0xFFFF_FFFF), [63, 95, 127, 63, 95, 127]);
        assert_eq!(value(&values, 3, 0, 2 * BLOCK).len(), 2 * BLOCK, "larger than a block");
    }

    #[test]
    fn classic_bytes_are_those_of_the_peers_whatever_the_key() {
        let values = Values::new(Content::Classic, 7, 8 << 20);
        assert_eq!(value(&values, 1, 2, 8), b"VXKeHogK");
        let long = value(&values, 5, 0, CLASSIC_PERIOD + 100);
        let mut stream = Vec::new();
        Lcg::at(0).fill(long.len(), &mut stream);
        assert!(long == stream, "the stream's period");
    }

    #[test]
    fn values_compress_as_they_say() {
        let compressed = |content, len| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&value(&Values::new(content, 1, len), 1, 1, len as usize)).unwrap();
            f64::from(len) / encoder.finish().unwrap().len() as f64
        };
        for len in [1000, 10_000, 2_000_000] {
            let ratio = compressed(Content::Random, len);
            assert!(ratio < 1.01, "random: {ratio} of {len}");
            // The stamp and what a compressor says of itself weigh more in small values.
            let ratios: &[f64] = if len == 1000 { &[2.0] } else { &[2.0, 4.0, 10.0] };
            for &asked in ratios {
                let ratio = compressed(Content::Compressible { ratio: asked }, len);
                assert!((0.75..1.05).contains(&(ratio / asked)), "{asked}: {ratio} of {len}");
            }
        }
    }
}
