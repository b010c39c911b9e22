//! Hash modulo count, libmemcached's default: simple, and nearly every key moves when a server comes or
//! goes.

/// The server of a key: Jenkins's one-at-a-time hash. libmemcached adds bytes as the signed characters
/// that they are on most machines.
#[inline]
pub(super) fn server(key: &[u8], servers: u32) -> u16 {
    let mut hash = 0u32;
    for byte in key {
        hash = hash.wrapping_add(i32::from(*byte as i8) as u32);
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash = hash.wrapping_add(hash << 15);
    (hash % servers.max(1)) as u16
}
