//! `--keep`, `keystorm history` and `keystorm compare --baseline`, on runs of a real server and on series made of one.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Keystorm, RunOutput};
use crate::record::valid_by;
use crate::server::{KEYSTORM, Server};

fn keystorm(words: &[&str]) -> RunOutput {
    Keystorm::exec(KEYSTORM, words).run()
}

/// The files of runs in a folder.
fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// A folder with a run for each of these lengths, an hour apart: a run that took longer was slower.
fn made(dir: &Path, lengths: &[f64]) {
    made_on(&Server::redis(), dir, lengths);
}

/// The same of a server.
fn made_on(server: &Server, dir: &Path, lengths: &[f64]) {
    let base = dir.join("base");
    let words = format!("-n 400 -t get --keep {}", base.display());
    server.run(&words).ok();
    let text = fs::read_to_string(base.join(&files(&base)[0])).unwrap();
    fs::remove_dir_all(&base).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    for (hour, length) in lengths.iter().enumerate() {
        let mut document = document.clone();
        let test = &mut document["tests"][0];
        let started = format!("2026-10-{:02}T{:02}:00:00.000000000Z", 1 + hour / 24, hour % 24);
        test["started_at"] = started.into();
        test["elapsed_s"] = (length / 1e9).into();
        test["exact"]["elapsed_ns"] = (length.round() as u64).into();
        fs::write(dir.join(format!("{hour:04}.json")), document.to_string()).unwrap();
    }
}

/// Lengths around a second that vary by 0.4 %, the same each time.
fn lengths(count: usize) -> Vec<f64> {
    let mut state = 7u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    (0..count)
        .map(|_| 1e9 * (1.0 + 0.004 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)))
        .collect()
}

fn judged(dir: &Path, more: &[&str]) -> (RunOutput, Value) {
    let dir = dir.to_str().unwrap();
    let mut words = vec!["compare", "--baseline", dir, "--format", "json"];
    words.extend(more);
    let ran = keystorm(&words);
    let document = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    valid_by("keystorm.baseline.1.json", &document);
    (ran, document)
}

#[test]
fn runs_are_kept_by_several_writers_at_once_and_listed() {
    let (dir, server) = (TempDir::new().unwrap(), Server::redis());
    let runs = dir.path().join("runs");
    let kept = runs.to_str().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let line = format!("-p {} -n 300 -q -t set,get --keep {kept}", server.port());
            scope.spawn(move || Keystorm::new(&line).run().ok());
        }
    });
    server.keystorm("-n 300 -q -t get").env("KEYSTORM_HISTORY", kept).run().ok();
    assert_eq!(files(&runs).len(), 5, "a file each");
    let ran = keystorm(&["history", kept, "--format", "json"]).ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.history.1.json", &document);
    let series = document["series"].as_array().unwrap();
    let counts: Vec<usize> =
        series.iter().map(|s| s["entries"].as_array().unwrap().len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 9, "{document:#}");
    // The index may be thrown away, and what is no saved run is passed over.
    fs::remove_file(runs.join(".keystorm-index.json")).unwrap();
    fs::write(runs.join("other.json"), "{\"a\": 1}").unwrap();
    fs::write(runs.join("broken.json"), "{\"schema\": \"keystorm.run/1\", ").unwrap();
    let ran = keystorm(&["history", kept]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("broken.json") && !ran.err.contains("other.json"), "{}", ran.err);
    assert!(ran.out.contains("requests/s"), "{}", ran.out);
    let page = dir.path().join("page.html");
    keystorm(&["history", kept, "--html", page.to_str().unwrap()]);
    assert!(fs::read_to_string(page).unwrap().contains("Throughput by run"));
}

#[test]
fn a_step_among_sixty_runs_is_found_at_its_run_and_fails() {
    let dir = TempDir::new().unwrap();
    let mut lengths = lengths(60);
    lengths[45..].iter_mut().for_each(|length| *length *= 1.03);
    made(dir.path(), &lengths);
    let (ran, document) = judged(dir.path(), &[]);
    assert_eq!((ran.code, &document["gate"]), (Some(3), &"failed".into()), "{document:#}");
    let figure = &document["tests"][0]["figures"][0];
    assert_eq!(figure["metric"], "throughput_rps");
    assert_eq!(
        (&figure["finding"]["kind"], &figure["finding"]["file"]),
        (&"step".into(), &"0045.json".into())
    );
    let (ran, _) = judged(dir.path(), &["--fail-on-regression", "10"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn equal_runs_pass_a_bad_one_fails_and_a_canary_takes_off_what_the_machine_did() {
    let (dir, canary) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let lengths = lengths(40);
    made(dir.path(), &lengths);
    assert_eq!(judged(dir.path(), &[]).0.code, Some(0));
    let mut bad = lengths.clone();
    bad[39] *= 1.2;
    made(dir.path(), &bad);
    let (ran, document) = judged(dir.path(), &[]);
    assert_eq!((ran.code, &document["gate"]), (Some(3), &"failed".into()), "{document:#}");
    let said = document["sentences"].to_string();
    assert!(said.contains("in the newest run: "), "{said}");
    let (ran, document) = judged(dir.path(), &["--fail-on-regression", "30"]);
    assert_eq!(ran.code, Some(0), "{document:#}");
    // The machine was slow in the last ten hours: so was the canary.
    let mut slow = lengths.clone();
    slow[30..].iter_mut().for_each(|length| *length *= 1.2);
    made(dir.path(), &slow);
    assert_eq!(judged(dir.path(), &[]).0.code, Some(3));
    let mut other: Vec<f64> = self::lengths(80)[40..].to_vec();
    other[30..].iter_mut().for_each(|length| *length *= 1.2);
    made(canary.path(), &other);
    let (ran, document) = judged(dir.path(), &["--canary", canary.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{document:#}");
}

#[test]
fn noisy_nights_count_and_three_beyond_eleven_are_a_regression() {
    let dir = TempDir::new().unwrap();
    let nights = [1.0, 1.9, 0.8, 1.4, 2.3, 1.1, 0.7, 1.6, 2.0, 0.9, 1.3, 14.0, 19.0, 12.0];
    made(dir.path(), &nights.map(|night| night * 1e9));
    for file in files(dir.path()) {
        let text = fs::read_to_string(dir.path().join(&file)).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        document["tests"][0]["watched"]["stolen"] = 0.3.into();
        fs::write(dir.path().join(&file), document.to_string()).unwrap();
    }
    let night = |at: usize| dir.path().join(format!("{at:04}.json"));
    for (newest, code, kind) in [(10, 0, "level"), (11, 3, "off"), (12, 3, "off"), (13, 3, "step")]
    {
        let (ran, document) = judged(dir.path(), &[night(newest).to_str().unwrap()]);
        assert_eq!(ran.code, Some(code), "{document:#}");
        let test = &document["tests"][0];
        assert_eq!(test["runs"], newest + 1, "{document:#}");
        let figure = &test["figures"][0];
        assert_eq!(figure["finding"]["kind"], kind, "{document:#}");
        let newest = figure["newest"].as_f64().unwrap();
        let expected = ["expected_low", "expected_high"].map(|end| figure[end].as_f64().unwrap());
        assert_eq!((expected[0]..=expected[1]).contains(&newest), kind == "level", "{figure:#}");
    }
}

#[test]
fn a_kept_run_says_at_once_that_it_will_not_count() {
    let (dir, server) = (TempDir::new().unwrap(), Server::redis());
    let line = format!("-t get --rps 400 --duration 60 -q --keep {}", dir.path().display());
    let running = server.keystorm(&line).start();
    running.until("has sent something", |_| server.calls("get") > 10);
    running.interrupt();
    let ran = running.wait();
    let why = "--keep: this run of GET will not count: it did not end as planned";
    assert!(ran.err.contains(why), "{ran:?}");
    let ran = server.run(&format!("-t get -n 300 -q --keep {}", dir.path().display())).ok();
    assert!(!ran.err.contains("will not count"), "{ran:?}");
}

#[test]
fn too_few_runs_decide_nothing_and_a_folder_without_any_is_named() {
    let (dir, server) = (TempDir::new().unwrap(), Server::redis());
    let kept = dir.path().to_str().unwrap();
    server.run(&format!("-n 300 -q -t get --keep {kept}")).ok();
    let file = dir.path().join(&files(dir.path())[0]);
    let (ran, document) = judged(dir.path(), &[file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(document["tests"][0]["runs"], 1, "a file of the folder counts once: {document:#}");
    let empty = TempDir::new().unwrap();
    let ran = keystorm(&["history", empty.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("there is no saved run in it"), "{}", ran.err);
    assert_eq!(keystorm(&["compare", "--baseline", "/no/such"]).code, Some(1));
    assert_eq!(Keystorm::exec(KEYSTORM, ["history"]).run().code, Some(2));
}
