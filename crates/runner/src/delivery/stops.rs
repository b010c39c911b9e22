//! Servers to ask one after another, each about its places. A cluster node may name another node for a place;
//! when a server is gone, the others know its successor.

use engine::Address;

/// A server, and whether each command to it needs an ASKING first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) address: Address,
    pub(super) asking: bool,
}

/// Servers still to be asked, each with its places.
#[derive(Debug)]
pub(super) struct Stops {
    left: Vec<(Stop, Vec<u32>)>,
    /// Initial servers of the places.
    servers: Vec<Address>,
    /// Servers that do not answer.
    gone: Vec<Address>,
}

impl Stops {
    pub(super) fn new(stops: Vec<(Address, Vec<u32>)>) -> Self {
        let servers = stops.iter().map(|(address, _)| address.clone()).collect();
        let left = stops.into_iter().map(|(address, places)| (Stop::at(address), places)).collect();
        Self { left, servers, gone: Vec::new() }
    }

    /// Returns whether no server is left to ask.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the next server, and the places to ask it about.
    pub(super) fn next(&mut self) -> Option<(Stop, Vec<u32>)> {
        self.left.pop()
    }

    /// Asks a server about these places, too.
    pub(super) fn add(&mut self, stop: Stop, mut places: Vec<u32>) {
        match self.left.iter_mut().find(|(known, _)| *known == stop) {
            Some((_, known)) => known.append(&mut places),
            None => self.left.push((stop, places)),
        }
    }

    /// Returns another server, which knows the successor of a server that is gone. `None` if there is no
    /// other, or if one of them named the lost server again, so that no server has taken over yet.
    pub(super) fn instead_of(&mut self, gone: &Stop) -> Option<Stop> {
        let is_new = !self.gone.contains(&gone.address);
        self.gone.push(gone.address.clone());
        let mut others = self.servers.iter().filter(|known| !self.gone.contains(known));
        others.next().filter(|_| is_new).map(|other| Stop::at(other.clone()))
    }

    /// Clears the marks of servers that did not answer.
    pub(super) fn forgive(&mut self) {
        self.gone.clear();
    }
}

impl Stop {
    fn at(address: Address) -> Self {
        Self { address, asking: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp(([127, 0, 0, 1], port).into())
    }

    #[test]
    fn what_is_elsewhere_is_asked_there_and_another_stands_in_for_one_that_is_gone() {
        let mut stops = Stops::new(vec![(at(1), vec![0, 1]), (at(2), vec![2])]);
        let (second, places) = stops.next().unwrap();
        assert_eq!((&second.address, places), (&at(2), vec![2]));
        let asked = Stop { address: at(3), asking: true };
        stops.add(asked.clone(), vec![2]);
        stops.add(Stop::at(at(1)), vec![5]);
        assert_eq!(stops.next(), Some((asked, vec![2])));
        let (first, places) = stops.next().unwrap();
        assert_eq!(places, [0, 1, 5]);
        assert!(stops.is_empty() && stops.next().is_none());
        assert_eq!(stops.instead_of(&first), Some(second.clone()));
        assert_eq!(stops.instead_of(&first), None, "it was named again");
        assert_eq!(stops.instead_of(&second), None, "no other is left");
        stops.forgive();
        assert_eq!(stops.instead_of(&second), Some(first));
    }
}
