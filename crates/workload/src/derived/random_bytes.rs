//! Random bytes, different in every request, of which a part may compress.

use std::fmt;
use std::str::FromStr;

use crate::random::Stream;
use crate::values::{CHUNK, FILLER};

/// Random bytes, of which a part may compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RandomBytes {
    /// Bytes.
    pub len: u32,
    /// Approximate compression ratio in hundredths; 100 for incompressible bytes.
    pub ratio_percent: u32,
    /// Number of the random stream; texts of one stream are equal throughout a request.
    pub stream: u8,
}

/// Start of the random streams of bytes, after those of drawn numbers.
const STREAM: u64 = 15 << 56;

impl RandomBytes {
    /// Appends the bytes of request number `request`.
    pub fn append(self, seed: u64, request: u64, out: &mut Vec<u8>) {
        let stream = STREAM.wrapping_add(u64::from(self.stream) << 48);
        let words = Stream::from_seed(Stream::from_seed(seed.wrapping_add(stream)).draw(request));
        let end = out.len() + self.len as usize;
        let random = (CHUNK as u64 * 100 / u64::from(self.ratio_percent.max(100))) as usize;
        let mut next = 0;
        while out.len() < end {
            let chunk_end = (out.len() + CHUNK).min(end);
            let random_end = (out.len() + random).min(end);
            while out.len() < random_end {
                let word = words.draw(next).to_le_bytes();
                next += 1;
                let wanted = (random_end - out.len()).min(word.len());
                out.extend_from_slice(&word[..wanted]);
            }
            out.resize(chunk_end, FILLER);
        }
    }
}

impl fmt::Display for RandomBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { len, ratio_percent, stream } = self;
        write!(f, "{len}")?;
        if *ratio_percent != 100 || *stream > 0 {
            write!(f, ",{}", f64::from(*ratio_percent) / 100.0)?;
        }
        if *stream > 0 {
            write!(f, ",{stream}")?;
        }
        Ok(())
    }
}

impl FromStr for RandomBytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "{text:?}: expected a number of bytes such as 128, or 128,2.5 for \
                compressible ones"
            )
        };
        let mut words = text.split(',');
        let len = words.next().and_then(|len| len.parse().ok()).ok_or_else(fault)?;
        let ratio: f64 = words.next().map_or(Ok(1.0), |word| word.parse().map_err(|_| fault()))?;
        let stream = words.next().map_or(Ok(0), |word| word.parse().map_err(|_| fault()))?;
        if words.next().is_some() || !(1.0..=100.0).contains(&ratio) {
            return Err(fault());
        }
        Ok(Self { len, ratio_percent: (ratio * 100.0).round() as u32, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str, request: u64) -> Vec<u8> {
        let random: RandomBytes = text.parse().unwrap();
        assert_eq!(random.to_string(), text);
        let mut out = b"before".to_vec();
        random.append(7, request, &mut out);
        assert_eq!(out.len() - 6, random.len as usize, "{text}");
        out.split_off(6)
    }

    /// Number of different bytes in a text; nearly all of random bytes differ.
    fn distinct(bytes: &[u8]) -> usize {
        bytes.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    #[test]
    fn bytes_are_random_and_of_their_request() {
        assert_eq!(distinct(&bytes("10000", 1)), 256);
        assert_ne!(bytes("64", 1), bytes("64", 2));
        assert_eq!(bytes("64", 1), bytes("64", 1));
        assert_ne!(bytes("64", 1), bytes("64,1,1", 1));
        assert!(bytes("0", 1).is_empty());
    }

    #[test]
    fn a_part_compresses() {
        let half = bytes("5120,2", 1);
        assert_eq!(half.iter().filter(|byte| **byte == FILLER).count() / 256, 10);
        assert_eq!(half[256..512], [FILLER; 256]);
        for bad in ["", "x", "8,0.5", "8,1,2,3", "8,1,x"] {
            assert!(bad.parse::<RandomBytes>().is_err(), "{bad}");
        }
    }
}
