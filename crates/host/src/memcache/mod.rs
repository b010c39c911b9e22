//! memcached, asked before and after load: does it let us in, what is it, what did it count?
//!
//! The counterpart of [`crate::probe()`]: the same errors, another language.

mod client;
mod probe;

pub(crate) use client::Dialect;
pub use client::MemcacheClient;
pub(crate) use probe::is_there;
pub use probe::{log_in, probe};

/// Returns whether a memcached of this version writes the reply to each `get` of a pipeline with a system call of its
/// own. Since 1.6.35 they leave together, as all other replies do. `false` for a text that is no version.
#[must_use]
pub fn answers_gets_apart(version: &str) -> bool {
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
        assert!(apart.iter().all(|version| super::answers_gets_apart(version)));
        let together = ["1.6.35", "1.6.38-1", "1.7.0", "2.0.0", "unstable", "df-v1.21"];
        assert!(!together.iter().any(|version| super::answers_gets_apart(version)));
    }
}
