//! A dump of memcached's items, in the CSV that memcached-dump writes and `memtier_benchmark` imports.
//!
//! Key and value are preceded by their lengths, so both may contain any bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use workload::Dataset;

/// Beginning of such a file.
const HEADER: &[u8] = b"dumpflags, time, exptime";
/// Numbers before a key, and the indexes of those that are used.
const NUMBERS: usize = 8;
const EXPTIME: usize = 2;
const NBYTES: usize = 3;
const NKEY: usize = 7;

/// The columns of the table.
pub const KEY: usize = 0;
/// The column of values.
pub const DATA: usize = 1;
/// The column of times to live.
pub const TTL: usize = 2;

/// Names of the columns.
pub const COLUMNS: [&str; 3] = ["key", "data", "exptime"];

/// Returns whether a file begins with the header of a dump.
///
/// # Errors
/// Returns an error if it cannot be read.
pub(crate) fn is_dump(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(HEADER.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == HEADER)
}

/// Reads its items as a table of at most `rows_max` rows.
///
/// # Errors
/// Returns the line and the reason if the file is invalid.
pub fn read(path: &Path, rows_max: Option<usize>) -> Result<Dataset, String> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let mut rows = parse(&bytes).map_err(|(line, why)| format!("{name}:{line}: {why}"))?;
    rows.truncate(rows_max.unwrap_or(usize::MAX));
    let items = Dataset::new(name.to_string(), COLUMNS.map(str::to_owned).to_vec(), rows);
    items.map_err(|_| format!("{name}: no items are in it"))
}

/// The items: key, value and time to live; or the line at which it is wrong, and why.
fn parse(bytes: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, (usize, String)> {
    if !bytes.starts_with(HEADER) {
        let header = String::from_utf8_lossy(HEADER);
        return Err((1, format!("a dump of items begins with \"{header}\"")));
    }
    let mut reader = Reader { bytes, at: 0 };
    reader.skip_line();
    let mut rows = Vec::new();
    while reader.skip_blank() {
        let at = reader.at;
        rows.push(reader.item().map_err(|why| (line_at(bytes, at), why))?);
    }
    Ok(rows)
}

/// The line number of a place in the file; counted only when an error needs it.
fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count()
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn skip_line(&mut self) {
        let end = self.rest().iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.bytes.len(), |end| self.at + end + 1);
    }

    /// Skips blanks and ends of lines. Whether anything is left.
    fn skip_blank(&mut self) -> bool {
        let blank = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blank;
        self.at < self.bytes.len()
    }

    fn item(&mut self) -> Result<Vec<Vec<u8>>, String> {
        let mut numbers = [0; NUMBERS];
        for number in &mut numbers {
            *number = self.number()?;
            self.expect(b',', "a comma behind a number")?;
        }
        let key = self.text(numbers[NKEY] as usize, "key")?;
        self.expect(b',', "a comma between key and data")?;
        // nbytes counts the CR and LF behind the data, too.
        let data = match (numbers[NBYTES] as usize).checked_sub(2) {
            Some(length) => self.text(length, "data")?,
            None => return Err("nbytes is the length of the data and 2, and so 2 at least".into()),
        };
        let ends = self.rest().iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        if !matches!(ends, None | Some(b'\n')) {
            return Err("an item ends with its data, and more follows".into());
        }
        Ok(vec![key, data, numbers[EXPTIME].to_string().into_bytes()])
    }

    fn number(&mut self) -> Result<u64, String> {
        self.skip_blank();
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = String::from_utf8_lossy(&self.rest()[..digits]).into_owned();
        self.at += digits;
        text.parse().map_err(|_| "eight numbers stand before a key".to_owned())
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        self.skip_blank();
        if self.rest().first() != Some(&byte) {
            return Err(format!("{what} is missing"));
        }
        self.at += 1;
        Ok(())
    }

    /// `length` bytes, bare or in quotation marks; within those, each quotation mark is doubled.
    fn text(&mut self, length: usize, what: &str) -> Result<Vec<u8>, String> {
        self.skip_blank();
        let short = || format!("the file ends within {what}, which has {length} bytes");
        if self.rest().first() != Some(&b'"') {
            let text = self.rest().get(..length).ok_or_else(short)?.to_vec();
            self.at += length;
            return Ok(text);
        }
        self.at += 1;
        let mut text = Vec::with_capacity(length.min(self.rest().len()));
        while text.len() < length {
            let byte = *self.rest().first().ok_or_else(short)?;
            let quotes = self.rest().starts_with(b"\"\"");
            if byte == b'"' && !quotes {
                return Err(format!(
                    "{what} has {} bytes, but its length says {length}",
                    text.len()
                ));
            }
            text.push(byte);
            self.at += 1 + usize::from(quotes);
        }
        match self.rest().first() {
            Some(b'"') if !self.rest().starts_with(b"\"\"") => {
                self.at += 1;
                Ok(text)
            }
            _ => Err(format!("{what} has more than the {length} bytes that its length says")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data\n";

    fn parsed(rest: &str) -> Result<Vec<Vec<String>>, (usize, String)> {
        let rows = parse(format!("{HEAD}{rest}").as_bytes())?.into_iter();
        Ok(rows
            .map(|row| row.into_iter().map(|cell| String::from_utf8(cell).unwrap()).collect())
            .collect())
    }

    #[test]
    fn items_are_read_by_their_lengths() {
        let rows = parsed(
            "1, 2, 30, 7, 4, 0, 1, 2, \"k1\", \"v,\"\"\n\"\r\n\
                       1, 2, 0, 2, 4, 0, 1, 4, \"a\"\"b,\", \"\"\n\
                       1, 2, 0, 5, 4, 0, 1, 1, k, abc\n",
        );
        let rows = rows.unwrap_err();
        assert_eq!(rows.0, 2, "a value of 4 bytes is not one of 5: {rows:?}");
        let rows = parsed(
            "1, 2, 30, 6, 4, 0, 1, 2, \"k1\", \"v,\"\"\n\"\r\n\
                       1, 2, 0, 2, 4, 0, 1, 4, \"a\"\"b,\", \"\"\n\
                       1, 2, 0, 5, 4, 0, 1, 1, k, abc\n",
        );
        assert_eq!(rows.unwrap(), [["k1", "v,\"\n", "30"], ["a\"b,", "", "0"], ["k", "abc", "0"]]);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let good = "1, 2, 0, 3, 4, 0, 1, 1, \"k\", \"v\"\n";
        for (line, says) in [
            ("1, 2, x", "eight numbers"),
            ("1, 2, 0, 1, 4, 0, 1, 1, \"k\", \"\"", "2 at least"),
            ("1, 2, 0, 9, 4, 0, 1, 1, \"k\", \"v", "ends within data"),
            ("1, 2, 0, 3, 4, 0, 1, 1, \"kk\", \"v\"", "key has more than the 1 bytes"),
            ("1, 2, 0, 3, 4, 0, 1, 1, \"k\" \"v\"", "a comma between"),
            ("1, 2, 0, 3, 4, 0, 1, 1, \"k\", \"v\", 3", "more follows"),
        ] {
            let (at, why) = parsed(&format!("{good}{line}")).unwrap_err();
            assert!(at == 3 && why.contains(says), "{line}: {at}: {why}");
        }
        assert!(parse(b"key,value\n").unwrap_err().1.contains("begins with"));
    }
}
