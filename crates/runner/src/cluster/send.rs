//! What is sent: drawn from the stream, put into the lane of its node, and taken from there.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::link::Request;
use super::worker::ClusterWorker;
use crate::session::State;

impl<E: Engine, P: Protocol> ClusterWorker<'_, E, P> {
    /// A connection has become ready or has settled replies: gives it more to do.
    #[inline]
    pub(super) fn refill(&mut self, conn: ConnId) {
        let link = &self.links[conn.0 as usize];
        if link.requests.is_empty() {
            if link.used && !self.shift.plan.fleet.keep_alive {
                return self.replace(conn);
            }
            if self.unbalanced && self.rehome(conn) {
                return;
            }
        }
        self.queue_up(conn);
        self.pump();
    }

    /// Puts a connection behind the others of its node that have room.
    #[inline]
    pub(super) fn queue_up(&mut self, conn: ConnId) {
        let link = &mut self.links[conn.0 as usize];
        if !link.idle && link.room(self.depth, self.rolling) > 0 {
            link.idle = true;
            self.lanes.add_idle(link.node, conn);
        }
    }

    /// Draws requests for the connections that have room, and sends what can be sent.
    #[inline]
    pub(super) fn pump(&mut self) {
        while self.lanes.wants_more() && self.draw() {}
        // Each lane once: what is left then waits for room or for its time.
        let mut held_back = None;
        while let Some(node) = self.lanes.next_sendable() {
            let sent = self.send_one(node);
            self.lanes.update(node);
            if !sent {
                // Others may have something that is to be sent again.
                if held_back == Some(node) {
                    break;
                }
                held_back = held_back.or(Some(node));
            }
        }
    }

    /// Takes the next sequence off the stream, if one is left and due.
    #[inline]
    fn draw(&mut self) -> bool {
        let now_ns = self.engine.now_ns();
        if self.spent || now_ns >= self.stop_ns {
            return false;
        }
        if self.scarce && self.in_flight + self.lanes.waiting() >= self.limit {
            return false;
        }
        let intended_ns = match &mut self.pacer {
            None => 0,
            Some(pacer) => match pacer.take(now_ns) {
                Some(due_ns) => due_ns,
                None => return false,
            },
        };
        let measured = self.recorder.measuring(now_ns);
        let shift = &mut self.shift;
        let stream = if measured { &mut shift.stream } else { &mut shift.warmup };
        let turn = stream.take(1);
        self.spent = stream.is_spent();
        let Some(turn) = turn else { return false };
        let request = Request {
            number: turn.first,
            intended_ns,
            sent_ns: 0,
            handed_ns: 0,
            command: 0,
            commands: 1,
            answered: 0,
            tries: 0,
            slot: None,
            read_only: false,
            asking: false,
            measured,
        };
        if let Some(command) = self.commands.whole {
            self.enqueue(Request { commands: turn.commands, ..request }, command);
        } else {
            for command in 0..turn.commands {
                self.enqueue(Request { command, ..request }, command as usize);
            }
        }
        true
    }

    /// Puts a new request into the lane of the node that owns the key of a command.
    #[inline]
    fn enqueue(&mut self, mut request: Request, command: usize) {
        request.slot =
            self.batch.slot(&self.commands.slots, request.number, command, &mut self.key);
        request.read_only = self.commands.read_only[command];
        let node = self.router.route(request.slot, request.read_only);
        self.lanes.push(node, request);
    }

    /// Sends a pipeline to a node, on the connection whose turn it is. Whether anything moved.
    #[inline]
    fn send_one(&mut self, node: u16) -> bool {
        let Some(conn) = self.lanes.take_idle(node) else { return true };
        let link = &mut self.links[conn.0 as usize];
        link.idle = false;
        let room = link.room(self.depth, self.rolling);
        self.out.clear();
        let mut count = 0;
        let mut measured = false;
        // After the end only what was sent before is sent again.
        let over = self.stop_ns != u64::MAX && self.engine.now_ns() >= self.stop_ns;
        while count < room {
            // What was sent before is in flight all the while.
            let is_new = match self.lanes.peek(node) {
                Some(request) => request.sent_ns == 0,
                None => break,
            };
            if is_new && (self.in_flight >= self.limit || over) {
                break;
            }
            let Some(request) = self.lanes.pop(node) else { break };
            self.in_flight += usize::from(is_new);
            if request.asking {
                self.out.extend_from_slice(&self.asking);
            }
            let commands = request.command as usize..(request.command + request.commands) as usize;
            self.batch.append(request.number, commands, &mut self.out);
            measured |= request.measured;
            link.requests.push_back(request);
            count += 1;
        }
        if count == 0 {
            self.queue_up(conn);
            return room == 0;
        }
        let sent_ns = self.engine.send(conn, &self.out);
        link.used = true;
        for request in link.requests.iter_mut().rev().take(count) {
            request.handed_ns = sent_ns;
            if request.sent_ns == 0 {
                request.sent_ns = sent_ns;
            }
            if request.intended_ns == 0 {
                request.intended_ns = sent_ns;
            }
        }
        if measured {
            self.recorder.connections().bytes_out += self.out.len() as u64;
        }
        if self.rolling && self.shift.plan.fleet.keep_alive {
            self.queue_up(conn);
        }
        true
    }

    /// Without keep-alive: closes a connection that has done its pipeline and asks for another, if
    /// there is something left to send on it.
    fn replace(&mut self, conn: ConnId) {
        self.engine.close(conn);
        let node = self.links[conn.0 as usize].node;
        self.links[conn.0 as usize].state = State::Closed;
        self.lanes.count_ready(node, false);
        let over = self.engine.now_ns() >= self.stop_ns || self.spent;
        if !over || self.in_flight > 0 || self.lanes.waiting() > 0 {
            self.connect(conn);
        }
    }
}
