//! Checks of other work on the machine: load, pressure and stolen time.

use crate::machine::Pressure;

use super::known;
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

/// Shares of the time from which figures vary, and from which they are spoilt.
const STEAL_WARN: f64 = 0.005;
const STEAL_BAD: f64 = 0.05;

pub(super) fn steal(evidence: &Evidence) -> Verdict {
    let now = evidence.meanwhile.and_then(|times| times.steal_share());
    let ever = evidence.host.load.cpu_times.and_then(|times| times.steal_share());
    let ever = known(&ever)?;
    let share = now.unwrap_or(ever);
    let seen = match now {
        Some(now) => {
            format!("{:.1} % now, {:.1} % since the machine started", now * 100.0, ever * 100.0)
        }
        None => format!("{:.1} % since the machine started", ever * 100.0),
    };
    let why = "the hypervisor runs other machines when this one is ready to run; latencies grow \
        by whole time slices";
    let mend = "use a machine with dedicated CPUs, or measure at a quieter hour";
    let is_high = share >= STEAL_WARN || ever >= STEAL_BAD;
    Ok(Outcome::graded(share >= STEAL_BAD, is_high, seen, why, mend))
}

/// CPUs' worth of tasks per CPU.
const LOAD_WARN: f64 = 0.25;
const LOAD_BAD: f64 = 0.75;

pub(super) fn load(evidence: &Evidence) -> Verdict {
    // What runs now, and not what has run within a minute: that may have been a benchmark.
    let running = known(&evidence.host.load.running_beside)?;
    let cpus = known(&evidence.host.cpu.logical)?;
    let average = evidence.host.load.average.map_or(String::new(), |[minute, five, fifteen]| {
        format!("; load averages {minute:.2} {five:.2} {fifteen:.2}")
    });
    let tasks = format!("{running:.1} runnable tasks on {cpus} CPUs{average}");
    let share = running / f64::from(cpus.max(1));
    if share < LOAD_WARN {
        return Ok(Outcome::ok(format!("other programs: {tasks}")));
    }
    let competing = format!("other programs competed for the CPU: {tasks}");
    let why = "other programs take CPU time from client and server";
    let mend = "use `top` to find them, and stop them";
    Ok(Outcome::graded(share >= LOAD_BAD, true, competing, why, mend))
}

/// Percent of the last ten seconds.
const PRESSURE_WARN: f64 = 5.0;
const PRESSURE_BAD: f64 = 25.0;

fn pressure(of: Option<Pressure>, what: &str, mend: &str) -> Verdict {
    let Pressure { avg10, avg60 } =
        of.ok_or("not reported (pressure stall information needs Linux 4.20 and psi=1)")?;
    let seen = format!("{avg10:.1} % of the last 10 s, {avg60:.1} % of the last minute");
    let why = format!("tasks stall for lack of {what}");
    Ok(Outcome::graded(avg10 >= PRESSURE_BAD, avg10 >= PRESSURE_WARN, seen, &why, mend))
}

pub(super) fn cpu_pressure(evidence: &Evidence) -> Verdict {
    pressure(evidence.host.load.cpu_pressure, "CPUs", "use `top` to find what runs, and stop it")
}

pub(super) fn memory_pressure(evidence: &Evidence) -> Verdict {
    let mend = "use `ps aux --sort -rss | head` to find what uses memory, or use a smaller data \
        set";
    pressure(evidence.host.load.memory_pressure, "memory", mend)
}

pub(super) fn io_pressure(evidence: &Evidence) -> Verdict {
    let mend =
        "use `iotop` to find what uses the disks; it may be a server that saves during the test";
    pressure(evidence.host.load.io_pressure, "disks", mend)
}
