//! Golden files: every format of every kind of run, byte for byte.
//!
//! After a wanted change, `INSTA_UPDATE=always cargo test -p keystorm-report` writes them anew; read the
//! diff.

use serde_json::Value;

use crate::{FORMATS, FormatOptions, Run, Summary, fixture};

/// All that a format writes of one run in a suite, by our own name.
fn rendered(format: &str, run: &Run) -> String {
    let first_byte = run.plan.recording.first_byte;
    let options =
        FormatOptions { first_byte, suite: true, verdict: true, ..FormatOptions::default() };
    rendered_with(format, options, run)
}

fn rendered_with(format: &str, options: FormatOptions, run: &Run) -> String {
    let mut format = super::by_name(format, options).unwrap();
    let mut out = Vec::new();
    format.begin(&mut out).unwrap();
    format.each(&Summary::of(run), &mut out).unwrap();
    format.finish(true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Formats for people. That for programs has a schema instead of a golden file.
fn formats() -> impl Iterator<Item = &'static (&'static str, super::Build)> {
    FORMATS.iter().filter(|(name, _)| *name != "json")
}

#[test]
fn every_format_of_every_run() {
    for (format, _) in formats() {
        // Markers keep blank lines at an end from being trimmed with the file's.
        let cases = fixture::all();
        let cases =
            cases.iter().map(|(name, run)| format!("[{name}]\n{}[end]\n", rendered(format, run)));
        insta::assert_snapshot!(*format, cases.collect::<String>());
    }
}

/// What a peer has no words for is not said in its name of a run in which all went well.
#[test]
fn a_peer_says_nothing_of_ours() {
    const OURS: [&str; 8] = [
        "TLS",
        "handshake",
        "service time",
        "schedule",
        "node summary",
        "engine:",
        "limited by",
        "utage",
    ];
    for persona in [crate::REDIS_BENCHMARK, crate::VALKEY_BENCHMARK] {
        let options = FormatOptions { suite: true, persona, ..FormatOptions::default() };
        for format in ["redis", "quiet", "csv"] {
            for (name, run) in fixture::all() {
                let text = rendered_with(format, options, &run);
                let ours = OURS.iter().find(|ours| text.contains(**ours));
                assert_eq!(ours, None, "{format} of {name} as {persona:?}: {text}");
            }
        }
    }
    let cluster = fixture::cluster();
    let roles = |persona| {
        let options = FormatOptions { persona, ..FormatOptions::default() };
        let text = rendered_with("redis", options, &cluster);
        let line = text.lines().find(|line| line.contains("cluster mode")).map(str::to_owned);
        line.unwrap_or_default()
    };
    assert!(
        roles(crate::REDIS_BENCHMARK).ends_with(" masters)"),
        "{}",
        roles(crate::REDIS_BENCHMARK)
    );
    assert!(
        roles(crate::VALKEY_BENCHMARK).ends_with(" primary)"),
        "{}",
        roles(crate::VALKEY_BENCHMARK)
    );
}

#[test]
fn no_figure_is_infinite_or_not_a_number() {
    for (format, _) in formats() {
        for (name, run) in fixture::all() {
            let text = rendered(format, &run).to_lowercase();
            let mut words = text.split(|c: char| !c.is_alphabetic());
            let odd = words.find(|word| ["nan", "inf", "infinity"].contains(word));
            assert_eq!(odd, None, "{format} of {name}: {text}");
        }
    }
}

#[test]
fn nothing_but_line_ends_controls_a_terminal() {
    for (format, _) in FORMATS {
        let text = rendered(format, &fixture::hostile());
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{format}: {text:?}");
        assert!(!text.contains('\u{202e}'), "{format}: {text:?}");
    }
}

/// Whoever wrote a file may have put anything into any of its strings.
#[test]
fn no_string_of_a_file_controls_a_terminal() {
    let (mut loaded, mut strings) = (0, 0);
    for (_, run) in fixture::all() {
        let mut record = crate::Record::new(true);
        record.put(0, &run).unwrap();
        let whole: Value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
        let mut paths = Vec::new();
        string_paths(&whole, String::new(), &mut paths);
        for path in paths {
            strings += 1;
            let mut changed = whole.clone();
            let text = changed.pointer_mut(&path).unwrap();
            *text = format!("{}\u{1b}[31m\u{9b}2J\r", text.as_str().unwrap()).into();
            let text = serde_json::to_vec(&changed).unwrap();
            let Ok(found) = crate::Record::from_json(&text).and_then(crate::Record::load) else {
                continue;
            };
            loaded += 1;
            for (format, _) in FORMATS {
                let text = rendered(format, &found.runs[0]);
                let safe = !text.chars().any(|c| c.is_control() && c != '\n');
                assert!(safe, "{format} with {path}: {text:?}");
            }
        }
    }
    assert!(loaded * 4 > strings, "of {strings} strings {loaded} are anybody's to choose");
}

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

#[test]
fn only_a_suite_ends_in_a_line_of_its_own() {
    for (format, build) in formats() {
        let end = |suite| {
            let mut out = Vec::new();
            build(FormatOptions::default()).finish(suite, &mut out).unwrap();
            out
        };
        let ours = ["csv", "memtier", "samples", "text", "timeline", "ycsb"].contains(format);
        assert_eq!(end(true), if ours { &b""[..] } else { b"\n" });
        assert_eq!(end(false), b"");
    }
}

#[test]
fn formats_are_found_by_name_and_no_others() {
    assert!(FORMATS.iter().all(|(n, _)| super::by_name(n, FormatOptions::default()).is_some()));
    assert!(super::by_name("xml", FormatOptions::default()).is_none());
}
