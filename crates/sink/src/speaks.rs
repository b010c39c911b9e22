//! The protocol of a sink: framing of requests, and replies.

use wire::resp::RequestDecoder;

use crate::Replies;

/// A protocol, and the replies that the sink sends in it.
pub trait ReplyProtocol: Sync {
    /// The framer of a connection's requests.
    type Framer: Default + std::fmt::Debug;

    /// The reply to a client beyond the limit of connections.
    const FULL: &'static [u8];

    /// Takes the request at the start of `input` and appends its reply. Returns the consumed bytes, and
    /// whether a request ended there.
    ///
    /// # Errors
    /// Returns the error reply for a malformed request, after which the connection is closed.
    fn take(
        &self,
        framer: &mut Self::Framer,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, bool), String>;
}

impl ReplyProtocol for Replies {
    type Framer = RequestDecoder;

    const FULL: &'static [u8] = b"-ERR max number of clients reached\r\n";

    #[inline]
    fn take(
        &self,
        framer: &mut RequestDecoder,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, bool), String> {
        let framed = framer.decode(input).map_err(|fault| format!("-ERR {fault}\r\n"))?;
        if let Some(request) = &framed.request {
            self.answer(request, out);
        }
        Ok((framed.consumed, framed.request.is_some()))
    }
}
