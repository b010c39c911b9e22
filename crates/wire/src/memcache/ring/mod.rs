//! The server of a key, out of several, by the rules of libmemcached or spymemcached.
//!
//! memcached servers do not know each other, so clients agree on the server of each key. A [`Ring`] is built
//! once; lookups allocate nothing.

mod ketama;
mod modulo;
mod spymemcached;

use workload::RingHash;

/// Servers that share out keys.
#[derive(Debug, Clone)]
pub struct Ring(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Ketama(ketama::Continuum),
    Modulo(u32),
    Spymemcached(u32),
}

impl Ring {
    /// Builds the ring of servers by host and port, in the clients' order. A unix socket is its path and port
    /// 0.
    pub fn new(servers: &[(String, u16)], hash: RingHash) -> Self {
        Self(match hash {
            RingHash::Ketama => Kind::Ketama(ketama::Continuum::new(servers)),
            RingHash::Modulo => Kind::Modulo(servers.len() as u32),
            RingHash::Spymemcached => Kind::Spymemcached(servers.len() as u32),
        })
    }

    /// The number of a key's server.
    #[inline]
    pub fn server(&self, key: &[u8]) -> u16 {
        match &self.0 {
            Kind::Ketama(continuum) => continuum.server(key),
            Kind::Modulo(servers) => modulo::server(key, *servers),
            Kind::Spymemcached(servers) => spymemcached::server(key, *servers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers on which libmemcached itself stored keys; the file says how they were recorded.
    const LIBMEMCACHED: &str = include_str!("libmemcached.txt");

    #[test]
    fn keys_lie_where_libmemcached_stores_them() {
        let mut lines = LIBMEMCACHED.lines().filter(|line| !line.starts_with('#'));
        let keys: Vec<&str> = lines.next().unwrap().split(' ').skip(1).collect();
        let mut compared = 0;
        while let (Some(servers), Some(places)) = (lines.next(), lines.next()) {
            let (hash, servers) = servers.split_once(' ').unwrap();
            let named: Vec<(String, u16)> = servers
                .split(' ')
                .map(|server| server.rsplit_once(':').unwrap())
                .map(|(host, port)| (host.to_owned(), port.parse().unwrap()))
                .collect();
            let ring = Ring::new(&named, hash.parse().unwrap());
            for (key, place) in keys.iter().zip(places.split(' ')) {
                let found = ring.server(key.as_bytes()).to_string();
                assert_eq!(found, place, "{hash} {servers}: {key}");
                compared += 1;
            }
        }
        assert_eq!(compared, 6 * 53);
    }

    #[test]
    fn ketama_shares_out_evenly_and_moves_little_when_a_server_goes() {
        let servers: Vec<(String, u16)> = (1..=4).map(|n| (format!("10.0.0.{n}"), 11211)).collect();
        let (four, three) =
            (Ring::new(&servers, RingHash::Ketama), Ring::new(&servers[..3], RingHash::Ketama));
        let (mut counts, mut moved) = ([0u32; 4], 0);
        for key in 0..40_000 {
            let key = format!("key:{key:012}");
            let before = four.server(key.as_bytes());
            counts[usize::from(before)] += 1;
            moved += u32::from(before < 3 && before != three.server(key.as_bytes()));
        }
        assert!(counts.iter().all(|count| (8_000..12_000).contains(count)), "{counts:?}");
        assert_eq!(moved, 0, "only the keys of the server that went move");
    }
}
