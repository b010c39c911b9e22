//! The commands of a plan as words, including their placeholders.

use workload::{
    Arg, DerivedText, KeyDist, Lifetime, Piece, PlanParts, Slot, argument::placeholder,
    escape::escaped, secret::HIDDEN,
};

/// The commands of a sequence, each after `;` but the first, or the operations of a mix as they are typed,
/// with their weights if they are several.
pub(super) fn commands(plan: &PlanParts, weighted: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut commands = plan.sequence.iter();
    let mut send = |sign: &str, count: usize, inserts: bool, words: &mut Vec<String>| {
        for (number, spec) in commands.by_ref().take(count).enumerate() {
            let sign = if number > 0 { ";" } else { sign };
            words.extend(Some(sign.to_owned()).filter(|sign| !sign.is_empty()));
            let word = |(at, arg)| argument(arg, plan, inserts, |word| separates(at, word));
            words.extend(spec.args.iter().enumerate().map(word));
        }
    };
    let Some(mix) = &plan.mix else {
        send("", plan.sequence.len(), false, &mut words);
        return words;
    };
    for (number, operation) in mix.operations.iter().enumerate() {
        if number > 0 {
            words.push(";".to_owned());
        }
        if weighted {
            words.push(operation.weight.to_string());
        }
        let inserts = operation.keys.as_ref().is_some_and(|keys| keys.draw == KeyDist::INSERT);
        for (at, step) in operation.steps.iter().enumerate() {
            let sign = if at > 0 { step.when.sign() } else { String::new() };
            send(&sign, step.commands as usize, inserts, &mut words);
        }
    }
    words
}

/// The words of command number `at` of the sequence. `inserts` says that its key is one that its operation
/// inserts.
#[must_use]
pub fn words_of(plan: &PlanParts, at: usize, inserts: bool) -> Vec<String> {
    plan.sequence[at].args.iter().map(|arg| argument(arg, plan, inserts, |_| false)).collect()
}

/// Returns whether a word at this position in a command would be read as what stands between commands.
fn separates(at: usize, word: &str) -> bool {
    word.starts_with(';') || at == 0 && word.starts_with(|c: char| c.is_ascii_digit())
}

/// `inserts` says that its key is one that its operation inserts. Its texts are escaped where the word `is_other`, or
/// would be read as another argument.
fn argument(arg: &Arg, plan: &PlanParts, inserts: bool, is_other: impl Fn(&str) -> bool) -> String {
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let word = word(arg, plan, false, plain);
    if is_other(&word) || !is_read_as(&word, arg, plan) {
        self::word(arg, plan, inserts, escaped)
    } else {
        self::word(arg, plan, inserts, plain)
    }
}

/// Returns whether a word is read as this argument.
fn is_read_as(word: &str, arg: &Arg, plan: &PlanParts) -> bool {
    let read = Arg::literal(word.as_bytes()).with_replies().with_derived();
    let Ok(Ok(read)) = read.map(|read| read.with_fields(columns(plan))) else { return false };
    let read = if plan.target.cluster.is_some() { read.with_tags() } else { read };
    let lifetime = Lifetime { least_s: 1, most_s: 2 };
    let read = read.with_cas().with_lifetimes(lifetime).with_values().with_numbers().with_bytes();
    // No word has a zero, which stands for a placeholder here.
    let texts = |arg: &Arg| {
        let text = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.clone(),
            Piece::Secret(_) => HIDDEN.into(),
            _ => vec![0],
        };
        arg.pieces.iter().flat_map(text).collect::<Vec<u8>>()
    };
    let text = texts(&read);
    let inserts = text.windows(8).any(|part| part == b"__insert");
    !word.contains('\0') && !inserts && text == texts(arg)
}

fn columns(plan: &PlanParts) -> &[String] {
    plan.data.dataset.as_ref().map_or(&[], |dataset| dataset.columns())
}

/// The word of an argument, its texts as `literal` writes them.
fn word(arg: &Arg, plan: &PlanParts, inserts: bool, literal: impl Fn(&[u8]) -> String) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => literal(bytes),
        Piece::Secret(_) => HIDDEN.to_owned(),
        Piece::Number(Slot::Key) if inserts => "__insert__".to_owned(),
        Piece::Number(slot) => placeholder(*slot).to_owned(),
        Piece::Fill { .. } | Piece::Value => "__data__".to_owned(),
        Piece::Lifetime(_) => "__ttl__".to_owned(),
        Piece::Derived(DerivedText::Key(text)) if inserts => format!("__insert:{text}__"),
        Piece::Derived(derived) => format!("__{derived}__"),
        Piece::Reply { or } if or.is_empty() => "__reply__".to_owned(),
        Piece::Reply { or } => format!("__reply_or:{}__", String::from_utf8_lossy(or)),
        Piece::Cas => "__cas__".to_owned(),
        Piece::Message | Piece::MessageNumber => "__message__".to_owned(),
        Piece::Tag => "{tag}".to_owned(),
        Piece::Field(at) => format!("__field:{}__", columns(plan).get(*at).map_or("", |name| name)),
    };
    arg.pieces.iter().map(piece).collect()
}
