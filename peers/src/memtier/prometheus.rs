//! `--prometheus-…`: where figures are served, with which labels and buckets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::fault::{Fault, usage_error};
use super::values::number;
use crate::memtier::layout::{EXPOSITION_BUCKETS, MemtierHistogram};

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
/// Shortest and longest time in seconds that the original could record.
const LEAST_S: f64 = 1e-5;
const MOST_S: f64 = 600.0;

/// The options of the exporter.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Prometheus {
    /// 0 for a free one.
    pub(super) port: Option<u16>,
    pub(super) address: Option<IpAddr>,
    pub(super) labels: Vec<(String, String)>,
    /// Upper bounds in seconds, where they were given.
    pub(super) buckets: Option<Vec<f64>>,
}

impl Prometheus {
    pub(super) fn take_port(&mut self, text: &str) -> Result<(), Fault> {
        let port = number(text).and_then(|port| u16::try_from(port).ok());
        self.port = Some(port.ok_or_else(|| {
            usage_error("prometheus-port must be a number in the range [0-65535].")
        })?);
        Ok(())
    }

    pub(super) fn take_address(&mut self, text: &str) -> Result<(), Fault> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address = match bare {
            Some(bare) => bare.parse().ok().map(IpAddr::V6),
            None => text.parse().ok(),
        };
        self.address = Some(address.ok_or_else(|| {
            usage_error("prometheus-bind-addr must be a numeric IPv4 or IPv6 address.")
        })?);
        Ok(())
    }

    pub(super) fn take_label(&mut self, text: &str) -> Result<(), Fault> {
        let fault = |why: &str| Err(usage_error(format!("--prometheus-run-label: {why}")));
        let Some((name, value)) = text.split_once('=') else {
            return Err(usage_error("--prometheus-run-label expects KEY=VALUE."));
        };
        let mut letters = name.bytes();
        let first = letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let shown = report::escape(name);
        if name.len() > NAME_MAX {
            return fault(&format!("the label name exceeds {NAME_MAX} bytes."));
        }
        if !first || !letters.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return fault(&format!("invalid label name '{shown}'."));
        }
        if name.starts_with("__") {
            return fault(&format!("'{shown}': names beginning with __ are reserved."));
        }
        if TAKEN.contains(&name) {
            return fault(&format!("the label name '{shown}' is reserved."));
        }
        if value.len() > VALUE_MAX {
            return fault(&format!("the value of '{shown}' exceeds {VALUE_MAX} bytes."));
        }
        if self.labels.iter().any(|(known, _)| known == name) {
            return fault(&format!("duplicate label name '{shown}'."));
        }
        if self.labels.len() == LABELS_MAX {
            return fault(&format!("too many labels (max {LABELS_MAX})."));
        }
        self.labels.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    pub(super) fn take_buckets(&mut self, text: &str) -> Result<(), Fault> {
        let bounds =
            text.split(',').map(|text| text.parse().ok().filter(|bound| SECONDS.contains(bound)));
        let bounds: Option<Vec<f64>> = bounds.collect();
        let us = |seconds: f64| (seconds * 1e6).round() as u64;
        let possible = bounds.filter(|bounds| bounds.len() <= BUCKETS_MAX).filter(|bounds| {
            bounds.windows(2).all(|pair| {
                pair[0] < pair[1] && MemtierHistogram::tell_apart(us(pair[0]), us(pair[1]))
            })
        });
        self.buckets = Some(possible.ok_or_else(|| {
            usage_error(format!(
                "--prometheus-latency-buckets must be 1-{BUCKETS_MAX} comma-separated upper bounds in \
                 seconds, rising, each from 0.000001 to 86400; the last, +Inf, goes without saying."
            ))
        })?);
        Ok(())
    }

    /// Refuses what belongs to a port that is not given.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let of_port = [
            (self.address.is_some(), "bind-addr"),
            (!self.labels.is_empty(), "run-label"),
            (self.buckets.is_some(), "latency-buckets"),
        ];
        match of_port.into_iter().find(|(given, _)| *given && self.port.is_none()) {
            Some((_, name)) => {
                Err(usage_error(format!("--prometheus-{name} requires --prometheus-port.")))
            }
            None => Ok(()),
        }
    }

    /// Warnings about these choices.
    pub(super) fn notes(&self) -> Vec<String> {
        let address = self.address.filter(|ip| !ip.is_loopback()).map(|ip| {
            format!(
                "warning: --prometheus-bind-addr: {ip} is not a loopback address: whoever can reach \
                 this machine can read the figures"
            )
        });
        let bounds = self.buckets.iter().flatten();
        let odd = bounds.copied().find(|bound| !(LEAST_S..=MOST_S).contains(bound)).map(|bound| {
            let what = if bound < LEAST_S {
                "below the 1e-05 s recordable latency floor"
            } else {
                "above the 600 s recordable latency cap"
            };
            format!(
                "warning: --prometheus-latency-buckets: bound {bound} is {what} of \
                 memtier_benchmark; here latencies are recorded as they are"
            )
        });
        address.into_iter().chain(odd).collect()
    }

    /// Address at which figures are served.
    pub(super) fn at(&self) -> Option<SocketAddr> {
        let address = self.address.unwrap_or(Ipv4Addr::LOCALHOST.into());
        self.port.map(|port| SocketAddr::new(address, port))
    }

    /// Upper bounds of buckets in seconds.
    pub(super) fn bounds(&self) -> Vec<f64> {
        self.buckets.clone().unwrap_or_else(|| EXPOSITION_BUCKETS.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(result: Result<(), Fault>, words: &str) {
        let Err(Fault::Usage(line)) = result else { panic!("{words}") };
        assert!(line.contains(words), "{line}");
    }

    #[test]
    fn labels_have_names_as_prometheus_takes_them() {
        let mut of = Prometheus::default();
        for label in ["phase=x", "_x9=1", "k="] {
            of.take_label(label).unwrap();
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
            says(of.take_label(bad), words);
        }
        says(of.take_label(&format!("{}=x", "k".repeat(129))), "label name exceeds 128 bytes.");
        says(of.take_label(&format!("z={}", "v".repeat(257))), "exceeds 256 bytes.");
        for number in 3..16 {
            of.take_label(&format!("k{number}=v")).unwrap();
        }
        says(of.take_label("last=1"), "too many labels (max 16).");
    }

    #[test]
    fn bounds_rise_by_what_can_be_reported_apart() {
        let mut of = Prometheus::default();
        for bad in ["", "5,3,1", "0.001,100000", "1e-7", "1e300", "86300,86400", "0.001,0.001001"] {
            says(of.take_buckets(bad), "prometheus-latency-buckets must be 1-64 comma-separated");
        }
        for (good, text) in [
            ("0.001,0.005,0.05", None),
            ("0.000005,700", Some("below the 1e-05 s")),
            ("1,86400", Some("above the 600 s")),
        ] {
            of.take_buckets(good).unwrap();
            let notes = of.notes();
            assert_eq!(notes.len(), usize::from(text.is_some()), "{notes:?}");
            assert!(text.is_none_or(|text| notes[0].contains(text)), "{notes:?}");
        }
    }

    #[test]
    fn addresses_are_numbers_and_need_a_port() {
        let mut of = Prometheus::default();
        for bad in ["999.999.1.1", "localhost", "[::1", "[1.2.3.4]"] {
            says(of.take_address(bad), "must be a numeric IPv4 or IPv6 address");
        }
        for bad in ["abc", "70000", "-1", "9219x", ""] {
            says(of.take_port(bad), "must be a number in the range [0-65535]");
        }
        of.take_address("[::1]").unwrap();
        says(of.check(), "--prometheus-bind-addr requires --prometheus-port.");
        of.take_port("0").unwrap();
        assert_eq!((of.check(), of.notes().len()), (Ok(()), 0));
        assert_eq!(of.at().unwrap().to_string(), "[::1]:0");
    }
}
