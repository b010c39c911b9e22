//! The guard: a spawned server is started through it, so that it dies with keystorm.
//!
//! A child must itself ask the kernel for a signal at its parent's death, between `fork` and `exec`, where
//! the standard library allows only unsafe code. So keystorm starts itself as the child; that process asks,
//! and then becomes the server by a plain `exec`. The pid stays the same, and the request outlives the
//! `exec`. <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use thiserror::Error;

/// The first argument of a guard, before keystorm's pid, the program and its arguments.
pub const GUARD_ARG: &str = "__guard";

/// Reason why the guard did not become the server, in words.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct GuardError(String);

/// Becomes the program in the arguments, tied to the life of the thread that started this process. `args` are
/// those after [`GUARD_ARG`]. Call it first in `main`, before there is another thread.
///
/// On systems other than Linux there is no such tie: the server ends when keystorm ends it.
///
/// # Errors
/// Returns only if the program did not start.
pub fn exec(args: impl IntoIterator<Item = OsString>) -> Result<Infallible, GuardError> {
    let mut args = args.into_iter();
    let parent = args.next().and_then(|pid| pid.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, args.next()) else {
        let text = "is keystorm's own: it takes a pid, a program and its arguments";
        return Err(GuardError(format!("{GUARD_ARG} {text}")));
    };
    let untied = |cause| GuardError(format!("could not tie the server to keystorm: {cause}"));
    // A group of its own, or Ctrl-C at the terminal would end the server together with keystorm,
    // and the results so far could not say what the server was doing.
    rustix::process::setpgid(None, None).map_err(|e| untied(io::Error::from(e)))?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|e| untied(io::Error::from(e)))?;
    // After the request, not before it: a parent that died in between sends no signal any more.
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now != Some(parent) {
        let text = format!("keystorm (pid {parent}) ended before its server started");
        return Err(GuardError(text));
    }
    let cause = Command::new(&program).args(args).exec();
    Err(GuardError(format!("could not start {}: {cause}", PathBuf::from(program).display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    // What it does when all is well ends the process it is tested in; the tests of `keystorm`
    // do that with the real executable.
    #[test]
    fn called_by_hand_it_says_what_it_is_for() {
        for args in [&[][..], &["12"], &["abc", "redis-server"]] {
            let error = exec(args.iter().map(OsString::from)).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with("__guard is keystorm's own"), "{error}");
        }
    }
}
