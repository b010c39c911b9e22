//! The values that options take: choices by name, counts with a suffix, times and shares.
//!
//! Owns how each is written; which option takes it is [`super::options`]'s business.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use clap::ValueEnum;
use workload::quantity::{self, DefaultUnit};
use workload::{EngineKind, Window};

/// [`Window`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum WindowArg {
    Batch,
    Rolling,
}

impl From<WindowArg> for Window {
    fn from(arg: WindowArg) -> Self {
        match arg {
            WindowArg::Batch => Self::Batch,
            WindowArg::Rolling => Self::Rolling,
        }
    }
}

/// [`workload::Arrivals`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ArrivalsArg {
    Constant,
    Poisson,
}

impl From<ArrivalsArg> for workload::Arrivals {
    fn from(arg: ArrivalsArg) -> Self {
        match arg {
            ArrivalsArg::Constant => Self::Constant,
            ArrivalsArg::Poisson => Self::Poisson,
        }
    }
}

/// What a test is called: something that can be read.
pub(super) fn test_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    match name.is_empty() || name.chars().any(char::is_control) {
        true => Err("expected a name of one line".to_owned()),
        false => Ok(name.to_owned()),
    }
}

/// An instant to come: RFC 3339, Unix seconds, or `+` and a time from now.
pub(super) fn start_at(text: &str) -> Result<std::time::SystemTime, String> {
    let now = std::time::SystemTime::now();
    let instant = match text.strip_prefix('+') {
        Some(rest) => seconds(rest).ok().and_then(|s| now.checked_add(s)),
        None => match text.parse().ok().map(Duration::try_from_secs_f64) {
            Some(since_1970) => since_1970.ok().and_then(|s| std::time::UNIX_EPOCH.checked_add(s)),
            None => humantime::parse_rfc3339_weak(text).ok(),
        },
    };
    let instant = instant.ok_or(
        "expected a time such as 2026-05-01T12:00:00Z, seconds since 1970, or +5s for five \
         seconds from now",
    )?;
    match now.duration_since(instant) {
        Ok(passed) if !passed.is_zero() => Err(format!(
            "that was {} ago; name a time in the future, or +5s for five seconds from now",
            roughly(passed)
        )),
        _ => Ok(instant),
    }
}

/// A time in its largest unit alone: `25 years`, `3 s`.
fn roughly(time: Duration) -> String {
    let text = humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    let largest = text.split(' ').next().unwrap_or_default();
    let (number, unit) =
        largest.split_at(largest.find(|c: char| c.is_alphabetic()).unwrap_or(largest.len()));
    format!("{number} {}", if unit == "m" { "min" } else { unit })
}

/// A choice of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum YesNo {
    Yes,
    No,
}

/// `--threads`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Threads {
    Auto,
    Number(i64),
}

pub(super) fn threads(text: &str) -> Result<Threads, String> {
    if text == "auto" {
        return Ok(Threads::Auto);
    }
    signed(text).map(Threads::Number).map_err(|_| "expected a number or `auto`".to_owned())
}

/// [`workload::ProtocolKind`] as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArg {
    Resp,
    Memcache,
    MemcacheMeta,
    MemcacheBinary,
}

/// [`EngineKind`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum EngineArg {
    Auto,
    Uring,
    Epoll,
}

impl From<EngineArg> for EngineKind {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Auto => Self::Auto,
            EngineArg::Uring => Self::Uring,
            EngineArg::Epoll => Self::Epoll,
        }
    }
}

/// [`workload::OnError`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OnErrorArg {
    Stop,
    Count,
}

impl From<OnErrorArg> for workload::OnError {
    fn from(arg: OnErrorArg) -> Self {
        match arg {
            OnErrorArg::Stop => Self::Stop,
            OnErrorArg::Count => Self::Count,
        }
    }
}

/// A whole number, with k, M or G for thousands, millions and thousands of millions if you like.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    quantity::count(text)
}

/// A whole number that fits into 32 bits.
pub(crate) fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("the maximum is {}", u32::MAX))
}

/// A whole number between two others.
pub(crate) fn count_in(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let within = small_count(text)?;
        let fault = || format!("must be between {} and {}", range.start(), range.end());
        range.contains(&within).then_some(within).ok_or_else(fault)
    }
}

/// A whole number that may be below 0, which the peers bend into shape.
pub(crate) fn signed(text: &str) -> Result<i64, String> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let number = i64::try_from(count(digits)?);
    number.map(|n| sign * n).map_err(|_| format!("the maximum is {}", i64::MAX))
}

/// What separates the cells of a table: tabs if its name ends in `.tsv`, commas otherwise.
pub(super) fn delimiter(path: &std::path::Path) -> u8 {
    let tabs = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
    if tabs { b'\t' } else { b',' }
}

/// A port.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    // As the imitated tools do, which lets scripts of another system pass, with a CR at the end of each line.
    text.trim_end().parse().map_err(|_| "expected a number from 0 to 65535".to_owned())
}

/// An IP address.
pub(crate) fn ip(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "expected an IP address such as 127.0.0.2 or ::1".to_owned())
}

/// A number of per cent.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let fault = || "expected a percentage, such as 2 or 0.5".to_owned();
    number.filter(|percent| percent.is_finite()).ok_or_else(fault)
}

/// A time; a number alone is seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    quantity::time(text, DefaultUnit::Seconds)
}

/// A time; a number alone is milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<Duration, String> {
    quantity::time(text, DefaultUnit::Milliseconds)
}

/// A time in nanoseconds. What is beyond the limits of a plan is refused there.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A time between two others, in seconds, for an option of that name.
///
/// # Errors
/// It is not; names the option, the value and what is possible.
pub(crate) fn seconds_in(
    option: &str,
    time: Duration,
    range: RangeInclusive<f64>,
) -> Result<f64, String> {
    let seconds = time.as_secs_f64();
    let (least, most) = (range.start(), range.end());
    let fault = || format!("{option} {seconds}: must be between {least} and {most} seconds");
    range.contains(&seconds).then_some(seconds).ok_or_else(fault)
}
