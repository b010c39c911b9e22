//! Checks of the real clock, which cannot be had while other work takes the machine.
//!
//! Such a check is skipped then: it says so by name, past the test runner's capture, and adds a line to
//! `target/skipped-checks`, which `make test` counts and has a ceiling for. On a quiet machine it fails as
//! any other. Checks that need what is not installed are skipped in the same way.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long one looks.
const LOOK: Duration = Duration::from_millis(200);
/// CPUs that others may use.
const OTHERS_MAX: f64 = 0.2;

/// In which the kernel counts, on every machine (proc(5)).
const USER_HZ: f64 = 100.0;

/// Seconds of CPU that the whole machine has used, those of its host included; `None` where that is not
/// known.
fn machine_cpu_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<f64> =
        text.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
    // user, nice, system, irq, softirq, steal; between them are idle and iowait.
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|at| ticks.get(*at)).sum();
    Some(busy / USER_HZ)
}

/// Seconds of CPU that this process has used.
fn own_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Whether there were more tasks in the last minute than CPUs (proc(5)): what a check saw may be from
/// before everything else came to its end.
fn was_busy() -> bool {
    let cpus = thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).is_some_and(|load: f64| load > cpus)
}

/// Whether others than this process use the machine, or did just before. Nothing of the test itself may
/// run.
pub(crate) fn is_busy() -> bool {
    if was_busy() {
        return true;
    }
    let (began, machine, own) = (Instant::now(), machine_cpu_s(), own_cpu_s());
    thread::sleep(LOOK);
    let Some((before, after)) = machine.zip(machine_cpu_s()) else { return false };
    let others = (after - before) - (own_cpu_s() - own);
    others / began.elapsed().as_secs_f64() > OTHERS_MAX
}

/// Says that a check is skipped, and counts it.
pub(crate) fn skip(check: &str, seen: impl Display) {
    count(&format!("skipped on a busy machine: {check} ({})\n", shortly(seen)));
}

/// Says that a check is skipped because something that it needs is not here, and counts it.
pub(crate) fn lacking(check: &str, what: impl Display) {
    count(&format!("skipped: {check} ({})\n", shortly(what)));
}

/// On one line.
fn shortly(text: impl Display) -> String {
    let line = text.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

fn count(line: &str) {
    // Not by a macro, whose text nobody would see.
    let _ = io::stderr().write_all(line.as_bytes());
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skipped-checks");
    let file = std::env::var_os("KEYSTORM_SKIPPED_CHECKS").map_or_else(here, PathBuf::from);
    let file = OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("a place to count skips");
}

/// Checks what holds on a quiet machine.
#[track_caller]
pub(crate) fn holds_when_quiet(check: &str, holds: bool, seen: impl Display) {
    if !holds && is_busy() {
        skip(check, seen);
    } else {
        assert!(holds, "{check}: {seen}");
    }
}
