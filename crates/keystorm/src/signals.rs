//! Requests to stop, and the program's end after one.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// Signals that ask the program to end.
const REQUESTS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Time within which several signals are one request: coreutils' `timeout` sends one to its child and one to
/// the group, and wrapper programs pass on the Ctrl-C that a terminal has sent to both. A user who wants an
/// immediate end has seen for that long that the first had no effect.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Name of the step for errors if the kernel refuses.
const HANDLER: &str = "installing the Ctrl-C handler";

/// Set by a signal only.
static CAME: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Returns whether Ctrl-C or another request to end has come since the first call of [`interrupted`].
pub(crate) fn have_come() -> bool {
    CAME.get().is_some_and(|came| came.load(Ordering::Relaxed))
}

/// A flag that Ctrl-C and other polite requests to end set. A second request, [`ONE_REQUEST`] or later after
/// the first, ends the program at once, in case the first had no effect.
///
/// # Errors
/// Returns an error if the kernel refuses to deliver signals.
pub(crate) fn interrupted() -> Result<&'static AtomicBool> {
    watched().context(HANDLER)
}

fn watched() -> io::Result<&'static AtomicBool> {
    let [asked, came, again] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    for signal in REQUESTS {
        // They act in this order. The one that asks is first, so that no signal falls between them unheard.
        flag::register(signal, Arc::clone(&asked))?;
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&came))?;
    }
    CAME.get_or_init(|| came);
    let mut first = Signals::new(REQUESTS)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if first.forever().next().is_some() {
            thread::sleep(ONE_REQUEST);
            again.store(true, Ordering::Relaxed);
        }
    })?;
    // It lasts as long as the program.
    Ok(Box::leak(Box::new(asked)))
}

/// Number of the last signal; 0 before any. Must be called before [`interrupted`], so that it is known when
/// that flag is set.
///
/// # Errors
/// Returns the errors of [`interrupted`].
pub(crate) fn number() -> Result<Arc<AtomicUsize>> {
    let number = Arc::new(AtomicUsize::new(0));
    for signal in REQUESTS {
        flag::register_usize(signal, Arc::clone(&number), signal as usize).context(HANDLER)?;
    }
    Ok(number)
}

/// Returns the name of a signal.
pub(crate) fn name(number: usize) -> String {
    match i32::try_from(number) {
        Ok(SIGINT) => "SIGINT".to_owned(),
        Ok(SIGTERM) => "SIGTERM".to_owned(),
        Ok(SIGHUP) => "SIGHUP".to_owned(),
        _ => format!("signal {number}"),
    }
}

/// Ends the program as a closed pipe ends others: by SIGPIPE, which shells report as 141. Everything else
/// must be over.
pub(crate) fn end_of_pipe() -> ExitCode {
    // Does not return, unless the kernel knows no such signal.
    let _ = low_level::emulate_default_handler(SIGPIPE);
    ExitCode::from(128 + SIGPIPE as u8)
}
