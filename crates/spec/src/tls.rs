//! `--tls` and its options, as data of the plan.

use naming::{CERT, CERT_CHAIN, HOST, INSECURE, KEY, PORT, SNI, SPAWN, TLS, Text, text};
use workload::{Endpoint, Secret, Target, TlsOptions, Verify};

use crate::TlsArgs;
use crate::dialect::Dialect;
use crate::error::first_given;

/// The environment variable that has the password of the private key.
const KEY_PASSWORD: &str = workload::secret::KEY_PASSWORD_VARIABLE;

/// Returns how TLS is spoken with a target, if it is.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub fn tls(
    args: &TlsArgs,
    target: &Target,
    dialect: Dialect,
    notes: &mut Vec<String>,
) -> Result<Option<TlsOptions>, Text> {
    if !args.tls && target.tls.is_none() {
        // The peers take them and do nothing with them, without a word.
        if let Some(option) = first_given(args).filter(|_| dialect.minds_slips) {
            notes.push(format!("{}: {option} has no effect without {TLS}.", dialect.warning));
        }
        return Ok(None);
    }
    if matches!(target.endpoint, Endpoint::Spawned { .. }) {
        return Err(text!(
            "{TLS}: the server of {SPAWN} does not speak TLS; start one with your own \
            certificates and name it with {HOST} and {PORT}"
        ));
    }
    match (&args.cert, &args.key) {
        (Some(_), None) => return Err(text!("{CERT} requires {KEY} FILE")),
        (None, None) if args.cert_chain.is_some() => {
            return Err(text!("{CERT_CHAIN} requires {CERT} FILE"));
        }
        (None, Some(_)) => return Err(text!("{KEY} requires {CERT} FILE")),
        _ => {}
    }
    if args.sni.as_deref().is_some_and(|name| name.is_empty() || name.contains('\0')) {
        return Err(text!("{SNI}: the name is empty"));
    }
    let verify = match args.insecure {
        true => Verify::Nothing,
        // The peers let a certificate for another host pass.
        false if !dialect.verifies_host => Verify::Chain,
        false => Verify::Host,
    };
    if verify == Verify::Host && args.sni.is_none() && matches!(target.endpoint, Endpoint::Unix(_))
    {
        return Err(text!(
            "{TLS} with a unix socket: name the host of the server's certificate with \
            {SNI}, or skip the check with {INSECURE}"
        ));
    }
    Ok(Some(TlsOptions {
        sni: args.sni.clone(),
        verify,
        cacert: args.cacert.clone(),
        cacertdir: args.cacertdir.clone(),
        cert: args.cert.clone(),
        key: args.key.clone(),
        ciphers: args.tls_ciphers.clone(),
        ciphersuites: args.tls_ciphersuites.clone(),
        groups: args.tls_groups.clone(),
        protocols: args.tls_protocols.clone(),
        resume: args.tls_resume,
        cert_chain: args.cert_chain.clone(),
        key_password: args
            .key
            .as_ref()
            .and_then(|_| args.key_password.clone().or_else(key_password)),
        files: None,
    }))
}

/// Reads what the private key is encrypted with. Other users of this machine cannot read it there.
fn key_password() -> Option<Secret> {
    std::env::var(KEY_PASSWORD).ok().filter(|password| !password.is_empty()).map(Secret::new)
}
