//! Compressed files: detected by their first bytes, and unpacked while they are read.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const BUFFER_BYTES: usize = 256 * 1024;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A frame of zstd without content; its first byte has any low half.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// Largest window of a zstd file, which takes as much memory as the file claims: that of `zstd --long=27`.
const ZSTD_WINDOW_BYTES_MAX: u64 = 128 << 20;

/// Content of a file, whether or not it is compressed.
pub(crate) fn unpack(input: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut head = Vec::with_capacity(4);
    (&mut input).take(4).read_to_end(&mut head)?;
    let input = std::io::Cursor::new(head.clone()).chain(input);
    Ok(match head[..] {
        [a, b, ..] if [a, b] == GZIP => Box::new(MultiGzDecoder::new(input)),
        [a, b, c, d] if [a, b, c, d] == ZSTD || a >> 4 == 5 && [b, c, d] == ZSTD_SKIPPABLE => {
            Box::new(ZstdFrames::new(input))
        }
        _ => Box::new(input),
    })
}

/// All frames of a zstd file; tools that compress in parallel write many.
struct ZstdFrames<R> {
    input: R,
    frame: FrameDecoder,
    is_open: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(input: R) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(ZSTD_WINDOW_BYTES_MAX);
        Self { input, frame, is_open: false }
    }

    /// Begins the next frame. Returns false at the end of the file.
    fn open(&mut self) -> Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.frame.reset(&mut self.input) {
                Ok(()) => {
                    self.is_open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.input).take(u64::from(length));
                    if std::io::copy(&mut skipped, &mut std::io::sink())? < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.fault(&error)),
            }
        }
    }

    /// Converts an error; one caused by the end of the file becomes that.
    fn fault(&mut self, error: &FrameDecoderError) -> Error {
        match self.input.fill_buf() {
            Ok([]) => ErrorKind::UnexpectedEof.into(),
            Ok(_) => Error::new(ErrorKind::InvalidData, format!("not valid zstd: {error}")),
            Err(error) => error,
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_open && !self.open()? {
                return Ok(0);
            }
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                let strategy = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.frame.decode_blocks(&mut self.input, strategy) {
                    return Err(self.fault(&error));
                }
            }
            match self.frame.read(buffer)? {
                0 => self.is_open = false,
                count => return Ok(count),
            }
        }
    }
}
