//! The server of one case.
//!
//! Owns its life, what it holds and the count of its CPU time. It keeps nothing on disk, and its
//! cores are those of the thread that starts it.

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use host::memcache::MemcacheClient;
use host::{
    Client, Listen, Login, Patience, PlainSocket, Spawn, SpawnKind, SpawnedServer, info_field,
};
use tempfile::TempDir;
use workload::ProtocolKind;

use crate::case::{Case, CaseServer};

/// Clients that it takes: above the connections of every case.
const CLIENTS_MAX: &str = "12000";

#[derive(Debug)]
pub(crate) struct Server {
    // Dropped in this order: our connection, then the server.
    asked: ServerClient,
    spawned: SpawnedServer,
    version: String,
    /// Port for TLS, if the case uses it.
    tls: Option<TlsListener>,
}

/// A port for TLS, with a certificate that clients do not check.
#[derive(Debug)]
struct TlsListener {
    address: host::Address,
    args: Vec<String>,
    _files: TempDir,
}

impl TlsListener {
    fn new() -> Result<Self> {
        let files = tempfile::tempdir().context("a folder for a certificate")?;
        let path = |name: &str| files.path().join(name).display().to_string();
        let (key, certificate) = (path("key.pem"), path("certificate.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-keyout", &key, "-out", &certificate])
            .output()
            .context("openssl makes the certificate: install the package openssl")?;
        ensure!(made.status.success(), "openssl: {}", made.stderr.escape_ascii());
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let port = address.port().to_string();
        let args = ["--tls-port", &port, "--tls-key-file", &key, "--tls-cert-file", &certificate];
        let args = args.into_iter().chain(["--tls-ca-cert-file", &certificate]);
        let args = args.chain(["--tls-auth-clients", "no"]).map(str::to_owned).collect();
        Ok(Self { address: host::Address::Tcp(address), args, _files: files })
    }
}

/// A connection to ask over.
#[derive(Debug)]
enum ServerClient {
    Redis(Client<PlainSocket>),
    Memcached(MemcacheClient),
}

impl Server {
    /// Starts the server of a case, with the data of the case.
    ///
    /// # Errors
    /// Returns an error if the server does not start, or does not take its data.
    pub(crate) fn start(program: &str, case: &Case) -> Result<Self> {
        let is_memcached = matches!(case.of, CaseServer::Memcached(_));
        let (kind, args) = if is_memcached {
            // One worker: the server has one core.
            (SpawnKind::Memcached, &["-c", CLIENTS_MAX, "-t", "1"][..])
        } else {
            (SpawnKind::Redis, &["--maxclients", CLIENTS_MAX][..])
        };
        let tls = if case.tls { Some(TlsListener::new()?) } else { None };
        let args = args.iter().map(|&arg| arg.to_owned());
        let spawn = Spawn {
            kind,
            program: Some(program.to_owned()),
            args: args.chain(tls.iter().flat_map(|tls| tls.args.clone())).collect(),
            listen: if case.unix { Listen::Unix } else { Listen::Loopback },
            guard: std::env::current_exe().context("finding this program")?,
            is_counted: false,
        };
        let spawned = spawn.start()?;
        let asked = if is_memcached {
            match spawned.address() {
                host::Address::Tcp(address) => case.fill_memcached(TcpStream::connect(address)?)?,
                host::Address::Unix(path) => case.fill_memcached(UnixStream::connect(path)?)?,
            }
            let (login, patience) = (Login::default(), Patience::default());
            let text = ProtocolKind::MemcacheText;
            let client = host::memcache::log_in(spawned.address(), login, text, patience)?;
            ServerClient::Memcached(client)
        } else {
            let mut client = Client::connect(spawned.address(), Patience::default())?;
            case.fill(&mut client)?;
            ServerClient::Redis(client)
        };
        let product = spawned.product().unwrap_or("server");
        let version = format!("{product} {}", spawned.version().unwrap_or("?"));
        Ok(Self { asked, spawned, version, tls })
    }

    /// Returns the address on which it listens for the load.
    pub(crate) fn address(&self) -> &host::Address {
        self.tls.as_ref().map_or_else(|| self.spawned.address(), |tls| &tls.address)
    }

    /// Returns the product and version, such as `redis 7.0.15`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the CPU time that the server has used so far, in seconds.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or does not report it.
    pub(crate) fn cpu_s(&mut self) -> Result<f64> {
        match &mut self.asked {
            ServerClient::Redis(client) => {
                let reply = client.ask(&[b"INFO", b"cpu"])?;
                let info = reply.text().context("INFO cpu has no text")?;
                used_cpu_s(&info).context("INFO cpu does not tell used_cpu_user and used_cpu_sys")
            }
            ServerClient::Memcached(client) => {
                let stats = client.stats(None).map_err(|why| anyhow!(why))?;
                let field = |name: &str| -> Option<f64> {
                    stats.iter().find(|(known, _)| known == name)?.1.parse().ok()
                };
                let used = field("rusage_user").zip(field("rusage_system"));
                let (user, system) =
                    used.context("stats do not tell rusage_user and rusage_system")?;
                Ok(user + system)
            }
        }
    }
}

/// User and system time of a text of `INFO`.
fn used_cpu_s(info: &str) -> Option<f64> {
    let field = |name| info_field(info, name)?.parse::<f64>().ok();
    Some(field("used_cpu_user")? + field("used_cpu_sys")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_of_the_whole_process() {
        let info = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.250000\r\n\
                    used_cpu_sys_children:9.0\r\nused_cpu_user_children:9.0\r\n\
                    used_cpu_sys_main_thread:9.0\r\n";
        assert_eq!(used_cpu_s(info), Some(3.75));
        assert_eq!(used_cpu_s("# CPU\r\nused_cpu_sys:1.0\r\n"), None);
    }
}
