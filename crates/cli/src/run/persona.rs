//! By whose name we are called: by that of a link, or with `--as`.

use report::{KEYSTORM, Persona, REDIS_BENCHMARK, VALKEY_BENCHMARK};

/// The names of the tools whose place we take.
pub(super) const PEERS: [&str; 2] = ["redis-benchmark", "valkey-benchmark"];

/// Who goes by a name.
pub(super) fn named(name: &str) -> Persona {
    let peers = [REDIS_BENCHMARK, VALKEY_BENCHMARK];
    peers.into_iter().find(|peer| peer.program == name).unwrap_or(KEYSTORM)
}

/// What `--version` prints. A peer's is that of the version whose ways we keep: of redis-benchmark
/// 7.0.15, which the tests run beside ours, and of valkey-benchmark 9.1, the first with the options
/// that we take from it.
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
            assert!(version(named(name)).starts_with(name) && named(name).is_peer());
        }
        assert_eq!(named("keystorm compare"), KEYSTORM);
    }
}
