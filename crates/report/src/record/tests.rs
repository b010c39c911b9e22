//! Documents written, read, and refused.

use super::*;
use crate::{FORMATS, FormatOptions, Summary, fixture};

fn saved(run: &Run) -> String {
    let mut record = Record::new(true);
    record.put(0, &Summary::from_run(run)).unwrap();
    record.to_json().unwrap()
}

fn loaded(text: &str) -> Run {
    Record::from_json(text.as_bytes()).unwrap().load().unwrap().runs.remove(0)
}

fn refused(text: &str) -> String {
    let loaded = Record::from_json(text.as_bytes()).and_then(Record::load);
    loaded.map(|_| ()).unwrap_err().to_string()
}

fn rendered(format: &str, run: &Run) -> Vec<u8> {
    let options = FormatOptions {
        first_byte: run.plan.recording.first_byte,
        suite: true,
        verdict: true,
        full_distribution: true,
        ..FormatOptions::default()
    };
    let mut format = crate::by_name(format, options).unwrap();
    let mut out = Vec::new();
    format.each(&Summary::from_run(run), &mut out).unwrap();
    format.close(&mut out).unwrap();
    out
}

#[test]
fn every_kind_of_run_survives_to_the_byte() {
    for (name, run) in fixture::all().into_iter().chain([("paced", fixture::paced())]) {
        let text = saved(&run);
        let again = loaded(&text);
        assert_eq!(saved(&again), text, "{name}");
        let mut cut = Record::load_without_timelines(text.as_bytes()).unwrap().runs.remove(0);
        assert!(cut.measurement.timeline.points.is_empty(), "{name}");
        // Laid out in another way it is read.
        let dense: String = text.lines().map(str::trim_start).collect();
        let whole = Record::load_without_timelines(dense.as_bytes()).unwrap().runs.remove(0);
        assert_eq!(saved(&whole), text, "{name}");
        cut.measurement.timeline = whole.measurement.timeline;
        assert_eq!(saved(&cut), text, "{name}: nothing else is lost");
        for (format, _) in FORMATS {
            assert_eq!(rendered(format, &again), rendered(format, &run), "{format} of {name}");
        }
    }
}

/// Error of loading a saved run in which a text was replaced.
fn refused_with(from: &str, to: &str) -> String {
    let good = saved(&fixture::open_loop());
    // The figures of all commands together stand before those that are loaded.
    let at = good.find("\"commands\": [").unwrap();
    let at = if good[at..].contains(from) { at } else { 0 };
    assert!(good[at..].contains(from), "{from}");
    refused(&format!("{}{}", &good[..at], good[at..].replacen(from, to, 1)))
}

#[test]
fn what_is_no_document_is_refused_in_words() {
    assert!(refused("").contains("empty"));
    assert!(refused("SET: 1 requests per second").contains("not JSON"));
    assert!(refused("{}").contains("no schema"));
    assert!(refused("[1]").contains("invalid"), "{}", refused("[1]"));
    assert!(refused_with(SCHEMA, "keystorm.run/2").contains("another version"));
    assert!(refused_with(SCHEMA, "pandora/1").contains("not a saved run"));
}

#[test]
fn a_document_that_is_cut_anywhere_is_truncated() {
    let good = saved(&fixture::open_loop());
    let whole = good.trim_end();
    for end in 1..whole.len() {
        let error = refused(&whole[..end]);
        assert!(error.contains("truncated"), "{error}: {:?}", &whole[end.saturating_sub(20)..end]);
    }
}

#[test]
fn a_document_with_wrong_or_contradictory_values_is_refused_in_words() {
    assert!(refused_with("\"connections\": 50", "\"connections\": 0").contains("-c 0"));
    assert!(refused_with("\"started_at\": \"1970", "\"started_at\": \"197").contains("started_at"));
    assert!(refused_with("\"count\": 2000", "\"count\": 2001").contains("contradict"));
    assert!(refused_with("\"sum_ns\": ", "\"sum_ns\": 9").contains("contradict"));
    assert!(refused_with("\"histogram\": \"", "\"histogram\": \"?").contains("base64"));
    assert!(refused_with("\"index\": 1,", "\"index\": 1e300,").contains("expected u32"));
    assert!(refused_with("\"index\": 1,", "\"index\": 0,").contains("order"));
    assert!(refused_with("\"requests\": 2000", "\"requests\": -1").contains("-1"));
    let two = format!("\"plan\": [{}, ", serde_json::to_string(&fixture::complete().plan).unwrap());
    assert!(refused_with("\"plan\": [", &two).contains("2 plans"));
}

#[test]
fn huge_numbers_are_read_or_refused_and_add_up_without_a_panic() {
    let good = saved(&fixture::errors());
    for field in ["\"ok\": ", "\"miss\": ", "\"WRONGTYPE\": ", "\"bytes_in\": ", "\"elapsed_ns\": "]
    {
        let at = good.find(field).unwrap_or_else(|| panic!("{field}")) + field.len();
        let rest = good[at..].trim_start_matches(|c: char| c.is_ascii_digit());
        let huge = format!("{}{}{rest}", &good[..at], u64::MAX);
        let run = loaded(&huge);
        let again = loaded(&saved(&run));
        let _ = rendered("text", &again);
        let beyond = format!("{}{}0{rest}", &good[..at], u64::MAX);
        assert!(!refused(&beyond).is_empty());
    }
}

#[test]
fn a_password_is_not_in_it() {
    let mut parts = fixture::parts();
    let password = workload::Secret::new("hunter2");
    parts.target.credentials = Some(workload::Credentials { user: None, password });
    let run = Run { plan: parts.build().unwrap(), ..fixture::complete() };
    let text = saved(&run);
    assert!(!text.contains("hunter2") && text.contains("***"));
}

#[test]
fn a_test_is_put_in_its_place() {
    let mut record = Record::new(true);
    for (at, run) in [(0, fixture::complete()), (1, fixture::errors()), (0, fixture::interrupted())]
    {
        record.put(at, &Summary::from_run(&run)).unwrap();
    }
    record.set_complete();
    let loaded = Record::from_json(record.to_json().unwrap().as_bytes()).unwrap().load().unwrap();
    let requests: Vec<u64> = loaded.runs.iter().map(|r| r.measurement.total.requests()).collect();
    assert_eq!((requests, loaded.complete, loaded.suite), (vec![700, 2000], false, true));
}
