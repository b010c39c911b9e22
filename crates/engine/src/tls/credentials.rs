//! Whom to trust and who we are: certificates and keys from files, told by their options.

use std::fs;

use openssl::pkey::PKey;
use openssl::ssl::SslContextBuilder;

use super::pem::plain;
use super::roots;
use super::settings::{TlsError, TlsSettings, broken};

/// Which CAs are trusted.
pub(super) fn trust(
    builder: &mut SslContextBuilder,
    settings: &TlsSettings,
) -> Result<(), TlsError> {
    if let Some(file) = &settings.cacert {
        for certificate in file.certificates("--cacert")? {
            builder.cert_store_mut().add_cert(certificate).map_err(broken)?;
        }
    }
    if let Some(directory) = &settings.cacertdir {
        let entries = fs::read_dir(directory)
            .map_err(|e| TlsError(format!("--cacertdir {}: {}", directory.display(), plain(&e))))?;
        let hashed = entries.flatten().any(|e| is_hash(&e.file_name().to_string_lossy()));
        if !hashed {
            let shown = directory.display();
            return Err(TlsError(format!(
                "--cacertdir {shown}: no hashed certificate in this directory; run: openssl \
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

/// `xxxxxxxx.n`, as `openssl rehash` names its links.
fn is_hash(name: &str) -> bool {
    name.split_once('.').is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Who we are, for servers that ask.
pub(super) fn identify(
    builder: &mut SslContextBuilder,
    settings: &TlsSettings,
) -> Result<(), TlsError> {
    let (cert, key) = match (&settings.cert, &settings.key) {
        (Some(cert), Some(key)) => (cert, key),
        (None, None) => return Ok(()),
        (Some(_), None) => return Err(TlsError("--cert requires --key FILE".to_owned())),
        (None, Some(_)) => {
            return Err(TlsError("--key requires --cert FILE".to_owned()));
        }
    };
    let mut chain = cert.certificates("--cert")?.into_iter();
    if let Some(own) = chain.next() {
        builder.set_certificate(&own).map_err(|_| cert.holds_no("--cert", "certificate"))?;
    }
    for issuer in chain {
        builder.add_extra_chain_cert(issuer).map_err(broken)?;
    }
    let pem = key.read("--key")?;
    let mut locked = false;
    // Nobody is asked for a passphrase, which OpenSSL would do on the terminal.
    let private = PKey::private_key_from_pem_callback(&pem, |_| {
        locked = true;
        Ok(0)
    });
    let private = private.map_err(|_| match locked {
        true => {
            let shown = key.shown();
            TlsError(format!(
                "--key {shown}: the key is encrypted; write an unencrypted copy for the \
                 benchmark with: openssl pkey -in {shown} -out FILE"
            ))
        }
        false => key.holds_no("--key", "private key"),
    })?;
    // Refuses a key that is not the certificate's.
    builder.set_private_key(&private).and_then(|()| builder.check_private_key()).map_err(|_| {
        TlsError(format!("--key {}: does not match --cert {}", key.shown(), cert.shown()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_told_from_other_names() {
        assert!(is_hash("9d66eef0.0") && is_hash("00000000.12"));
        assert!(!is_hash("ca.crt") && !is_hash("9d66eef0.") && !is_hash("9d66eef0.r0"));
    }
}
