//! The screen of a run that lasts: on a terminal that is resized, taken away and given back.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Keystorm, Process};
use crate::server::{KEYSTORM, Server};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A keystorm on a terminal of its own (`script` of util-linux), of 80 columns and 24 rows.
struct TerminalRun {
    running: Process,
    dir: tempfile::TempDir,
}

impl TerminalRun {
    fn start(server: &Server, line: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display();
        // A shell between the two: `script` stops with its child.
        let command = format!(
            "stty cols 80 rows 24; tty > {at}/tty; sh -c 'echo $$ > {at}/pid; exec {KEYSTORM} -p {} {line}'; exit $?",
            server.port()
        );
        let running =
            Keystorm::exec("script", ["-qec", &command, "/dev/null"]).env("TERM", "xterm").start();
        Self { running, dir }
    }

    fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap().trim().to_owned()
    }

    fn resize(&self, columns: usize, rows: usize) {
        let tty = self.noted("tty");
        let size = ["cols", &columns.to_string(), "rows", &rows.to_string()].map(str::to_owned);
        let set = Command::new("stty").arg("-F").arg(tty).args(size).status();
        assert!(set.unwrap().success());
    }

    fn signal(&self, signal: Signal) {
        let pid = self.noted("pid").parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Whether a screen of this size was drawn that has this line.
    fn has_drawn(&self, columns: usize, rows: usize, part: &str) -> bool {
        let out = self.running.out();
        let mut drawn = out.split("\x1b[H").skip(1).map(plain);
        drawn.any(|screen| {
            let lines: Vec<&str> = screen.lines().collect();
            let widest = lines.iter().map(|line| line.chars().count()).max();
            screen.contains(part) && lines.len() <= rows && widest <= Some(columns)
        })
    }

    fn state(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.noted("pid")));
        let stat = stat.unwrap_or_default();
        stat.rsplit(") ").next().unwrap_or_default().chars().take(1).collect()
    }
}

/// Text without what moves the cursor or colours it.
fn plain(text: &str) -> String {
    let (mut out, mut escape) = (String::new(), false);
    for character in text.chars() {
        escape |= character == '\x1b';
        if !escape && character != '\r' {
            out.push(character);
        }
        escape &= !character.is_ascii_alphabetic();
    }
    out
}

#[test]
fn a_run_that_lasts_has_a_screen_of_the_terminals_size_and_leaves_none_of_it() {
    let server = Server::redis();
    let watched = TerminalRun::start(&server, "--rps 1000 --duration 60 get k");
    let running = &watched.running;
    running.until("the screen is up", |_| watched.has_drawn(80, 24, "requests/s, 0 to "));
    running.until("it is judged", |_| watched.has_drawn(80, 24, "So far: get k: "));
    watched.resize(40, 12);
    running.until("it is narrow", |_| watched.has_drawn(40, 12, "per s"));
    watched.resize(200, 50);
    running.until("it is wide", |running| {
        running.out().lines().any(|line| plain(line).chars().count() > 150)
    });
    // Ctrl-Z: the terminal is the shell's until the program goes on.
    watched.signal(Signal::TSTP);
    running.until("it stops", |running| watched.state() == "T" && running.out().ends_with(LEAVE));
    let entered = running.out().matches(ENTER).count();
    watched.signal(Signal::CONT);
    running.until("it goes on", |running| running.out().matches(ENTER).count() > entered);
    watched.signal(Signal::INT);
    let ran = watched.running.wait();
    let (_, after) = ran.out.rsplit_once(LEAVE).unwrap();
    assert!(!after.contains("\x1b[H") && after.contains("interrupted after "), "{after:?}");
    assert!(after.contains("requests per second") || after.contains("throughput"), "{after:?}");
    for (on, off) in [(ENTER, LEAVE), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[?7l", "\x1b[?7h")] {
        assert_eq!(ran.out.matches(on).count(), ran.out.matches(off).count(), "{on:?}");
    }
    ran.exits(130);
}

#[test]
fn no_screen_hides_the_rows_of_a_log_or_stands_in_a_pipe() {
    let server = Server::redis();
    let rows = TerminalRun::start(&server, "--rps 1000 --duration 60 --progress 1s get k");
    rows.running.until("there are rows", |running| running.out().contains(" requests/s, p50 "));
    rows.signal(Signal::INT);
    let ran = rows.running.wait();
    assert!(!ran.out.contains(ENTER) && ran.out.contains(": rps="), "{:?}", ran.out);
    let piped = server.keystorm("--rps 1000 --duration 60 get k").start();
    piped.until("load runs", |_| server.calls("get") > 1500);
    piped.interrupt();
    let ran = piped.wait();
    assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{:?}", ran.out);
}
