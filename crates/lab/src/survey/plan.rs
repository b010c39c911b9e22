//! Plan of a survey: chapters of steps, each with its load.
//!
//! The chapters follow Redis's own page "How fast is Redis?"
//! (<https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/>), measured anew.
//! Owns the order of measurements, and the omissions with their reasons.

mod memcached;
mod suite;

use std::time::Duration;

use spec::delivery::{DeliveryOptions, ListOptions, PubsubOptions, StreamOptions};
use spec::values::{Count, Cpus, Seconds};
use spec::{KeyRange, LoadSpec, Rate, Size};

use super::Machine;

/// Request for a survey: its scope, and the server.
#[derive(Debug, Clone)]
pub struct SurveySpec {
    /// Common part of all loads: the server, and the options of the command line.
    pub server: LoadSpec,
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

/// A kind of `deliver` by its name, with its receivers, and the commands that a server must have for it.
type SurveyDelivery = (&'static str, fn() -> DeliveryOptions, [&'static str; 2]);

/// Kinds of `deliver` in a survey.
pub const DELIVERIES: [SurveyDelivery; 3] = [
    ("pubsub", || DeliveryOptions::Pubsub(PubsubOptions::default()), ["publish", "subscribe"]),
    ("list", || DeliveryOptions::List(ListOptions::default()), ["lpush", "brpop"]),
    ("stream", || DeliveryOptions::Stream(StreamOptions::default()), ["xadd", "xreadgroup"]),
];

/// Key of the chapter on the placement of client and server.
pub const PLACEMENT: &str = "placement";

/// All measurements of a survey.
#[derive(Debug, Clone)]
pub struct SurveyPlan {
    /// The chapters, in order.
    pub chapters: Vec<Chapter>,
    /// Seconds of each run.
    pub seconds: f64,
    /// Maximum number of connections of any run.
    pub connections: u64,
}

/// Question of a survey.
#[derive(Debug, Clone, Default)]
pub struct Chapter {
    /// Name for programs.
    pub key: &'static str,
    /// Heading of the chapter.
    pub title: &'static str,
    /// Text to know for reading the figures.
    pub text: String,
    /// A load that comes first and is not measured.
    pub fill: Option<LoadSpec>,
    /// Steps to measure.
    pub steps: Vec<SurveyStep>,
    /// Steps left out, with the reasons.
    pub left_out: Vec<String>,
}

/// Run, or several at once.
#[derive(Debug, Clone)]
pub struct SurveyStep {
    /// Label, different from step to step, such as `1000`; empty for the test's title.
    pub label: String,
    /// Line of a chart that it belongs to, such as `-P 16`; empty if there is one.
    pub series: String,
    /// Position on an axis of numbers.
    pub x: Option<f64>,
    /// A load for each run; the runs of one step are simultaneous.
    pub loads: Vec<LoadSpec>,
    /// Set if its requests remove the filled elements; it then has as many as were filled.
    pub takes: bool,
}

impl SurveyStep {
    fn new(label: impl Into<String>, series: impl Into<String>, load: LoadSpec) -> Self {
        let (label, series) = (label.into(), series.into());
        Self { label, series, x: None, loads: vec![load], takes: false }
    }

    /// Returns the loads. A step that removes elements gets about as many requests as the previous step,
    /// `requests`, so that it lasts about as long.
    pub fn loads_after(&self, requests: u64) -> Vec<LoadSpec> {
        let mut loads = self.loads.clone();
        for load in loads.iter_mut().filter(|_| self.takes) {
            let count = requests.clamp(TAKEN_MIN, TAKEN_MAX);
            load.load.requests = Some(Count(count));
            load.data.key_range = Some(KeyRange(count));
        }
        loads
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
    pub fn new(spec: &SurveySpec, machine: &Machine) -> Self {
        let connections = machine.connections_max(spec.unix, spec.clients_max);
        let make = |seconds| {
            let loads = Loads { spec, seconds };
            vec![
                loads.suite(),
                loads.pipeline(),
                loads.transport(),
                loads.payload(),
                loads.connections(connections),
                loads.messages(),
                loads.placement(machine),
                loads.instances(machine),
            ]
            .into_iter()
            .chain(spec.with_memcached.then(|| loads.memcached(machine)))
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

/// Makes loads.
struct Loads<'w> {
    spec: &'w SurveySpec,
    seconds: f64,
}

impl Loads<'_> {
    /// Returns a load of the length of all, changed.
    fn load(&self, change: impl FnOnce(&mut LoadSpec)) -> LoadSpec {
        let mut load = self.spec.server.clone();
        load.load.duration = Some(Seconds(Duration::from_secs_f64(self.seconds)));
        change(&mut load);
        load
    }

    /// Returns the load of these tests at a pipeline depth, changed.
    fn tests(&self, tests: &str, depth: i64, change: impl FnOnce(&mut LoadSpec)) -> LoadSpec {
        self.load(|load| {
            (load.data.tests, load.load.pipeline) = (Some(tests.to_owned()), Some(Count(depth)));
            change(load);
        })
    }

    /// A load with a separate server on one CPU of the pair, and a client on the other.
    fn placed(&self, pair: Option<(usize, usize)>, mut load: LoadSpec) -> LoadSpec {
        if let Some((server, client)) = pair {
            load.server.server_cpus = Some(Cpus(vec![server]));
            load.load.cpus = Some(Cpus(vec![client]));
        }
        load
    }

    fn pipeline(&self) -> Chapter {
        let keys = self.spec.keys;
        let mut steps = Vec::new();
        let tests: &[&str] =
            if self.spec.memcached { &["set", "get"] } else { &["set", "get", "lpush", "lpop"] };
        for depth in [1, 16] {
            for test in tests {
                let (label, series) = (test.to_uppercase(), format!("-P {depth}"));
                let load =
                    self.tests(test, depth, |load| load.data.key_range = Some(KeyRange(keys)));
                steps.push(self.step(&label, &series, load));
            }
        }
        let fill = self.tests("set", 16, |load| {
            load.load.end_after(Some(Count(keys)), None);
            (load.data.key_range, load.data.sequential) = (Some(KeyRange(keys)), true);
        });
        Chapter {
            key: "pipeline",
            title: "With and without a pipeline",
            text: format!(
                "50 connections over a key space of {} keys, all of which exist; one request in \
                 flight on each connection, and 16. Pipelining saves system calls on both ends.",
                report::grouped(keys as f64)
            ),
            fill: Some(fill),
            steps,
            ..Chapter::default()
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
            ..Chapter::default()
        };
        if !self.spec.spawned {
            let why = "A unix socket against TCP: an existing server is measured only the way it \
                is reached. Use --spawn to measure both.";
            chapter.left_out.push(why.into());
            return chapter;
        }
        let tests: &[&str] = if self.spec.quick { &["set"] } else { &["set", "get"] };
        for (name, unix) in [("TCP", false), ("unix socket", true)] {
            for depth in [1, 16] {
                for test in tests {
                    // Each step has a server of its own, which is empty.
                    let load = self.tests(test, depth, |load| {
                        (load.data.fill, load.server.spawn_unix) = (*test == "get", unix);
                    });
                    let label = format!("{} -P {depth}", test.to_uppercase());
                    chapter.steps.push(SurveyStep::new(label, name, load));
                }
            }
        }
        chapter
    }

    fn payload(&self) -> Chapter {
        let sizes: &[u32] =
            if self.spec.quick { &[10, 1000, 100_000] } else { &[10, 100, 1000, 10_000, 100_000] };
        let mut steps = Vec::new();
        for size in sizes {
            for test in ["set", "get"] {
                // The keys of a cluster have a tag in each request; its SETs come first and write all of so few.
                let fills = test == "get" && !self.has_tags();
                let load = self.tests(test, 1, |load| {
                    load.data.size = Some(Size::Fixed(*size));
                    (load.data.key_range, load.data.fill) = (Some(KeyRange(LARGE_KEYS)), fills);
                });
                let step = SurveyStep::new(size.to_string(), test.to_uppercase(), load);
                steps.push(SurveyStep { x: Some(f64::from(*size)), ..step });
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
            steps,
            ..Chapter::default()
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
            let load = self.tests("get", 1, |load| {
                load.load.connections = Some(Count(*count as u32));
                load.data.key_range = Some(KeyRange(self.spec.keys));
            });
            SurveyStep { x: Some(*count as f64), ..SurveyStep::new(count.to_string(), "", load) }
        });
        Chapter {
            key: "connections",
            title: "Connections",
            text: format!(
                "GET with 1 to {most} connections, the most that the limits of open files, local \
                 ports and the server allow. A few do not keep a server busy; many cost it and \
                 the kernel more per request."
            ),
            steps: steps.collect(),
            ..Chapter::default()
        }
    }

    fn messages(&self) -> Chapter {
        let one_channel = |subscribers| {
            let (channels, subscribers) = (Some(Count(1)), Some(Count(subscribers)));
            let options = PubsubOptions { channels, subscribers, ..PubsubOptions::default() };
            DeliveryOptions::Pubsub(options)
        };
        let (groups, consumers) = (Some(Count(1)), Some(Count(10)));
        let group = StreamOptions { groups, consumers, ..StreamOptions::default() };
        let steps = [
            ("1 subscriber", one_channel(1)),
            ("50 subscribers", one_channel(50)),
            ("list, 10 receivers", DeliveryOptions::List(ListOptions::default())),
            ("stream, group of 10", DeliveryOptions::Stream(group)),
        ];
        let left_out =
            self.spec.lacks.iter().map(|(kind, why)| format!("Messages, {kind}: {why}."));
        let steps = steps
            .into_iter()
            .filter(|(_, of)| !self.spec.lacks.iter().any(|(lacking, _)| *lacking == of.kind()))
            .map(|(label, receivers)| {
                let load = self.load(|load| {
                    load.load.rate = Some(Rate::constant(f64::from(MESSAGES_PER_S)));
                    load.delivery = Some(receivers);
                });
                SurveyStep::new(label, "", load)
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
            steps: steps.collect(),
            left_out: left_out.collect(),
            ..Chapter::default()
        }
    }

    fn placement(&self, machine: &Machine) -> Chapter {
        let mut chapter = Chapter {
            key: PLACEMENT,
            title: "Where client and server run",
            text: "A server pinned to one CPU and a client pinned to another, or the same. The \
                 cases differ in how far a request travels between them."
                .into(),
            ..Chapter::default()
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
        let depths: &[i64] = if self.spec.quick { &[1] } else { &[1, 16] };
        for (label, pair, lack) in places {
            if pair.is_none() {
                chapter.left_out.push(format!("Not possible on this machine: {label}; {lack}."));
                continue;
            }
            for depth in depths {
                let load = self.placed(pair, self.tests("set", *depth, |_| ()));
                chapter.steps.push(SurveyStep::new(label, format!("-P {depth}"), load));
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
            ..Chapter::default()
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
            let load = |n| self.placed(pair(n), self.tests("set", 16, |_| ()));
            let step = SurveyStep::new(label, "", load(0));
            chapter.steps.push(SurveyStep { loads: (0..count).map(load).collect(), ..step });
        }
        chapter
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
