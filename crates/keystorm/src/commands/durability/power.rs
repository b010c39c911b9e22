//! Loss of power without a power switch: `strace` notes what a server wrote and synchronised, and after its death its
//! files are cut to what was on disk.
//!
//! Bytes count as durable once an `fsync` or `fdatasync` that began after their write has returned. A file that was
//! renamed is there under its new name only if the folder was synchronised after that, and otherwise gone.

use std::collections::HashMap;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// System calls that are noted.
const CALLS: &str = "write,fsync,fdatasync,rename,renameat,renameat2";
/// Longest wait for `strace` to write its last line.
const TRACED_WITHIN: Duration = Duration::from_secs(10);

/// Writes a program into `home` that runs `program` under `strace`, with the same process number.
///
/// # Errors
/// Returns an error that says what to install.
pub(super) fn traced(program: &Path, home: &Path) -> Result<PathBuf> {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        bail!(
            "--crash power: strace is not installed; install its package (apt-get install strace)"
        );
    }
    let quoted = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let (trace, program) = (quoted(&trace(home)), quoted(program));
    let text = format!(
        "#!/bin/sh\nexec strace -DD -f --seccomp-bpf -q -y -s 0 -e trace={CALLS} -o {trace} {program} \"$@\"\n"
    );
    let script = home.join("traced");
    fs::write(&script, text).context("writing a script")?;
    fs::set_permissions(&script, Permissions::from_mode(0o700))?;
    Ok(script)
}

fn trace(home: &Path) -> PathBuf {
    home.join("trace")
}

/// Cuts the files of a killed server to the bytes that had reached the disk.
///
/// # Errors
/// Returns an error if the trace cannot be read, or a file not be cut.
pub(super) fn cut(home: &Path) -> Result<()> {
    let deadline = Instant::now() + TRACED_WITHIN;
    let text = loop {
        let text = fs::read_to_string(trace(home)).context("reading strace's output")?;
        if text.contains("+++ killed by SIGKILL") {
            break text;
        }
        if Instant::now() > deadline {
            bail!("strace did not note the end of the server; it may not be allowed to trace here");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    for (path, file) in Disk::read(&text, home).files {
        if !path.starts_with(home) || !path.exists() {
            continue;
        }
        if file.is_named {
            let cut = OpenOptions::new().write(true).open(&path)?;
            cut.set_len(file.durable.min(cut.metadata()?.len()))?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// A file as the kernel and the disk have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    written: u64,
    durable: u64,
    /// Set if its name is durable once its content is.
    is_named: bool,
}

/// Contents of files, as far as a trace shows them.
#[derive(Debug, Default)]
struct Disk {
    home: PathBuf,
    files: HashMap<PathBuf, FileState>,
    /// Calls that have begun, by thread, with the size that was written before.
    begun: HashMap<String, (String, u64)>,
}

impl Disk {
    /// Reads the trace of a server whose folder is `home`.
    fn read(trace: &str, home: &Path) -> Self {
        let mut disk = Self { home: home.to_owned(), ..Self::default() };
        trace.lines().for_each(|line| disk.line(line));
        disk
    }

    /// Takes in a line: `PID call(arguments) = result`, or one of its halves.
    fn line(&mut self, line: &str) {
        let Some((thread, call)) = line.trim_start().split_once(' ') else { return };
        let call = call.trim_start();
        if let Some(begun) = call.strip_suffix("<unfinished ...>") {
            let written = descriptor(begun).map_or(0, |path| self.state(&path).written);
            self.begun.insert(thread.to_owned(), (begun.trim_end().to_owned(), written));
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            let Some((begun, written)) = self.begun.remove(thread) else { return };
            self.call(&format!("{begun}{end}"), Some(written));
        } else {
            self.call(call, None);
        }
    }

    /// Takes in a call; `before` is the size of its file when it began.
    fn call(&mut self, call: &str, before: Option<u64>) {
        let Some((name, _)) = call.split_once('(') else { return };
        let result = call
            .rsplit_once(" = ")
            .and_then(|(_, result)| result.split_whitespace().next()?.parse::<i64>().ok());
        let Some(result) = result.and_then(|result| u64::try_from(result).ok()) else { return };
        if name.starts_with("rename") {
            let names = call.split('"').skip(1).step_by(2).map(|name| self.home.join(name));
            let names: Vec<PathBuf> = names.collect();
            if let [from, to, ..] = &names[..] {
                let state = self.files.remove(from).unwrap_or(NEW);
                self.files.insert(to.clone(), FileState { is_named: false, ..state });
            }
            return;
        }
        let Some(path) = descriptor(call) else { return };
        if name == "write" {
            self.state(&path).written += result;
        } else {
            self.synchronise(&path, before);
        }
    }

    fn synchronise(&mut self, path: &Path, before: Option<u64>) {
        if path.is_dir() {
            let inside = self.files.iter_mut().filter(|(file, _)| file.parent() == Some(path));
            inside.for_each(|(_, state)| state.is_named = true);
            return;
        }
        let state = self.state(path);
        state.durable = state.durable.max(before.unwrap_or(state.written));
    }

    fn state(&mut self, path: &Path) -> &mut FileState {
        self.files.entry(path.to_owned()).or_insert(NEW)
    }
}

/// A file that was just made: its name reaches the disk with its first bytes.
const NEW: FileState = FileState { written: 0, durable: 0, is_named: true };

/// The file behind the first argument of a call, `8</path>`; `None` for a socket or a pipe.
fn descriptor(call: &str) -> Option<PathBuf> {
    let (_, rest) = call.split_once('<')?;
    let (path, _) = rest.split_once('>')?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_durable_once_a_later_sync_has_returned() {
        let trace = "\
            7 write(8</d/a.aof>, \"\"..., 100) = 100\n\
            7 write(9<socket:[55]>, \"\"..., 5) = 5\n\
            8 fdatasync(8</d/a.aof> <unfinished ...>\n\
            7 write(8</d/a.aof>, \"\"..., 50) = 50\n\
            8 <... fdatasync resumed>) = 0\n\
            7 write(8</d/a.aof>, \"\"..., 25) = 25\n\
            8 fdatasync(8</d/a.aof> <unfinished ...>\n\
            7 +++ killed by SIGKILL +++\n";
        let disk = Disk::read(trace, Path::new("/d"));
        let state = disk.files[Path::new("/d/a.aof")];
        assert_eq!(state, FileState { written: 175, durable: 100, is_named: true });
        assert_eq!(disk.files.len(), 1);
    }

    #[test]
    fn a_renamed_file_is_there_once_its_folder_is_synchronised() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (from, to, folder) = (at("temp"), at("base.rdb"), dir.path().display());
        let mut trace = format!(
            "7 write(8<{0}>, \"\"..., 10) = 10\n7 fsync(8<{0}>) = 0\n7 rename(\"temp\", \"base.rdb\") = 0\n",
            from.display()
        );
        assert!(!Disk::read(&trace, dir.path()).files[&to].is_named);
        trace += &format!("7 fsync(9<{folder}>) = 0\n");
        let disk = Disk::read(&trace, dir.path());
        assert_eq!(disk.files[&to], FileState { written: 10, durable: 10, is_named: true });
        assert!(!disk.files.contains_key(&from));
    }
}
