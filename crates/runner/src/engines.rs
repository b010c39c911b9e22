//! Choice of the engine that moves the bytes.
//!
//! A new engine is a variant here and an arm in [`crate::concrete`].

use std::io;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use naming::ENGINE;
use workload::EngineKind;

/// An engine that works on this machine.
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

/// Chooses the engine for a request and returns the reason if it is not the fastest one.
///
/// # Errors
/// Returns an error if the requested engine does not work here.
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

/// Tries io_uring once: every test of a suite asks, and the answer cannot change.
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
