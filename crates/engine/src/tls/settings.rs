//! The settings of a TLS context, as they were asked for.

use std::fmt;
use std::path::PathBuf;

use openssl::error::ErrorStack;

use super::pem::PemFile;

/// Checks of the server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verify {
    /// A trusted CA signed the certificate, and it is for the host that was connected to.
    #[default]
    Host,
    /// A trusted CA signed the certificate. A name of another host is noted but accepted.
    Chain,
    /// Nothing.
    Nothing,
}

/// Settings of a [`TlsContext`]: files by their paths, lists as OpenSSL takes them.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// The host that was named, to check the certificate for and to ask the server for.
    pub host: Option<String>,
    /// A name that takes its place (`--sni`), at every address that announces no name of its own.
    pub sni: Option<String>,
    /// Checks of the server's certificate.
    pub verify: Verify,
    /// PEM file of trusted CA certificates (`--cacert`). Without it and the directory, those that
    /// the system trusts are.
    pub cacert: Option<PemFile>,
    /// Directory of trusted CA certificates by their hash (`--cacertdir`).
    pub cacertdir: Option<PathBuf>,
    /// PEM file of our certificate and its chain (`--cert`).
    pub cert: Option<PemFile>,
    /// PEM file of the rest of the chain, where the first file does not have it.
    pub cert_chain: Option<PemFile>,
    /// PEM file of its key (`--key`).
    pub key: Option<PemFile>,
    /// Ciphers up to TLS 1.2 (`--tls-ciphers`).
    pub ciphers: Option<String>,
    /// Ciphers of TLS 1.3 (`--tls-ciphersuites`).
    pub ciphersuites: Option<String>,
    /// Groups for the exchange of keys (`--tls-groups`).
    pub groups: Option<String>,
    /// Versions that are offered (`--tls-protocols`): `TLSv1.2,TLSv1.3`.
    pub protocols: Option<String>,
    /// Resumes the session of an earlier connection.
    pub resume: bool,
}

/// Reason why a context cannot be made; names the option and the file.
#[derive(Debug)]
pub struct TlsError(pub(super) String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// A setting that OpenSSL did not take, for a reason of its own.
pub(super) fn broken(error: ErrorStack) -> TlsError {
    TlsError(super::cause::setup(&error))
}
