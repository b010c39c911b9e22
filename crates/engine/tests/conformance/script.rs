//! The behaviours of the peers, for the engine of fake time.

use std::io::ErrorKind;

use engine::{Address, ConnId, Delivery, Script};

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
    fn connected(&mut self, _conn: ConnId, _to: &Address, now_ns: u64) -> Vec<(u64, Delivery)> {
        let at = now_ns + TRIP_NS;
        match self.behaviour {
            Behaviour::Refuse => vec![(at, Delivery::Fail(ErrorKind::ConnectionRefused))],
            Behaviour::SayAndClose(words) => vec![
                (at, Delivery::Accept),
                (at, Delivery::Bytes(words.to_vec())),
                (at, Delivery::Close),
            ],
            _ => vec![(at, Delivery::Accept)],
        }
    }

    fn received(&mut self, _conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, Delivery)> {
        self.received += bytes.len();
        let at = now_ns + TRIP_NS;
        match self.behaviour {
            Behaviour::Echo => vec![(at, Delivery::Bytes(bytes.to_vec()))],
            Behaviour::EchoAfter(pause) => {
                vec![(at + pause.as_nanos() as u64, Delivery::Bytes(bytes.to_vec()))]
            }
            Behaviour::EchoBytewise => {
                let dribble = (1..).zip(bytes);
                dribble.map(|(n, b)| (at + n * 1_000_000, Delivery::Bytes(vec![*b]))).collect()
            }
            Behaviour::CloseAfter(n) if self.received >= n => vec![(at, Delivery::Close)],
            Behaviour::ResetAfter(n) if self.received >= n => {
                vec![(at, Delivery::Fail(ErrorKind::ConnectionReset))]
            }
            _ => vec![],
        }
    }
}
