//! The clock of the server (`TIME`), with which clients without a coordinator agree on a start.
//!
//! Every client reaches it, and there is only one. Owns the questions and the parsing of answers;
//! `fleet::clock` has the arithmetic.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use fleet::clock::{Offset, Ping};
use host::{Client, Transport};
use naming::CLOCK;
use report::Clock;
use wire::resp::Value;

/// Number of questions; the answers together are more precise than one.
const TIMES: usize = 32;
/// Resolution to which the server truncates its time: whole microseconds.
const CUT_NS: u64 = 500;

/// The server's clock relative to this process's.
pub(crate) struct ServerClock {
    /// Origin of this process's monotonic clock, and the server's time shortly before the first answer.
    epoch: Instant,
    base_ns: u64,
    offset: Offset,
    /// Set if the answers may come from one clock that ran on.
    pub(crate) agrees: bool,
}

impl ServerClock {
    /// Asks for the time.
    ///
    /// # Errors
    /// Returns an error if the server does not report it.
    pub(crate) fn ask(client: &mut Client<Transport>) -> Result<Self> {
        let epoch = Instant::now();
        let mut base_ns = None;
        let mut pings = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let sent_ns = epoch.elapsed().as_nanos() as u64;
            let answer = client.ask(&[b"TIME"]).with_context(|| format!("{CLOCK} server"))?;
            let received_ns = epoch.elapsed().as_nanos() as u64;
            let server_ns = match (unix_ns(&answer), &answer) {
                (Some(server_ns), _) => server_ns,
                (None, Value::Error(text)) => bail!(
                    "{CLOCK} server: the server refused TIME: {}; allow it with ACL SETUSER … +time, \
                     or leave {CLOCK} out",
                    report::escape(text)
                ),
                (None, _) => bail!("{CLOCK} server: the server's reply to TIME is not a time"),
            };
            // A day before, so that differences are small and none is below 0.
            let base_ns = *base_ns.get_or_insert(server_ns.saturating_sub(DAY_NS));
            let theirs_ns = (server_ns + CUT_NS).saturating_sub(base_ns);
            pings.push(Ping { sent_ns, theirs_ns, received_ns });
        }
        let offset = Offset::from_pings(&pings)
            .with_context(|| format!("{CLOCK} server: it was not asked"))?;
        let agrees = Offset::agrees(&pings);
        Ok(Self { epoch, base_ns: base_ns.unwrap_or_default(), offset, agrees })
    }

    /// Converts an instant of the server's clock to the wall clock here, at its present setting.
    pub(crate) fn here(&self, at: SystemTime) -> SystemTime {
        let ahead_ns = unix(at) as i128 - i128::from(self.shown_ns(Instant::now()));
        moved(SystemTime::now(), ahead_ns)
    }

    /// Converts an instant of the wall clock here to the server's.
    pub(crate) fn there(&self, at: SystemTime) -> SystemTime {
        let ahead_ns = unix(at) as i128 - unix(SystemTime::now()) as i128;
        moved(UNIX_EPOCH + Duration::from_nanos(self.shown_ns(Instant::now())), ahead_ns)
    }

    /// Returns the server's time at an instant, in nanoseconds since 1970.
    fn shown_ns(&self, at: Instant) -> u64 {
        let ours_ns = at.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.base_ns.saturating_add(self.offset.theirs_ns(ours_ns))
    }

    /// Returns the lead of the server's clock over the wall clock here, in nanoseconds.
    pub(crate) fn ahead_ns(&self) -> i64 {
        let ahead = i128::from(self.shown_ns(Instant::now())) - unix(SystemTime::now()) as i128;
        i64::try_from(ahead).unwrap_or_default()
    }

    /// Returns the clock's entry in the results, with a later measurement of the same clock.
    pub(crate) fn kept(&self, later: Option<&Self>) -> Clock {
        let now = Instant::now();
        let since = |a: u64, b: u64| (i128::from(a) - i128::from(b)) as f64 / 1e3;
        let ahead_us = since(self.shown_ns(now), unix(SystemTime::now()) as u64);
        Clock {
            by: "server".to_owned(),
            ahead_us,
            bound_us: (self.offset.bound_ns + CUT_NS as f64) / 1e3,
            drift_us: later.map(|later| since(later.shown_ns(now), self.shown_ns(now))),
        }
    }
}

const DAY_NS: u64 = 86_400_000_000_000;

/// Nanoseconds since 1970.
fn unix(at: SystemTime) -> u128 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

fn moved(from: SystemTime, by_ns: i128) -> SystemTime {
    let by = Duration::from_nanos(u64::try_from(by_ns.unsigned_abs()).unwrap_or(u64::MAX));
    let moved = if by_ns < 0 { from.checked_sub(by) } else { from.checked_add(by) };
    moved.unwrap_or(from)
}

/// Parses the reply to `TIME`, which is seconds and microseconds.
/// <https://redis.io/docs/latest/commands/time/>
pub(crate) fn unix_ns(answer: &Value) -> Option<u64> {
    let Value::Array(parts) = answer else { return None };
    let number = |at: usize| parts.get(at)?.text()?.parse::<u64>().ok();
    number(0)?.checked_mul(1_000_000_000)?.checked_add(number(1)?.checked_mul(1000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(ahead_ns: f64) -> ServerClock {
        let (epoch, now) = (Instant::now(), SystemTime::now());
        let base_ns = unix(now) as u64 - DAY_NS;
        let offset = Offset { ahead_ns: DAY_NS as f64 + ahead_ns, bound_ns: 9_000.0 };
        ServerClock { epoch, base_ns, offset, agrees: true }
    }

    #[test]
    fn an_instant_there_is_another_here() {
        // The server is an hour ahead.
        let clock = clock(3.6e12);
        let agreed = SystemTime::now() + Duration::from_secs(3605);
        let here = clock.here(agreed);
        let ahead = here.duration_since(SystemTime::now()).unwrap().as_secs_f64();
        assert!((4.0..=5.01).contains(&ahead), "{ahead}");
        let again = clock.there(here);
        let off = again.max(agreed).duration_since(again.min(agreed)).unwrap();
        assert!(off < Duration::from_secs(1), "{off:?}");
        let kept = clock.kept(Some(&clock));
        assert_eq!((kept.bound_us, kept.drift_us), (9.5, Some(0.0)));
        assert!((3.5e9..3.7e9).contains(&kept.ahead_us), "{kept:?}");
    }

    #[test]
    fn what_tells_no_time_is_none() {
        let bulk = |text: &str| Value::Bulk(text.into());
        let time = Value::Array(vec![bulk("1700000000"), bulk("000042")]);
        assert_eq!(unix_ns(&time), Some(1_700_000_000_000_042_000));
        assert_eq!(unix_ns(&Value::Array(vec![bulk("x"), bulk("1")])), None);
        assert_eq!(unix_ns(&Value::Error(b"ERR".to_vec())), None);
    }
}
