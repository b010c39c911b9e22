//! A small blocking client: one command out, one whole reply in.
//!
//! Owns connecting within a time limit, and framing. For questions before and after load runs. The caller
//! interprets replies, and `engine` carries load.

mod full_sync;

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use engine::{TlsContext, TlsStream};
use naming::advice::{ADD_TLS, ADDRESS};
use naming::{PORT, TLS, Text, text};
use wire::ProtocolError;
use wire::resp::{Value, encode_command};

use crate::client_error::{
    ClientError, FailureKind, REPLY_BYTES_MAX, ended, hint, is_want_of_ports, late, reason,
};
use crate::plain::{self, Patience};
use crate::{Address, PlainSocket, Transport};

/// A connection for one command at a time. `T` carries the bytes, with its own read timeout; TLS is another
/// `T`.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
    address: Address,
    reply_patience: Duration,
    /// Set if a read may end before the time limit.
    reads_briefly: bool,
    inbox: Vec<u8>,
    /// Set once the server has sent anything.
    heard: bool,
}

impl Client<PlainSocket> {
    /// Connects without TLS.
    ///
    /// # Errors
    /// Returns an error if no server listens there or accepts the connection in time.
    pub fn connect(address: &Address, patience: Patience) -> Result<Self, ClientError> {
        Self::connect_from(address, None, patience)
    }

    /// Connects from an address of this machine, if one is given.
    fn connect_from(
        address: &Address,
        source: Option<IpAddr>,
        patience: Patience,
    ) -> Result<Self, ClientError> {
        let connected = plain::connect(address, source, patience);
        let connected = connected.map_err(|e| {
            let kind =
                if is_want_of_ports(&e) { FailureKind::NoPort } else { FailureKind::Unreachable };
            let reason = reason(&e, patience.connect);
            ClientError::new(kind, text!("could not connect to {address}: {reason}"))
        })?;
        Ok(Self::over(connected, address.clone(), patience.reply))
    }
}

impl Client<Transport> {
    /// Connects, with TLS if there is a context, over TCP from the first of `sources` with the address's
    /// family.
    ///
    /// # Errors
    /// Returns the errors of [`Client::connect`], and one if the handshake of TLS fails.
    pub fn reach(
        address: &Address,
        tls: Option<&TlsContext>,
        sources: &[IpAddr],
        patience: Patience,
    ) -> Result<Self, ClientError> {
        let plain = dial(address, sources, patience)?;
        let transport = secured(plain, tls, address, patience)?;
        Ok(Self::over(transport, address.clone(), patience.reply))
    }

    /// Connects with TLS, and waits a moment for a refusal of the client's certificate, which TLS 1.3 reports
    /// after the handshake.
    ///
    /// # Errors
    /// Returns the errors of [`Client::reach`], and one for a refusal.
    pub(crate) fn reach_and_listen(
        address: &Address,
        tls: &TlsContext,
        sources: &[IpAddr],
        patience: Patience,
    ) -> Result<Self, ClientError> {
        let plain = dial(address, sources, patience)?;
        let socket = plain.try_clone();
        let transport = secured(plain, Some(tls), address, patience)?;
        let mut client = Self::over(transport, address.clone(), patience.reply);
        let is_brief = socket.and_then(|socket| socket.set_read_timeout(Some(REFUSAL_WITHIN)));
        if is_brief.is_ok()
            && let Err(error) = client.transport.read(&mut [0])
            && !late(&error)
            && !ended(&error)
        {
            return Err(client.broken(error));
        }
        Ok(client)
    }
}

/// Time to wait for a refusal of the certificate.
const REFUSAL_WITHIN: Duration = Duration::from_millis(100);

/// Connects, over TCP from the first of these sources with the right family.
fn dial(
    address: &Address,
    sources: &[IpAddr],
    patience: Patience,
) -> Result<PlainSocket, ClientError> {
    let source = match address {
        Address::Tcp(to) => sources.iter().find(|from| from.is_ipv4() == to.is_ipv4()),
        Address::Unix(_) => None,
    };
    Ok(Client::connect_from(address, source.copied(), patience)?.transport)
}

/// Wraps a connection in TLS, if there is a context.
fn secured(
    plain: PlainSocket,
    tls: Option<&TlsContext>,
    address: &Address,
    patience: Patience,
) -> Result<Transport, ClientError> {
    let Some(context) = tls else { return Ok(Transport::Plain(plain)) };
    let secure = TlsStream::connect(context, address, plain);
    let secure = secure.map_err(|e| {
        let reason = no_handshake(&e, address, patience);
        ClientError::new(FailureKind::Tls, text!("TLS with {address} failed: {reason}"))
    })?;
    Ok(Transport::Tls(Box::new(secure)))
}

/// Describes why a handshake failed. A server without TLS may wait silently for the end of a supposed
/// command, so it is asked in plain text.
fn no_handshake(error: &io::Error, address: &Address, patience: Patience) -> String {
    if !late(error) {
        return error.to_string();
    }
    let waited_s = patience.reply.as_secs_f64();
    let brief = Patience { connect: patience.connect, reply: Duration::from_secs(1) };
    let asked = Client::connect(address, brief).and_then(|mut plain| plain.ask(&[b"PING"]));
    match asked {
        Ok(_) => format!(
            "the server does not speak TLS on this port (it answered in plain text): remove \
            {TLS}, or name its TLS port with {PORT}"
        ),
        Err(_) => format!("no answer to the handshake within {waited_s} s"),
    }
}

impl<T: Read + Write> Client<T> {
    /// Wraps an open connection. Its reads must time out, with [`io::ErrorKind::WouldBlock`] or
    /// [`io::ErrorKind::TimedOut`], for the time limit to work.
    pub fn over(transport: T, address: Address, reply_patience: Duration) -> Self {
        Self {
            transport,
            address,
            reply_patience,
            reads_briefly: false,
            inbox: Vec::new(),
            heard: false,
        }
    }

    /// Sends a command and waits for its reply, which may be an error reply. Drops RESP3 push messages before
    /// it.
    ///
    /// # Errors
    /// Returns an error if no whole reply came; the connection is then useless.
    pub fn ask(&mut self, args: &[&[u8]]) -> Result<Value, ClientError> {
        let name = args.first().copied().unwrap_or_default();
        let command = name.escape_ascii().to_string();
        let mut request = Vec::new();
        encode_command(args, &mut request);
        loop {
            let value = self.exchange(&command, &request, Value::parse)?;
            if !matches!(value, Value::Push(_)) {
                return Ok(value);
            }
            request.clear();
        }
    }

    /// Sends commands in one piece and waits for their replies, in order. Push messages are dropped. The
    /// pieces must be small enough (some ten kilobytes) for the sockets to hold them and their replies.
    ///
    /// # Errors
    /// Returns the errors of [`ask`](Self::ask).
    pub fn ask_all<C: AsRef<[Vec<u8>]>>(
        &mut self,
        commands: &[C],
    ) -> Result<Vec<Value>, ClientError> {
        let mut request = Vec::new();
        for words in commands {
            let words: Vec<&[u8]> = words.as_ref().iter().map(Vec::as_slice).collect();
            encode_command(&words, &mut request);
        }
        let mut replies = Vec::with_capacity(commands.len());
        while let Some(words) = commands.get(replies.len()) {
            let name = words.as_ref().first().map_or(&[][..], Vec::as_slice);
            let name = name.escape_ascii().to_string();
            let reply = self.exchange(&name, &request, Value::parse)?;
            request.clear();
            if !matches!(reply, Value::Push(_)) {
                replies.push(reply);
            }
        }
        Ok(replies)
    }

    /// Returns the address of the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the transport, for a server that continues to send, and the bytes sent since its last reply.
    pub fn into_stream(self) -> (Vec<u8>, T) {
        (self.inbox, self.transport)
    }

    /// Returns whether the server has sent anything.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Sets the time limit for each later answer.
    pub fn wait_for(&mut self, reply_patience: Duration) {
        self.reads_briefly = reply_patience > self.reply_patience;
        self.reply_patience = reply_patience;
    }

    /// Sends a command with this name, in any protocol, and waits until `parse` accepts the answer.
    pub(crate) fn exchange<V>(
        &mut self,
        command: &str,
        request: &[u8],
        parse: impl Fn(&[u8]) -> Result<Option<(V, usize)>, ProtocolError>,
    ) -> Result<V, ClientError> {
        let sent = self.transport.write_all(request).and_then(|()| self.transport.flush());
        let reply = self.reply(command, parse);
        match (sent, reply) {
            // A server that turns a client away says why and closes; the reason may be there to
            // read although it took no command.
            (Err(e), Err(_)) if !ended(&e) => Err(self.broken(e)),
            (_, reply) => reply,
        }
    }

    fn reply<V>(
        &mut self,
        command: &str,
        parse: impl Fn(&[u8]) -> Result<Option<(V, usize)>, ProtocolError>,
    ) -> Result<V, ClientError> {
        let deadline = Instant::now() + self.reply_patience;
        let mut chunk = vec![0; 64 << 10];
        loop {
            if let Some(value) = self.take(command, &parse)? {
                return Ok(value);
            }
            if self.inbox.len() > REPLY_BYTES_MAX {
                let (address, most) = (&self.address, REPLY_BYTES_MAX);
                let text = text!("{address} answered {command} with more than {most} bytes");
                return Err(ClientError::new(FailureKind::TooLong, text));
            }
            if Instant::now() >= deadline {
                return Err(self.silent(command));
            }
            match self.transport.read(&mut chunk) {
                Ok(0) => return Err(self.closed(command)),
                Ok(n) => {
                    self.inbox.extend_from_slice(&chunk[..n]);
                    self.heard = true;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if late(&e) && self.reads_briefly => {}
                Err(e) if late(&e) => return Err(self.silent(command)),
                Err(e) if ended(&e) => return Err(self.closed(command)),
                Err(e) => return Err(self.broken(e)),
            }
        }
    }

    /// Takes the first whole reply out of the inbox.
    fn take<V>(
        &mut self,
        command: &str,
        parse: impl Fn(&[u8]) -> Result<Option<(V, usize)>, ProtocolError>,
    ) -> Result<Option<V>, ClientError> {
        if self.inbox.is_empty() {
            return Ok(None);
        }
        let parsed = parse(&self.inbox).map_err(|error| self.stranger(command, error))?;
        Ok(parsed.map(|(value, len)| {
            self.inbox.drain(..len);
            value
        }))
    }

    /// The error for a reply in another protocol than the question.
    fn stranger(&self, command: &str, error: ProtocolError) -> ClientError {
        let ProtocolError { protocol, why, excerpt } = error;
        let (of, why) = match protocol {
            "RESP" => (", the protocol of Redis and Valkey", hint(&self.inbox)),
            _ => ("", text!("{why}, and check {ADDRESS}")),
        };
        let address = &self.address;
        let text = text!(
            "{address} does not speak {protocol}{of}: it answered {command} with \"{excerpt}\"; {why}"
        );
        ClientError::new(FailureKind::Stranger, text)
    }

    fn silent(&self, command: &str) -> ClientError {
        let (address, waited_s) = (&self.address, self.reply_patience.as_secs_f64());
        let text = text!(
            "{address} accepted the connection but did not answer {command} within {waited_s} s"
        );
        ClientError::new(FailureKind::Silent, text)
    }

    fn closed(&self, command: &str) -> ClientError {
        // A TLS server that is spoken to in plain text hangs up without a word.
        let hint =
            if self.heard { Text::default() } else { text!("; if it requires TLS, {ADD_TLS}") };
        let address = &self.address;
        let text = text!("{address} closed the connection instead of answering {command}");
        ClientError { kind: FailureKind::Closed, text, hint }
    }

    fn broken(&self, cause: io::Error) -> ClientError {
        let text = text!("the connection to {} failed: {cause}", self.address);
        ClientError::new(FailureKind::Io, text)
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
