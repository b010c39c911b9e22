//! Reasons why no more replies of a read are settled. What follows from them is left to the loop.

use wire::Reply;

use crate::{Fatal, explain};

/// Reason why no more replies of a read are settled.
pub(super) enum ReadEnd {
    /// The rest is not a whole reply.
    Read,
    /// After this error it is unknown which request the next reply answers.
    Uncertain,
    /// The server is about to close the connection.
    Refused,
    /// The server does not accept the client.
    TurnedAway(Fatal),
}

/// Returns the effect of a reply that answers no request.
#[cold]
pub(super) fn unexpected(reply: Reply<'_>) -> Result<ReadEnd, Fatal> {
    let fatal = explain::unexpected(&reply);
    if explain::turns_away(&reply) { Ok(ReadEnd::TurnedAway(fatal)) } else { Err(fatal) }
}
