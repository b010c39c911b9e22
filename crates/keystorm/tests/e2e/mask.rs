//! Figures taken out of a report, so that its layout can be compared to the byte.

/// The text with every number as `#`. A row of nothing but figures keeps where each one ends,
/// since there the columns are the layout; lines that then equal the one before are left out,
/// since how many steps a distribution has is chance.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut before = String::new();
    for line in text.split_inclusive('\n') {
        let line = match line {
            line if is_row(line) => in_columns(line),
            line if is_labelled_row(line) => narrow(&in_words(line)),
            line => in_words(&judgement(line)),
        };
        if line != before || !line.contains('#') {
            out += &line;
        }
        before = line;
    }
    out
}

/// What a line that judges the run is about; the judgement depends on the machine.
fn judgement(line: &str) -> String {
    match line.split_once(": ") {
        Some(("  schedule", _)) => "  schedule: ...\n".to_owned(),
        Some(("  CPU", _)) => "  CPU: ...\n".to_owned(),
        Some(("  limited by" | "  not saturated", _)) => "  limited by: ...\n".to_owned(),
        // Whether there is one at all depends on the machine too.
        Some(("  warning", _)) => String::new(),
        _ if line.ends_with(", not saturated\n") => {
            line.replace(", not saturated\n", ", limited by ...\n")
        }
        _ => match line.split_once(", limited by ") {
            // Of a line of `-q`.
            Some((before, word)) if word.trim_end().chars().all(char::is_alphabetic) => {
                format!("{before}, limited by ...\n")
            }
            _ => line.to_owned(),
        },
    }
}

/// A row of figures behind what they are of, the heads of such rows, or a step of a distribution.
fn is_labelled_row(line: &str) -> bool {
    line.starts_with(' ')
        && [" (ms) ", " (requests/s) ", " % <= ", " p99.9 "].iter().any(|mark| line.contains(mark))
}

/// Spaces between figures depend on how long these are.
fn narrow(line: &str) -> String {
    format!("  {}\n", line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_row(line: &str) -> bool {
    line.contains(is_figure) && line.chars().all(|c| is_figure(c) || c.is_whitespace())
}

fn is_figure(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// The last character of each figure as `#`, the others as spaces.
fn in_columns(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let last = |at: usize| !chars.get(at + 1).copied().is_some_and(is_figure);
    let mask = |(at, c): (usize, &char)| match (is_figure(*c), last(at)) {
        (true, true) => '#',
        (true, false) => ' ',
        (false, _) => *c,
    };
    chars.iter().enumerate().map(mask).collect()
}

/// Whether a comma with three digits behind it comes.
fn are_thousands(mut rest: impl Iterator<Item = char>) -> bool {
    rest.next() == Some(',') && rest.take(3).filter(char::is_ascii_digit).count() == 3
}

/// Each number, with its decimals, as one `#`. Digits that are part of a word stay.
fn in_words(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let in_word = out.ends_with(|c: char| c.is_alphabetic() || c == '_');
        if !c.is_ascii_digit() {
            out.push(c);
            continue;
        }
        if in_word {
            out.push(c);
            while chars.peek().is_some_and(|c| c.is_ascii_digit()) {
                out.extend(chars.next());
            }
            continue;
        }
        while chars.peek().copied().is_some_and(is_figure) || are_thousands(chars.clone()) {
            chars.next();
        }
        out.push('#');
    }
    out
}

#[test]
fn figures_go_and_the_layout_stays() {
    let text = "====== LRANGE_100 (first 100 elements) ======\n  7 requests in 0.05 seconds\n\
                0.000% <= 0.1 ms\n50.000% <= 0.2 ms\n        0.807     0.104\n";
    let expected = "====== LRANGE_100 (first # elements) ======\n  # requests in # seconds\n\
                    #% <= # ms\n            #         #\n";
    assert_eq!(masked(text), expected);
    assert_eq!(masked("SET: p50=0.351 msec"), "SET: p50=# msec");
}
