//! Errors of TLS before a handshake, in OpenSSL's words.

use openssl::error::ErrorStack;

/// Reason why a context cannot be made; names the option and the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(pub(super) String);

/// The error for a setting that OpenSSL rejects.
pub(super) fn broken(error: ErrorStack) -> TlsError {
    TlsError(setup(&error))
}

/// Describes why a connection could not even be prepared.
pub(super) fn setup(error: &ErrorStack) -> String {
    format!("TLS cannot be set up: {}", reason_of(error))
}

/// Text of the first error, in OpenSSL's words.
pub(super) fn reason_of(stack: &ErrorStack) -> String {
    let first = stack.errors().first();
    let text = first.and_then(|e| e.reason()).map(str::to_owned);
    text.unwrap_or_else(|| {
        first.map_or_else(
            || "for an unknown reason".to_owned(),
            |e| format!("error {} of OpenSSL", e.code()),
        )
    })
}
