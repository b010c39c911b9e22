//! The files of a folder, and the index that saves parsing them again.
//!
//! The index holds the entries of each file with its size and time: a file with another size or time is read
//! again. The index is written under another name that then replaces the old one. If several programs write
//! it, the last one wins and nothing is lost: entries that an index lacks are read from the files.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::SystemTime;

use report::Record;
use serde::{Deserialize, Serialize};

use crate::history::{Entry, documents, entries};

/// The name of the index. It begins with a dot, so that no pattern for results matches it.
pub const INDEX: &str = ".keystorm-index.json";
/// The schema of the index.
const SCHEMA: &str = "keystorm.index/1";
/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Largest index that is read.
const INDEX_BYTES_MAX: u64 = 1 << 28;
/// Maximum number of files in a history; a folder with more is not one.
pub const FILES_MAX: usize = 100_000;
/// Maximum number of levels of nested folders.
const DEPTH_MAX: usize = 8;
/// The beginning of the schema of runs, which also appears within the documents of experiments.
const RUNS: &str = "\"keystorm.run/";

/// A file that cannot be used, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, below the folder.
    pub file: String,
    /// The reason, in words for a person.
    pub why: String,
}

/// A folder of saved runs, read.
#[derive(Debug)]
pub struct Folder {
    /// Entries of the files, in the order of time.
    pub entries: Vec<Entry>,
    /// Saved runs that cannot be read.
    pub faults: Vec<Fault>,
    /// Number of files that had to be parsed; the index had the others.
    pub parsed: usize,
}

#[derive(Serialize, Deserialize)]
struct Index {
    schema: String,
    /// The version that wrote the index: another one may read files differently.
    version: String,
    files: BTreeMap<String, IndexEntry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct IndexEntry {
    bytes: u64,
    modified_ns: u64,
    /// Reason why it cannot be read, if it is a saved run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// Entries; empty if the file is no saved run.
    entries: Vec<Entry>,
}

impl Folder {
    /// Reads a folder with its subfolders.
    ///
    /// # Errors
    /// Returns an error if it is no folder, cannot be read, or holds more than [`FILES_MAX`] files.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let mut found = Vec::new();
        collect(dir, "", 0, &mut found)?;
        let known = read_index(dir);
        let mut files = BTreeMap::new();
        let mut changed = Vec::new();
        for (name, path, metadata) in found {
            let (bytes, modified_ns) = (metadata.len(), modified_ns(&metadata));
            let unchanged = known
                .get(&name)
                .filter(|known| known.bytes == bytes && known.modified_ns == modified_ns);
            match unchanged {
                Some(known) => drop(files.insert(name, known.clone())),
                None => changed.push((name, path, bytes, modified_ns)),
            }
        }
        let parsed = changed.len();
        files.extend(parse_all(&changed));
        if parsed > 0 || files.len() != known.len() {
            // A folder that cannot be written is read without an index, each time.
            let _ = write_index(dir, &files);
        }
        let mut entries = Vec::new();
        let mut faults = Vec::new();
        for (file, indexed) in files {
            entries.extend(indexed.entries);
            faults.extend(indexed.fault.map(|why| Fault { file, why }));
        }
        sort_by_time(&mut entries);
        Ok(Self { entries, faults, parsed })
    }
}

/// Sorts entries by their start, and those with the same start by file.
pub fn sort_by_time(entries: &mut [Entry]) {
    entries.sort_by(|a, b| (a.started_ms, &a.file).cmp(&(b.started_ms, &b.file)));
}

/// The files that may be saved runs, by their paths relative to the folder.
fn collect(
    dir: &Path,
    below: &str,
    depth: usize,
    found: &mut Vec<(String, PathBuf, Metadata)>,
) -> io::Result<()> {
    for file in fs::read_dir(dir)? {
        let file = file?;
        let Ok(name) = file.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = file.file_type()?;
        if kind.is_dir() {
            if depth < DEPTH_MAX {
                collect(&file.path(), &name, depth + 1, found)?;
            }
        } else if name.ends_with(".json") {
            // Links are followed to files, never to folders; one that leads nowhere is passed over.
            let Ok(metadata) = fs::metadata(file.path()) else { continue };
            if metadata.is_file() {
                found.push((name, file.path(), metadata));
            }
        }
        if found.len() > FILES_MAX {
            let text = format!("there are more than {FILES_MAX} files in it");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    Ok(())
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let since =
        metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// A file that is missing in the index: its name, path, size and time.
type ChangedFile = (String, PathBuf, u64, u64);

/// Parses these files, with as many threads as there are CPUs.
fn parse_all(changed: &[ChangedFile]) -> Vec<(String, IndexEntry)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut parsed = Vec::new();
        while let Some(file) = changed.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (name, path, bytes, modified_ns) = file;
            let (entries, fault) = match parse(name, path) {
                Ok(entries) => (entries, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            let (bytes, modified_ns) = (*bytes, *modified_ns);
            parsed.push((name.clone(), IndexEntry { bytes, modified_ns, fault, entries }));
        }
        parsed
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(changed.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        // A thread that panicked has ended the program.
        all.extend(others.into_iter().filter_map(|thread| thread.join().ok()).flatten());
        all
    })
}

/// The entries of a file; empty if it is no saved run.
fn parse(name: &str, path: &Path) -> Result<Vec<Entry>, String> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err("is over 1 GiB, too large for a saved run".to_owned());
    }
    if let Some(entries) = documents::entries(name, &text) {
        return entries;
    }
    if !std::str::from_utf8(&text).unwrap_or_default().contains(RUNS) {
        return Ok(Vec::new());
    }
    let loaded = Record::load_without_timelines(&text);
    loaded.and_then(|loaded| entries(name, &loaded.runs)).map_err(|error| error.to_string())
}

/// Reads the index; empty if there is no usable one.
fn read_index(dir: &Path) -> BTreeMap<String, IndexEntry> {
    let mut text = Vec::new();
    let file = File::open(dir.join(INDEX));
    let read = file.and_then(|file| file.take(INDEX_BYTES_MAX).read_to_end(&mut text));
    let index = read.ok().and_then(|_| serde_json::from_slice::<Index>(&text).ok());
    let index =
        index.filter(|index| index.schema == SCHEMA && index.version == env!("CARGO_PKG_VERSION"));
    index.map(|index| index.files).unwrap_or_default()
}

fn write_index(dir: &Path, files: &BTreeMap<String, IndexEntry>) -> io::Result<()> {
    let index = Index {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        files: files.clone(),
    };
    let text = serde_json::to_vec(&index)?;
    let mut file = tempfile::Builder::new().prefix(".keystorm-").tempfile_in(dir)?;
    file.write_all(&text)?;
    file.persist(dir.join(INDEX)).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use report::fixture;

    use super::*;

    fn put(dir: &Path, name: &str, text: &str) {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        fs::write(dir.join(name), text).unwrap();
    }

    fn saved() -> String {
        let mut record = Record::new(false);
        record.put(0, &report::Summary::from_run(&fixture::complete())).unwrap();
        record.to_json().unwrap()
    }

    #[test]
    fn a_file_is_parsed_once_and_again_when_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "a.json", &saved());
        put(dir.path(), "below/b.json", &saved());
        put(dir.path(), "c.json", "{}");
        put(dir.path(), "note.txt", "");
        let first = Folder::read(dir.path()).unwrap();
        assert_eq!((first.entries.len(), first.parsed), (2, 3));
        let again = Folder::read(dir.path()).unwrap();
        assert_eq!((again.entries, again.parsed), (first.entries.clone(), 0));
        put(dir.path(), "a.json", &(saved() + "\n"));
        assert_eq!(Folder::read(dir.path()).unwrap().parsed, 1);
        fs::remove_file(dir.path().join("below/b.json")).unwrap();
        assert_eq!(Folder::read(dir.path()).unwrap().entries.len(), 1);
        // Same size, other time.
        let file = File::options().append(true).open(dir.path().join("a.json")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        assert_eq!(Folder::read(dir.path()).unwrap().parsed, 1);
    }

    #[test]
    fn an_index_that_is_broken_or_of_another_version_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "a.json", &saved());
        Folder::read(dir.path()).unwrap();
        let index = fs::read_to_string(dir.path().join(INDEX)).unwrap();
        let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
        for other in ["{", "", &index.replace(&version, "\"0.0.0\"")] {
            put(dir.path(), INDEX, other);
            let read = Folder::read(dir.path()).unwrap();
            assert_eq!((read.entries.len(), read.parsed), (1, 1));
        }
    }

    #[test]
    fn a_saved_run_that_is_broken_is_named_and_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "good.json", &saved());
        put(dir.path(), "half.json", &saved()[..saved().len() / 2]);
        let read = Folder::read(dir.path()).unwrap();
        assert_eq!((read.entries.len(), read.faults.len()), (1, 1));
        assert_eq!(read.faults[0].file, "half.json");
        assert!(read.faults[0].why.contains("truncated"), "{:?}", read.faults);
        assert!(Folder::read(&dir.path().join("no")).is_err());
    }
}
