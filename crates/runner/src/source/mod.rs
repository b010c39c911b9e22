//! Requests that have due times and connections of their own: read ahead by a separate thread, in blocks that
//! each belong to one worker.
//!
//! [`feed`] reads a [`RequestSource`](workload::RequestSource) and distributes the requests by connection, and
//! workers draw from their [`blocks`]. The route decides which connection sends when.

pub(crate) mod blocked;
pub(crate) mod blocks;
pub(crate) mod feed;
