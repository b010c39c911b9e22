//! The tree keeps the rules of CONTRIBUTING.md that a program can check.
//!
//! Exceptions are listed with their rule. They may only become fewer: one that is no longer needed fails the test
//! until its row is deleted.
#![allow(clippy::unwrap_used)]

mod budget;
mod circles;
mod idiom;

use std::fs;
use std::path::{Path, PathBuf};

use tidy::{DIALECT, EMPTY_REFERENCES, Manifest};

/// The variable that has tables and limits written anew.
const WRITE: &str = "TIDY_WRITE";
/// Lines of a source file.
const FILE_LINES_MAX: usize = 450;
/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// Columns of a line.
const COLUMNS_MAX: usize = 120;
/// Tests that sleep for a fixed time, how many times, and why.
const SLEEPS: &[(&str, usize, &str)] = &[
    ("crates/engine/tests/conformance/peer.rs", 1, "the peer's delay is what a case is about"),
    ("crates/keystorm/tests/e2e/listener.rs", 1, "bytes must arrive one by one"),
    ("crates/keystorm/tests/e2e/failures.rs", 1, "invalidations are spread over the run"),
    (
        "crates/keystorm/tests/e2e/program.rs",
        1,
        "`elapse`: the length of a pause is what is tested",
    ),
    ("crates/keystorm/tests/e2e/compare_replay.rs", 1, "a server that is slow is what is found"),
    ("crates/keystorm/tests/e2e/real_clock.rs", 1, "it measures how late sleeps end"),
    ("crates/keystorm/tests/limits/main.rs", 1, "a busy machine is given time between attempts"),
    ("crates/sink/tests/serving.rs", 1, "bytes must arrive one by one"),
];

/// The checks themselves, whose tests break the rules.
const OWN: &str = "crates/tidy/";

/// Crates that carry out and report, and must not know where a job comes from.
const LOWER: [&str; 11] = [
    "naming", "workload", "wire", "engine", "measure", "traffic", "runner", "host", "report",
    "fleet", "sink",
];

/// Crates that only `keystorm` may depend on, and `peers` on `cli`.
const UPPER: [&str; 2] = ["cli", "peers"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below a folder that ends so: its path from the root, and its text. Links are not followed.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let root = root();
    let mut open = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() && entry.file_name() != "target" {
                open.push(path);
            } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(ending) {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<(String, String)> {
    ["crates", "peers", "fuzz"].into_iter().flat_map(|folder| files(folder, ".rs")).collect()
}

fn manifests() -> Vec<Manifest> {
    let all = ["crates", "peers"].into_iter().flat_map(|folder| files(folder, "Cargo.toml"));
    all.map(|(path, text)| Manifest::new(path.trim_end_matches("/Cargo.toml"), &text)).collect()
}

#[track_caller]
fn none(rule: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{rule}:\n  {}", faults.join("\n  "));
}

#[test]
fn files_are_short() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(path, lines)| format!("{path} has {lines} lines, {FILE_LINES_MAX} at most"))
        .collect();
    none("A file fits in its limit of lines", &faults);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !tidy::is_test(path)) {
        let functions = tidy::functions(&tidy::without_tests(text));
        let long = functions.iter().filter(|(_, _, lines)| *lines > FUNCTION_LINES_MAX);
        faults.extend(long.map(|(name, line, lines)| {
            format!("{path}:{line}: {name} has {lines} lines, {FUNCTION_LINES_MAX} at most")
        }));
    }
    none("Functions have at most 70 lines", &faults);
}

#[test]
fn tests_wait_for_states() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !path.starts_with(OWN)) {
        let found = tidy::fixed_sleeps(path, text);
        let row = SLEEPS.iter().find(|(known, ..)| known == path);
        let allowed = row.map_or(0, |(_, times, _)| *times);
        if found.len() < allowed {
            faults.push(format!("{path} sleeps {} times: lower its row", found.len()));
        }
        if found.len() > allowed {
            faults
                .extend(found.iter().map(|fault| format!("{path}:{}: {}", fault.line, fault.what)));
        }
    }
    none("Tests wait for states and not for seconds", &faults);
}

#[test]
fn comments_say_what_an_item_is() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !path.starts_with(OWN)) {
        let mut found = tidy::phrases(text, &EMPTY_REFERENCES);
        found.extend(tidy::phrases(text, &DIALECT));
        faults.extend(found.iter().map(|fault| format!("{path}:{}: {}", fault.line, fault.what)));
    }
    none("A comment says what the item is, so that a stranger understands it", &faults);
}

fn documents() -> Vec<(String, String)> {
    let mut all = files("docs", ".md");
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        all.push((name.to_owned(), fs::read_to_string(root().join(name)).unwrap()));
    }
    all
}

/// The literal texts of a source that have several words, each line of them as a comment.
fn texts(source: &str) -> String {
    let (mut inside, mut escaped, mut out) = (false, false, String::new());
    for line in source.lines() {
        let (mut before, mut text) = (' ', String::new());
        for c in line.chars() {
            match c {
                '/' if !inside && before == '/' => break,
                '"' if inside => inside = escaped,
                '"' if !['\'', '\\'].contains(&before) => inside = true,
                _ if inside => text.push(c),
                _ => text.push('\n'),
            }
            escaped = inside && c == '\\' && !escaped;
            before = c;
        }
        let several = text.split('\n').filter(|part| part.contains(' '));
        out += &format!("// {}\n", several.collect::<Vec<_>>().join("; "));
    }
    out
}

#[test]
fn texts_for_users_say_who_does_what() {
    let sources = sources().into_iter().filter(|(path, _)| !path.starts_with(OWN));
    let product = sources.filter(|(path, _)| !tidy::is_test(path));
    let mut all: Vec<_> =
        product.map(|(path, text)| (path, texts(&tidy::without_tests(&text).join("\n")))).collect();
    all.extend(documents().into_iter().map(|(path, text)| {
        (path, text.lines().map(|line| format!("// {line}\n")).collect::<String>())
    }));
    let mut faults = Vec::new();
    for (path, text) in &all {
        let found = tidy::phrases(text, &DIALECT);
        faults.extend(found.iter().map(|fault| format!("{path}:{}: {}", fault.line, fault.what)));
    }
    none("A text for users says who does what", &faults);
}

#[test]
fn lines_have_at_most_120_columns() {
    let mut faults = Vec::new();
    let mut all = sources();
    all.extend(documents());
    for (path, text) in &all {
        let found = tidy::long_lines(path, text, COLUMNS_MAX);
        faults.extend(found.iter().map(|fault| format!("{path}:{}: {}", fault.line, fault.what)));
    }
    none("Lines have at most 120 columns", &faults);
}

#[test]
fn what_carries_out_and_reports_knows_no_command_line() {
    let crates = manifests();
    for name in LOWER.iter().chain(&UPPER) {
        assert!(crates.iter().any(|manifest| manifest.name() == *name), "no crate {name}");
    }
    let faults: Vec<String> =
        LOWER.iter().flat_map(|lower| tidy::upward(&crates, lower, &UPPER)).collect();
    none("report and what is below it depend on no front end", &faults);
}

#[test]
fn every_crate_is_in_the_architecture() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    none("docs/architecture.md has a row for each crate", &tidy::undocumented(&manifests(), &page));
}
