//! Opening of files as readers: several are merged by time, and the beginning of each shows its format.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use workload::streams;

use crate::chain::Chain;
use crate::dated::Dated;
use crate::format::{self, Format, Head, aof};
use crate::packed::unpack;
use crate::spread_reader::SpreadReader;
use crate::{Fault, ReadError, Reader, Source, Stamps, Stream, manifest, merge};

/// Bytes of a file that are examined for its format.
const HEAD_BYTES: usize = 64 * 1024;
/// Bytes that editors and shells of another system write before text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Beginnings of other kinds of files, with their descriptions.
const FOREIGN: [(&[u8], &str); 10] = [
    (b"\xd4\xc3\xb2\xa1", PACKETS),
    (b"\xa1\xb2\xc3\xd4", PACKETS),
    (b"\x4d\x3c\xb2\xa1", PACKETS),
    (b"\x0a\x0d\x0d\x0a", PACKETS),
    (b"\xff\xfe", "text in UTF-16, as PowerShell's > writes it: write UTF-8"),
    (
        b"\xf0\xde\xbc\x9a\x78\x56\x34\x12",
        "libCacheSim's LCS: convert it to oracleGeneral with traceConv",
    ),
    (b"\xfd7zXZ\0", "compressed by xz: unpack it first, or pack it with gzip or zstd"),
    (b"BZh", "compressed by bzip2: unpack it first, or pack it with gzip or zstd"),
    (b"\x04\x22\x4d\x18", "compressed by lz4: unpack it first, or pack it with gzip or zstd"),
    (b"{", "JSON, which no format of recorded traffic uses"),
];
const PACKETS: &str =
    "a packet capture (pcap), which keystorm does not read: record with keystorm record";
/// The name of standard input.
const STDIN: &str = "-";

/// Opens recorded traffic: files, perhaps compressed with gzip or zstd, or a folder with an append-only file;
/// `-` is standard input. Several are merged by time. `format` is a row of [`crate::FORMATS`]; by default their
/// content shows it.
///
/// # Errors
/// Returns an error if a file cannot be opened, or its format is unknown.
pub fn open(paths: &[PathBuf], format: Option<&str>) -> Result<Box<dyn Reader>, ReadError> {
    let mut readers: Vec<Box<dyn Reader>> = Vec::new();
    for path in paths {
        readers.push(open_path(path, format)?);
    }
    Ok(match readers.len() {
        1 => readers.remove(0),
        _ => merge(readers)?,
    })
}

/// Opens a file, or the parts that a manifest names.
fn open_path(path: &Path, format: Option<&str>) -> Result<Box<dyn Reader>, ReadError> {
    let content = |cause| ReadError::Content { path: path.to_owned(), cause };
    let Some(manifest) = manifest::find(path).map_err(content)? else {
        return Ok(timed(Chain::new(vec![open_file(path, format)?], Vec::new())));
    };
    let parts = manifest::read(&manifest).map_err(content)?;
    let files = parts.files.iter().map(|file| open_file(file, Some("aof")));
    let readers: Result<Vec<_>, _> = files.collect();
    Ok(timed(Chain::new(readers?, parts.notes)))
}

fn open_file(path: &Path, format: Option<&str>) -> Result<Stream, ReadError> {
    if path.as_os_str() == STDIN {
        return stream(path, Box::new(streams::input()), format, None);
    }
    let again = || Ok(Box::new(File::open(path)?) as Box<dyn Read + Send>);
    let file = again().map_err(|cause| ReadError::Io { path: path.to_owned(), cause });
    stream(path, file?, format, Some(&again))
}

/// Wraps a record to correct its times, and to spread events over whole seconds.
fn timed(files: Chain) -> Box<dyn Reader> {
    let Source { format, stamps, .. } = *files.source();
    // keystorm checked its own records when it wrote them.
    if format == "keystorm" {
        return Box::new(files);
    }
    let dated = Dated::new(files);
    // An append-only file without times has no lines that count, and keeps its order without help.
    if stamps == Stamps::Second || format == "meta" {
        Box::new(SpreadReader::new(dated))
    } else {
        Box::new(dated)
    }
}

/// Opens `input` as a file with this name.
///
/// # Errors
/// Returns an error if it cannot be read, or its format is unknown.
pub fn open_input(
    path: &Path,
    input: Box<dyn Read + Send>,
    format: Option<&str>,
) -> Result<Box<dyn Reader>, ReadError> {
    Ok(timed(Chain::new(vec![stream(path, input, format, None)?], Vec::new())))
}

/// Opens a file again from its beginning.
type Again<'a> = &'a dyn Fn() -> std::io::Result<Box<dyn Read + Send>>;

fn stream(
    path: &Path,
    input: Box<dyn Read + Send>,
    format: Option<&str>,
    again: Option<Again<'_>>,
) -> Result<Stream, ReadError> {
    let io = |cause| ReadError::Io { path: path.to_owned(), cause };
    let content = |cause| ReadError::Content { path: path.to_owned(), cause };
    let mut input = unpack(input).map_err(io)?;
    let mut bytes = Vec::new();
    match input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes) {
        Ok(_) => {}
        // A compressed file that was cut within its head.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => input = Box::new(CutEnd),
        Err(error) => return Err(io(error)),
    }
    let is_whole = bytes.len() < HEAD_BYTES;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    let name = path.to_string_lossy();
    let head = Head { bytes: &bytes, is_whole, is_stamped_later: false, name: &name };
    let format = find(&head, format).map_err(content)?;
    let (mut decoder, mut source) = (format.open)(&head).map_err(content)?;
    if format.name == "aof"
        && source.stamps == Stamps::None
        && !is_whole
        && let Some(again) = again
        && has_later(unpack(again().map_err(io)?).map_err(io)?, aof::LATER_STAMP).map_err(io)?
    {
        let head = Head { is_stamped_later: true, ..head };
        (decoder, source) = (format.open)(&head).map_err(content)?;
    }
    let input = Box::new(Cursor::new(bytes).chain(input));
    Ok(Stream::new(path.to_owned(), input, decoder, source))
}

/// Returns whether an input has these bytes.
fn has_later(mut input: impl Read, wanted: &[u8]) -> std::io::Result<bool> {
    let (mut piece, mut kept) = (vec![0; HEAD_BYTES], 0);
    loop {
        let count = match input.read(&mut piece[kept..]) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        };
        let end = kept + count;
        if memchr::memmem::find(&piece[..end], wanted).is_some() {
            return Ok(true);
        }
        kept = end.min(wanted.len() - 1);
        piece.copy_within(end - kept..end, 0);
    }
}

/// Reads a server's live output, in a format that needs no beginning of a file. An input without data at the
/// moment may return `WouldBlock`: the error is passed on, and reading continues afterwards.
///
/// # Errors
/// Returns an error if there is no such format.
pub fn open_live(
    name: &str,
    format: &str,
    input: Box<dyn Read + Send>,
) -> Result<Stream, ReadError> {
    let content = |cause| ReadError::Content { path: name.into(), cause };
    let head = Head { bytes: &[], is_whole: false, is_stamped_later: false, name };
    let format = find(&head, Some(format)).map_err(content)?;
    let (decoder, source) = (format.open)(&head).map_err(content)?;
    Ok(Stream::new(name.into(), input, decoder, source))
}

/// Finds the format by name, or by the beginning of a file.
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
        if let Some((_, what)) = FOREIGN.iter().find(|(begin, _)| head.bytes.starts_with(begin)) {
            return Fault(format!("not a record of traffic, but {what}"));
        }
        let known: Vec<&str> = format::FORMATS.iter().map(|format| format.title).collect();
        Fault(format!("not a record of traffic; known are {}", known.join(", ")))
    })
}

/// The error for the end of a cut compressed file.
struct CutEnd;

impl Read for CutEnd {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(ErrorKind::UnexpectedEof.into())
    }
}
