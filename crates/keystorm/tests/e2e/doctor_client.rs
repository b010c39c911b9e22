//! `keystorm doctor --client`: every cell is measured, and it is clear what the figures are.

use crate::program::Keystorm;

/// The rows of a table: transport, engine, pipeline, and the figures behind.
fn rows(out: &str) -> Vec<(String, Vec<String>)> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows = out.lines().map(words).filter(|row| {
        matches!(row.first().map(String::as_str), Some("tcp" | "unix")) && row.len() == 10
    });
    rows.map(|row| (row[..3].join(" "), row[3..].to_vec())).collect()
}

#[test]
fn the_table_has_every_cell_and_says_what_it_is() {
    let ran = Keystorm::new("doctor --client --seconds 0.1").run().ok();
    assert_eq!(ran.err, "");
    assert!(ran.out.contains("not a result about a server"), "{}", ran.out);
    let engines =
        if ran.out.contains("Note: uring") { vec!["epoll"] } else { vec!["uring", "epoll"] };
    let mut expected = Vec::new();
    for transport in ["tcp", "unix"] {
        for engine in &engines {
            expected.extend([1, 16, 64].map(|depth| format!("{transport} {engine} {depth}")));
        }
    }
    let rows = rows(&ran.out);
    let cells: Vec<&String> = rows.iter().map(|(cell, _)| cell).collect();
    assert_eq!(cells, expected.iter().collect::<Vec<_>>(), "{}", ran.out);
    for (cell, figures) in &rows {
        let number = |n: usize| figures[n].parse::<f64>().unwrap();
        assert!(number(0) > 0.0 && number(1) > 0.0, "{cell}: {figures:?}");
        for busy in [number(2), number(4)] {
            assert!((0.0..=100.0).contains(&busy), "{cell}: {figures:?}");
        }
        assert!(["client", "sink", "both", "neither"].contains(&figures[6].as_str()), "{cell}");
    }
}

#[test]
fn one_engine_and_json_are_to_be_had() {
    let line = "doctor --client --seconds 0.05 -c 3 --engine epoll --json";
    let ran = Keystorm::new(line).run().ok();
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&json["connections"], &json["complete"]), (&3.into(), &true.into()));
    assert!(json["what"].as_str().unwrap().contains("not a result about a server"));
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6, "{json}");
    for cell in cells {
        assert_eq!(cell["engine"], "epoll");
        let figures = ["requests_per_s", "client_cpu_us_per_request", "client_busy", "sink_busy"];
        assert!(figures.iter().all(|name| cell[*name].as_f64().unwrap() > 0.0), "{cell}");
    }
}

#[test]
fn ctrl_c_ends_it_with_what_is_there() {
    let running = Keystorm::new("doctor --client --seconds 60 -c 5").start();
    running.until("begins", |r| r.out().contains("limit"));
    running.interrupt();
    let ran = running.wait().exits(130).prints("Interrupted.");
    assert!(rows(&ran.out).is_empty(), "{}", ran.out);
    let running = Keystorm::new("doctor --client --seconds 60 -c 5 --json").start();
    running.interrupt();
    let ran = running.wait().exits(130);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["complete"], false);
}

#[test]
fn command_lines_that_make_no_sense_are_refused() {
    for (options, name) in [
        ("-c 0", "-c 0"),
        ("-c x", "-c"),
        ("--seconds 0", "--seconds"),
        ("--seconds -1", "--seconds"),
        ("--seconds nan", "--seconds"),
        ("--seconds x", "--seconds"),
        ("--engine horse", "--engine"),
        ("set k v", "'k'"),
        ("db", "TARGET"),
        ("--spawn", "--spawn"),
        ("-P 2", "--pipeline"),
        ("--rps 5", "--rps"),
        ("--protocol memcache-binary", "memcache-meta"),
    ] {
        let ran = Keystorm::new(&format!("doctor --client {options}")).run().exits(2).says(name);
        assert_eq!(ran.out, "");
    }
    Keystorm::new("doctor --client -c 900000").run().exits(1).says("-c 900000").says("open files");
}

#[test]
fn memcached_is_spoken_in_lines() {
    let line = "doctor --client --protocol memcache --seconds 0.05 -c 3 --engine epoll --json";
    let ran = Keystorm::new(line).run().ok();
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&json["command"], &json["complete"]), (&"set".into(), &true.into()));
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(6), "{json}");
}
