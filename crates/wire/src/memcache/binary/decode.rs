//! Replies of the binary protocol, framed and not parsed; their bodies are skipped by length.

use super::header::{Header, LEN, STAT};
use crate::memcache::ERROR_KEPT;
use crate::memcache::fault::{BINARY, fault, stranger};
use crate::{Decode, Frame, ProtocolError, Reply, ReplyVisitor};

/// State of one connection between pieces of input.
#[derive(Debug, Default)]
pub struct BinaryDecoder {
    /// Bytes still to come of the current reply's body.
    body: u32,
    /// The outcome to report when the reply ends; `None` between replies.
    ending: Option<Ending>,
    /// Bytes of the body before the value.
    before_value: u32,
    /// The number in the body so far, if a visitor is used.
    number: Option<u64>,
    /// The beginning of an error's text.
    kept: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Done,
    Found,
    Miss,
    Error,
    /// A statistic of several: the reply continues.
    Statistic,
}

impl Decode for BinaryDecoder {
    fn decode_shown<'b, L: ReplyVisitor>(
        &'b mut self,
        input: &'b [u8],
        look: &mut L,
    ) -> Result<Frame<'b>, ProtocolError> {
        let mut at = 0;
        loop {
            if self.ending.is_none() {
                if input.len() > at && input[at] != 0x81 {
                    return Err(stranger(BINARY, &input[at..]));
                }
                let Some(header) = input[at..].first_chunk::<LEN>() else {
                    return Ok(Frame { consumed: at, reply: None });
                };
                self.begin(header, look)?;
                at += LEN;
            }
            let step = (self.body as usize).min(input.len() - at);
            if self.ending == Some(Ending::Error) {
                let room = ERROR_KEPT - self.kept.len();
                self.kept.extend_from_slice(&input[at..at + step.min(room)]);
            }
            if L::SEES && self.ending == Some(Ending::Found) {
                let before = step.min(self.before_value as usize);
                self.before_value -= before as u32;
                look.bytes(&input[at + before..at + step]);
            }
            if let Some(number) = &mut self.number {
                let bytes = &input[at..at + step];
                *number = bytes.iter().fold(*number, |value, byte| value << 8 | u64::from(*byte));
            }
            at += step;
            self.body -= step as u32;
            if self.body > 0 {
                return Ok(Frame { consumed: at, reply: None });
            }
            if let Some(number) = self.number.take() {
                look.line(number.to_string().as_bytes());
            }
            let reply = match self.ending.take() {
                Some(Ending::Statistic) | None => continue,
                Some(Ending::Done) => Reply::Done,
                Some(Ending::Found) => Reply::Found(1),
                Some(Ending::Miss) => Reply::Miss,
                Some(Ending::Error) => Reply::Error(&self.kept),
            };
            return Ok(Frame { consumed: at, reply: Some(reply) });
        }
    }
}

impl BinaryDecoder {
    fn begin<L: ReplyVisitor>(
        &mut self,
        bytes: &[u8; LEN],
        look: &mut L,
    ) -> Result<(), ProtocolError> {
        let Some(header) = Header::read(bytes) else {
            return Err(fault(BINARY, "a header with contradictory lengths", bytes));
        };
        self.body = header.body;
        self.ending = Some(match header.status {
            0 if header.opcode == STAT && header.key > 0 => Ending::Statistic,
            0 if is_read(header.opcode) => Ending::Found,
            0 => Ending::Done,
            1 | 2 | 5 => Ending::Miss,
            status => {
                self.kept.clear();
                self.kept.extend_from_slice(name(status).as_bytes());
                Ending::Error
            }
        });
        let counts = matches!(header.opcode, INCREMENT | DECREMENT);
        self.number = (L::SEES && header.status == 0 && counts).then_some(0);
        // Only what reads brings a value, or says that there is none.
        if is_read(header.opcode) {
            match self.ending {
                Some(Ending::Found) => {
                    self.before_value = u32::from(header.extras) + u32::from(header.key);
                    look.begin(Some(u64::from(header.body - self.before_value)));
                    look.cas(header.cas);
                }
                Some(Ending::Miss) => look.begin(None),
                _ => {}
            }
        }
        Ok(())
    }
}

const INCREMENT: u8 = 0x05;
const DECREMENT: u8 = 0x06;

/// GET, GETK, GAT, GATK.
fn is_read(opcode: u8) -> bool {
    matches!(opcode, 0x00 | 0x0c | 0x1d | 0x23)
}

/// Kind of an error, and the space before its text.
fn name(status: u16) -> &'static str {
    match status {
        0x03 => "TOO_LARGE ",
        0x04 => "INVALID ",
        0x06 => "NOT_A_NUMBER ",
        0x20 => "AUTH_ERROR ",
        0x21 => "AUTH_CONTINUE ",
        0x81 => "UNKNOWN_COMMAND ",
        0x82 => "OUT_OF_MEMORY ",
        _ => "STATUS ",
    }
}
