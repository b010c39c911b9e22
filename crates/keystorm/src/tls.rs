//! TLS options for the engine: files on this machine, or sent with the plan.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use engine::{PemFile, TlsContext, TlsSettings};
use naming::{CACERT, CACERTDIR, CERT, KEY};
use workload::{Endpoint, SecretBytes, TlsFiles, TlsOptions, Verify};

/// Reads the files for TLS.
///
/// # Errors
/// Returns an error if a file cannot be read or has other content, or OpenSSL does not know a cipher.
pub(crate) fn context(options: &TlsOptions, endpoint: &Endpoint) -> Result<TlsContext> {
    let options = options.clone();
    // The clients of a fleet need this directory, which is not part of the plan.
    let missing = options.cacertdir.as_ref().filter(|dir| !dir.is_dir());
    if let Some(directory) = missing.filter(|_| options.files.is_some()) {
        bail!(
            "{CACERTDIR} {}: the directory does not exist on this client's host; create it, or \
             use {CACERT} FILE, which is copied to every client",
            directory.display()
        );
    }
    let held = options.files.unwrap_or_default();
    let file = |path: Option<PathBuf>, content: Option<SecretBytes>| {
        let content = content.map(|content| content.reveal().to_vec());
        path.map(|path| PemFile { path, content, password: None })
    };
    let password = options.key_password.map(|password| password.reveal().as_bytes().to_vec());
    let host = match endpoint {
        Endpoint::Tcp { host, .. } | Endpoint::Replicated { primary: (host, _), .. } => {
            Some(host.clone())
        }
        Endpoint::Ring { .. }
        | Endpoint::Pool { .. }
        | Endpoint::Unix(_)
        | Endpoint::Sentinel { .. }
        | Endpoint::Spawned { .. } => None,
    };
    let verify = match options.verify {
        Verify::Host => engine::Verify::Host,
        Verify::Chain => engine::Verify::Chain,
        Verify::Nothing => engine::Verify::Nothing,
    };
    Ok(TlsContext::new(&TlsSettings {
        host,
        sni: options.sni,
        verify,
        cacert: file(options.cacert, held.cacert),
        cacertdir: options.cacertdir,
        cert: file(options.cert, held.cert),
        cert_chain: file(options.cert_chain, held.cert_chain),
        key: file(options.key, held.key).map(|key| PemFile { password, ..key }),
        ciphers: options.ciphers,
        ciphersuites: options.ciphersuites,
        groups: options.groups,
        protocols: options.protocols,
        resume: options.resume,
    })?)
}

/// Reads the files for TLS, for clients on machines without them.
///
/// # Errors
/// Returns an error if one of them can no longer be read.
pub(crate) fn files(options: &TlsOptions) -> Result<TlsFiles> {
    let content = |option: &dyn Display, file: &Option<PathBuf>| {
        let content = file.as_ref().map(|file| {
            let bytes = fs::read(file).with_context(|| format!("{option} {}", file.display()))?;
            Ok::<_, anyhow::Error>(SecretBytes::new(bytes))
        });
        content.transpose()
    };
    Ok(TlsFiles {
        cacert: content(&CACERT, &options.cacert)?,
        cert: content(&CERT, &options.cert)?,
        cert_chain: content(&"certificate chain", &options.cert_chain)?,
        key: content(&KEY, &options.key)?,
    })
}

/// Names the resolved addresses of a host after it.
pub(crate) fn named(
    tls: TlsContext,
    endpoint: &Endpoint,
    addresses: &[host::Address],
) -> TlsContext {
    let (Endpoint::Tcp { host, .. } | Endpoint::Replicated { primary: (host, _), .. }) = endpoint
    else {
        return tls;
    };
    let ips = addresses.iter().filter_map(|address| match address {
        host::Address::Tcp(address) => Some(address.ip()),
        host::Address::Unix(_) => None,
    });
    tls.knowing(ips.map(|ip| (ip, host.clone())))
}
