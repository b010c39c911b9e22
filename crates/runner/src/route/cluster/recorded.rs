//! The commands of a record on a cluster: their bytes, for as long as a node may send them elsewhere.

use std::collections::HashMap;

use super::ClusterRequest;
use crate::recorded::source::RecordedSource;

/// Bytes that are not left with the record.
#[derive(Debug, Default)]
pub(super) struct RetainedBytes {
    /// Bytes, by number, of commands that may wait for another client: commands behind them must not wait for these
    /// bytes to be given back.
    blocking: HashMap<u64, Box<[u8]>>,
}

impl RetainedBytes {
    /// Writes a command behind what is sent with it.
    #[inline]
    pub(super) fn append(
        &mut self,
        request: &ClusterRequest,
        source: &RecordedSource,
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

    /// Forgets the bytes of a command that nobody asks for any more.
    #[inline]
    pub(super) fn forget(&mut self, request: &ClusterRequest, forgotten: &mut Vec<u64>) {
        if request.measured || self.blocking.remove(&request.number).is_none() {
            forgotten.push(request.number);
        }
    }
}
