//! `--deadline`, what takes `--yes`, `--password-command`, and rates under the name of what they count.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::listener::Listener;
use crate::program::{Keystorm, PATIENCE, within};
use crate::real_clock::holds_when_quiet;
use crate::record;
use crate::server::Server;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

#[test]
fn what_waits_for_a_server_that_stands_still_is_given_up_and_never_executed() {
    let server = Server::redis();
    for (options, noun) in
        [("", "requests"), ("--on local:2", "requests"), ("--mix --", "operations")]
    {
        server.reset();
        let (_dir, file) = record::place();
        let command = if noun == "operations" { "1 get k ';>' get l" } else { "get k" };
        let line = format!(
            "--rps 1k --duration 4 -c 4 --deadline 50 --slo late<0.1% --json {} {options} {command}",
            file.display()
        );
        let running = server.keystorm(&line).start();
        running.until("load runs", |_| server.calls("get") > 200);
        server.pause(Duration::from_millis(1500));
        let ran = running.wait();
        assert_eq!(ran.code, Some(3), "{}", ran.out);
        let ran = ran.prints("  deadline 50.0 ms: goodput ").prints("given up at their deadline");
        let test = record::json(&file)["tests"][0].clone();
        let (deadline, connections) = (&test["deadline"], &test["connections"]);
        let given_up = count(&deadline["given_up"]);
        // A busy machine may have kept the server from more.
        assert!(given_up > 500, "{deadline}: {}", ran.out);
        let late_ms = test["lateness_ms"]["total"]["max"].as_f64().unwrap();
        // Where keystorm itself waits for a CPU, it is late to give up.
        holds_when_quiet("nothing is late for longer than the deadline", late_ms < 51.0, late_ms);
        let in_time = count(&deadline["in_time"]);
        if noun == "requests" {
            assert_eq!(server.calls("get"), count(&test["requests"]), "{test}");
            let ended = count(&test["requests"]) + count(&connections["timed_out"]);
            // The last ones that are due may find no time to be sent before the end.
            let never_sent = count(&test["lateness_ms"]["due"]) - ended;
            holds_when_quiet("every request that is due ends", never_sent == 0, never_sent);
            assert_eq!(count(&connections["timed_out"]), given_up);
            assert_eq!(in_time + count(&deadline["late"]), count(&test["requests"]));
        }
        let points = test["timeline"].as_array().unwrap();
        assert_eq!(points.iter().map(|point| count(&point["in_time"])).sum::<u64>(), in_time);
        Keystorm::new(&format!("show {}", file.display()))
            .run()
            .prints("  deadline 50.0 ms: goodput ");
        let csv = Keystorm::new(&format!("show {} --format csv", file.display())).run();
        let head = "\"test\",\"deadline_ms\",\"goodput_rps\",\"in_time\",\"late\",\"given_up\"\n";
        let late = count(&deadline["late"]);
        csv.prints(head).prints(&format!(",\"{in_time}\",\"{late}\",\"{given_up}\"\n"));
    }
}

#[test]
fn a_target_of_what_is_late_takes_a_deadline() {
    let server = Server::redis();
    let ran = server.run("--slo goodput>10 -n 10 get k").exits(2);
    ran.says("--slo goodput>10/s: late and goodput require a deadline");
    server.run("--deadline 10s --slo 'goodput>10 & late<50%' --rps 500 --duration 1 get k").ok();
    assert_eq!(
        server.run("--deadline 10s --slo goodput>1M --rps 500 --duration 1 get k").code,
        Some(3)
    );
}

#[test]
fn a_run_whose_server_is_gone_at_the_end_fails() {
    let mut server = Server::redis();
    let running = server.keystorm("--rps 500 --duration 4 -c 2 get k").start();
    running.until("load runs", |_| server.calls("get") > 200);
    server.kill();
    let ran = running.wait().exits(1).prints("INCOMPLETE: the server was gone at the end; ");
    ran.prints("  the latencies are of no more than ");
}

#[test]
fn commands_that_harm_a_server_take_a_word_more() {
    let server = Server::redis();
    for line in ["shutdown", "flushall", "-n 3 -- blpop q 0", "monitor", "watch"] {
        let ran = server.run(line).exits(2);
        ran.says("is a command of the server, not of keystorm, and ").says("add --yes");
    }
    let executed = server.counts();
    assert!(!["flushall", "blpop", "monitor"].iter().any(|name| executed.contains_key(*name)));
    server.run("-n 3 -c 1 --yes flushall").ok();
    assert_eq!(server.calls("flushall"), 3);
    Keystorm::new("--spawn -n 3 -c 1 flushall").run().ok();
    let line = format!("-p {} -n 2 -c 1 flushall", server.port());
    Keystorm::new(&format!("--as redis-benchmark {line}")).run().ok();
    assert_eq!(server.calls("flushall"), 5);
}

/// Flags of the server decide on commands that keystorm's list lacks; by a peer's name nothing is asked.
#[test]
fn a_server_tells_which_of_its_commands_are_harmful() {
    for (name, server) in Server::both() {
        let line = |words: &str| format!("-n 3 -c 1 -r 10 --on-error count {words}");
        for words in [
            "pfselftest",
            "--fill get k:__key__ ';' slowlog reset",
            "--rps 10 cluster saveconfig",
            "client unblock 7",
        ] {
            let ran = server.run(&line(words)).exits(2);
            ran.says(" is a command of the server, not of keystorm, and the server flags it as ");
        }
        let port = server.port();
        let each = "--duration 1 -r 10";
        for experiment in [
            format!("sweep -p {port} {each} -c 1,2 pfselftest"),
            format!("search -p {port} {each} --slo p99<5ms pfselftest"),
            format!("compare 127.0.0.1:{port} 127.0.0.1:{port} {each} pfselftest"),
        ] {
            let ran = Keystorm::new(&experiment).run().exits(2);
            ran.says("pfselftest is a command of the server, not of keystorm").says("add --yes");
        }
        let executed = server.counts();
        assert!(executed.keys().all(|name| name == "command|info"), "{name}: {executed:?}");
        let harmless = ["sort l", "sort_ro l", "info", "role", "config get save", "slowlog get"];
        for words in harmless.iter().chain(&["xread streams s 0", "set k v ';' wait 0 1"]) {
            server.run(&line(words)).ok();
        }
        assert_eq!((server.calls("sort"), server.calls("sort_ro")), (3, 3), "{name}");
        server.run(&line("--yes pfselftest")).ok();
        Keystorm::new(&format!("redis-benchmark -p {port} -n 3 -c 1 pfselftest")).run().ok();
        assert_eq!(server.calls("pfselftest"), 6, "{name}");
    }
}

/// A module's command, and one that blocks.
#[test]
fn flags_of_modules_count_like_those_of_the_server() {
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let server = Listener::that_answers(move |words| {
        let words: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["CONFIG", ..] => "*0\r\n",
            ["INFO", ..] => "$15\r\nredis_version:7\r\n",
            ["COMMAND", "INFO", "IDX.DROP"] => {
                "*1\r\n*7\r\n$8\r\nidx.drop\r\n:2\r\n*1\r\n+write\r\n:0\r\n:0\r\n:0\r\n*2\r\n+@slow\r\n\
                 +@dangerous\r\n"
            }
            ["COMMAND", "INFO", "IDX.POP"] => {
                "*1\r\n*6\r\n$7\r\nidx.pop\r\n:2\r\n*2\r\n+write\r\n+blocking\r\n:1\r\n:1\r\n:1\r\n"
            }
            ["COMMAND", ..] => "-NOPERM no permissions to run this command\r\n",
            [name, ..] => {
                counted.fetch_add(u64::from(name.starts_with("IDX.")), Ordering::Relaxed);
                "+OK\r\n"
            }
            [] => "-ERR no command\r\n",
        }
    });
    server.run("-n 3 -c 1 idx.drop i").exits(2).says("and the server flags it as dangerous: add");
    server.run("-n 3 -c 1 idx.pop q").exits(2).says("and waits on the server, and a reply may ");
    assert_eq!(sent.load(Ordering::Relaxed), 0);
    server.run("-n 3 -c 1 idx.add i").ok();
    server.run("-n 3 -c 1 --yes idx.drop i").ok();
    assert_eq!(sent.load(Ordering::Relaxed), 6);
}

/// Nothing was measured then: no experiment calls that a success.
#[test]
fn experiments_whose_replies_were_all_errors_fail() {
    let (server, full) = (Server::redis(), Server::redis_with(&["--maxmemory", "100kb"]));
    server.ask(&["SET", "text", "v"]);
    let port = server.port();
    let pair = format!("127.0.0.1:{port} 127.0.0.1:{port} --disturbed=count");
    let (dir, file) = record::place();
    let recorded = dir.path().join("recorded.txt");
    fs::write(&recorded, "1700000000.1 [0 10.0.0.7:5001] \"LPUSH\" \"text\" \"v\"\n").unwrap();
    for line in [
        format!("sweep -p {port} -n 200 -c 1,2 --json {} lpush text v", file.display()),
        format!("compare {pair} -n 200 -c 2 lpush text v"),
        format!("compare {pair} -n 200 -c 2 --rps 500 --slo p99<5s lpush text v"),
        format!("connect -p {port} -n 20 -c 2 -- lpush text v"),
        format!("impact -p {port} --yes --rps 100 -c 2 --of script --rest 0.5s lpush text v"),
        format!("replay {} -p {port} --yes", recorded.display()),
        // Noise fails no request, so that one trial is enough.
        format!("search -p {port} --slo p99<5s --budget 1s --no-curve lpush text v"),
        format!("footprint -p {} --no-steps string:10", full.port()),
    ] {
        let ran = Keystorm::new(&line).run().exits(1);
        assert!(!ran.err.contains("panicked"), "{line}: {}", ran.err);
        // What did not succeed took no time.
        assert!(!ran.out.contains(" 0.000 "), "{line}: {}", ran.out);
    }
    let gate = format!("compare {pair} -n 200 -c 2 --fail-on-regression 5 lpush text v");
    assert_eq!(Keystorm::new(&gate).run().code, Some(3));
    assert_eq!(record::json(&file)["complete"], false);
    assert!(server.calls("lpush") > 1000);
    // Where some succeed, what fails is counted as before.
    let some = format!("sweep -p {port} -n 200 -c 1,2 --on-error count lpush text v ';' get text");
    Keystorm::new(&some).run().ok();
}

#[test]
fn rates_are_of_what_they_are_called_after() {
    let server = Server::redis();
    let ran =
        server.run("--rps 500 --duration 2 --progress 500ms --mix -- 1 incr a ';>' incr b").ok();
    let row = ran.out.lines().find(|line| line.contains("rate (operations")).unwrap();
    let mean: f64 = row.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!((300.0..=700.0).contains(&mean), "{row}");
    assert!(ran.err.contains(" of 500 operations/s"), "{}", ran.err);
}

#[test]
fn passwords_that_rotate_are_asked_for_before_each_login_and_shown_nowhere() {
    let server = Server::redis();
    let (dir, file) = record::place();
    let (secret, page) = (dir.path().join("secret"), dir.path().join("page.html"));
    let passwords = ["hunter2-first", "hunter2-second", "hunter2-third"];
    let rotate = |password: &str| {
        server.ask(&[
            "ACL",
            "SETUSER",
            "app",
            "on",
            "resetpass",
            &format!(">{password}"),
            "~*",
            "+@all",
        ]);
        fs::write(&secret, format!("{password}\n")).unwrap();
    };
    rotate(passwords[0]);
    // A slow command keeps no other connection waiting.
    let line = format!(
        "--user app --password-command 'sleep 0.3; cat {}' --set=renew=4 --rps 500 --duration 12 -c 8 --timeout 5s \
         --json {} --html {} incr k",
        secret.display(),
        file.display(),
        page.display()
    );
    let running = server.keystorm(&line).start();
    for (at, password) in passwords.iter().enumerate() {
        let before = server.calls("incr");
        assert!(within(PATIENCE, || server.calls("incr") > before + 300), "{}", running.err());
        let next = passwords.get(at + 1).unwrap_or(password);
        rotate(next);
        // Nobody who knows only the old one stays.
        server.ask(&["CLIENT", "KILL", "USER", "app", "SKIPME", "yes"]);
        running
            .until("it logs in again", |_| server.text(&["CLIENT", "LIST"]).contains("user=app"));
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            assert!(!words.contains("hunter2-"), "{words}");
        }
    }
    let ran = running.wait().ok().keeps_secret("hunter2");
    let test = record::json(&file)["tests"][0].clone();
    assert!(count(&test["connections"]["reconnects"]) >= 8, "{}", ran.out);
    for written in [&file, &page] {
        assert!(!fs::read_to_string(written).unwrap().contains("hunter2"), "{}", written.display());
    }
}

/// As senders do: receivers are cut off with each rotation, and come back with the next password.
#[test]
fn receivers_log_in_with_the_password_of_now() {
    for (kind, sends) in [("list --receivers 3", "lpush"), ("pubsub --subscribers 3", "publish")] {
        let server = Server::redis();
        let (dir, file) = record::place();
        let secret = dir.path().join("secret");
        let rotate = |password: &str| {
            let password_rule = format!(">{password}");
            let rules = ["on", "resetpass", password_rule.as_str(), "~*", "&*", "+@all"];
            server.ask(&[&["ACL", "SETUSER", "app"][..], &rules].concat());
            fs::write(&secret, format!("{password}\n")).unwrap();
        };
        rotate("hunter2-first");
        let line = format!(
            "deliver {kind} -p {} --user app --password-command 'sleep 0.2; cat {}' --rps 100 --duration 12 -c 2 \
             --reconnect yes --timeout 5s --json {} -q",
            server.port(),
            secret.display(),
            file.display()
        );
        let running = Keystorm::new(&line).start();
        for next in ["hunter2-second", "hunter2-third"] {
            let before = server.calls(sends);
            assert!(within(PATIENCE, || server.calls(sends) > before + 100), "{}", running.err());
            rotate(next);
            server.ask(&["CLIENT", "KILL", "USER", "app", "SKIPME", "yes"]);
            let receivers = |server: &Server| {
                let listed = server.text(&["CLIENT", "LIST"]);
                let receives = |line: &&str| {
                    let command = line.contains("cmd=brpop") || line.contains("cmd=subscribe");
                    line.contains("user=app") && command
                };
                listed.lines().filter(receives).count()
            };
            running.until("receivers are back", |_| receivers(&server) == 3);
        }
        let ran = running.wait().keeps_secret("hunter2");
        assert!(!ran.err.contains("WRONGPASS") && !ran.err.contains("error:"), "{}", ran.err);
        let test = record::json(&file)["tests"][0].clone();
        assert_eq!(test["ending"], "complete", "{kind}: {}", ran.err);
    }
}

#[test]
fn a_password_command_that_fails_ends_the_run_before_it_begins() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let ran = server.run("--password-command 'echo hunter2 && false' -n 10 get k").exits(1);
    ran.says("--password-command: the command failed").keeps_secret("hunter2");
    server.run("--password-command 'echo hunter2' -n 10 get k").ok().keeps_secret("hunter2");
    assert_eq!(server.calls("get"), 10);
}
