//! Files of results, written whole under another name and then renamed, so that a reader finds either the old
//! or the new state. The caller decides on content and time.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use tempfile::{Builder, NamedTempFile};

/// A file that is written whole.
pub struct ResultFile {
    option: String,
    path: PathBuf,
}

impl ResultFile {
    /// Creates the destination for the file of `option`, and tests that it can be written.
    ///
    /// # Errors
    /// Returns an error with the option, the file and the reason if it cannot.
    pub fn new(option: impl Display, path: &Path) -> Result<Self> {
        // A link is kept, and the file that it leads to is written.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file = Self { option: option.to_string(), path: real };
        file.tried().map_err(|error| file.fault(&error))?;
        Ok(file)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn tried(&self) -> io::Result<()> {
        if self.is_device() {
            return fs::OpenOptions::new().write(true).open(&self.path).map(drop);
        }
        if self.path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if self.path.exists() {
            fs::OpenOptions::new().append(true).open(&self.path)?;
        }
        self.beside().map(drop)
    }

    /// Replaces the content of the file.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let written = if self.is_device() {
            fs::OpenOptions::new().write(true).open(&self.path).and_then(|mut f| f.write_all(bytes))
        } else {
            self.replace(bytes)
        };
        written.map_err(|error| self.fault(&error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.beside()?;
        file.write_all(bytes)?;
        if let Ok(before) = fs::metadata(&self.path) {
            file.as_file().set_permissions(before.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    /// A file with another name in the same directory, since only there a rename is atomic.
    fn beside(&self) -> io::Result<NamedTempFile> {
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        // As any new file: what the user's umask leaves of it.
        let everybody = fs::Permissions::from_mode(0o666);
        let mut builder = Builder::new();
        builder.prefix(".keystorm-").permissions(everybody);
        builder.tempfile_in(dir.unwrap_or(Path::new(".")))
    }

    /// Returns whether the path is a terminal, a pipe or similar, which a new file cannot replace.
    fn is_device(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| !file.is_file() && !file.is_dir())
    }

    fn fault(&self, error: &io::Error) -> anyhow::Error {
        // The name of the temporary file that an error may carry is of no use to anybody.
        let reason = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).to_string(),
            None => match error.get_ref().and_then(|e| e.source()) {
                Some(source) => source.to_string(),
                None => {
                    let text = error.to_string();
                    text.split(" at path ").next().unwrap_or_default().to_owned()
                }
            },
        };
        anyhow!("{} {}: cannot be written: {reason}", self.option, self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode_and_its_links() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("f"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let result = ResultFile::new("--json", &link).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        result.write(b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn what_cannot_be_written_is_named_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: &Path| ResultFile::new("--hdr", path).err().unwrap().to_string();
        let missing = error(&dir.path().join("no/f"));
        assert!(missing.contains("--hdr") && missing.contains("no/f"), "{missing}");
        assert!(missing.contains("No such file") && !missing.contains(".keystorm-"), "{missing}");
        assert!(error(dir.path()).contains("directory"));
        ResultFile::new("--hdr", Path::new("/dev/null")).unwrap().write(b"x").unwrap();
    }
}
