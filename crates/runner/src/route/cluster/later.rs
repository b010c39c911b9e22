//! Requests refused by nodes that are sent again after a delay.

use std::collections::BTreeMap;

use super::ClusterRequest;

/// The longest wait of a request while few wait.
const WAIT_MAX_NS: u64 = 200_000_000;
/// Number of waiting requests above which each waits longer, to bound the retries per second.
const FEW: u64 = 4096;

/// Delayed requests, in the order in which their waits end.
#[derive(Default)]
pub(super) struct DelayedRequests {
    /// Requests by the end of their wait, and in order of arrival for equal ends.
    waits: BTreeMap<(u64, u64), ClusterRequest>,
    put: u64,
    /// Time at which the last request was added.
    last_ns: u64,
}

impl DelayedRequests {
    /// Adds a request that waits this long, or longer if many do.
    pub(super) fn put(&mut self, now_ns: u64, wait_ns: u64, request: ClusterRequest) {
        let longest_ns = WAIT_MAX_NS * (1 + self.waits.len() as u64 / FEW);
        let wait_ns = if longest_ns > WAIT_MAX_NS { longest_ns } else { wait_ns.min(WAIT_MAX_NS) };
        self.put += 1;
        self.last_ns = now_ns;
        self.waits.insert((now_ns + wait_ns, self.put), request);
    }

    /// Takes the first request whose wait has ended.
    pub(super) fn take_ended(&mut self, now_ns: u64) -> Option<ClusterRequest> {
        let first = self.ended(now_ns).then(|| self.waits.pop_first());
        first.flatten().map(|(_, request)| request)
    }

    /// Takes all requests that pass this test.
    pub(super) fn take(
        &mut self,
        is_meant: impl Fn(&ClusterRequest) -> bool,
    ) -> Vec<ClusterRequest> {
        let mut taken = Vec::new();
        self.waits.retain(|_, request| {
            let is_meant = is_meant(request);
            if is_meant {
                taken.push(*request);
            }
            !is_meant
        });
        taken
    }

    /// Returns whether the wait of any has ended.
    #[inline]
    pub(super) fn ended(&self, now_ns: u64) -> bool {
        self.first_ns().is_some_and(|until_ns| until_ns <= now_ns)
    }

    /// Time at which the first wait ends. All waits end once no request was refused for a while, because the
    /// nodes answer again.
    #[inline]
    pub(super) fn first_ns(&self) -> Option<u64> {
        let first = self.waits.first_key_value();
        first.map(|((until_ns, _), _)| (*until_ns).min(self.last_ns + WAIT_MAX_NS))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ClusterRequest> {
        self.waits.values()
    }
}
