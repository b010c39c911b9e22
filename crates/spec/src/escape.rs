//! Words in which a text is no placeholder, though it looks like one.

use workload::argument::placeholder;
use workload::derived::OPENINGS;
use workload::escape::{BYTES_PLACEHOLDER, escaped};
use workload::{Arg, Lifetime, Piece, Slot};

/// Beginnings of placeholders that other tools do not have, beside those of derived texts.
const OWN: [&str; 6] =
    [BYTES_PLACEHOLDER, "__reply__", "__reply_or:", "__insert__", "__insert:", "__cas__"];

/// A text between two others in a word, where nothing in it is a placeholder, nor part of one.
pub fn literal(text: &[u8], before: &str, after: &str) -> String {
    written(text, before, after, shared_openings().chain(own_openings()))
}

/// A word of another tool, in which nothing is a placeholder that the tool does not have.
pub fn of_other_tool(word: &[u8]) -> String {
    let lifetime = Lifetime { least_s: 1, most_s: 2 };
    let arg = Arg::literal(word).with_tags().with_lifetimes(lifetime).with_values().with_numbers();
    let name = |at: usize| arg.pieces.get(at).map_or("".into(), Piece::shown);
    let pieces = arg.pieces.iter().enumerate().map(|(at, piece)| match piece {
        Piece::Bytes(text) => {
            written(text, &name(at.wrapping_sub(1)), &name(at + 1), own_openings())
        }
        _ => name(at).into_owned(),
    });
    pieces.collect()
}

/// A word whose bytes that are no text are escaped.
pub fn text(word: &[u8]) -> String {
    let chunks = word.utf8_chunks().map(|chunk| {
        let text = chunk.valid().replace('\0', &escaped(&[0]));
        if chunk.invalid().is_empty() { text } else { text + &escaped(chunk.invalid()) }
    });
    chunks.collect()
}

/// Beginnings of the placeholders that other tools have, too, outside of clusters.
fn shared_openings() -> impl Iterator<Item = &'static str> {
    let numbers = (1..=9).map(Slot::Shared).chain([Slot::Fresh, Slot::Key]).map(placeholder);
    numbers.chain(["__data__", "__ttl__", "__field:"])
}

fn own_openings() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(OPENINGS)
}

/// A text between two others, escaped if it is none, or part of what begins with one of these.
fn written<'o>(
    text: &[u8],
    before: &str,
    after: &str,
    mut openings: impl Iterator<Item = &'o str>,
) -> String {
    let whole = [before.as_bytes(), text, after.as_bytes()].concat();
    let (start, end) = (before.len(), before.len() + text.len());
    let is_opened = openings.any(|opening| {
        let first = (start + 1).saturating_sub(opening.len());
        (first..end).any(|at| whole[at..].starts_with(opening.as_bytes()))
    });
    match std::str::from_utf8(text) {
        Ok(plain) if !is_opened && !plain.contains('\0') => plain.to_owned(),
        _ => escaped(text),
    }
}
