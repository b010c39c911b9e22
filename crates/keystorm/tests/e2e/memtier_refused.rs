//! memtier_benchmark's command lines that end at once: with which message, where, and which exit code.

use crate::program::{Keystorm, RunOutput};
use crate::server::{Server, free_port};

fn run(line: &str) -> RunOutput {
    Keystorm::new(&format!("memtier {line}")).run()
}

#[test]
fn faults_of_the_command_line_are_short_and_exit_with_2() {
    for (line, says) in [
        ("--test-time 1 -n 5", "error: --test-time and --requests are mutually exclusive."),
        ("-n 5 --test-time 1", "mutually exclusive"),
        ("-h", "option requires an argument -- 'h'"),
        ("--nope", "unrecognized option '--nope'"),
        ("--key-minimum 0", "error: key-minimum must be greater than zero."),
        ("-d 0", "error: data-size must be greater than zero."),
        ("-c 0", "error: clients must be greater than zero."),
        ("-p 65536", "error: port must be a number in the range [1-65535]."),
        ("--ratio 0:0", "error: ratio must be expressed as"),
        ("--key-pattern=P:R", "error: parallel key-pattern must be configured for both"),
        ("--key-pattern=r:r", "error: key-pattern must be in the format"),
        ("--command 'SET __key__ __data__' --ratio 1:1", "ratio is not allowed"),
        ("--command 'SET __key__ __data__' --key-pattern R:R", "command-key-pattern"),
        ("--command-ratio 2 --command PING", "error: no arbitrary command found."),
        ("--command 'SET \"a'", "error: failed to parse arbitrary command."),
        ("--command ''", "error: --command requires a non-empty command string."),
        ("--command __key__", "__key__: the first token must be a literal command name."),
        ("--command 'SUBSCRIBE c d'", "error: --command SUBSCRIBE is not supported: "),
        ("--command PING --command-ratio 0", "--command-ratio must be a positive integer."),
        ("--command-is-read", "error: --command-is-read must follow a --command."),
        ("--command PING --multi-key-get 2", "cannot be combined with --command."),
        ("--read-preference all", "error: --read-preference must be one of: primary, "),
        ("--key-pattern G:G --key-stddev inf", "error: key-stddev must be finite and "),
        ("--key-pattern G:G --key-minimum 1 --key-maximum 1", "error: key-pattern=G requires "),
        ("--prometheus-run-label a=b", "--prometheus-run-label requires --prometheus-port."),
        ("--miss-rate-threshold nan", "error: miss-rate-threshold must be a percentage"),
    ] {
        let ran = run(line).exits(2).says(says).prints("Usage: memtier_benchmark");
        assert_eq!(ran.err.lines().count(), 1, "{line}: {}", ran.err);
        assert_eq!(ran.out.lines().count(), 2, "{line}: {}", ran.out);
        ran.prints("See memtier_benchmark --help");
    }
    let help = run("--help").exits(2).prints("Usage: memtier_benchmark [options]");
    let help = help.prints("\n  -c, --clients=N                     clients of each thread (50)\n");
    assert_eq!(help.err, "");
    run("-v").ok().prints("memtier_benchmark v=2.4.4 ");
}

/// Command lines that were pasted from a page have dashes that no option begins with.
#[test]
fn what_is_no_option_is_told() {
    let server = Server::redis();
    let line = format!("-p {} -n 10 -c 1 -t 1 --hide-histogram", server.port());
    run(&format!("{line} \u{2013}-test-time=1")).exits(2).says("write --test-time=1");
    run(&format!("{line} \u{2014}test-time=1")).exits(2).says("unrecognized option");
    assert_eq!(server.calls("get"), 0);
    run(&format!("{line} test-time=1"))
        .ok()
        .says("warning: 'test-time=1' is not an option and has no effect");
    assert_eq!(server.calls("get") + server.calls("set"), 10);
}

#[test]
fn an_error_has_one_word_before_it() {
    let server = Server::redis_with(&["--requirepass", "x"]);
    let ran = run(&format!("-p {} -a wrong -n 10 -c 1 -t 1", server.port())).exits(2);
    assert!(ran.err.contains("error: ") && !ran.err.contains("Error: "), "{}", ran.err);
}

#[test]
fn checks_come_without_the_usage_and_exit_code_1() {
    for (line, says) in [
        ("--ks-json -", "error: --ks-json -: standard output is taken by the report; name a file"),
        ("-S s.sock -p 6379", "error: UNIX domain socket and TCP cannot be used together."),
        ("--uri=redis://localhost:99999", "error: Invalid URI format"),
        ("--uri=http://x", "error: Invalid URI format"),
        (
            "--cluster-mode --command 'MSET __key__ v __key__ w'",
            "error: Cluster mode supports only a single key in a command",
        ),
        ("--cluster-mode --uri=redis://h:7000/1", "error: database selection"),
        ("--command 'HSET __key__ f __data__xx'", "whole argument"),
        (
            "--cluster-mode --read-server a:1",
            "error: --read-server and --cluster-mode are mutually",
        ),
        ("--clients-start 1 --clients-step 2", "must be given together"),
        ("--thread-conn-start-min-jitter-micros 1", "must not be above"),
        ("--monitor-input /none --command __monitor_line1__", "--monitor-input: /none"),
        ("--scan-incremental-iteration", "scan-incremental-iteration needs one --command"),
        ("--data-import /none", "--data-import: /none: "),
        ("--data-import f --command 'GET a'", "--command with --data-import is not carried out"),
        ("--ks-requests 7", "error: --ks-requests: options of memtier_benchmark"),
        ("--ks-join 1+2/5s", "error: --ks-join: options of memtier_benchmark"),
        ("--ks-unpadded", "error: --ks-unpadded: options of memtier_benchmark"),
        ("--ks-cacert f", "error: --ks-cacert: options of memtier_benchmark"),
        ("--ks-repeat 2", "error: --ks-repeat: options of memtier_benchmark"),
        ("--transaction", "error: --transaction requires --command."),
        (
            "--client-stats f --ks-on local:2",
            "error: --client-stats with --ks-on is not carried out",
        ),
        ("--uri=redis://u:pw@h:x", "invalid port number: redis://***@h:x"),
    ] {
        let ran = run(line).exits(1).says(says);
        assert_eq!(ran.out, "", "{line}");
    }
}

#[test]
fn what_hangs_there_ends_with_a_message() {
    let port = free_port();
    run(&format!("-p {port} -t 1 -c 1 -n 10")).exits(1).says("onnection refused");
    let tries = "--reconnect-on-error --max-reconnect-attempts 1 --test-time 20";
    let ran = run(&format!("-p {port} -t 1 -c 1 {tries}")).exits(1).says("onnection refused");
    let ran = ran.says("Connection error, attempting reconnection 1/1 in 1.00 seconds...");
    ran.says("Maximum reconnection attempts (1) exceeded");
    let server = Server::redis_with(&["--requirepass", "richtig"]);
    let at = format!("-p {} -t 1 -c 1 -n 10", server.port());
    let ran = run(&format!("{at} -a falsch")).exits(2).says("WRONGPASS").keeps_secret("falsch");
    ran.says("memtier_benchmark: aborting after ").says("authentication failed");
    let open = Server::redis();
    for words in
        ["-a pw", "--authenticate=", "--cluster-mode", "-P memcache_text", "--select-db 100"]
    {
        let ran = run(&format!("-p {} {words} -t 1 -c 1 -n 10", open.port())).exits(2);
        ran.says("memtier_benchmark: aborting after ").says("See --connection-stage-timeout.");
    }
}

#[test]
fn replies_that_are_errors_are_reported() {
    let server = Server::redis();
    server.ask(&["SET", "memtier-0", "v"]);
    let line =
        |command: &str| format!("-p {} -t 1 -c 1 -n 10 --command '{command}'", server.port());
    run(&line("LPUSH memtier-0 v"))
        .ok()
        .says("error: 10 of 10 replies are errors, the first: WRONGTYPE");
    let ran = run(&line("LPUSH memtier-0 v")).ok();
    let each = format!("server 127.0.0.1:{} handle error response: -WRONGTYPE Op", server.port());
    assert_eq!(ran.err.matches(&each).count(), 10, "{}", ran.err);
    let half = format!("{} --command 'GET memtier-0'", line("LPUSH memtier-0 v"));
    run(&half).ok().says("error: 5 of 10 replies are errors");
}
