//! Invalidations in RESP2, which has no pushes: each cache has a second connection that listens to the
//! channel to which the server redirects them.
//!
//! The listener is opened first, because the cache names it when it has its keys tracked. Neither is of use
//! without the other: when one is lost, both are opened again.

use engine::{ConnId, Engine};
use wire::resp::encode_command;
use wire::{Decode, Reply};

use super::Roles;
use super::receivers::{Listener, Receiver, Receivers, State};
use super::reply_strings::{Capture, FirstNumber, ReplyStrings};
use crate::Fatal;
use crate::handshake::HandshakeReply;

/// The channel of invalidations.
const CHANNEL: &[u8] = b"__redis__:invalidate";

impl Roles<'_> {
    /// Creates a listener for each of this many receivers, if the kind needs listeners.
    pub(super) fn listeners(&self, receivers: usize) -> Vec<Listener> {
        let count = if self.delivery.kind.connections_each() == 2 { receivers } else { 0 };
        let capture = Capture { numbers: self.sent_times.is_some(), ..self.kind.capture() };
        std::iter::repeat_with(|| Listener::new(ReplyStrings::new(capture))).take(count).collect()
    }
}

impl<E: Engine> Receivers<'_, E> {
    pub(super) fn is_listener(&self, conn: ConnId) -> bool {
        conn.0 as usize > self.receivers.len()
    }

    /// The listener of a receiver.
    fn listener_of(&self, conn: ConnId) -> ConnId {
        ConnId(self.receivers.len() as u32 + 1 + conn.0)
    }

    /// Returns the receiver that this connection listens for.
    pub(super) fn listening_for(&self, conn: ConnId) -> Option<ConnId> {
        conn.0.checked_sub(self.receivers.len() as u32 + 1).map(ConnId)
    }

    /// Opens the listener of a receiver. Whether receivers have listeners.
    pub(super) fn connect_listener(&mut self, conn: ConnId) -> bool {
        let own = self.listener_of(conn);
        let Some(listener) = self.listeners.get_mut(conn.0 as usize) else { return false };
        listener.forget();
        let delivery = self.context.roles.delivery;
        let number = self.context.plan.own_connections()
            + delivery.receivers
            + self.context.receivers[conn.0 as usize];
        // One whose receiver was lost may be open still.
        self.engine.close(own);
        let home = &self.receivers[conn.0 as usize].home;
        self.engine.open(own, home, &self.context.origins.options(number));
        true
    }

    /// Closes a lost receiver's listener, or a lost listener's receiver. Returns the receiver.
    pub(super) fn close_pair(&mut self, conn: ConnId) -> ConnId {
        if self.listeners.is_empty() {
            return conn;
        }
        let (receiver, other) = match self.listening_for(conn) {
            Some(receiver) => (receiver, receiver),
            None => (conn, self.listener_of(conn)),
        };
        self.engine.close(other);
        self.listeners[receiver.0 as usize].state = State::Closed;
        receiver
    }

    /// Greets on an open listener: the handshake, then the request for its number and for invalidations.
    pub(super) fn greet_listener(&mut self, own: ConnId) {
        let Some(receiver) = self.listening_for(own) else { return };
        let Some(listener) = self.listeners.get_mut(receiver.0 as usize) else { return };
        if self.handshake.steps.is_empty() {
            return self.subscribe_listener(receiver);
        }
        listener.state = State::Handshake { answered: 0 };
    }

    fn subscribe_listener(&mut self, receiver: ConnId) {
        let own = self.listener_of(receiver);
        self.listeners[receiver.0 as usize].state = State::Asking { left: 2 };
        let mut commands = Vec::new();
        encode_command(&[b"CLIENT", b"ID"], &mut commands);
        encode_command(&[b"SUBSCRIBE", CHANNEL], &mut commands);
        self.engine.send(own, &commands);
    }

    /// Takes bytes that a listener received.
    pub(super) fn hear_listener(&mut self, own: ConnId) -> Result<(), Fatal> {
        let Some(receiver) = self.listening_for(own) else { return Ok(()) };
        let Some(listener) = self.listeners.get_mut(receiver.0 as usize) else { return Ok(()) };
        if let State::Handshake { answered } = listener.state {
            let (inbox, reconnects) = (self.engine.inbox(), self.context.reconnects());
            let heard = self.handshake.hear(&mut listener.decoder, inbox, answered, reconnects)?;
            let HandshakeReply::Heard { steps, consumed } = heard else {
                return self.turned_away(own);
            };
            self.engine.consume(consumed);
            listener.state = State::Handshake { answered: steps };
            if steps == self.handshake.steps.len() {
                self.subscribe_listener(receiver);
            }
            return Ok(());
        }
        let now_ns = self.engine.now_ns();
        self.heard_at(receiver, now_ns);
        let mut consumed = 0;
        self.out.clear();
        loop {
            let listener = &mut self.listeners[receiver.0 as usize];
            let rest = &self.engine.inbox()[consumed..];
            let mut number = FirstNumber::default();
            let decoded = match listener.id {
                None => listener.decoder.decode_shown(rest, &mut number),
                Some(_) => listener.decoder.decode_shown(rest, &mut listener.strings),
            };
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            let Some(reply) = decoded.reply else { break };
            if let Reply::Error(text) = reply {
                let text = text.to_vec();
                self.engine.consume(consumed);
                return self.refused(receiver, &text);
            }
            match (listener.id, listener.state) {
                (None, _) => listener.id = Some(number.0.unwrap_or(0)),
                (Some(id), State::Asking { .. }) => {
                    listener.state = State::Ready;
                    listener.strings.clear();
                    self.receivers[receiver.0 as usize].consumer.redirect_to(id);
                    self.open_receiver(receiver);
                }
                _ => self.redirected(receiver, now_ns),
            }
        }
        self.recorder.read_ended(now_ns, consumed);
        self.engine.consume(consumed);
        if !self.out.is_empty() {
            self.engine.send(receiver, &self.out);
        }
        Ok(())
    }

    /// Passes the messages of a listener to its receiver.
    fn redirected(&mut self, receiver: ConnId, now_ns: u64) {
        let at = receiver.0 as usize;
        // The reply that the receiver is reading may be incomplete.
        std::mem::swap(&mut self.listeners[at].strings, &mut self.receivers[at].strings);
        let Receiver { consumer, strings, .. } = &mut self.receivers[at];
        let meaning = consumer.invalidation(strings, &mut self.out);
        self.apply(receiver, meaning, now_ns);
        self.receivers[at].strings.clear();
        std::mem::swap(&mut self.listeners[at].strings, &mut self.receivers[at].strings);
    }
}
