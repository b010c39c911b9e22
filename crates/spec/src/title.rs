//! Titles of tests without a name: their words without passwords, or the shares of their mix.

use workload::{Credentials, Mix, Operation, Pick, PlanParts, secret};

/// Operations of a mix that its title names; the others are counted.
const OPERATIONS_MAX: usize = 6;

/// A command line without passwords.
pub(crate) fn of_words(words: &[Vec<u8>], login: Option<&Credentials>) -> String {
    let mut shown = secret::shown_sequence(words);
    let known = known_password(login).map(str::as_bytes);
    for word in shown.iter_mut().skip(1).filter(|word| Some(&word[..]) == known) {
        *word = secret::HIDDEN.into();
    }
    shown.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
}

/// The shares of a mix in words, such as `95 % get, 5 % set`. `None` without a mix, and for the rows of a file.
pub(crate) fn of_mix(parts: &PlanParts, login: Option<&Credentials>) -> Option<String> {
    let mix = parts.mix.as_ref().filter(|mix| mix.operations.len() > 1)?;
    let mut named: Vec<String> = amounts(mix)?
        .into_iter()
        .map(|(amount, operation)| format!("{amount}{}", without_password(operation, login)))
        .collect();
    if named.len() > OPERATIONS_MAX {
        let others = named.split_off(OPERATIONS_MAX).len();
        named.push(format!("{others} more"));
    }
    let in_turns = if mix.pick == Pick::Drawn { "" } else { " in turns" };
    Some(named.join(", ") + in_turns)
}

/// Returns the prefix of each operation: its share, or its number of repetitions.
fn amounts(mix: &Mix) -> Option<Vec<(String, &Operation)>> {
    let times = |times: u32| if times == 1 { String::new() } else { format!("{times} ") };
    let sum: f64 = mix.operations.iter().map(|o| f64::from(o.weight)).sum();
    let amounts = match &mix.pick {
        Pick::Drawn => mix
            .operations
            .iter()
            .map(|o| (format!("{} % ", percent(f64::from(o.weight) / sum)), o))
            .collect(),
        Pick::InOrder => mix.operations.iter().map(|o| (times(o.weight), o)).collect(),
        Pick::Spans(spans) => {
            let known = spans.iter().filter_map(|span| {
                Some((span.times, mix.operations.get(span.operation as usize)?))
            });
            known.map(|(n, o)| (times(n), o)).collect()
        }
        Pick::Row => return None,
    };
    Some(amounts)
}

/// A share as a percentage: whole where it is, of two digits below one.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent {
        p if (p - p.round()).abs() < 0.05 && p >= 1.0 => 0,
        p if p >= 1.0 => 1,
        _ => 2,
    };
    format!("{percent:.digits$}")
}

fn without_password(operation: &Operation, login: Option<&Credentials>) -> String {
    let known = known_password(login);
    let shown = |word| if Some(word) == known { secret::HIDDEN } else { word };
    operation.name.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

/// Returns the password of a login, unless it is empty.
pub(crate) fn known_password(login: Option<&Credentials>) -> Option<&str> {
    login.map(|login| login.password.reveal()).filter(|known| !known.is_empty())
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_have_the_digits_that_tell_them_apart() {
        let shown = [0.95, 0.05, 1.0 / 3.0, 0.005, 0.999].map(percent);
        assert_eq!(shown, ["95", "5", "33.3", "0.50", "99.9"]);
    }
}
