//! Golden files: every format of every kind of run, byte for byte.
//!
//! After a wanted change, `INSTA_UPDATE=always cargo test -p report` writes them anew; read the
//! diff.

use crate::{FORMATS, FormatOptions, Run, Summary, fixture};

/// All that a format writes of one run in a suite.
fn rendered(format: &str, run: &Run) -> String {
    let first_byte = run.plan.first_byte;
    let options =
        FormatOptions { first_byte, suite: true, verdict: true, ..FormatOptions::default() };
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

#[test]
fn only_a_suite_ends_in_a_line_of_its_own() {
    for (format, build) in formats() {
        let end = |suite| {
            let mut out = Vec::new();
            build(FormatOptions::default()).finish(suite, &mut out).unwrap();
            out
        };
        let ours = ["csv", "text"].contains(format);
        assert_eq!(end(true), if ours { &b""[..] } else { b"\n" });
        assert_eq!(end(false), b"");
    }
}

#[test]
fn formats_are_found_by_name_and_no_others() {
    assert!(FORMATS.iter().all(|(n, _)| super::by_name(n, FormatOptions::default()).is_some()));
    assert!(super::by_name("xml", FormatOptions::default()).is_none());
}
