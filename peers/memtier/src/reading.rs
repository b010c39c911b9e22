//! `--read-preference` and its companions: the nodes that answer reads.
//!
//! Owns these options, their conflicts, and their translation into a load.

use spec::{Address, FallbackArg, ReplicaOptions, RfrArg, Shares};
use workload::NodeShares;
use workload::typed_login::shown_address;

use super::fault::{Fault, check_error, usage_error};
use super::options::Options;
use super::values::{small, word};

const PRIMARY: &str = "primary";
const SECONDARY: &str = "secondary";
const NEAREST: &str = "nearest";
const PREFERENCES: &[&str] = &[PRIMARY, SECONDARY, "secondaryPreferred", NEAREST];
const FALLBACKS: &[&str] = &["error", "queue", PRIMARY];

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadOptions {
    pub(super) preference: &'static str,
    /// Fallback for reads that are for a replica where there is none.
    fallback: Option<&'static str>,
    /// Replicas outside of a cluster.
    pub(super) servers: Vec<Address>,
    /// Connections of a thread to each replica, where that is not as many as to a primary.
    pub(super) replica_clients: Option<u32>,
    pub(super) replicas_per_shard: Option<u32>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            preference: PRIMARY,
            fallback: None,
            servers: Vec::new(),
            replica_clients: None,
            replicas_per_shard: None,
        }
    }
}

impl ReadOptions {
    /// Takes one of these options.
    pub(super) fn take(&mut self, name: &'static str, text: &str) -> Result<(), Fault> {
        match name {
            "read-preference" => self.preference = word(name, text, PREFERENCES)?,
            "read-preference-fallback" => self.fallback = Some(word(name, text, FALLBACKS)?),
            "read-server" => self.servers.push(server(text)?),
            "replica-clients" => self.replica_clients = some(small(name, text, 0)?),
            "replicas-per-shard" => self.replicas_per_shard = some(small(name, text, 0)?),
            _ => unreachable!("{name} is no option of reading"),
        }
        Ok(())
    }

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
        let shares = |replica| Shares(NodeShares { replica, primary: options.clients });
        replicas.rfr_connections = self.replica_clients.map(shares);
    }

    /// The choice for reads without a replica, or the default.
    pub(super) fn fallback(&self) -> &'static str {
        self.fallback.unwrap_or(FALLBACKS[0])
    }
}

/// 0 means not given.
fn some(number: u32) -> Option<u32> {
    Some(number).filter(|number| *number > 0)
}

fn server(text: &str) -> Result<Address, Fault> {
    text.parse().map_err(|_| {
        usage_error(format!("--read-server: expected HOST:PORT, got '{}'.", shown_address(text)))
    })
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
