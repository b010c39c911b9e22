//! Detection of duplicates and of messages out of their sender's order.

/// Number of messages of one sender that a receiver remembers. An older duplicate counts as out of order.
const REMEMBERED: usize = 4;

/// Position of a message among the earlier ones of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Behind all of them.
    Next,
    /// A duplicate of one of them.
    Doubled,
    /// New, and sent before the last of them.
    OutOfOrder,
}

/// The latest messages of one sender at one receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecentNumbers {
    /// Greatest number plus one; 0 before the first.
    next: u64,
    /// Lower halves of the latest numbers, used in turn.
    numbers: [u32; REMEMBERED],
    turn: u8,
}

impl Default for RecentNumbers {
    fn default() -> Self {
        Self { next: 0, numbers: [u32::MAX; REMEMBERED], turn: 0 }
    }
}

impl RecentNumbers {
    /// Takes a message.
    #[inline]
    pub(super) fn take(&mut self, number: u64) -> Arrival {
        let place = if number >= self.next {
            Arrival::Next
        } else if self.numbers.contains(&(number as u32)) {
            return Arrival::Doubled;
        } else {
            Arrival::OutOfOrder
        };
        self.next = self.next.max(number + 1);
        self.numbers[usize::from(self.turn) % REMEMBERED] = number as u32;
        self.turn = self.turn.wrapping_add(1);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(numbers: &[u64]) -> Vec<Arrival> {
        let mut latest = RecentNumbers::default();
        numbers.iter().map(|number| latest.take(*number)).collect()
    }

    #[test]
    fn gaps_are_in_order_and_neighbours_that_changed_places_are_not() {
        use Arrival::{Doubled, Next, OutOfOrder};
        assert_eq!(places(&[0, 50, 51, 900]), [Next; 4]);
        assert_eq!(places(&[3, 2, 4]), [Next, OutOfOrder, Next]);
        assert_eq!(places(&[3, 3, 4, 3]), [Next, Doubled, Next, Doubled]);
        assert_eq!(places(&[3, 2, 2]), [Next, OutOfOrder, Doubled]);
    }
}
