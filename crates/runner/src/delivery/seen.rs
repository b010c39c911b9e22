//! Set of received messages, where one of several receivers gets each, on any thread.
//!
//! A bit for each number, in pages that are made as numbers rise. Only receiver threads touch it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of a page, and number of pages: 4,294,967,296 messages in 512 MiB.
const PAGE: u64 = 1 << 16;
const PAGES: usize = 1 << 16;

const WORD: u64 = u64::BITS as u64;

type Page = Box<[AtomicU64]>;

/// The numbers of the messages that have come.
#[derive(Debug)]
pub(super) struct NumberBitmap {
    pages: Box<[OnceLock<Page>]>,
}

impl Default for NumberBitmap {
    fn default() -> Self {
        Self { pages: (0..PAGES).map(|_| OnceLock::new()).collect() }
    }
}

impl NumberBitmap {
    /// Adds a message. Returns whether its number is new; a number beyond the capacity always is.
    #[inline]
    pub(super) fn insert(&self, number: u64) -> bool {
        let Some(page) = self.pages.get((number / PAGE) as usize) else { return true };
        let page = page.get_or_init(new_page);
        let bit = 1 << (number % WORD);
        page[(number % PAGE / WORD) as usize].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Returns the pages in use: index and bits.
    pub(super) fn pages(&self) -> impl Iterator<Item = (usize, Vec<u64>)> {
        let pages = self.pages.iter().enumerate();
        pages.filter_map(|(number, page)| {
            let bits = page.get()?.iter().map(|word| word.load(Ordering::Relaxed));
            Some((number, bits.collect()))
        })
    }
}

#[cold]
fn new_page() -> Page {
    (0..PAGE / WORD).map(|_| AtomicU64::new(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_new_once() {
        let seen = NumberBitmap::default();
        for number in (0..200_000).chain([PAGE * PAGES as u64 - 1]) {
            assert!(seen.insert(number) && !seen.insert(number), "{number}");
        }
        let pages: Vec<_> = seen.pages().collect();
        let count =
            |(_, bits): &(usize, Vec<u64>)| -> u32 { bits.iter().map(|w| w.count_ones()).sum() };
        assert_eq!(pages.iter().map(count).sum::<u32>(), 200_001);
        assert_eq!((pages.len(), pages[1].0, pages[4].0), (5, 1, PAGES - 1));
        let beyond = PAGE * PAGES as u64;
        assert!(seen.insert(beyond) && seen.insert(beyond), "no room is no repetition");
    }

    #[test]
    fn threads_agree_on_who_was_first() {
        let seen = NumberBitmap::default();
        let had = std::thread::scope(|scope| {
            let count = || (0..PAGE * 2).filter(|number| seen.insert(*number)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(had, 2 * PAGE as usize);
    }
}
