//! The tree keeps the rules of CONTRIBUTING.md that a program can check.
//!
//! Exceptions are listed with each rule. They may only become fewer and shorter: one that is no longer needed
//! fails the test until its row is deleted.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use tidy::{DIALECT, EMPTY_REFERENCES, Manifest};

/// Lines of a source file.
const FILE_LINES_MAX: usize = 450;
/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// Columns of a line.
const COLUMNS_MAX: usize = 120;
/// By how much a row of an exception may be too high before it must be lowered.
const SLACK: usize = 20;

/// Files that are longer, and how long they may be.
const LONG_FILES: &[(&str, usize)] = &[
    ("crates/bench/src/case.rs", 500),
    ("crates/keystorm/tests/e2e/cluster.rs", 696),
    ("crates/keystorm/tests/e2e/memtier.rs", 508),
    ("crates/keystorm/tests/e2e/memtier_reports.rs", 522),
    ("crates/keystorm/tests/e2e/tls.rs", 475),
    ("crates/keystorm/tests/e2e/ycsb.rs", 580),
];

/// Functions that are longer, by the names of file and function, and how long they may be.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

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
    ("crates/keystorm/tests/e2e/real_clock.rs", 1, "it measures how late sleeps end"),
    ("crates/keystorm/tests/limits/main.rs", 1, "a busy machine is given time between attempts"),
    ("crates/sink/tests/serving.rs", 1, "bytes must arrive one by one"),
];

/// The checks themselves, whose tests break the rules.
const OWN: &str = "crates/tidy/";

/// Crates whose comments are free of [`DIALECT`].
const PLAIN: [&str; 20] = [
    "wire",
    "engine",
    "measure",
    "workload",
    "statistics",
    "host",
    "doctor",
    "fleet",
    "sink",
    "page",
    "runner",
    "report",
    "lab",
    "cli",
    "console",
    "job",
    "keystorm",
    "memtier",
    "ycsb",
    "rpc-perf",
];

/// Crates that carry out and report, and must not know where a job comes from.
const LOWER: [&str; 12] = [
    "workload",
    "wire",
    "engine",
    "measure",
    "statistics",
    "runner",
    "host",
    "report",
    "page",
    "doctor",
    "fleet",
    "sink",
];

/// What only `keystorm` and each other may depend on.
const UPPER: [&str; 6] = ["job", "console", "cli", "memtier", "ycsb", "rpc_perf"];

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

/// What a length breaks, with its exception: too long, or a row that is too high or not needed.
fn too_long(what: &str, lines: usize, limit: usize, allowed: Option<usize>) -> Option<String> {
    match allowed {
        None if lines > limit => Some(format!("{what} has {lines} lines, {limit} at most")),
        Some(allowed) if lines > allowed => {
            Some(format!("{what} has {lines} lines; it had {allowed} and must not grow"))
        }
        Some(_) if lines <= limit => Some(format!("{what} has {lines} lines: delete its row")),
        Some(allowed) if lines + SLACK < allowed => {
            Some(format!("{what} has {lines} lines: lower its row from {allowed}"))
        }
        _ => None,
    }
}

#[test]
fn a_length_is_held_by_limit_and_exception() {
    let says = |lines, allowed| too_long("f", lines, 70, allowed).unwrap_or_default();
    assert_eq!(says(70, None), "");
    assert_eq!(says(71, None), "f has 71 lines, 70 at most");
    assert_eq!(says(100, Some(100)), "");
    assert_eq!(says(101, Some(100)), "f has 101 lines; it had 100 and must not grow");
    assert_eq!(says(70, Some(100)), "f has 70 lines: delete its row");
    assert_eq!(says(79, Some(100)), "f has 79 lines: lower its row from 100");
}

#[test]
fn files_are_short() {
    let sources = sources();
    let mut faults = Vec::new();
    for (path, text) in &sources {
        let allowed = LONG_FILES.iter().find(|(known, _)| known == path).map(|(_, lines)| *lines);
        faults.extend(too_long(path, text.lines().count(), FILE_LINES_MAX, allowed));
    }
    let gone =
        LONG_FILES.iter().filter(|(path, _)| !sources.iter().any(|(known, _)| known == path));
    faults.extend(gone.map(|(path, _)| format!("{path} is gone: delete its row")));
    none("Files have 100 to 400 lines", &faults);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut faults = Vec::new();
    let mut used = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !tidy::is_test(path)) {
        for (name, line, lines) in tidy::functions(&tidy::without_tests(text)) {
            let file = path.rsplit('/').next().unwrap_or(path);
            let row = LONG_FUNCTIONS.iter().find(|row| (row.0, row.1) == (file, name.as_str()));
            // Other functions of the same name have no part in it.
            let row = row.filter(|_| lines > FUNCTION_LINES_MAX);
            used.extend(row);
            let what = format!("{path}:{line}: {name}");
            faults.extend(too_long(&what, lines, FUNCTION_LINES_MAX, row.map(|row| row.2)));
        }
    }
    let unused = LONG_FUNCTIONS.iter().filter(|row| !used.contains(row));
    faults.extend(
        unused.map(|(file, name, _)| format!("{file}: {name} is short or gone: delete its row")),
    );
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
        let plain = PLAIN.iter().any(|name| path.split('/').nth(1) == Some(name));
        let mut found = tidy::phrases(text, &EMPTY_REFERENCES);
        if plain {
            found.extend(tidy::phrases(text, &DIALECT));
        }
        faults.extend(found.iter().map(|fault| format!("{path}:{}: {}", fault.line, fault.what)));
    }
    none("A comment says what the item is, so that a stranger understands it", &faults);
}

#[test]
fn lines_have_at_most_120_columns() {
    let mut faults = Vec::new();
    let mut all = sources();
    all.extend(files("docs", ".md"));
    for name in ["README.md", "CONTRIBUTING.md"] {
        all.push((name.to_owned(), fs::read_to_string(root().join(name)).unwrap()));
    }
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
