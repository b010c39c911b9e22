//! Questions to memcached before and after load: login, identity, and counts.
//!
//! The counterpart of [`crate::probe()`], with the same errors and another protocol.

mod client;
mod probe;

pub(crate) use client::Dialect;
pub use client::MemcacheClient;
pub(crate) use probe::is_there;
pub use probe::{log_in, probe};

/// Returns whether a memcached of this version writes the reply to each `get` of a pipeline with a separate
/// system call. Since 1.6.35 they leave together, like all other replies. `false` for a malformed version.
pub fn answers_gets_singly(version: &str) -> bool {
    const TOGETHER: [u32; 3] = [1, 6, 35];
    let numbers = version.split(['.', '-', '_']).map_while(|part| part.parse().ok());
    let numbers: Vec<u32> = numbers.take(3).collect();
    numbers.len() == 3 && numbers[..] < TOGETHER[..]
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_compared_by_their_numbers() {
        let apart = ["1.6.18", "1.4.4", "1.6.34"];
        assert!(apart.iter().all(|version| super::answers_gets_singly(version)));
        let together = ["1.6.35", "1.6.38-1", "1.7.0", "2.0.0", "unstable", "df-v1.21"];
        assert!(!together.iter().any(|version| super::answers_gets_singly(version)));
    }
}
