//! By whose name we are called: by that of a link, or with `--as`.

use report::Persona;

/// The names of the tools whose place we take.
pub(super) const PEERS: [&str; 2] = ["redis-benchmark", "valkey-benchmark"];

/// Who goes by a name.
pub(super) fn named(name: &str) -> Persona {
    let peers = [Persona::Redis, Persona::Valkey, Persona::Ycsb];
    peers.into_iter().find(|peer| peer.program() == name).unwrap_or_default()
}

/// What `--version` prints. A peer's is that of the version whose ways we keep: of redis-benchmark
/// 7.0.15, which the tests run beside ours, and of valkey-benchmark 9.1, the first with the options
/// that we take from it.
pub(super) fn version(persona: Persona) -> String {
    let version = match persona {
        Persona::Ours => env!("CARGO_PKG_VERSION"),
        Persona::Redis => "7.0.15",
        Persona::Valkey => "9.1.0",
        Persona::Ycsb => "0.18.0-SNAPSHOT",
        // Their own front ends answer.
        Persona::Memtier | Persona::RpcPerf => "",
    };
    format!("{} {version}\n", persona.program())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_versions_tell() {
        for name in PEERS {
            assert!(version(named(name)).starts_with(name) && named(name).is_peer());
        }
        assert_eq!(named("keystorm compare"), Persona::Ours);
    }
}
