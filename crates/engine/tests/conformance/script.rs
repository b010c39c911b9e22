//! The behaviours of the peers, for the engine of fake time.

use std::io::ErrorKind;

use engine::{Address, ConnId, Script, ScriptedEvent};

use crate::peer::Behaviour;

const TRIP_NS: u64 = 50_000;

pub(crate) struct Play {
    behaviour: Behaviour,
    received: usize,
}

impl Play {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        Self { behaviour, received: 0 }
    }
}

impl Script for Play {
    fn connected(
        &mut self,
        _conn: ConnId,
        _to: &Address,
        now_ns: u64,
    ) -> Vec<(u64, ScriptedEvent)> {
        let at = now_ns + TRIP_NS;
        match self.behaviour {
            Behaviour::Refuse => vec![(at, ScriptedEvent::Fail(ErrorKind::ConnectionRefused))],
            Behaviour::SayAndClose(words) => vec![
                (at, ScriptedEvent::Accept),
                (at, ScriptedEvent::Bytes(words.to_vec())),
                (at, ScriptedEvent::Close),
            ],
            _ => vec![(at, ScriptedEvent::Accept)],
        }
    }

    fn received(&mut self, _conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        self.received += bytes.len();
        let at = now_ns + TRIP_NS;
        match self.behaviour {
            Behaviour::Echo => vec![(at, ScriptedEvent::Bytes(bytes.to_vec()))],
            Behaviour::EchoAfter(pause) => {
                vec![(at + pause.as_nanos() as u64, ScriptedEvent::Bytes(bytes.to_vec()))]
            }
            Behaviour::EchoBytewise => {
                let dribble = (1..).zip(bytes);
                dribble.map(|(n, b)| (at + n * 1_000_000, ScriptedEvent::Bytes(vec![*b]))).collect()
            }
            Behaviour::CloseAfter(n) if self.received >= n => vec![(at, ScriptedEvent::Close)],
            Behaviour::ResetAfter(n) if self.received >= n => {
                vec![(at, ScriptedEvent::Fail(ErrorKind::ConnectionReset))]
            }
            _ => vec![],
        }
    }
}
