//! Which engine moves the bytes.
//!
//! A new one is a variant here and an arm in [`crate::concrete`].

use std::io;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use naming::ENGINE;
use workload::EngineKind;

/// An engine that works here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    #[cfg(target_os = "linux")]
    Uring,
    Epoll,
}

impl Choice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }
}

/// The engine for what was asked, and why it is not a faster one if it is not.
///
/// # Errors
/// The one that was asked for does not work here.
pub(crate) fn choose(asked: EngineKind) -> io::Result<(Choice, Option<String>)> {
    if asked == EngineKind::Epoll {
        return Ok((Choice::Epoll, None));
    }
    match (asked, try_uring()) {
        (_, Ok(choice)) => Ok((choice, None)),
        (EngineKind::Uring, Err(error)) => {
            Err(io::Error::other(format!("{ENGINE} uring: io_uring does not work here: {error}")))
        }
        (_, Err(error)) => {
            Ok((Choice::Epoll, Some(format!("io_uring does not work here: {error}"))))
        }
    }
}

/// Tried once: every test of a suite asks, and the kernel does not change its mind.
#[cfg(target_os = "linux")]
fn try_uring() -> Result<Choice, String> {
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = TRIED.get_or_init(|| engine::Uring::probe().map_err(|e| e.to_string()));
    tried.clone().map(|()| Choice::Uring)
}

#[cfg(not(target_os = "linux"))]
fn try_uring() -> Result<Choice, String> {
    Err("it is a feature of Linux".to_owned())
}
