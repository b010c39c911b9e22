//! Where response times were spent, by stamps of the kernel: what they cost nothing of, where they are missing, and
//! whose a stop of 20 ms is.

use std::time::Duration;

use serde_json::Value;

use crate::deliver::deliver;
use crate::listener::Listener;
use crate::program::Keystorm;
use crate::real_clock::holds_when_quiet;
use crate::record::{json, place, valid};
use crate::server::{Server, pause};

/// How long somebody is stopped, or a reply delayed.
const STOP: Duration = Duration::from_millis(20);
/// How often a trial is repeated that other work on the machine disturbed.
const TRIALS: u32 = 12;

/// The parts of the longest response of a kept run, in milliseconds: the whole, that of the client, and the rest.
struct LongestResponse {
    whole: f64,
    client: f64,
    elsewhere: f64,
}

impl LongestResponse {
    fn from_document(document: &Value, of: &str) -> Self {
        let parts = document["tests"][0]["spans"]["parts_ms"].as_array().unwrap();
        let parts = parts.iter().find(|parts| parts["of"] == of).unwrap();
        let ms = |name: &str| parts[name].as_f64().unwrap();
        let client = ms("due_to_sent") + ms("until_read");
        Self { whole: ms("response"), client, elsewhere: ms("until_in_kernel") }
    }

    /// Whether a part is what was done, within a tenth, and the other is not.
    fn judged(&self, part: f64, other: f64, truth: Duration) -> Result<(), String> {
        let truth_ms = truth.as_secs_f64() * 1e3;
        let Self { whole, client, elsewhere } = self;
        let near = (part - truth_ms).abs() <= 0.1 * truth_ms;
        if near && other <= 0.1 * truth_ms {
            return Ok(());
        }
        Err(format!(
            "{whole} ms: {client} of the client, {elsewhere} elsewhere; in truth {truth_ms}"
        ))
    }
}

/// Tries until a trial was not disturbed by what else the machine does.
pub(crate) fn undisturbed(what: &str, trial: impl Fn() -> Result<(), String>) {
    let mut seen = Vec::new();
    for _ in 0..TRIALS {
        match trial() {
            Ok(()) => return,
            Err(why) => seen.push(why),
        }
    }
    holds_when_quiet(what, false, seen.join("; "));
}

/// Runs under load, with somebody stopped meanwhile: the document, and for how long in fact.
fn with_a_stop(
    server: &Server,
    options: &str,
    stop: impl Fn(u32) -> Duration,
) -> (Value, Duration) {
    let (_dir, file) = place();
    let before = server.calls("get");
    let line = format!("--kernel-stamps --json {} {options} get k", file.display());
    let running = server.keystorm(&line).start();
    running.until("load runs", |_| server.calls("get") > before + 500);
    let stopped = stop(running.pid());
    running.wait().ok();
    (json(&file), stopped)
}

#[test]
fn a_client_that_is_stopped_is_the_clients() {
    let server = Server::redis();
    for options in ["-c 4 -n 20000", "-c 4 --engine epoll -n 20000", "-c 4 --rps 4k -n 6000"] {
        undisturbed(options, || {
            let (document, stopped) = with_a_stop(&server, options, |pid| pause(pid, STOP));
            let longest = LongestResponse::from_document(&document, "max");
            longest.judged(longest.client, longest.elsewhere, stopped)
        });
    }
}

#[test]
fn a_server_that_is_stopped_is_the_servers() {
    let server = Server::redis();
    for options in ["-c 4 -n 20000", "-c 4 --engine epoll -n 20000"] {
        undisturbed(options, || {
            let (document, stopped) = with_a_stop(&server, options, |_| server.pause(STOP));
            let longest = LongestResponse::from_document(&document, "max");
            longest.judged(longest.elsewhere, longest.client, stopped)
        });
    }
}

#[test]
fn a_delay_of_the_replies_is_not_the_clients() {
    let server = Listener::that_answers_load_after(STOP, "$-1\r\n");
    for engine in ["uring", "epoll"] {
        undisturbed(engine, || {
            let (_dir, file) = place();
            let line = format!(
                "-p {} --engine {engine} --kernel-stamps --json {} -c 2 -n 40 get k",
                server.port(),
                file.display()
            );
            Keystorm::new(&line).run().ok().prints(" until it was back in this kernel, ");
            let median = LongestResponse::from_document(&json(&file), "p50");
            median.judged(median.elsewhere, median.client, STOP)
        });
    }
}

#[test]
fn stamps_are_kept_and_shown_and_cost_no_reply() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    for options in ["--rps 4k -n 2000", "-n 3000 -P 8 --engine epoll", "-n 3000 --threads 2 -d 20k"]
    {
        server.reset();
        let kept = format!("--json {} --html {}", file.display(), page.display());
        let ran =
            server.run(&format!("--kernel-stamps {kept} {options} set k:__rand_int__ v")).ok();
        let document = json(&file);
        valid(&document);
        let test = &document["tests"][0];
        let stamped = test["spans"]["read_ms"]["exact"]["count"].as_u64().unwrap();
        let unstamped = test["spans"]["unstamped"].as_u64().unwrap();
        assert_eq!(Some(stamped + unstamped), test["requests"].as_u64());
        assert!(stamped > unstamped, "{stamped} of {}", stamped + unstamped);
        assert_eq!(Some(server.calls("set")), test["requests"].as_u64());
        let line = ran.out.lines().find(|line| line.contains(" until keystorm read it"));
        assert!(line.is_some_and(|line| line.contains(" p99 ")), "{}", ran.out);
        let shown = Keystorm::new(&format!("show {}", file.display())).run().ok();
        assert_eq!(shown.out, ran.out);
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.contains("until it was back in this kernel"));
    }
    let plain = server.run("-n 300 get k").ok();
    assert!(!plain.out.contains("kernel"), "{}", plain.out);
}

#[test]
fn where_there_are_no_stamps_the_report_says_so() {
    let server = Server::redis();
    let line = format!("-s {} --kernel-stamps -n 300 get k", server.socket().display());
    let ran = Keystorm::new(&line).run().ok();
    ran.prints("  no kernel stamps: a unix socket has none\n");
    let tcp = format!("-p {}", server.port());
    for line in ["--rps 3k --kernel-stamps=no", "--rps 200k", ""] {
        let ran = Keystorm::new(&format!("{tcp} -n 300 {line} get k")).run().ok();
        assert!(!ran.out.contains("kernel"), "{line}: {}", ran.out);
    }
    for line in ["--rps 3k", "--rps 80k --threads 2", "--kernel-stamps"] {
        let ran = Keystorm::new(&format!("{tcp} -n 300 {line} get k")).run().ok();
        ran.prints("until it was back in this kernel");
    }
    let ran = deliver(&server, "pubsub --channels 2 --subscribers 2 --rps 1k -n 300").run().ok();
    assert!(!ran.out.contains("kernel"), "{}", ran.out);
}

#[test]
fn messages_have_the_span_between_kernel_and_receiver() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    for (line, known) in [
        ("pubsub --rps 1k --channels 2 --subscribers 4", true),
        ("pubsub --channels 2 --subscribers 4 --engine epoll", true),
        ("list --rps 1k", true),
        ("stream --rps 1k", true),
        ("invalidate --rps 500", true),
        ("invalidate --rps 500 --tracking default", false),
    ] {
        let kept = format!("--json {} --html {}", file.display(), page.display());
        let ran = deliver(&server, &format!("{line} -n 500 --kernel-stamps {kept}")).run().ok();
        let document = json(&file);
        valid(&document);
        let test = &document["tests"][0];
        let stamped = test["spans"]["read_ms"]["exact"]["count"].as_u64().unwrap();
        let unstamped = test["spans"]["unstamped"].as_u64().unwrap();
        assert_eq!(Some(stamped + unstamped), test["requests"].as_u64(), "{line}");
        assert_eq!(stamped > unstamped, known, "{line}: {stamped} of {}", stamped + unstamped);
        let sentence = if known {
            " until it was in this kernel, "
        } else {
            "  no kernel stamps: invalidations after which a key is read have none\n"
        };
        assert!(ran.out.contains(sentence), "{line}: {}", ran.out);
        let shown = Keystorm::new(&format!("show {}", file.display())).run().ok();
        assert_eq!(shown.out, ran.out);
        let page = std::fs::read_to_string(&page).unwrap();
        assert_eq!(page.contains("until it was in this kernel"), known, "{line}");
    }
}

#[test]
fn a_receiver_that_is_stopped_is_the_clients() {
    let server = Server::redis();
    undisturbed("pubsub", || {
        let (_dir, file) = place();
        let before = server.calls("publish");
        let line = format!(
            "pubsub --rps 2k -n 4000 --subscribers 2 --kernel-stamps --json {}",
            file.display()
        );
        let running = deliver(&server, &line).start();
        running.until("load runs", |_| server.calls("publish") > before + 500);
        let stopped = pause(running.pid(), STOP);
        running.wait().ok();
        let longest = LongestResponse::from_document(&json(&file), "max");
        longest.judged(longest.client, longest.elsewhere, stopped)
    });
}
