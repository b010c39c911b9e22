//! `--workload`, `--print-workload` and `keystorm presets`: files as the server saw them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Keystorm, RunOutput};
use crate::record::{json, place};
use crate::server::{Server, calls};

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.toml");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn run(server: &Server, text: &str, options: &str) -> RunOutput {
    let (_dir, path) = file(text);
    server.run(&format!("-q --workload {} {options}", path.display()))
}

/// The plans of a line, without what a file calls them and what the time draws.
fn plans(line: &str) -> Value {
    let ran = Keystorm::new(&format!("--print-plan {line}")).run().ok();
    let mut plans: Value = serde_json::from_str(&ran.out).unwrap();
    for plan in plans.as_array_mut().unwrap() {
        let plan = plan.as_object_mut().unwrap();
        plan.remove("name");
        plan["load"].as_object_mut().unwrap().remove("seed");
    }
    plans
}

fn presets() -> Vec<String> {
    let list = Keystorm::new("presets").run().ok().out;
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

const SHOP: &str = r#"
requests = 20_000
connections = 4
pipeline = 4
seed = 3
size = 10

[keys.users]
range = 10

[keys.items]
range = "1k"
dist = "zipf:0.5"

[[operation]]
name = "visit"
weight = 7
keys = "users"
command = "incr user:__key__"

[[operation]]
name = "look"
weight = 2
keys = "items"
steps = [
  { command = ["get", "item:__key__"] },
  { command = "set item:__key__ __data__", when = "miss" },
]

[[operation]]
name = "leave"
commands = ["ping", "echo 'good bye'"]
"#;

#[test]
fn operations_have_weights_steps_and_keys_of_their_own() {
    let server = Server::redis();
    let (_dir, kept) = place();
    run(&server, SHOP, &format!("--json {}", kept.display())).ok();
    let counts = server.counts();
    assert_eq!(counts["incr"] + counts["get"] + counts["ping"], 20_000);
    // Five standard deviations of the draws are 325, 283 and 213.
    for (command, expected, off) in
        [("incr", 14_000, 325), ("get", 4_000, 283), ("ping", 2_000, 213)]
    {
        assert!(counts[command].abs_diff(expected) <= off, "{counts:?}");
    }
    assert_eq!(counts["echo"], counts["ping"]);
    let numbers = |of: &str| -> Vec<u64> {
        let keys = server.keys();
        keys.iter().filter_map(|key| key.strip_prefix(of)?.parse().ok()).collect()
    };
    assert_eq!(numbers("user:"), (0..10).collect::<Vec<_>>());
    let items = numbers("item:");
    assert!(counts["set"] >= items.len() as u64, "two connections may miss a key at once");
    assert!(items.len() > 500 && items.iter().all(|item| *item < 1000), "{}", items.len());
    let kept = json(&kept);
    let names: Vec<&Value> = (0..3).map(|n| &kept["tests"][0]["operations"][n]["name"]).collect();
    assert_eq!(names, ["visit", "look", "leave"]);
}

const PHASES: &str = r#"
key-range = 100
connections = 2

[[operation]]
name = "read"
weight = 9
command = "get k:__key__"

[[operation]]
name = "write"
command = "set k:__key__ __data__"

[[phase]]
name = "fill"
every-key = true
pipeline = 4
sequence = ["set k:__key__ __data__"]

[[phase]]
name = "warm up"
requests = 300
mix = { read = 1 }

[[phase]]
name = "burst"
connections = 5
rate = "2k..4k/100ms"
requests = 400

[[phase.operation]]
command = "incr visits"
"#;

#[test]
fn phases_come_one_after_another_each_with_its_own_mix_rate_and_length() {
    let server = Server::redis();
    let (_dir, kept) = place();
    run(&server, PHASES, &format!("--json {}", kept.display())).ok();
    assert_eq!(server.counts(), calls([("get", 300), ("incr", 400), ("set", 100)]));
    assert_eq!(server.info("keyspace_misses"), 0, "it was full before it was read");
    let kept = json(&kept);
    let plan = |n: usize| &kept["plan"][n];
    let [fill, warm_up, burst] = [0, 1, 2].map(plan);
    let names = [fill, warm_up, burst].map(|plan| plan["name"].as_str().unwrap());
    assert_eq!(names, ["shop: fill", "shop: warm up", "shop: burst"]);
    assert_eq!(fill["load"]["seed"], burst["load"]["seed"], "values of one seed in all phases");
    assert_eq!(
        (&fill["load"]["stop"]["requests"], &fill["data"]["keys"]["draw"]),
        (&100.into(), &"sequential".into())
    );
    let connections = |plan: &Value| plan["load"]["concurrency"]["connections"].as_u64().unwrap();
    assert_eq!([fill, warm_up, burst].map(connections), [2, 2, 5]);
    assert!(warm_up["load"]["pace"].to_string().contains("closed"), "{warm_up}");
    assert!(burst["load"]["pace"].to_string().contains("4000"), "{burst}");
    assert_eq!(warm_up["mix"]["operations"].as_array().unwrap().len(), 1);
}

#[test]
fn the_command_line_has_the_last_word() {
    let server = Server::redis();
    let sent = |options: &str| {
        server.reset();
        run(&server, PHASES, options).ok();
        server.counts()
    };
    assert_eq!(
        sent("-n 50 -r 30 --rps 5k --key-dist zipf"),
        calls([("get", 50), ("incr", 50), ("set", 30)]),
        "every key of the range that was typed, and no more requests than were typed"
    );
    assert_eq!(server.number(&["DBSIZE"]), 31);
    assert_eq!(sent("--phase burst -n 20"), calls([("incr", 20)]));
    let (_dir, path) = file(PHASES);
    let line = |options: &str| plans(&format!("--workload {} {options}", path.display()));
    let typed = line("-c 7 -P 3 -d 50 --duration 2 -h 10.0.0.1 -3 --phase 'warm up,burst'");
    for plan in typed.as_array().unwrap() {
        let fleet = &plan["load"]["concurrency"];
        assert_eq!((&fleet["connections"], &fleet["pipeline_depth"]), (&7.into(), &3.into()));
        assert_eq!(plan["load"]["stop"]["after-ns"], 2_000_000_000_u64);
        assert!(plan["target"].to_string().contains("10.0.0.1"), "{plan}");
    }
    assert_eq!(typed.as_array().unwrap().len(), 2);
    // Of experiments too.
    Keystorm::new(&format!("sweep --print-plan --workload {} -c 1,2", path.display())).run().ok();
}

#[test]
fn every_preset_runs_without_an_error_reply() {
    let server = Server::redis();
    let names = presets();
    assert!(names.len() >= 20 && names.contains(&"ycsb-a".to_owned()), "{names:?}");
    for name in names {
        server.reset();
        server.run(&format!("-q --workload {name} -n 1000 -r 1000")).ok();
        let errors = server.text(&["INFO", "errorstats"]);
        assert!(!errors.contains("errorstat_"), "{name}: {errors}");
        assert!(server.counts().values().sum::<u64>() >= 1000, "{name}");
    }
}

#[test]
fn a_preset_is_printed_as_the_file_it_is() {
    let text = Keystorm::new("presets ycsb-a").run().ok().out;
    assert!(text.contains("workloads/workloada"), "its source: {text}");
    let (_dir, path) = file(&text);
    assert_eq!(plans(&format!("--workload {}", path.display())), plans("--workload ycsb-a"));
    for line in ["presets ycsb-aa", "--workload ycsb-aa"] {
        Keystorm::new(line).run().exits(2).says("\"ycsb-aa\"").says("did you mean");
    }
}

/// What `--print-workload` says of a line, as plans.
fn again(line: &str, server: &str) -> Value {
    let text = Keystorm::new(&format!("--print-workload {server} {line}")).run().ok().out;
    let (_dir, path) = file(&text);
    plans(&format!("{server} --workload {}", path.display()))
}

#[test]
fn what_a_command_line_says_a_file_says_too() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("a b.csv");
    std::fs::write(&csv, "id,name\n1,x\n7,y\n").unwrap();
    let csv = shell_words::quote(csv.to_str().unwrap()).into_owned();
    let loads = [
        "",
        "-n 7k -c 3 -P 8 --window rolling -k 0",
        "--duration 1.5m --warmup 500ms --rps 10k..20k/3s --arrivals poisson --reconnect no",
        "--threads 2 --cpus 0-1 --engine epoll --timeout 250 --on-error count --precision 4",
        "--first-byte -k 7 --seed -5 --rps 0.5",
    ];
    let data = [
        "-r 1M -d lognormal:1k,1.2,64..100k --set size-by=request --content compressible:2.5 --ttl 60..300",
        "-r 5k --sequential -d 100",
        "-r 0010 --key-dist zipf-scattered:1.3 --ttl 1h",
    ];
    let commands = [
        "-t ping,set,lrange_100",
        "set k:__key__ __data__",
        "-- 2 get k:__rand_int__ ';' set k:__rand_1st__ 'a \"b\" \\ ''c'",
        "get k:__key__ ';?' set k:__key__ __data__ ';>' del k:__key__",
        "--mix -- 9 get 'ä:__key__' ';' 1 set k:__key__ __data__ ';' 3 get k:__key__ ';>' 2 ping",
        "--mix -- 5 echo ''",
    ];
    let mut lines: Vec<String> = Vec::new();
    for (n, command) in commands.iter().enumerate() {
        lines.push((*command).to_owned());
        for (m, data) in data.iter().enumerate() {
            lines.push(format!("{} {data} {command}", loads[(n + m) % loads.len()]));
        }
    }
    lines.push(format!("--dataset {csv} --maxdocs 1 set k:__key__ __field:name__"));
    lines.push(format!("--key-dist file:{csv}#id get k:__key__"));
    for line in lines {
        assert_eq!(
            again(&line, "-h 10.0.0.1 -3"),
            plans(&format!("-h 10.0.0.1 -3 {line}")),
            "{line}"
        );
    }
    for name in presets() {
        let line = format!("--workload {name}");
        assert_eq!(again(&line, ""), plans(&line), "{name}");
        let changed = format!("{line} -r 5k -n 77 -c 3 --rps 1k");
        assert_eq!(again(&changed, ""), plans(&changed), "{name}");
    }
}

#[test]
fn what_a_file_cannot_say_is_not_printed() {
    let refused = |line: &str| Keystorm::new(&format!("--print-workload {line}")).run().exits(2);
    refused("auth hunter2").says("password").keeps_secret("hunter2");
    refused("-n 10").says("-t");
    refused("-c 0 ping").says("-c 0");
    let words = ["--print-workload", "set", "k"].map(std::ffi::OsString::from);
    let odd = std::os::unix::ffi::OsStringExt::from_vec(b"\xff".to_vec());
    let ran = Keystorm::exec(crate::server::KEYSTORM, words.into_iter().chain([odd])).run();
    ran.exits(2).says("UTF-8");
    let typed = "--print-workload -x set k";
    let file = "sequence = [\"\"\"\nset k 'a b\n'\"\"\"]\n";
    Keystorm::new(typed).stdin("a b\n").run().ok().prints(file);
}

#[test]
fn an_error_names_its_place_and_what_was_probably_meant() {
    const GET: &str = "sequence = [\"get a\"]\n";
    let one = |key: &str| format!("[[operation]]\nname = \"read\"\ncommand = \"get a\"\n{key}\n");
    let cases: Vec<(String, &str, &str)> = vec![
        (format!("{GET}x = ["), "2:6", "]"),
        (format!("{GET}seed = 1\nseed = 2"), "3:1", "duplicate"),
        (one("wieght = 9"), "4:1", "unknown key \"wieght\"; did you mean weight?"),
        (one("weight = 0"), "4:10", "from 1 to"),
        (one("weight = -2"), "4:10", "from 1 to"),
        (one("keys = \"user\"\n[keys.users]\nrange = 9"), "4:8", "\"user\"; did you mean users?"),
        (one("steps = []"), "4:1", "either a command"),
        (one("[[operation]]\nname = \"read\"\ncommand = \"get b\""), "4:1", "is defined twice"),
        (one("[[phase]]\nmix = { raed = 1 }"), "5:9", "\"raed\"; did you mean read?"),
        (one("[[phase]]\nmix = { read = 0 }"), "5:16", "from 1 to"),
        (one("[keys.a]\nrange = 9\ndist = \"zip\""), "6:8", "available: uniform"),
        (one("[keys.a]\nrange = \"9x\""), "5:9", "whole number"),
        (one("[keys.a]\ndist = \"zipf\""), "4:7", "range is missing"),
        (one("keys = \"a\"\n[keys.a]\nrange = 9\ndist = \"latest\""), "5:7", "inserts"),
        (format!("{GET}conections = 4"), "2:1", "did you mean connections?"),
        (format!("{GET}rps = 4"), "2:1", "did you mean rate?"),
        (format!("{GET}d = 4"), "2:1", "did you mean size?"),
        (format!("{GET}connections = 0"), "2:15", "-c 0"),
        (format!("{GET}size = \"uniform:9..1\""), "2:8", "smaller size must come first"),
        (format!("{GET}size = \"2G\""), "2:8", "not a size"),
        (format!("{GET}rate = \"10kk\""), "2:8", "is not a rate"),
        (format!("{GET}window = \"open\""), "2:10", "batch, rolling"),
        (format!("{GET}key-dist = \"zipf:9\""), "2:12", "from 0.01 to 5"),
        (format!("{GET}key-dist = \"zipf\""), "2:12", "-r"),
        (format!("{GET}arrivals = \"poisson\""), "2:12", "rate"),
        (format!("{GET}requests = 5\nduration = 5"), "3:1", "cannot be combined"),
        (format!("{GET}sequential = 1"), "2:14", "true or false"),
        (format!("{GET}pipeline = true"), "2:12", "a number"),
        (format!("{GET}tests = \"get\""), "2:9", "cannot be combined with a sequence"),
        (format!("{GET}[[phase]]\ntests = \"gte\""), "3:9", "unknown test \"gte\""),
        (format!("{GET}[[phase]]\nevery-key = true"), "2:", "key-range"),
        (format!("{GET}[[phase]]\nevery-key = true\nrate = 5"), "4:8", "cannot be combined"),
        (
            one("[[operation]]\ncommand = \"get b\"\n[[phase]]\nevery-key = true"),
            "6:",
            "a single operation",
        ),
        ("sequence = [\"get a\", \"set k v EX __ttl__\"]".to_owned(), "1:22", "--ttl"),
        ("sequence = [\"get 'a\"]".to_owned(), "1:13", "quotation mark"),
        ("sequence = []".to_owned(), "1:12", "commands"),
        ("sequence = [[]]".to_owned(), "1:13", "cannot be empty"),
        (
            "[[operation]]\nsteps = [{ command = \"get a\", when = \"miss\" }]".to_owned(),
            "2:38",
            "first step",
        ),
        ("[[phase]]\nname = \"a\"".to_owned(), "1:", "nothing to send"),
        (String::new(), "1:1", "nothing to send"),
    ];
    for (text, at, why) in cases {
        let (_dir, path) = file(&text);
        let ran = Keystorm::new(&format!("--workload {}", path.display())).run().exits(2);
        assert!(ran.err.contains(&format!("{}:{at}", path.display())), "{text}: {}", ran.err);
        assert!(ran.err.contains(why), "{text}: {}", ran.err);
    }
}

#[test]
fn what_cannot_stand_beside_a_file_is_refused() {
    let (_dir, path) = file(PHASES);
    let (_other, own) = file(SHOP.split("[[operation]]\nname = \"leave\"").next().unwrap());
    let refused = |path: &Path, rest: &str, why: &str| {
        Keystorm::new(&format!("--workload {} {rest}", path.display())).run().exits(2).says(why);
    };
    refused(&path, "get k", "a command cannot be combined with --workload");
    refused(&path, "-t get", "-t cannot be combined with --workload");
    refused(&path, "-x", "-x cannot be combined");
    refused(&path, "-n 5 --duration 5", "exclusive");
    refused(&path, "-c 0", "-c 0");
    refused(&path, "--phase brust", "did you mean burst?");
    refused(&path, "--phase ,", "no phase named");
    refused(&path, "--start-at +1s", "one phase of a workload");
    refused(Path::new("/no/such.toml"), "", "No such file");
    refused(&own, "-r 9", "its own key space");
    Keystorm::new("--phase a get k").run().exits(2).says("--workload");
}
