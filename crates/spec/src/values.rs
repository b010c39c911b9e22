//! The values that options take: choices by name, counts with a suffix, times and shares. Each type has one reader,
//! [`FromStr`], and one writer, [`Display`](fmt::Display), for command lines and documents alike.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use workload::quantity::{self, DefaultUnit};
use workload::{EngineKind, Window};

use crate::text::as_text;

/// Choices of a plan by name, for options and keys of documents.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident -> $of:ty { $($choice:ident => $meant:ident),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $(#[allow(missing_docs, reason = "named as it is typed")] $choice),+
        }

        impl From<$name> for $of {
            fn from(choice: $name) -> Self {
                match choice {
                    $($name::$choice => Self::$meant),+
                }
            }
        }
    )+};
}
pub(crate) use choices;

choices! {
    /// `--window`.
    WindowArg -> Window { Batch => Batch, Rolling => Rolling }
    /// `--arrivals`.
    ArrivalsArg -> workload::Arrivals { Constant => Constant, Poisson => Poisson }
    /// `--engine`.
    EngineArg -> EngineKind { Auto => Auto, Uring => Uring, Epoll => Epoll }
    /// `--on-error`.
    OnErrorArg -> workload::OnError { Stop => Stop, Count => Count }
}

/// `--protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    missing_docs,
    reason = "named as it is typed; a text of each would have the help list them at length"
)]
pub enum ProtocolArg {
    Resp,
    Memcache,
    MemcacheMeta,
    MemcacheBinary,
}

/// A choice of two: `yes` or `no` on a command line, `true` or `false` in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
#[allow(missing_docs, reason = "named as it is typed")]
pub enum YesNo {
    Yes,
    No,
}

impl From<YesNo> for bool {
    fn from(choice: YesNo) -> Self {
        choice == YesNo::Yes
    }
}

impl From<bool> for YesNo {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// `-k`: every number but 0 is a yes, as in the peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeepAlive(
    /// Set if connections stay open.
    pub bool,
);

impl FromStr for KeepAlive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        signed(text).map(|number| Self(number != 0))
    }
}

/// A number that a [`Count`] can have.
pub trait Countable: Copy + fmt::Display {
    /// Parses a number.
    ///
    /// # Errors
    /// Returns an error with the expected values.
    fn read(text: &str) -> Result<Self, String>;
}

impl Countable for u64 {
    fn read(text: &str) -> Result<Self, String> {
        count(text)
    }
}

impl Countable for u32 {
    fn read(text: &str) -> Result<Self, String> {
        small_count(text)
    }
}

impl Countable for i64 {
    fn read(text: &str) -> Result<Self, String> {
        signed(text)
    }
}

/// A whole number, with k, M or G for thousands, millions and thousands of millions if you like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count<N>(
    /// The number.
    pub N,
);

impl<N: Countable> FromStr for Count<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        N::read(text).map(Self)
    }
}

impl<N: fmt::Display> fmt::Display for Count<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

as_text!(Count<u64>, Count<u32>, Count<i64>);

/// A whole number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positive(
    /// The number.
    pub u32,
);

impl FromStr for Positive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        count_in(1..=u32::MAX)(text).map(Self)
    }
}

/// A time of which a number alone is seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(
    /// The time.
    pub Duration,
);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        seconds(text).map(Self)
    }
}

/// A time of which a number alone is milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milliseconds(
    /// The time.
    pub Duration,
);

impl FromStr for Milliseconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        quantity::time(text, DefaultUnit::Milliseconds).map(Self)
    }
}

impl Seconds {
    /// Nanoseconds. The plan refuses values beyond its limits.
    pub(crate) fn ns(self) -> u64 {
        nanoseconds(self.0)
    }
}

impl Milliseconds {
    /// Nanoseconds, as those of seconds.
    pub(crate) fn ns(self) -> u64 {
        nanoseconds(self.0)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `--threads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// A thread for each CPU that a local server leaves free.
    Auto,
    /// A number.
    Number(i64),
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        signed(text).map(Self::Number).map_err(|_| "expected a number or `auto`".to_owned())
    }
}

/// CPUs, such as `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(
    /// Their numbers.
    pub Vec<usize>,
);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const CPU_MAX: usize = 1023;
        let ranges = text.split(',').map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
            (!range.is_empty() && *range.end() <= CPU_MAX).then_some(range)
        });
        let ranges = ranges.collect::<Option<Vec<RangeInclusive<usize>>>>();
        let ranges = ranges.ok_or("CPUs are numbers and ranges such as 0,2-3")?;
        Ok(Self(ranges.into_iter().flatten().collect()))
    }
}

/// Name of a test: something that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestName(
    /// The name.
    pub String,
);

impl FromStr for TestName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err("expected a name of one line".to_owned());
        }
        Ok(Self(name.to_owned()))
    }
}

/// Writes a value of each of these types.
macro_rules! written {
    ($($type:ident $value:pat => $written:expr;)+) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self;
                f.write_str(&$written)
            }
        }
        as_text!($type);
    )+};
}
pub(crate) use written;

written! {
    Positive Self(number) => number.to_string();
    Seconds Self(time) => quantity::shown(nanoseconds(*time));
    Milliseconds Self(time) => quantity::shown(nanoseconds(*time));
    Threads threads => match threads {
        Self::Auto => "auto".to_owned(),
        Self::Number(number) => number.to_string(),
    };
    Cpus Self(cpus) => cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    TestName Self(name) => name.clone();
}

/// Parses a whole number, such as `500`, `10k` or `5M`.
///
/// # Errors
/// Returns an error if the text is no such number.
pub fn count(text: &str) -> Result<u64, String> {
    quantity::count(text)
}

/// Parses a whole number of at most 32 bits.
///
/// # Errors
/// Returns an error if the text is no such number.
pub fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("the maximum is {}", u32::MAX))
}

/// Returns a parser of whole numbers in a range.
pub fn count_in(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let within = small_count(text)?;
        let fault = || format!("must be between {} and {}", range.start(), range.end());
        range.contains(&within).then_some(within).ok_or_else(fault)
    }
}

/// Parses a whole number that may be negative, as the peers accept it.
///
/// # Errors
/// Returns an error if the text is no whole number.
pub fn signed(text: &str) -> Result<i64, String> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let number = i64::try_from(count(digits)?);
    number.map(|n| sign * n).map_err(|_| format!("the maximum is {}", i64::MAX))
}

/// Returns what separates the cells of a table: tabs if its name ends in `.tsv`, commas otherwise.
pub(crate) fn delimiter(path: &std::path::Path) -> u8 {
    let tabs = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
    if tabs { b'\t' } else { b',' }
}

/// Parses a port.
///
/// # Errors
/// Returns an error if the text is no port.
pub fn port(text: &str) -> Result<u16, String> {
    // As the imitated tools do, which lets scripts of another system pass, with a CR at the end of each line.
    text.trim_end().parse().map_err(|_| "expected a number from 0 to 65535".to_owned())
}

/// Parses an IP address.
///
/// # Errors
/// Returns an error if the text is no IP address.
pub fn ip(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "expected an IP address such as 127.0.0.2 or ::1".to_owned())
}

/// Parses a percentage, with or without a sign.
///
/// # Errors
/// Returns an error if the text is no percentage.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    number
        .filter(|percent| percent.is_finite())
        .ok_or_else(|| "expected a percentage, such as 2 or 0.5".to_owned())
}

/// Parses a time; a number alone is in seconds.
///
/// # Errors
/// Returns an error if the text is no time.
pub fn seconds(text: &str) -> Result<Duration, String> {
    quantity::time(text, DefaultUnit::Seconds)
}

/// Returns a time in seconds, if it is in the range.
///
/// # Errors
/// Returns an error with the option, the value and the range.
pub fn seconds_in(option: &str, time: Duration, range: RangeInclusive<f64>) -> Result<f64, String> {
    let seconds = time.as_secs_f64();
    let (least, most) = (range.start(), range.end());
    let fault = || format!("{option} {seconds}: must be between {least} and {most} seconds");
    range.contains(&seconds).then_some(seconds).ok_or_else(fault)
}
