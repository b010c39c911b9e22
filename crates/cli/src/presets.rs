//! Workloads that come with keystorm.
//!
//! A new one is one file in `presets/` and one row in [`PRESETS`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use workload::{CacheCommand, CommandSpec, streams};

use super::suggestions::one_of;
use super::workload_file::{Load, Source, Workload, read, read_text, text};

/// Workloads that were read, by their names. All loads of an experiment are of one workload, which may be a pipe that
/// can be read only once.
static READ: Mutex<BTreeMap<String, Arc<Workload>>> = Mutex::new(BTreeMap::new());

/// Pairs a preset's name with its file.
macro_rules! preset {
    ($name:literal) => {
        ($name, include_str!(concat!("../presets/", $name, ".toml")))
    };
}

/// Every one, in the order of the list.
const PRESETS: &[(&str, &str)] = &[
    preset!("session-store"),
    preset!("look-aside"),
    preset!("leaderboard"),
    preset!("rate-limiter"),
    preset!("queue"),
    preset!("ycsb-a"),
    preset!("ycsb-b"),
    preset!("ycsb-c"),
    preset!("ycsb-d"),
    preset!("ycsb-e"),
    preset!("ycsb-f"),
    preset!("facebook-etc"),
    preset!("facebook-usr"),
    preset!("facebook-wildcard"),
    preset!("facebook-app"),
    preset!("facebook-replicated"),
    preset!("facebook-regional"),
    preset!("twitter-12"),
    preset!("twitter-14"),
    preset!("twitter-15"),
    preset!("twitter-18"),
    preset!("twitter-23"),
    preset!("twitter-24"),
    preset!("twitter-29"),
    preset!("twitter-37"),
    preset!("twitter-52"),
    preset!("meta-kvcache"),
    preset!("meta-socialgraph"),
    preset!("meta-cdn"),
];

/// The file of a preset.
///
/// # Errors
/// Returns an error if there is no preset with that name.
pub fn source(name: &str) -> Result<Source, String> {
    if let Some((name, text)) = PRESETS.iter().find(|(known, _)| *known == name) {
        return Ok(Source { name: (*name).to_owned(), text: (*text).to_owned(), is_preset: true });
    }
    let known: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    let description = one_of("preset", name, &known);
    Err(format!("{description} (a file name contains a slash or ends in .toml)"))
}

/// Checks that a preset, which is written in Redis's words, can be translated for memcached.
///
/// # Errors
/// Returns an error that lists the presets for both, if this one cannot be translated.
pub(super) fn check_memcached(workload: &Workload) -> Result<(), String> {
    let Some(command) = of_redis_alone(workload) else { return Ok(()) };
    let rows = PRESETS.iter().filter_map(|(name, _)| {
        let workload = read(source(name).ok()?).ok()?;
        of_redis_alone(&workload).is_none().then_some(*name)
    });
    let names: Vec<&str> = rows.collect();
    Err(format!(
        "--workload {}: this preset uses {command}, for which memcached has no equivalent; presets \
         for both are {}",
        workload.source.name,
        names.join(", ")
    ))
}

/// The name of the first command of a workload that memcached has no words for.
fn of_redis_alone(workload: &Workload) -> Option<String> {
    let mut commands = workload.loads().flat_map(|load| match load {
        Load::Sequence(commands) => commands,
        Load::Operations(operations) => {
            let steps = operations.iter().flat_map(|operation| operation.get_ref().all());
            steps.flat_map(|step| step.all()).collect()
        }
    });
    commands.find_map(|command| {
        // Lifetimes of a preset are placeholders, and within its limit.
        let words = command.get_ref().0.iter().map(|word| word.replace("__ttl__", "60"));
        let spec = CommandSpec::from_words(words);
        CacheCommand::of_cache(&spec).is_err().then(|| spec.name().to_lowercase())
    })
}

/// Returns a line for each preset: its name and the description in its file.
///
/// # Errors
/// Returns an error if a file among them cannot be read.
pub fn list() -> Result<String, String> {
    let widest = PRESETS.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = PRESETS.iter().map(|(name, _)| {
        let workload = read(source(name)?)?;
        Ok(format!("{name:widest$}  {}\n", workload.description.unwrap_or_default()))
    });
    lines.collect()
}

/// Reads a workload, or returns it if it was read before.
///
/// # Errors
/// Returns an error if there is no such file or preset, or it is no workload.
pub(super) fn named(name: &str) -> Result<Arc<Workload>, String> {
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(workload) = known.get(name) {
        return Ok(Arc::clone(workload));
    }
    let workload = Arc::new(read(open(name)?)?);
    known.insert(name.to_owned(), Arc::clone(&workload));
    Ok(workload)
}

/// Reads a file, or finds the preset of a name. A name with a slash, one that ends in `.toml`, and one of an
/// existing file is a file; `-` is standard input.
fn open(name: &str) -> Result<Source, String> {
    if name == "-" {
        let text = text(streams::input());
        let text = text.map_err(|why| format!("--workload -: standard input: {why}"))?;
        return Ok(Source { name: "stdin".to_owned(), text, is_preset: false });
    }
    let path = Path::new(name);
    let is_path = name.contains('/') || path.extension().is_some_and(|e| e == "toml");
    if !is_path && !path.is_file() {
        return source(name).map_err(|why| format!("--workload: {why}"));
    }
    read_text(name).map_err(|why| format!("--workload {name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is() {
        let list = list().unwrap();
        assert_eq!(list.lines().count(), PRESETS.len());
        for line in list.lines() {
            let (_, description) = line.split_once("  ").unwrap();
            assert!(description.trim().len() > 10 && line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn what_there_is_not_is_distinguished_from_what_was_meant() {
        assert!(source("ycbs-a").unwrap_err().contains("\"ycbs-a\"; did you mean ycsb-a?"));
        assert!(source("x").unwrap_err().contains("available: session-store, look-aside"));
    }

    #[test]
    fn files_are_distinguished_from_presets() {
        assert!(open("ycsb-a").unwrap().text.contains("operation"));
        assert!(open("./ycsb-a").unwrap_err().contains("No such file"));
        assert!(open("ycsb-a.toml").unwrap_err().contains("No such file"));
        assert!(open("ycsb-q").unwrap_err().contains("ycsb-a"));
    }
}
