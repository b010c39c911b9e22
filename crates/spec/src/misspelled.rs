//! Words of a command that look like a placeholder but are not: the server gets them unchanged, mostly in the
//! name of a single key.

use strsim::damerau_levenshtein;
use workload::{Arg, Piece};

/// Words between two `__`.
const NAMES: [&str; 17] = [
    "key", "rand_int", "rand_1st", "rand_2nd", "rand_3rd", "rand_4th", "rand_5th", "rand_6th",
    "rand_7th", "rand_8th", "rand_9th", "data", "ttl", "reply", "cas", "message", "insert",
];
/// Words between `__` and a colon, with the text that may follow up to the next `__`.
const OPENINGS: [(&str, &str); 8] = [
    ("key", "WIDTH"),
    ("field", "NAME"),
    ("hex", "DIGITS"),
    ("reply_or", "TEXT"),
    ("draw", "FROM..TO"),
    ("random", "LEN"),
    ("score", "TEXT:WIDTH"),
    ("checked", "LEN:TEXT:WIDTH:FIELD"),
];
/// Other words for the same things.
const MEANINGS: [(&str, &str); 5] = [
    ("rand", "rand_int"),
    ("random", "rand_int"),
    ("number", "rand_int"),
    ("value", "data"),
    ("payload", "data"),
];

/// The first word of these arguments that looks like a placeholder, and the placeholder that is meant.
pub(crate) fn misspelled<'a>(mut args: impl Iterator<Item = &'a Arg>) -> Option<(String, String)> {
    args.find_map(|arg| {
        arg.pieces.iter().find_map(|piece| match piece {
            Piece::Bytes(bytes) => in_text(&String::from_utf8_lossy(bytes)),
            _ => None,
        })
    })
}

/// Runs of letters, digits and underscores, each with the text after it.
fn runs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let run = &rest[rest.find(is_word)?..];
        let (run, after) = run.split_at(run.find(|c| !is_word(c)).unwrap_or(run.len()));
        rest = after;
        Some((run, after))
    })
}

fn in_text(text: &str) -> Option<(String, String)> {
    runs(text).find_map(|(run, after)| closed(run).or_else(|| opened(run, after)))
}

/// A word between underscores, two at least at one end.
fn closed(run: &str) -> Option<(String, String)> {
    let underscores = underscores(run);
    for (number, (from, word_from)) in underscores.iter().enumerate() {
        for (word_to, to) in underscores[number + 1..].iter().rev() {
            let (before, behind) = (word_from - from, to - word_to);
            if !(before == 2 && behind >= 1 || before == 1 && *from == 0 && behind == 2) {
                continue;
            }
            let (typed, word) = (&run[*from..*to], &run[*word_from..*word_to]);
            let meant = nearest(word, NAMES.into_iter()).or_else(|| meaning(word));
            if let Some(meant) = meant.map(|name| format!("__{name}__")) {
                return (meant != typed).then(|| (typed.to_owned(), meant));
            }
        }
    }
    None
}

/// A word between two underscores and a colon, closed by two underscores further on.
fn opened(run: &str, after: &str) -> Option<(String, String)> {
    let rest = after.strip_prefix(':')?;
    let (_, word) = run.rsplit_once("__")?;
    let to = rest.find("__")?;
    let meant = nearest(word, OPENINGS.iter().map(|(name, _)| *name))?;
    let (name, takes) = OPENINGS.iter().find(|(name, _)| *name == meant)?;
    (word != *name).then(|| (format!("__{word}:{}__", &rest[..to]), format!("__{name}:{takes}__")))
}

/// Finds runs of underscores: start and end.
fn underscores(run: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, _) in run.match_indices('_') {
        match found.last_mut() {
            Some((_, to)) if *to == at => *to += 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

/// The closest of the names, whatever the case, with at most one slip; with two in a word of more than five letters.
fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_ascii_lowercase();
    let allowed = match word.len() {
        ..=2 => return None,
        3..=5 => 1,
        _ => 2,
    };
    let slips = names.map(|name| (damerau_levenshtein(&word, name), name));
    slips.filter(|(slips, _)| *slips <= allowed).min_by_key(|(slips, _)| *slips).map(|(_, n)| n)
}

fn meaning(word: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(other, _)| other.eq_ignore_ascii_case(word)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str) -> String {
        in_text(text).map_or_else(String::new, |(typed, meant)| format!("{typed} {meant}"))
    }

    #[test]
    fn slips_lead_to_the_placeholder() {
        for (typed, led) in [
            ("k:__rand_int_", "__rand_int_ __rand_int__"),
            ("k:_rand_int__", "_rand_int__ __rand_int__"),
            ("__keys__", "__keys__ __key__"),
            ("k:__KEY__:x", "__KEY__ __key__"),
            ("a:__randint__", "__randint__ __rand_int__"),
            ("user__rnad_int__", "__rnad_int__ __rand_int__"),
            ("__random__", "__random__ __rand_int__"),
            ("__date__", "__date__ __data__"),
            ("__key___", "__key___ __key__"),
            ("c:__fields:id__", "__fields:id__ __field:NAME__"),
            ("x:__drew:0..9__", "__drew:0..9__ __draw:FROM..TO__"),
        ] {
            assert_eq!(meant(typed), led, "{typed}");
        }
    }

    #[test]
    fn other_words_are_none() {
        for text in [
            "",
            "_",
            "____",
            "key",
            "my_key_1",
            "user_data",
            "__nosuch__",
            "__init__",
            "__id__",
            "a__b__c",
            "__key__",
            "__rand_int__",
            "__ttl__",
            "__cas__",
            "__all__",
            "__tag__",
            "{tag}",
            "__keyevent@0__:del",
            "__sentinel__:hello",
            "__redis__:invalidate",
            "__keyspace@0__:x",
            "__fields:id",
            "é__ü__",
        ] {
            assert_eq!(meant(text), "", "{text}");
        }
    }
}
