//! Certificates for tests, made when they are needed: a CA and what it signs.
#![allow(dead_code)] // Each of the tests that share this file needs a part of it.

use std::fs;
use std::path::{Path, PathBuf};

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509NameBuilder};

const DAY_S: i64 = 86_400;

/// A key and its certificate.
pub(crate) struct Identity {
    pub(crate) certificate: X509,
    pub(crate) key: PKey<Private>,
}

/// Contents of a certificate.
pub(crate) struct Subject<'a> {
    pub(crate) names: &'a [&'a str],
    pub(crate) ips: &'a [&'a str],
    /// Days from now when it begins and ends to be valid.
    pub(crate) valid_days: (i64, i64),
    /// RSA instead of an elliptic curve.
    pub(crate) rsa: bool,
}

impl Default for Subject<'_> {
    fn default() -> Self {
        Self { names: &["localhost"], ips: &["127.0.0.1"], valid_days: (-1, 2), rsa: false }
    }
}

impl Identity {
    pub(crate) fn authority(name: &str) -> Self {
        Self::authority_of(name, None)
    }

    /// A CA in between, which this one signs.
    pub(crate) fn signs_authority(&self, name: &str) -> Self {
        Self::authority_of(name, Some(self))
    }

    fn authority_of(name: &str, signer: Option<&Self>) -> Self {
        let key = elliptic();
        let mut builder = begin(name, &key, (-1, 2));
        let constraints = BasicConstraints::new().critical().ca().build().unwrap();
        builder.append_extension(constraints).unwrap();
        let subject = common_name(name).build();
        let issuer = signer.map_or(&*subject, |signer| signer.certificate.subject_name());
        builder.set_issuer_name(issuer).unwrap();
        let by = signer.map_or(&key, |signer| &signer.key);
        builder.sign(by, MessageDigest::sha256()).unwrap();
        Self { certificate: builder.build(), key }
    }

    /// A certificate that this CA signs.
    pub(crate) fn signs(&self, subject: &Subject<'_>) -> Self {
        let key = if subject.rsa {
            PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap()
        } else {
            elliptic()
        };
        let name = subject.names.first().copied().unwrap_or("nobody");
        let mut builder = begin(name, &key, subject.valid_days);
        builder.set_issuer_name(self.certificate.subject_name()).unwrap();
        if !subject.names.is_empty() || !subject.ips.is_empty() {
            let mut alternatives = SubjectAlternativeName::new();
            subject.names.iter().for_each(|name| {
                alternatives.dns(name);
            });
            subject.ips.iter().for_each(|ip| {
                alternatives.ip(ip);
            });
            let context = builder.x509v3_context(Some(&self.certificate), None);
            let alternatives = alternatives.build(&context).unwrap();
            builder.append_extension(alternatives).unwrap();
        }
        builder.sign(&self.key, MessageDigest::sha256()).unwrap();
        Self { certificate: builder.build(), key }
    }

    /// Writes `NAME.crt` and `NAME.key` and returns their paths.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let paths = (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
        fs::write(&paths.0, self.certificate.to_pem().unwrap()).unwrap();
        fs::write(&paths.1, self.key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        paths
    }
}

fn elliptic() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

fn common_name(name: &str) -> X509NameBuilder {
    let mut builder = X509NameBuilder::new().unwrap();
    builder.append_entry_by_nid(Nid::COMMONNAME, name).unwrap();
    builder
}

fn begin(name: &str, key: &PKey<Private>, (from, until): (i64, i64)) -> X509Builder {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    let time = |days: i64| Asn1Time::from_unix(now + days * DAY_S).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(120, MsbOption::MAYBE_ZERO, false).unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&common_name(name).build()).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&time(from)).unwrap();
    builder.set_not_after(&time(until)).unwrap();
    builder
}
