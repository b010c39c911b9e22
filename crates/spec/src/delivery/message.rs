//! The message in the command of a sender, and the names of its channel or key.

use naming::{SIZE, Text, text};
use workload::{NAME_PREFIX, Piece, PlanParts, TAG, message};

/// Prefix of the names of channels and keys. It follows from the seed, so two runs on one server share names only if
/// they have the same --seed.
pub(super) fn prefix(parts: &PlanParts) -> String {
    format!("{NAME_PREFIX}{:08x}:", parts.load.seed as u32 ^ (parts.load.seed >> 32) as u32)
}

/// In a cluster, the prefix with an opening brace behind it: the number of a channel or key becomes its hash tag, so
/// that all keys of one number are in the same slot.
pub(super) fn tagged(mut prefix: String, parts: &PlanParts) -> String {
    if parts.target.is_cluster() {
        prefix.push(TAG);
    }
    prefix
}

/// Puts a prefix before the argument, which begins with the number of a channel or key, and closes its hash tag.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn tag(parts: &mut PlanParts, at: usize, prefix: &str) -> Result<(), Text> {
    let pieces = pieces(parts, at)?;
    if prefix.ends_with(TAG) {
        pieces.insert(1.min(pieces.len()), Piece::Bytes(b"}".to_vec()));
    }
    begin_with(parts, at, prefix)
}

/// The pieces of an argument of the one command that is sent.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn pieces(parts: &mut PlanParts, at: usize) -> Result<&mut Vec<Piece>, Text> {
    let arg = parts.sequence.first_mut().and_then(|command| command.args.get_mut(at));
    arg.map(|arg| &mut arg.pieces).ok_or_else(|| text!("deliver sends one command"))
}

/// Puts the prefix of a run before the argument.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn begin_with(parts: &mut PlanParts, at: usize, prefix: &str) -> Result<(), Text> {
    pieces(parts, at)?.insert(0, Piece::Bytes(prefix.as_bytes().to_vec()));
    Ok(())
}

/// Puts the message at the end of the argument, a payload of `-d` bytes.
///
/// # Errors
/// Returns an error if a payload may be too small.
pub(super) fn end_in_message(parts: &mut PlanParts, at: usize) -> Result<(), Text> {
    let drawn = parts.data.values.as_ref().map(|values| values.sizes.smallest());
    let pieces = pieces(parts, at)?;
    let smallest = match (&pieces[..], drawn) {
        ([Piece::Fill { len, .. }], _) => *len,
        ([Piece::Value], Some(smallest)) => smallest,
        _ => return Err(text!("deliver sends one payload")),
    };
    let least = message::NUMBER_BYTES as u32;
    if smallest < least {
        return Err(text!(
            "{SIZE}: {smallest} bytes are too few: a message needs at least {least}, for its run and its number"
        ));
    }
    let has_times = smallest as usize >= message::BYTES;
    let message = if has_times { Piece::Message } else { Piece::MessageNumber };
    if let [Piece::Fill { len, .. }] = &mut pieces[..] {
        *len -= message.message_bytes() as u32;
    }
    pieces.push(message);
    Ok(())
}
