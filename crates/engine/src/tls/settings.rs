//! The settings of a TLS context, as the user gave them.

use std::path::PathBuf;

use super::pem::PemFile;

/// Checks of the server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verify {
    /// A trusted CA signed the certificate, and it is for the requested host.
    #[default]
    Host,
    /// A trusted CA signed the certificate. One for another host is noted but accepted.
    Chain,
    /// Nothing is checked.
    Nothing,
}

/// Settings of a [`TlsContext`]: paths of files, and lists in OpenSSL's format.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// The requested host, which the certificate is checked for and the server is asked for.
    pub host: Option<String>,
    /// A name used instead of the host (`--sni`), at every address without an announced name.
    pub sni: Option<String>,
    /// Checks of the server's certificate.
    pub verify: Verify,
    /// PEM file of trusted CA certificates (`--cacert`). Without it and the directory, the system's are
    /// trusted.
    pub cacert: Option<PemFile>,
    /// Directory of trusted CA certificates by their hash (`--cacertdir`).
    pub cacertdir: Option<PathBuf>,
    /// PEM file of the client's certificate and its chain (`--cert`).
    pub cert: Option<PemFile>,
    /// PEM file of the rest of the chain, if the first file lacks it.
    pub cert_chain: Option<PemFile>,
    /// PEM file of the certificate's key (`--key`).
    pub key: Option<PemFile>,
    /// Ciphers up to TLS 1.2 (`--tls-ciphers`).
    pub ciphers: Option<String>,
    /// Ciphers of TLS 1.3 (`--tls-ciphersuites`).
    pub ciphersuites: Option<String>,
    /// Groups for the exchange of keys (`--tls-groups`).
    pub groups: Option<String>,
    /// Offered versions (`--tls-protocols`): `TLSv1.2,TLSv1.3`.
    pub protocols: Option<String>,
    /// Resumes the session of an earlier connection.
    pub resume: bool,
}
