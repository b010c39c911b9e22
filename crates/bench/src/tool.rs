//! A load generator, run as a child process: one with the command line of redis-benchmark, or the
//! bare loop.
//!
//! Owns starting it, its CPU and wall time, and reading its `-q` line.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use wait4::Wait4;

use crate::case::{BareLoop, Base, Case, CaseServer, MixPart};
use crate::server::Server;

/// A load generator.
#[derive(Debug)]
pub(crate) struct Tool {
    program: PathBuf,
    words: Words,
    /// Arguments of its own, before those of the case.
    args: Vec<String>,
    /// Name and version, such as `redis-benchmark 7.0.15`.
    pub(crate) version: String,
}

/// Kinds of command lines.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Words {
    /// Options as those of redis-benchmark.
    Options,
    /// Words as those of `crates/engine/examples/bare`.
    Bare,
    /// Options as those of memtier_benchmark.
    Memtier,
}

/// The use of resources and the output of a run.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// User and system time of the process and its threads.
    pub(crate) cpu_s: f64,
    /// Time from starting it to its end.
    pub(crate) wall_s: f64,
    /// Requests per second, as the tool reports it.
    pub(crate) rate: f64,
    /// Peak memory, in bytes.
    pub(crate) memory_bytes: u64,
    /// Text that it wrote to standard error.
    pub(crate) complaints: String,
}

impl Run {
    /// Returns the sum of successive runs, of `requests` requests in all.
    pub(crate) fn joined(runs: Vec<Self>, requests: u64) -> Self {
        let sum = |pick: fn(&Self) -> f64| runs.iter().map(pick).sum::<f64>();
        let wall_s = sum(|run| run.wall_s);
        Self {
            cpu_s: sum(|run| run.cpu_s),
            wall_s,
            rate: requests as f64 / wall_s,
            memory_bytes: runs.iter().map(|run| run.memory_bytes).max().unwrap_or(0),
            complaints: runs.into_iter().map(|run| run.complaints).collect(),
        }
    }
}

impl Tool {
    /// Finds the tool, and asks for its version.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub(crate) fn find(program: PathBuf, words: Words, args: Vec<String>) -> Result<Self> {
        let name = program.display();
        let asked = Command::new(&program).arg("--version").output();
        let ran = asked.with_context(|| format!("starting {name}"))?;
        let text = String::from_utf8_lossy(&ran.stdout);
        let version = text.lines().next().unwrap_or_default();
        let version = format!("{} {}", host::printable(version), args.join(" "));
        Ok(Self { version: version.trim_end().to_owned(), program, words, args })
    }

    /// Runs a case with this many requests, on the cores of this thread.
    ///
    /// # Errors
    /// Returns an error if the tool failed, or printed no throughput.
    pub(crate) fn run(&self, case: &Case, server: &Server, requests: u64) -> Result<Run> {
        self.run_with(match (self.words, case.of) {
            (Words::Options, CaseServer::Memtier(_)) => {
                self.as_memtier(memtier_args(case, server.address(), requests))
            }
            (Words::Options, _) => self.before(option_args(case, case.args, server, requests)),
            (Words::Bare, _) => self.before(bare_args(case, server, requests)),
            (Words::Memtier, _) => self.before(memtier_args(case, server.address(), requests)),
        })
    }

    /// Puts the tool's own arguments before these.
    fn before(&self, args: Vec<String>) -> Vec<String> {
        self.args.iter().cloned().chain(args).collect()
    }

    /// Converts words of memtier_benchmark for keystorm, with its own arguments as they are called there.
    fn as_memtier(&self, args: Vec<String>) -> Vec<String> {
        let own = self.args.iter().map(|word| match word.strip_prefix("--") {
            Some(option) => format!("--ks-{option}"),
            None => word.clone(),
        });
        std::iter::once("memtier".to_owned()).chain(args).chain(own).collect()
    }

    /// Runs one share of the requests of a mix, with the words of that share.
    ///
    /// # Errors
    /// Returns an error if the tool failed, or printed no throughput.
    pub(crate) fn run_fixed(
        &self,
        case: &Case,
        fixed: &MixPart,
        server: &Server,
        requests: u64,
    ) -> Result<Run> {
        self.run_with(self.before(option_args(case, fixed.args, server, requests)))
    }

    fn run_with(&self, args: Vec<String>) -> Result<Run> {
        // Files and not pipes: nobody has to wake up while it runs, to read its progress.
        let mut file = tempfile::tempfile().context("a file for the output")?;
        let mut complained = tempfile::tempfile().context("a file for the output")?;
        let mut command = Command::new(&self.program);
        command
            .args(args)
            // A password for some other server.
            .env_remove("REDISCLI_AUTH")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(complained.try_clone()?);
        let name = self.program.display();
        let start = Instant::now();
        let child = command.spawn();
        let mut child = child.with_context(|| format!("starting {name}"))?;
        let used = child.wait4().with_context(|| format!("waiting for {name}"));
        let wall_s = start.elapsed().as_secs_f64();
        let used = used?;

        let output = text_of(&mut file)?;
        let complaints = text_of(&mut complained)?;
        match rate_in(&output) {
            Some(rate) if used.status.success() && rate > 0.0 => Ok(Run {
                cpu_s: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
                wall_s,
                rate,
                memory_bytes: used.rusage.maxrss,
                complaints,
            }),
            _ => bail!(
                "{name} did not finish ({}). It said: {}",
                used.status,
                last_words(&format!("{output}\n{complaints}"))
            ),
        }
    }
}

fn option_args(case: &Case, own: &str, server: &Server, requests: u64) -> Vec<String> {
    let Case { connections, pipeline, .. } = case;
    let mut args = match server.address() {
        host::Address::Tcp(tcp) => words(&format!("-h {} -p {}", tcp.ip(), tcp.port())),
        host::Address::Unix(path) => vec!["-s".to_owned(), path.display().to_string()],
    };
    args.extend(words(&format!("-q -n {requests} -c {connections} -P {pipeline}")));
    // The shares of a mix write the same keys in every round, and so does the mix.
    args.extend(matches!(case.base, Base::Fixed(_)).then(|| "--seed=7".to_owned()));
    args.extend(words(own));
    args
}

fn bare_args(case: &Case, server: &Server, requests: u64) -> Vec<String> {
    let Base::Bare(bare) = case.base else { return Vec::new() };
    let Case { connections, pipeline, .. } = case;
    let BareLoop { words: sent, value_bytes, range, reply_bytes } = bare;
    let mut args = vec![server.address().to_string()];
    args.extend(words(&format!("{requests} {connections} {pipeline} {reply_bytes} {range}")));
    args.extend(sent.iter().map(|&word| word.to_owned()));
    args.extend((value_bytes > 0).then(|| format!("--bytes={value_bytes}")));
    args
}

/// Words of memtier_benchmark for memcached, with keys of the form and range that the case stores, 100000 to 199999 of
/// its twelve digits.
const MEMCACHED: &str = "--protocol=memcache_text --data-size=100 --key-prefix=key:000000 \
    --key-minimum=100000 --key-maximum=199999 --key-pattern=R:R";

/// Arguments of memtier_benchmark, with one thread.
fn memtier_args(case: &Case, address: &host::Address, requests: u64) -> Vec<String> {
    let Case { connections, pipeline, .. } = case;
    let mut args = match address {
        host::Address::Tcp(tcp) => words(&format!("--server={} --port={}", tcp.ip(), tcp.port())),
        host::Address::Unix(path) => vec![format!("--unix-socket={}", path.display())],
    };
    let (of_server, own) = match case.of {
        CaseServer::Redis | CaseServer::Alone => ("", ""),
        CaseServer::RedisMix(own) | CaseServer::Memtier(own) => ("", own),
        CaseServer::Memcached(own) => (MEMCACHED, own),
    };
    let each = requests.div_ceil(u64::from(*connections));
    args.extend(words(&format!(
        "--threads=1 --hide-histogram {of_server} --clients={connections} --requests={each} --pipeline={pipeline} {own}"
    )));
    args
}

/// The words of a line, with spaces between them.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The throughput in the output of `-q`. redis-benchmark writes its progress before it, to a pipe
/// or a file as well, and goes back to the start of the line with `\r` instead of ending it.
/// memtier_benchmark ends with a table whose last row is `Totals`.
fn rate_in(output: &str) -> Option<f64> {
    let lines = output.split(['\r', '\n']);
    lines.rev().find_map(|line| {
        if let Some(totals) = line.strip_prefix("Totals ") {
            return totals.split_whitespace().next()?.parse().ok();
        }
        let (before, _) = line.split_once(" requests per second")?;
        before.rsplit(' ').next()?.parse().ok()
    })
}

/// The end of an output, for an error: one line.
fn last_words(output: &str) -> String {
    const LINES_MAX: usize = 3;
    let lines = output.split(['\r', '\n']).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match &lines[lines.len().saturating_sub(LINES_MAX)..] {
        [] => "nothing".to_owned(),
        last => host::printable(last.join(" | ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::all;

    #[test]
    fn the_figure_is_behind_the_progress() {
        let theirs = "SET: rps=0.0 (overall: nan) avg_msec=nan (overall: nan)\r\
                      SET: rps=91234.0 (overall: 91000.1) avg_msec=0.3 (overall: 0.3)\r\
                                                                                     \r\
                      SET: 88495.58 requests per second, p50=0.295 msec                   \n\n";
        assert_eq!(rate_in(theirs), Some(88495.58));
        let ours = "SET: 131463.74 requests per second, p50=0.354 msec\n";
        assert_eq!(rate_in(ours), Some(131_463.74));
        let command = "lrange mylist 0 599: 25000.00 requests per second, p50=1.5 msec\n";
        assert_eq!(rate_in(command), Some(25_000.0));
        assert_eq!(rate_in("Could not connect\n"), None);
        let memtier = "Type         Ops/sec     Hits/sec\n-----\nGets      91205.00     91205.00\n\
                       Totals   100325.50         0.00     91205.00\n";
        assert_eq!(rate_in(memtier), Some(100_325.5));
    }

    #[test]
    fn memtier_draws_from_keys_that_are_stored() {
        let case = all().find(|case| case.name == "memcached-get").unwrap();
        let address = host::Address::Tcp("127.0.0.1:7000".parse().unwrap());
        let args = memtier_args(case, &address, 1001).join(" ");
        for part in ["--port=7000", "--clients=50 --requests=21", "--ratio=0:1", "memcache_text"] {
            assert!(args.contains(part), "{args}");
        }
        let key = |number: u32| format!("key:000000{number}");
        assert_eq!(key(199_999).len(), format!("key:{:012}", 0).len());
    }

    #[test]
    fn memtiers_words_are_those_of_both() {
        let case = all().find(|case| case.name == "memtier-p16").unwrap();
        let address = host::Address::Tcp("127.0.0.1:7000".parse().unwrap());
        let theirs = memtier_args(case, &address, 1000);
        let tool = Tool {
            program: "keystorm".into(),
            words: Words::Options,
            args: ["--engine", "epoll"].map(str::to_owned).to_vec(),
            version: String::new(),
        };
        let ours = tool.as_memtier(theirs.clone());
        assert_eq!((&ours[0][..], &ours[1..=theirs.len()]), ("memtier", &theirs[..]));
        assert_eq!(ours[theirs.len() + 1..], ["--ks-engine", "epoll"]);
        assert!(theirs.contains(&"--pipeline=16".to_owned()), "{theirs:?}");
    }

    #[test]
    fn last_words_are_one_harmless_line() {
        assert_eq!(last_words("a\n\nb\r c \x1b\nd\n"), "b | c \\u{1b} | d");
        assert_eq!(last_words("\n"), "nothing");
    }
}
