//! Values that are too large for memcached: refused before load, since the server drops the previous value of
//! such a key.

use anyhow::Result;
use cli::job::UsageError;
use naming::{ON_ERROR, SIZE};
use workload::{CommandSpec, KeySpace, OnError, Piece, Plan};

use crate::server::Server;

/// Bytes of an item beside its key and its value: its header, its token, the end of its key, and the end of
/// its line.
const HEADER: u64 = 48 + 8 + 1 + 2;

/// Ensures that the server takes the largest value of a plan.
///
/// # Errors
/// Returns an error if it does not, and the first error ends the run.
pub(crate) fn check(server: &Server, plan: &Plan) -> Result<()> {
    let bytes = plan.largest_argument();
    if !plan.protocol.is_memcache()
        || plan.recovery.on_error != OnError::Stop
        || bytes < LIMIT_LEAST
    {
        return Ok(());
    }
    let key = plan.key_spaces().flat_map(|(span, keys)| {
        plan.sequence[span]
            .iter()
            .filter(|command| command.values() > 0 || is_largest(command, bytes))
            .map(move |command| key_bytes(command, keys))
    });
    let key = key.min().unwrap_or(0);
    match server.item_limit(&plan.target) {
        Some((address, limit)) if bytes + key + HEADER > limit => Err(UsageError(format!(
            "a value of {bytes} bytes: {address} accepts items of up to {limit} bytes, with key \
             and header. Use a smaller {SIZE}, start memcached with a larger -I, or count the errors \
             ({ON_ERROR} count)"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Lowest limit with which memcached starts, so that smaller values need no question.
const LIMIT_LEAST: u64 = 1024 - HEADER;

/// Returns whether a command has an argument of this length.
fn is_largest(command: &CommandSpec, bytes: u64) -> bool {
    command.args.iter().any(|arg| {
        arg.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Fill { len, .. } if u64::from(*len) == bytes))
    })
}

/// Minimum length of its key.
fn key_bytes(command: &CommandSpec, keys: &KeySpace) -> u64 {
    let bytes = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => bytes.len(),
        Piece::Number(_) => keys.digits().max(1),
        _ => 0,
    };
    command.args.get(1).map_or(0, |key| key.pieces.iter().map(bytes).sum::<usize>()) as u64
}
