//! Messages between clients: the coordinator's sums and announcements, since no client alone knows which
//! messages have come.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use runner::Progress;

use super::Round;
use crate::line::{ReceivedNumbers, ToClient};

/// Longest time for probes to be on their way once all clients are ready.
const PROBES: Duration = Duration::from_secs(10);

/// Joint state of the messages between clients.
#[derive(Default)]
pub(crate) struct Exchange {
    /// Set once all clients were informed that everything has been sent.
    all_sent: bool,
    /// Set once all clients were informed that everything sent has come to some client.
    all_received: bool,
    /// Set once all clients were informed that all receivers are gone.
    all_closed: bool,
    /// Time at which all clients were ready while probes were still on their way.
    ready: Option<Instant>,
    /// Reason why load cannot begin.
    pub(super) fault: Option<String>,
    /// Messages that any client received, by group and page.
    received: BTreeMap<(usize, usize), Vec<u64>>,
    /// Messages that came to one client, and then to another.
    doubled: u64,
}

impl Exchange {
    /// Adds the messages that a client received.
    pub(super) fn add(&mut self, page: &ReceivedNumbers) {
        let words = page.words();
        let known = self.received.entry((page.group, page.page)).or_default();
        known.resize(known.len().max(words.len()), 0);
        for (known, word) in known.iter_mut().zip(words) {
            self.doubled += u64::from((*known & word).count_ones());
            *known |= word;
        }
    }

    /// Counts messages that came to several clients as duplicates, as each client took its own for the first.
    pub(crate) fn correct(&self, received: &mut u64, doubled: &mut u64) {
        *received = received.saturating_sub(self.doubled);
        *doubled = doubled.saturating_add(self.doubled);
    }
}

impl Round<'_> {
    /// Returns whether all probes have come that any client may get. If they do not come in time, load does
    /// not begin.
    pub(super) fn are_probes_there(&mut self) -> bool {
        let sum = |count: fn(&Progress) -> u64| -> u64 {
            self.parts.iter().map(|part| count(&part.messages)).sum()
        };
        let (sent, came) = (sum(|of| of.probes), sum(|of| of.probed));
        if came >= sent {
            return true;
        }
        let since = *self.exchange.ready.get_or_insert_with(Instant::now);
        if since.elapsed() > PROBES {
            let fault = format!(
                "{} of {sent} messages that should show whether receivers get any did not arrive within {} s",
                sent - came,
                PROBES.as_secs()
            );
            self.stop(&fault);
            self.exchange.fault.get_or_insert(fault);
        }
        false
    }

    /// Informs the clients of the joint progress of messages, once for each step.
    pub(super) fn tell_of_messages(&mut self) {
        let all_sent = self.parts.iter().all(|part| part.sent || part.is_over());
        if all_sent && !std::mem::replace(&mut self.exchange.all_sent, true) {
            self.tell_all(|_| ToClient::AllSent);
        }
        // What a client sent that was lost before is not known.
        let expected = self.parts.iter().map(|part| part.messages.expected).sum::<Option<u64>>();
        let received = self.parts.iter().map(|part| part.messages.received).sum::<u64>();
        let is_all = expected.is_some_and(|expected| received >= expected);
        if is_all && !std::mem::replace(&mut self.exchange.all_received, true) {
            self.tell_all(|_| ToClient::AllReceived);
        }
        let first = self.parts.iter().position(|part| part.messages.closed && !part.is_over());
        let all_closed =
            first.is_some() && self.parts.iter().all(|part| part.messages.closed || part.is_over());
        if all_closed && !std::mem::replace(&mut self.exchange.all_closed, true) {
            self.tell_all(|client| ToClient::AllClosed { removes: first == Some(client) });
        }
    }

    fn tell_all(&mut self, line: impl Fn(usize) -> ToClient) {
        for client in 0..self.parts.len() {
            if !self.parts[client].is_over() {
                self.fleet.tell(client, &line(client));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use runner::ReceivedPage;

    use super::*;

    #[test]
    fn what_came_to_two_clients_is_doubled() {
        let mut exchange = Exchange::default();
        for (group, bits) in
            [(0, [0b0111, 1]), (0, [0b1100, 1]), (1, [0b1111, 1]), (0, [0b1000, 0])]
        {
            exchange.add(&ReceivedNumbers::from(ReceivedPage { group, page: 7, bits: &bits }));
        }
        let (mut received, mut doubled) = (13, 0);
        exchange.correct(&mut received, &mut doubled);
        assert_eq!((received, doubled), (10, 3));
    }
}
