//! Files of certificates and keys: read from their paths, or given with their content.

use std::borrow::Cow;
use std::path::PathBuf;
use std::{fmt, fs};

use openssl::x509::X509;

use super::TlsError;
use crate::error_text;

/// A file in PEM form, read on demand unless its content is known.
#[derive(Clone, Default)]
pub struct PemFile {
    /// Path of the file, even if its content has been read already.
    pub path: PathBuf,
    /// Content, if it has been read already.
    pub content: Option<Vec<u8>>,
    /// Password of an encrypted key in the file.
    pub password: Option<Vec<u8>>,
}

impl From<PathBuf> for PemFile {
    fn from(path: PathBuf) -> Self {
        Self { path, content: None, password: None }
    }
}

impl fmt::Debug for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl PemFile {
    /// Returns the path for messages.
    pub(super) fn shown(&self) -> impl fmt::Display {
        self.path.display()
    }

    /// Returns the content. Errors name the option of the file.
    pub(super) fn read(&self, option: impl fmt::Display) -> Result<Cow<'_, [u8]>, TlsError> {
        if let Some(content) = &self.content {
            return Ok(content.into());
        }
        let read = fs::read(&self.path);
        read.map(Cow::Owned)
            .map_err(|e| TlsError(format!("{option} {}: {}", self.shown(), error_text(&e))))
    }

    /// Returns the certificates in the file, at least one.
    pub(super) fn certificates(&self, option: impl fmt::Display) -> Result<Vec<X509>, TlsError> {
        let certificates = X509::stack_from_pem(&self.read(&option)?).unwrap_or_default();
        if certificates.is_empty() {
            Err(self.holds_no(option, "certificate"))
        } else {
            Ok(certificates)
        }
    }

    /// Returns the error for a file that lacks the item that `option` needs.
    pub(super) fn holds_no(&self, option: impl fmt::Display, what: &str) -> TlsError {
        TlsError(format!("{option} {}: the file has no {what} in PEM format", self.shown()))
    }
}
