//! Options of the server, and of connections to it.

use std::path::PathBuf;

use crate::run::pool::Server;
use crate::run::replicas::ReplicaOptions;
use crate::run::values::{ProtocolArg, ip, port, small_count};

#[derive(Debug, clap::Args)]
pub(crate) struct ServerOptions {
    /// Server host, or HOST:PORT; several memcached servers share the keys: a,b:11212 [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST", allow_hyphen_values = true)]
    pub(crate) host: Option<String>,
    /// How several memcached servers share the keys: ketama, modulo or spymemcached [default: ketama]
    #[arg(long, value_name = "HOW")]
    pub(crate) hash: Option<workload::RingHash>,
    /// Protocol; -u memcache:// and --spawn=memcached imply memcache [default: resp]
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<ProtocolArg>,
    /// Server port [default: 6379; memcached: 11211]
    #[arg(short = 'p', long, value_name = "PORT", allow_hyphen_values = true,
          value_parser = port)]
    pub(crate) port: Option<u16>,
    /// Unix socket of the server, instead of host and port; @NAME for an abstract one
    #[arg(short = 's', value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) socket: Option<PathBuf>,
    /// Server as a URI: redis://[[user]:password@]host[:port][/db], rediss:// for TLS, valkey://,
    /// valkeys://, memcache://, memcaches://, unix:///path?db=N, redis-sentinel://host,.../NAME
    #[arg(short = 'u', value_name = "URI", allow_hyphen_values = true)]
    pub(crate) uri: Option<String>,
    /// Password; better in REDISCLI_AUTH, which other users cannot read
    #[arg(short = 'a', value_name = "PASSWORD", allow_hyphen_values = true)]
    pub(crate) password: Option<String>,
    /// No password is taken from the environment: the words are those of a tool that does not look there.
    #[arg(skip)]
    pub(crate) login_by_words: bool,
    /// A command that prints the password, run by sh before each login: for tokens that expire while load
    /// runs. Its first line is the password
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, conflicts_with = "password")]
    pub(crate) password_command: Option<String>,
    /// ACL user; requires a password
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) user: Option<String>,
    /// Database number (SELECT) [default: 0]
    #[arg(long, value_name = "DB", allow_hyphen_values = true, value_parser = small_count)]
    pub(crate) dbnum: Option<u32>,
    /// Use RESP3 (HELLO 3)
    #[arg(short = '3')]
    pub(crate) resp3: bool,
    /// Send CLIENT TRACKING ON
    #[arg(long)]
    pub(crate) enable_tracking: bool,
    /// Send CLIENT NO-TOUCH ON: reads do not change what is evicted
    #[arg(long)]
    pub(crate) no_touch: bool,
    /// Use Multipath TCP
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// Cluster, through any node: each command goes to the owner of its key's slot. {tag} in a key
    /// spreads keys over all slots
    #[arg(long, conflicts_with = "spawn")]
    pub(in crate::run) cluster: bool,
    #[command(flatten)]
    pub(crate) replicas: ReplicaOptions,
    /// Other servers, as good as that of -h and -p: connections go to all in turn. HOST:PORT or paths
    /// of unix sockets, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "spawn")]
    pub(crate) pool: Vec<Server>,
    /// Start a private server for this run: valkey-server or redis-server, whichever is installed,
    /// or PROGRAM, such as memcached
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["host", "port", "socket", "uri"])]
    pub(crate) spawn: Option<Option<String>>,
    /// Arguments for the spawned server, in one word: '--io-threads 2'
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) spawn_args: Option<String>,
    /// CPUs to pin the spawned server to, such as 0 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(crate) server_cpus: Option<String>,
    /// Local addresses to connect from in turn, comma-separated; each has ports for 28,000
    /// connections to one server address
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ip)]
    pub(crate) source_ip: Vec<std::net::IpAddr>,
    /// Let the spawned server listen on a unix socket, not on a port
    #[arg(long)]
    pub(crate) spawn_unix: bool,
}

/// The TLS options of the peers, with their names, and `--tls-resume`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct TlsArgs {
    /// Use TLS, as -u rediss:// does. The server's certificate must be signed by a trusted CA and
    /// match the host
    #[arg(long)]
    pub(in crate::run) tls: bool,
    /// Server name for SNI and the certificate, instead of the host
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    pub(in crate::run) sni: Option<String>,
    /// PEM file with CA certificates to trust [default: the system's]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) cacert: Option<PathBuf>,
    /// Directory with CA certificates to trust, hashed (openssl rehash)
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(in crate::run) cacertdir: Option<PathBuf>,
    /// Accept any server certificate
    #[arg(long)]
    pub(in crate::run) insecure: bool,
    /// PEM file with the client certificate and its chain
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) cert: Option<PathBuf>,
    /// PEM file with the chain of --cert, if that file has none
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) cert_chain: Option<PathBuf>,
    /// Private key of --cert (PEM); its password in KEYSTORM_KEY_PASSWORD
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) key: Option<PathBuf>,
    /// Ciphers to offer up to TLS 1.2, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(in crate::run) tls_ciphers: Option<String>,
    /// Cipher suites to offer in TLS 1.3, in OpenSSL syntax
    #[arg(long, value_name = "VAL", allow_hyphen_values = true)]
    pub(in crate::run) tls_ciphersuites: Option<String>,
    /// Key exchange groups to offer, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(in crate::run) tls_groups: Option<String>,
    /// Versions to offer, such as TLSv1.2,TLSv1.3 [default: OpenSSL's]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(in crate::run) tls_protocols: Option<String>,
    /// Resume TLS sessions on new connections (with -k 0)
    #[arg(long)]
    pub(in crate::run) tls_resume: bool,
}
