//! The bare loop under TLS: OpenSSL's own calls around the same bytes, on sockets that epoll watches.

use std::io;
use std::os::fd::AsFd;

use engine::Socket;
use openssl::ssl::{ErrorCode, SslConnector, SslMethod, SslStream, SslVerifyMode};
use rustix::event::epoll;

use crate::load::{Load, PipelineImage};

/// Bytes asked for by one read: a record of TLS.
const READ_MAX: usize = 16 * 1024;
const EVENTS_MAX: usize = 1024;

pub(crate) fn run(load: &mut Load, sockets: Vec<Socket>) -> io::Result<()> {
    let mut connector = SslConnector::builder(SslMethod::tls())?;
    connector.set_verify(SslVerifyMode::NONE);
    let connector = connector.build();
    let secured = sockets.into_iter().map(|socket| secure(&connector, socket));
    let mut streams = secured.collect::<io::Result<Vec<_>>>()?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut turns = load.turns();
    let mut buffer = vec![0; READ_MAX];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut busy = 0u32;
    for (number, (stream, turn)) in streams.iter_mut().zip(&mut turns).enumerate() {
        let data = epoll::EventData::new_u64(number as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, stream.get_ref().as_fd(), data, flags)?;
        busy += u32::from(send(load, stream, turn)?);
    }
    while busy > 0 {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64() as usize;
            let (stream, turn) = (&mut streams[number], &mut turns[number]);
            loop {
                let read = match stream.ssl_read(&mut buffer) {
                    Ok(read) => read,
                    Err(error) if error.code() == ErrorCode::WANT_READ => break,
                    Err(error) => return Err(io::Error::other(error)),
                };
                if turn.receive(read)? && !send(load, stream, turn)? {
                    busy -= 1;
                }
            }
        }
    }
    Ok(())
}

/// Agrees on keys, and checks no certificate.
fn secure(connector: &SslConnector, socket: Socket) -> io::Result<SslStream<Socket>> {
    let configuration = connector.configure()?.verify_hostname(false);
    socket.set_nonblocking(false)?;
    let stream = configuration.connect("localhost", socket).map_err(io::Error::other)?;
    stream.get_ref().set_nonblocking(true)?;
    Ok(stream)
}

/// Sends what is due, and returns whether there was anything. A partial write ends the loop with an error: no case of
/// the comparison sends that much.
fn send(
    load: &mut Load,
    stream: &mut SslStream<Socket>,
    turn: &mut PipelineImage,
) -> io::Result<bool> {
    let len = load.fill(turn);
    if len > 0 {
        let sent = stream.ssl_write(&turn.bytes[..len]).map_err(io::Error::other)?;
        if sent < len {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(len > 0)
}
