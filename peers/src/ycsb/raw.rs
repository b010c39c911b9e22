//! Destination of the operations of `measurementtype=raw`: appended to a file, or on standard output.
//!
//! The layout of the lines is in `layout`.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use cli::console::{diagnostics, print};
use report::Run;

use crate::ycsb::layout::{RawLog, YcsbOptions};

/// Destination of raw data.
#[derive(Debug, Clone)]
pub(super) struct RawOutput {
    /// Standard output where none is named.
    pub(super) file: Option<PathBuf>,
}

impl RawOutput {
    /// Opens the file; before a run, so that none is carried out in vain.
    pub(super) fn open(&self) -> Result<Option<File>> {
        let Some(path) = &self.file else { return Ok(None) };
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.map(Some).with_context(|| self.fault())
    }

    fn fault(&self) -> String {
        let path = self.file.as_deref().unwrap_or("standard output".as_ref());
        format!("measurement.raw.output_file: {}: cannot be written", path.display())
    }

    /// Tells of each operation of a run. Whether none was left out.
    pub(super) fn write(&self, run: &Run, options: &YcsbOptions) -> Result<bool> {
        let raw = RawLog::new(run, options);
        let place = match &self.file {
            Some(path) => format!("to result file: {}", path.display()),
            None => "to stdout.".to_owned(),
        };
        let description = format!("Raw data measurement: will output {place}\n");
        print::text(&description.repeat(raw.sections().len()))?;
        match self.open()? {
            Some(file) => {
                let mut out = BufWriter::new(file);
                raw.write(&mut out).and_then(|()| out.flush()).with_context(|| self.fault())?;
            }
            None => print::through(|out| raw.write(out))?,
        }
        let left_out = raw.left_out();
        if left_out > 0 {
            diagnostics::say(format_args!(
                "Error: measurementtype=raw: there was no memory for the last {left_out} \
                 operations, which are not in the raw data; use a shorter run"
            ))?;
        }
        Ok(left_out == 0)
    }
}
