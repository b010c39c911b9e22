//! Requests that nodes turned away and that are sent again a while later.

use std::collections::BTreeMap;

use super::ClusterRequest;

/// In the order in which their waits end.
#[derive(Default)]
pub(super) struct Later {
    /// By when the wait ends, and by how many were put here before.
    waits: BTreeMap<(u64, u64), ClusterRequest>,
    put: u64,
}

impl Later {
    /// Puts a request here until this time.
    pub(super) fn put(&mut self, until_ns: u64, request: ClusterRequest) {
        self.put += 1;
        self.waits.insert((until_ns, self.put), request);
    }

    /// Takes the first one whose wait has ended.
    pub(super) fn take_ended(&mut self, now_ns: u64) -> Option<ClusterRequest> {
        let first = self.ended(now_ns).then(|| self.waits.pop_first());
        first.flatten().map(|(_, request)| request)
    }

    /// Takes all that this holds of.
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

    /// Whether the wait of any has ended.
    #[inline]
    pub(super) fn ended(&self, now_ns: u64) -> bool {
        self.first_ns().is_some_and(|until_ns| until_ns <= now_ns)
    }

    /// When the first wait ends.
    #[inline]
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.waits.first_key_value().map(|((until_ns, _), _)| *until_ns)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ClusterRequest> {
        self.waits.values()
    }
}
