//! The error text for a certificate that was rejected.

use std::net::IpAddr;

use openssl::nid::Nid;
use openssl::x509::X509Ref;

/// The facts of a rejected certificate that its error text names.
#[derive(Debug, Clone, Default)]
pub(super) struct Rejection {
    names: Vec<String>,
    not_before: String,
    not_after: String,
    pub(super) wrong_name: bool,
}

impl Rejection {
    /// Maximum number of names that the text lists.
    const NAMES_MAX: usize = 4;

    pub(super) fn new(certificate: &X509Ref, wrong_name: bool) -> Self {
        let alternatives = certificate.subject_alt_names();
        let mut names: Vec<String> = alternatives
            .iter()
            .flatten()
            .filter_map(|name| {
                let address = name.ipaddress().and_then(|bytes| match bytes.len() {
                    4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
                    _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
                });
                name.dnsname().map(str::to_owned).or(address.map(|ip| ip.to_string()))
            })
            .collect();
        if names.is_empty() {
            let common = certificate.subject_name().entries_by_nid(Nid::COMMONNAME);
            names.extend(common.filter_map(|e| Some(e.data().to_string().ok()?.to_string())));
        }
        names.truncate(Self::NAMES_MAX);
        Self {
            names,
            not_before: certificate.not_before().to_string(),
            not_after: certificate.not_after().to_string(),
            wrong_name,
        }
    }

    pub(super) fn names(&self) -> String {
        match self.names.as_slice() {
            [] => String::new(),
            names => format!(" (it is for {})", names.join(", ")),
        }
    }

    pub(super) fn until(&self) -> String {
        if self.not_after.is_empty() { String::new() } else { format!(" on {}", self.not_after) }
    }

    pub(super) fn from(&self) -> String {
        match self.not_before.as_str() {
            "" => String::new(),
            from => format!(" before {from}"),
        }
    }
}

/// Results of certificate checks: `openssl/x509_vfy.h`.
pub(super) mod verify {
    pub(crate) const OK: i32 = 0;
    pub(crate) const NO_ISSUER: i32 = 2;
    pub(crate) const SIGNATURE: i32 = 7;
    pub(crate) const NOT_YET_VALID: i32 = 9;
    pub(crate) const EXPIRED: i32 = 10;
    pub(crate) const SELF_SIGNED: i32 = 18;
    pub(crate) const SELF_SIGNED_IN_CHAIN: i32 = 19;
    pub(crate) const NO_ISSUER_HERE: i32 = 20;
    pub(crate) const LEAF_ALONE: i32 = 21;
    pub(crate) const REVOKED: i32 = 23;
    pub(crate) const WRONG_PURPOSE: i32 = 26;
    pub(crate) const WRONG_HOST: i32 = 62;
    pub(crate) const WRONG_IP: i32 = 64;
    pub(crate) const KEY_TOO_SMALL: i32 = 66;
    pub(crate) const CA_KEY_TOO_SMALL: i32 = 67;
}
