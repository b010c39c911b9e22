//! `--read-preference` and its companions: their conflicts with other options, and their translation into a load.

use spec::{FallbackArg, ReplicaOptions, RfrArg, Shares};
use workload::NodeShares;

use super::fault::{Fault, check_error};
use super::options::Options;
use super::values::{NEAREST, PRIMARY, SECONDARY};

/// Returns whether requests go to several servers that are in no cluster.
fn names_replicas(options: &Options) -> bool {
    !options.read_servers.is_empty() && options.read_preference != PRIMARY
}

/// Refuses what contradicts other options.
pub(super) fn check(options: &Options) -> Result<(), Fault> {
    let preference = options.read_preference;
    if options.transaction && preference != PRIMARY {
        return Err(check_error(format!(
            "--transaction and --read-preference {preference} are mutually exclusive."
        )));
    }
    if !options.read_servers.is_empty() && options.cluster {
        return Err(check_error(
            "--read-server and --cluster-mode are mutually exclusive: a cluster names its replicas.",
        ));
    }
    if names_replicas(options) {
        let refused = [
            (options.reconnect_interval > 0, "reconnect-interval"),
            (options.wait_ratio.is_some(), "wait-ratio"),
            (options.unix_socket.is_some(), "unix-socket"),
            (options.clients_start.is_some(), "clients-start"),
            (options.scan_walk, "scan-incremental-iteration"),
        ];
        if let Some((_, name)) = refused.into_iter().find(|(given, _)| *given) {
            return Err(check_error(format!(
                "--{name} with --read-server is not carried out by keystorm: a connection leads to \
                 one server, and no client has one to each; see docs/memtier.md"
            )));
        }
    }
    Ok(())
}

/// Warnings about options that have no effect.
pub(super) fn notes(options: &Options) -> Vec<String> {
    if options.read_preference != PRIMARY {
        let unread = !options.cluster && options.read_servers.is_empty();
        let text =
            "warning: --read-preference has no effect without --cluster-mode or --read-server";
        return unread.then(|| text.to_owned()).into_iter().collect();
    }
    let unread = [
        (!options.read_servers.is_empty(), "read-server"),
        (options.replica_clients.is_some(), "replica-clients"),
        (options.replicas_per_shard.is_some(), "replicas-per-shard"),
    ];
    let names = unread.into_iter().filter(|(given, _)| *given).map(|(_, name)| name);
    names
        .map(|name| format!("warning: --{name} has no effect with --read-preference primary"))
        .collect()
}

/// Says in `replicas` who answers reads.
pub(super) fn describe(options: &Options, replicas: &mut ReplicaOptions) {
    replicas.rfr = None;
    if options.read_preference == PRIMARY || !(options.cluster || names_replicas(options)) {
        return;
    }
    replicas.replicas.clone_from(&options.read_servers);
    let nearest = options.read_preference == NEAREST;
    replicas.rfr = Some(if nearest { RfrArg::Nearest } else { RfrArg::Yes });
    if options.read_preference == SECONDARY && options.read_fallback != PRIMARY {
        replicas.rfr_without = Some(FallbackArg::Wait);
    }
    replicas.rfr_replicas = options.replicas_per_shard;
    replicas.rfr_connections = options
        .replica_clients
        .map(|replica| Shares(NodeShares { replica, primary: options.clients }));
}

#[cfg(test)]
mod tests {
    use spec::LoadSpec;

    use super::*;
    use crate::memtier::options::tests::parsed;

    fn words(options: &Options) -> String {
        let mut spec = LoadSpec::default();
        describe(options, &mut spec.server.replicas);
        spec.words().unwrap().join(" ")
    }

    #[test]
    fn every_preference_has_its_words() {
        for (line, words) in [
            ("--read-preference primary", ""),
            ("--read-preference secondaryPreferred", "--rfr yes"),
            ("--read-preference nearest", "--rfr nearest"),
            ("--read-preference secondary", "--rfr yes --rfr-without wait"),
            ("--read-preference secondary --read-preference-fallback primary", "--rfr yes"),
            (
                "--read-preference secondaryPreferred --replicas-per-shard 2 --replica-clients 25",
                "--rfr yes --rfr-replicas 2 --rfr-connections 25:50",
            ),
        ] {
            assert_eq!(
                self::words(&parsed(&format!("--cluster-mode {line}")).unwrap()),
                words,
                "{line}"
            );
        }
        let named =
            parsed("--read-preference nearest --read-server a:1 --read-server b:2").unwrap();
        assert_eq!(words(&named), "--rfr nearest --replicas a:1,b:2");
        assert!(notes(&named).is_empty());
    }

    #[test]
    fn what_has_no_effect_is_reported_and_what_is_none_is_refused() {
        let options = parsed("--read-preference secondary").unwrap();
        assert!(notes(&options)[0].contains("--read-preference has no effect"));
        assert_eq!(words(&options), "");
        let options = parsed("--read-server a:1").unwrap();
        assert!(notes(&options)[0].contains("--read-server has no effect"));
        for bad in ["localhost", "localhost:", "localhost:abc", ":6379", ""] {
            let fault = parsed(&format!("--read-server={bad}"));
            assert!(matches!(fault, Err(Fault::Usage(why)) if why.contains("expected HOST:PORT")));
        }
    }
}
