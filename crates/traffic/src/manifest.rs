//! Append-only files in several parts, as of server version 7.0: a manifest names the parts.

use std::path::{Path, PathBuf};

use wire::quoted::words;

use crate::Fault;

const ENDING: &str = ".manifest";
/// The longest manifest that is read.
const BYTES_MAX: u64 = 1 << 20;

/// The parts to read in order, and the omissions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) notes: Vec<String>,
}

/// Finds the manifest at a path, or in the folder at the path.
pub(crate) fn find(path: &Path) -> Result<Option<PathBuf>, Fault> {
    if !path.is_dir() {
        return Ok(path.to_string_lossy().ends_with(ENDING).then(|| path.to_owned()));
    }
    let entries = std::fs::read_dir(path).map_err(|error| Fault(error.to_string()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> =
        names.filter(|name| name.to_string_lossy().ends_with(ENDING)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(Some(one)),
        (Some(_), false) => Err(Fault("the folder has several manifests: name one of them".into())),
        (None, _) => Err(Fault("the folder has no manifest of an append-only file".into())),
    }
}

/// Reads a manifest.
pub(crate) fn read(path: &Path) -> Result<Parts, Fault> {
    let fault = |error: std::io::Error| Fault(error.to_string());
    if std::fs::metadata(path).map_err(fault)?.len() > BYTES_MAX {
        return Err(Fault("a manifest has at most 1 MiB".into()));
    }
    let text = std::fs::read(path).map_err(fault)?;
    parts(&text, path.parent().unwrap_or(Path::new("")))
}

/// The parts in a folder, according to the text of a manifest.
fn parts(text: &[u8], folder: &Path) -> Result<Parts, Fault> {
    let mut increments = Vec::new();
    let mut notes = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        let fault = || Fault(format!("line {} of the manifest is not understood", at + 1));
        let words = words(line).ok_or_else(fault)?;
        let value = |name: &[u8]| {
            let pair = words.chunks_exact(2).find(|pair| pair[0] == name)?;
            Some(String::from_utf8_lossy(&pair[1]).into_owned())
        };
        let name = value(b"file").ok_or_else(fault)?;
        if name.contains(['/', '\\']) {
            return Err(Fault(format!("the manifest names {name:?}, which is not in its folder")));
        }
        let number = value(b"seq").and_then(|seq| seq.parse::<u64>().ok()).ok_or_else(fault)?;
        match value(b"type").as_deref() {
            Some("b") if name.ends_with(".rdb") => {
                notes.push(format!(
                    "the snapshot {name} is left out: it holds data and no commands"
                ));
            }
            Some("b") => {
                notes.push(format!(
                    "the base {name} is left out: it holds the data of a rewrite and no traffic"
                ));
            }
            Some("i") => increments.push((number, folder.join(name))),
            Some("h") => {}
            _ => return Err(fault()),
        }
    }
    increments.sort();
    if increments.is_empty() {
        Err(Fault("the manifest names no file of commands".into()))
    } else {
        Ok(Parts { files: increments.into_iter().map(|(_, path)| path).collect(), notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_without_snapshots_and_history() {
        let text = b"# a comment\nfile appendonly.aof.2.base.rdb seq 2 type b\n\
            file appendonly.aof.1.incr.aof seq 1 type h\n\
            file \"append\\x20only.3\" seq 3 type i later 1\nfile appendonly.aof.2.incr.aof seq 2 type i\n";
        let found = parts(text, Path::new("d")).unwrap();
        assert_eq!(
            found.files,
            [PathBuf::from("d/appendonly.aof.2.incr.aof"), PathBuf::from("d/append only.3")]
        );
        assert!(found.notes[0].starts_with("the snapshot appendonly.aof.2.base.rdb"));
        let text = b"file a.base.aof seq 1 type b\nfile a.incr.aof seq 1 type i\n";
        let found = parts(text, Path::new("d")).unwrap();
        assert_eq!(found.files, [PathBuf::from("d/a.incr.aof")]);
        assert!(found.notes[0].starts_with("the base a.base.aof is left out"));
        for bad in ["file a seq x type i", "file ../a seq 1 type i", "x", "file a seq 1 type q", ""]
        {
            parts(bad.as_bytes(), Path::new("d")).unwrap_err();
        }
    }
}
