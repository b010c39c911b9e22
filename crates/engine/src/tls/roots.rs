//! The certification authorities that the system trusts.

use openssl::error::ErrorStack;
use openssl::ssl::SslContextBuilder;

/// Trusts what the system does. The system's OpenSSL knows where that is kept; one that is part of the
/// program has to look where distributions keep it.
pub(super) fn trust_system(builder: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    builder.set_default_verify_paths()?;
    #[cfg(feature = "vendored-tls")]
    {
        let found = openssl_probe::probe();
        if let Some(file) = &found.cert_file {
            builder.load_verify_locations(Some(file), None)?;
        }
        for directory in &found.cert_dir {
            builder.load_verify_locations(None, Some(directory))?;
        }
    }
    Ok(())
}
