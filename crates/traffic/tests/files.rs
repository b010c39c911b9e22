//! Whole files: compressed or not, in several parts, cut, damaged, and merged.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use traffic::{Event, Losses, Source, Stamps, Writer, open};

/// Lines of MONITOR, of a server whose clients send one after another.
fn monitor(count: usize, first_s: usize, step_s: usize) -> String {
    let lines = (0..count).map(|at: usize| {
        let second = first_s + at * step_s;
        format!("{second}.000001 [0 127.0.0.1:{}] \"SET\" \"key:{at}\" \"v\"\n", 4000 + at % 3)
    });
    lines.collect()
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[track_caller]
fn read(paths: &[PathBuf]) -> (Vec<Event>, Losses, Source) {
    let mut reader = open(paths, None).unwrap();
    let (mut events, mut event) = (Vec::new(), Event::default());
    while reader.next(&mut event).unwrap() {
        events.push(event.clone());
    }
    (events, reader.losses(), reader.source().clone())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_files_are_found_by_content_and_read_over_all_their_parts() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (monitor(500, 1_700_000_000, 1), monitor(500, 1_700_001_000, 1));
    let (expected, ..) = read(&[write(dir.path(), "plain", format!("{one}{two}").as_bytes())]);
    assert_eq!(expected.len(), 1000);
    // A frame that is to be skipped stands between two others.
    let skip = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let files = [
        [gzip(&one), gzip(&two)].concat(),
        [zstd(&one), skip.clone(), zstd(&two)].concat(),
        [skip, zstd(&one), zstd(&two)].concat(),
    ];
    for (at, file) in files.iter().enumerate() {
        let (events, losses, source) = read(&[write(dir.path(), "packed", file)]);
        assert_eq!((events.len(), losses.total()), (1000, 0), "{at}");
        assert!(events == expected && source.format == "monitor", "{at}");
        // Cut anywhere, it has what came before, and says that it was cut.
        for part in [file.len() - 30, file.len() * 2 / 3] {
            let (events, losses, _) = read(&[write(dir.path(), "cut", &file[..part])]);
            assert!(events.len() <= 1000 && losses.cut > 0, "{at} {part} {losses:?}");
            let whole = events.len().saturating_sub(1);
            assert_eq!(events[..whole], expected[..whole]);
        }
    }
}

#[test]
fn files_of_several_servers_are_merged_by_time_with_clients_apart() {
    let dir = tempfile::tempdir().unwrap();
    let even = write(dir.path(), "even", monitor(50, 1000, 2).as_bytes());
    let odd = write(dir.path(), "odd", monitor(50, 1001, 2).as_bytes());
    let (events, ..) = read(&[even, odd]);
    assert_eq!(events.len(), 100);
    assert!(events.is_sorted_by_key(|event| event.at_ns));
    let clients: std::collections::BTreeSet<u64> =
        events.iter().map(|event| event.client).collect();
    assert_eq!(clients.len(), 6);
}

#[test]
fn a_folder_of_an_append_only_file_is_read_in_the_order_of_its_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let set = |key: &str| format!("*3\r\n$3\r\nSET\r\n$1\r\n{key}\r\n$1\r\nv\r\n");
    write(dir.path(), "a.1.base.rdb", b"REDIS0011 binary");
    write(
        dir.path(),
        "a.1.incr.aof",
        format!("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n{}", set("a")).as_bytes(),
    );
    // The last part was cut, as after a crash.
    write(dir.path(), "a.2.incr.aof", format!("{}*3\r\n$3\r\nSET\r\n$1\r\nc", set("b")).as_bytes());
    let manifest = "file a.1.base.rdb seq 1 type b\nfile a.2.incr.aof seq 2 type i\n\
                    file a.1.incr.aof seq 1 type i\n";
    write(dir.path(), "a.manifest", manifest.as_bytes());
    let (events, losses, source) = read(&[dir.path().to_owned()]);
    let keys: Vec<&[u8]> = events.iter().map(|event| event.bytes(1)).collect();
    assert_eq!(keys, [b"a", b"b"]);
    assert_eq!((events[0].db, losses.cut), (3, 1));
    assert!(source.notes[0].contains("a.1.base.rdb is left out"), "{:?}", source.notes);
    assert!(source.is_effects);
}

/// A record of 10 blocks of 100 events.
fn record(events: &[Event]) -> (Vec<u8>, Vec<usize>) {
    let source = Source { servers: vec!["10.0.0.1:6379".into()], ..Source::default() };
    let mut writer = Writer::new(Vec::new(), &source).unwrap();
    let mut ends = vec![writer.bytes() as usize];
    for block in events.chunks(100) {
        block.iter().for_each(|event| writer.write(event).unwrap());
        writer.flush().unwrap();
        ends.push(writer.bytes() as usize);
    }
    (writer.finish().unwrap(), ends)
}

#[test]
fn own_records_survive_a_cut_and_damage_of_any_block() {
    let dir = tempfile::tempdir().unwrap();
    let (events, ..) = read(&[write(dir.path(), "m", monitor(1000, 1_700_000_000, 1).as_bytes())]);
    let (file, ends) = record(&events);
    let (whole, losses, source) = read(&[write(dir.path(), "r", &file)]);
    assert!(whole == events && losses.total() == 0);
    assert_eq!((source.format, &source.servers[..]), ("keystorm", &["10.0.0.1:6379".into()][..]));
    for cut in (0..file.len()).step_by(37).filter(|cut| *cut > ends[0]) {
        let blocks = ends.iter().filter(|end| **end <= cut).count() - 1;
        let (left, losses, _) = read(&[write(dir.path(), "r", &file[..cut])]);
        assert_eq!(left[..], events[..blocks * 100], "cut at {cut}");
        assert_eq!(losses.total() > 0, !ends.contains(&cut), "cut at {cut}");
    }
    for at in (ends[0]..file.len()).step_by(29) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        let block = ends.iter().filter(|end| **end <= at).count() - 1;
        let (left, losses, _) = read(&[write(dir.path(), "r", &damaged)]);
        let expected = [&events[..block * 100], &events[(block + 1) * 100..]].concat();
        assert!(left == expected && losses.total() > 0, "{at}: {} left, {losses:?}", left.len());
    }
    // A head that is damaged takes no events with it.
    let mut damaged = file.clone();
    damaged[30] ^= 1;
    let (left, _, source) = read(&[write(dir.path(), "r", &damaged)]);
    assert!(left == events && source.notes[0].contains("damaged"));
}

#[test]
fn what_is_no_record_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for (bytes, why) in
        [(&b""[..], "empty"), (b"hello\nworld\n", "not a record"), (&[7; 100], "not a record")]
    {
        let path = write(dir.path(), "x", bytes);
        let error = open(&[path], None).err().unwrap().to_string();
        assert!(error.contains(why) && error.contains("/x: "), "{error}");
    }
    assert!(open(&[dir.path().join("none")], None).is_err());
}

/// A command of an append-only file.
fn command(words: &[&str]) -> String {
    let count = words.len();
    let words: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{count}\r\n{words}")
}

#[test]
fn times_of_an_append_only_file_may_begin_late_and_what_lies_before_them_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let value = "x".repeat(200);
    let untimed: String = (0..1000).map(|_| command(&["SET", "k", &value])).collect();
    let timed: String = (0..10)
        .map(|n| format!("#TS:{}\r\n{}", 1_700_000_000 + n, command(&["INCR", "n"])))
        .collect();
    let late = format!("{untimed}{timed}");
    write(dir.path(), "a.base.aof", format!("#TS:1699999999\r\n{untimed}").as_bytes());
    write(dir.path(), "a.1.aof", untimed.as_bytes());
    write(dir.path(), "a.2.aof", timed.as_bytes());
    let manifest =
        "file a.base.aof seq 1 type b\nfile a.1.aof seq 1 type i\nfile a.2.aof seq 2 type i\n";
    let files = [
        write(dir.path(), "late.aof", late.as_bytes()),
        write(dir.path(), "packed", &gzip(&late)),
        write(dir.path(), "a.manifest", manifest.as_bytes()),
    ];
    for file in files {
        let (events, losses, source) = read(std::slice::from_ref(&file));
        assert_eq!((events.len(), losses.undated, source.stamps), (10, 1000, Stamps::Second));
        assert!(
            events.iter().all(|event| event.is("INCR") && event.at_ns > 1_600_000_000_000_000_000)
        );
        assert!(!source.notes.iter().any(|note| note.contains("no times")), "{file:?}");
    }
}

#[test]
fn what_others_write_before_a_record_is_passed_over_and_what_is_none_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let text = monitor(50, 1_700_000_000, 1);
    let (expected, ..) = read(&[write(dir.path(), "plain", text.as_bytes())]);
    let docker: String = text.lines().map(|line| format!("redis_1  | {line}\n")).collect();
    for (name, text) in [("marked", format!("\u{feff}{text}")), ("docker", docker)] {
        let (events, losses, _) = read(&[write(dir.path(), name, text.as_bytes())]);
        assert_eq!((events.len(), losses.total()), (50, 0), "{name}");
        assert_eq!(events[49].at_ns, expected[49].at_ns);
    }
    let cut = write(dir.path(), "cut", &text.as_bytes()[5..]);
    let (events, losses, _) = read(&[cut]);
    assert_eq!((events.len(), losses.misdated), (50, 1));
    assert_eq!(events[0].at_ns, events[1].at_ns);
    for (begin, what) in [
        (&b"\xd4\xc3\xb2\xa1\x02\0\x04\0"[..], "packet capture"),
        (b"\xff\xfe1\x007\x00", "UTF-16"),
        (b"\xf0\xde\xbc\x9a\x78\x56\x34\x12", "LCS"),
    ] {
        let file = write(dir.path(), "foreign", begin);
        let error = open(&[file], None).err().unwrap().to_string();
        assert!(error.contains(what), "{error}");
    }
}
