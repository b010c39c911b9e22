//! Numbers in binary formats, and bounds on the claims of such a file.

/// Longest argument whose bytes are kept; for longer ones only the size is.
pub(super) const ARGUMENT_BYTES_MAX: usize = 16 << 20;
/// Maximum number of arguments of a command that servers accept.
pub(super) const ARGUMENTS_MAX: u32 = 1 << 20;

/// A little-endian number; 0 if it is missing.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_le_bytes)
}

/// A little-endian number; 0 if it is missing.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    eight.map_or(0, u64::from_le_bytes)
}
