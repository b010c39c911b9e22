//! Settings that all TLS connections of a run share: trusted certificates, the client's certificate, and
//! ciphers.
//!
//! Made once, before any worker starts, so that the error for an unreadable file comes early and names its
//! option ([`credentials`](super::credentials)). Only OpenSSL holds the contents of a key.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use naming::{OptionId, TLS_CIPHERS, TLS_CIPHERSUITES, TLS_GROUPS, TLS_PROTOCOLS};
use openssl::error::ErrorStack;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslVerifyMode, SslVersion,
};
use openssl::x509::verify::X509CheckFlags;

use super::credentials::{identify, trust};
use super::error::{TlsError, broken, reason_of};
use super::rejected::{Rejection, verify};
use super::settings::{TlsSettings, Verify};
use crate::Address;

/// Settings that all TLS connections of a run share. A clone is the same context.
#[derive(Clone)]
pub struct TlsContext {
    openssl: SslContext,
    /// The name for every address, if one was given for all.
    sni: Option<String>,
    host: Option<String>,
    /// Names of addresses.
    names: Arc<[(IpAddr, String)]>,
    /// Names that the nodes of a cluster announce. They may change while connections are opened.
    announced: Arc<Mutex<HashMap<SocketAddr, String>>>,
    verify: Verify,
    resume: bool,
    has_certificate: bool,
    rejected: Arc<Mutex<Rejection>>,
}

impl fmt::Debug for TlsContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsContext")
            .field("sni", &self.sni)
            .field("host", &self.host)
            .field("verify", &self.verify)
            .finish_non_exhaustive()
    }
}

impl TlsContext {
    /// Reads the files and checks what needs no server.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or has other content, or if OpenSSL does not know a cipher.
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let mut builder = SslContext::builder(SslMethod::tls_client()).map_err(broken)?;
        builder.set_options(SslOptions::NO_COMPRESSION | SslOptions::NO_RENEGOTIATION);
        builder.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
        // One look for all that has arrived, instead of two for each record.
        builder.set_read_ahead(true);
        if settings.verify != Verify::Nothing {
            trust(&mut builder, settings)?;
        }
        identify(&mut builder, settings)?;
        if let Some(list) = &settings.ciphers {
            builder.set_cipher_list(list).map_err(|e| unknown(TLS_CIPHERS, list, &e))?;
        }
        if let Some(list) = &settings.ciphersuites {
            builder.set_ciphersuites(list).map_err(|e| unknown(TLS_CIPHERSUITES, list, &e))?;
        }
        if let Some(list) = &settings.groups {
            builder.set_groups_list(list).map_err(|e| unknown(TLS_GROUPS, list, &e))?;
        }
        if let Some(list) = &settings.protocols {
            offer(&mut builder, list)?;
        }
        let rejected = Arc::new(Mutex::new(Rejection::default()));
        watch(&mut builder, settings.verify, Arc::clone(&rejected));
        Ok(Self {
            openssl: builder.build(),
            sni: settings.sni.clone(),
            host: settings.host.clone(),
            names: Arc::new([]),
            announced: Arc::default(),
            verify: settings.verify,
            resume: settings.resume,
            has_certificate: settings.cert.is_some(),
            rejected,
        })
    }

    /// Adds names for addresses. A connection to one of them asks for its name, and its certificate is
    /// checked for that name. An address without a name is checked as an IP address. `--sni` takes precedence
    /// over both.
    pub fn knowing(mut self, names: impl IntoIterator<Item = (IpAddr, String)>) -> Self {
        self.names = self.names.iter().cloned().chain(names).collect();
        self
    }

    /// Sets the name that the cluster node at this address announces, in every clone of the context. Its own
    /// certificate is checked for that name and no other. Without an announced name,
    /// [`knowing`](Self::knowing) and `--sni` apply.
    pub fn announce(&self, address: SocketAddr, name: Option<&str>) {
        let Ok(mut announced) = self.announced.lock() else { return };
        match name {
            Some(name) => drop(announced.insert(address, name.to_owned())),
            None => drop(announced.remove(&address)),
        }
    }

    fn announced(&self, to: Option<&Address>) -> Option<String> {
        let Some(Address::Tcp(address)) = to else { return None };
        self.announced.lock().ok()?.get(address).cloned()
    }

    /// Returns a warning if only the chain is checked and a certificate for another host was seen.
    pub fn name_mismatch(&self) -> Option<String> {
        let rejected = self.rejected();
        (self.verify == Verify::Chain && rejected.wrong_name).then(|| {
            format!(
                "the server's certificate does not match the host{}; its CA is trusted",
                rejected.names()
            )
        })
    }

    pub(super) fn openssl(&self) -> &SslContext {
        &self.openssl
    }

    pub(super) fn resumes(&self) -> bool {
        self.resume
    }

    pub(super) fn has_certificate(&self) -> bool {
        self.has_certificate
    }

    /// Returns the facts of the last rejected certificate.
    pub(super) fn rejected(&self) -> Rejection {
        self.rejected.lock().map(|r| r.clone()).unwrap_or_default()
    }

    /// The TLS side of a connection to this address, not begun.
    pub(super) fn ssl(&self, to: Option<&Address>) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.openssl)?;
        let of_address;
        let announced = self.announced(to);
        let name = match (announced.as_ref().or(self.sni.as_ref()), to) {
            (Some(name), _) => Some(name.as_str()),
            (None, Some(Address::Tcp(address))) => {
                let ip = address.ip();
                match self.names.iter().find(|(known, _)| *known == ip) {
                    Some((_, name)) => Some(name.as_str()),
                    None => {
                        of_address = ip.to_string();
                        Some(of_address.as_str())
                    }
                }
            }
            (None, _) => self.host.as_deref(),
        };
        let Some(name) = name else { return Ok(ssl) };
        let ip = name.parse::<IpAddr>().ok();
        if ip.is_none() {
            // An address is no server name (RFC 6066, section 3).
            ssl.set_hostname(name)?;
        }
        if self.verify != Verify::Nothing {
            let param = ssl.param_mut();
            param.set_hostflags(X509CheckFlags::NO_PARTIAL_WILDCARDS);
            match ip {
                Some(ip) => param.set_ip(ip)?,
                None => param.set_host(name)?,
            }
        }
        Ok(ssl)
    }
}

/// The TLS versions: name, and the option that excludes it.
const VERSIONS: [(&str, SslVersion, SslOptions); 4] = [
    ("TLSv1", SslVersion::TLS1, SslOptions::NO_TLSV1),
    ("TLSv1.1", SslVersion::TLS1_1, SslOptions::NO_TLSV1_1),
    ("TLSv1.2", SslVersion::TLS1_2, SslOptions::NO_TLSV1_2),
    ("TLSv1.3", SslVersion::TLS1_3, SslOptions::NO_TLSV1_3),
];

/// Offers only these versions.
fn offer(builder: &mut SslContextBuilder, list: &str) -> Result<(), TlsError> {
    let place = |word: &str| VERSIONS.iter().position(|(name, ..)| name.eq_ignore_ascii_case(word));
    let mut wanted = [false; VERSIONS.len()];
    for word in list.split(',').map(str::trim) {
        let known = VERSIONS.map(|(name, ..)| name).join(", ");
        let place = place(word).ok_or_else(|| {
            TlsError(format!("{TLS_PROTOCOLS} {list}: {word:?} is not one of {known}"))
        })?;
        wanted[place] = true;
    }
    let mut offered = VERSIONS.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    let (least, most) = (offered.clone().next(), offered.next_back());
    builder.set_min_proto_version(least.map(|((_, version, _), _)| *version)).map_err(broken)?;
    builder.set_max_proto_version(most.map(|((_, version, _), _)| *version)).map_err(broken)?;
    // Those in between that are not wanted are left out one by one.
    for ((.., without), wanted) in VERSIONS.iter().zip(wanted) {
        if !wanted {
            builder.set_options(*without);
        }
    }
    Ok(())
}

/// Notes the facts of rejected certificates, so that an error can name the reason.
fn watch(builder: &mut SslContextBuilder, verify: Verify, rejected: Arc<Mutex<Rejection>>) {
    if verify == Verify::Nothing {
        builder.set_verify(SslVerifyMode::NONE);
        return;
    }
    builder.set_verify_callback(SslVerifyMode::PEER, move |fine, store| {
        if fine {
            return true;
        }
        let wrong_name = matches!(store.error().as_raw(), verify::WRONG_HOST | verify::WRONG_IP);
        if let (Some(certificate), Ok(mut rejected)) = (store.current_cert(), rejected.lock()) {
            *rejected = Rejection::new(certificate, wrong_name || rejected.wrong_name);
        }
        wrong_name && verify == Verify::Chain
    });
}

fn unknown(option: OptionId, list: &str, error: &ErrorStack) -> TlsError {
    let reason = reason_of(error);
    TlsError(format!(
        "{option} {list}: OpenSSL does not know this cipher ({reason}); `openssl ciphers -v` \
         lists those it does"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refused(settings: TlsSettings) -> String {
        TlsContext::new(&settings).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_with_a_file_is_reported_by_its_option() {
        let dir = tempfile::tempdir().unwrap();
        let (gone, other) = (dir.path().join("gone"), dir.path().join("other"));
        fs::write(&other, "no PEM").unwrap();
        let cases = [
            (
                TlsSettings { cacert: Some(gone.clone().into()), ..Default::default() },
                "--cacert",
                "gone",
            ),
            (
                TlsSettings { cacert: Some(other.clone().into()), ..Default::default() },
                "--cacert",
                "PEM",
            ),
            (
                TlsSettings { cacertdir: Some(gone.clone()), ..Default::default() },
                "gone",
                "No such",
            ),
            (
                TlsSettings { cacertdir: Some(dir.path().into()), ..Default::default() },
                "--cacertdir",
                "openssl rehash",
            ),
            (
                TlsSettings { cert: Some(other.clone().into()), ..Default::default() },
                "--cert",
                "--key",
            ),
            (
                TlsSettings { key: Some(other.clone().into()), ..Default::default() },
                "--key",
                "--cert",
            ),
            (
                TlsSettings {
                    cert: Some(other.clone().into()),
                    key: Some(gone.into()),
                    ..Default::default()
                },
                "--cert",
                "certificate",
            ),
            (
                TlsSettings { ciphers: Some("NO-SUCH".into()), ..Default::default() },
                "--tls-ciphers NO-SUCH",
                "does not know this cipher",
            ),
            (
                TlsSettings { ciphersuites: Some("NO_SUCH".into()), ..Default::default() },
                "--tls-ciphersuites NO_SUCH",
                "does not know this cipher",
            ),
        ];
        for (settings, option, why) in cases {
            let error = refused(settings);
            assert!(error.contains(option) && error.contains(why), "{error}");
        }
    }
}
