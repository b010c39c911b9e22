//! Golden files: every format of every kind of run, byte for byte.
//!
//! After a wanted change, `INSTA_UPDATE=always cargo test -p keystorm-report` rewrites them; read the diff.

use crate::{FORMATS, FormatOptions, Run, Summary, conformance, fixture};

fn rendered_with(format: &str, options: FormatOptions, run: &Run) -> String {
    let mut format = super::by_name(format, options).unwrap();
    let mut out = Vec::new();
    format.begin(&mut out).unwrap();
    format.each(&Summary::from_run(run), &mut out).unwrap();
    format.finish(true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Formats for people. The one for programs has a schema instead of a golden file.
fn formats() -> impl Iterator<Item = &'static (&'static str, super::Build)> {
    FORMATS.iter().filter(|(name, _)| *name != "json")
}

#[test]
fn every_format_of_every_run() {
    for (format, build) in formats() {
        insta::assert_snapshot!(*format, conformance::golden(*build));
    }
}

#[test]
fn every_format_keeps_what_formats_keep() {
    FORMATS.iter().for_each(|(_, build)| conformance::check(*build));
}

/// A report under another tool's name, of a run without problems, has only that tool's lines.
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
fn only_a_suite_ends_in_a_line_of_its_own() {
    for (format, build) in formats() {
        let end = |suite| {
            let mut out = Vec::new();
            build(FormatOptions::default()).finish(suite, &mut out).unwrap();
            out
        };
        let ours = ["csv", "samples", "text", "timeline"].contains(format);
        assert_eq!(end(true), if ours { &b""[..] } else { b"\n" });
        assert_eq!(end(false), b"");
    }
}

#[test]
fn formats_are_found_by_name_and_no_others() {
    assert!(FORMATS.iter().all(|(n, _)| super::by_name(n, FormatOptions::default()).is_some()));
    assert!(super::by_name("xml", FormatOptions::default()).is_none());
}
