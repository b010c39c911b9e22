//! Options of the server, and of connections to it, with their values.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ArgMatches;
use serde::{Deserialize, Serialize};
use workload::{Secret, secret, typed_login};

use crate::pool::Server;
use crate::replicas::ReplicaOptions;
use crate::text::as_text;
use crate::values::{Count, Cpus, ProtocolArg, ip, port, written};

/// The server, and connections to it.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ServerOptions {
    /// Server host, or HOST:PORT; several memcached servers share the keys: a,b:11212 [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST", allow_hyphen_values = true)]
    pub host: Option<String>,
    /// Hash by which several memcached servers share the keys: ketama, modulo or spymemcached
    /// [default: ketama]
    #[arg(long, value_name = "HOW")]
    #[serde(with = "crate::text")]
    pub hash: Option<workload::RingHash>,
    /// Protocol; -u memcache:// and --spawn=memcached imply memcache [default: resp]
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<ProtocolArg>,
    /// Server port [default: 6379; memcached: 11211]
    #[arg(short = 'p', long, value_name = "PORT", allow_hyphen_values = true,
          value_parser = port)]
    pub port: Option<u16>,
    /// Unix socket of the server, instead of host and port; @NAME for an abstract one
    #[arg(short = 's', value_name = "PATH", allow_hyphen_values = true)]
    pub socket: Option<PathBuf>,
    /// Server as a URI: redis://[[user]:password@]host[:port][/db], rediss:// for TLS, valkey://,
    /// valkeys://, memcache://, memcaches://, unix:///path?db=N, redis-sentinel://host,.../NAME
    #[arg(short = 'u', value_name = "URI", allow_hyphen_values = true)]
    pub uri: Option<Uri>,
    /// Password; better in REDISCLI_AUTH, which other users cannot read
    #[arg(short = 'a', value_name = "PASSWORD", allow_hyphen_values = true, value_parser = secret)]
    pub password: Option<Secret>,
    /// Options after `-u`, for tools where the last one counts.
    #[arg(skip)]
    #[serde(skip)]
    pub after_uri: OptionsAfterUri,
    /// A command that prints the password, run by sh before each login: for tokens that expire while load
    /// runs. Its first line is the password
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, value_parser = secret, conflicts_with = "password")]
    pub password_command: Option<Secret>,
    /// ACL user; requires a password
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub user: Option<String>,
    /// Database number (SELECT) [default: 0]
    #[arg(long, value_name = "DB", allow_hyphen_values = true)]
    pub dbnum: Option<Count<u32>>,
    /// Use RESP3 (HELLO 3)
    #[arg(short = '3')]
    pub resp3: bool,
    /// Send CLIENT TRACKING ON
    #[arg(long)]
    pub enable_tracking: bool,
    /// Send CLIENT NO-TOUCH ON: reads do not change what is evicted
    #[arg(long)]
    pub no_touch: bool,
    /// Use Multipath TCP
    #[arg(long)]
    pub mptcp: bool,
    /// Cluster, through any node: each command goes to the owner of its key's slot. {tag} in a key
    /// spreads keys over all slots
    #[arg(long, conflicts_with = "spawn")]
    pub cluster: bool,
    /// Nodes that answer reads.
    #[command(flatten)]
    #[serde(flatten)]
    pub replicas: ReplicaOptions,
    /// More servers, interchangeable with that of -h and -p: connections go to all in turn. HOST:PORT or
    /// paths of unix sockets, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "spawn")]
    pub pool: Vec<Server>,
    /// Start a private server for this run: valkey-server or redis-server, whichever is installed,
    /// or PROGRAM, such as memcached
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with_all = ["host", "port", "socket", "uri"])]
    pub spawn: Option<Program>,
    /// Arguments for the spawned server, in one word: '--io-threads 2'
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub spawn_args: Option<ServerArgs>,
    /// CPUs to pin the spawned server to, such as 0 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub server_cpus: Option<Cpus>,
    /// Local addresses to connect from in turn, comma-separated; each has ports for 28,000
    /// connections to one server address
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ip)]
    pub source_ip: Vec<std::net::IpAddr>,
    /// Let the spawned server listen on a unix socket, not on a port
    #[arg(long)]
    pub spawn_unix: bool,
    /// Set if the instructions of the spawned server are counted.
    #[arg(skip)]
    #[serde(skip)]
    pub counted: bool,
}

fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// The TLS options of the peers, with their names, and `--tls-resume`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TlsArgs {
    /// Use TLS, as -u rediss:// does. The server's certificate must be signed by a trusted CA and
    /// match the host
    #[arg(long)]
    pub tls: bool,
    /// Server name for SNI and the certificate, instead of the host
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    pub sni: Option<String>,
    /// PEM file with CA certificates to trust [default: the system's]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub cacert: Option<PathBuf>,
    /// Directory with CA certificates to trust, hashed (openssl rehash)
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub cacertdir: Option<PathBuf>,
    /// Accept any server certificate
    #[arg(long)]
    pub insecure: bool,
    /// PEM file with the client certificate and its chain
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub cert: Option<PathBuf>,
    /// PEM file with the chain of --cert, if that file has none
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub cert_chain: Option<PathBuf>,
    /// Private key of --cert (PEM); its password in KEYSTORM_KEY_PASSWORD
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub key: Option<PathBuf>,
    /// Password of the private key, if it is not in the environment.
    #[arg(skip)]
    #[serde(skip)]
    pub key_password: Option<Secret>,
    /// Ciphers to offer up to TLS 1.2, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub tls_ciphers: Option<String>,
    /// Cipher suites to offer in TLS 1.3, in OpenSSL syntax
    #[arg(long, value_name = "VAL", allow_hyphen_values = true)]
    pub tls_ciphersuites: Option<String>,
    /// Key exchange groups to offer, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub tls_groups: Option<String>,
    /// Versions to offer, such as TLSv1.2,TLSv1.3 [default: OpenSSL's]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub tls_protocols: Option<String>,
    /// Resume TLS sessions on new connections (with -k 0)
    #[arg(long)]
    pub tls_resume: bool,
}

/// Options after `-u` on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct OptionsAfterUri {
    pub(crate) host: bool,
    pub(crate) port: bool,
    pub(crate) user: bool,
    pub(crate) password: bool,
    pub(crate) db: bool,
}

impl OptionsAfterUri {
    /// Reads it off a command line.
    pub fn from_matches(matches: &ArgMatches) -> Self {
        let last = |id| matches.indices_of(id).and_then(Iterator::last);
        let uri = last("uri");
        let after = |id| last(id) > uri;
        Self {
            host: after("host"),
            port: after("port"),
            user: after("user"),
            password: after("password"),
            db: after("dbnum"),
        }
    }
}

/// The URI of `-u`. It may hold a password, so the login is left out where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri(
    /// As it was typed.
    pub String,
);

impl FromStr for Uri {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// `--spawn`: a program, or whichever is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(
    /// The program.
    pub Option<String>,
);

impl FromStr for Program {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self((!text.is_empty()).then(|| text.to_owned())))
    }
}

/// `--spawn-args`: arguments in one word, in which a password is written as `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerArgs(
    /// Arguments one by one.
    pub Vec<String>,
);

impl FromStr for ServerArgs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        shell_words::split(text).map(Self).map_err(|why| why.to_string())
    }
}

written! {
    Uri Self(uri) => typed_login::shown_address(uri);
    Program Self(program) => program.clone().unwrap_or_default();
    ServerArgs Self(args) => shell_words::join(secret::shown_arguments(args));
}
