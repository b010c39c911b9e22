//! Files to readers: several are merged by time, each has its format found by what it begins with.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chain::Chain;
use crate::format::{self, Format, Head};
use crate::packed::unpack;
use crate::spread::Spread;
use crate::{Fault, ReadError, Reader, Stamps, Stream, manifest, merge};

/// How much of a file its format is found by.
const HEAD_BYTES: usize = 64 * 1024;
/// The name of standard input.
const STDIN: &str = "-";

/// How files are opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The name of their format, a row of [`crate::FORMATS`]; by default it is found by their content.
    pub format: Option<String>,
}

/// Opens recorded traffic: files, compressed with gzip or zstd or not, or a folder that holds an append-only file;
/// `-` is standard input. Several are merged by time.
///
/// # Errors
/// A file cannot be opened, or its format is not known.
pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Box<dyn Reader>, ReadError> {
    let mut readers: Vec<Box<dyn Reader>> = Vec::new();
    for path in paths {
        readers.push(open_path(path, options)?);
    }
    Ok(match readers.len() {
        1 => readers.remove(0),
        _ => merge(readers)?,
    })
}

/// Opens a file, or the parts that a manifest names.
fn open_path(path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>, ReadError> {
    let content = |cause| ReadError::Content { path: path.to_owned(), cause };
    let Some(manifest) = manifest::find(path).map_err(content)? else {
        return open_file(path, options);
    };
    let parts = manifest::read(&manifest).map_err(content)?;
    let aof = OpenOptions { format: Some("aof".to_owned()) };
    let readers: Result<Vec<_>, _> = parts.files.iter().map(|file| open_file(file, &aof)).collect();
    Ok(Box::new(Chain::new(readers?, parts.notes)))
}

fn open_file(path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>, ReadError> {
    let input: Box<dyn Read + Send> = match path.as_os_str() == STDIN {
        true => Box::new(std::io::stdin()),
        false => {
            let io = |cause| ReadError::Io { path: path.to_owned(), cause };
            Box::new(File::open(path).map_err(io)?)
        }
    };
    open_input(path, input, options)
}

/// Opens what `input` yields, as a file of this name.
///
/// # Errors
/// It cannot be read, or its format is not known.
pub fn open_input(
    path: &Path,
    input: Box<dyn Read + Send>,
    options: &OpenOptions,
) -> Result<Box<dyn Reader>, ReadError> {
    let io = |cause| ReadError::Io { path: path.to_owned(), cause };
    let content = |cause| ReadError::Content { path: path.to_owned(), cause };
    let fetched = Arc::new(AtomicU64::new(0));
    let mut input = unpack(Counter { input, fetched: Arc::clone(&fetched) }).map_err(io)?;
    let mut bytes = Vec::new();
    match input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes) {
        Ok(_) => {}
        // A compressed file that was cut within its head.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => input = Box::new(CutEnd),
        Err(error) => return Err(io(error)),
    }
    let is_whole = bytes.len() < HEAD_BYTES;
    let head = Head { bytes: &bytes, is_whole, name: &path.to_string_lossy() };
    let format = find(&head, options.format.as_deref()).map_err(content)?;
    let (decoder, source) = (format.open)(&head).map_err(content)?;
    let input = Box::new(Cursor::new(bytes).chain(input));
    // An append-only file without times has no lines that count, and keeps its order without help.
    let is_spread = source.stamps == Stamps::Second || format.name == "meta";
    let stream = Stream::new(path.to_owned(), input, decoder, source).counted_by(fetched);
    Ok(match is_spread && format.name != "keystorm" {
        true => Box::new(Spread::new(Box::new(stream))),
        false => Box::new(stream),
    })
}

/// Reads what a server is printing, in a format that needs no beginning of a file. An input that has nothing at the
/// moment may say so (`WouldBlock`): the error is passed on, and reading goes on afterwards.
///
/// # Errors
/// There is no such format.
pub fn open_live(
    name: &str,
    format: &str,
    input: Box<dyn Read + Send>,
) -> Result<Stream, ReadError> {
    let content = |cause| ReadError::Content { path: name.into(), cause };
    let head = Head { bytes: &[], is_whole: false, name };
    let format = find(&head, Some(format)).map_err(content)?;
    let (decoder, source) = (format.open)(&head).map_err(content)?;
    Ok(Stream::new(name.into(), input, decoder, source))
}

/// The format by its name, or by what a file begins with.
fn find(head: &Head<'_>, name: Option<&str>) -> Result<&'static Format, Fault> {
    if let Some(name) = name {
        let found = format::FORMATS.iter().find(|format| format.name == name);
        let names: Vec<&str> = format::FORMATS.iter().map(|format| format.name).collect();
        return found.ok_or_else(|| Fault(format!("no format {name:?}: {}", names.join(", "))));
    }
    if head.bytes.is_empty() {
        return Err(Fault("the file is empty".into()));
    }
    let found = format::FORMATS.iter().find(|format| (format.recognizes)(head));
    found.ok_or_else(|| {
        let known: Vec<&str> = format::FORMATS.iter().map(|format| format.title).collect();
        Fault(format!("not a record of traffic; known are {}", known.join(", ")))
    })
}

/// Counts what is read of a file.
struct Counter {
    input: Box<dyn Read + Send>,
    fetched: Arc<AtomicU64>,
}

impl Read for Counter {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.fetched.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The end of a compressed file that was cut.
struct CutEnd;

impl Read for CutEnd {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(ErrorKind::UnexpectedEof.into())
    }
}
