//! The header of requests and replies.

/// Bytes of a header.
pub(crate) const LEN: usize = 24;
/// The first byte of a request and of a reply.
pub(crate) const REQUEST: u8 = 0x80;
const REPLY: u8 = 0x81;

/// The opcode of statistics, whose replies end with an empty one.
pub(crate) const STAT: u8 = 0x10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) opcode: u8,
    pub(crate) key: u16,
    pub(crate) extras: u8,
    pub(crate) status: u16,
    /// Extras, key and value together.
    pub(crate) body: u32,
    /// The token of the item.
    pub(crate) cas: u64,
}

impl Header {
    /// Parses the header of a reply; `None` for other bytes.
    pub(crate) fn read(bytes: &[u8; LEN]) -> Option<Self> {
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let body = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        let (opcode, key, extras, status) = (bytes[1], u16_at(2), bytes[4], u16_at(6));
        let cas = bytes[16..].iter().fold(0, |cas, byte| cas << 8 | u64::from(*byte));
        let header = Self { opcode, key, extras, status, body, cas };
        let parts = u32::from(header.key) + u32::from(header.extras);
        (bytes[0] == REPLY && parts <= body).then_some(header)
    }
}
