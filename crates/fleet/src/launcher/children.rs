//! Child processes that communicate in lines.
//!
//! Each has its own process group, so that only the coordinator reacts to Ctrl-C, and an input that ends with
//! the coordinator, so that no child outlives it.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use workload::secret::without_passwords;

use crate::line::LINE_BYTES_MAX;

/// Longest wait for a child to end after its input has.
const FAREWELL: Duration = Duration::from_secs(3);
/// Last lines of standard error that are kept, to explain a child's end.
const SAID_LAST: usize = 3;

/// A child and the threads that carry its lines.
pub(super) struct ChildProcess {
    child: Arc<Mutex<Child>>,
    lines: Option<Sender<String>>,
}

/// The end of a child, in words for a person.
pub(super) struct ChildExit {
    /// `killed by SIGKILL`, `ended with exit code 3`.
    pub(super) how: String,
    /// Exit code, if it had one.
    pub(super) code: Option<i32>,
    /// The last lines on standard error.
    pub(super) last_lines: String,
}

impl ChildExit {
    /// Describes the end, with the last lines if there are any.
    pub(super) fn describe(&self) -> String {
        match self.last_lines.as_str() {
            "" => self.how.clone(),
            text => format!("{}: {text}", self.how),
        }
    }
}

impl ChildProcess {
    /// Starts it. `line` gets each line of its output, with its arrival time; `ended` is called once, after
    /// the last.
    pub(super) fn start(
        mut command: Command,
        mut line: impl FnMut(Instant, String) + Send + 'static,
        ended: impl FnOnce(ChildExit) + Send + 'static,
    ) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The passwords that a client needs are in its plan.
        let mut child = without_passwords(&mut command).process_group(0).spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        let (lines, to_tell) = channel::<String>();
        // A thread of its own: a child that is stopped must not stop us.
        thread::Builder::new().name("tell".into()).spawn(move || {
            let Some(mut stdin): Option<ChildStdin> = stdin else { return };
            for line in to_tell {
                if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        })?;
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last);
        let errors = thread::Builder::new().name("stderr".into()).spawn(move || {
            for text in stderr.into_iter().flat_map(|e| BufReader::new(e).lines()) {
                let Ok(text) = text else { break };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == SAID_LAST {
                    kept.pop_front();
                }
                kept.push_back(text);
            }
        })?;
        let waited = Arc::clone(&child);
        let listen = move || {
            if let Some(stdout) = stdout {
                let mut reader = BufReader::new(stdout);
                while let Some(text) = read_line(&mut reader) {
                    line(Instant::now(), text);
                }
            }
            let status = wait(&waited);
            // A process that has inherited it may hold it open.
            let deadline = Instant::now() + Duration::from_millis(200);
            while !errors.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            let lines = last.lock().unwrap_or_else(PoisonError::into_inner);
            let last_lines = lines.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            ended(ChildExit { how: how(status), code: status.and_then(|s| s.code()), last_lines });
        };
        thread::Builder::new().name("listen".into()).spawn(listen)?;
        Ok(Self { child, lines: Some(lines) })
    }

    pub(super) fn tell(&mut self, line: &str) -> io::Result<()> {
        let lines = self.lines.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        lines.send(line.to_owned()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Ends its input, which asks it to end.
    pub(super) fn hang_up(&mut self) {
        self.lines = None;
    }

    /// Kills it at once.
    pub(super) fn kill(&mut self) {
        self.hang_up();
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }

    fn is_running(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(None))
    }
}

/// Ends all children: by asking first, then by killing.
pub(super) fn end(mut all: Vec<ChildProcess>) {
    all.iter_mut().for_each(ChildProcess::hang_up);
    let deadline = Instant::now() + FAREWELL;
    while all.iter().any(ChildProcess::is_running) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    all.iter_mut().filter(|child| child.is_running()).for_each(ChildProcess::kill);
}

/// A line without its end; `None` at the end of the output, and for a line that is too long.
fn read_line(reader: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = reader.take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 || bytes.pop() != Some(b'\n') {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for a child that has closed its output, without preventing other threads from killing it.
fn wait(child: &Mutex<Child>) -> Option<ExitStatus> {
    let deadline = Instant::now() + FAREWELL;
    loop {
        match child.lock().unwrap_or_else(PoisonError::into_inner).try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) | Err(_) => return None,
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn how(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "it closed its output".to_owned() };
    match (status.signal(), status.code()) {
        (Some(9), _) => "killed by SIGKILL (by a user, or because memory ran out)".to_owned(),
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "it ended".to_owned(),
    }
}
