//! The certification authorities that the system trusts.

use openssl::error::ErrorStack;
use openssl::ssl::SslContextBuilder;

/// Trusts the system's authorities. The system's OpenSSL knows their location; a statically linked one looks
/// where distributions keep them.
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
