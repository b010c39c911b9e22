//! Values of `--prometheus-…`: where figures are served, with which labels and buckets.

use std::net::IpAddr;

use super::fault::{Fault, usage_error};
use super::values::number;
use crate::memtier::layout::MemtierHistogram;

/// Maximum number of labels, and maximum lengths of their names and values.
const LABELS_MAX: usize = 16;
const NAME_MAX: usize = 128;
const VALUE_MAX: usize = 256;
/// Names of labels that are in use already.
const TAKEN: [&str; 4] = ["le", "quantile", "version", "git_sha"];
/// Maximum number of buckets.
const BUCKETS_MAX: usize = 64;
/// Range of the bounds of buckets, in seconds.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=86_400.0;

pub(super) fn port(_: &str, text: &str) -> Result<u16, Fault> {
    let port = number(text).and_then(|port| u16::try_from(port).ok());
    port.ok_or_else(|| usage_error("prometheus-port must be a number in the range [0-65535]."))
}

pub(super) fn address(_: &str, text: &str) -> Result<IpAddr, Fault> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    address
        .ok_or_else(|| usage_error("prometheus-bind-addr must be a numeric IPv4 or IPv6 address."))
}

/// A label beside those that are `known` already.
pub(super) fn label(text: &str, known: &[(String, String)]) -> Result<(String, String), Fault> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(usage_error("--prometheus-run-label expects KEY=VALUE."));
    };
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let is_name = first && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let shown = report::escape(name);
    let faults = [
        (name.len() > NAME_MAX, format!("the label name exceeds {NAME_MAX} bytes.")),
        (!is_name, format!("invalid label name '{shown}'.")),
        (name.starts_with("__"), format!("'{shown}': names beginning with __ are reserved.")),
        (TAKEN.contains(&name), format!("the label name '{shown}' is reserved.")),
        (value.len() > VALUE_MAX, format!("the value of '{shown}' exceeds {VALUE_MAX} bytes.")),
        (known.iter().any(|(known, _)| known == name), format!("duplicate label name '{shown}'.")),
        (known.len() == LABELS_MAX, format!("too many labels (max {LABELS_MAX}).")),
    ];
    match faults.into_iter().find(|(is_fault, _)| *is_fault) {
        Some((_, why)) => Err(usage_error(format!("--prometheus-run-label: {why}"))),
        None => Ok((name.to_owned(), value.to_owned())),
    }
}

/// Upper bounds of buckets.
pub(super) fn buckets(_: &str, text: &str) -> Result<Vec<f64>, Fault> {
    let bounds =
        text.split(',').map(|text| text.parse().ok().filter(|bound| SECONDS.contains(bound)));
    let bounds: Option<Vec<f64>> = bounds.collect();
    let us = |seconds: f64| (seconds * 1e6).round() as u64;
    let possible = bounds.filter(|bounds| bounds.len() <= BUCKETS_MAX).filter(|bounds| {
        bounds
            .windows(2)
            .all(|pair| pair[0] < pair[1] && MemtierHistogram::tell_apart(us(pair[0]), us(pair[1])))
    });
    possible.ok_or_else(|| {
        usage_error(format!(
            "--prometheus-latency-buckets must be 1-{BUCKETS_MAX} comma-separated upper bounds in \
             seconds, rising, each from 0.000001 to 86400; the last, +Inf, goes without saying."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says<T: std::fmt::Debug>(result: Result<T, Fault>, words: &str) {
        let Err(Fault::Usage(line)) = result else { panic!("{words}") };
        assert!(line.contains(words), "{line}");
    }

    #[test]
    fn labels_have_names_as_prometheus_takes_them() {
        let mut known = Vec::new();
        for text in ["phase=x", "_x9=1", "k="] {
            known.push(label(text, &known).unwrap());
        }
        for (bad, words) in [
            ("nofeq", "expects KEY=VALUE."),
            ("1bad=x", "invalid label name"),
            ("k-ey=x", "invalid label name"),
            ("=x", "invalid label name"),
            ("__x=1", "names beginning with __ are reserved"),
            ("le=1", "is reserved."),
            ("k=2", "duplicate label name"),
        ] {
            says(label(bad, &known), words);
        }
        says(label(&format!("{}=x", "k".repeat(129)), &known), "label name exceeds 128 bytes.");
        says(label(&format!("z={}", "v".repeat(257)), &known), "exceeds 256 bytes.");
        for number in 3..16 {
            known.push(label(&format!("k{number}=v"), &known).unwrap());
        }
        says(label("last=1", &known), "too many labels (max 16).");
    }

    #[test]
    fn bounds_rise_by_what_can_be_reported_apart() {
        for bad in ["", "5,3,1", "0.001,100000", "1e-7", "1e300", "86300,86400", "0.001,0.001001"] {
            says(buckets("", bad), "prometheus-latency-buckets must be 1-64 comma-separated");
        }
    }

    #[test]
    fn addresses_and_ports_are_numbers() {
        for bad in ["999.999.1.1", "localhost", "[::1", "[1.2.3.4]"] {
            says(address("", bad), "must be a numeric IPv4 or IPv6 address");
        }
        for bad in ["abc", "70000", "-1", "9219x", ""] {
            says(port("", bad), "must be a number in the range [0-65535]");
        }
    }
}
