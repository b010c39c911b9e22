//! A tree of small text files: `/`, or a recording of it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest file that is read; `/proc/interrupts` of a machine with many CPUs is the longest by far.
const BYTES_MAX: u64 = 4 << 20;

/// A directory that contains files like `/proc/cpuinfo`.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of a file, trimmed; `None` if it cannot be read or is empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.root.join(path)).ok()?;
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    /// The single number, or other value, in a file.
    pub(super) fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The word in brackets of a file with choices: `always [madvise] never`.
    pub(super) fn chosen(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        chosen.map(|(word, _)| word.to_owned())
    }

    /// Names in a folder, sorted, with numbers in numerical order.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_by_key(|name| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            (stem.to_owned(), name[stem.len()..].parse::<u64>().ok())
        });
        names
    }

    /// Last part of a link's target.
    pub(super) fn link_name(&self, path: &str) -> Option<String> {
        let to = fs::read_link(self.root.join(path)).ok()?;
        to.file_name()?.to_str().map(str::to_owned)
    }
}
