//! The private directory of a spawned server.
//!
//! Its name contains keystorm's pid, for people, and a file in it is locked while keystorm lives. The next
//! keystorm removes directories of killed ones, whose locks are free.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, getuid, test_kill_process};
use tempfile::TempDir;

const PREFIX: &str = "keystorm-spawn-";
const LOCK: &str = "lock";

/// A directory that only this user can enter, removed with its content when dropped.
#[derive(Debug)]
pub(super) struct Home {
    dir: TempDir,
    /// Lock that is held and not used: the kernel releases it when keystorm ends for any reason.
    _lock: File,
}

impl Home {
    /// Makes the directory in `place`, after removing those of ended keystorms.
    ///
    /// # Errors
    /// Returns the file system's error; the text names `place`.
    pub(super) fn make_in(place: &Path) -> io::Result<Self> {
        remove_stale(place);
        let dir = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        let lock = File::create(dir.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { dir, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of the file for the server's output.
    pub(super) fn log(&self) -> PathBuf {
        self.path().join("server.log")
    }

    /// Returns the path of its unix socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.path().join("server.sock")
    }
}

/// Removes stale directories as far as possible: the place is shared, and leftovers harm nobody.
fn remove_stale(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
        if let Some(pid) = pid
            && is_ours(&entry.path())
            && is_stale(&entry.path(), pid)
        {
            // Somebody else may be removing it right now.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == getuid().as_raw())
}

/// Returns whether its keystorm is dead and its lock, if there is one, free. The pid alone is not enough,
/// since containers that share a `/tmp` do not share pids; the lock alone is not either, since it is taken a
/// moment after the directory is made.
fn is_stale(path: &Path, pid: i32) -> bool {
    let alive = Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH));
    if alive {
        return false;
    }
    match File::open(path.join(LOCK)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pid beyond Linux's range (`pid_max` is at most 4,194,304).
    const NOBODY: i32 = 999_999_999;

    #[test]
    fn a_home_is_private_and_goes_with_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::make_in(place.path()).unwrap();
        let path = home.path().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("keystorm-spawn-{}-", std::process::id())));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::write(home.log(), "text").unwrap();
        drop(home);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_keystorm_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let killed = make(&format!("keystorm-spawn-{NOBODY}-a"));
        fs::write(killed.join(LOCK), "").unwrap();
        let killed_early = make(&format!("keystorm-spawn-{NOBODY}-b"));
        let elsewhere = make(&format!("keystorm-spawn-{NOBODY}-c"));
        let lock = File::create(elsewhere.join(LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let starting = make(&format!("keystorm-spawn-{}-d", std::process::id()));
        let other = make("keystorm-results");
        let alive = Home::make_in(place.path()).unwrap();
        let _second = Home::make_in(place.path()).unwrap();
        assert!(!killed.exists() && !killed_early.exists());
        for kept in [&elsewhere, &starting, &other, &alive.path().to_owned()] {
            assert!(kept.exists(), "{} should be there", kept.display());
        }
    }
}
