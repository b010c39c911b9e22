//! Sample of the traffic to record: all commands of some clients, or all commands on some keys.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

use crate::{Event, Protocol, commands};

/// Unit of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleUnit {
    /// Clients: each is recorded completely, or not at all.
    Clients,
    /// Keys: a command is recorded if its first key is in the sample; without a key, if its client is.
    Keys,
}

/// A share of clients or keys, always the same ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The share, above 0 and at most 1.
    pub share: f64,
    /// Unit that is sampled.
    pub unit: SampleUnit,
}

impl Sample {
    /// Returns whether the sample includes an event; `keys` is a buffer.
    pub fn has(&self, protocol: Protocol, event: &Event, keys: &mut Vec<usize>) -> bool {
        let mut hasher = DefaultHasher::new();
        keys.clear();
        if self.unit == SampleUnit::Keys {
            commands::keys_of(protocol, event, keys);
        }
        match keys.first() {
            Some(first) => event.bytes(*first).hash(&mut hasher),
            None => event.client.hash(&mut hasher),
        }
        // The upper bits as a number from 0 to 1.
        (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64 <= self.share
    }
}

impl FromStr for Sample {
    type Err = String;

    /// Parses `10%`, `clients:10%` or `keys:10%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (unit, share) = match text.split_once(':') {
            None => (SampleUnit::Clients, text),
            Some(("clients", share)) => (SampleUnit::Clients, share),
            Some(("keys", share)) => (SampleUnit::Keys, share),
            Some(_) => return Err("expected clients:SHARE or keys:SHARE, such as keys:10%".into()),
        };
        let percent = share.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        match percent.map(|percent| percent / 100.0) {
            Some(share) if share > 0.0 && share <= 1.0 => Ok(Self { share, unit }),
            _ => Err("expected a share above 0 % and at most 100 %, such as 10%".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(client: u64, key: &str) -> Event {
        let mut event = Event::default();
        event.client = client;
        event.push(b"GET");
        event.push(key.as_bytes());
        event
    }

    #[test]
    fn shares_are_those_that_were_asked_for_and_units_stay_whole() {
        let mut keys = Vec::new();
        for (text, unit) in [("10%", SampleUnit::Clients), ("keys:10%", SampleUnit::Keys)] {
            let sample: Sample = text.parse().unwrap();
            assert_eq!((sample.share, sample.unit), (0.1, unit));
            let mut has = |n: u64, key: &str| sample.has(Protocol::Resp, &event(n, key), &mut keys);
            let taken = (0..10_000).filter(|n| has(*n, &format!("key:{n}"))).count();
            assert!((800..1200).contains(&taken), "{taken} of 10,000");
            for n in 0..100 {
                match unit {
                    SampleUnit::Clients => assert_eq!(has(n, "a"), has(n, "b")),
                    SampleUnit::Keys => assert_eq!(has(1, &n.to_string()), has(2, &n.to_string())),
                }
            }
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", "10", "0%", "101%", "users:10%", "keys:", "NaN%"] {
            assert!(text.parse::<Sample>().is_err(), "{text}");
        }
    }
}
