//! Values that memcached is too small for: refused before load, since the server drops what such a key
//! held before.

use anyhow::Result;
use workload::{OnError, Plan};

use crate::front::UsageError;
use crate::server::Server;

/// Bytes of an item beside its key and its value, at least: its header, and the end of its line.
const HEADER_MIN: u64 = 50;

/// Makes sure that the server takes the largest value of a plan.
///
/// # Errors
/// It does not, and the first error ends the run.
pub(crate) fn check(server: &Server, plan: &Plan) -> Result<()> {
    let bytes = plan.largest_argument();
    if !plan.protocol.is_memcache() || plan.on_error != OnError::Stop || bytes < LIMIT_LEAST {
        return Ok(());
    }
    match server.item_limit(&plan.target) {
        Some((address, limit)) if bytes + HEADER_MIN > limit => Err(UsageError(format!(
            "a value of {bytes} bytes: {address} accepts items of up to {limit} bytes, with key \
             and header. Use a smaller -d, start memcached with a larger -I, or count the errors \
             (--on-error count)"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// No memcached starts with a lower limit, so of smaller values nothing is asked.
const LIMIT_LEAST: u64 = 1024 - HEADER_MIN;
