//! The order of each connection's messages. A redirected message may arrive behind later ones, which is no
//! fault of the servers.

use engine::ConnId;
use workload::{Message, message};

/// Greatest message number that each connection has sent, plus one.
#[derive(Debug, Default)]
pub(super) struct MessageOrder {
    next: Vec<u64>,
}

impl MessageOrder {
    /// Marks a message that would arrive behind later ones of its connection as having no sender.
    #[inline]
    pub(super) fn placed(&mut self, conn: ConnId, message: Message) -> Message {
        let at = conn.0 as usize;
        if at >= self.next.len() {
            self.next.resize(at + 1, 0);
        }
        let next = &mut self.next[at];
        if message.number < *next {
            return Message { sender: message::OUT_OF_TURN, ..message };
        }
        *next = message.number + 1;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Purpose;

    #[test]
    fn what_comes_behind_later_ones_is_from_nobody() {
        let mut order = MessageOrder::default();
        let mut sender = |conn, number| {
            let purpose = Purpose::Measured;
            let message = Message { purpose, run: 1, sender: conn, number, due_ns: 0, sent_ns: 0 };
            order.placed(ConnId(conn), message).sender
        };
        assert_eq!([(2, 5), (2, 6), (0, 1), (2, 9)].map(|(c, n)| sender(c, n)), [2, 2, 0, 2]);
        assert_eq!(sender(2, 7), message::OUT_OF_TURN);
        assert_eq!((sender(2, 10), sender(0, 0)), (2, message::OUT_OF_TURN));
    }
}
