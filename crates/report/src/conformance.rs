//! Requirements for every [`Format`](crate::Format), for its tests.
//!
//! A panic names the format, the run and the text.

use serde_json::Value;

use crate::{Build, FormatOptions, Record, Run, Summary, fixture};

/// Checks all requirements: figures are numbers, no text from a server or a file controls a terminal, and a
/// saved run is laid out as before.
///
/// # Panics
/// Panics if the format violates one.
pub fn check(build: Build) {
    figures_are_numbers(build);
    nothing_controls_a_terminal(build);
    saved_runs_look_the_same(build);
}

/// Text of a format for one run in a suite, under keystorm's own name.
///
/// # Panics
/// Panics if the format fails to write.
pub fn rendered(build: Build, run: &Run) -> String {
    let first_byte = run.plan.recording.first_byte;
    let options =
        FormatOptions { first_byte, suite: true, verdict: true, ..FormatOptions::default() };
    let (mut format, mut out) = (build(options), Vec::new());
    let written = format
        .begin(&mut out)
        .and_then(|()| format.each(&Summary::from_run(run), &mut out))
        .and_then(|()| format.finish(true, &mut out));
    written.expect("a vector takes everything");
    String::from_utf8(out).expect("text")
}

/// Text of every kind of run, for a golden file. Markers keep blank lines at an end.
pub fn golden(build: Build) -> String {
    let runs = fixture::all().into_iter();
    runs.map(|(name, run)| format!("[{name}]\n{}[end]\n", rendered(build, &run))).collect()
}

fn figures_are_numbers(build: Build) {
    for (name, run) in fixture::all() {
        let text = rendered(build, &run).to_lowercase();
        let mut words = text.split(|c: char| !c.is_alphabetic());
        let odd = words.find(|word| ["nan", "inf", "infinity"].contains(word));
        assert_eq!(odd, None, "{name}: {text}");
    }
}

fn is_safe(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}')
}

fn nothing_controls_a_terminal(build: Build) {
    let text = rendered(build, &fixture::hostile());
    assert!(is_safe(&text), "{text:?}");
    // Whoever wrote a file may have put anything into any of its strings.
    let (mut loaded, mut strings) = (0, 0);
    for (_, run) in fixture::all() {
        let whole: Value = serde_json::from_str(&document(&run)).expect("JSON");
        let mut paths = Vec::new();
        string_paths(&whole, String::new(), &mut paths);
        for path in paths {
            strings += 1;
            let mut changed = whole.clone();
            if let Some(text) = changed.pointer_mut(&path) {
                let before = text.as_str().unwrap_or_default();
                *text = format!("{before}\u{1b}[31m\u{9b}2J\r").into();
            }
            let Ok(run) = read(&changed.to_string()) else { continue };
            loaded += 1;
            let text = rendered(build, &run);
            assert!(is_safe(&text), "{path}: {text:?}");
        }
    }
    assert!(loaded * 4 > strings, "of {strings} strings {loaded} are anybody's to choose");
}

fn saved_runs_look_the_same(build: Build) {
    for (name, run) in fixture::all().into_iter().chain([("paced", fixture::paced())]) {
        let again = read(&document(&run)).expect("a run that was saved");
        assert_eq!(rendered(build, &again), rendered(build, &run), "{name}");
    }
}

fn document(run: &Run) -> String {
    let mut record = Record::new(true);
    let put = record.put(0, &Summary::from_run(run));
    put.expect("counts that JSON holds");
    record.to_json().expect("figures that JSON holds")
}

fn read(document: &str) -> Result<Run, crate::RecordError> {
    let loaded = Record::from_json(document.as_bytes()).and_then(Record::load)?;
    Ok(loaded.runs.into_iter().next().expect("one run"))
}

/// Finds the paths of the strings in a document.
fn string_paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                string_paths(item, format!("{path}/{at}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                string_paths(field, format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}
