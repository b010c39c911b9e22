//! `-r`, `--sequential` and `--key-dist`: which keys there are and how they are drawn.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use naming::{DATASET, KEY_DIST, KEY_RANGE, Text, text};
use workload::{KeyDist, KeyNumbering, KeySpace, OneGroup};

use crate::data::{DataOptions, KeyRange};
use crate::error::first_given;
use crate::values::{Count, delimiter};

/// The key space that options describe; reads the file of `file:`.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub fn space(options: &DataOptions) -> Result<KeySpace, Text> {
    let keys = &options.keys;
    let space = in_range(options)?;
    if let Some(option) = first_given(keys).filter(|_| space.range.is_none()) {
        return Err(text!("{option} requires {KEY_RANGE}, the number of keys"));
    }
    let numbered = KeyNumbering {
        first: keys.first_key.map_or(0, |Count(first)| first),
        bare: keys.unpadded,
        by: keys.keys_by.unwrap_or_default(),
    };
    Ok(KeySpace { numbered, one_slot: keys.one_slot.then(OneGroup::default), ..space })
}

fn in_range(options: &DataOptions) -> Result<KeySpace, Text> {
    let range = options.key_range.map(|KeyRange(range)| range);
    let draw = match &options.key_dist {
        Some(draw) => draw.clone(),
        None if options.sequential => KeyDist::SEQUENTIAL,
        None => return Ok(KeySpace::new(range, KeyDist::UNIFORM)),
    };
    if draw.file().is_none() && options.key_dist.is_some() && range.is_none() {
        return Err(text!("{KEY_DIST} {draw}: add {KEY_RANGE}, the number of keys to draw from"));
    }
    drawn(range, &draw).map_err(|why| text!("{KEY_DIST} {draw}: {why}"))
}

/// A space of `range` keys with this distribution; reads the file that `file:` names.
///
/// # Errors
/// Returns an error if the file is invalid.
pub fn drawn(range: Option<u64>, draw: &KeyDist) -> Result<KeySpace, Text> {
    let Some((path, column)) = draw.file() else {
        return Ok(KeySpace::new(range, draw.clone()));
    };
    let draw = draw.clone().with_trace(read(Path::new(path), column)?)?;
    Ok(KeySpace::new(range.or(draw.trace_range()), draw))
}

/// The key numbers in a column of a CSV or TSV file: the one of that name in the header line, or the first. Without a
/// name, the first line is taken as a header if it is not a number.
fn read(path: &Path, column: Option<&str>) -> Result<Vec<u64>, Text> {
    let reader = ReaderBuilder::new()
        .delimiter(delimiter(path))
        .flexible(true)
        .has_headers(false)
        .from_path(path);
    let mut records = reader.map_err(|e| e.to_string())?.into_records();
    let mut keys = Vec::new();
    let mut at = 0;
    if let Some(first) = records.next() {
        let first = first.map_err(|e| e.to_string())?;
        match column {
            Some(name) => {
                let found = first.iter().position(|cell| cell == name);
                let columns = || first.iter().collect::<Vec<_>>().join(", ");
                at =
                    found.ok_or_else(|| format!("no column {name:?}; available: {}", columns()))?;
            }
            None => keys.extend(key(&first, 0).ok()),
        }
    }
    for record in records {
        keys.push(key(&record.map_err(|e| e.to_string())?, at)?);
    }
    Ok(keys)
}

fn key(record: &StringRecord, column: usize) -> Result<u64, Text> {
    let cell = record.get(column).unwrap_or_default().trim();
    cell.parse().map_err(|_| {
        let line = record.position().map_or(0, csv::Position::line);
        text!(
            "line {line}: {cell:?} is not a key number; for textual keys, use {DATASET} and \
             __field:name__"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_numbers_with_and_without_a_header() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let csv = file("a.csv", "time,id\n0.1,7\n0.2, 3\n0.3,7\n");
        assert_eq!(read(&csv, Some("id")), Ok(vec![7, 3, 7]));
        assert_eq!(read(&file("b.csv", "5\n6\n"), None), Ok(vec![5, 6]));
        assert_eq!(read(&file("c.tsv", "id\tx\n5\ta\n"), None), Ok(vec![5]));
        assert!(
            read(&csv, Some("key"))
                .unwrap_err()
                .to_string()
                .contains("\"key\"; available: time, id")
        );
        let text = read(&file("d.csv", "id\n1\nuser:2\n"), None).unwrap_err().to_string();
        assert!(text.contains("line 3: \"user:2\"") && text.contains("--dataset"), "{text}");
        assert!(
            read(Path::new("/no/such"), None).unwrap_err().to_string().contains("No such file")
        );
    }
}
