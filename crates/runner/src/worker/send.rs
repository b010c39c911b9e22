//! What is sent: the next pipeline of a connection that has room.

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::Turn;

use super::Worker;
use crate::flight::Flight;
use crate::session::State;

impl<E: Engine, P: Protocol> Worker<'_, E, P> {
    /// Asks for a connection.
    pub(super) fn connect(&mut self, conn: ConnId) {
        self.sessions[conn.0 as usize].reopen(self.engine.now_ns());
        let options = self.shift.origins.options(self.shift.first_connection + conn.0);
        self.engine.open(conn, &self.address, &options);
    }

    /// A connection has become ready or has settled replies: gives it more to do.
    #[inline]
    pub(super) fn refill(&mut self, conn: ConnId) {
        let session = &self.sessions[conn.0 as usize];
        let used_up = session.used && session.flights.commands() == 0;
        if used_up && !self.shift.plan.fleet.keep_alive {
            self.replace(conn);
        } else if self.pacer.is_some() {
            self.queue_up(conn);
        } else {
            self.fire(conn);
        }
    }

    /// Closed loop: sends the next pipeline at once.
    #[inline]
    pub(super) fn fire(&mut self, conn: ConnId) {
        let now_ns = self.engine.now_ns();
        if now_ns >= self.stop_ns {
            return;
        }
        let session = &self.sessions[conn.0 as usize];
        let room = session.room(self.depth, self.rolling, self.sequence_len);
        if room == 0 {
            return;
        }
        let Some((turn, measured)) = self.take(now_ns, room) else {
            return;
        };
        let sent_ns = self.give(conn, turn, measured);
        let flight = Flight {
            intended_ns: sent_ns,
            sent_ns,
            first_byte_ns: 0,
            left: turn.commands,
            command: 0,
            measured,
        };
        self.sessions[conn.0 as usize].flights.push(flight);
    }

    /// Open loop: sends whatever is due, on the connections that have room, in turn.
    pub(super) fn launch_due(&mut self) {
        let now_ns = self.engine.now_ns();
        while !self.spent && now_ns < self.stop_ns {
            let Some(pacer) = &mut self.pacer else { return };
            if pacer.due_ns() > now_ns {
                return;
            }
            let Some(conn) = self.queue.pop_front() else {
                return;
            };
            let session = &mut self.sessions[conn.0 as usize];
            session.queued = false;
            let room = session.room(self.depth, self.rolling, self.sequence_len);
            if room == 0 {
                continue; // It was lost or replaced since it was queued.
            }
            self.due_ns.clear();
            while self.due_ns.len() < room as usize
                && let Some(due_ns) = pacer.take(now_ns)
            {
                self.due_ns.push(due_ns);
            }
            let Some((turn, measured)) = self.take(now_ns, self.due_ns.len() as u32) else {
                return;
            };
            let sent_ns = self.give(conn, turn, measured);
            let mut left = turn.commands;
            for &intended_ns in self.due_ns.iter().take(turn.sequences as usize) {
                let commands = left.min(self.sequence_len);
                left -= commands;
                if measured {
                    self.recorder.sent(intended_ns, self.room_ns, sent_ns, u64::from(commands));
                }
                self.sessions[conn.0 as usize].flights.push(Flight {
                    intended_ns,
                    sent_ns,
                    first_byte_ns: 0,
                    left: commands,
                    command: 0,
                    measured,
                });
            }
            self.queue_up(conn);
        }
    }

    /// Puts a connection behind the others that have room, so that all of them take turns.
    pub(super) fn queue_up(&mut self, conn: ConnId) {
        let session = &mut self.sessions[conn.0 as usize];
        let room = session.room(self.depth, self.rolling, self.sequence_len);
        let worn = session.used && !self.shift.plan.fleet.keep_alive;
        if room > 0 && !session.queued && !worn {
            session.queued = true;
            if self.queue.is_empty() {
                self.room_ns = self.engine.now_ns();
            }
            self.queue.push_back(conn);
        }
    }

    /// The next up to `sequences_max` sequences, and whether they are measured.
    #[inline]
    fn take(&mut self, now_ns: u64, sequences_max: u32) -> Option<(Turn, bool)> {
        let measured = self.recorder.measuring(now_ns);
        let shift = &mut self.shift;
        let stream = if measured { &mut shift.stream } else { &mut shift.warmup };
        let turn = stream.take(sequences_max);
        self.spent = stream.is_spent();
        turn.map(|turn| (turn, measured))
    }

    /// Sends the commands of a turn and returns when.
    #[inline]
    fn give(&mut self, conn: ConnId, turn: Turn, measured: bool) -> u64 {
        let bytes = self.batch.fill(turn);
        let sent_ns = self.engine.send(conn, bytes);
        if measured {
            self.recorder.connections().bytes_out += bytes.len() as u64;
        }
        self.in_flight += u64::from(turn.commands);
        self.sessions[conn.0 as usize].used = true;
        sent_ns
    }

    /// Without keep-alive: closes a connection that has done its pipeline and asks for another, if
    /// there is something left to send on it.
    fn replace(&mut self, conn: ConnId) {
        self.engine.close(conn);
        self.sessions[conn.0 as usize].state = State::Closed;
        self.ready -= 1;
        if !self.spent && self.engine.now_ns() < self.stop_ns {
            self.connect(conn);
        }
    }
}
