//! Address of a server that may change during a run.
//!
//! Workers keep a copy of the address and compare one number now and then; they take the lock only when that
//! number has changed. A thread of its own asks the [`Resolver`] for the new address: at once when a
//! connection was lost, and otherwise every second.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use engine::Address;

/// Minimum and maximum time between two questions.
const LEAST: Duration = Duration::from_millis(50);
const MOST: Duration = Duration::from_secs(1);

/// Knows where the server is now.
pub trait Resolver: Sync {
    /// Resolves the address, which may take a while. `None` if there is no trustworthy answer; the last
    /// address then stays.
    fn resolve(&self) -> Option<Address>;
}

/// The server's address, shared by all workers, with a generation that grows when it changes.
pub(crate) struct Destination {
    address: Mutex<Address>,
    generation: AtomicU32,
    follows: bool,
    request: Mutex<ResolveRequest>,
    changed: Condvar,
}

/// Request to the thread that resolves the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResolveRequest {
    Nothing,
    /// The address, resolved again.
    Ask,
    /// Asks the thread to end.
    End,
}

impl Destination {
    /// Returns the destination of a server at `address`; `follows` if [`follow`](Self::follow) will be called.
    pub(crate) fn new(address: &Address, follows: bool) -> Self {
        Self {
            address: Mutex::new(address.clone()),
            generation: AtomicU32::new(0),
            follows,
            request: Mutex::new(ResolveRequest::Nothing),
            changed: Condvar::new(),
        }
    }

    /// Returns whether the address may change.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Number of changes so far.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// The address now.
    pub(crate) fn address(&self) -> Address {
        // Nothing panics while it holds the lock, and if it did the address would still be one.
        self.address.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Asks for a new answer.
    pub(crate) fn ask(&self) {
        if self.follows {
            self.request(ResolveRequest::Ask);
        }
    }

    /// Makes [`follow`](Self::follow) return.
    pub(crate) fn end(&self) {
        self.request(ResolveRequest::End);
    }

    fn request(&self, new: ResolveRequest) {
        let mut request = self.request.lock().unwrap_or_else(|e| e.into_inner());
        if *request != ResolveRequest::End {
            *request = new;
        }
        self.changed.notify_all();
    }

    /// Keeps the address up to date until the [`end`](Self::end).
    pub(crate) fn follow(&self, resolver: &dyn Resolver) {
        while self.wait_while(MOST, ResolveRequest::Nothing) != ResolveRequest::End {
            if let Some(found) = resolver.resolve() {
                self.publish(found);
            }
            if self.wait_while(LEAST, ResolveRequest::Ask) == ResolveRequest::End {
                return;
            }
        }
    }

    /// Waits up to `most` for a request more urgent than `no_more`, and takes it.
    fn wait_while(&self, most: Duration, no_more: ResolveRequest) -> ResolveRequest {
        let request = self.request.lock().unwrap_or_else(|e| e.into_inner());
        let idle = self.changed.wait_timeout_while(request, most, |request| {
            *request == ResolveRequest::Nothing || *request == no_more
        });
        let (mut request, _) = idle.unwrap_or_else(|e| e.into_inner());
        let taken = *request;
        if taken == ResolveRequest::Ask && no_more == ResolveRequest::Nothing {
            *request = ResolveRequest::Nothing;
        }
        taken
    }

    fn publish(&self, found: Address) {
        let mut address = self.address.lock().unwrap_or_else(|e| e.into_inner());
        if *address != found {
            *address = found;
            self.generation.fetch_add(1, Ordering::Release);
        }
    }
}

/// Ends the following of a destination when dropped, whatever happens to the run.
pub(crate) struct FollowGuard<'d>(pub(crate) &'d Destination);

impl Drop for FollowGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU16;
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp(([127, 0, 0, 1], port).into())
    }

    /// Moves with each question.
    struct MovingResolver(AtomicU16);

    impl Resolver for MovingResolver {
        fn resolve(&self) -> Option<Address> {
            Some(at(self.0.fetch_add(1, Ordering::Relaxed)))
        }
    }

    #[test]
    fn a_question_brings_a_new_address_and_the_end_ends() {
        let destination = Destination::new(&at(1), true);
        let moving = MovingResolver(AtomicU16::new(7));
        thread::scope(|scope| {
            scope.spawn(|| destination.follow(&moving));
            let started = Instant::now();
            destination.ask();
            while destination.generation() == 0 {
                assert!(started.elapsed() < Duration::from_secs(10));
                thread::sleep(Duration::from_millis(1));
            }
            assert_ne!(destination.address(), at(1));
            destination.end();
        });
    }

    /// A scope is left early when, for example, another thread of a run cannot start.
    #[test]
    fn a_scope_that_is_left_early_ends_the_following() {
        let destination = Destination::new(&at(1), true);
        let moving = MovingResolver(AtomicU16::new(7));
        let failed = thread::scope(|scope| -> Result<(), &str> {
            let _end = FollowGuard(&destination);
            scope.spawn(|| destination.follow(&moving));
            Err("no thread")
        });
        assert_eq!(failed, Err("no thread"));
    }
}
