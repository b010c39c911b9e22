//! `--read-preference` and its companions: their conflicts with other options, and their translation into a load.

use spec::{FallbackArg, ReplicaOptions, RfrArg, Shares};
use workload::NodeShares;

use super::fault::{Fault, check_error};
use super::options::{FALLBACKS, NEAREST, Options, PRIMARY, ReadOptions, SECONDARY};

impl ReadOptions {
    /// Returns whether requests go to several servers that are in no cluster.
    pub(super) fn names_replicas(&self) -> bool {
        !self.servers.is_empty() && self.preference != PRIMARY
    }

    /// Refuses what contradicts other options.
    pub(super) fn check(&self, options: &Options) -> Result<(), Fault> {
        let preference = self.preference;
        if options.transaction && preference != PRIMARY {
            return Err(check_error(format!(
                "--transaction and --read-preference {preference} are mutually exclusive."
            )));
        }
        if !self.servers.is_empty() && options.cluster {
            return Err(check_error(
                "--read-server and --cluster-mode are mutually exclusive: a cluster names its replicas.",
            ));
        }
        if self.names_replicas() {
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
    pub(super) fn notes(&self, options: &Options) -> Vec<String> {
        let from_replicas = self.preference != PRIMARY;
        let unread = [
            (
                from_replicas && !options.cluster && self.servers.is_empty(),
                "--read-preference has no effect without --cluster-mode or --read-server",
            ),
            (
                !from_replicas && !self.servers.is_empty(),
                "--read-server has no effect with --read-preference primary",
            ),
            (
                !from_replicas && self.replica_clients.is_some(),
                "--replica-clients has no effect with --read-preference primary",
            ),
            (
                !from_replicas && self.replicas_per_shard.is_some(),
                "--replicas-per-shard has no effect with --read-preference primary",
            ),
        ];
        let unread_options = unread.into_iter().filter(|(unread_options, _)| *unread_options);
        unread_options.map(|(_, what)| format!("warning: {what}")).collect()
    }

    /// Says in `replicas` who answers reads.
    pub(super) fn describe(&self, options: &Options, replicas: &mut ReplicaOptions) {
        replicas.rfr = None;
        if self.preference == PRIMARY || !(options.cluster || self.names_replicas()) {
            return;
        }
        replicas.replicas.clone_from(&self.servers);
        let nearest = self.preference == NEAREST;
        replicas.rfr = Some(if nearest { RfrArg::Nearest } else { RfrArg::Yes });
        if self.preference == SECONDARY && self.fallback() != PRIMARY {
            replicas.rfr_without = Some(FallbackArg::Wait);
        }
        replicas.rfr_replicas = self.replicas_per_shard;
        replicas.rfr_connections = self
            .replica_clients
            .map(|replica| Shares(NodeShares { replica, primary: options.clients }));
    }

    /// The choice for reads without a replica, or the default.
    pub(super) fn fallback(&self) -> &'static str {
        self.fallback.unwrap_or(FALLBACKS[0])
    }
}

#[cfg(test)]
mod tests {
    use spec::LoadSpec;

    use super::*;

    fn read(line: &'static str) -> (ReadOptions, Options) {
        let mut reading = ReadOptions::default();
        for pair in line.split_whitespace().collect::<Vec<_>>().chunks(2) {
            assert_eq!(reading.take(pair[0], pair[1]), Ok(()), "{line}");
        }
        (reading, Options::new())
    }

    fn words(reading: &ReadOptions, options: &Options) -> String {
        let mut spec = LoadSpec::default();
        reading.describe(options, &mut spec.server.replicas);
        spec.words().unwrap().join(" ")
    }

    #[test]
    fn every_preference_has_its_words() {
        let cluster = Options { cluster: true, ..Options::new() };
        for (line, words) in [
            ("read-preference primary", ""),
            ("read-preference secondaryPreferred", "--rfr yes"),
            ("read-preference nearest", "--rfr nearest"),
            ("read-preference secondary", "--rfr yes --rfr-without wait"),
            ("read-preference secondary read-preference-fallback primary", "--rfr yes"),
            (
                "read-preference secondaryPreferred replicas-per-shard 2 replica-clients 25",
                "--rfr yes --rfr-replicas 2 --rfr-connections 25:50",
            ),
        ] {
            assert_eq!(self::words(&read(line).0, &cluster), words, "{line}");
        }
        let (named, alone) = read("read-preference nearest read-server a:1 read-server b:2");
        assert_eq!(words(&named, &alone), "--rfr nearest --replicas a:1,b:2");
        assert!(named.notes(&alone).is_empty());
    }

    #[test]
    fn what_has_no_effect_is_reported_and_what_is_none_is_refused() {
        let (reading, options) = read("read-preference secondary");
        assert!(reading.notes(&options)[0].contains("--read-preference has no effect"));
        assert_eq!(words(&reading, &options), "");
        let (reading, options) = read("read-server a:1");
        assert!(reading.notes(&options)[0].contains("--read-server has no effect"));
        for bad in ["localhost", "localhost:", "localhost:abc", ":6379", ""] {
            let fault = ReadOptions::default().take("read-server", bad);
            assert!(matches!(fault, Err(Fault::Usage(why)) if why.contains("expected HOST:PORT")));
        }
    }
}
