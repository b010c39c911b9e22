//! Holding idle connections.

use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use engine::{Address, ConnId, Engine, Event, TlsContext};
use measure::Failure;
use wire::memcache::{Binary, Text};
use wire::resp::Resp;
use wire::{Decode, Protocol, Reply};
use workload::{Plan, ProtocolKind};

use crate::concrete::any_engine;
use crate::engines::Choice;
use crate::handshake::Handshake;
use crate::opening::{Gaps, Opening, Origins};
use crate::{INTERVAL_NS, explain};

/// Opens the connections of a plan, sends nothing on them but the handshake, and holds them until
/// `interrupted` is set. Calls `live` with their number, at least every quarter of a second.
///
/// `tls` is for a server that requires TLS. `local_ports` is this machine's range of local ports, if known.
///
/// # Errors
/// Returns an error in words for a person if a connection cannot be opened or none is left.
pub fn hold_idle(
    plan: &Plan,
    address: &Address,
    tls: Option<&TlsContext>,
    local_ports: Option<RangeInclusive<u16>>,
    interrupted: &AtomicBool,
    live: &mut dyn FnMut(u32),
) -> Result<(), Failure> {
    let engine = any_engine(Choice::Epoll, tls, Instant::now(), plan.own_connections())
        .map_err(|e| Failure::new(e.to_string()))?;
    let origins = Origins::new(plan, plan.own_connections(), local_ports);
    match plan.protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => {
            hold::<Resp>(engine, plan, address, &origins, interrupted, live)
        }
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => {
            hold::<Text>(engine, plan, address, &origins, interrupted, live)
        }
        ProtocolKind::MemcacheBinary => {
            hold::<Binary>(engine, plan, address, &origins, interrupted, live)
        }
    }
}

fn hold<P: Protocol>(
    mut engine: Box<dyn Engine>,
    plan: &Plan,
    address: &Address,
    origins: &Origins,
    interrupted: &AtomicBool,
    live: &mut dyn FnMut(u32),
) -> Result<(), Failure> {
    let handshake = Handshake::new::<P>(plan);
    let mut decoders: Vec<P::Decoder> = Vec::new();
    decoders.resize_with(plan.own_connections() as usize, P::Decoder::default);
    let wait = |engine: &mut Box<dyn Engine>, until_ns| {
        engine.wait(until_ns).map_err(|e: io::Error| Failure::new(e.to_string()))
    };
    wait(&mut engine, Some(0))?;
    let mut opening =
        Opening::new(plan.own_connections(), engine.now_ns(), Gaps::from_plan(plan, 0));
    let mut count = 0;
    while !interrupted.load(Ordering::Relaxed) {
        while let Some(n) = opening.next(engine.now_ns()) {
            engine.open(ConnId(n), address, &origins.options(n));
        }
        let tick_ns = engine.now_ns() + INTERVAL_NS;
        let until_ns = if opening.is_complete() { tick_ns } else { opening.wake_ns().min(tick_ns) };
        wait(&mut engine, Some(until_ns))?;
        while let Some(event) = engine.next() {
            match event {
                Event::Opened(conn) => {
                    count += 1;
                    opening.opened(engine.now_ns());
                    engine.send(conn, &handshake.bytes);
                }
                Event::Received(conn) => {
                    let consumed = refused(&mut decoders[conn.0 as usize], engine.inbox());
                    let consumed = consumed
                        .map_err(|why| Failure { text: handshake.masked(why.text), ..why })?;
                    engine.consume(consumed);
                }
                Event::Closed(_, reason) if !opening.is_complete() => {
                    return Err(Failure::new(explain::connect_failed(address, &reason)));
                }
                Event::Closed(_, reason) => {
                    count -= 1;
                    if count == 0 {
                        return Err(Failure::new(format!(
                            "all connections to {address} were lost: {reason}"
                        )));
                    }
                }
            }
        }
        live(count);
        if let Some(opened) = opening.stuck(engine.now_ns()).filter(|_| !opening.is_complete()) {
            return Err(Failure::new(format!(
                "{address} does not answer: {opened} connections were opened"
            )));
        }
    }
    Ok(())
}

/// Reads past the replies to the handshake and returns their length; an error reply is an error.
fn refused(decoder: &mut impl Decode, inbox: &[u8]) -> Result<usize, Failure> {
    let mut at = 0;
    loop {
        let step = decoder.decode(&inbox[at..]).map_err(|e| Failure::new(e.to_string()))?;
        at += step.consumed;
        match step.reply {
            None => return Ok(at),
            Some(Reply::Error(text)) => return Err(explain::error_reply(&explain::text(text))),
            Some(_) => {}
        }
    }
}
