//! An engine whose type is chosen at run time, for workers that are compiled once for all engines, at the
//! cost of a dynamic call.

use std::io;

use crate::{Address, ConnId, ConnectOptions, Engine, Event, Socket, TlsHandshake};

impl Engine for Box<dyn Engine> {
    fn name(&self) -> &'static str {
        self.as_ref().name()
    }

    fn now_ns(&self) -> u64 {
        self.as_ref().now_ns()
    }

    fn open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) {
        self.as_mut().open(conn, to, options);
    }

    fn adopt(&mut self, conn: ConnId, socket: Socket) {
        self.as_mut().adopt(conn, socket);
    }

    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64 {
        self.as_mut().send(conn, bytes)
    }

    fn send_vec(&mut self, conn: ConnId, bytes: &mut Vec<u8>) -> u64 {
        self.as_mut().send_vec(conn, bytes)
    }

    fn inbox(&self) -> &[u8] {
        self.as_ref().inbox()
    }

    fn consume(&mut self, bytes: usize) {
        self.as_mut().consume(bytes);
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) -> u64 {
        self.as_mut().discard(conn, bytes)
    }

    fn close(&mut self, conn: ConnId) {
        self.as_mut().close(conn);
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.as_mut().wait(until_ns)
    }

    fn next(&mut self) -> Option<Event> {
        self.as_mut().next()
    }

    fn arrived_ns(&self) -> Option<u64> {
        self.as_ref().arrived_ns()
    }

    fn boxed(self) -> Box<dyn Engine> {
        self
    }

    fn handshake(&self, conn: ConnId) -> Option<TlsHandshake> {
        self.as_ref().handshake(conn)
    }
}
