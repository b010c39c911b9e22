//! `--rps`, `--duration` and `--warmup`: what is sent when, by the server's count.

use crate::real_clock::holds_when_quiet;
use crate::server::Server;

/// Runs once more where a busy machine may have spoiled a figure, up to three times. Three in a row
/// would not be chance on a quiet one.
fn within_three(what: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        match attempt() {
            Ok(()) => return,
            Err(why) => seen.push(why),
        }
    }
    holds_when_quiet(what, false, format!("{seen:?}"));
}

/// Runs and checks that the server executed `rate` requests per second for two seconds, to one
/// per cent and one request. The machine may be busy just when a run ends, and what was due then
/// is lost.
fn holds(server: &Server, rate: u64, options: &str, command: &str) {
    let line = format!("-q --rps {rate} --duration 2 {options} {command}");
    within_three(&line, || {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&line).ok();
        let executed: u64 = server.counts().values().sum();
        let close = executed.abs_diff(2 * rate) <= 2 * rate / 100 + 1;
        if close { Ok(()) } else { Err(format!("executed {executed}")) }
    });
}

/// A span in seconds that was planned to be `planned`: never less, and hardly more.
fn lasted(planned: f64, seconds: f64) -> Result<(), String> {
    assert!(seconds >= planned - 0.001, "{seconds} s of {planned}");
    if seconds < planned + 0.1 { Ok(()) } else { Err(format!("{seconds} s of {planned}")) }
}

#[test]
fn the_rate_holds_from_ten_to_fifty_thousand() {
    let server = Server::redis();
    holds(&server, 10, "", "get k");
    holds(&server, 1000, "", "get k");
    holds(&server, 20_000, "", "get k");
    holds(&server, 50_000, "-P 16", "get k");
}

#[test]
fn the_rate_is_of_requests_whatever_the_shape() {
    let server = Server::redis();
    holds(&server, 1000, "-P 4", "get k");
    holds(&server, 1000, "--threads 2 -c 10", "get k");
    holds(&server, 3000, "-c 5", "set k v ';' get k ';' incr i");
    holds(&server, 1000, "-P 4 --window batch -k 0", "get k");
}

#[test]
fn a_paced_run_of_a_count_is_exact_and_takes_its_time() {
    let server = Server::redis();
    within_three("0.5 s", || {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let ran = server.run("--rps 1000 -n 501 -c 3 get k").ok();
        let (requests, seconds) = ran.completed();
        assert_eq!((requests, server.calls("get")), (501, 501));
        ran.prints(" requests/s of 1000.00 requested\n");
        lasted(0.5, seconds)
    });
}

#[test]
fn a_duration_is_kept_and_what_is_printed_is_what_was_done() {
    let server = Server::redis();
    for shape in ["-c 5", "-c 20 -P 16 --threads 2", "-c 5 -k 0"] {
        within_three(shape, || {
            server.ask(&["CONFIG", "RESETSTAT"]);
            let ran = server.run(&format!("--duration 1 {shape} incr k")).ok();
            let (requests, seconds) = ran.completed();
            assert_eq!(requests, server.calls("incr"), "{shape}");
            let whole = ran.took.as_secs_f64();
            assert!(whole >= 1.0, "{shape}: {whole}");
            lasted(1.0, seconds)?;
            if whole < 2.0 { Ok(()) } else { Err(format!("{whole} s from call to exit")) }
        });
    }
}

#[test]
fn a_duration_may_be_a_fraction_of_a_second() {
    let server = Server::redis();
    within_three("0.25 s", || {
        let (requests, seconds) = server.run("--duration 0.25 -t get").ok().completed();
        assert!(requests > 0, "in {seconds} s");
        lasted(0.25, seconds)
    });
}

#[test]
fn the_warm_up_is_not_reported() {
    let server = Server::redis();
    for shape in ["-c 5", "-c 6 -P 8 --threads 2", "-c 4 --rps 2000 --threads 2"] {
        within_three(shape, || {
            server.ask(&["CONFIG", "RESETSTAT"]);
            let ran = server.run(&format!("--warmup 0.5 --duration 1 {shape} incr k")).ok();
            let (requests, seconds) = ran.completed();
            let executed = server.calls("incr");
            assert!(ran.took.as_secs_f64() >= 1.5, "{:?}", ran.took);
            assert!(requests < executed, "{shape}: {requests} of {executed}");
            lasted(1.0, seconds)?;
            // A third of the time was warm-up; the rates of both parts are roughly the same.
            let share = requests as f64 / executed as f64;
            let fair = (0.5..0.85).contains(&share);
            if fair { Ok(()) } else { Err(format!("{requests} of {executed}")) }
        });
    }
}

#[test]
fn a_paced_warm_up_is_of_the_same_rate() {
    let server = Server::redis();
    within_three("1,000 per second, warm-up and all", || {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let ran = server.run("--warmup 0.5 --duration 1 --rps 1000 -c 4 get k").ok();
        let ((measured, _), executed) = (ran.completed(), server.calls("get"));
        // A schedule is never run ahead of. What is due in the last instant may stay unsent, and
        // what the warm-up was late with is sent after it.
        assert!(measured <= 1_500 && executed <= 1_501, "{measured} of {executed}");
        let kept = (985..=1_015).contains(&measured) && executed >= 1_470;
        if kept { Ok(()) } else { Err(format!("{measured} of {executed}")) }
    });
}

#[test]
fn a_warm_up_before_a_count_leaves_the_count_whole() {
    let server = Server::redis();
    let ran = server.run("--warmup 0.3 -n 1000 -c 5 -P 3 --threads 2 get k").ok();
    assert_eq!(ran.completed().0, 1000);
    assert!(server.calls("get") > 1000);
}

#[test]
fn a_ramp_and_steps_send_the_area_below_them() {
    let server = Server::redis();
    for (rate, expected) in [("0..4k/2s", 4000), ("1k,2k,3k/500ms", 3000), ("2k..0/1s", 1000)] {
        within_three(rate, || {
            server.ask(&["CONFIG", "RESETSTAT"]);
            let ran = server.run(&format!("--rps {rate} get k")).ok();
            ran.prints(" requests/s of ");
            let executed = server.calls("get");
            // What is due in the last instant may stay unsent.
            if executed.abs_diff(expected) <= expected / 100 {
                return Ok(());
            }
            Err(format!("executed {executed} of {expected}"))
        });
    }
}

#[test]
fn random_arrivals_keep_the_rate() {
    let server = Server::redis();
    within_three("poisson", || {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run("--rps 5k --arrivals poisson --duration 2 --threads 2 -q get k").ok();
        let executed = server.calls("get");
        // Five deviations of a Poisson count.
        if executed.abs_diff(10_000) <= 500 { Ok(()) } else { Err(executed.to_string()) }
    });
}

#[test]
fn a_schedule_that_the_server_cannot_keep_is_called_missed() {
    let server = Server::redis_with(&["--enable-debug-command", "yes"]);
    let ran = server.run("--rps 5k --duration 1 -c 1 --yes debug sleep 0.01").ok();
    ran.prints("  schedule: MISSED; ")
        .prints("every connection was waiting for replies")
        .prints("were due and never sent");
}

#[test]
fn shares_make_the_whole() {
    let server = Server::redis();
    let shares = |options: &str| {
        server.ask(&["FLUSHALL"]);
        server.ask(&["CONFIG", "RESETSTAT"]);
        let share = |index| server.keystorm(&format!("-q --shard {index}/4 {options}")).start();
        let running: Vec<_> = (1..=4).map(share).collect();
        running.into_iter().for_each(|share| {
            share.wait().ok();
        });
        (server.calls("set"), server.number(&["DBSIZE"]))
    };
    let all = "-n 10001 -c 10 -r 10001 --sequential -P 3 -t set";
    assert_eq!(shares(all), (10_001, 10_001), "each key once");
    within_three("a rate of shares", || {
        let (sent, _) = shares("--rps 4k --duration 1 -c 8 --start-at +2 -t set");
        if sent.abs_diff(4_000) <= 40 { Ok(()) } else { Err(sent.to_string()) }
    });
}

#[test]
fn an_agreed_start_is_kept_or_the_run_fails() {
    let server = Server::redis();
    let ran = server.run("--start-at +1.5 -n 10 -q get k").ok();
    assert!(ran.took.as_secs_f64() >= 1.4, "{:?}", ran.took);
    let late = server.run("--start-at +0 -n 10 -q get k").exits(1);
    late.says("--start-at: the connections were open ");
    for past in ["2001-01-01T00:00:00Z", "100"] {
        let years = server.run(&format!("--start-at {past} -n 10 -q get k")).exits(2);
        assert!(years.err.contains(" years ") && years.err.contains(" ago; "), "{}", years.err);
    }
    server.run("--start-at +1 -t get,set -q").exits(2).says("name one with -t");
    server.run("--start-at noon -q get k").exits(2).says("2026-05-01T12:00:00Z");
}
