//! spymemcached's default: Java's hash of the key modulo the count of servers.

/// Returns the server of a key: Java's hash of its characters, which are bytes here, as an unsigned number.
#[inline]
pub(super) fn server(key: &[u8], servers: u32) -> u16 {
    let hash =
        key.iter().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    (hash % servers.max(1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes from spymemcached 2.11.4: `new ConnectionFactoryBuilder().build().getHashAlg().hash(key)`, which its
    /// `ArrayModNodeLocator` divides by the count.
    #[test]
    fn keys_lie_where_spymemcached_stores_them() {
        for (key, hash) in [
            ("dustin", 2_974_507_863_u32),
            ("x", 120),
            ("usertable-user6284781860667377211", 1_040_043_847),
            ("usertable-user8517097267634966620", 1_320_771_541),
            ("usertable-user1820151046732198393", 1_296_792_212),
            ("usertable-user4052466453699787802", 220_715_246),
            ("usertable-user2071219101098386137", 1_117_662_286),
            ("usertable-user5952875239596136740", 1_640_787_641),
        ] {
            for servers in [2, 3, 5, 999] {
                assert_eq!(u32::from(server(key.as_bytes(), servers)), hash % servers, "{key}");
            }
        }
    }
}
