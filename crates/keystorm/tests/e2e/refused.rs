//! Command lines that make no sense: exit code 2, the option by its name, nothing sent.

use crate::program::Keystorm;
use crate::server::{KEYSTORM, Server, calls};

#[test]
fn sizes_out_of_bounds_name_their_option() {
    let server = Server::redis();
    let cases = [
        ("-n 0", "-n"),
        ("-n -5", "-n"),
        ("-n 99999999999999999999", "-n"),
        ("-n 9223372036854775808", "-n"),
        ("-n ten", "-n"),
        ("-n ''", "-n"),
        ("-c 0", "-c"),
        ("-c -1", "-c"),
        ("-c 2000000", "-c"),
        ("-c 99999999999999999999", "-c"),
        ("-P 99999999", "-P"),
        ("-P 99999999999999999999", "-P"),
        ("-p 99999", "-p"),
        ("-p x", "-p"),
        ("-r x", "-r"),
        ("-r 99999999999999999999", "-r"),
        ("-d x", "-d"),
        ("--threads x", "--threads"),
        ("--duration 0", "--duration"),
        ("--duration -1", "--duration"),
        ("--duration nan", "--duration"),
        ("--duration 1e30", "--duration"),
        ("--warmup -1", "--warmup"),
        ("--warmup inf", "--warmup"),
        ("--rps x", "--rps"),
        ("--rps -1", "--rps"),
        ("--rps 99999999999", "--rps"),
        ("--seed x", "--seed"),
        ("--window round", "--window"),
        ("--on-error ignore", "--on-error"),
        ("--format xml", "--format"),
        ("-n 10 --duration 1", "--duration"),
        ("--num-functions x", "--num-functions"),
        ("--maxdocs x", "--maxdocs"),
        ("--spawn-unix", "--spawn"),
        ("--json same --html same", "--json"),
    ];
    for (options, name) in cases {
        let ran = server.run(&format!("{options} get k")).exits(2);
        assert!(ran.err.contains(name) && ran.out.is_empty(), "{options}: {ran:?}");
    }
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn absurd_memory_is_refused_and_not_asked_for() {
    let server = Server::redis();
    server.run("-d 1073741824 -P 1000 -n 10 -t set").exits(2).says("-P");
    // Bounded, or a failure here would take the machine's memory.
    for option in ["--num-keys-in-fcall", "--num-functions"] {
        let test = format!("-t fcall,function_load {option} 4000000000 --print-plan");
        let line = format!("ulimit -v 2000000; exec {KEYSTORM} {test}");
        Keystorm::exec("sh", ["-c", &line]).run().exits(2).says(option);
    }
}

#[test]
fn options_of_later_versions_are_refused_by_name() {
    let server = Server::redis();
    for options in ["--rdma", "--fuzz", "--fuzz-mode m", "--fuzz-loglevel l"] {
        let name = options.split(' ').next().unwrap();
        let ran = server.run(&format!("{options} -n 10 -q -t get")).exits(2);
        ran.says(&format!("{name}: ")).says("does not support");
    }
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn unknown_options_and_missing_values_are_refused() {
    for line in ["--no-such-option", "-Z", "-n", "--dataset", "-t"] {
        let ran = Keystorm::new(line).run().exits(2);
        assert!(ran.err.contains(line) && ran.out.is_empty(), "{line}: {ran:?}");
    }
}

#[test]
fn what_is_wrong_with_a_value_is_stated_once_and_in_full() {
    for (line, text) in [
        (
            "-c abc get k",
            "invalid value 'abc' for '-c, --clients <CLIENTS>': expected a whole number,",
        ),
        ("--duration abc get k", ": expected a time such as 500ms"),
        ("--hit-ratio abc get k", "--hit-ratio: \"abc\" is not a hit ratio"),
        ("sweep -c 1..abc get k", "-c 1..abc: its ends are not numbers; "),
        ("merge --missing abc a.json", ": expected a whole number,"),
        ("merge --missing 0 a.json", ": must be between 1 and "),
        ("survey -o s.html", "-o s.html: not a directory; survey writes survey.html into it"),
    ] {
        let ran = Keystorm::new(line).run().exits(2).says(text);
        let value =
            line.split(' ').nth(line.split(' ').position(|w| w.starts_with('-')).unwrap() + 1);
        let value = value.unwrap();
        let first = ran.err.lines().next().unwrap();
        assert_eq!(first.matches(value).count(), 1, "{line}: {}", ran.err);
        assert!(!first.contains("add -r"), "{line}: {}", ran.err);
    }
}

#[test]
fn help_lists_what_can_be_used_and_is_wrapped_once() {
    let ran = Keystorm::new("compare --help all").run().ok();
    for refused in ["--as ", "--host", "--probe", "--shard", "--print-plan"] {
        assert!(!ran.out.contains(refused), "{refused}: {}", ran.out);
    }
    ran.prints("--repeat <N>");
    for name in ["", "compare", "sweep", "search", "survey", "merge", "show", "doctor"] {
        let ran = Keystorm::new(format!("{name} --help").trim_start()).run().ok();
        // A paragraph that was wrapped by hand beyond the width has lines of a word or two in it.
        let lines: Vec<&str> = ran.out.lines().collect();
        for three in lines.windows(3).filter(|three| three.iter().all(|l| !l.starts_with(' '))) {
            let [before, short, after] = three else { continue };
            let alone = before.len() > 80 && !short.is_empty() && short.len() < 10;
            assert!(!alone || after.is_empty(), "{name}: {three:?}");
        }
    }
}

#[test]
fn what_the_peers_bend_into_shape_is_bent_here_too() {
    let server = Server::redis();
    for options in [
        "-P 0",
        "-P -3",
        "-d -1",
        "--threads 0",
        "--threads -2",
        "--precision 0",
        "--precision 99",
        "--rps 0",
        "-k 7",
        "-n 1 -n 10",
        "-e",
    ] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("-n 10 {options} -q incr k")).ok();
        assert_eq!(server.calls("incr"), 10, "{options}");
    }
    server.run("-n 10 --threads 900 -c 4 -q incr k").ok().says("warning: Too many threads");
    server.run("-n 10 -e -q incr k").ok().says("warning: -e option has no effect");
    server.run("-n 10 -t set -q incr k").ok().says("warning: Option -t is ignored.");
}
