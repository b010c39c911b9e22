//! Absences of servers.
//!
//! Requests for an absent server wait for a moment, in which most connections are back. Then they are lost,
//! and so are later ones, until the server is back. While all servers are absent, everything waits, as for
//! one server.

/// Time that requests wait for a server to come back.
const PATIENCE_NS: u64 = 100_000_000;
/// Time between looks at absent servers.
const LOOK_NS: u64 = 10_000_000;

/// Time since which no connection to a server has been open, for each server.
#[derive(Debug)]
pub(super) struct Absence {
    /// State of each server.
    servers: Vec<State>,
    /// Number of servers that are present.
    present: usize,
    /// Time of the next check; `u64::MAX` while none is absent.
    look_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    /// Absent, and not checked since.
    Left,
    Waited {
        since_ns: u64,
    },
    Gone,
}

impl Absence {
    pub(super) fn new(servers: usize) -> Self {
        Self { servers: vec![State::Present; servers], present: servers, look_ns: u64::MAX }
    }

    /// Notes that a server has become absent or present.
    pub(super) fn note(&mut self, server: u16, is_absent: bool) {
        let state = &mut self.servers[usize::from(server)];
        match (is_absent, *state) {
            (false, State::Present) => {}
            (false, _) => {
                *state = State::Present;
                self.present += 1;
            }
            (true, State::Present) => {
                *state = State::Left;
                self.present -= 1;
                self.look_ns = 0;
            }
            (true, _) => {}
        }
    }

    /// Returns whether requests for a server are lost.
    #[inline]
    pub(super) fn is_gone(&self, server: u16) -> bool {
        self.servers[usize::from(server)] == State::Gone && self.present > 0
    }

    /// Returns whether all servers are absent.
    pub(super) fn is_total(&self) -> bool {
        self.present == 0
    }

    /// Time at which [`look`] is due.
    #[inline]
    pub(super) fn look_ns(&self) -> u64 {
        self.look_ns
    }

    /// Gives up servers that have been absent for too long.
    pub(super) fn pass(&mut self, now_ns: u64) {
        for state in &mut self.servers {
            match *state {
                State::Left => *state = State::Waited { since_ns: now_ns },
                State::Waited { since_ns } if now_ns >= since_ns + PATIENCE_NS => {
                    *state = State::Gone;
                }
                _ => {}
            }
        }
        let absent = self.present < self.servers.len();
        self.look_ns = if absent { now_ns + LOOK_NS } else { u64::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_up_after_a_moment_and_taken_back_at_once() {
        let mut absence = Absence::new(2);
        assert_eq!(absence.look_ns(), u64::MAX);
        absence.note(1, true);
        assert_eq!((absence.look_ns(), absence.is_gone(1), absence.is_total()), (0, false, false));
        absence.pass(1_000);
        absence.note(1, true);
        absence.pass(1_000 + PATIENCE_NS - 1);
        assert!(!absence.is_gone(1));
        absence.pass(1_000 + PATIENCE_NS);
        assert!(absence.is_gone(1) && !absence.is_gone(0));
        absence.note(0, true);
        assert!(absence.is_total() && !absence.is_gone(1), "with none there, all waits");
        absence.note(1, false);
        absence.note(0, false);
        absence.pass(2 * PATIENCE_NS);
        assert_eq!((absence.is_gone(1), absence.look_ns()), (false, u64::MAX));
    }
}
