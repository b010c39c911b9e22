//! A workload file for traffic like a record's: its commands by weight, on keys of the same patterns, with
//! values of the same sizes, at the same rate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Result, bail};
use report::grouped;
use spec::write::toml_text as quoted;
use traffic::commands::DataType;
use traffic::describe::{Description, Pattern, Shape, Sizes, Word};

use super::spelling::{argument, literal, random};
use super::words::{group, pattern, words};

/// Values of an operation get a size distribution of their own if their mean differs by more than this from
/// the mean of all.
const SIZE_TOLERANCE: f64 = 0.02;
/// Maximum number of sizes of a distribution in the file.
const SIZES_LISTED: usize = 24;
/// Number of operations that an operation with sizes of its own is divided into.
const SIZE_STEPS: usize = 8;
/// Maximum number of steps of the rate in the file.
const RATE_STEPS: usize = 24;
/// Exponent below which keys are practically equally likely; lower limit of `zipf:S`.
const EXPONENT_MIN: f64 = 0.02;
const EXPONENT_MAX: f64 = 5.0;
/// Greatest ratio of the size of a skewed key space to the number of observed keys: the number of unseen keys
/// is known only roughly.
const UNSEEN_MAX: u64 = 4;
/// The longest value that is a number, in digits.
const NUMBER_DIGITS_MAX: u64 = 15;

/// A workload file, and the parts of the record that it leaves out.
pub(super) struct WorkloadFile {
    pub(super) text: String,
    /// A sentence without a full stop, if anything is left out.
    pub(super) left_out: Option<String>,
}

/// Makes the file.
///
/// # Errors
/// Returns an error if no command can be sent by itself.
pub(super) fn file(of: &Description) -> Result<WorkloadFile> {
    let mut out =
        String::from("# Traffic like a record, written by `keystorm describe --workload`.\n");
    out += "# Keys are numbered anew, values are made up; commands, sizes, frequencies and rate are the record's.\n";
    let sent = of.shapes.iter().filter_map(|shape| Some((shape, words(shape, of)?)));
    let shapes: Vec<(&Shape, Vec<Word>)> = sent.collect();
    if shapes.is_empty() {
        bail!("--workload: no command of this record can be sent by itself: use keystorm replay");
    }
    let left_out = left_out(of, &shapes);
    if let Some(left_out) = &left_out {
        let _ = writeln!(out, "# Left out are {left_out}.");
        out += "# They concern their connection or server, wait for others, need what is not there, frame a transaction,\n";
        out += "# or were not recorded in full.\n";
    }
    let mut sizes = Sizes::default();
    for (shape, _) in &shapes {
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
    // As in a replay: the record does not say which of its commands failed.
    out += "on-error = \"count\"\n";
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
    let spaces = spaces(of, &mut out);
    let mean = sizes.mean();
    let (names, groups) = (BTreeMap::new(), BTreeSet::new());
    let mut operations = Operations { of, spaces: &spaces, mean, names, groups };
    for (shape, words) in &shapes {
        operations.add(shape, words, &mut out);
    }
    for group in &operations.groups {
        out += group;
    }
    out += "\n[[phase]]\nname = \"run\"\n";
    if let Some(rate) = rate(of) {
        out += &rate;
    }
    Ok(WorkloadFile { text: out, left_out })
}

/// Describes which commands are not sent, and their numbers.
fn left_out(of: &Description, sent: &[(&Shape, Vec<Word>)]) -> Option<String> {
    let mut left: BTreeMap<String, u64> =
        of.commands.iter().map(|command| (command.name.clone(), command.count)).collect();
    for (shape, _) in sent {
        if let Some(Word::Text(name)) = shape.words.first()
            && let Some(count) = left.get_mut(&String::from_utf8_lossy(name).to_lowercase())
        {
            *count = count.saturating_sub(shape.count);
        }
    }
    // Phases of the file create the groups that are used.
    if sent.iter().any(|(_, words)| group(words).is_some()) {
        left.remove("xgroup");
    }
    let total: u64 = left.values().sum();
    let names = left.iter().filter(|(_, count)| **count > 0);
    let names: Vec<String> = names
        .map(|(name, count)| format!("{} {}", one_line(name), grouped(*count as f64)))
        .collect();
    (total > 0).then(|| {
        format!(
            "{:.2} % of the commands: {}",
            total as f64 / of.events as f64 * 100.0,
            names.join(", ")
        )
    })
}

/// Sizes in the syntax of `-d`.
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

/// Key space of a pattern, or of the keys of one type if keys of a pattern have several types.
struct Space {
    /// The name of its table in the file, if the keys have numbers.
    name: Option<String>,
    range: u64,
    first: u64,
    /// Suffix of keys without numbers, which would have several types otherwise.
    suffix: String,
    /// Share of the key space in the pattern's uses.
    share: f64,
}

type Spaces = BTreeMap<Vec<u8>, Vec<(Option<DataType>, Space)>>;

/// Key spaces for each pattern, one for each type; those with numbers are written.
fn spaces(of: &Description, out: &mut String) -> Spaces {
    let mut spaces = Spaces::new();
    let mut count = 0;
    for pattern in of.patterns.iter().chain(&of.channels) {
        let numbered = pattern.name.contains(['N', 'H', 'U']);
        let typed: u64 = pattern.types.iter().map(|(_, uses, _)| uses).sum();
        let all = range(pattern);
        let parts: Vec<_> = match &pattern.types[..] {
            [_, _, ..] => {
                let keys = |of: u64| (all * of).div_ceil(pattern.distinct_keys.max(1));
                let parts = pattern.types.iter().map(|(of, uses, distinct)| {
                    (Some(*of), *uses as f64 / typed as f64, keys(*distinct))
                });
                parts.collect()
            }
            _ => vec![(None, 1.0, all)],
        };
        let mut first = 0;
        for (at, (data_type, share, range)) in parts.into_iter().enumerate() {
            let suffix = if at > 0 && !numbered { format!(":{}", at + 1) } else { String::new() };
            let range = range.max(1);
            count += u64::from(numbered);
            let name = numbered.then(|| format!("space-{count}"));
            if let Some(name) = &name {
                let _ = writeln!(
                    out,
                    "\n# {}\n[keys.{name}]\nrange = {range}",
                    one_line(&pattern.name)
                );
                if first > 0 {
                    let _ = writeln!(out, "first = {first}");
                }
                write_law(pattern, out);
            }
            let space = Space { name, range, first, suffix, share };
            spaces.entry(pattern.name.as_bytes().to_vec()).or_default().push((data_type, space));
            first += range;
        }
    }
    spaces
}

/// Returns the number of keys of a pattern, including the estimated number of unseen ones.
fn range(pattern: &Pattern) -> u64 {
    let seen = pattern.distinct_keys;
    match pattern.zipf {
        Some(zipf) if zipf.exponent > 0.0 => zipf.keys.clamp(seen, seen * UNSEEN_MAX),
        _ => pattern.even_keys.max(seen),
    }
}

fn write_law(pattern: &Pattern, out: &mut String) {
    match pattern.zipf.filter(|zipf| zipf.exponent >= EXPONENT_MIN) {
        None => out.push_str("dist = \"uniform\"\n"),
        Some(zipf) => {
            if !zipf.fits {
                out.push_str("# Keys do not follow Zipf's law; this is the nearest fit.\n");
            }
            let _ = writeln!(out, "dist = \"zipf:{:.3}\"", zipf.exponent.min(EXPONENT_MAX));
        }
    }
}

/// The operations of the file, each with a unique name.
struct Operations<'d> {
    of: &'d Description,
    spaces: &'d Spaces,
    /// The mean size of all values.
    mean: f64,
    /// Number of operations with each name.
    names: BTreeMap<String, u32>,
    /// Phases that create consumer groups.
    groups: BTreeSet<String>,
}

impl Operations<'_> {
    /// Adds the operations of a shape: one for each possible type of its keys, and for each step of its
    /// sizes.
    fn add(&mut self, shape: &Shape, words: &[Word], out: &mut String) {
        let (of, all) = (self.of, self.spaces);
        let spaces = all.get(&shape.pattern).map_or(&[][..], Vec::as_slice);
        let own = |(of, _): &&(Option<DataType>, Space)| of.is_none() || *of == shape.data_type;
        let of_type: Vec<_> = match spaces.iter().any(|space| own(&space)) {
            true => spaces.iter().filter(own).map(|(_, space)| (Some(space), 1.0)).collect(),
            false if spaces.is_empty() => vec![(None, 1.0)],
            false => spaces.iter().map(|(_, space)| (Some(space), space.share)).collect(),
        };
        let is_number = shape.values.count() > 0
            && (shape.numbers == shape.values.count()
                || pattern(shape, of).is_some_and(|pattern| pattern.is_counted));
        let has_sizes = !is_number
            && shape.values.count() > 0
            && (shape.values.mean() - self.mean).abs() > self.mean * SIZE_TOLERANCE;
        let steps = if has_sizes {
            shape.values.steps(SIZE_STEPS)
        } else {
            vec![(0, shape.values.count().max(1))]
        };
        let total: u64 = steps.iter().map(|(_, times)| times).sum();
        for (size, times) in &steps {
            let value = match () {
                () if is_number => {
                    let digits = shape.values.percentile(50.0).clamp(1, NUMBER_DIGITS_MAX);
                    "1".repeat(digits as usize)
                }
                () if has_sizes => random(*size),
                () => "__data__".to_owned(),
            };
            let size = has_sizes.then_some(*size);
            for (space, share) in &of_type {
                let weight = shape.count as f64 * share * *times as f64 / total.max(1) as f64;
                self.add_one((shape, words), *space, (&value, size, weight.round().max(1.0)), out);
            }
        }
    }

    fn add_one(
        &mut self,
        (shape, words): (&Shape, &[Word]),
        space: Option<&Space>,
        (value, size, weight): (&str, Option<u64>, f64),
        out: &mut String,
    ) {
        let suffix = space.map_or("", |space| &space.suffix);
        let texts = words.iter().enumerate();
        let texts: Vec<String> =
            texts.map(|(at, word)| argument(at, word, self.of, value, suffix)).collect();
        let verb = texts.first().map(String::as_str).unwrap_or_default();
        let mut title = format!("{verb} {}", one_line(&String::from_utf8_lossy(&shape.pattern)));
        if let Some(size) = size {
            let _ = write!(title, " of {size} bytes");
        }
        let title = self.unique(title.trim());
        let _ = writeln!(out, "\n[[operation]]\nname = {}\nweight = {weight}", quoted(&title));
        if let Some(name) = space.and_then(|space| space.name.as_ref()) {
            let _ = writeln!(out, "keys = \"{name}\"");
        }
        let _ = writeln!(out, "command = {}", quoted(&texts.join(" ")));
        if let (Some(group), Some(at)) =
            (group(words), words.iter().position(|word| matches!(word, Word::Key(_))))
        {
            self.add_group(&texts[at], &literal(group), space);
        }
    }

    /// Adds a phase that creates a consumer group of each stream.
    fn add_group(&mut self, key: &str, group: &str, space: Option<&Space>) {
        let command = quoted(&format!("xgroup create {key} {group} $ mkstream"));
        let title = quoted(&format!("group {} of {}", one_line(group), one_line(key)));
        let mut phase = format!("\n[[phase]]\nname = {title}\nsequence = [{command}]\n");
        match space.filter(|space| space.name.is_some()) {
            Some(space) => {
                let _ = writeln!(
                    phase,
                    "every-key = true\nkey-range = {}\nfirst-key = {}",
                    space.range, space.first
                );
            }
            None => phase += "every-key = true\nkey-range = 1\n",
        }
        self.groups.insert(phase);
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

/// Text without characters that would end a comment or disturb a terminal.
fn one_line(text: &str) -> String {
    report::escape(text)
}

/// The rate over time, in at most `steps` steps.
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
