//! The commands of a plan as words, including their placeholders.

use workload::{
    Arg, DerivedText, KeyDist, Piece, PlanParts, Slot, argument::placeholder, secret::HIDDEN,
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
            words.extend(spec.args.iter().map(|arg| argument(arg, plan, inserts)));
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
    plan.sequence[at].args.iter().map(|arg| argument(arg, plan, inserts)).collect()
}

/// `inserts` says that its key is one that its operation inserts.
fn argument(arg: &Arg, plan: &PlanParts, inserts: bool) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
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
        Piece::Field(column) => {
            let columns = plan.data.dataset.as_ref().map_or(&[][..], |dataset| dataset.columns());
            let name = columns.get(*column).map_or(String::new(), ToString::to_string);
            format!("__field:{name}__")
        }
    };
    arg.pieces.iter().map(piece).collect()
}
