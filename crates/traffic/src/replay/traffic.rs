//! A record as a run sends it: each reading yields the commands in order, with their connections and times.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use workload::{DueRequest, DueRequests, RequestSource};

use super::encode::Encoder;
use super::role::Role;
use super::walk::{Replay, Walk};
use super::{Clients, Scan, Speed};

/// A record, with all decisions on sending it.
#[derive(Clone)]
pub struct Traffic {
    replay: Replay,
    clients: Clients,
    speed: Speed,
    /// Number of times that the record is sent.
    rounds: u64,
    /// Recorded time from the first command of one round to the first of the next, in nanoseconds.
    round_ns: u64,
    /// The kind of each name.
    numbers: HashMap<Vec<u8>, u32>,
    kinds: u32,
}

impl Traffic {
    /// Returns the traffic of a scanned record, sent `rounds` times by these connections at this speed.
    pub fn new(replay: Replay, scan: &Scan, clients: Clients, speed: Speed, rounds: u64) -> Self {
        Self {
            replay,
            clients,
            speed,
            rounds,
            round_ns: scan.round_ns(),
            numbers: scan.numbers(),
            kinds: scan.kinds.len() as u32,
        }
    }

    /// Returns the traffic at another speed, sent `rounds` times.
    pub fn at_speed(&self, speed: Speed, rounds: u64) -> Self {
        Self { speed, rounds, ..self.clone() }
    }

    /// Returns the same traffic for other connections.
    pub fn over(&self, clients: Clients) -> Self {
        Self { clients, ..self.clone() }
    }
}

impl RequestSource for Traffic {
    fn requests(&self) -> Result<Box<dyn DueRequests + Send + '_>, String> {
        let walk = Walk::new(&self.replay)?;
        let encoder = Encoder::new(walk.recorded(), self.replay.to_cache);
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Ok(Box::new(TrafficReader {
            traffic: self,
            is_dated: walk.is_dated(),
            walk,
            encoder,
            speed: self.speed.clone(),
            round: 0,
            began_ns: now_ns as u64,
        }))
    }
}

/// Reader of the traffic, for one reading or for several rounds.
struct TrafficReader<'t> {
    traffic: &'t Traffic,
    walk: Walk<'t>,
    encoder: Encoder,
    speed: Speed,
    round: u64,
    is_dated: bool,
    /// Start of the reading, in nanoseconds since 1970.
    began_ns: u64,
}

impl DueRequests for TrafficReader<'_> {
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<DueRequest>, String> {
        loop {
            let Some(next) = self.walk.next()? else {
                self.round += 1;
                if self.round >= self.traffic.rounds {
                    return Ok(None);
                }
                self.walk = Walk::new(&self.traffic.replay)?;
                continue;
            };
            if !matches!(next.role, Role::Sent | Role::Blocks) {
                continue;
            }
            let traffic = self.traffic;
            let event = &self.walk.event;
            let due_ns = self.speed.due_ns(self.round * traffic.round_ns + next.since_ns);
            let at_ns = if self.is_dated { event.at_ns } else { self.began_ns };
            let sent_ns = if self.is_dated { self.began_ns + due_ns } else { self.began_ns };
            if !self.encoder.encode(event, at_ns, sent_ns, bytes) {
                continue;
            }
            let number = traffic.numbers.get(event.name()).copied();
            return Ok(Some(DueRequest {
                due_ns,
                connection: traffic.clients.connection(event.client),
                command: number.unwrap_or(traffic.kinds.saturating_sub(1)),
                db: if traffic.replay.to_cache { 0 } else { event.db },
                blocks: next.role == Role::Blocks,
                slot: next.slot,
                bound: next.bound,
            }));
        }
    }
}
