//! Versions of memcached differ in what they take and in what they leave out after an error: the
//! installed one and 1.6.38 are both measured truly.

use std::fs;

use crate::memcached::Memcached;
use crate::program::RunOutput;
use crate::real_clock::lacking;

/// The installed one and the newer one, if that is there.
fn versions() -> Vec<(bool, Memcached)> {
    let installed = Memcached::new();
    match Memcached::newer(&[]) {
        Some(newer) => vec![(is_new(&installed), installed), (true, newer)],
        None => {
            let why =
                "target/test-servers/memcached-1.6.38 is not there; make setup-test fetches it";
            lacking("memcached 1.6.38 is measured as the installed one is", why);
            vec![(is_new(&installed), installed)]
        }
    }
}

/// Whether it is at least 1.6.35, which writes the replies of a pipeline together.
fn is_new(server: &Memcached) -> bool {
    let reply = server.say("version\n");
    let version = reply.trim().strip_prefix("VERSION ").unwrap().to_owned();
    let numbers: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    numbers >= vec![1, 6, 35]
}

#[test]
fn the_suite_is_counted_alike() {
    for (_, mut server) in versions() {
        for (test, counts, each) in [
            ("set", &["cmd_set"][..], 1),
            ("get", &["get_hits"], 1),
            ("mget10", &["get_hits"], 10),
            ("incr", &["incr_hits"], 1),
            ("cas", &["cas_hits", "cas_badval"], 1),
            ("gat", &["touch_hits"], 1),
            ("mg", &["get_hits"], 1),
            ("ms", &["cmd_set"], 1),
            ("ma", &["incr_hits"], 1),
        ] {
            server.reset();
            let line = format!("--protocol memcache-meta -t {test} -n 900 -r 30 -c 4 -P 5 -q");
            server.run(&line).ok();
            assert_eq!(server.grown(counts), 900 * each, "{test}");
        }
    }
}

#[test]
fn pipelines_of_get_are_warned_of_where_replies_leave_apart() {
    for (new, server) in versions() {
        for (line, apart) in [("-P 10 -t get", true), ("-t get", false), ("-P 10 -t set", false)] {
            let ran = server.run(&format!("-n 200 -r 10 {line}")).ok();
            let has_warning = ran.out.contains("writes the reply to each get of a pipeline");
            assert_eq!(has_warning, apart && !new, "{line}: {}", ran.out);
        }
    }
}

#[test]
fn flags_that_only_new_ones_know_are_errors_of_the_old() {
    let invalid = "CLIENT_ERROR invalid";
    for (new, server) in versions() {
        let run = |line: &str| server.run(&format!("-n 50 -c 2 --on-error count {line}")).ok();
        let refused = |ran: &RunOutput| ran.out.contains(invalid);
        assert_eq!(refused(&run("ms k E77 __data__")), !new);
        assert_eq!(refused(&run("md k x")), !new);
        // An append that creates: the old one takes the flag and does not know what it means.
        server.say("flush_all\n");
        let ran = run("-r 100000 --sequential ms new:__rand_int__ N60 MA __data__");
        assert_eq!(ran.out.contains("0 hits, 50 misses"), !new, "{}", ran.out);
    }
}

/// A key that is refused takes replies with it that the server owes: all in new ones, in old ones those
/// of other commands than `get`. Whatever comes, each request is counted once.
#[test]
fn a_refused_key_in_a_pipeline_costs_its_connection_and_no_truth() {
    let dir = tempfile::tempdir().unwrap();
    let rows = dir.path().join("keys.csv");
    let long = "k".repeat(251);
    fs::write(&rows, format!("key\na\nb\nc\n{long}\n")).unwrap();
    for (_, server) in versions() {
        server.say("set a 0 0 1\nx\n");
        for command in ["get __field:key__", "mg __field:key__ v"] {
            let line = format!(
                "--dataset {} -n 400 -c 2 -P 8 --reconnect yes --on-error count {command}",
                rows.display()
            );
            let ran = server.run(&line).ok().prints("CLIENT_ERROR bad command line format");
            let (answered, _) = ran.completed();
            assert!((20..400).contains(&answered), "{command}: {}", ran.out);
            assert!(!ran.out.contains("to no request"), "{command}: {}", ran.out);
        }
    }
}
