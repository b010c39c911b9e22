//! A workload file that makes traffic like a record: its commands by weight, on keys of the same patterns, with values
//! of the same sizes, at the same rate.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace::Event;
use trace::describe::{Description, Pattern, Shape, Sizes, Word};

/// Values of an operation whose mean is further from that of all get sizes of their own.
const SIZE_TOLERANCE: f64 = 0.02;
/// Sizes of a distribution that the file lists.
const SIZES_LISTED: usize = 24;
/// Operations that one with sizes of its own is divided into.
const SIZE_STEPS: usize = 8;
/// Steps of the rate that the file lists.
const RATE_STEPS: usize = 24;
/// Below it all keys are as good as equally likely; limits of `zipf:S`.
const EXPONENT_MIN: f64 = 0.02;
const EXPONENT_MAX: f64 = 5.0;
/// A key space has at most so many times the keys that came: how many never did is known roughly.
const UNSEEN_MAX: u64 = 4;
/// The longest key number, in digits.
const WIDTH_MAX: u64 = 200;

/// The file.
pub(super) fn text(of: &Description) -> String {
    let mut out =
        String::from("# Traffic like a record, written by `keystorm describe --workload`.\n");
    out += "# Keys are numbered anew, values are made up; commands, sizes, frequencies and rate are the record's.\n";
    let shapes: Vec<&Shape> = of.shapes.iter().filter(|shape| can_be_sent(shape)).collect();
    let left_out: u64 =
        of.events - shapes.iter().map(|shape| shape.count).sum::<u64>().min(of.events);
    if left_out > 0 {
        let share = left_out as f64 / of.events as f64 * 100.0;
        let _ = writeln!(
            out,
            "# Left out are {share:.2} % of the commands, which concern their connection or server, wait for others,"
        );
        out += "# frame a transaction, or were not recorded in full.\n";
    }
    let mut sizes = Sizes::default();
    for shape in &shapes {
        shape.values.steps(usize::MAX).into_iter().for_each(|(size, times)| sizes.add(size, times));
    }
    let _ = writeln!(
        out,
        "description = {}",
        quoted(&format!("like a record of {} commands", of.events))
    );
    if of.memcache {
        out += "# Send it with --protocol memcache.\n";
    }
    if sizes.count() > 0 {
        let _ = writeln!(out, "size = {}", quoted(&distribution(&sizes)));
        if sizes.steps(SIZES_LISTED).len() > 1 {
            // A hot key's size would weigh as much as the key.
            out += "size-by = \"request\"\n";
        }
        out += "content = \"random\"\n";
    }
    if let Some(clients) = of.clients.filter(|clients| *clients > 0) {
        let _ = writeln!(out, "connections = {}", clients.min(10_000));
    }
    let names = spaces(of, &mut out);
    let mut operations =
        Operations { of, spaces: &names, mean: sizes.mean(), names: BTreeMap::new() };
    for shape in &shapes {
        operations.add(shape, &mut out);
    }
    out += "\n[[phase]]\nname = \"run\"\n";
    if let Some(rate) = rate(of) {
        out += &rate;
    }
    out
}

/// Whether a load of single commands can send the commands of a shape.
fn can_be_sent(shape: &Shape) -> bool {
    let mut event = Event::default();
    for word in &shape.words {
        match word {
            Word::Text(text) | Word::Key(text) => event.push(text),
            Word::Value => event.push_size(0, 0),
            Word::Size(size) => event.push_size(*size, 0),
        }
    }
    replay::stands_alone(&event)
}

/// Sizes as `-d` takes them.
fn distribution(sizes: &Sizes) -> String {
    let steps = sizes.steps(SIZES_LISTED);
    match &steps[..] {
        [(only, _)] => only.to_string(),
        steps => {
            let parts: Vec<String> =
                steps.iter().map(|(size, times)| format!("{size}={times}")).collect();
            format!("sizes:{}", parts.join(","))
        }
    }
}

/// A key space for each pattern that has numbers: their names.
fn spaces(of: &Description, out: &mut String) -> BTreeMap<Vec<u8>, String> {
    let mut names = BTreeMap::new();
    for (at, pattern) in of.patterns.iter().filter(|pattern| is_numbered(&pattern.name)).enumerate()
    {
        let name = format!("space-{}", at + 1);
        let _ = writeln!(out, "\n# {}\n[keys.{name}]", one_line(&pattern.name));
        let keys = pattern.zipf.map_or(pattern.distinct_keys, |zipf| {
            zipf.keys.clamp(pattern.distinct_keys, pattern.distinct_keys * UNSEEN_MAX)
        });
        let _ = writeln!(out, "range = {}", keys.max(1));
        let exponent = pattern.zipf.map_or(0.0, |zipf| zipf.exponent);
        match exponent < EXPONENT_MIN {
            true => out.push_str("dist = \"uniform\"\n"),
            false => {
                let _ = writeln!(out, "dist = \"zipf:{:.3}\"", exponent.min(EXPONENT_MAX));
            }
        }
        names.insert(pattern.name.as_bytes().to_vec(), name);
    }
    names
}

/// Whether keys of a pattern differ.
fn is_numbered(pattern: &str) -> bool {
    pattern.contains(['N', 'H', 'U'])
}

/// The operations that are written, each with a name of its own.
struct Operations<'d> {
    of: &'d Description,
    /// The key space of each pattern that has one.
    spaces: &'d BTreeMap<Vec<u8>, String>,
    /// The mean size of all values.
    mean: f64,
    /// How many have each name.
    names: BTreeMap<String, u32>,
}

impl Operations<'_> {
    /// Those of a shape: one, or one for each step of its sizes.
    fn add(&mut self, shape: &Shape, out: &mut String) {
        let Self { of, mean, .. } = *self;
        let own =
            shape.values.count() > 0 && (shape.values.mean() - mean).abs() > mean * SIZE_TOLERANCE;
        let steps = match own {
            true => shape.values.steps(SIZE_STEPS),
            false => vec![(0, shape.values.count().max(1))],
        };
        let total: u64 = steps.iter().map(|(_, times)| times).sum();
        for (size, times) in &steps {
            let value = if own { format!("__random:{size}__") } else { "__data__".to_owned() };
            let weight =
                (shape.count as f64 * *times as f64 / total.max(1) as f64).round().max(1.0);
            let words = shape.words.iter().enumerate();
            let words: Vec<String> =
                words.map(|(at, word)| argument(at, word, of, &value)).collect();
            let verb = words.first().map(String::as_str).unwrap_or_default();
            let mut title =
                format!("{verb} {}", one_line(&String::from_utf8_lossy(&shape.pattern)));
            if own {
                let _ = write!(title, " of {size} bytes");
            }
            let title = self.unique(title.trim());
            let _ = writeln!(out, "\n[[operation]]\nname = {}\nweight = {weight}", quoted(&title));
            if let Some(space) = self.spaces.get(&shape.pattern) {
                let _ = writeln!(out, "keys = \"{space}\"");
            }
            let _ = writeln!(out, "command = {}", quoted(&words.join(" ")));
        }
    }

    /// A name that no other operation has.
    fn unique(&mut self, title: &str) -> String {
        let times = self.names.entry(title.to_owned()).or_default();
        *times += 1;
        match *times {
            1 => title.to_owned(),
            times => format!("{title} ({times})"),
        }
    }
}

/// An argument, as a word of a command.
fn argument(at: usize, word: &Word, of: &Description, value: &str) -> String {
    match word {
        Word::Text(text) if at == 0 => String::from_utf8_lossy(text).to_lowercase(),
        Word::Text(text) => literal(text),
        Word::Value => value.to_owned(),
        Word::Size(size) => format!("__random:{size}__"),
        Word::Key(pattern) => {
            let known = |of: &&Pattern| of.name.as_bytes() == pattern;
            let key_bytes = of.patterns.iter().find(known).map_or(0, |of| of.key_bytes.p50);
            key(&String::from_utf8_lossy(pattern), key_bytes)
        }
    }
}

/// A key of a pattern: its first number is drawn, others are fixed.
fn key(pattern: &str, key_bytes: u64) -> String {
    let letters =
        pattern.chars().filter(|letter| !matches!(letter, 'N' | 'H' | 'U')).count() as u64;
    let others = pattern.chars().filter(|letter| matches!(letter, 'N' | 'H' | 'U')).count() as u64;
    let width = key_bytes.saturating_sub(letters + others.saturating_sub(1)).clamp(1, WIDTH_MAX);
    let mut text = String::new();
    let mut is_drawn = false;
    for letter in pattern.chars() {
        match letter {
            'N' | 'H' | 'U' if !std::mem::replace(&mut is_drawn, true) => {
                let _ = write!(text, "__key:{width}__");
            }
            'N' | 'H' | 'U' => text.push('1'),
            other => text.push(other),
        }
    }
    match text.chars().all(|letter| letter.is_ascii_alphanumeric() || ":_-.{}/".contains(letter))
        && !text.is_empty()
    {
        true => text,
        false => literal(text.as_bytes()),
    }
}

/// A word as redis-cli takes it.
fn literal(text: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b":_-./{}*[](+$>=@,".contains(byte);
    if !text.is_empty() && text.iter().all(is_plain) {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=b'~' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "\\x{other:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Text without what would end a comment or disturb a terminal.
fn one_line(text: &str) -> String {
    report::escape(text)
}

/// The rate over time, in at most so many steps.
fn rate(of: &Description) -> Option<String> {
    let mean = of.mean_per_s?;
    let length_s = of.seconds.max(1.0);
    let points = &of.rate[..of.rate.len().saturating_sub(1)];
    let per_step = points.len().div_ceil(RATE_STEPS).max(1);
    let steps: Vec<f64> = points
        .chunks(per_step)
        .map(|chunk| chunk.iter().map(|(_, rate)| rate).sum::<f64>() / chunk.len() as f64)
        .collect();
    let is_even = steps.iter().all(|step| (step / mean - 1.0).abs() < 0.2);
    if is_even || steps.len() < 2 {
        return Some(format!(
            "rate = {}\nduration = \"{:.0}s\"\n",
            mean.round().max(1.0),
            length_s.ceil()
        ));
    }
    let width_s = points.get(per_step).map_or(1.0, |(at_s, _)| *at_s);
    let rates: Vec<String> = steps.iter().map(|step| step.round().max(1.0).to_string()).collect();
    Some(format!(
        "rate = \"{}/{width_s:.0}s\"\nduration = \"{:.0}s\"\n",
        rates.join(","),
        length_s.ceil()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_length_and_pattern_of_the_records() {
        assert_eq!(key("user:N:cart", 14), "user:__key:4__:cart");
        assert_eq!(key("key:N", 16), "key:__key:12__");
        assert_eq!(key("a:N:N", 9), "a:__key:5__:1");
        assert_eq!(key("counter", 7), "counter");
        assert_eq!(key("a b", 3), "\"a b\"");
    }

    #[test]
    fn words_come_back_as_they_were() {
        for text in [&b"a\"b\\c\n"[..], b"return 1", b"", b"plain", b"\xff"] {
            assert_eq!(trace::words(literal(text).as_bytes()).unwrap(), [text]);
        }
    }
}
