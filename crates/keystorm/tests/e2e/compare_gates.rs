//! The gates of `keystorm compare`: when it ends with another exit code than 0.

use crate::compare::{address, compare, exits_as_decided};
use crate::program::Keystorm;
use crate::record::{json, place, valid_by};
use crate::server::{KEYSTORM, Server};

#[test]
fn a_regression_has_an_exit_code_of_its_own() {
    let (fast, slow) = (Server::redis(), Server::redis());
    fast.ask(&["RPUSH", "l", "x"]);
    let many: Vec<String> = (0..5000).map(|n| format!("value-{n}")).collect();
    let words: Vec<&str> =
        ["RPUSH", "l"].into_iter().chain(many.iter().map(String::as_str)).collect();
    slow.ask(&words);
    let line = "-n 200 -c 2 --repeat 4 --fail-on-regression 20% lrange l 0 -1";
    let (dir, _) = place();
    let page = dir.path().join("gate.html");
    let with_page = line.replace("--repeat", &format!("--html {} --repeat", page.display()));
    let worse = compare(&address(&fast), &address(&slow), &with_page).decided().exits(3);
    worse.prints("Gate failed: ").prints("worse, ");
    // The first card of the page, in the colour of what went wrong.
    let html = std::fs::read_to_string(page).unwrap();
    let cards: Vec<&str> = html.split("class=\"verdict ").skip(1).collect();
    assert!(cards[0].starts_with("bad\"") && cards[0].contains(">Gate failed<"), "{}", cards[0]);
    assert!(cards[1..].iter().all(|card| !card.contains(">Gate failed<")));
    let quiet = line.replace("-n 200", "-q -n 200");
    let quiet = compare(&address(&fast), &address(&slow), &quiet).decided().exits(3);
    let quiet = quiet.says("Gate failed: ");
    assert_eq!(quiet.out.lines().count(), 1, "{}", quiet.out);
    // A busy machine may leave throughput undecided; what the server spent is plain.
    quiet.prints("lrange l 0 -1: ").prints(" is worse: its ").prints("; ");
    let better = compare(&address(&slow), &address(&fast), line).decided().exits_by_gate();
    assert_ne!(better.code, Some(3), "{better:?}");
    better.prints("better, ");
    let line = line.replace("-n 200", "--csv -n 200");
    compare(&address(&fast), &address(&slow), &line).decided().exits(3).says("Gate failed: ");
}

#[test]
fn each_state_of_a_gate_has_its_exit_code() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let kept = |name: &str, line: &str| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        server.run(&format!("--json {path} -q -n 300 -t set {line}")).ok();
        path
    };
    // One run a side has no interval: the runs do not say, whatever they are.
    let (a, b) = (kept("a", ""), kept("b", ""));
    for (option, code) in [("", 4), ("--inconclusive pass", 0), ("--inconclusive fail", 3)] {
        let line = format!("--fail-on-regression 5 {option}");
        let ran = Keystorm::exec(
            KEYSTORM,
            ["compare", &a, &b]
                .map(str::to_owned)
                .into_iter()
                .chain(shell_words::split(&line).unwrap()),
        );
        let ran = ran.run().exits(code).prints("Gate undecided: ");
        assert!(
            !ran.out.contains("Gate passed") && !ran.out.contains("Gate failed"),
            "{}",
            ran.out
        );
    }
    let line = ["compare", &a, &b, "--fail-on-regression", "5", "--inconclusive", "repeat"];
    Keystorm::exec(KEYSTORM, line).run().exits(2).says("saved runs have no further blocks");
    // A run is like itself, so nothing is worse.
    let (c, d) = (kept("c", "--repeat 3"), dir.path().join("d"));
    std::fs::copy(&c, &d).unwrap();
    let line = ["compare", &c, d.to_str().unwrap(), "--fail-on-regression", "99"];
    let ran = Keystorm::exec(KEYSTORM, line).run().exits_by_gate();
    assert_ne!(ran.code, Some(3), "{ran:?}");
    compare(&a, &b, "--inconclusive pass").run().exits(2);
    let line = ["compare", &a, &b, "--inconclusive", "pass"];
    Keystorm::exec(KEYSTORM, line).run().exits(2).says("requires --fail-on-regression");
}

#[test]
fn a_server_that_answers_errors_passes_no_gate_and_has_no_ratio() {
    let (good, broken) = (Server::redis(), Server::redis());
    good.ask(&["SET", "x", "1"]);
    broken.ask(&["RPUSH", "x", "1"]);
    let (_dir, file) = place();
    let gate = format!("-n 200 -c 2 --repeat 2 --json {} --fail-on-regression 5", file.display());
    let all = compare(&address(&good), &address(&broken), &format!("{gate} get x")).run().exits(3);
    let words = all.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no ratio: 100.0 % of the requests to "), "{words}");
    assert!(words.contains("and at most 0.1 % may (--errors)"), "{words}");
    assert!(!words.contains("No regression") && !words.contains(" better"), "{words}");
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(document["tests"][0]["servers"][1]["failed_percent"], 100.0);
    // Half of them, and the other way round.
    let half = format!("{gate} --mix -- 1 get x ';' 1 get y");
    for (a, b) in [(&good, &broken), (&broken, &good)] {
        let ran = compare(&address(a), &address(b), &half).run().exits(3);
        ran.prints("no ratio: ").prints("--errors)");
    }
    // As many as are allowed fail no gate, and without a gate nothing is judged.
    compare(&address(&good), &address(&broken), "-n 200 --repeat 2 get x").run().ok();
    compare(&address(&good), &address(&broken), "-n 200 --repeat 2 --errors 50 get x")
        .run()
        .exits(3);
    let allowed = "-n 200 --repeat 2 --errors 100 get x";
    let ran = compare(&address(&good), &address(&broken), allowed).run().ok();
    ran.prints("failed requests: 0.0 % to ");
    compare(&address(&good), &address(&broken), "--errors 101 get x")
        .run()
        .exits(2)
        .says("--errors");
}

/// What noise cannot make is judged whatever else goes on, also in blocks in which the client was late.
#[test]
fn errors_fail_a_gate_beside_other_programs() {
    let (good, broken) = (Server::redis(), Server::redis());
    good.ask(&["SET", "x", "1"]);
    broken.ask(&["RPUSH", "x", "1"]);
    let mut loops: Vec<_> = (0..2)
        .map(|_| {
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
        })
        .collect();
    let line = format!(
        "compare {} {} --rps 300 --duration 0.2 --repeat 2 --fail-on-regression 5 get x",
        address(&good),
        address(&broken)
    );
    let ran = Keystorm::new(&line).run();
    for other in &mut loops {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    ran.exits(3).prints("Gate failed: ").prints("no ratio: 100.0 % of the requests to ");
}

#[test]
fn a_gate_is_about_the_figures_that_it_names() {
    let (a, b) = (Server::redis(), Server::redis());
    let (_dir, file) = place();
    let line = format!(
        "-n 300 -c 2 --repeat 3 --json {} --fail-on-regression 99 --metric server-cpu,p50 -t set",
        file.display()
    );
    compare(&address(&a), &address(&b), &line).run().exits_by_gate();
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    let figures = &document["regression"]["figures"];
    assert_eq!(*figures, serde_json::json!(["server_cpu_us_per_request", "p50_ms"]));
    for found in ["found", "not_excluded", "not_known"] {
        for regression in document["regression"][found].as_array().unwrap() {
            assert!(figures.as_array().unwrap().contains(&regression["figure"]), "{regression}");
        }
    }
    let refused = compare(&address(&a), &address(&b), "--fail-on-regression 5 --metric cpu").run();
    refused.exits(2).says("server-cpu");
    let refused = compare(&address(&a), &address(&b), "--metric server-cpu").run();
    refused.exits(2).says("--metric requires --fail-on-regression");
}

/// A server that answers errors fails a gate however busy the machine is.
#[test]
fn a_decision_between_several_servers_is_judged_by_the_gate() {
    let (good, other, broken) = (Server::redis(), Server::redis(), Server::redis());
    good.ask(&["SET", "x", "1"]);
    other.ask(&["SET", "x", "1"]);
    broken.ask(&["RPUSH", "x", "1"]);
    let (dir, file) = place();
    let page = dir.path().join("gate.html");
    let line = |gate: &str| {
        format!(
            "{} -n 200 -c 2 --repeat 4 --json {} --html {} {gate} get x",
            address(&broken),
            file.display(),
            page.display()
        )
    };
    let ran = compare(&address(&good), &address(&other), &line("--fail-on-regression 20"));
    let ran = ran.run().exits(3).prints("Gate failed: ");
    assert!(!ran.out.contains("Gate passed"), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(document["regression"]["state"], "failed");
    let html = std::fs::read_to_string(&page).unwrap();
    let cards: Vec<&str> = html.split("class=\"verdict ").skip(1).collect();
    assert!(cards[0].starts_with("bad\"") && cards[0].contains(">Gate failed<"), "{}", cards[0]);
    let quiet = line("--fail-on-regression 20 -q");
    compare(&address(&good), &address(&other), &quiet).run().exits(3).says("Gate failed: ");
    // Without a gate nobody judges.
    compare(&address(&good), &address(&other), &line("")).run().ok();
}

#[test]
fn a_gate_at_a_rate_or_at_several_fails_for_a_server_that_answers_errors() {
    let (good, broken) = (Server::redis(), Server::redis());
    good.ask(&["SET", "x", "1"]);
    broken.ask(&["RPUSH", "x", "1"]);
    for rates in ["200", "200,400"] {
        let line = format!("--rps {rates} --slo 'p50<30s' --duration 0.2 --repeat 2");
        let run = |gate: &str| {
            compare(&address(&good), &address(&broken), &format!("{line} {gate} get x")).run()
        };
        run("--fail-on-regression 5").exits(3).prints("Gate failed: ").prints("--errors)");
        run("--errors 50").exits(3);
        run("--fail-on-regression 5 -q").exits(3).says("Gate failed: ");
        // Without a gate it is asked which keeps the target, and a run that only fails may not say.
        let (_dir, file) = place();
        let ran = run(&format!("--json {}", file.display()));
        exits_as_decided(&ran, &json(&file));
        // Errors per second are no limit of a server, and nothing that succeeded has no response time.
        let cost = json(&file)["tests"][0]["servers"][1]["cost"].clone();
        let mean = &cost["clauses"][0]["mean"];
        assert!(cost["limit_rps"].is_null() && mean.is_null(), "{rates}: {cost}");
    }
}

#[test]
fn a_decision_that_is_open_takes_more_blocks_if_it_may() {
    let (a, b) = (Server::redis(), Server::redis());
    let (_dir, file) = place();
    let line = format!(
        "--rps 400 --slo 'p50<30s' --duration 0.1 --repeat 2 --disturbed count -t set --json {} \
         --fail-on-regression 0 --inconclusive repeat",
        file.display()
    );
    let ran = compare(&address(&a), &address(&b), &line).run().exits_by_gate();
    let runs = json(&file)["tests"][0]["servers"][1]["runs"].as_u64().unwrap();
    match ran.code {
        // Looked at three times, each time at twice as many blocks of two runs.
        Some(4) => assert_eq!(runs, 16, "{ran:?}"),
        Some(0 | 3) => assert!([4, 8, 16].contains(&runs), "{ran:?}"),
        _ => panic!("{ran:?}"),
    }
}
