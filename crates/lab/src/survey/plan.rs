//! Plan of a survey: chapters of steps, each an ordinary command line.
//!
//! The chapters follow Redis's own page "How fast is Redis?"
//! (<https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/>), measured anew.
//! Owns the order of measurements, and the omissions with their reasons.

mod memcached;
mod suite;

use std::ffi::OsString;

use naming::{RATE, SERVER_CPUS};

use super::Machine;
use crate::words::{TypedLine, TypedOption};

/// Request for a survey: its scope, and the server.
#[derive(Debug, Clone, PartialEq)]
pub struct SurveySpec {
    /// Options that name the server and log in, and others common to all runs.
    pub server: TypedLine,
    /// Set if the server is started for the survey, and so may be started in other ways too.
    pub spawned: bool,
    /// Set if the server is reached over a unix socket.
    pub unix: bool,
    /// True for memcached.
    pub memcached: bool,
    /// Set for a quick survey.
    pub quick: bool,
    /// Set to measure chapters for which this machine has too few cores.
    pub all: bool,
    /// Seconds of each run; `None` for the default length of the whole.
    pub seconds: Option<f64>,
    /// Keys.
    pub keys: u64,
    /// Largest number of clients of the server, if it reports it.
    pub clients_max: Option<u64>,
    /// Set if memcached is measured, too.
    pub with_memcached: bool,
    /// Kinds of `deliver` that cannot be measured there, with the reasons.
    pub lacks: Vec<(&'static str, String)>,
}

/// Kinds of `deliver` in a survey, as in the command line, and the commands that a server must have for them.
pub const DELIVERIES: [(&str, [&str; 2]); 3] = [
    ("pubsub", ["publish", "subscribe"]),
    ("list", ["lpush", "brpop"]),
    ("stream", ["xadd", "xreadgroup"]),
];

/// Key of the chapter on the placement of client and server.
pub const PLACEMENT: &str = "placement";

/// All measurements of a survey.
#[derive(Debug, Clone, PartialEq)]
pub struct SurveyPlan {
    /// The chapters, in order.
    pub chapters: Vec<Chapter>,
    /// Seconds of each run.
    pub seconds: f64,
    /// Maximum number of connections of any run.
    pub connections: u64,
}

/// Question of a survey.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// Name for programs.
    pub key: &'static str,
    /// Heading of the chapter.
    pub title: &'static str,
    /// Text to know for reading the figures.
    pub text: String,
    /// A command line that comes first and is not measured.
    pub fill: Option<Vec<OsString>>,
    /// Steps to measure.
    pub steps: Vec<SurveyStep>,
    /// Steps left out, with the reasons.
    pub left_out: Vec<String>,
}

/// Run, or several at once.
#[derive(Debug, Clone, PartialEq)]
pub struct SurveyStep {
    /// Label, different from step to step, such as `1000`; empty for the test's title.
    pub label: String,
    /// Line of a chart that it belongs to, such as `-P 16`; empty if there is one.
    pub series: String,
    /// Position on an axis of numbers.
    pub x: Option<f64>,
    /// A command line for each run; the runs of one step are simultaneous.
    pub lines: Vec<Vec<OsString>>,
    /// Set if its requests remove the filled elements; it then has as many as were filled.
    pub takes: bool,
}

impl SurveyStep {
    fn new(label: impl Into<String>, series: impl Into<String>, line: Vec<OsString>) -> Self {
        let (label, series) = (label.into(), series.into());
        Self { label, series, x: None, lines: vec![line], takes: false }
    }

    /// Returns the command lines. A step that removes elements gets about as many requests as the previous
    /// step, `requests`, so that it lasts about as long.
    #[must_use]
    pub fn lines_after(&self, requests: u64) -> Vec<Vec<OsString>> {
        let mut lines = self.lines.clone();
        if self.takes {
            let count = OsString::from(requests.clamp(TAKEN_MIN, TAKEN_MAX).to_string());
            let [n, r] = ["-n", "-r"].map(OsString::from);
            lines
                .iter_mut()
                .for_each(|line| line.extend([n.clone(), count.clone(), r.clone(), count.clone()]));
        }
        lines
    }
}

/// Seconds of all runs of a survey, and of a quick one.
const RUNS_S: f64 = 150.0;
const RUNS_QUICK_S: f64 = 34.0;
/// Connections of runs whose number the limits do not decide: a channel with 50 subscribers.
const CONNECTIONS_MIN: u64 = 64;
/// Number of keys with large values, so that memory holds them all.
const LARGE_KEYS: u64 = 100;
/// Rate of messages: low enough that nothing queues.
const MESSAGES_PER_S: u32 = 1_000;
/// Minimum and maximum number of elements that are filled to be removed, bounded by memory and the time to fill.
const TAKEN_MIN: u64 = 1_000;
const TAKEN_MAX: u64 = 1_000_000;

impl SurveyPlan {
    /// The survey of a machine and a server.
    #[must_use]
    pub fn new(spec: &SurveySpec, machine: &Machine) -> Self {
        let connections = machine.connections_max(spec.unix, spec.clients_max);
        let make = |seconds| {
            let lines = Lines { spec, seconds };
            vec![
                lines.suite(),
                lines.pipeline(),
                lines.transport(),
                lines.payload(),
                lines.connections(connections),
                lines.messages(),
                lines.placement(machine),
                lines.instances(machine),
            ]
            .into_iter()
            .chain(spec.with_memcached.then(|| lines.memcached(machine)))
            .collect::<Vec<Chapter>>()
        };
        let seconds = spec.seconds.unwrap_or_else(|| {
            let runs: usize = make(1.0).iter().map(|chapter| chapter.runs(spec.quick)).sum();
            let all_s = if spec.quick { RUNS_QUICK_S } else { RUNS_S };
            // Whole hundredths read well.
            (all_s / runs as f64 * 100.0).floor() / 100.0
        });
        Self { chapters: make(seconds), seconds, connections: connections.max(CONNECTIONS_MIN) }
    }
}

/// Writes command lines.
struct Lines<'w> {
    spec: &'w SurveySpec,
    seconds: f64,
}

impl Lines<'_> {
    /// Returns the command line of a run: the server's options, these words, and the length of the run.
    fn run(&self, words: &str) -> Vec<OsString> {
        self.line(&self.spec.server, &format!("{words} --duration {}", self.seconds))
    }

    fn line(&self, server: &TypedLine, words: &str) -> Vec<OsString> {
        let words = words.split_whitespace().map(OsString::from);
        server.words().into_iter().chain(words).collect()
    }

    /// A separate server on one CPU of the pair, and a client on the other.
    fn placed(&self, pair: Option<(usize, usize)>, words: &str) -> Vec<OsString> {
        let mut server = self.spec.server.clone();
        let mut words = format!("{words} --duration {}", self.seconds);
        if let Some((server_cpu, client_cpu)) = pair {
            server.options.push(TypedOption::new(SERVER_CPUS, server_cpu.to_string()));
            words += &format!(" --cpus {client_cpu}");
        }
        self.line(&server, &words)
    }

    fn pipeline(&self) -> Chapter {
        let keys = self.spec.keys;
        let mut steps = Vec::new();
        let tests: &[&str] =
            if self.spec.memcached { &["set", "get"] } else { &["set", "get", "lpush", "lpop"] };
        for depth in [1, 16] {
            for test in tests {
                let (label, series) = (test.to_uppercase(), format!("-P {depth}"));
                steps.push(self.step(&label, &series, test, &format!("-P {depth} -r {keys}")));
            }
        }
        let fill = format!("-t set -n {keys} -r {keys} --sequential -P 16");
        Chapter {
            key: "pipeline",
            title: "With and without a pipeline",
            text: format!(
                "50 connections over a key space of {} keys, all of which exist; one request in \
                 flight on each connection, and 16. Pipelining saves system calls on both ends.",
                report::grouped(keys as f64)
            ),
            fill: Some(self.line(&self.spec.server, &fill)),
            steps,
            left_out: vec![],
        }
    }

    fn transport(&self) -> Chapter {
        let mut chapter = Chapter {
            key: "transport",
            title: "TCP loopback and unix socket",
            text:
                "Two servers that differ in where they listen. A unix socket saves both ends the \
                 work of TCP."
                    .into(),
            fill: None,
            steps: vec![],
            left_out: vec![],
        };
        if !self.spec.spawned {
            let why = "A unix socket against TCP: an existing server is measured only the way it \
                is reached. Use --spawn to measure both.";
            chapter.left_out.push(why.into());
            return chapter;
        }
        let tests: &[&str] = if self.spec.quick { &["set"] } else { &["set", "get"] };
        let mut unix = self.spec.server.clone();
        unix.options.push(TypedOption { name: "--spawn-unix".into(), value: None });
        for (name, server) in [("TCP", &self.spec.server), ("unix socket", &unix)] {
            for depth in [1, 16] {
                for test in tests {
                    // Each step has a server of its own, which is empty.
                    let fill = if *test == "get" { "--fill" } else { "" };
                    let words = format!("-t {test} -P {depth} {fill} --duration {}", self.seconds);
                    let label = format!("{} -P {depth}", test.to_uppercase());
                    chapter.steps.push(SurveyStep::new(label, name, self.line(server, &words)));
                }
            }
        }
        chapter
    }

    fn payload(&self) -> Chapter {
        let sizes: &[u64] =
            if self.spec.quick { &[10, 1000, 100_000] } else { &[10, 100, 1000, 10_000, 100_000] };
        let mut steps = Vec::new();
        for size in sizes {
            for test in ["set", "get"] {
                // The keys of a cluster have a tag in each request; its SETs come first and write all of so few.
                let fills = test == "get" && !self.has_tags();
                let fill = if fills { "--fill" } else { "" };
                let line = self.run(&format!("-t {test} -d {size} -r {LARGE_KEYS} {fill}"));
                let step = SurveyStep::new(size.to_string(), test.to_uppercase(), line);
                steps.push(SurveyStep { x: Some(*size as f64), ..step });
            }
        }
        Chapter {
            key: "payload",
            title: "Large values",
            text: format!(
                "Values of 10 bytes to 100 kB in {LARGE_KEYS} keys. Small values cost the \
                 request; large ones cost copying: the network sets the limit, or on one machine \
                 the memory."
            ),
            fill: None,
            steps,
            left_out: vec![],
        }
    }

    fn connections(&self, most: u64) -> Chapter {
        let decades: &[u64] = if self.spec.quick {
            &[1, 10, 100, 1000]
        } else {
            &[1, 10, 100, 1000, 10_000, 100_000]
        };
        let mut counts: Vec<u64> = decades.iter().copied().filter(|n| *n <= most).collect();
        // A last point that is close to the one before it says nothing new.
        let last = counts.last().copied().unwrap_or(1);
        if most as f64 > last as f64 * 1.2 {
            counts.push(most);
        }
        let steps = counts.iter().map(|count| {
            let line = self.run(&format!("-t get -c {count} -r {}", self.spec.keys));
            SurveyStep { x: Some(*count as f64), ..SurveyStep::new(count.to_string(), "", line) }
        });
        Chapter {
            key: "connections",
            title: "Connections",
            text: format!(
                "GET with 1 to {most} connections, the most that the limits of open files, local \
                 ports and the server allow. A few do not keep a server busy; many cost it and \
                 the kernel more per request."
            ),
            fill: None,
            steps: steps.collect(),
            left_out: vec![],
        }
    }

    fn messages(&self) -> Chapter {
        let steps = [
            ("1 subscriber", "pubsub", "--channels 1 --subscribers 1"),
            ("50 subscribers", "pubsub", "--channels 1 --subscribers 50"),
            ("list, 10 receivers", "list", "--receivers 10"),
            ("stream, group of 10", "stream", "--groups 1 --consumers 10"),
        ];
        let left_out =
            self.spec.lacks.iter().map(|(kind, why)| format!("Messages, {kind}: {why}."));
        let steps = steps
            .into_iter()
            .filter(|(_, kind, _)| !self.spec.lacks.iter().any(|(lacking, _)| lacking == kind))
            .map(|(label, kind, words)| {
                let line = self.run(&format!("deliver {kind} {words} {RATE} {MESSAGES_PER_S}"));
                SurveyStep::new(label, "", line)
            });
        Chapter {
            key: "messages",
            title: "Messages",
            text: format!(
                "{} messages a second from 10 senders, from when each was due until a receiver had \
                 it: through a channel to 1 and to 50 subscribers, through a list to one of 10 who \
                 wait (BRPOP), and through a stream to one of a group of 10.",
                report::grouped(f64::from(MESSAGES_PER_S))
            ),
            fill: None,
            steps: steps.collect(),
            left_out: left_out.collect(),
        }
    }

    fn placement(&self, machine: &Machine) -> Chapter {
        let mut chapter = Chapter {
            key: PLACEMENT,
            title: "Where client and server run",
            text: "A server pinned to one CPU and a client pinned to another, or the same. The \
                 cases differ in how far a request travels between them."
                .into(),
            fill: None,
            steps: vec![],
            left_out: vec![],
        };
        if !self.spec.spawned {
            let why = "Placement: an existing server stays on its CPUs. Use --spawn to move it.";
            chapter.left_out.push(why.into());
            return chapter;
        }
        let places = [
            ("same CPU", machine.same(), "the CPUs of this process are unknown"),
            ("two threads of one core", machine.one_core(), "no core here runs two threads"),
            ("two cores that share a cache", machine.one_cache(), "there is one core"),
            ("two cores without a common cache", machine.two_caches(), "all share one"),
            ("two sockets", machine.two_nodes(), "this machine has one"),
        ];
        let depths: &[u32] = if self.spec.quick { &[1] } else { &[1, 16] };
        for (label, pair, lack) in places {
            if pair.is_none() {
                chapter.left_out.push(format!("Not possible on this machine: {label}; {lack}."));
                continue;
            }
            for depth in depths {
                let line = self.placed(pair, &format!("-t set -P {depth}"));
                chapter.steps.push(SurveyStep::new(label, format!("-P {depth}"), line));
            }
        }
        chapter
    }

    fn instances(&self, machine: &Machine) -> Chapter {
        let mut chapter = Chapter {
            key: "instances",
            title: "Two instances",
            text: "One server with its client, and two servers with a client each at the same \
                time. A server executes commands on one core, so a second one doubles the \
                throughput as far as memory and caches allow."
                .into(),
            fill: None,
            steps: vec![],
            left_out: vec![],
        };
        let cores = machine.four_cores();
        if !self.spec.spawned {
            chapter.left_out.push(
                "Two instances: there is one existing server. Use --spawn to start two.".into(),
            );
            return chapter;
        }
        if cores.is_none() && !self.spec.all {
            chapter.left_out.push(format!(
                "Not possible on this machine: two instances; two servers and two clients need a \
                 core each, and there are {}. With --all they share cores.",
                machine.cores.len()
            ));
            return chapter;
        }
        let pair = |n: usize| cores.map(|cpus| (cpus[2 * n], cpus[2 * n + 1]));
        for count in 1..=2 {
            let label = if count == 1 { "one instance" } else { "two instances" };
            let lines = (0..count).map(|n| self.placed(pair(n), "-t set -P 16")).collect();
            chapter.steps.push(SurveyStep { lines, ..SurveyStep::new(label, "", vec![]) });
        }
        chapter
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
