//! A connection that is read only when its owner asks. It has an engine of its own.

use engine::{Address, ConnId, ConnectOptions, Engine, Event};
use wire::resp::{Resp, RespDecoder};
use wire::{Decode, Reply, ReplyVisitor};
use workload::{Plan, Secret};

use crate::Fatal;
use crate::handshake::{Handshake, HandshakeReply};

/// The one connection of its engine.
const CONN: ConnId = ConnId(0);

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Opening,
    Handshake {
        answered: usize,
    },
    /// Ready for commands.
    Open,
}

/// A connection and its engine.
pub(super) struct Connection {
    engine: Box<dyn Engine>,
    handshake: Handshake,
    decoder: RespDecoder,
    pub(super) state: State,
}

impl Connection {
    pub(super) fn new(engine: Box<dyn Engine>, handshake: Handshake) -> Self {
        Self { engine, handshake, decoder: RespDecoder::default(), state: State::Closed }
    }

    /// Has the connection log in with another password from now on.
    pub(super) fn renew(&mut self, plan: &Plan, password: &Secret) {
        self.handshake.renew::<Resp>(plan, password);
    }

    pub(super) fn open(&mut self, address: &Address, options: &ConnectOptions) {
        (self.decoder, self.state) = (RespDecoder::default(), State::Opening);
        self.engine.open(CONN, address, options);
    }

    pub(super) fn close(&mut self) {
        self.engine.close(CONN);
        self.state = State::Closed;
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.engine.send(CONN, bytes);
    }

    /// Looks at the clock, and reads nothing.
    pub(super) fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    /// Waits for data until this time, and passes each reply to `take` with the visitor's result. Returns
    /// whether anything came.
    ///
    /// # Errors
    /// Returns an error if the server refuses the handshake or does not speak the protocol.
    pub(super) fn read<V: ReplyVisitor>(
        &mut self,
        until_ns: u64,
        visitor: &mut V,
        mut take: impl FnMut(Reply<'_>, &mut V) -> Result<(), Fatal>,
    ) -> Result<bool, Fatal> {
        let waited = self.engine.wait(Some(until_ns));
        waited.map_err(|e| Fatal::new(format!("waiting for messages: {e}")))?;
        let mut came = false;
        while let Some(event) = self.engine.next() {
            came = true;
            match event {
                Event::Opened(_) if self.handshake.steps.is_empty() => self.state = State::Open,
                Event::Opened(_) => {
                    self.state = State::Handshake { answered: 0 };
                    self.engine.send(CONN, &self.handshake.bytes);
                }
                Event::Closed(..) => self.state = State::Closed,
                Event::Received(_) => self.hear(visitor, &mut take)?,
            }
        }
        Ok(came)
    }

    fn hear<V: ReplyVisitor>(
        &mut self,
        visitor: &mut V,
        take: &mut impl FnMut(Reply<'_>, &mut V) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let inbox = self.engine.inbox();
        if let State::Handshake { answered } = self.state {
            let heard = self.handshake.hear(&mut self.decoder, inbox, answered, false)?;
            let HandshakeReply::Heard { steps, consumed } = heard else { return Ok(()) };
            let is_done = steps == self.handshake.steps.len();
            self.state = if is_done { State::Open } else { State::Handshake { answered: steps } };
            self.engine.consume(consumed);
            return Ok(());
        }
        let mut consumed = 0;
        loop {
            let decoded = self.decoder.decode_shown(&inbox[consumed..], visitor);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            match decoded.reply {
                None => break,
                // Passwords that the server quotes are masked.
                Some(Reply::Error(text)) => return Err(self.handshake.fatal(text)),
                Some(reply) => take(reply, visitor)?,
            }
        }
        self.engine.consume(consumed);
        Ok(())
    }
}
