//! Where to connect, and as whom.
//!
//! Owns endpoints and credentials as data. Resolving a name and opening a socket are left to
//! `runner` and `engine`. A password is a [`Secret`], which no format, log or debug print shows.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use crate::in_full::is_in_full;
use crate::secret::{Secret, SecretBytes, shown_arguments};

/// A server and the state that every connection to it is brought into before it carries load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Address at which the server listens.
    pub endpoint: Endpoint,
    /// Credentials to log in with, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// A command that prints the password, which is then asked for before each login and changes while load runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_command: Option<Secret>,
    /// TLS on every connection, if it is spoken there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsOptions>,
    /// The database to `SELECT`; 0 needs no command.
    pub db: u32,
    /// Set if `CLIENT TRACKING on` is sent.
    pub tracking: bool,
    /// Set if `CLIENT NO-TOUCH on` is sent: reads then leave alone when a key was last used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_touch: bool,
    /// Set if connections are opened with MPTCP (Linux, RFC 8684).
    pub mptcp: bool,
    /// Local addresses that connections are opened from, in turn; none for the kernel's choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
    /// Set if the endpoint is a node of a cluster whose other nodes get load too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterOptions>,
}

/// Use of a cluster, or of a primary with its replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterOptions {
    /// Nodes that answer commands that only read.
    pub read_from: ReadFrom,
    /// Fallback for reads that are for a replica where there is none.
    #[serde(default, skip_serializing_if = "ReplicaFallback::is_default")]
    pub without_replica: ReplicaFallback,
    /// Replicas of each primary that are read from, at most; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas_max: Option<u32>,
    /// Connections of a replica and of a primary, one in relation to the other; `None` for as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<NodeShares>,
    /// Set if each connection of the plan is a client that has a connection to every node that gets load, on which its
    /// requests keep their order.
    #[serde(default, skip_serializing_if = "is_false")]
    pub per_node: bool,
    /// Set if the rate is that of the requests to each primary. A plan that is carried out has the rate of all of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rate_per_node: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Connections to each replica in relation to those to each primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShares {
    /// Connections to each replica, from 1.
    pub replica: u32,
    /// Connections to each primary, from 1.
    pub primary: u32,
}

/// Nodes of a shard that answer commands that only read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadFrom {
    /// The master, as for all other commands.
    #[default]
    Masters,
    /// The replicas in turn; where there is none, [`ReplicaFallback`] says.
    Replicas,
    /// The master and its replicas in turn.
    All,
    /// Whichever of its master and its replicas has answered soonest of late.
    Nearest,
}

/// Fallback for a read that is for a replica, while its master has none that is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaFallback {
    /// The master answers it.
    #[default]
    Primary,
    /// The read waits for a replica: the one that was there, or another.
    Wait,
}

impl ReplicaFallback {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
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
    /// The primary of that name, wherever these sentinels say that it is.
    Sentinel {
        /// Names or addresses, and ports.
        sentinels: Vec<(String, u16)>,
        /// The name that the sentinels know it by.
        name: String,
    },
    /// Several servers that know nothing of each other: each key belongs to one of them.
    Ring {
        /// Endpoints of the servers: a host and a port, or a unix socket.
        servers: Vec<Endpoint>,
        /// Hash by which keys are shared out.
        hash: RingHash,
    },
    /// Several servers that are interchangeable: each connection is to one of them, in turn, and any request
    /// takes any connection.
    Pool {
        /// Endpoints of the servers: a host and a port, or a unix socket.
        servers: Vec<Endpoint>,
    },
    /// A primary and replicas of it, in no cluster: writes go to one, reads to the others as
    /// [`ClusterOptions`] say.
    Replicated {
        /// Name or address, and port, of the primary.
        primary: (String, u16),
        /// Hosts and ports of its replicas.
        replicas: Vec<(String, u16)>,
    },
    /// A private server, started for the run and gone after it.
    Spawned {
        /// Program of the server, a name or a path; `None` for whichever server is installed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
        /// Arguments beyond those that make it private. Saved without the passwords in them.
        #[serde(serialize_with = "without_passwords")]
        args: Vec<String>,
        /// Set if it listens on a unix socket instead of a loopback port.
        unix: bool,
        /// The CPUs that it is pinned to; none for wherever the kernel likes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cpus: Vec<usize>,
    },
}

/// Rule by which several servers share out keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingHash {
    /// By the nearest of a server's many points on a circle: few keys move when a server comes or goes.
    #[default]
    Ketama,
    /// By hash modulo the count of servers.
    Modulo,
    /// By Java's hash of the key modulo the count of servers, spymemcached's default.
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
    /// Returns whether requests go to one of several servers, each to that of its key.
    #[must_use]
    pub fn is_by_key(&self) -> bool {
        self.cluster.is_some() || self.ring().is_some()
    }

    /// Returns whether connections are clients with a connection to every node.
    #[must_use]
    pub fn has_clients(&self) -> bool {
        self.cluster.is_some_and(|options| options.per_node)
    }

    /// Returns whether the nodes are those of a cluster, which knows them.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some() && !self.names_replicas()
    }

    /// Returns whether replicas are named that are in no cluster.
    #[must_use]
    pub fn names_replicas(&self) -> bool {
        matches!(self.endpoint, Endpoint::Replicated { .. })
    }

    /// The servers, where several are named that know nothing of each other.
    #[must_use]
    pub fn servers(&self) -> Option<&[Endpoint]> {
        match &self.endpoint {
            Endpoint::Ring { servers, .. } | Endpoint::Pool { servers } => Some(servers),
            _ => None,
        }
    }

    /// The servers that share out keys, and how they do.
    #[must_use]
    pub fn ring(&self) -> Option<(&[Endpoint], RingHash)> {
        match &self.endpoint {
            Endpoint::Ring { servers, hash } => Some((servers, *hash)),
            _ => None,
        }
    }
}

fn without_passwords<S: Serializer>(args: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    if is_in_full() {
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

/// Settings of TLS: files by their paths and lists as OpenSSL takes them. The content of a file is read when the server
/// is looked at, and shown nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsOptions {
    /// The name that takes the host's place, in what is asked for and in what is checked.
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
    /// Password that the key is encrypted with, if it is.
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
    /// Versions that are offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocols: Option<String>,
    /// Set if a connection takes up the session of an earlier one.
    pub resume: bool,
    /// Contents of the files, for a client on a host that has none of them: written in full only.
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
    files.is_none() || !is_in_full()
}

/// Checks of a server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// A trusted CA signed it, and it is for the host.
    #[default]
    Host,
    /// A trusted CA signed it, as in `redis-benchmark`.
    Chain,
    /// Nothing.
    Nothing,
}

/// A login. Without a user it is the password of the `default` user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The ACL user, where one was named.
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
