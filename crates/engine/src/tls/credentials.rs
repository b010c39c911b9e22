//! Trusted certificates, the client's certificate and its key, read from files; errors name their option.

use std::fs;

use naming::{CACERT, CACERTDIR, CERT, KEY};
use openssl::pkey::{PKey, Private};
use openssl::ssl::SslContextBuilder;
use openssl::x509::X509Ref;

use super::error::{TlsError, broken};
use super::pem::PemFile;
use super::roots;
use super::settings::TlsSettings;
use crate::error_text;

/// Sets the trusted CAs.
pub(super) fn trust(
    builder: &mut SslContextBuilder,
    settings: &TlsSettings,
) -> Result<(), TlsError> {
    if let Some(file) = &settings.cacert {
        for certificate in file.certificates(CACERT)? {
            builder.cert_store_mut().add_cert(certificate).map_err(broken)?;
        }
    }
    if let Some(directory) = &settings.cacertdir {
        let entries = fs::read_dir(directory).map_err(|e| {
            TlsError(format!("{CACERTDIR} {}: {}", directory.display(), error_text(&e)))
        })?;
        let hashed = entries.flatten().any(|e| is_hash(&e.file_name().to_string_lossy()));
        if !hashed {
            let shown = directory.display();
            return Err(TlsError(format!(
                "{CACERTDIR} {shown}: no hashed certificate in this directory; run: openssl \
                 rehash {shown}"
            )));
        }
        builder.load_verify_locations(None, Some(directory)).map_err(broken)?;
    }
    if settings.cacert.is_none() && settings.cacertdir.is_none() {
        roots::trust_system(builder).map_err(broken)?;
    }
    Ok(())
}

/// Returns whether a file name has the form `xxxxxxxx.n`, in which `openssl rehash` names its links.
fn is_hash(name: &str) -> bool {
    name.split_once('.').is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Sets the client certificate, for servers that ask for one.
pub(super) fn identify(
    builder: &mut SslContextBuilder,
    settings: &TlsSettings,
) -> Result<(), TlsError> {
    let (cert, key) = match (&settings.cert, &settings.key) {
        (Some(cert), Some(key)) => (cert, key),
        (None, None) => return Ok(()),
        (Some(_), None) => return Err(TlsError(format!("{CERT} requires {KEY} FILE"))),
        (None, Some(_)) => {
            return Err(TlsError(format!("{KEY} requires {CERT} FILE")));
        }
    };
    let mut chain = cert.certificates(CERT)?.into_iter();
    let own = chain.next();
    if let Some(own) = &own {
        builder.set_certificate(own).map_err(|_| cert.holds_no(CERT, "certificate"))?;
    }
    let rest = settings.cert_chain.as_ref().map(|file| file.certificates("certificate chain"));
    // A file of the whole chain begins with what we are.
    let rest = rest.transpose()?.unwrap_or_default().into_iter();
    let rest = rest.filter(|issuer| own.as_ref().is_none_or(|own| !is_same(issuer, own)));
    for issuer in chain.chain(rest) {
        builder.add_extra_chain_cert(issuer).map_err(broken)?;
    }
    let private = private_key(key)?;
    // Refuses a key that is not the certificate's.
    builder.set_private_key(&private).and_then(|()| builder.check_private_key()).map_err(|_| {
        TlsError(format!("{KEY} {}: does not match {CERT} {}", key.shown(), cert.shown()))
    })
}

fn is_same(one: &X509Ref, other: &X509Ref) -> bool {
    matches!((one.to_der(), other.to_der()), (Ok(one), Ok(other)) if one == other)
}

/// Reads the key in a file. Never asks for a passphrase, which OpenSSL would do on the terminal.
fn private_key(file: &PemFile) -> Result<PKey<Private>, TlsError> {
    let pem = file.read(KEY)?;
    let mut locked = false;
    let private = PKey::private_key_from_pem_callback(&pem, |room| {
        locked = true;
        let password = file.password.as_deref().unwrap_or_default();
        let Some(room) = room.get_mut(..password.len()) else { return Ok(0) };
        room.copy_from_slice(password);
        Ok(password.len())
    });
    let shown = file.shown();
    private.map_err(|_| match (locked, &file.password) {
        (true, Some(_)) => TlsError(format!("{KEY} {shown}: the password does not open the key")),
        (true, None) => TlsError(format!(
            "{KEY} {shown}: the key is encrypted; write an unencrypted copy for the benchmark \
             with: openssl pkey -in {shown} -out FILE"
        )),
        (false, _) => file.holds_no(KEY, "private key"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_distinguished_from_other_names() {
        assert!(is_hash("9d66eef0.0") && is_hash("00000000.12"));
        assert!(!is_hash("ca.crt") && !is_hash("9d66eef0.") && !is_hash("9d66eef0.r0"));
    }
}
