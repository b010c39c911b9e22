//! `keystorm compare`: what is run, found and refused, and the exit codes.

use serde_json::Value;

use crate::program::{Keystorm, RunOutput};
use crate::record::{json, place, valid_by};
use crate::server::{CountingServer, KEYSTORM, Server, calls, valkey_program};

const FIGURES: [&str; 8] = [
    "throughput_rps",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "p99.9_ms",
    "client_cpu_us_per_request",
    "server_cpu_us_per_request",
];

pub(crate) fn compare(a: &str, b: &str, line: &str) -> Keystorm {
    let rest = shell_words::split(line).unwrap();
    // The machine that tests run on is busy, and what is counted must not depend on it.
    let is_saved = std::fs::read(a).is_ok_and(|bytes| bytes.starts_with(b"{"));
    let counts = (!is_saved).then_some("--disturbed=count");
    let args = ["compare"].into_iter().chain(counts).chain([a, b]).map(str::to_owned).chain(rest);
    Keystorm::exec(KEYSTORM, args)
}

pub(crate) fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

#[test]
fn both_servers_get_the_same_and_each_ratio_is_printed() {
    let (a, b) = (Server::redis(), Server::valkey());
    let line = "-n 3000 -t set,get --repeat 3";
    let ran = compare(&address(&a), b.socket().to_str().unwrap(), line).run().ok();
    // Three blocks of A B B A are six runs a side.
    assert_eq!(a.counts(), calls([("set", 18_000), ("get", 18_000)]));
    assert_eq!(b.counts(), a.counts());
    assert!(ran.out.starts_with("1  redis 7."), "{}", ran.out);
    let ran = ran.prints("\n2  valkey ").prints("====== SET ======").prints("====== GET ======");
    let ran = ran.prints("3 blocks for each test").prints(" ratio ").prints("limited by: ");
    let ran = ran.prints("3 blocks can see a change of ");
    for line in ["requests/s", "p50", "p99.9", "client µs", "server µs"] {
        let found = ran.out.lines().filter(|l| l.trim_start().starts_with(line));
        // However wide it is, an interval is shown.
        assert_eq!(found.filter(|l| l.contains(" to ")).count(), 2, "{line}: {}", ran.out);
    }
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" is reached over TCP, valkey "), "{}", ran.out);
    assert!(words.contains(" over a unix socket"), "{}", ran.out);
    // Nobody is called by a letter.
    for letter in [" A ", " B ", "B / A", "A and B"] {
        assert!(!ran.out.contains(letter), "{letter}: {}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
}

#[test]
fn each_ratio_of_the_document_is_a_quotient_within_its_interval() {
    let (a, b) = (Server::redis(), Server::valkey());
    let (_dir, file) = place();
    let line = format!("-n 3000 -t set,get --repeat 3 --json {}", file.display());
    compare(&address(&a), b.socket().to_str().unwrap(), &line).run().ok();
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(document["complete"], true);
    for test in document["tests"].as_array().unwrap() {
        let servers = &test["servers"];
        assert_eq!(servers[0]["runs"], 6);
        for figure in FIGURES {
            let mean = |at: usize| servers[at]["figures"][figure]["mean"].as_f64().unwrap();
            let quotient = mean(1) / mean(0);
            let figure = &servers[1]["figures"][figure];
            let number = |name: &str| figure[name].as_f64().unwrap();
            let [low, ratio, high] = ["low", "ratio", "high"].map(number);
            assert!(0.0 < low && low <= ratio && ratio <= high, "{figure}");
            assert!((quotient / ratio - 1.0).abs() < 1e-9, "{figure}");
            let outside = !(low..=high).contains(&1.0);
            assert_eq!(figure["significant"], outside, "{figure}");
        }
    }
}

#[test]
fn the_operations_of_a_mix_are_compared_each_for_itself() {
    let (a, b) = (Server::redis(), Server::redis());
    let (_dir, file) = place();
    let page = file.with_extension("html");
    let mix = "--mix -- 3 get k:__key__ ';' 1 set k:__key__ v ';>' del k:__key__";
    let line = format!(
        "-n 400 -r 50 --repeat 2 --json {} --html {} {mix}",
        file.display(),
        page.display()
    );
    let ran = compare(&address(&a), &address(&b), &line).run().ok();
    assert_eq!(a.counts(), b.counts());
    ran.prints("\nget\nrequests/s ").prints("\nset ;> del\nrequests/s ");
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    let operations = document["tests"][0]["servers"][1]["operations"].as_array().unwrap();
    let names: Vec<&str> = operations.iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["get", "set ;> del"]);
    assert!(operations.iter().all(|of| of["figures"]["p99_ms"]["mean"].is_f64()));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("set ;&gt; del"));
}

#[test]
fn servers_are_started_for_it_and_the_layouts_are_for_programs_too() {
    let valkey = valkey_program();
    let valkey = valkey.to_str().unwrap();
    let line = "-n 500 --repeat 2 --spawn-args '--maxclients 500' -r 100";
    let ran = compare("redis-server", valkey, &format!("{line} --csv set k:__rand_int__ v")).run();
    let ran = ran.ok().says("Started redis 7.").says("Started valkey ");
    let rows: Vec<&str> = ran.out.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * FIGURES.len(), "{}", ran.out);
    assert!(rows[0].starts_with("\"test\",\"figure\",\"server\",\"value\",\"ratio\",\"low\""));
    assert!(rows[1].starts_with("\"set k:__rand_int__ v\",\"throughput_rps\",\""), "{}", rows[1]);
    let ran = compare("redis-server", valkey, &format!("{line} --format json -t ping")).run().ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(document["tests"].as_array().unwrap().len(), 2);
}

#[test]
fn servers_of_our_own_are_started_anew_for_each_block() {
    let dir = tempfile::tempdir().unwrap();
    let a = CountingServer::new(dir.path(), "a");
    let b = CountingServer::new(dir.path(), "b");
    let line = "--spawn-unix -n 300 -t set,get --repeat 3 --format json";
    let ran = compare(a.program(), b.program(), line).run().ok();
    assert_eq!((a.starts(), b.starts()), (3, 3));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.compare.1.json", &document);
    let tests = document["tests"].as_array().unwrap();
    let text: Vec<_> =
        tests.iter().map(|t| (t["name"].as_str().unwrap(), &t["servers"][1]["runs"])).collect();
    assert_eq!(text, [("SET", &6.into()), ("GET", &6.into())]);
    assert!(!ran.out.contains("not restarted"), "{}", ran.out);
    // A file of somebody else stays, and a line says so.
    let given = Server::redis();
    let ran = compare(a.program(), &address(&given), "--spawn-unix -n 300 -t set --repeat 2");
    let ran = ran.run().ok();
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not restarted, so the intervals leave out how much its starts differ"));
    assert_eq!((a.starts(), given.calls("set")), (5, 1200));
}

#[test]
fn servers_that_differ_in_settings_alone_are_distinguished_by_them() {
    let (_dir, file) = place();
    let line = format!("-n 100 --repeat 2 -t set --json {}", file.display());
    let ran = compare("redis-server --hz 17", "redis-server --hz 23 --save '60 1'", &line);
    let ran = ran.run().ok().prints("Settings that differ:").prints("hz 17").prints("hz 23");
    assert!(!ran.out.contains("pidfile") && !ran.out.contains("  port "), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    let names: Vec<&str> = document["differing_settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["save", "hz"]);
    assert!(
        document["servers"][0]["name"].as_str().unwrap().contains(", save \"\", hz 17"),
        "{document}"
    );
    let ran = compare(
        "redis-server --requirepass hunter2",
        "redis-server --requirepass hunter2",
        &format!("{line} -a hunter2 --name-a base --name-b candidate --format json"),
    );
    let ran = ran.run().ok();
    assert!(!ran.out.contains("hunter2") && ran.out.contains("\"name\": \"candidate\""));
}

/// Checks that the exit code says whether it is known of every server if it keeps the target.
#[track_caller]
pub(crate) fn exits_as_decided(ran: &RunOutput, document: &Value) {
    let tests = document["tests"].as_array().unwrap();
    let servers = tests.iter().flat_map(|test| test["servers"].as_array().unwrap());
    let is_open =
        servers.map(|of| &of["cost"]["kept"]).any(|kept| kept == "undecided" || kept == "void");
    assert_eq!(ran.code, Some(if is_open { 4 } else { 0 }), "{ran:?}");
}

#[test]
fn a_decision_between_three_servers_is_made_by_one_command() {
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let valkey = valkey_program();
    let valkey = valkey.to_str().unwrap();
    let line = format!(
        "--rps 500 --slo 'p99<10s' --duration 0.2 --repeat 2 -t get -r 50 --json {} --html {}",
        file.display(),
        page.display()
    );
    let line = format!("{valkey} memcached {line}");
    let words = shell_words::split(&line).unwrap();
    let args = ["compare", "--disturbed=count", "redis-server"].map(str::to_owned);
    let ran = Keystorm::exec(KEYSTORM, args.into_iter().chain(words)).run();
    exits_as_decided(&ran, &json(&file));
    // Only a quiet machine shows whether the target is kept; here the line must be there, and come first.
    assert!(ran.out.starts_with("get: at 500 requests/s, "), "{}", ran.out);
    let ran = ran.prints("redis 7.").prints("valkey ").prints("memcached ");
    let ran = ran.prints("====== get ======").prints("of it used").prints("ratio, 95 %");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    let servers = document["tests"][0]["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 3);
    for server in servers {
        let cost = &server["cost"];
        assert!(cost["kept"].is_string() && server["runs"] == 4, "{server}");
        assert!(cost["limit_rps"].as_f64().unwrap() > 0.0, "{server}");
        assert!(cost["memory_bytes"].as_u64().unwrap() > 0, "{server}");
    }
    for other in &servers[1..] {
        assert!(other["figures"]["p99_ms"]["conclusion"].is_string(), "{other}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("at 500 requests/s, "), "{page}");
    // Of runs that the machine spoiled, all of which count here, no clause is judged.
    let titles = ["Response time against p99", "99th percentile of response time"];
    assert!(titles.iter().any(|title| page.contains(title)), "{page}");
    // A target that nobody can keep.
    let line = "--rps 500 --slo 'p99<1us' --duration 0.2 --repeat 2 -t get -r 50";
    let line = format!("{line} --json {}", file.display());
    let ran = compare("redis-server", "memcached", &line).run();
    exits_as_decided(&ran, &json(&file));
    ran.prints("no server was shown to keep p99<1us");
    compare("redis-server", valkey, "--slo 'p99<1ms'").run().exits(2).says("name it with --rps");
    compare("redis-server", valkey, "--rps 5 --slo 'p99'").run().exits(2).says("--slo");
}

#[test]
fn saved_runs_compare_where_their_plans_are_alike() {
    let (redis, valkey) = (Server::redis(), Server::valkey());
    let (dir, _) = place();
    let kept = |server: &Server, name: &str, line: &str| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        server.run(&format!("--json {path} -q -n 1000 {line}")).ok();
        path
    };
    let a = kept(&redis, "a.json", "-t set,get --repeat 3");
    let b = kept(&valkey, "b.json", "-t set,get --repeat 4");
    let ran = compare(&a, &b, "").run().ok();
    let ran = ran.prints("1  redis 7.").prints(&format!("({a})"));
    let ran = ran.prints("====== GET ======").prints(" limited by: ");
    assert_eq!(ran.out.matches("\np99 (ms) ").count(), 2, "{}", ran.out);
    let ran = compare(&a, &b, "--format json").run().ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(
        (&document["tests"][0]["servers"][1]["runs"], &document["servers"][0]["file"]),
        (&4.into(), &a.clone().into())
    );
    // A page has the ratios first; the two may stand behind options.
    let (page, charts) = (dir.path().join("c.html"), dir.path().join("charts"));
    let line =
        ["compare", "--html", page.to_str().unwrap(), &a, "--svg", charts.to_str().unwrap(), &b];
    Keystorm::exec(KEYSTORM, line).run().ok().prints("====== GET ======");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("SET: ") && html.contains(" limited by"));
    assert!(html.contains("with its 95 % interval"));
    let picture = charts.join("set-throughput-run-by-run.svg");
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.contains(" compared with redis 7.") && picture.contains(" · SET · keystorm "));
    // One run a side has no interval, and no judgement.
    let one = kept(&redis, "one.json", "-t set,get");
    let ran = compare(&one, &b, "").run().ok().prints("use --repeat");
    let row = ran.out.lines().find(|line| line.starts_with("requests/s ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[1], cells[3]), ("undecided", "none"), "{row}");
    compare(&one, &b, "--fail-on-regression 5").run().exits(4).prints("has no interval");
    for (name, line, description) in [
        ("p", "-t set,get -P 4", "in the test SET, -P is not given in "),
        ("d", "-t set,get -d 100", "in the test SET, -d is not given in "),
        ("c", "-t set,get -c 9", "-c is 50 in "),
        ("3", "-t set,get -3", "-3 is not given in "),
        ("t", "-t set", "has the tests SET, GET, but "),
    ] {
        let other = kept(&valkey, name, line);
        let ran = compare(&one, &other, "").run().exits(1).says(description);
        assert!(ran.out.is_empty() && !ran.err.contains("\\n"), "{name}: {ran:?}");
    }
    compare(&a, &b, "-n 10").run().exits(2).says("-n requires servers that are measured");
    compare(&a, &b, "-t set").run().exits(2).says("-t requires servers that are measured");
    compare(&a, &address(&redis), "").run().exits(2).says("two of the same kind");
}

#[test]
fn what_has_come_before_an_interruption_is_printed() {
    let (a, b) = (Server::redis(), Server::redis());
    let (_dir, file) = place();
    let line = format!("--duration 0.2 -t set,get --repeat 2 --json {}", file.display());
    let running = compare(&address(&a), &address(&b), &line).start();
    running
        .until("is in its second test", |r| r.out().contains("====== SET") && a.calls("get") > 0);
    running.interrupt();
    let ran = running.wait().exits(130).says("interrupted");
    assert!(ran.out.contains("====== SET ======"), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    assert_eq!(
        (&document["complete"], &document["tests"][0]["name"]),
        (&false.into(), &"SET".into())
    );
}

#[test]
fn a_server_may_be_of_another_database() {
    let (a, b) = (Server::redis(), Server::redis());
    let ran = compare(&address(&a), &address(&b), "-n 100 -t set --dbnum 3").run().ok();
    ran.prints("====== SET ======");
    let uri = format!("redis://127.0.0.1:{}/2", b.port());
    compare(&address(&a), &uri, "-n 100 -t set").run().ok().prints("====== SET ======");
}

#[test]
fn command_lines_that_make_no_sense_are_refused_by_name() {
    let server = Server::redis();
    let at = address(&server);
    for (line, output) in [
        ("-p 7000", "-p cannot be used here"),
        ("-h example.org", "-h cannot be used here"),
        ("--spawn", "--spawn cannot be used here"),
        ("--spawn-args '--io-threads 2'", "--spawn-args"),
        ("-l", "-l works with one server only"),
        ("-I", "-I works with one server only"),
        ("--hdr f", "--hdr works with one server only"),
        ("--shard 1/2", "--shard works with one server only"),
        ("--format classic", "text, quiet (-q), csv and json"),
        ("--repeat 0", "--repeat"),
        ("--repeat 1 --fail-on-regression 5", "--repeat 2"),
        ("--fail-on-regression 100", "--fail-on-regression"),
        ("-t nothing", "nothing"),
    ] {
        let ran = compare(&at, &at, line).run().exits(2).says(output);
        assert_eq!(ran.out, "", "{line}");
    }
    for line in ["compare", "compare redis-server", "compare -t set redis-server"] {
        Keystorm::new(line).run().exits(2).says("name the servers");
    }
    compare(&at, "no-such-server", "").run().exits(2).says("no-such-server: not a file");
    compare(&at, "127.0.0.1:1", "-n 10 -t set").run().exits(1).says("127.0.0.1:1");
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn every_example_of_its_help_runs() {
    let all = Keystorm::new("compare --help all").run().ok().out;
    assert!(all.lines().all(|line| line.chars().count() <= 100), "{all}");
    for option in ["--fail-on-regression", "-P, --pipeline <NUMREQ>"] {
        assert!(all.contains(option), "{all}");
    }
    let help = Keystorm::new("compare --help").run().ok().out;
    let valkey = valkey_program();
    let path = format!("{}:{}", valkey.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let examples: Vec<_> =
        help.lines().filter_map(|l| l.trim().strip_prefix("$ keystorm ")).collect();
    assert_eq!(examples.len(), 4, "{help}");
    for example in examples {
        let (_dir, file) = place();
        let line = format!("{example} --repeat 2 --json {}", file.display());
        let ran = Keystorm::new(&line).env("PATH", &path).run();
        let ran = if example.contains("--fail-on-regression") {
            ran.exits_by_gate()
        } else {
            exits_as_decided(&ran, &json(&file));
            ran
        };
        ran.prints(if example.contains("memcached") { "memcached " } else { "2  valkey " });
    }
}

#[test]
fn a_page_of_single_runs_ranks_none_of_them() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let kept = |name: &str, line: &str| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        server.run(&format!("--json {path} -q -n 300 {line}")).ok();
        path
    };
    let html = dir.path().join("page.html");
    let page = |files: &[&str]| {
        let output = ["--html", html.to_str().unwrap()];
        let args = ["show"].iter().chain(files).chain(&output).copied();
        Keystorm::exec(KEYSTORM, args).run().ok();
        std::fs::read_to_string(&html).unwrap()
    };
    let [a, b, c] = ["a.json", "b.json", "c.json"].map(|name| kept(name, "-t set"));
    let message =
        "Single runs are not ranked: without a confidence interval any difference may be chance";
    let of_three = page(&[&a, &b, &c]);
    assert!(of_three.contains(message) && !of_three.contains("The fastest was"));
    assert!(!page(&[&a]).contains(message), "one run is compared with nothing");
    // Tests of one file differ in what they do.
    let suite = kept("suite.json", "-t set,get,incr,lpush");
    let of_suite = page(&[&suite]);
    assert!(!of_suite.contains(message) && of_suite.contains("The fastest was"));
}
