//! Explanations of TLS failures for a person: the cause, and the remedy.

use naming::{
    CACERT, CERT, INSECURE, KEY, PORT, SNI, TLS, TLS_CIPHERS, TLS_CIPHERSUITES, TLS_PROTOCOLS,
};
use openssl::error::ErrorStack;
use openssl::ssl::{Error, NameType, SslRef};

use super::TlsContext;
use super::error::reason_of;
use super::rejected::verify;

/// Text for a connection that ended without a TLS close.
pub(super) const TRUNCATED: &str = "the server, or something on the network path, cut the TLS \
    connection without a close_notify";
pub(super) fn plain_server() -> String {
    format!(
        "the server does not speak TLS on this port (it answered in plain text): remove {TLS}, or name its TLS port \
         with {PORT}"
    )
}

/// Offset of alert numbers in OpenSSL's reasons (`SSL_AD_REASON_OFFSET`).
const ALERT: i32 = 1000;
const ALERT_LAST: i32 = ALERT + 255;
/// OpenSSL's number for its TLS library (`ERR_LIB_SSL`).
const LIBRARY: i32 = 20;
/// Numbers of alerts: RFC 8446, section 6.
mod alert {
    pub(super) const HANDSHAKE_FAILURE: i32 = 40;
    pub(super) const BAD_CERTIFICATE: i32 = 42;
    pub(super) const UNSUPPORTED_CERTIFICATE: i32 = 43;
    pub(super) const CERTIFICATE_REVOKED: i32 = 44;
    pub(super) const CERTIFICATE_EXPIRED: i32 = 45;
    pub(super) const CERTIFICATE_UNKNOWN: i32 = 46;
    pub(super) const UNKNOWN_CA: i32 = 48;
    pub(super) const ACCESS_DENIED: i32 = 49;
    pub(super) const PROTOCOL_VERSION: i32 = 70;
    pub(super) const INSUFFICIENT_SECURITY: i32 = 71;
    pub(super) const UNRECOGNIZED_NAME: i32 = 112;
    pub(super) const CERTIFICATE_REQUIRED: i32 = 116;
}
/// OpenSSL's own reasons: `openssl/sslerr.h`.
mod reason {
    pub(super) const NO_CIPHERS_AVAILABLE: i32 = 181;
    pub(super) const UNEXPECTED_EOF: i32 = 294;
    pub(super) const CERTIFICATE_VERIFY_FAILED: i32 = 134;
    pub(super) const UNSUPPORTED_PROTOCOL: i32 = 258;
    pub(super) const DH_KEY_TOO_SMALL: i32 = 394;
    pub(super) const WRONG_CIPHER_RETURNED: i32 = 261;
}

fn no_cipher() -> String {
    format!(
        "server and client have no cipher in common: choose with {TLS_CIPHERS} up to TLS 1.2, with {TLS_CIPHERSUITES} \
         for TLS 1.3"
    )
}

fn needs_certificate() -> String {
    format!("the server requires a client certificate: add {CERT} FILE and {KEY} FILE")
}

/// Describes a failed call to OpenSSL on this connection. `spoke_tls` says whether the server's first bytes
/// looked like TLS.
pub(super) fn failed(
    context: &TlsContext,
    ssl: &SslRef,
    error: &Error,
    spoke_tls: Option<bool>,
) -> String {
    if spoke_tls == Some(false) {
        return plain_server();
    }
    let Some(stack) = error.ssl_error() else {
        return error.io_error().map_or_else(|| closed_early(spoke_tls), ToString::to_string);
    };
    // The oldest errors are of what TLS is made of; the last one of TLS itself says what failed.
    let of_tls = stack.errors().iter().rev().find(|e| e.library_code() == LIBRARY);
    let code = of_tls.map_or(0, |e| e.reason_code());
    match code {
        reason::CERTIFICATE_VERIFY_FAILED => {
            let result = ssl.verify_result();
            let name = ssl.servername(NameType::HOST_NAME);
            certificate(context, name, result.as_raw(), result.error_string())
        }
        reason::NO_CIPHERS_AVAILABLE | reason::WRONG_CIPHER_RETURNED => no_cipher(),
        reason::UNSUPPORTED_PROTOCOL => no_version(),
        reason::UNEXPECTED_EOF if ssl.is_init_finished() => TRUNCATED.to_owned(),
        reason::UNEXPECTED_EOF => closed_early(spoke_tls),
        reason::DH_KEY_TOO_SMALL => "the server's Diffie-Hellman key is too small for this \
            machine's OpenSSL security level (see tls-dh-params-file on the server)"
            .to_owned(),
        alerted @ ALERT..=ALERT_LAST => refused(context, ssl, alerted - ALERT, stack),
        _ => format!("TLS failed: {}", reason_of(stack)),
    }
}

/// Describes the alert with which a server refused the handshake.
fn refused(context: &TlsContext, ssl: &SslRef, alert: i32, stack: &ErrorStack) -> String {
    match alert {
        // Until TLS 1.2 this alert also says that a certificate is missing, and then a cipher was
        // agreed on before.
        alert::HANDSHAKE_FAILURE
            if ssl.current_cipher().is_some() && !context.has_certificate() =>
        {
            needs_certificate()
        }
        alert::HANDSHAKE_FAILURE | alert::INSUFFICIENT_SECURITY => {
            format!("{} (the server ended the handshake)", no_cipher())
        }
        alert::PROTOCOL_VERSION => no_version(),
        alert::CERTIFICATE_REQUIRED => needs_certificate(),
        alert::UNKNOWN_CA => ours("it does not know the CA that signed it"),
        alert::CERTIFICATE_EXPIRED => ours("it has expired"),
        alert::CERTIFICATE_REVOKED => ours("it was revoked"),
        alert::BAD_CERTIFICATE
        | alert::UNSUPPORTED_CERTIFICATE
        | alert::CERTIFICATE_UNKNOWN
        | alert::ACCESS_DENIED => ours(&reason_of(stack)),
        alert::UNRECOGNIZED_NAME => {
            format!("the server does not know the requested host name ({SNI})")
        }
        _ => format!("the server ended TLS: {}", reason_of(stack)),
    }
}

fn ours(why: &str) -> String {
    format!("the server refused our certificate ({CERT}): {why}")
}

fn no_version() -> String {
    format!(
        "server and client have no TLS version in common (tls-protocols on the server; \
     {TLS_PROTOCOLS}, or MinProtocol in openssl.cnf, here)"
    )
}

/// Describes why the server's certificate was rejected.
fn certificate(context: &TlsContext, name: Option<&str>, result: i32, openssl: &str) -> String {
    let shown = context.rejected();
    let name = name.unwrap_or("the address connected to");
    match result {
        verify::EXPIRED => format!(
            "a certificate of the server has expired{}: renew it, or check this machine's clock",
            shown.until()
        ),
        verify::NOT_YET_VALID => format!(
            "a certificate of the server is not valid yet{}: check the clocks of both machines",
            shown.from()
        ),
        verify::WRONG_HOST | verify::WRONG_IP => format!(
            "the server's certificate is not for {name}{}. {SNI} NAME checks it against NAME \
             instead; {INSECURE} skips the check",
            shown.names()
        ),
        verify::NO_ISSUER
        | verify::NO_ISSUER_HERE
        | verify::SELF_SIGNED
        | verify::SELF_SIGNED_IN_CHAIN
        | verify::LEAF_ALONE => format!(
            "the server's certificate is signed by an unknown CA ({openssl}): name the CA's \
             certificate with {CACERT} FILE"
        ),
        verify::SIGNATURE => {
            format!(
                "the server's certificate is signed by an unknown CA: it has the name of a CA in \
             {CACERT}, but another key"
            )
        }
        verify::REVOKED => "the server's certificate was revoked".to_owned(),
        verify::WRONG_PURPOSE => {
            "the server's certificate is not for use by servers (extended key usage)".to_owned()
        }
        verify::KEY_TOO_SMALL | verify::CA_KEY_TOO_SMALL => format!(
            "a key in the server's certificate chain is too small for this machine's OpenSSL \
             security level ({openssl})"
        ),
        verify::OK => "the server's certificate was not accepted".to_owned(),
        _ => format!("the server's certificate was not accepted: {openssl}"),
    }
}

/// Describes a connection that the server closed before the TLS handshake was complete.
pub(super) fn closed_early(spoke_tls: Option<bool>) -> String {
    match spoke_tls {
        Some(false) => plain_server(),
        Some(true) => "the server closed the connection in the middle of the TLS handshake; its \
                       log may say why"
            .to_owned(),
        None => format!(
            "the server closed the connection during the TLS handshake: it may not speak TLS \
            on this port (remove {TLS}, or check {PORT}), or be at its maxclients limit"
        ),
    }
}
