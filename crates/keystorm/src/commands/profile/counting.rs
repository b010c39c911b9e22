//! The instruments: callgrind around a server, or the processor's counters by `perf`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use host::Questions;
use lab::profile::{Counter, Counts, slope};
use measure::Ending;
use tempfile::TempDir;
use workload::{Endpoint, Plan, Stop, Target};

use crate::experiment::frame::Frame;
use crate::test_bed::TestBed;

/// The event that `perf` counts: instructions of the program, without the kernel's.
const EVENT: &str = "instructions:u";
const NO_VALGRIND: &str =
    "valgrind is not installed; install its package (apt-get install valgrind)";
/// Seconds that a start with its run takes, as a guess.
pub(super) const START_S: f64 = 2.5;
/// Shell script that becomes the server with its instrument.
const SCRIPT: &str = include_str!("counted.sh");
/// Longest wait for the counts of `perf`.
const PERF_ENDS: Duration = Duration::from_secs(5);
/// Random bytes that a start gets; nothing reads more of them.
const SEED_BYTES: usize = 4096;

/// Instrument that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Instrument {
    /// The first that works.
    Auto,
    /// Valgrind's tool.
    Callgrind,
    /// The processor's counters.
    Perf,
}

/// A start of a server for a test.
pub(crate) struct Start<'a> {
    /// The test with half of the requests, and with all.
    pub(crate) plans: [&'a Plan; 2],
    /// Place at which the server is started: that of the plans, or another where these are sent over TLS.
    pub(crate) at: &'a Target,
    /// Number of the start, by which the server gets its random bytes, where that is possible.
    pub(crate) number: u32,
}

/// An instrument that works here.
pub(crate) struct Instruments {
    pub(super) counter: Counter,
    pub(super) version: String,
}

impl Instruments {
    /// Finds the instrument that is asked for.
    ///
    /// # Errors
    /// Returns an error that says what to install if it does not work here.
    pub(crate) fn find(asked: Instrument) -> Result<Self> {
        let found = match (version("valgrind"), asked) {
            (Some(version), Instrument::Auto | Instrument::Callgrind) => {
                Ok((Counter::Callgrind, version))
            }
            (None, Instrument::Callgrind) => bail!("--with callgrind: {NO_VALGRIND}"),
            (_, Instrument::Perf) => counters().context("--with perf: use --with callgrind"),
            (None, Instrument::Auto) => counters().context(NO_VALGRIND),
        };
        found.map(|(counter, version)| Self { counter, version })
    }

    /// Counts what each request costs by a start of a server for each of two lengths: their slope, which
    /// excludes the cost of the start. After it, runs of `after_s` planned seconds are left. `None` after
    /// Ctrl-C.
    ///
    /// # Errors
    /// The server does not start or run, or was not counted.
    pub(crate) fn count(
        &self,
        start: &Start<'_>,
        title: &str,
        after_s: f64,
        frame: &mut Frame<'_>,
    ) -> Result<Option<Counts>> {
        let mut counted = Vec::new();
        for (plan, left_s) in start.plans.into_iter().zip([START_S, 0.0]) {
            frame.progress.begin(title.to_owned(), START_S, after_s + left_s);
            let threads = self.threads(plan, start, frame);
            frame.progress.end();
            if frame.is_interrupted() {
                return Ok(None);
            }
            counted.push(threads?);
        }
        let [half, all] = start.plans.map(requests);
        let requests = all - half;
        let slope = slope(&counted[0], &counted[1], requests as f64);
        slope.map(Some).with_context(|| {
            format!("{title}: {requests} requests more took no more instructions; raise -n")
        })
    }

    /// Starts a server, carries out a plan, and returns what each thread did from start to end.
    fn threads(
        &self,
        plan: &Plan,
        start: &Start<'_>,
        frame: &mut Frame<'_>,
    ) -> Result<Vec<Counts>> {
        let scratch = TempDir::new().context("making a folder for what is counted")?;
        let mut target = start.at.clone();
        let Endpoint::Spawned { program: Some(program), .. } = &mut target.endpoint else {
            bail!("there is no server to start");
        };
        let named = program.clone();
        *program = self.wrapped(program, start, scratch.path())?;
        let mut bed = reach(&target, plan, frame.interrupted).with_context(|| match self.counter {
            Counter::Callgrind => format!(
                "{named} does not run under valgrind; build it for a common processor (without -march=native), or use \
                 --with perf"
            ),
            Counter::Perf => named,
        })?;
        if plan.target.tls.is_some() {
            send(&reach(&plan.target, plan, frame.interrupted)?, plan, frame)?;
        } else {
            send(&bed, plan, frame)?;
        }
        if !plan.protocol.is_memcache() {
            // Asked by a signal, it would end with its next timer only.
            let _ = bed.server.client(&target)?.ask(&[b"SHUTDOWN", b"NOSAVE"]);
        }
        bed.server.stop();
        match self.counter {
            Counter::Callgrind => counts_of_threads(scratch.path()),
            Counter::Perf => counts_of_perf(&scratch.path().join("out")).map(|counts| vec![counts]),
        }
    }

    /// A program that becomes the server with its instrument.
    fn wrapped(&self, program: &str, start: &Start<'_>, scratch: &Path) -> Result<String> {
        let [script, seed, out] = ["server", "seed", "out"].map(|name| scratch.join(name));
        fs::write(&seed, [start.number as u8; SEED_BYTES])?;
        let counter = if self.counter == Counter::Perf { "perf" } else { "callgrind" };
        let protocol = if start.plans[0].protocol.is_memcache() { "memcache" } else { "resp" };
        let mut text = format!("#!/bin/sh\ncounter={counter} protocol={protocol}\n");
        for (name, value) in [
            ("server", program),
            ("seed", &seed.to_string_lossy()),
            ("out", &out.to_string_lossy()),
        ] {
            text += &format!("{name}={}\n", shell_words::quote(value));
        }
        fs::write(&script, text + SCRIPT)?;
        fs::set_permissions(&script, Permissions::from_mode(0o700))?;
        Ok(script.display().to_string())
    }
}

/// Number of requests of a plan, which does not end by time.
pub(super) fn requests(plan: &Plan) -> u64 {
    if let Stop::Requests(requests) = plan.load.stop { requests } else { 0 }
}

fn reach<'i>(target: &Target, plan: &Plan, interrupted: &'i AtomicBool) -> Result<TestBed<'i>> {
    let connections = plan.own_connections();
    let mut bed = TestBed::reach_asking(
        Questions::None,
        target,
        plan.protocol,
        connections,
        None,
        interrupted,
    )?;
    bed.settings.fills_quietly = true;
    Ok(bed)
}

/// Sends the requests of a plan. The server is not watched meanwhile, as questions are work.
fn send(bed: &TestBed<'_>, plan: &Plan, frame: &mut Frame<'_>) -> Result<()> {
    bed.prepare(plan)?;
    let start = runner::Start::Ready;
    let sent = bed.load(plan, start, None, frame.interrupted, &mut frame.progress)?;
    match sent.ending {
        Ending::Failed(ref failure) => bail!("{failure}"),
        _ if sent.is_refused() => {
            let example = sent.total.errors.examples().first().map(String::as_str);
            bail!("{}: every reply was an error: {}", plan.name, example.unwrap_or_default())
        }
        _ => Ok(()),
    }
}

/// The version of a program; `None` where it is not installed.
fn version(program: &str) -> Option<String> {
    let ran = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    (ran.status.success() && !text.is_empty()).then_some(text)
}

/// The processor's counters, with the version of `perf`.
///
/// # Errors
/// Reason why it does not count.
fn counters() -> Result<(Counter, String)> {
    let version = version("perf").context("the program perf is not installed")?;
    let ran = Command::new("perf").args(["stat", "-x", ",", "-e", EVENT, "true"]).output()?;
    if perf_count(&String::from_utf8_lossy(&ran.stderr)).is_none() {
        bail!("this machine does not let programs count instructions");
    }
    Ok((Counter::Perf, version))
}

/// The count of a listing by `perf stat -x ,`; `None` where nothing could be counted.
fn perf_count(listing: &str) -> Option<f64> {
    let marked = format!(",,{EVENT}");
    listing.lines().find_map(|line| line.split_once(&marked)?.0.parse().ok())
}

/// The count that `perf` writes within a second after the server has ended.
fn counts_of_perf(listing: &Path) -> Result<Counts> {
    let (begun, mut counted) = (Instant::now(), None);
    while counted.is_none() && begun.elapsed() < PERF_ENDS {
        thread::sleep(Duration::from_millis(50));
        counted = perf_count(&fs::read_to_string(listing).unwrap_or_default());
    }
    let instructions = counted.context("--with perf: it counted nothing; use --with callgrind")?;
    Ok(Counts { instructions, ..Counts::default() })
}

/// The counts of every thread, from the files that callgrind left: `out-01` and so on.
fn counts_of_threads(scratch: &Path) -> Result<Vec<Counts>> {
    let counts = (1..).map(|number| scratch.join(format!("out-{number:02}")));
    let files = counts.take_while(|path| path.exists());
    let counts = files.map(|path| -> Result<Counts> {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        Counts::parse(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
    });
    let threads: Vec<Counts> = counts.collect::<Result<_>>()?;
    if threads.is_empty() {
        bail!("callgrind wrote no counts: the server did not end when asked to");
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_perf_is_read_from_its_listing() {
        let listing = "# started on Fri\n\n1200,,instructions:u,9,100.00,,\n";
        assert_eq!(perf_count(listing), Some(1200.0));
        assert_eq!(perf_count("<not supported>,,instructions:u,0,100.00,,\n"), None);
    }
}
