//! End of a snapshot (RDB) at the beginning of an append-only file, found without parsing it.
//!
//! It ends with the byte 0xFF and a CRC-64 of everything before, so each 0xFF is tried. Servers that write no
//! checksum write zeros; then commands must follow.

/// Bytes at the start of a snapshot.
pub(super) const MAGIC: &[u8] = b"REDIS";

const END: u8 = 0xff;
const CHECKSUM: usize = 8;
/// The polynomial of Jones, reflected.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u64, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// A snapshot being skipped.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    checksum: u64,
}

impl Snapshot {
    /// Returns the number of input bytes in it, and whether it ends there.
    pub(super) fn skip(&mut self, input: &[u8]) -> (usize, bool) {
        for (at, byte) in input.iter().enumerate() {
            let checksum = TABLE[usize::from(self.checksum as u8 ^ byte)] ^ self.checksum >> 8;
            if *byte == END {
                let rest = &input[at + 1..];
                let Some((stored, behind)) = rest.split_first_chunk::<CHECKSUM>() else {
                    return (at, false);
                };
                let stored = u64::from_le_bytes(*stored);
                let follows = match behind {
                    [b'*', digit, ..] => digit.is_ascii_digit(),
                    [b'#', ..] => true,
                    [] | [b'*'] if stored == 0 => return (at, false),
                    _ => false,
                };
                if stored == checksum || stored == 0 && follows {
                    return (at + 1 + CHECKSUM, true);
                }
            }
            self.checksum = checksum;
        }
        (input.len(), false)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn checksum(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |sum: u64, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
    }

    /// Bytes with the end of a snapshot, and its end mark in the middle.
    pub(in super::super) fn snapshot(has_checksum: bool) -> Vec<u8> {
        let mut bytes =
            b"REDIS0010\xfa\xff\xff\x00\x01\x02\xff\x00\x00\x00\x00\x00\x00\x00\x00x*1\r\n\xff"
                .to_vec();
        let sum = if has_checksum { checksum(&bytes) } else { 0 };
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn the_checksum_is_that_of_servers() {
        assert_eq!(checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }
}
