//! Deliveries of one command line are runs of one load: history, baselines, comparisons and sums take them as such,
//! although each has names of its own.

use std::fs;

use crate::deliver::deliver;
use crate::program::Keystorm;
use crate::server::{KEYSTORM, Server};

/// All kinds that one server has, each with another option than the next of its kind.
const LINES: [[&str; 2]; 6] = [
    ["pubsub --channels 2 --subscribers 4", "pubsub --channels 2 --subscribers 2"],
    ["list --receivers 2", "list --receivers 2 --pop blmove"],
    ["zset --receivers 2", "zset --receivers 2 --keys 2"],
    ["stream --groups 1 --consumers 2", "stream --receivers 2"],
    ["notify --enable-events", "notify --enable-events --event del"],
    ["invalidate --caches 2", "invalidate --tracking default --keys 3 --caches 2"],
];

#[test]
fn deliveries_of_one_line_are_one_series_and_of_another_are_not() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    for [line, other] in LINES {
        let folder = dir.path().join(line.split(' ').next().unwrap());
        let shown = folder.display().to_string();
        for line in [line, line, other] {
            let more = format!("{line} --rps 500 -n 100 -q --keep {shown}");
            deliver(&server, &more).run().ok();
        }
        let history = Keystorm::exec(KEYSTORM, ["history", &shown, "--json", "-"]).run();
        let document: serde_json::Value = serde_json::from_str(&history.out).unwrap();
        let series = document["series"].as_array().unwrap();
        let mut runs: Vec<usize> =
            series.iter().map(|one| one["entries"].as_array().unwrap().len()).collect();
        runs.sort_unstable();
        assert_eq!(runs, [1, 2], "{line}: {document}");
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<String> = files
            .map(|file| file.display().to_string())
            .filter(|file| file.ends_with(".json") && !file.contains("/.keystorm"))
            .collect();
        // Names have whole seconds.
        files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
        let [a, b, c] = [0, 1, 2].map(|at| files[at].as_str());
        Keystorm::exec(KEYSTORM, ["compare", a, b]).run().ok();
        let sum = Keystorm::exec(KEYSTORM, ["merge", a, b]).run().ok();
        assert!(sum.out.contains("200 sent"), "{line}: {}", sum.out);
        let apart = Keystorm::exec(KEYSTORM, ["compare", a, c]).run();
        assert_eq!(apart.code, Some(1), "{line}");
        // The options are named, and no prefix is.
        let named = ["--", "needs the same tests"].iter().any(|words| apart.err.contains(words));
        assert!(!apart.err.contains("prefix") && named, "{}", apart.err);
    }
}

#[test]
fn what_a_delivery_cannot_have_is_refused_for_a_reason_of_its_own() {
    let server = Server::redis();
    for (option, says) in [
        ("--probe 5", "deliver measures messages"),
        ("-l", "never ends"),
        ("--print-workload", "no workload file has receivers"),
    ] {
        deliver(&server, &format!("list -n 10 {option}")).run().exits(2).says(says);
    }
}
