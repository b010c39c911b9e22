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
