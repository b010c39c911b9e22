//! Bytes of a source's requests on a cluster, kept for as long as a node may redirect them.

use std::collections::HashMap;

use super::ClusterRequest;
use crate::source::blocks::WorkerSource;

/// Bytes that are kept outside the source.
#[derive(Debug, Default)]
pub(super) struct RetainedBytes {
    /// Bytes, by number, of commands that may wait for another client, so that later blocks of the source can
    /// be returned meanwhile.
    blocking: HashMap<u64, Box<[u8]>>,
}

impl RetainedBytes {
    /// Appends a command to its batch.
    #[inline]
    pub(super) fn append(
        &mut self,
        request: &ClusterRequest,
        source: &WorkerSource,
        forgotten: &mut Vec<u64>,
        out: &mut Vec<u8>,
    ) {
        if request.measured {
            return out.extend_from_slice(source.bytes(request.number));
        }
        let bytes = self.blocking.entry(request.number).or_insert_with(|| {
            forgotten.push(request.number);
            source.bytes(request.number).into()
        });
        out.extend_from_slice(bytes);
    }

    /// Forgets the bytes of a command that will not be asked for again.
    #[inline]
    pub(super) fn forget(&mut self, request: &ClusterRequest, forgotten: &mut Vec<u64>) {
        if request.measured || self.blocking.remove(&request.number).is_none() {
            forgotten.push(request.number);
        }
    }
}
