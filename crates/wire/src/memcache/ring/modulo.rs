//! Hash modulo count, libmemcached's default: simple, but nearly every key moves when a server comes or goes.

/// The server of a key by Jenkins's one-at-a-time hash. libmemcached adds bytes as signed characters, which
/// they are on most machines.
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
