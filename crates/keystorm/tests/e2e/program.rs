//! Runs of keystorm: to the end, or in the background to be watched and signalled.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::server::{KEYSTORM, guarded, start};

/// How long a run or a state that a test waits for may take: on a busy machine nothing is late, and a test that is
/// red has waited in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// A command line to run.
#[derive(Clone)]
pub(crate) struct Keystorm {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    stdin: Vec<u8>,
}

impl Keystorm {
    /// `line` is split as a shell would.
    pub(crate) fn new(line: &str) -> Self {
        let args = shell_words::split(line).unwrap();
        Self::exec(KEYSTORM, args)
    }

    /// Another program, or keystorm by another name.
    pub(crate) fn exec(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.into(), args, env: Vec::new(), stdin: Vec::new() }
    }

    /// The same arguments for another program.
    pub(crate) fn called(self, program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..self }
    }

    /// With so much memory to be had and no more.
    pub(crate) fn within_memory(self, bytes: u64) -> Self {
        let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", bytes / 1024);
        let args = ["-c".into(), limited.into(), self.program].into_iter().chain(self.args);
        Self { program: "sh".into(), args: args.collect(), ..self }
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Starts it. It has a process group of its own and dies with the tests.
    pub(crate) fn start(self) -> Process {
        let mut command = guarded(&self.program);
        command.args(&self.args).env_remove("REDISCLI_AUTH").env_remove("KEYSTORM_VERDICT");
        command.env_remove("KEYSTORM_KEY_PASSWORD");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = start(command).expect("keystorm");
        let mut stdin = child.stdin.take().unwrap();
        // What does not read its input may be gone by now.
        let _ = stdin.write_all(&self.stdin);
        drop(stdin);
        let out = Reader::new(child.stdout.take().unwrap());
        let err = Reader::new(child.stderr.take().unwrap());
        let line = format!("{:?} {:?}", self.program, self.args);
        Process { child, out: Some(out), err, line, started: Instant::now() }
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> RunOutput {
        self.start().wait()
    }

    /// Runs it until what it measured decides a gate: on a busy machine repeats differ too much. Ten times at most.
    pub(crate) fn decided(self) -> RunOutput {
        let mut runs = (0..10).map(|_| self.clone().run());
        let mut last = runs.next().expect("ten runs");
        while last.code == Some(4) {
            let Some(next) = runs.next() else { break };
            last = next;
        }
        last
    }
}

/// Collects what a pipe brings.
struct Reader {
    text: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&text);
        let thread = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut chunk) {
                shared.lock().unwrap().extend_from_slice(&chunk[..n]);
            }
        });
        Self { text, thread }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }
}

/// A keystorm that has not ended, as far as we know. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    out: Option<Reader>,
    err: Reader,
    line: String,
    started: Instant,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Standard output so far.
    pub(crate) fn out(&self) -> String {
        self.out.as_ref().map(Reader::so_far).unwrap_or_default()
    }

    /// Standard error so far.
    pub(crate) fn err(&self) -> String {
        self.err.so_far()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this holds.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        assert!(
            within(PATIENCE, || holds(self)),
            "{}: {what}; said {:?} and {:?}",
            self.line,
            self.out(),
            self.err()
        );
    }

    /// Waits until it hears Ctrl-C (proc(5): the mask of signals that are caught).
    pub(crate) fn hears(&self) {
        self.until("it hears Ctrl-C", |running| {
            let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid()));
            let status = status.unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            caught.is_some_and(|mask| mask & 2 != 0)
        });
    }

    /// Ctrl-C, as a terminal sends it: to the whole process group.
    pub(crate) fn interrupt(&self) {
        self.hears();
        kill_process_group(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Ctrl-C once more, whether or not the first has ended it by now.
    pub(crate) fn interrupt_again(&self) {
        kill_process_group(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// `kill -9`.
    pub(crate) fn kill(&self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> RunOutput {
        let mut status = None;
        let ended = within(PATIENCE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let (out, err) = (self.out(), self.err());
        assert!(ended, "{} hangs; said {out:?} and {err:?}", self.line);
        self.ran(status.unwrap())
    }

    fn ran(mut self, status: ExitStatus) -> RunOutput {
        let took = self.started.elapsed();
        let Some(out) = self.out.take() else { unreachable!("it is waited for once") };
        // A server that was left behind could hold the pipes open; that is for others to notice.
        within(Duration::from_secs(2), || out.thread.is_finished());
        within(Duration::from_secs(2), || self.err.thread.is_finished());
        let (out, err) = (out.so_far(), self.err());
        let line = std::mem::take(&mut self.line);
        assert!(!err.contains("panicked at"), "{line}: {err}");
        RunOutput { code: status.code(), out, err, took, line }
    }
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
    line: String,
}

impl RunOutput {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}: {:?} {:?}", self.line, self.out, self.err);
        self
    }

    /// Checks that the exit code is that of the gate's state, as it was printed.
    #[track_caller]
    pub(crate) fn exits_by_gate(self) -> Self {
        let states = [("Gate failed: ", 3), ("Gate undecided: ", 4), ("Gate passed: ", 0)];
        let state = states.iter().find(|(printed, _)| self.out.contains(printed));
        let code = state.expect("a state of the gate").1;
        self.exits(code)
    }

    /// Checks that it went well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Checks that standard error has this.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.err.contains(part), "{}: no {part:?} in {:?}", self.line, self.err);
        self
    }

    /// Standard error without the lines that judge each test.
    pub(crate) fn err_but_verdicts(&self) -> String {
        let of_verdicts = [": limited by: ", ": not saturated: ", ": warning: "];
        let judges = |line: &&str| of_verdicts.iter().any(|part| line.contains(part));
        self.err.lines().filter(|line| !judges(line)).collect()
    }

    /// Checks that standard output has this.
    #[track_caller]
    pub(crate) fn prints(self, part: &str) -> Self {
        assert!(self.out.contains(part), "{}: no {part:?} in {:?}", self.line, self.out);
        self
    }

    /// Checks that a secret is nowhere in what it said.
    #[track_caller]
    pub(crate) fn keeps_secret(self, secret: &str) -> Self {
        self.leaves_out(secret)
    }

    /// Checks that a text is nowhere in what it said.
    #[track_caller]
    pub(crate) fn leaves_out(self, secret: &str) -> Self {
        let printed = format!("{}{}", self.out, self.err);
        assert!(!printed.contains(secret), "{}: {secret:?} is in {printed:?}", self.line);
        self
    }

    /// `N requests completed in S seconds` of the default report.
    #[track_caller]
    pub(crate) fn completed(&self) -> (u64, f64) {
        let line = self.out.lines().find(|l| l.contains(" requests completed in "));
        let line = line.unwrap_or_else(|| panic!("{}: no report in {:?}", self.line, self.out));
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[0].parse().unwrap(), words[4].parse().unwrap())
    }
}

/// How long an interval of a run's timeline lasts.
const INTERVAL: Duration = Duration::from_millis(250);

/// Waits until load has run for so many intervals, in each of which this count has grown: an outage is found
/// by what was usual before it, and ends when the usual is back.
#[track_caller]
pub(crate) fn goes_on(intervals: u32, count: impl Fn() -> u64) {
    for _ in 0..intervals {
        let (began, before) = (Instant::now(), count());
        let grown = || began.elapsed() >= INTERVAL && count() > before;
        assert!(within(PATIENCE, grown), "load stopped at {before}");
    }
}

/// Lets time pass that is itself what a test is about, such as the length of an outage. What must have
/// happened is waited for with [`within`].
pub(crate) fn elapse(length: Duration) {
    thread::sleep(length);
}

/// Whether something comes to hold in time.
pub(crate) fn within(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(3));
    }
}
