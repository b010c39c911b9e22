//! The server that a command looks at, named in one word or by the options of a run.

use clap::Args;
use cli::job::UsageError;
use spec::values::port;
use spec::{Dialect, ServerOptions, TlsArgs, Uri, protocol, target, tls};
use workload::{ProtocolKind, Target};

/// Options that name a server, and the server.
#[derive(Debug, Args)]
pub(crate) struct NamedServer {
    /// The server in one word: HOST, HOST:PORT, the PATH of a unix socket, or a URI as for -u
    #[arg(id = "target", value_name = "TARGET", conflicts_with_all = ["host", "port", "socket", "uri", "spawn"])]
    word: Option<String>,
    #[command(flatten, next_help_heading = "Server")]
    options: ServerOptions,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsArgs,
    /// Place of the server, once the options are read.
    #[arg(skip)]
    pub(crate) target: Target,
    #[arg(skip = ProtocolKind::Resp2)]
    pub(crate) protocol: ProtocolKind,
    /// Notes on the options, which are printed first.
    #[arg(skip)]
    pub(crate) notes: Vec<String>,
}

impl NamedServer {
    /// Reads the options.
    ///
    /// # Errors
    /// Returns an error if they make no sense together.
    pub(crate) fn read(&mut self) -> Result<(), UsageError> {
        if let Some(word) = self.word.take() {
            put(&word, &mut self.options)?;
        }
        self.target = target(&self.options, Dialect::default())?;
        self.target.tls = tls(&self.tls, &self.target, Dialect::default(), &mut self.notes)?;
        self.protocol = protocol(&self.options)?;
        Ok(())
    }

    /// Returns the protocol alone.
    ///
    /// # Errors
    /// The options contradict each other.
    pub(crate) fn protocol(&self) -> Result<ProtocolKind, UsageError> {
        Ok(protocol(&self.options)?)
    }
}

/// Reads the server that is one word, as the options that it stands for.
fn put(word: &str, server: &mut ServerOptions) -> Result<(), String> {
    if word.contains("://") {
        server.uri = Some(Uri(word.to_owned()));
        return Ok(());
    }
    if word.contains('/') {
        server.socket = Some(word.into());
        return Ok(());
    }
    let (host, port) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        // An IPv6 address without brackets has no port.
        None if word.matches(':').count() > 1 => (word, None),
        None => word.split_once(':').map_or((word, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() || word.contains('@') {
        return Err("expected HOST, HOST:PORT, the PATH of a unix socket, or a URI".into());
    }
    server.host = Some(host.to_owned());
    if let Some(port) = port {
        server.port = Some(self::port(port).map_err(|why| format!("TARGET {word}: {why}"))?);
    }
    Ok(())
}
