//! The help, the version, and that every example works as it is printed.

use crate::program::Keystorm;
use crate::server::{Server, called};

/// Every option.
fn help() -> String {
    let ran = Keystorm::new("--help all").run().ok();
    assert_eq!(ran.err, "");
    assert_eq!(Keystorm::new("help all").run().ok().out, ran.out);
    ran.out
}

#[test]
fn the_first_page_of_help_is_short_and_leads_to_the_rest() {
    let page = Keystorm::new("--help").run().ok();
    assert_eq!((page.err.as_str(), page.out.lines().count() <= 60), ("", true), "{}", page.out);
    for more in ["keystorm --help all", "keystorm help OPTION", "keystorm help TOPIC"] {
        assert!(page.out.contains(more), "{more}");
    }
    assert_eq!(Keystorm::new("help").run().ok().out, page.out);
    assert_eq!(Keystorm::new("-c 5 -t get --help").run().ok().out, page.out);
}

/// Scripts look there for what the tool can do.
#[test]
fn by_a_peers_name_the_first_page_has_the_peers_options() {
    let (_dir, link) = called("redis-benchmark");
    let theirs = Keystorm::exec(&link, ["--help"]).run().ok();
    for option in ["--enable-tracking", "-P <", "--csv", "--tls-ciphersuites", "--help all"] {
        assert!(theirs.out.contains(option), "{option}: {}", theirs.out);
    }
    assert!(!theirs.out.contains("--rps") && theirs.err.is_empty(), "{}", theirs.out);
    let (_dir, link) = called("valkey-benchmark");
    Keystorm::exec(&link, ["--help"]).run().ok().prints("--rps").prints("--enable-tracking");
    Keystorm::exec(&link, ["--help", "all"]).run().ok().prints("--slo");
}

#[test]
fn one_option_is_explained_with_an_example() {
    let rps = Keystorm::new("help --rps").run().ok().prints("Requests per second");
    // Lines are wrapped.
    assert!(rps.out.split_whitespace().collect::<Vec<_>>().join(" ").contains("keystorm search"));
    rps.prints("keystorm -t get --rps");
    Keystorm::new("help rps").run().ok().prints("Requests per second");
    Keystorm::new("help -c").run().ok().prints("Parallel connections");
    Keystorm::new("help --slo").run().ok().prints("Option of keystorm search");
    Keystorm::new("help --duraton").run().exits(2).says("--duration");
    let also = Keystorm::new("help --rfr-also").run().ok().out;
    let words = also.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence =
        "Further commands to send to replicas, such as a read-only EVAL, by position from 1";
    assert!(words.contains(sentence), "{words}");
    Keystorm::new("help topics")
        .run()
        .ok()
        .prints("redis-and-memcached")
        .prints("  Load on memcached\n");
}

#[test]
fn the_help_has_every_option_in_its_group() {
    let help = help();
    for group in ["Server:", "TLS:", "Load:", "Commands, keys and values:", "Results:", "Other:"] {
        assert!(help.lines().any(|line| line == group), "{group}");
    }
    let options = "-h -p -s -a --user -u -c -n -d --dbnum -3 --threads --enable-tracking -k -r \
                   --sequential -P -q --precision --csv -l -t -I -x --rps --duration --warmup \
                   --seed --num-functions --num-keys-in-fcall --dataset --maxdocs --mptcp --help \
                   -v --version --spawn --spawn-args --spawn-unix --print-plan --window \
                   --first-byte --on-error --format --json --hdr --repeat --html --svg \
                   --metrics --progress --sample --arrivals --shard --start-at --cluster --rfr --rfr-without \
                   --rfr-replicas --rfr-connections --replicas --no-touch --tls --sni \
                   --cacert --cacertdir \
                   --insecure --cert --key --tls-ciphers --tls-ciphersuites --tls-groups --tls-protocols --tls-resume \
                   --as --no-verdict --xml-root-element --workload --phase --print-workload";
    for option in options.split_whitespace() {
        let listed = |line: &str| {
            let mut words = line.split([' ', ',', '[', '=']).filter(|w| !w.is_empty()).take(2);
            line.starts_with("  ") && words.any(|word| word == option)
        };
        assert!(help.lines().any(listed), "{option} is not in the help");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100));
    // What is longer belongs to `keystorm help OPTION`.
    assert!(help.lines().count() <= 320, "{} lines", help.lines().count());
}

/// The command line of a line that shows one; what it does may stand behind it.
fn example(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix("$ ")?;
    Some(line.split_once("   ").map_or(line, |(command, _)| command))
}

#[test]
fn every_example_of_the_help_runs() {
    let server = Server::valkey();
    let help = Keystorm::new("--help").run().ok().out + &help();
    let examples: Vec<&str> = help.lines().filter_map(example).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let args = example.strip_prefix("keystorm").expect("an example of keystorm");
        // Whole suites at their hundred thousand requests a test would take minutes.
        let shrunk =
            if args.contains(" -n ") || args.contains("--duration") { "" } else { "-n 500" };
        // What fills a million keys shows as much with some of them.
        let line = format!("{shrunk}{args}").replace("1000000", "50000");
        server.ask(&["FLUSHALL"]);
        let keystorm =
            if example.contains("--spawn") { Keystorm::new(&line) } else { server.keystorm(&line) };
        let ran = keystorm.run().ok();
        let result = |l: &str| {
            l.contains("requests/s")
                || l.contains("requests per second")
                || l.starts_with("\"GET\"")
        };
        assert!(ran.out.lines().any(result), "{example}: {ran:?}");
        // What it reads is there, also on a server that nothing filled. The suite is the peers', whose
        // SPOP and ZPOPMIN take from sets of one element.
        let suite = ["keystorm", "keystorm --spawn -q"].contains(&example);
        assert!(suite || !format!("{ran:?}").contains(" were misses"), "{example}: {ran:?}");
    }
}

#[test]
fn deliver_has_a_page_of_its_own_and_one_for_each_kind() {
    let page = Keystorm::new("deliver --help").run().ok().out;
    assert!(page.lines().count() <= 60, "{page}");
    let all = Keystorm::new("deliver --help all").run().ok().out;
    for kind in ["pubsub", "list", "zset", "stream", "notify", "replica", "invalidate"] {
        assert!(page.lines().any(|line| line.starts_with(&format!("  {kind} "))), "{kind}");
        let own = Keystorm::new(&format!("deliver {kind} --help")).run().ok().out;
        assert!(own.contains(&format!("keystorm deliver {kind} --help all")), "{own}");
        assert!(own.contains("--drain") && !own.contains("--precision"), "{own}");
        Keystorm::new(&format!("deliver {kind} --help all")).run().ok().prints("--precision");
        assert!(all.contains(&format!("keystorm deliver {kind}")), "an example of {kind}");
    }
    let server = Server::redis();
    let examples: Vec<&str> = page.lines().filter_map(example).collect();
    let of_one_server = |example: &&&str| example.starts_with("keystorm deliver");
    assert_eq!(examples.iter().filter(of_one_server).count(), 2, "{examples:?}");
    for example in examples.iter().filter(of_one_server) {
        let line = example.strip_prefix("keystorm ").unwrap();
        Keystorm::new(&format!("{line} -p {}", server.port())).run().ok().prints("none lost");
    }
}

#[test]
fn the_example_that_fills_the_server_fills_it() {
    let server = Server::redis();
    server.run("-t set -n 100000 -r 100000 --sequential -P 16 -q").ok();
    assert_eq!(server.number(&["DBSIZE"]), 100_000);
}

#[test]
fn the_version_is_one_line() {
    for option in ["-v", "--version"] {
        let ran = Keystorm::new(option).run().ok();
        assert_eq!(ran.out, concat!("keystorm ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    // By a peer's name it is the version whose ways are kept: the one that is installed here.
    let theirs = Keystorm::exec("redis-benchmark", ["--version"]).run().ok().out;
    let (_dir, link) = called("redis-benchmark");
    assert_eq!(Keystorm::exec(link, ["--version"]).run().ok().out, theirs);
    let valkey = Keystorm::new("-v --as valkey-benchmark").run().ok().out;
    assert!(valkey.starts_with("valkey-benchmark 9."), "{valkey}");
}

#[test]
fn h_is_the_host_and_not_the_help() {
    let server = Server::redis();
    server.run("-h 127.0.0.1 -n 10 -q ping").ok();
    Keystorm::new("-h").run().exits(2).says("-h");
}
