//! `json`: the document of `--json`, on standard output.
//!
//! Owns the time of printing: once, at the end, because a document has one end. Endlessly repeated tests make
//! a document each round. [`record`](crate::record) owns its content.

use std::io::{self, Write};

use crate::{Format, FormatOptions, Record, Summary};

/// See the file's head.
pub(super) struct Json {
    suite: bool,
    record: Record,
    tests: usize,
}

impl Json {
    pub(super) fn new(options: FormatOptions) -> Self {
        Self { suite: options.suite, record: Record::new(options.suite), tests: 0 }
    }

    fn print(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let record = std::mem::replace(&mut self.record, Record::new(self.suite));
        self.tests = 0;
        out.write_all(record.to_json().map_err(io::Error::other)?.as_bytes())
    }
}

impl Format for Json {
    fn each(&mut self, summary: &Summary<'_>, _out: &mut dyn Write) -> io::Result<()> {
        self.record.put(self.tests, summary).map_err(io::Error::other)?;
        self.tests += 1;
        Ok(())
    }

    fn finish(&mut self, _suite: bool, out: &mut dyn Write) -> io::Result<()> {
        self.record.set_complete();
        self.print(out)
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.record.is_empty() { Ok(()) } else { self.print(out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn one_document_holds_all_tests_however_they_ended() {
        let runs = fixture::all();
        for complete in [true, false] {
            let mut format = Json::new(FormatOptions { suite: true, ..FormatOptions::default() });
            let mut out = Vec::new();
            format.begin(&mut out).unwrap();
            runs.iter().for_each(|(_, r)| format.each(&Summary::from_run(r), &mut out).unwrap());
            assert!(out.is_empty());
            if complete {
                format.finish(true, &mut out).unwrap();
            }
            format.close(&mut out).unwrap();
            let loaded = Record::from_json(&out).unwrap().load().unwrap();
            assert_eq!(loaded.runs.len(), runs.len());
            assert!(!loaded.complete, "some of them were interrupted");
        }
    }
}
