//! Files that a report writes beside standard output, whose errors name the file and so differ from those of
//! standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of a report.
pub struct ReportFile {
    file: File,
    path: PathBuf,
}

impl ReportFile {
    /// Creates the file, or empties an existing one.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| WriteFault::for_file(path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }
}

impl Write for ReportFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| WriteFault::for_file(&self.path, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| WriteFault::for_file(&self.path, &error))
    }
}

/// Writes a whole file.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    ReportFile::create(path)?.write_all(text.as_ref())
}

/// Checks that files with names that begin with `prefix` can be made, as far as the folder shows.
pub fn can_begin_with(prefix: &str) -> io::Result<()> {
    match Path::new(prefix).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => {
            let why = format!("there is no folder {}", folder.display());
            Err(WriteFault::for_file(Path::new(prefix), &io::Error::other(why)))
        }
        _ => Ok(()),
    }
}

/// Returns whether an error is about a file, and so names it.
pub fn is_of_file(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<WriteFault>())
}

#[derive(Debug, thiserror::Error)]
#[error("writing {}: {why}", path.display())]
struct WriteFault {
    path: PathBuf,
    why: String,
}

impl WriteFault {
    fn for_file(path: &Path, error: &io::Error) -> io::Error {
        let unwritten = Self { path: path.to_owned(), why: error.to_string() };
        // Without a kind: a broken pipe of this file must not be taken for a closed standard output.
        io::Error::other(unwritten)
    }
}
