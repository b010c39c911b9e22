//! TLS over the engines, and what only TLS can do: records cut anywhere, an end that is none, and
//! sessions taken up again.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use engine::{
    Address, ConnId, Engine, Event, Reason, Script, ScriptedEngine, ScriptedEvent, Tls, TlsContext,
    TlsHandshake, TlsSettings,
};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVersion};

use crate::certificates::{Identity, Subject};
use crate::peer::{Behaviour, Peer, Transport};
use crate::{A, Lab, real};

/// Certificates of the servers, and the file with their CA.
struct Trust {
    server: Identity,
    cacert: PathBuf,
    _directory: tempfile::TempDir,
}

/// Made once: keys take time.
fn trust() -> &'static Trust {
    static TRUST: OnceLock<Trust> = OnceLock::new();
    TRUST.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let authority = Identity::authority("conformance CA");
        let (cacert, _) = authority.write(directory.path(), "ca");
        let server = authority.signs(&Subject::default());
        Trust { server, cacert, _directory: directory }
    })
}

fn settings() -> TlsSettings {
    TlsSettings {
        sni: Some("localhost".into()),
        cacert: Some(trust().cacert.clone().into()),
        ..TlsSettings::default()
    }
}

fn secure(engine: impl Engine + 'static, settings: &TlsSettings) -> Tls {
    Tls::new(Box::new(engine), TlsContext::new(settings).unwrap())
}

/// A laboratory in which both sides speak TLS.
pub(crate) fn lab(
    engine: impl Engine + 'static,
    behaviour: Behaviour,
    peer: fn(Behaviour, Transport) -> Peer,
) -> Lab {
    let peer = peer(behaviour, Transport::tls(&trust().server));
    Lab { drops: false, ..real(secure(engine, &settings()), peer) }
}

/// A server in TLS on fake time that sends back what it gets, its bytes cut into pieces.
struct Server {
    stream: SslStream<Wire>,
    piece: usize,
    /// Echoes so many bytes, and then the connection ends as `end` says.
    echoes: usize,
    end: End,
    /// Time at which everything sent so far is delivered.
    busy_ns: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Never,
    InOrder,
    CutOff,
}

#[derive(Default)]
struct Wire {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl std::io::Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let len = self.incoming.len().min(into.len());
        into[..len].copy_from_slice(&self.incoming[..len]);
        self.incoming.drain(..len);
        Ok(len)
    }
}

impl std::io::Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Server {
    fn new(version: SslVersion, piece: usize, echoes: usize, end: End) -> Self {
        let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
        context.set_certificate(&trust().server.certificate).unwrap();
        context.set_private_key(&trust().server.key).unwrap();
        context.set_max_proto_version(Some(version)).unwrap();
        let mut ssl = Ssl::new(&context.build()).unwrap();
        ssl.set_accept_state();
        let stream = SslStream::new(ssl, Wire::default()).unwrap();
        Self { stream, piece, echoes, end, busy_ns: 0 }
    }

    /// Takes the outgoing bytes as deliveries, a piece each microsecond.
    fn deliveries(&mut self, now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        let outgoing = std::mem::take(&mut self.stream.get_mut().outgoing);
        let pieces = outgoing.chunks(self.piece).map(|piece| ScriptedEvent::Bytes(piece.to_vec()));
        let from_ns = self.busy_ns.max(now_ns);
        let deliveries: Vec<_> =
            (1..).zip(pieces).map(|(n, piece)| (from_ns + n * 1000, piece)).collect();
        self.busy_ns = deliveries.last().map_or(from_ns, |(at, _)| *at);
        deliveries
    }
}

impl Script for Server {
    fn connected(
        &mut self,
        _conn: ConnId,
        _to: &Address,
        now_ns: u64,
    ) -> Vec<(u64, ScriptedEvent)> {
        vec![(now_ns, ScriptedEvent::Accept)]
    }

    fn received(&mut self, _conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        self.stream.get_mut().incoming.extend_from_slice(bytes);
        let mut last = self.stream.do_handshake().is_ok();
        let mut plain = [0; 1000];
        while let Ok(n) = self.stream.ssl_read(&mut plain) {
            self.stream.ssl_write(&plain[..n]).unwrap();
            self.echoes = self.echoes.saturating_sub(n);
        }
        last &= self.echoes == 0 && self.end != End::Never;
        if last && self.end == End::InOrder {
            let _ = self.stream.shutdown();
        }
        let mut deliveries = self.deliveries(now_ns);
        if last {
            deliveries.push((self.busy_ns, ScriptedEvent::Close));
            self.end = End::Never;
        }
        deliveries
    }
}

/// Opens a connection, sends this, and collects what comes until nothing does or it ends.
fn talk(server: Server, message: &[u8]) -> (Vec<u8>, Option<Reason>, Option<TlsHandshake>) {
    let mut engine = secure(ScriptedEngine::new(server), &settings());
    engine.open(A, &Address::Unix("/nowhere".into()), &Default::default());
    let (mut got, mut end, mut handshake) = (Vec::new(), None, None);
    while end.is_none() && got.len() < message.len() {
        engine.wait(None).unwrap();
        while let Some(event) = engine.next() {
            match event {
                Event::Opened(_) => {
                    handshake = engine.handshake(A);
                    engine.send(A, message);
                }
                Event::Received(_) => {
                    got.extend_from_slice(engine.inbox());
                    engine.consume(engine.inbox().len());
                }
                Event::Closed(_, reason) => end = Some(reason),
            }
        }
    }
    (got, end, handshake)
}

#[test]
fn records_may_be_cut_anywhere_or_come_together() {
    let message: Vec<u8> = (0..40_000u32).map(|n| (n % 251) as u8).collect();
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        for piece in [1, 2, 5, 7, 100, 16_384, 1 << 20] {
            let message = &message[..if piece < 100 { 3_000 } else { message.len() }];
            let server = Server::new(version, piece, 0, End::Never);
            let (got, end, handshake) = talk(server, message);
            assert!(
                got == message && end.is_none(),
                "pieces of {piece}: {} bytes, {end:?}",
                got.len()
            );
            let handshake = handshake.unwrap();
            let name = if version == SslVersion::TLS1_2 { "TLSv1.2" } else { "TLSv1.3" };
            assert_eq!(handshake.version, name);
            assert!(handshake.cipher.contains("AES") || handshake.cipher.contains("CHACHA20"));
            assert!(handshake.took_ns > 0 && !handshake.resumed);
        }
    }
}

#[test]
fn an_end_in_order_is_distinguished_from_one_that_is_cut_off() {
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let server = Server::new(version, 1 << 20, 5, End::InOrder);
        let (got, end, _) = talk(server, b"hello, and no more");
        assert_eq!(got, b"hello, and no more");
        assert!(end.is_none() || matches!(end, Some(Reason::ByPeer)), "{end:?}");

        let server = Server::new(version, 1 << 20, 0, End::CutOff);
        let mut engine = secure(ScriptedEngine::new(server), &settings());
        engine.open(A, &Address::Unix("/nowhere".into()), &Default::default());
        let reason = loop {
            engine.wait(None).unwrap();
            match engine.next() {
                Some(Event::Closed(_, reason)) => break reason,
                Some(Event::Opened(_)) => drop(engine.send(A, b"x")),
                _ => {}
            }
        };
        assert!(
            matches!(&reason, Reason::Failed(e) if e.to_string().contains("cut")),
            "{reason:?}"
        );
    }
}

/// Opens, is echoed to, and closes.
fn round(engine: &mut impl Engine, address: &Address) -> TlsHandshake {
    engine.open(A, address, &Default::default());
    loop {
        engine.wait(Some(engine.now_ns() + 10_000_000_000)).unwrap();
        while let Some(event) = engine.next() {
            match event {
                Event::Opened(_) => drop(engine.send(A, b"hello")),
                Event::Received(_) => {
                    let handshake = engine.handshake(A).unwrap();
                    engine.close(A);
                    assert_eq!(engine.handshake(A), None);
                    return handshake;
                }
                Event::Closed(_, reason) => panic!("{reason}"),
            }
        }
    }
}

#[test]
fn sessions_are_taken_up_again_only_where_that_is_asked_for() {
    for resume in [false, true] {
        let peer = Peer::tcp(Behaviour::Echo, Transport::tls(&trust().server));
        let mut engine = secure(crate::epoll(), &TlsSettings { resume, ..settings() });
        let resumed: Vec<bool> =
            (0..4).map(|_| round(&mut engine, &peer.address()).resumed).collect();
        assert_eq!(resumed, [false, resume, resume, resume]);
    }
}

#[test]
fn an_address_goes_by_the_name_that_it_is_known_by() {
    let peer = Peer::tcp(Behaviour::Echo, Transport::tls(&trust().server));
    let Address::Tcp(address) = peer.address() else { unreachable!() };
    let unnamed = TlsSettings { sni: None, ..settings() };
    // The certificate is for this IP address too.
    round(&mut secure(crate::epoll(), &unnamed), &peer.address());
    let as_somebody = |name: &str| {
        let context = TlsContext::new(&unnamed).unwrap();
        Tls::new(Box::new(crate::epoll()), context.knowing([(address.ip(), name.to_owned())]))
    };
    round(&mut as_somebody("localhost"), &peer.address());
    let why = failure(as_somebody("elsewhere.example"), address);
    assert!(why.contains("is not for elsewhere.example") && why.contains("localhost"), "{why}");
}

fn failure(mut engine: impl Engine, address: SocketAddr) -> String {
    engine.open(A, &address.into(), &Default::default());
    loop {
        engine.wait(None).unwrap();
        match engine.next() {
            Some(Event::Closed(_, reason)) => return reason.to_string(),
            Some(event) => panic!("{event:?}"),
            None => {}
        }
    }
}
