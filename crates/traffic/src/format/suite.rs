//! The suite for every format: samples split at every byte, cut at every byte, and damaged.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{FORMATS, Format};
use crate::conformance::{ReaderResult, check, read};
use crate::{Source, Writer, open_input};

/// A whole record of each format, and its number of events.
fn samples() -> Vec<(&'static str, Vec<u8>, usize)> {
    let at_ns = 1_700_000_000_123_456_789;
    let log = super::dragonfly::tests::file(
        &[3, 1],
        &[(7, at_ns, 1, &["SET", "k", ""]), (8, at_ns + 1, 0, &["GET", "k"])],
    );
    vec![
        ("keystorm", own(), 6),
        ("monitor", MONITOR.to_vec(), 6),
        ("watch", WATCH.to_vec(), 4),
        ("aof", AOF.to_vec(), 3),
        ("twitter", TWITTER.to_vec(), 6),
        ("meta", META.to_vec(), 6),
        ("dragonfly", log, 2),
        ("oracleGeneral", oracle(), 3),
    ]
}

/// The events of the sample of MONITOR, in blocks of two.
fn own() -> Vec<u8> {
    let source = Source { servers: vec!["a:1".into()], sampled: Some(0.5), ..Source::default() };
    let mut writer = Writer::new(Vec::new(), &source).unwrap();
    for (at, event) in whole("monitor", MONITOR).events.iter().enumerate() {
        writer.write(event).unwrap();
        if at % 2 == 1 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

fn oracle() -> Vec<u8> {
    let record = |second: u32, object: u64, size: u32, next: i64| {
        let mut bytes = second.to_le_bytes().to_vec();
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    };
    [record(1, 1 << 40, 100, 2), record(1, 7, 0, -1), record(3, 1 << 40, 100, -1)].concat()
}

const WATCH: &[u8] =
    b"OK\r\nts=1678306844.17204 gid=1 type=item_get key=a%20b status=not_found clsid=0 cfd=30 size=0\r\n\
    ts=1678306844.17205 gid=2 type=item_store key=c%20d status=stored cmd=set ttl=60 clsid=1 cfd=30 size=5\n\
    skipped=12\nts=1678306844.17206 gid=3 type=conn_new rip=::1 rport=9 transport=tcp cfd=31\n\
    ts=1678306844.17207 gid=4 type=item_get key=a status=found clsid=1 cfd=31 size=7\nnothing\n\
    ts=1678306844.17208 gid=5 type=eviction key=b fetch=no ttl=-1 la=3 clsid=1 size=9\n\
    ts=1678306844.17209 gid=6 type=deleted key=d cmd=delete clsid=1 size=7\n";

const AOF: &[u8] =
    b"*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n#TS:1700000000\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n\
    $3\r\n\r\n*\r\n#TS:1700000001\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n*1\r\n$5\r\nMULTI\r\n";

const TWITTER: &[u8] = b"0,q:8,a,9,100,7,get,0\n0,k,20,0,7,gets,0\r\n0,k,20,64,8,set,86400\nx,y\n\
    1,k,20,0,8,delete,0\n1,k,20,0,8,get,0\n4,n,20,0,8,incr,0\n";

const META: &[u8] = b"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
    5,5599213,40,GET,3,100,2,0,1,1\n6,k,40,SET_LEASE,1,10,0,60,1,1\n6,k,40,FLY,1,10,0,60,1,1\n\
    6,k,40,DELETE,0,10,0,60,1,1\n6,k,40,DELETE,1,0,0,0,1,1\n7,k,40,GET_LEASE,1,0,0,0,1,1\n";

const STAMPED_BY_SECOND: [&str; 4] = ["aof", "twitter", "meta", "oracleGeneral"];

const MONITOR: &[u8] = b"OK\r\n1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"\n\
    +1339518087.877697 [0 127.0.0.1:60866] \"dbsize\"\r\n\r\
    1339518090.420270 [9 [::1]:60866] \"set\" \"x\" \"a\\r\\n\\\"\\\\\\x00\"\r\
    1339518096.506257 [0 unix:/tmp/s.sock] \"eval\" \"return 1\" \"0\"\n\
    1339518096.506258 [0 lua] \"incr\" \"n\"\nnothing\n\
    1339518099.363765 (db 3) \"get\" \"x\"\n";

fn whole(format: &str, bytes: &[u8]) -> ReaderResult {
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
        let reader = open_input(Path::new("x"), input, None).unwrap();
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

/// A cut may change an event that was about to be complete.
#[test]
fn a_cut_input_has_the_events_before_the_cut() {
    for (name, bytes, _) in samples() {
        let expected = whole(name, &bytes);
        for at in 0..bytes.len() {
            let reading = whole(name, &bytes[..at]);
            let same = reading.events.len().saturating_sub(1);
            // The events of a second are spread over it, so a cut moves those before it.
            for (found, expected) in reading.events[..same].iter().zip(&expected.events) {
                let mut found = found.clone();
                if STAMPED_BY_SECOND.contains(&name) {
                    found.at_ns = expected.at_ns;
                }
                assert_eq!(found, *expected, "{name} cut at {at}");
            }
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
