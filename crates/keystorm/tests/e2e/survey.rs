//! `keystorm survey`: the structure of what it measures; never how fast.

use std::fs;
use std::sync::LazyLock;

use lab::Document;
use serde_json::Value;
use workload::{Endpoint, Plan};

use crate::browser;
use crate::program::Keystorm;
use crate::server::Server;

/// A survey of a spawned server with every chapter, as printed and saved.
struct Surveyed {
    out: String,
    document: Value,
    html: String,
    files: usize,
}

impl Surveyed {
    fn survey(&self) -> lab::Survey {
        serde_json::from_value(self.document.clone()).unwrap()
    }
}

static SURVEYED: LazyLock<Surveyed> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let line = format!(
        "survey --quick --spawn=redis-server --with memcached --seconds 0.05 --keys 2000 --all -o {}",
        dir.path().display()
    );
    let ran = Keystorm::new(&line).run().ok();
    let text = fs::read_to_string(dir.path().join("survey.json")).unwrap();
    Surveyed {
        out: ran.out,
        document: serde_json::from_str(&text).unwrap(),
        html: fs::read_to_string(dir.path().join("survey.html")).unwrap(),
        files: fs::read_dir(dir.path()).unwrap().count(),
    }
});

fn points<'s>(survey: &'s lab::Survey, key: &str) -> &'s [lab::survey::StepResult] {
    &survey.chapters.iter().find(|c| c.key == key).unwrap().points
}

#[test]
fn a_survey_of_a_spawned_server_has_every_chapter() {
    let document = &SURVEYED.document;
    crate::record::valid_by("keystorm.survey.1.json", document);
    assert_eq!((&document["complete"], &document["quick"]), (&true.into(), &true.into()));
    let survey = SURVEYED.survey();
    let keys: Vec<&str> = survey.chapters.iter().map(|c| c.key.as_str()).collect();
    let all = [
        "suite",
        "pipeline",
        "transport",
        "payload",
        "connections",
        "messages",
        "placement",
        "instances",
        "memcached",
    ];
    assert_eq!(keys, all);
    let out = &SURVEYED.out;
    for chapter in &survey.chapters {
        assert!(out.lines().any(|line| line == chapter.title), "{out}");
        assert!(!chapter.points.is_empty(), "{}", chapter.key);
        for point in &chapter.points {
            assert!(!point.figures.is_empty(), "{}: {point:?}", chapter.key);
            assert!(point.figures.iter().all(|run| !run.verdict.is_empty()));
        }
    }
    for about_itself in ["were misses", "share CPU"] {
        assert!(!out.contains(about_itself), "{out}");
    }
}

#[test]
fn each_chapter_of_a_survey_measures_its_points() {
    let survey = SURVEYED.survey();
    assert_eq!(points(&survey, "suite").len(), 12);
    assert_eq!(points(&survey, "pipeline").len(), 8);
    let messages = points(&survey, "messages");
    let labels: Vec<&str> = messages.iter().map(|p| p.label.as_str()).collect();
    let all = ["1 subscriber", "50 subscribers", "list, 10 receivers", "stream, group of 10"];
    assert_eq!(labels, all);
    let [one, fifty] = [0, 1].map(|at| messages[at].figures[0].requests);
    assert!(one > 10 && fifty > 10 * one, "{one} and {fifty} deliveries");
    assert_eq!(points(&survey, "instances")[1].figures.len(), 2, "two at the same time");
    let beside: Vec<&str> =
        points(&survey, "memcached").iter().map(|p| p.series.as_str()).collect();
    assert_eq!(beside, ["Redis", "memcached", "Redis", "memcached"]);
}

#[test]
fn the_runs_of_a_survey_are_saved_with_their_plans() {
    let survey = SURVEYED.survey();
    let runs = survey.load().unwrap();
    let plans = |key: &str| points(&survey, key).iter().map(|p| &runs[p.tests[0]].plan);
    let sizes: Vec<u64> = plans("payload").map(|plan| plan.data.payload_bytes).collect();
    assert_eq!(sizes, [10, 10, 1000, 1000, 100_000, 100_000]);
    let unix = |plan: &&Plan| matches!(plan.target.endpoint, Endpoint::Spawned { unix: true, .. });
    assert_eq!(plans("transport").filter(unix).count(), 2);
    for (run, number) in runs.iter().zip(0..) {
        let misses: u64 = run.measurement.total.commands.iter().map(|of| of.miss).sum();
        assert_eq!(misses, 0, "run {number}, {}", run.plan.name);
    }
}

#[test]
fn a_survey_has_a_page_with_charts() {
    let html = &SURVEYED.html;
    assert!(html.contains("<h1>How fast is Redis 7.") || html.contains("<h1>How fast is Valkey "));
    assert!(html.contains("Large values") && html.contains("limited by: "));
    let survey = SURVEYED.survey();
    let charts: Vec<report::page::Chart> =
        survey.chapters.iter().flat_map(|c| c.charts()).collect();
    assert_eq!(charts.len(), 11, "one a chapter, and two of sizes and of connections");
    let points =
        |chart: &report::page::Chart| chart.series.iter().map(|s| s.points.len()).collect();
    let charts: Vec<(&str, Vec<usize>)> =
        charts.iter().map(|chart| (chart.title.as_str(), points(chart))).collect();
    browser::holds(html, &charts);
    assert_eq!(SURVEYED.files, 2, "nothing else is left");
}

#[test]
fn memcached_is_surveyed_with_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let line = "survey --quick --spawn=memcached --seconds 0.05 --keys 1000 -o";
    let ran = Keystorm::new(&format!("{line} {}", dir.path().display())).run().ok();
    let text = fs::read_to_string(dir.path().join("survey.json")).unwrap();
    let survey: lab::Survey = serde_json::from_str(&text).unwrap();
    let points = |key: &str| survey.chapters.iter().find(|c| c.key == key).unwrap().points.len();
    assert_eq!([points("suite"), points("pipeline"), points("messages")], [3, 4, 0]);
    assert!(points("transport") == 4 && points("payload") == 6, "{}", ran.out);
    for (run, number) in survey.load().unwrap().iter().zip(0..) {
        let misses: u64 = run.measurement.total.commands.iter().map(|of| of.miss).sum();
        assert!(misses == 0 && run.plan.protocol.is_memcache(), "{number}: {}", run.plan.name);
    }
    let given = Keystorm::new("survey -p 11211 --protocol memcache").run().exits(2);
    given.says("--spawn=memcached");
}

#[test]
fn a_given_server_is_measured_where_it_is() {
    let (server, dir) =
        (Server::redis_with(&["--maxclients", "500"]), tempfile::tempdir().unwrap());
    let line = format!(
        "survey -p {} --quick --seconds 0.03 --keys 1000 -o {}",
        server.port(),
        dir.path().display()
    );
    let ran = Keystorm::new(&line).run().ok();
    assert!(ran.out.contains("Use --spawn"), "{}", ran.out);
    let text = fs::read_to_string(dir.path().join("survey.json")).unwrap();
    let survey: lab::Survey = serde_json::from_str(&text).unwrap();
    let labels = |key: &str| -> Vec<String> {
        let chapter = survey.chapters.iter().find(|c| c.key == key).unwrap();
        chapter.points.iter().map(|p| p.label.clone()).collect()
    };
    assert_eq!(labels("connections"), ["1", "10", "100", "300"], "200 are left to others");
    assert_eq!(labels("messages").len(), 4);
    assert!(labels("placement").is_empty() && labels("instances").is_empty());
    ran.says(&format!(
        "The survey writes keys to 127.0.0.1:{}; at the end it removes all",
        server.port()
    ));
    assert!(server.calls("set") >= 1000, "the keys were filled");
    assert_eq!(server.number(&["DBSIZE"]), 0, "{:?}", server.keys());
}

#[test]
fn a_database_with_keys_is_left_alone() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    server.ask(&["SET", "precious", "1"]);
    server.ask(&["SET", "key:000000000007", "theirs"]);
    let line = format!("survey -p {} --quick -o {}", server.port(), dir.path().display());
    let refused =
        format!("127.0.0.1:{} has 2 keys, and a survey needs an empty database", server.port());
    Keystorm::new(&line).run().exits(1).says(&refused).says("--dbnum N").says("--spawn");
    Keystorm::new(&format!("{line} --keep")).run().exits(1).says(&refused);
    server.ask(&["MOVE", "precious", "2"]);
    let ran = Keystorm::new(&format!("{line} --dbnum 2")).run().exits(1);
    ran.says(&format!("database 2 of 127.0.0.1:{} has 1 key, ", server.port()));
    assert_eq!((server.calls("set"), server.calls("scan")), (2, 0), "nothing was tried");
    assert_eq!(server.keys(), ["key:000000000007"]);
}

#[test]
fn a_database_that_was_empty_is_empty_afterwards() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    // Of others, of a name that a survey has too: in another database.
    server.ask(&["SET", "precious", "1"]);
    server.ask(&["SET", "key:000000000007", "ours"]);
    let library = "#!lua name=others\nredis.register_function('theirs', function() return 1 end)";
    server.ask(&["FUNCTION", "LOAD", library]);
    let keys_of = |db: &str| {
        server.ask(&["SELECT", db]);
        let keys = server.keys();
        server.ask(&["SELECT", "0"]);
        keys
    };
    let left = |ran: &str| {
        assert_eq!(keys_of("0"), ["key:000000000007", "precious"], "{ran}");
        assert_eq!(keys_of("3"), [""; 0], "{ran}");
    };
    let line = format!(
        "survey -p {} --dbnum 3 --seconds 0.02 --keys 1000 -o {}",
        server.port(),
        dir.path().display()
    );
    let ran = Keystorm::new(&line).run().ok();
    let ran = ran.says("The survey writes keys to database 3 of ").says("Removed ");
    left(&ran.err);
    let libraries = format!("{:?}", server.ask(&["FUNCTION", "LIST"]));
    assert_eq!(libraries.matches(&format!("{:?}", b"library_name")).count(), 1);
    // An interruption leaves nothing either.
    let running = Keystorm::new(&line).start();
    running.until("keys are written", |_| keys_of("3").len() > 500);
    running.interrupt();
    left(&running.wait().exits(130).err);
    // Nor does a failed run, here of a user who may not remove keys in the usual way.
    server.ask(&["ACL", "SETUSER", "ann", "on", ">secret1", "~*", "+@all", "-incr", "-unlink"]);
    let ran = Keystorm::new(&format!("{line} --quick --user ann -a secret1")).run().exits(1);
    left(&ran.says("Removed ").err);
    assert!(server.calls("del") > 0 && server.calls("flushdb") + server.calls("flushall") == 0);
    let page = dir.path().join("named.html");
    let html = page.display();
    let ran = Keystorm::new(&format!("{line} --quick --keep --html {html}")).run().ok();
    ran.says("--keep leaves them there").prints(&format!("Wrote {html} and "));
    assert!(page.exists() && keys_of("3").len() >= 1000);
}

#[test]
fn what_a_survey_decides_itself_is_refused() {
    for (line, says) in [
        ("-c 10", "keystorm sweep"),
        ("-t get", "keystorm sweep"),
        ("--workload file", "keystorm sweep"),
        ("--spawn get k", "its own commands"),
        ("--seconds 0", "--seconds"),
    ] {
        Keystorm::new(&format!("survey {line}")).run().exits(2).says(says);
    }
    Keystorm::new("survey -p 1 -o /proc/nowhere").run().exits(1).says("-o");
}
