//! `--rfr` and its companions: the nodes that answer reads, in a cluster or of a primary with named replicas.
//!
//! Owns these options and their conflicts. The address of the server is in [`super::target`].

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use naming::{
    CLUSTER, HOST, PORT, REPLICAS, RFR, RFR_CONNECTIONS, RFR_REPLICAS, RFR_WITHOUT, Text, text,
};
use serde::{Deserialize, Serialize};
use workload::{ClusterOptions, Endpoint, NodeShares, ReadFrom, ReplicaFallback};

use crate::address::Address;
use crate::error::first_given;
use crate::text::as_text;
use crate::values::{choices, written};

/// The options.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReplicaOptions {
    /// Nodes that serve reads: primaries (no), replicas (yes), both in turn (all), or of each shard the
    /// one that lately answered soonest (nearest) [default: no; with --replicas: yes]
    #[arg(long, value_name = "WHO", hide_possible_values = true)]
    pub rfr: Option<RfrArg>,
    /// With --rfr yes, if a primary has no ready replica: the primary serves reads itself (primary), or
    /// reads wait (wait) [default: primary]
    #[arg(long, value_name = "WHO", hide_possible_values = true)]
    pub rfr_without: Option<FallbackArg>,
    /// Replicas of each primary to read from, at most [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rfr_replicas: Option<u32>,
    /// Connections to a replica and to a primary, as a ratio [default: 1:1]
    #[arg(long, value_name = "R:P")]
    pub rfr_connections: Option<Shares>,
    /// Further commands to send to replicas, such as a read-only EVAL, by position from 1, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..))]
    pub rfr_also: Vec<u32>,
    /// Give each of the -c clients a connection to every node of the cluster, on which its requests keep
    /// their order
    #[arg(long)]
    pub per_node: bool,
    /// Make --rps the rate of the requests to each node
    #[arg(long, requires = "per_node")]
    pub rps_per_node: bool,
    /// Replicas that serve reads, for a server outside a cluster: HOST:PORT[,HOST:PORT...], such as a
    /// reader endpoint
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["cluster", "spawn"])]
    pub replicas: Vec<Address>,
}

choices! {
    /// `--rfr`.
    RfrArg -> ReadFrom { No => Masters, Yes => Replicas, All => All, Nearest => Nearest }
    /// `--rfr-without`.
    FallbackArg -> ReplicaFallback { Primary => Primary, Wait => Wait }
}

/// [`NodeShares`] as an option.
#[derive(Debug, Clone, Copy)]
pub struct Shares(
    /// The ratio.
    pub NodeShares,
);

written! {
    Shares Self(NodeShares { replica, primary }) => format!("{replica}:{primary}");
}

impl FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shares = text.split_once(':').and_then(|(replica, primary)| {
            let (replica, primary) = (replica.parse().ok()?, primary.parse().ok()?);
            (replica > 0 && primary > 0).then_some(NodeShares { replica, primary })
        });
        shares.map(Self).ok_or_else(|| "expected two numbers from 1, such as 2:1".to_owned())
    }
}

impl ReplicaOptions {
    /// Returns how the nodes are used, where there are several: in a `cluster`, or the named replicas of a server.
    ///
    /// # Errors
    /// Returns the reason, in words for the person who typed it, if the options make no sense.
    pub(crate) fn nodes(&self, cluster: bool) -> Result<Option<ClusterOptions>, Text> {
        let named = !self.replicas.is_empty();
        let read_from = match self.rfr {
            Some(rfr) => rfr.into(),
            None if named => ReadFrom::Replicas,
            None => ReadFrom::default(),
        };
        match first_given(self) {
            Some(option) if !cluster && !named => {
                return Err(text!("{option} requires {CLUSTER} or {REPLICAS}"));
            }
            _ if !cluster && !named => return Ok(None),
            _ => {}
        }
        let (reads, by_turn) = (read_from != ReadFrom::Masters, read_from == ReadFrom::Replicas);
        for (option, given, fits, values) in [
            (RFR_WITHOUT, self.rfr_without.is_some(), by_turn, "yes"),
            (RFR_REPLICAS, self.rfr_replicas.is_some(), reads, "yes, all or nearest"),
            (RFR_CONNECTIONS, self.rfr_connections.is_some(), reads, "yes, all or nearest"),
            (REPLICAS, named, reads, "yes, all or nearest"),
        ] {
            if given && !fits {
                return Err(text!("{option} requires {RFR} {values}"));
            }
        }
        Ok(Some(ClusterOptions {
            read_from,
            without_replica: self.rfr_without.map_or(ReplicaFallback::default(), Into::into),
            replicas_max: self.rfr_replicas,
            connections: self.rfr_connections.map(|Shares(shares)| shares),
            per_node: self.per_node,
            rate_per_node: self.rps_per_node,
        }))
    }

    /// The server with the replicas that are named for it.
    ///
    /// # Errors
    /// Returns an error if it is not a single server at a host and port.
    pub(crate) fn with_named(&self, endpoint: Endpoint) -> Result<Endpoint, Text> {
        let replicas: Vec<_> =
            self.replicas.iter().map(|Address(host, port)| (host.clone(), *port)).collect();
        match endpoint {
            _ if replicas.is_empty() => Ok(endpoint),
            Endpoint::Tcp { host, port } => {
                Ok(Endpoint::Replicated { primary: (host, port), replicas })
            }
            _ => Err(text!("{REPLICAS} requires a primary at a host and port ({HOST}, {PORT})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_shares_are_read() {
        assert_eq!("h:1".parse(), Ok(Address("h".into(), 1)));
        assert_eq!("[::1]:7000".parse(), Ok(Address("::1".into(), 7000)));
        for bad in ["", "h", "h:", "h:x", ":1", "::1", "::1:7000", "h:0", "h:65536"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        let Shares(shares) = "3:2".parse().unwrap();
        assert_eq!(shares, NodeShares { replica: 3, primary: 2 });
        assert!(["", "1", "0:1", "1:0", "a:b"].iter().all(|bad| bad.parse::<Shares>().is_err()));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let none = ReplicaOptions::default;
        let named = vec![Address("r".into(), 1)];
        for (options, cluster, says) in [
            (
                ReplicaOptions { rfr: Some(RfrArg::Yes), ..none() },
                false,
                "--rfr requires --cluster or --replicas",
            ),
            (
                ReplicaOptions { rfr_replicas: Some(1), ..none() },
                true,
                "--rfr-replicas requires --rfr yes, all or nearest",
            ),
            (
                ReplicaOptions {
                    rfr: Some(RfrArg::All),
                    rfr_without: Some(FallbackArg::Wait),
                    ..none()
                },
                true,
                "--rfr-without requires --rfr yes",
            ),
            (
                ReplicaOptions { rfr: Some(RfrArg::No), replicas: named.clone(), ..none() },
                false,
                "--replicas requires --rfr yes, all or nearest",
            ),
        ] {
            assert_eq!(options.nodes(cluster).unwrap_err().to_string(), says);
        }
        assert_eq!(none().nodes(false), Ok(None));
        let nodes = ReplicaOptions { replicas: named, ..none() }.nodes(false).unwrap().unwrap();
        assert_eq!(nodes.read_from, ReadFrom::Replicas);
    }
}
