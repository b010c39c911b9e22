//! The suite that every format passes: samples split at every byte, cut at every byte, and damaged.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{FORMATS, Format};
use crate::conformance::{Reading, check, read};
use crate::{OpenOptions, Reader, open_input};

/// A whole record of each format, and how many events it has.
fn samples() -> Vec<(&'static str, Vec<u8>, usize)> {
    vec![("monitor", MONITOR.to_vec(), 6)]
}

const MONITOR: &[u8] = b"OK\r\n1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"\n\
    +1339518087.877697 [0 127.0.0.1:60866] \"dbsize\"\r\n\r\
    1339518090.420270 [9 [::1]:60866] \"set\" \"x\" \"a\\r\\n\\\"\\\\\\x00\"\r\
    1339518096.506257 [0 unix:/tmp/s.sock] \"eval\" \"return 1\" \"0\"\n\
    1339518096.506258 [0 lua] \"incr\" \"n\"\nnothing\n\
    1339518099.363765 (db 3) \"get\" \"x\"\n";

fn whole(format: &str, bytes: &[u8]) -> Reading {
    read(format, bytes, bytes.len(), bytes.len().max(1))
}

#[test]
fn every_format_has_a_sample_that_it_alone_recognizes() {
    let samples = samples();
    let names: Vec<&str> = samples.iter().map(|(name, ..)| *name).collect();
    assert_eq!(FORMATS.iter().map(|format| format.name).collect::<Vec<_>>(), names);
    for (name, bytes, events) in samples {
        let reading = whole(name, &bytes);
        assert_eq!((reading.events.len(), &reading.fault), (events, &None), "{name}");
        let input = Box::new(std::io::Cursor::new(bytes));
        let reader = open_input(Path::new("x"), input, &OpenOptions::default()).unwrap();
        assert_eq!(reader.source().format, name);
    }
}

#[test]
fn an_input_split_at_any_byte_has_the_events_of_the_whole() {
    for (name, bytes, _) in samples() {
        let expected = whole(name, &bytes);
        for at in 0..bytes.len() {
            assert_eq!(read(name, &bytes, at, bytes.len()), expected, "{name} split at {at}");
        }
        assert_eq!(read(name, &bytes, 0, 1), expected, "{name} byte by byte");
    }
}

/// Events that a cut may change: one that was about to be complete.
#[test]
fn a_cut_input_has_the_events_before_the_cut() {
    for (name, bytes, _) in samples() {
        let expected = whole(name, &bytes);
        for at in 0..bytes.len() {
            let reading = whole(name, &bytes[..at]);
            let same = reading.events.len().saturating_sub(1);
            assert_eq!(reading.events[..same], expected.events[..same], "{name} cut at {at}");
        }
    }
}

#[test]
fn an_empty_input_has_no_events() {
    for Format { name, .. } in FORMATS {
        assert_eq!(whole(name, b"").events.len(), 0, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_neither_panics_nor_depends_on_pieces(
        changes in vec((any::<usize>(), any::<u8>()), 1..8),
        piece in 1..40_usize,
    ) {
        for (name, mut bytes, _) in samples() {
            for (at, byte) in &changes {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            check(name, &bytes, piece);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..300), piece in 1..40_usize) {
        for Format { name, .. } in FORMATS {
            check(name, &bytes, piece);
        }
    }
}
