//! The protocol of a sink: how requests are framed and answered.

use wire::resp::RequestDecoder;

use crate::Replies;

/// A protocol, and the replies that the sink sends in it.
pub trait ReplyProtocol: Sync {
    /// The framer of a connection's requests.
    type Framer: Default + std::fmt::Debug;

    /// The reply to a client beyond the limit of connections.
    const FULL: &'static [u8];

    /// Takes the request at the start of `input` and appends the reply to it. Returns how many bytes are done with, and
    /// whether a request ended there.
    ///
    /// # Errors
    /// The bytes are no request: what to say of that before the connection is closed.
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
