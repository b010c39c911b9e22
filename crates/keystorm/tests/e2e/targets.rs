//! `--slo` on a run: kept, missed or undecided, in every report and by the exit code.

use std::process::{Child, Command};
use std::time::Duration;

use crate::listener::Listener;
use crate::program::Keystorm;
use crate::real_clock::holds_when_quiet;
use crate::record::{json as document, valid_by};
use crate::server::{Server, start};

/// What each test of a saved run says of its target.
fn outcomes(path: &std::path::Path) -> Vec<String> {
    let json = document(path);
    let tests = json["tests"].as_array().unwrap().iter();
    tests.map(|test| test["target"]["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_test_is_held_against_the_target_in_every_report() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (json, page) = (file("run.json"), file("run.html"));
    let line = format!("-t set,get -n 3000 -c 4 --slo p50<60s --json {json} --html {page}");
    let kept = server.run(&line).ok();
    kept.prints("  target p50<60s: kept (p50 ");
    assert_eq!(outcomes(json.as_ref()), ["kept", "kept"]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("p50 &lt; 60 s") && html.contains("kept ("), "no such figure");
    // What was saved says it again.
    Keystorm::new(&format!("show {json} --format quiet")).run().ok().prints("p50<60s kept (");

    valid_by("keystorm.run.1.json", &document(json.as_ref()));
}

#[test]
fn a_target_that_is_missed_fails_the_command() {
    let server = Server::redis();
    // Not even the quickest reply keeps these, so no other program is to blame.
    for target in ["max<1ns", "mean<1ns", "p99<1us"] {
        let ran = server.run(&format!("-t get -n 3000 -c 4 -q --slo {target}")).exits(3);
        assert!(ran.out.contains(&format!(", {target} missed (")), "{}", ran.out);
    }
    let ran = server.run("-n 2000 -c 4 --slo errors<1% nosuchcommand").exits(3);
    ran.prints("target errors<1%: missed: errors 100 %");
}

/// Programs that take as much CPU as they get.
pub(crate) struct BusyLoops(Vec<Child>);

impl BusyLoops {
    /// As many as there are CPUs.
    pub(crate) fn start() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let busy = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            start(command).expect("a shell")
        };
        Self((0..cpus).map(busy).collect())
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn what_the_server_recorded_is_judged_beside_programs_that_hold_the_cpu() {
    let server = Server::redis();
    let _busy = BusyLoops::start();
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("run.json");
    let line = format!("--rps 500 --duration 10 --slo p99<10ms --json {} get k", json.display());
    let running = server.keystorm(&line).start();
    // The longest waits of a machine with other programs, and what a hypervisor takes, are shorter than these.
    for calls in [500, 1500, 2500] {
        running.until("load runs", |_| server.calls("get") >= calls);
        server.ask(&["DEBUG", "SLEEP", "1"]);
    }
    running.wait().exits(3).prints("and events that the server recorded made ");
    let document = document(&json);
    valid_by("keystorm.run.1.json", &document);
    let recorded = document["tests"][0]["target"]["bounds"][0]["recorded"].as_f64().unwrap();
    // Three times 1 s of 10 s, less the server's own waits for a CPU.
    assert!(recorded > 0.01 && recorded < 0.5, "{recorded}");
    // The verdict and the worst moments name them as often.
    let test = &document["tests"][0];
    let slowest = &test["verdict"]["causes"]["commands"][0];
    assert_eq!((slowest["name"].as_str(), slowest["count"].as_u64()), (Some("DEBUG"), Some(3)));
    assert!(test["verdict"]["text"].as_str().unwrap().contains("DEBUG 3 times, "), "{test:#}");
    assert!(test["worst_moments"]["totals"].to_string().contains("DEBUG 3 times, "), "{test:#}");
}

#[test]
fn scripts_and_keys_that_block_a_server_are_named_by_the_verdict_and_by_the_page() {
    const BLOCKS: &str = "local t = redis.call('TIME') local from = t[1] * 1000000 + t[2] \
                          repeat t = redis.call('TIME') until t[1] * 1000000 + t[2] - from >= 150000";
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "slowlog-log-slower-than", "5000"]);
    server.ask(&["DEBUG", "POPULATE", "1000000", "key", "20"]);
    let dir = tempfile::tempdir().unwrap();
    let [json, page] = ["run.json", "run.html"].map(|name| dir.path().join(name));
    let files = format!("--json {} --html {}", json.display(), page.display());
    let running = server.keystorm(&format!("--rps 500 --duration 60 {files} get k")).start();
    let goes_on = || {
        let before = server.calls("get");
        running.until("load runs", |_| server.calls("get") >= before + 400);
    };
    for _ in 0..3 {
        goes_on();
        server.ask(&["EVAL", BLOCKS, "0"]);
        server.ask(&["KEYS", "nothing*"]);
    }
    goes_on();
    running.interrupt();
    running.wait().exits(130);
    let document = document(&json);
    valid_by("keystorm.run.1.json", &document);
    let verdict = &document["tests"][0]["verdict"];
    let commands = verdict["causes"]["commands"].as_array().unwrap();
    let times = |name: &str| {
        let of = commands.iter().find(|of| of["name"] == name);
        of.and_then(|of| of["count"].as_u64()).unwrap_or_default()
    };
    // What runs within the script is a part of it.
    assert_eq!([times("EVAL"), times("KEYS"), times("TIME")], [3, 3, 0], "{verdict:#}");
    let text = verdict["text"].as_str().unwrap();
    let names = |text: &str| text.contains("EVAL 3 times, ") && text.contains("KEYS 3 times, ");
    let page = std::fs::read_to_string(page).unwrap();
    let named = names(text) && names(&page);
    holds_when_quiet("slow commands are the largest cause", named, text);
}

#[test]
fn too_few_requests_decide_nothing() {
    let server = Server::redis();
    let few = server.run("-t get -n 100 -c 1 --slo p99.9<60s").exits(4);
    few.prints("100 requests are too few, use 10,000 or more");
}

#[test]
fn repeats_are_judged_together() {
    let server = Server::redis();
    let line = "-t get -n 600 -c 4 --repeat 5 --slo mean<60s";
    let together = server.run(line).ok();
    assert_eq!(together.out.matches("target mean<60s: kept").count(), 6, "{}", together.out);
}

#[test]
fn no_target_is_kept_by_requests_that_fail() {
    let server = Server::redis();
    server.ask(&["RPUSH", "l", "x"]);
    for target in ["mean<100s", "max<100s", "p50<100s"] {
        let line = format!("-q -n 1000 --on-error count --slo '{target}'");
        let ran = server.run(&format!("{line} get l")).exits(3);
        ran.says("missed: 1,000 of 1,000 requests failed\n").prints("missed (no reply to measure)");
        let ran = server.run(&format!("{line} get l ';' get a")).exits(3);
        ran.says("missed: 500 of 1,000 requests failed\n");
        server
            .run(&format!(
                "-q -n 1000 --on-error count --slo '{target} & errors<60%' get l ';' get a"
            ))
            .ok();
    }
    let search =
        "--slo mean<100s --start 50 --most 100 --repeat 1 --duration 0.2 --no-curve -q get l";
    let ran = Keystorm::new(&format!("search -p {} {search}", server.port())).run();
    assert!(
        !ran.out.contains("keep mean<100s;") && ran.out.contains("requests failed"),
        "{}",
        ran.out
    );
}

#[test]
fn what_is_no_target_is_refused() {
    Keystorm::new("-t get --slo fast").run().exits(2).says("is not a target");
}

#[test]
fn what_servers_keep_beside_other_programs_they_keep() {
    let (one, other) = (Server::redis(), Server::redis());
    let line = |rest: &str| {
        let (one, other) = (one.port(), other.port());
        let ran = Keystorm::new(&format!("compare 127.0.0.1:{one} 127.0.0.1:{other} {rest}"));
        ran.run().out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let decided = line("--rps 300 --duration 0.5 --repeat 1 --slo p50<20s -t set");
    assert!(decided.contains("all 2 servers keep p50<20s"), "{decided}");
    let compared = line("-n 300 -t set --repeat 2");
    let sentence =
        "the servers were not restarted, so the intervals leave out how much starts differ";
    assert!(compared.contains(sentence), "{compared}");
}

/// The judgement of each command on this rate of a server: kept, missed, or open.
fn judgements(port: u16, target: &str, dir: &std::path::Path) -> Vec<(&'static str, String)> {
    let file = dir.join("answer.json");
    let answer = |line: String| {
        let _ = std::fs::remove_file(&file);
        Keystorm::new(&format!("{line} --json {} get k", file.display())).run();
        document(&file)
    };
    let at = format!("127.0.0.1:{port}");
    let load = format!("-c 4 --duration 0.5 --slo '{target}'");
    let outcome = |value: &serde_json::Value| match value.as_str().unwrap() {
        "kept" | "yes" => "kept".to_owned(),
        "missed" | "no" => "missed".to_owned(),
        _ => "open".to_owned(),
    };
    let run = answer(format!("-p {port} {load} --rps 40"));
    let sweep = answer(format!("sweep -p {port} {load} --rps 40,60"));
    let search = answer(format!("search -p {port} {load} --start 40 --most 40"));
    let compare = answer(format!("compare {at} {at} {load} --rps 40 --repeat 1"));
    let at_40 = search["rates"].as_array().unwrap().iter().find(|rate| rate["rate_per_s"] == 40.0);
    let at_40 = at_40.unwrap_or_else(|| panic!("40/s is where it begins: {search}"));
    let mut all = vec![
        ("run", outcome(&run["tests"][0]["target"]["outcome"])),
        ("sweep", outcome(&sweep["points"][0]["target"]["outcome"])),
        ("search", outcome(&at_40["judgement"]["outcome"])),
    ];
    let servers = compare["tests"][0]["servers"].as_array().unwrap();
    all.extend(servers.iter().map(|server| ("compare", outcome(&server["cost"]["kept"]))));
    all
}

#[test]
fn no_command_contradicts_another_about_one_server() {
    // Each reply comes 20 ms after its request, whatever else runs here.
    let server = Listener::that_answers_load_after(Duration::from_millis(20), "$1\r\nx\r\n");
    let dir = tempfile::tempdir().unwrap();
    for (target, other) in [("p50<10ms", "kept"), ("p50<60s", "missed")] {
        let all = judgements(server.port(), target, dir.path());
        assert_eq!(all.len(), 5, "{all:?}");
        assert!(all.iter().all(|(_, outcome)| outcome != other), "{target}: {all:?}");
        assert!(all.iter().any(|(_, outcome)| outcome != "open"), "{target}: {all:?}");
    }
}
