//! What people type: times and counts in every way, names from other tools, slips, and files that
//! would overwrite each other.

use std::collections::BTreeSet;

use serde_json::Value;
use strsim::levenshtein;

use crate::program::Keystorm;
use crate::record::{json, place};
use crate::server::{KEYSTORM, Server, called, calls};

fn plan(line: &str) -> Value {
    let ran = Keystorm::new(&format!("--print-plan {line}")).run().ok();
    let plans: Value = serde_json::from_str(&ran.out).unwrap();
    plans[0].clone()
}

#[test]
fn times_have_units_everywhere() {
    for (typed, plain) in [
        ("--duration 1.5m get k", "--duration 90 get k"),
        ("--duration 500ms get k", "--duration 0.5 get k"),
        ("--duration 1h --warmup 250ms get k", "--duration 3600 --warmup 0.25 get k"),
        ("--timeout 2s get k", "--timeout 2000 get k"),
        ("--timeout 1.5 get k", "--timeout 1500us get k"),
        ("--rps 1k..2k/1.5m get k", "--rps 1000..2000/90 get k"),
    ] {
        assert_eq!(
            plan(&format!("--seed 1 {typed}")),
            plan(&format!("--seed 1 {plain}")),
            "{typed}"
        );
    }
    for line in [
        "search --slo p99<1.5ms --duration 500ms --start 1k --print-plan",
        "sweep --duration 500ms,1s --warmup 100ms --print-plan",
    ] {
        Keystorm::new(line).run().ok();
    }
    for (line, read) in [
        ("doctor --client --seconds 0s", "--seconds 0: must be between"),
        ("doctor --seconds 2d", "--seconds 172800: must be between"),
        ("survey --seconds 5h", "--seconds 18000: must be between"),
    ] {
        Keystorm::new(line).run().exits(2).says(read);
    }
}

#[test]
fn counts_have_factors_everywhere() {
    for (typed, plain) in [
        ("-d 1k -t set", "-d 1000 -t set"),
        ("-n 1.5M -c 1k -P 1k get k", "-n 1500000 -c 1000 -P 1000 get k"),
        ("-t fcall --num-functions 1k", "-t fcall --num-functions 1000"),
        ("-r 1M get k:__rand_int__", "-r 1000000 get k:__rand_int__"),
    ] {
        assert_eq!(
            plan(&format!("--seed 1 {typed}")),
            plan(&format!("--seed 1 {plain}")),
            "{typed}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let rows = dir.path().join("rows.csv");
    let table: String = (0..1500).map(|n| format!("{n}\n")).collect();
    std::fs::write(&rows, format!("id\n{table}")).unwrap();
    let server = Server::redis();
    let line = format!("--dataset {} --maxdocs 1k -n 3k -q sadd s __field:id__", rows.display());
    server.run(&line).ok();
    assert_eq!(server.number(&["SCARD", "s"]), 1000);
}

#[test]
fn long_names_are_the_short_ones() {
    let long = "--host h --port 7 --clients 9 --requests 90 --pipeline 3 --quiet --seed 1 get k";
    assert_eq!(plan(long), plan("-h h -p 7 -c 9 -n 90 -P 3 -q --seed 1 get k"));
    let server = Server::redis();
    let line =
        format!("--host 127.0.0.1 --port {} --requests 40 --clients 2 --quiet", server.port());
    let ran = Keystorm::new(&format!("{line} incr k")).run().ok();
    assert_eq!((server.calls("incr"), ran.out.lines().count()), (40, 1), "{}", ran.out);
    let port = server.port();
    let sweep = format!("sweep --port {port} --clients 1,2 --requests 30 --csv get k");
    let ran = Keystorm::new(&sweep).run().ok();
    assert_eq!(server.calls("get"), 60, "{}", ran.out);
    let refused = format!("search --slo p99<1s --port {port} --requests 5 get k");
    Keystorm::new(&refused).run().exits(2).says("-n: trials run for a time");
}

#[test]
fn errors_name_the_option_the_value_and_what_is_right() {
    for (line, says) in [
        ("-c abc", ["'abc' for '-c, --clients", "10k or 5M"]),
        ("-n 1.5", ["'1.5' for '-n, --requests", "10k or 5M"]),
        ("-p 99999", ["'99999' for '-p, --port", "0 to 65535"]),
        ("-d 1x", ["'1x' for '-d <SIZE>'", "such as 4k"]),
        ("--duration 2x", ["'2x' for '--duration", "500ms, 2s, 1.5m"]),
        ("--duration -1", ["'-1' for '--duration", "without a unit, seconds"]),
        ("--duration 0 get k", ["--duration 0: ", "above 0 seconds"]),
        ("--timeout 0.1 get k", ["--timeout 0.1: ", "between 1 millisecond"]),
        ("--timeout fast", ["'fast' for '--timeout", "without a unit, milliseconds"]),
        ("--rps 10..20 get k", ["'10..20' for '--rps", "10k..100k/30s"]),
        ("--repeat 0", ["'0' for '--repeat", "between 1 and 1000"]),
        ("--threads x", ["'x' for '--threads", "`auto`"]),
        ("--source-ip x", ["'x' for '--source-ip", "127.0.0.2"]),
        ("search --slo p99<1ms --within x", ["'x' for '--within", "percentage"]),
        ("sink --bulk x", ["'x' for '--bulk", "10k or 5M"]),
    ] {
        let ran = Keystorm::new(line).run().exits(2);
        for part in says {
            assert!(ran.err.contains(part), "{line} should say {part:?}: {}", ran.err);
        }
        for jargon in ["invalid digit", "invalid float", "ParseInt", "out of range"] {
            assert!(!ran.err.contains(jargon), "{line}: {}", ran.err);
        }
    }
}

#[test]
fn an_option_of_another_tool_leads_to_ours() {
    for (line, option) in [
        ("--connections 5 get k", "'-c, --clients <CLIENTS>'"),
        ("--concurrency=5 get k", "'-c, --clients <CLIENTS>'"),
        ("--time 5 get k", "'--duration <TIME>'"),
        ("--password hunter2 ping", "'-a <PASSWORD>'"),
        ("--password=hunter2 ping", "'-a <PASSWORD>'"),
        ("--rate 5 get k", "'--rps <RATE>'"),
        ("--qps 5 get k", "'--rps <RATE>'"),
        ("--data-size 5 get k", "'-d <SIZE>'"),
        ("--warmupp 5 get k", "'--warmup'"),
        ("search --slo p99<1ms --connections 5", "'-c, --clients <CLIENTS>'"),
        ("search --slo p99<1ms --repaet 5", "'--repeat'"),
        ("sweep --time 5", "'--duration <TIME>'"),
        ("doctor --duration 5", "'--seconds <TIME>'"),
    ] {
        let ran = Keystorm::new(line).run().exits(2).says(option).keeps_secret("hunter2");
        assert!(ran.err.contains("Usage: keystorm"), "{line}: {}", ran.err);
    }
}

#[test]
fn a_subcommand_explains_itself() {
    for (line, usage) in [
        ("search --bogus", "Usage: keystorm search --slo TARGET"),
        ("search --slo p99<1ms -c x", "Usage: keystorm search "),
        ("sweep --bogus 1", "Usage: keystorm sweep "),
        ("sweep -c x -t get", "Usage: keystorm sweep "),
        ("sweep --spawn -p 1", "Usage: keystorm sweep "),
        ("survey --bogus", "Usage: keystorm survey "),
        ("survey --spawn -p 1", "Usage: keystorm survey "),
        ("compare a b --bogus", "Usage: keystorm compare SERVER SERVER"),
        ("merge --bogus", "Usage: keystorm merge "),
        ("show --bogus", "Usage: keystorm show "),
        ("doctor --bogus", "Usage: keystorm doctor "),
        ("sink --bogus", "Usage: keystorm sink "),
        ("--bogus", "Usage: keystorm [OPTIONS]"),
    ] {
        Keystorm::new(line).run().exits(2).says(usage);
    }
}

#[test]
fn help_is_reported_and_not_sent() {
    let server = Server::redis();
    let help = Keystorm::new("--help").run().ok().out;
    assert_eq!(Keystorm::new("help").run().ok().out, help);
    assert_eq!(Keystorm::new("help help").run().ok().out, help);
    let search = Keystorm::new("search --help").run().ok().out;
    assert_eq!(Keystorm::new("help search").run().ok().out, search);
    Keystorm::new("help serch").run().exits(2).says("'search'").says("history");
    for (slip, meant) in [
        ("serch --slo p99<1ms", "keystorm search"),
        ("comapre a b", "keystorm compare"),
        ("swep -c 1,2", "keystorm sweep"),
        ("docter", "keystorm doctor"),
        ("Search", "keystorm search"),
        ("hepl", "keystorm help"),
    ] {
        let ran = Keystorm::new(slip).run().exits(2).says(meant).says("keystorm [OPTIONS] -- ");
        assert!(ran.out.is_empty(), "{slip}: {ran:?}");
    }
    assert_eq!(server.counts(), calls([]));
    // Whatever is not near is a command, of a module perhaps; behind -- anything is.
    server.run("-n 10 frobnicate k").exits(1).says("unknown command");
    server.run("-n 10 -- serch k").exits(1).says("unknown command");
    let (_dir, link) = called("redis-benchmark");
    let sent = server.keystorm("-n 10 serch k").called(link);
    sent.run().exits(1).says("unknown command");
}

#[test]
fn no_command_of_a_server_is_taken_for_a_slip() {
    // Only what is near some word of the help can be taken for one of keystorm's.
    let help = Keystorm::new("help").run().ok().out;
    // Most are commands of both servers, and one is sent to each.
    let mut asked = BTreeSet::new();
    for (name, server) in Server::both() {
        let mut commands = server.texts(&["COMMAND", "LIST"]);
        assert!(commands.len() > 150, "{name}: {commands:?}");
        commands.retain(|command| command == "cluster" || asked.insert(command.clone()));
        let words = help.split(|c: char| !c.is_alphanumeric()).collect::<BTreeSet<_>>();
        let near = |word: &str, command: &str| word.len() > 3 && levenshtein(word, command) <= 2;
        let is_near = |command: &&String| words.iter().any(|word| near(word, command));
        let first = commands.iter().filter(|command| !command.contains('|')).filter(is_near);
        for command in first {
            // As a first word it would be sent; the help suggests what is near, too.
            let ran = Keystorm::exec(KEYSTORM, ["help", command.as_str()]).run();
            if command == "cluster" {
                // A page of the documents; as a first word it is sent all the same.
                ran.ok().prints("Load on a cluster");
                server.run("-n 1 cluster").exits(1).says("wrong number of arguments");
                continue;
            }
            // An option of that name is explained, such as --ttl.
            if [" ", "`"].iter().all(|end| !ran.out.contains(&format!("--{command}{end}"))) {
                let ran = ran.exits(2);
                assert!(!ran.err.contains("did you mean"), "{command}: {}", ran.err);
            }
        }
    }
}

#[test]
fn files_that_would_overwrite_each_other_are_refused() {
    let server = Server::redis();
    let (dir, file) = place();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let run = path("kept.json");
    server.run(&format!("-n 50 -q --json {run} get k")).ok();
    let kept = std::fs::read(dir.path().join("kept.json")).unwrap();
    let x = file.display();
    let same = "name the same file";
    server.run(&format!("-n 50 --json {x} --html {x} get k")).exits(2).says(same);
    server.run(&format!("-n 50 --json {x} --hdr {x} get k")).exits(2).says(same);
    for line in [
        format!("sweep --json {x} --html {x} -t get"),
        format!("merge {run} {run} -o {x} --html {x}"),
        format!("search --slo p99<1s --json {x} --html {x}"),
    ] {
        Keystorm::new(&line).run().exits(2).says(same);
    }
    for line in [format!("merge {run} -o {run}"), format!("show {run} --html {run}")] {
        Keystorm::new(&line).run().exits(2).says("would be overwritten");
    }
    assert_eq!(std::fs::read(dir.path().join("kept.json")).unwrap(), kept);
    assert!(!file.exists());
    server.run("-n 50 -q --json /dev/null --html /dev/null get k").ok();
    let once = format!("merge {run} {run} --format quiet");
    Keystorm::new(&once).run().exits(1).says("is named twice");
    std::fs::copy(dir.path().join("kept.json"), dir.path().join("copy.json")).unwrap();
    let copy = format!("merge {run} {} --format quiet", path("copy.json"));
    Keystorm::new(&copy).run().exits(1).says("contain the same run");
}

#[test]
fn a_search_of_random_arrivals_begins_with_a_closed_loop() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!(
        "search --slo p50<10s --arrivals poisson --most 300 --duration 100ms --no-curve --repeat 1 \
         --json {} -p {} get k",
        file.display(),
        server.port()
    );
    let ran = Keystorm::new(&line).run();
    assert!(!ran.err.contains("required"), "{ran:?}");
    let trials = json(&file);
    let plans = trials["run"]["plan"].as_array().unwrap();
    assert!(plans.len() >= 2, "{ran:?}");
    assert_eq!(plans[0]["load"]["pace"], "closed");
    assert_eq!(plans[1]["load"]["pace"]["open"]["arrivals"], "poisson");
}

#[test]
fn what_has_no_effect_or_another_one_is_reported() {
    let server = Server::redis();
    let precise = "--precision 9: from 1 to 4 digits are kept; 4 are";
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let phase = |name: &str| format!("[[phase]]\nname = \"{name}\"\nrequests = 10\n");
    let text = format!("sequence = [\"ping\"]\n{}{}", phase("x"), phase("z"));
    std::fs::write(file.path(), text).unwrap();
    for (line, description) in [
        ("-t get --precision 9", precise),
        ("-t set -d -7", "-d -7: a value has from 1 byte to 1 GiB; 1 are sent"),
        ("-t set -P 0", "-P 0: a pipeline has at least 1 request; 1 is sent at a time"),
        ("--sequential get k:__rand_int__", "--sequential has no effect without -r"),
        ("--ttl 60 mset a 1", "--ttl 60: mset has no lifetime"),
        ("--ttl 60 incr n", "--ttl 60 has no effect"),
        (
            "get k:__rand_int_",
            "__rand_int_ is no placeholder, so it is sent as it stands; did you mean __rand_int__?",
        ),
        (
            "-r 9 --mix 9 get a ';' 1 get __keys__",
            "__keys__ is no placeholder, so it is sent as it stands; did you mean __key__?",
        ),
        ("ping --rps=5", "--rps follows the command, so it is sent to the server as a word of it"),
        ("ping -q", "-q follows the command, so it is sent to the server as a word of it"),
    ] {
        server.run(&format!("-q -n 10 {line}")).says(description);
        server.run(&format!("--as redis-benchmark -q -n 10 {line}")).leaves_out(description);
    }
    server.run("-q -n 10 -- ping -q").leaves_out("follows the command");
    server
        .run("-q -n 10 -- get a --rps 5")
        .leaves_out("follows the command")
        .says("--rps follows GET");
    for quiet in ["-q", ""] {
        let ran = server.run(&format!("{quiet} -n 10 get a --nope 5"));
        ran.says("--nope follows GET, so it was sent to the server");
    }
    server.run("-n 10 ping -1").leaves_out("follows");
    for (line, why) in [
        ("-d 1k..4k -t set", "write uniform:1k..4k"),
        ("redis-server valkey-server", "redis-server is a program, not a command"),
        ("./redis-server", "is a program, not a command"),
        (
            "deliver pubsub",
            "deliver is a command of keystorm and stands before the options: keystorm deliver",
        ),
        ("10.0.0.1:6379 10.0.0.2:6379", "10.0.0.1:6379 is a server, not a command"),
        (
            "--mix get:0",
            "a weight stands before its command and must be above 0, as in --mix 1 get",
        ),
        ("--mix get:9 ';' set:1", "a weight stands before its command, as in --mix 9 get"),
        ("--mix redis:6379", "redis:6379 is a server, not a command"),
        ("--workload FILE --phase z,x", "phases run in the order of the file, each once: x,z"),
    ] {
        let line = line.replace("FILE", &file.path().display().to_string());
        server.run(&format!("-q -n 10 {line}")).exits(2).says(why);
    }
    let line = format!("-q --workload {} --phase x,z", file.path().display());
    server.run(&line).ok();
}

#[test]
fn the_size_of_values_is_that_of_those_that_came_back() {
    let server = Server::redis();
    server.ask(&["SET", "k", &"v".repeat(108)]);
    for (protocol, warned) in [("", true), ("-3", true), ("--as redis-benchmark", false)] {
        let ran = server.run(&format!("{protocol} -n 50 -d 10000 get k")).ok();
        assert_eq!(ran.out.contains("values of 108 bytes"), warned, "{}", ran.out);
        let text = "the values that were read have 108 bytes, not 10,000 bytes (-d)";
        assert_eq!(ran.out.contains(text), warned, "{}", ran.out);
    }
    server.ask(&["SET", "l", "w"]);
    let ran = server.run("-n 50 -d 108 mget k nosuch k").ok();
    assert!(ran.out.contains("values of 108 bytes") && !ran.out.contains("were read have"));
    let ran = server.run("-n 50 get k").ok();
    assert!(ran.out.contains("values of 108 bytes") && !ran.out.contains("were read have"));
    server.run("-n 50 -d 500 set m __data__").ok().prints("values of 500 bytes");
}

#[test]
fn a_report_that_goes_nowhere_is_reported() {
    let server = Server::redis();
    let line = |more: &str| {
        let words = format!("exec \"$0\" -p {} -q -n 10 {more}", server.port());
        let mut shell = std::process::Command::new("sh");
        let completions = shell.args(["-c", &words, KEYSTORM]).output().unwrap();
        assert!(completions.status.success(), "{completions:?}");
        String::from_utf8(completions.stderr).unwrap()
    };
    let message = "standard output is closed or /dev/null, so the report goes nowhere";
    assert!(line("ping >&-").contains(message));
    let kept = tempfile::tempdir().unwrap();
    assert!(
        !line(&format!("--json {}/run.json ping >&-", kept.path().display())).contains(message)
    );
    assert!(!line("ping >/dev/null").contains(message) && !line("ping").contains(message));
}
