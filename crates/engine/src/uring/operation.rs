//! The identity of an operation, carried through the kernel as one number.

use crate::ConnId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    pub(super) conn: ConnId,
    /// Number of the opening of that connection, whose id may have been reused since.
    pub(super) generation: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Waits until a connection is open or has failed.
    Connect,
    /// Receives into the pool until something ends it.
    Receive,
    /// Sends without waiting; completes only if it did not send all bytes.
    Send,
    /// Sends the remaining bytes, and waits for room.
    SendRest,
    /// Cancels another operation; completes only if that was not found.
    Cancel,
    /// Receives like `Receive`, with a kernel stamp before the bytes in each buffer.
    ReceiveStamped,
    /// Receives once, into one buffer of the pool.
    ReceiveOnce,
    /// Receives bytes and drops them.
    Discard,
}

impl Kind {
    /// Returns whether the operation is sure to complete.
    pub(super) fn completes(self) -> bool {
        !matches!(self, Self::Send | Self::Cancel)
    }
}

const KIND_BITS: u32 = 3;

impl Operation {
    /// Packs the operation into the number that the kernel carries.
    #[inline]
    pub(super) fn to_user_data(self) -> u64 {
        debug_assert!(self.conn.0 < 1 << (32 - KIND_BITS), "a plan has fewer connections");
        let low = self.conn.0 << KIND_BITS | self.kind as u32;
        u64::from(self.generation) << 32 | u64::from(low)
    }

    /// Unpacks the operation from the number that the kernel carried.
    #[inline]
    pub(super) fn from_user_data(data: u64) -> Self {
        let low = data as u32;
        let kind = match low & ((1 << KIND_BITS) - 1) {
            0 => Kind::Connect,
            1 => Kind::Receive,
            2 => Kind::Send,
            3 => Kind::SendRest,
            4 => Kind::Cancel,
            5 => Kind::ReceiveStamped,
            6 => Kind::ReceiveOnce,
            _ => Kind::Discard,
        };
        Self { kind, conn: ConnId(low >> KIND_BITS), generation: (data >> 32) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_survives_the_trip() {
        let known = [
            Kind::Connect,
            Kind::Receive,
            Kind::Send,
            Kind::SendRest,
            Kind::Cancel,
            Kind::ReceiveStamped,
            Kind::ReceiveOnce,
            Kind::Discard,
        ];
        for kind in known {
            for conn in [0, 1, 999_999] {
                let operation = Operation { kind, conn: ConnId(conn), generation: u32::MAX - conn };
                assert_eq!(Operation::from_user_data(operation.to_user_data()), operation);
            }
        }
    }
}
