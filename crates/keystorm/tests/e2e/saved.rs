//! `keystorm show` and `keystorm merge`: what was kept reads as it did, and adds up.

use std::fs;

use serde_json::Value;

use crate::program::Keystorm;
use crate::record::{json, place, valid_by};
use crate::server::{KEYSTORM, Server};

fn keystorm(args: &[&str]) -> Keystorm {
    Keystorm::exec(KEYSTORM, args)
}

#[test]
fn a_shown_run_is_to_the_byte_what_was_printed() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    let formats = ["text", "redis", "quiet", "csv", "classic", "json"];
    let loads = [
        "-n 2000 -t set,lrange_100",
        "-n 1000 --rps 3000 --first-byte --threads 2 get k",
        "-n 900 --on-error count incr a ';' lpush a b ';' set s 5",
        "-n 500 --rps 3000 --mix -r 9 -- 3 get m:__key__ ';?' set m:__key__ v ';' 1 incr n",
    ];
    for load in loads {
        for format in formats {
            let ran = server.run(&format!("--json {path} --format {format} {load}")).ok();
            let shown = keystorm(&["show", path, "--format", format]).run().ok();
            assert_eq!(shown.out, ran.out, "{format} of {load}");
        }
    }
    let shown = keystorm(&["show", path]).run().ok();
    assert_eq!(shown.out, keystorm(&["show", path, "--format", "text"]).run().ok().out);
    let piped = keystorm(&["show", "-"]).stdin(fs::read(&file).unwrap()).run().ok();
    assert_eq!(piped.out, shown.out);
}

#[test]
fn a_reader_who_has_seen_enough_ends_nothing_in_the_midst_of_a_report() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    server.run(&format!("--json {path} -n 100 -q get k")).ok();
    let line = format!("{KEYSTORM} show {path} | head -1; exit ${{PIPESTATUS[0]}}");
    let ran = Keystorm::exec("bash", ["-c", &line]).run().ok();
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
}

#[test]
fn a_run_that_was_interrupted_is_shown_as_it_was() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    let running = server.keystorm(&format!("--json {path} --duration 30 get k")).start();
    running.until("load runs", |_| server.calls("get") > 200);
    running.interrupt();
    let ran = running.wait().exits(130);
    let shown =
        keystorm(&["show", path]).run().ok().says("interrupted after ").says(" of 30.0 s; ");
    assert_eq!(shown.out, ran.out);
}

#[test]
fn merged_runs_add_up() {
    let server = Server::redis();
    let (dir, file) = place();
    let of = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (of("a"), of("b"));
    let both = [(&a, 3000, 5), (&b, 4000, 7)].map(|(path, n, c)| {
        let line = format!("--json {path} -t set,get -n {n} -c {c} -q --seed {n}");
        server.keystorm(&line).start()
    });
    for running in both {
        running.wait().ok();
    }
    let merged = file.to_str().unwrap();
    let ran = keystorm(&["merge", &a, &b, "-o", merged]).run().ok();
    assert_eq!(ran.out, "");
    let (a, b, merged) = (json(a.as_ref()), json(b.as_ref()), json(&file));
    for (at, name) in ["SET", "GET"].iter().enumerate() {
        let [a, b, m] = [&a, &b, &merged].map(|document| &document["tests"][at]);
        let sum = |path: &str| {
            let number = |v: &Value| v.pointer(path).unwrap().as_u64().unwrap();
            assert_eq!(number(m), number(a) + number(b), "{path}");
        };
        assert_eq!(m["name"], *name);
        assert_eq!(m["requests"], 7000);
        sum("/connections/bytes_in");
        // Response times are of the span in which both ran, however long that was.
        sum("/latency_ms/service/exact/count");
        sum("/latency_ms/service/exact/sum_ns");
        let max = |v: &Value| v["latency_ms"]["service"]["max"].as_f64().unwrap();
        assert_eq!(max(m), max(a).max(max(b)));
        let points = m["timeline"].as_array().unwrap().iter();
        assert_eq!(points.map(|p| p["requests"].as_u64().unwrap()).sum::<u64>(), 7000);
        assert_eq!(merged["plan"][at]["load"]["concurrency"]["connections"], 12);
    }
    let shown = keystorm(&["show", file.to_str().unwrap()]).run().ok();
    assert_eq!(shown.completed().0, 7000);
    let printed = keystorm(&["merge", &of("a"), &of("b"), "--format", "quiet"]).run().ok();
    assert_eq!(printed.out.lines().count(), 3, "{}", printed.out);
}

#[test]
fn runs_that_differ_are_refused_by_what_differs() {
    let server = Server::redis();
    let (dir, _) = place();
    let kept = |name: &str, line: &str| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        server.run(&format!("--json {path} -q -n 100 {line}")).ok();
        path
    };
    let base = kept("base", "-t get");
    for (name, line, difference) in [
        ("p", "-t get -P 2", "-P is not given in "),
        ("t", "-t set", "-t is get in "),
        ("r", "-t get --rps 5k", "--rps is not given in "),
        ("d", "-t get,set", "tests"),
        ("k", "-t get -r 100", "-r is not given in "),
    ] {
        let other = kept(name, line);
        let ran = keystorm(&["merge", &base, &other]).run().exits(1).says(difference);
        assert_eq!(ran.out, "");
    }
    keystorm(&["merge", &base, "/no/such"]).run().exits(1).says("/no/such");
    keystorm(&["merge"]).run().exits(2).says("FILE");
    keystorm(&["merge", &base, "-o", "/no/dir/f"]).run().exits(1).says("-o /no/dir/f");
}

#[test]
fn files_of_others_are_refused_in_words() {
    let server = Server::redis();
    let (dir, file) = place();
    server.run(&format!("--json {} -q -n 100 get k", file.display())).ok();
    let good = fs::read_to_string(&file).unwrap();
    let bad = dir.path().join("bad");
    let cases = [
        (good[..good.len() / 2].to_owned(), "truncated"),
        (String::new(), "empty"),
        ("a,b\n1,2\n".into(), "not JSON"),
        ("{\"schema\": \"x\\u001b[31m\"}".into(), "not a saved run"),
        (good.replace("keystorm.run/1", "keystorm.run/9"), "another version"),
        (good.replace("\"requests\": 100", "\"requests\": 1e99"), "invalid"),
        (good.replace("\"connections\": 50", "\"connections\": 4000000000"), "-c 4000000000"),
        ("[".repeat(100_000), "bad"),
    ];
    for (text, reason) in cases {
        fs::write(&bad, text).unwrap();
        for command in ["show", "merge"] {
            let ran = keystorm(&[command, bad.to_str().unwrap()]).run().exits(1).says(reason);
            let ran = ran.says("bad: ");
            assert!(ran.out.is_empty() && !ran.err.contains('\x1b'), "{ran:?}");
        }
    }
    let hostile = good.replace("\"name\": \"get k\"", "\"name\": \"\\u001b[2Jget\\u202e\"");
    fs::write(&bad, hostile).unwrap();
    for format in ["text", "quiet", "csv", "classic", "json"] {
        let ran = keystorm(&["show", bad.to_str().unwrap(), "--format", format]).run().ok();
        assert!(!ran.out.contains(['\x1b', '\u{202e}']), "{}", ran.out);
    }
    keystorm(&["show"]).run().exits(2).says("FILE");
    keystorm(&["show", "f", "--format", "xml"]).run().exits(2).says("--format");
}

#[test]
fn a_file_of_thousands_of_tests_takes_little_memory() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    server.run(&format!("--json {path} -q -n 2000 --rps 20k get k")).ok();
    let mut document = json(&file);
    const TESTS: usize = 1000;
    for list in ["plan", "tests"] {
        let one = document[list][0].clone();
        document[list] = vec![one; TESTS].into();
    }
    fs::write(&file, document.to_string()).unwrap();
    for command in ["show", "merge"] {
        let args = [command, path, "--format", "quiet"];
        let ran = keystorm(&args).within_memory(5 << 27).run().ok();
        assert_eq!(ran.out.lines().count(), TESTS, "{command}");
    }
}

#[test]
fn repeats_of_a_command_share_an_entry() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    server.run(&format!("--json {path} -q -n 300 -- 2 get k ';' ping")).ok();
    let document = json(&file);
    let commands = |document: &Value| -> Vec<(String, u64)> {
        let commands = document["tests"][0]["commands"].as_array().unwrap().iter();
        commands
            .map(|c| {
                (
                    c["name"].as_str().unwrap().into(),
                    c["service_ms"]["exact"]["count"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    assert_eq!(commands(&document), [("GET".into(), 200), ("PING".into(), 100)]);
}

#[test]
fn shares_without_one_that_is_lost_add_up_and_every_layout_says_so() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let files = ["1", "3"].map(of);
    let shares = ["1/3", "3/3"].into_iter().zip(&files).map(|(shard, file)| {
        let line = format!("--shard {shard} -c 6 --rps 300 --duration 1 -q --json {file} get k");
        server.keystorm(&line).start()
    });
    for share in shares.collect::<Vec<_>>() {
        share.wait().ok();
    }
    // Alone, a share is measured by what was its own.
    let record = report::Record::from_json(&fs::read(&files[0]).unwrap()).unwrap();
    let run = record.load().unwrap().runs.remove(0);
    let chart = report::page::runs::throughput_over_time("", &run);
    let asked = chart.series.iter().find(|series| series.name == "requested").unwrap();
    assert!(asked.points.iter().all(|point| (point.y - 100.0).abs() < 1.0), "{:?}", asked.points);
    let merge = |more: &[&str]| {
        let args = ["merge", &files[0], &files[1]].into_iter().chain(more.iter().copied());
        keystorm(&args.collect::<Vec<_>>()).run()
    };
    merge(&[]).exits(1).says("share 2/3 is missing; to merge the others, use --missing 2");
    let text = "share 2 of 3 is missing; all figures are of the others";
    for format in ["text", "quiet", "csv", "classic", "json"] {
        let ran = merge(&["--missing", "2", "--format", format]).ok();
        assert!(format!("{}{}", ran.out, ran.err).contains(text), "{format}: {ran:?}");
    }
    let (whole, html) = (of("whole.json"), of("whole.html"));
    merge(&["--missing", "2", "-o", &whole, "--html", &html]).ok();
    assert!(fs::read_to_string(html).unwrap().contains(text));
    let document = json(std::path::Path::new(&whole));
    valid_by("keystorm.run.1.json", &document);
    assert_eq!(document["complete"], false);
    assert_eq!(document["plan"][0]["load"]["concurrency"]["connections"], 4);
    assert_eq!(document["tests"][0]["requests"], server.calls("get"));
    let shown = keystorm(&["show", &whole]).run().ok();
    shown.prints("INCOMPLETE: share 2 of 3");
}
