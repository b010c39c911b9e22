//! Content of a suite's server: the number of its keys, and their memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use host::info_field;
use wire::resp::Value;

use super::client::PlanRefusal;
use super::session::{Session, broken};

/// Time limit for the number of keys to reach that of a spec.
const KEYS_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Number of equal values in a row after which memory is considered steady; with other clients it never is.
const SAME: usize = 3;
const STILL_WITHIN: Duration = Duration::from_secs(1);
impl Session<'_> {
    /// Keys of all masters.
    pub(super) fn keys(&self) -> Result<u64> {
        let mut keys = 0;
        for mut client in self.clients()? {
            if let Value::Integer(count) = client.ask(&[b"DBSIZE"])? {
                keys += count.unsigned_abs();
            }
        }
        Ok(keys)
    }

    /// `used_memory` of all masters, once it is steady: connections that have just been closed still use
    /// some. So do histograms of commands (`latency-tracking`), some 20 kB each from the first call.
    pub(super) fn used_bytes(&self) -> Result<Option<u64>> {
        for mut client in self.clients()?.into_iter().filter(|_| self.is_own()) {
            // Frees the histograms. The statistics of a given server are its owner's.
            client.ask(&[b"CONFIG", b"RESETSTAT"])?;
        }
        let end = Instant::now() + STILL_WITHIN;
        let (mut last, mut same) = (self.used_now()?, 1);
        while same < SAME && last.is_some() && Instant::now() < end {
            thread::sleep(LOOK_EVERY);
            let bytes = self.used_now()?;
            same = if bytes == last { same + 1 } else { 1 };
            last = bytes;
        }
        Ok(last)
    }

    fn used_now(&self) -> Result<Option<u64>> {
        let mut bytes = None;
        for mut client in self.clients()? {
            let info = client.ask(&[b"INFO", b"memory"])?.text().unwrap_or_default();
            let used = info_field(&info, "used_memory").and_then(|text| text.parse::<u64>().ok());
            bytes = used.map(|used| used + bytes.unwrap_or_default()).or(bytes);
        }
        Ok(bytes)
    }

    /// Waits for the number of keys that a spec requires.
    pub(super) fn check_keys(&self, expected: u64) -> Result<u64, PlanRefusal> {
        let end = Instant::now() + KEYS_WITHIN;
        loop {
            let keys = self.keys().map_err(broken)?;
            if keys == expected {
                return Ok(keys);
            }
            if Instant::now() >= end {
                let why =
                    format!("it asks for {expected} keys, and {keys} are there after loading");
                return Err(PlanRefusal::Broken(why));
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
