//! The name by which keystorm was called: that of a link, or the one given with `--as`.

use report::{KEYSTORM, Persona, REDIS_BENCHMARK, VALKEY_BENCHMARK};

/// Tools whose command lines this one takes.
pub(super) const PEERS: [&str; 2] = ["redis-benchmark", "valkey-benchmark"];

/// The persona that has this name, or keystorm's.
pub(super) fn named(name: &str) -> Persona {
    let peers = [REDIS_BENCHMARK, VALKEY_BENCHMARK];
    peers.into_iter().find(|peer| peer.program == name).unwrap_or(KEYSTORM)
}

/// Returns what `--version` prints. By a peer's name it is the version that is imitated: redis-benchmark 7.0.15, with
/// which the tests compare, and valkey-benchmark 9.1, the first with all of the options that keystorm has from it.
pub(super) fn version(persona: Persona) -> String {
    let versions = [(REDIS_BENCHMARK, "7.0.15"), (VALKEY_BENCHMARK, "9.1.0")];
    let version = versions.into_iter().find(|(peer, _)| *peer == persona);
    let version = version.map_or(env!("CARGO_PKG_VERSION"), |(_, version)| version);
    format!("{} {version}\n", persona.program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_versions_tell() {
        for name in PEERS {
            assert!(version(named(name)).starts_with(name) && named(name) != KEYSTORM);
        }
        assert_eq!(named("keystorm compare"), KEYSTORM);
    }
}
