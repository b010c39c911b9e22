//! Ketama, with the points of libmemcached's `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED` and equal weights:
//! `ketama_weighted` of pylibmc, `OPT_LIBKETAMA_COMPATIBLE` of PHP's memcached, and `LIBMEMCACHED` naming of
//! spymemcached.

/// The port that is left out of a server's name.
const PORT_DEFAULT: u16 = 11211;
/// Points of a server, four for each hash.
const POINTS: f32 = 160.0;
const POINTS_PER_HASH: usize = 4;

/// The points of all servers on the circle of 32 bits, in order.
#[derive(Debug, Clone)]
pub(super) struct Continuum {
    points: Vec<u32>,
    /// The server of each.
    servers: Vec<u16>,
}

impl Continuum {
    pub(super) fn new(servers: &[(String, u16)]) -> Self {
        let mut points = Vec::new();
        for (number, (host, port)) in (0..).zip(servers) {
            for hash in 0..hashes_per_server(servers.len()) {
                let name = match *port {
                    PORT_DEFAULT => format!("{host}-{hash}"),
                    port => format!("{host}:{port}-{hash}"),
                };
                let digest = md5::compute(name).0;
                let (chunks, _) = digest.as_chunks::<4>();
                points.extend(chunks.iter().map(|point| (u32::from_le_bytes(*point), number)));
            }
        }
        points.sort_unstable();
        let (points, servers) = points.into_iter().unzip();
        Self { points, servers }
    }

    /// The server of the first point at or after the key's hash; after the last point comes the first.
    #[inline]
    pub(super) fn server(&self, key: &[u8]) -> u16 {
        let [a, b, c, d, ..] = md5::compute(key).0;
        let hash = u32::from_le_bytes([a, b, c, d]);
        let at = self.points.partition_point(|point| *point < hash);
        let at = if at == self.points.len() { 0 } else { at };
        self.servers.get(at).copied().unwrap_or(0)
    }
}

/// Hashes per server: 40, or now and then 39, as libmemcached computes it in single precision, step by step.
fn hashes_per_server(servers: usize) -> usize {
    let share = 1.0 / servers as f32;
    let points = share * POINTS / POINTS_PER_HASH as f32 * servers as f32;
    (f64::from(points) + 1e-10) as f32 as usize
}
