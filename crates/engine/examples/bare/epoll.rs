//! The bare readiness loop: edge-triggered, registered once, written at once.

use std::io::{self, Read, Write};

use engine::Socket;
use rustix::event::epoll;

use crate::load::{Load, PipelineImage};

/// Bytes asked for by one read, as in the engine.
const READ_MAX: usize = 128 * 1024;
const EVENTS_MAX: usize = 1024;

pub(crate) fn run(load: &mut Load, sockets: Vec<Socket>) -> io::Result<()> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut turns = load.turns();
    let mut buffer = vec![0; READ_MAX];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut busy = 0u32;
    for (number, (socket, turn)) in sockets.iter().zip(&mut turns).enumerate() {
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(&poll, socket, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        busy += u32::from(send(load, socket, turn)?);
    }
    while busy > 0 {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64() as usize;
            let (mut socket, turn) = (&sockets[number], &mut turns[number]);
            loop {
                let read = match socket.read(&mut buffer) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                if turn.receive(read)? && !send(load, socket, turn)? {
                    busy -= 1;
                }
                if read < READ_MAX {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Sends what is due, and returns whether there was anything. A partial write by the kernel ends the loop with an
/// error: no case of the comparison sends that much.
#[inline]
fn send(load: &mut Load, mut socket: &Socket, turn: &mut PipelineImage) -> io::Result<bool> {
    let len = load.fill(turn);
    if len > 0 {
        socket.write_all(&turn.bytes[..len])?;
    }
    Ok(len > 0)
}
