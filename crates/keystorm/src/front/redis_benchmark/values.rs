//! The values that options take: choices by name, counts with a suffix, times and shares.
//!
//! Owns how each is written; which option takes it is [`super::options`]'s business.

use clap::ValueEnum;
pub(in crate::front) use workload::parameters::{count, factor};
use workload::{EngineKind, ReadFrom, Window};

/// [`ReadFrom`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RfrArg {
    No,
    Yes,
    All,
}

impl From<RfrArg> for ReadFrom {
    fn from(arg: RfrArg) -> Self {
        match arg {
            RfrArg::No => Self::Masters,
            RfrArg::Yes => Self::Replicas,
            RfrArg::All => Self::All,
        }
    }
}

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

pub(super) fn shard(text: &str) -> Result<workload::Shard, String> {
    let shares = text.split_once('/').and_then(|(index, of)| {
        Some(workload::Shard { index: index.parse().ok()?, of: of.parse().ok()? })
    });
    let fault = || "a share is I/N, such as 2/4 for the second of four".to_owned();
    shares.filter(|s| s.of > 0 && (1..=s.of).contains(&s.index)).ok_or_else(fault)
}

/// An instant: RFC 3339, Unix seconds, or `+` and seconds from now.
pub(super) fn start_at(text: &str) -> Result<std::time::SystemTime, String> {
    let seconds = |text: &str| {
        let seconds = text.parse().ok().map(std::time::Duration::try_from_secs_f64);
        seconds.and_then(Result::ok)
    };
    let instant = match text.strip_prefix('+') {
        Some(rest) => seconds(rest).and_then(|s| std::time::SystemTime::now().checked_add(s)),
        None => match seconds(text) {
            Some(since_1970) => std::time::UNIX_EPOCH.checked_add(since_1970),
            None => humantime::parse_rfc3339_weak(text).ok(),
        },
    };
    instant.ok_or_else(|| "a time is 2026-05-01T12:00:00Z, seconds since 1970, or +5".to_owned())
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
    text.parse().map(Threads::Number).map_err(|e| format!("{e}; it is a number or `auto`"))
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

/// [`workload::SizeBy`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum SizeByArg {
    Key,
    Request,
}

impl From<SizeByArg> for workload::SizeBy {
    fn from(arg: SizeByArg) -> Self {
        match arg {
            SizeByArg::Key => Self::Key,
            SizeByArg::Request => Self::Request,
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

/// What separates the cells of a table: tabs if its name ends in `.tsv`, commas otherwise.
pub(super) fn delimiter(path: &std::path::Path) -> u8 {
    let tabs = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
    if tabs { b'\t' } else { b',' }
}

pub(in crate::front) fn small_count(text: &str) -> Result<u32, String> {
    let number = count(text)?;
    u32::try_from(number).map_err(|_| "number too large".to_owned())
}
