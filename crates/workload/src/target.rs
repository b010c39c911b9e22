//! The server to connect to, and the login.
//!
//! Owns endpoints and credentials as data. `runner` and `engine` resolve names and open sockets. A password
//! is a [`Secret`], which no format, log or debug print shows.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use crate::secret::{Secret, SecretBytes, shown_arguments};
use crate::unmasked::is_unmasked;

/// A server, and the initial state of every connection to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Address of the server.
    pub endpoint: Endpoint,
    /// Credentials to log in with, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// A command that prints the password, if each login asks for it because it changes while load runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_command: Option<Secret>,
    /// TLS settings of every connection; `None` without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsOptions>,
    /// The database to `SELECT`; 0 needs no command.
    pub db: u32,
    /// Set if `CLIENT TRACKING on` is sent.
    pub tracking: bool,
    /// Set if `CLIENT NO-TOUCH on` is sent, so that reads do not change when a key was last used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_touch: bool,
    /// Set if connections are opened with MPTCP (Linux, RFC 8684).
    pub mptcp: bool,
    /// Local addresses to connect from, in turn; empty for the kernel's choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
    /// Set if the endpoint is a node of a cluster whose other nodes get load too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterOptions>,
}

/// Use of a cluster, or of a primary with its replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterOptions {
    /// Nodes that answer read-only commands.
    pub read_from: ReadFrom,
    /// Fallback for reads from a replica if there is none.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub without_replica: ReplicaFallback,
    /// Maximum number of replicas of each primary to read from; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas_max: Option<u32>,
    /// Ratio of the connections of a replica and of a primary; `None` for equal numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<NodeShares>,
    /// Set if each connection of the plan is a client with a connection to every node that gets load, on
    /// which its requests keep their order.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub per_node: bool,
    /// Set if the rate applies to each primary. A plan that is carried out has the total rate.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rate_per_node: bool,
}

/// Ratio of the connections to each replica and to each primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShares {
    /// Connections to each replica, from 1.
    pub replica: u32,
    /// Connections to each primary, from 1.
    pub primary: u32,
}

/// Nodes of a shard that answer read-only commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadFrom {
    /// The master, as for all other commands.
    #[default]
    Masters,
    /// The replicas in turn; without any, [`ReplicaFallback`] applies.
    Replicas,
    /// The master and its replicas in turn.
    All,
    /// The node that has recently answered fastest.
    Nearest,
}

/// Fallback for a read from a replica while its master has no ready one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaFallback {
    /// The master answers it.
    #[default]
    Primary,
    /// The read waits for a replica: the former one, or another.
    Wait,
}

/// An address as the user gave it, names unresolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// A host name or IP address (IPv6 without brackets), and a port.
    Tcp {
        /// Name or address.
        host: String,
        /// Port, 0 to 65535.
        port: u16,
    },
    /// The path of a unix socket.
    Unix(#[serde(with = "crate::bytes::path")] PathBuf),
    /// The primary with that name, at the address that these sentinels give.
    Sentinel {
        /// Names or addresses, and ports.
        sentinels: Vec<(String, u16)>,
        /// The primary's name at the sentinels.
        name: String,
    },
    /// Several independent servers: each key belongs to one of them.
    Ring {
        /// Endpoints of the servers: a host and a port, or a unix socket.
        servers: Vec<Endpoint>,
        /// Hash that distributes the keys.
        hash: RingHash,
    },
    /// Several interchangeable servers: connections take them in turn, and any request takes any connection.
    Pool {
        /// Endpoints of the servers: a host and a port, or a unix socket.
        servers: Vec<Endpoint>,
    },
    /// A primary and replicas of it, outside a cluster: writes go to the primary, reads to the others as
    /// [`ClusterOptions`] say.
    Replicated {
        /// Name or address, and port, of the primary.
        primary: (String, u16),
        /// Hosts and ports of its replicas.
        replicas: Vec<(String, u16)>,
    },
    /// A private server, started for the run and stopped after it.
    Spawned {
        /// Program of the server, a name or a path; `None` for any installed server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
        /// Further arguments of the server. Saved without their passwords.
        #[serde(serialize_with = "without_passwords")]
        args: Vec<String>,
        /// Set if it listens on a unix socket instead of a loopback port.
        unix: bool,
        /// CPUs that it is pinned to; empty for the kernel's choice.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cpus: Vec<usize>,
        /// Set if an instrument counts its instructions, so that it starts and ends slowly.
        #[serde(skip)]
        counted: bool,
    },
}

/// Rule by which several servers share out keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingHash {
    /// The nearest of a server's many points on a circle: few keys move when a server comes or goes.
    #[default]
    Ketama,
    /// Hash modulo the number of servers.
    Modulo,
    /// Java's hash of the key modulo the number of servers, spymemcached's default.
    Spymemcached,
}

impl fmt::Display for RingHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ketama => "ketama",
            Self::Modulo => "modulo",
            Self::Spymemcached => "spymemcached",
        })
    }
}

impl FromStr for RingHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Ketama, Self::Modulo, Self::Spymemcached];
        let known = all.into_iter().find(|hash| hash.to_string() == text);
        known.ok_or_else(|| format!("{text:?}: expected ketama, modulo or spymemcached"))
    }
}

impl Target {
    /// Returns whether the key decides on the server of a request.
    pub fn is_by_key(&self) -> bool {
        self.cluster.is_some() || self.ring().is_some()
    }

    /// Returns whether connections are clients with a connection to every node.
    pub fn has_clients(&self) -> bool {
        self.cluster.is_some_and(|options| options.per_node)
    }

    /// Returns whether the nodes form a cluster, which knows its topology.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some() && !self.names_replicas()
    }

    /// Returns whether replicas outside a cluster are named.
    pub fn names_replicas(&self) -> bool {
        matches!(self.endpoint, Endpoint::Replicated { .. })
    }

    /// The servers, if several independent ones are named.
    pub fn servers(&self) -> Option<&[Endpoint]> {
        match &self.endpoint {
            Endpoint::Ring { servers, .. } | Endpoint::Pool { servers } => Some(servers),
            _ => None,
        }
    }

    /// The servers that share out keys, and their rule.
    pub fn ring(&self) -> Option<(&[Endpoint], RingHash)> {
        match &self.endpoint {
            Endpoint::Ring { servers, hash } => Some((servers, *hash)),
            _ => None,
        }
    }
}

fn without_passwords<S: Serializer>(args: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    if is_unmasked() {
        serializer.collect_seq(args)
    } else {
        serializer.collect_seq(shown_arguments(args))
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::Tcp { host: "127.0.0.1".into(), port: 6379 }
    }
}

/// A server at a host and port.
impl From<&(String, u16)> for Endpoint {
    fn from((host, port): &(String, u16)) -> Self {
        Self::Tcp { host: host.clone(), port: *port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Sentinel { name, .. } => write!(f, "the primary of {name:?}"),
            Self::Replicated { primary, .. } => Self::from(primary).fmt(f),
            Self::Ring { servers, .. } | Self::Pool { servers } => {
                let servers: Vec<String> = servers.iter().map(Self::to_string).collect();
                f.write_str(&servers.join(","))
            }
            Self::Spawned { .. } => f.write_str("a server started for this run"),
        }
    }
}

/// TLS settings: files by their paths, and lists in OpenSSL's format. The content of a file is read when the
/// server is probed, and shown nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsOptions {
    /// The name that replaces the host's in the request and in the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// Checks of the server's certificate.
    pub verify: Verify,
    /// File of trusted CA certificates; without it and the directory, the system's are trusted.
    #[serde(
        default,
        with = "crate::bytes::optional_path",
        skip_serializing_if = "Option::is_none"
    )]
    pub cacert: Option<PathBuf>,
    /// Directory of trusted CA certificates by their hash.
    #[serde(
        default,
        with = "crate::bytes::optional_path",
        skip_serializing_if = "Option::is_none"
    )]
    pub cacertdir: Option<PathBuf>,
    /// File of the client's certificate.
    #[serde(
        default,
        with = "crate::bytes::optional_path",
        skip_serializing_if = "Option::is_none"
    )]
    pub cert: Option<PathBuf>,
    /// File of the certificates between it and the CA, where the first file does not have them.
    #[serde(
        default,
        with = "crate::bytes::optional_path",
        skip_serializing_if = "Option::is_none"
    )]
    pub cert_chain: Option<PathBuf>,
    /// File of its key.
    #[serde(
        default,
        with = "crate::bytes::optional_path",
        skip_serializing_if = "Option::is_none"
    )]
    pub key: Option<PathBuf>,
    /// Password of the encrypted key, if it is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<Secret>,
    /// Ciphers up to TLS 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ciphers: Option<String>,
    /// Ciphers of TLS 1.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ciphersuites: Option<String>,
    /// Groups for the exchange of keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// Offered TLS versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocols: Option<String>,
    /// Set if a connection resumes the session of an earlier one.
    pub resume: bool,
    /// Contents of the files, for a client on a host without them; only written in full.
    #[serde(default, skip_serializing_if = "is_not_carried")]
    pub files: Option<TlsFiles>,
}

/// Contents of the files that [`TlsOptions`] name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFiles {
    /// Trusted CA certificates.
    pub cacert: Option<SecretBytes>,
    /// The client's certificate.
    pub cert: Option<SecretBytes>,
    /// Certificates between the client's and the CA.
    #[serde(default)]
    pub cert_chain: Option<SecretBytes>,
    /// Key of the client's certificate.
    pub key: Option<SecretBytes>,
}

fn is_not_carried(files: &Option<TlsFiles>) -> bool {
    files.is_none() || !is_unmasked()
}

/// Checks of a server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// A trusted CA signed the certificate, and it is for the host.
    #[default]
    Host,
    /// A trusted CA signed the certificate, as in `redis-benchmark`.
    Chain,
    /// Nothing is checked.
    Nothing,
}

/// A login. Without a user it is the password of the `default` user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The ACL user, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The password.
    pub password: Secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_in_no_form() {
        let login = Credentials { user: Some("u".into()), password: Secret::new("hunter2") };
        assert!(!format!("{login:?}").contains("hunter2"));
        assert!(!serde_json::to_string(&login).unwrap().contains("hunter2"));
        assert_eq!(login.password.reveal(), "hunter2");
    }

    #[test]
    fn endpoints_print_as_people_write_them() {
        let v6 = Endpoint::Tcp { host: "::1".into(), port: 6379 };
        assert_eq!(v6.to_string(), "[::1]:6379");
        assert_eq!(Endpoint::default().to_string(), "127.0.0.1:6379");
        assert_eq!(Endpoint::Unix("/tmp/s".into()).to_string(), "/tmp/s");
    }
}
