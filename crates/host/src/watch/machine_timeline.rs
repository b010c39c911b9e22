//! State of this machine during a run: four samples of `/proc` a second, by a separate thread.
//!
//! Owns the thread and the bound on samples. It reads counts of the kernel and asks no server; see proc(5)
//! and `Documentation/scheduler/sched-stats.rst` of Linux. Counts that are missing (frequencies, on most
//! virtual machines) are left out. `report` interprets the figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::background::{Background, is_stopped};
use super::local;
use super::record::{MachineSpan, WatchSoFar};
use super::sample::now_s;
use crate::machine::{self, CpuTimes};

/// Maximum number of spans kept. Beyond it neighbours are merged, and each is twice as long.
const SPANS_MAX: usize = 1200;
const EVERY: Duration = Duration::from_millis(250);
/// Length below which a span is merged into the previous one. A wait for a CPU is counted when it ends, so it
/// could be many times as long as such a span.
const SHORT: Duration = Duration::from_millis(125);
/// Maximum number of threads of a process that are sampled; more would cost more than they are worth.
const THREADS_MAX: usize = 64;

/// The spans of a run, in bounded number.
#[derive(Debug, Default)]
struct Spans {
    kept: Vec<MachineSpan>,
    /// Number of looks in a span.
    each: usize,
    /// The incomplete span, and its number of samples.
    open: Option<(MachineSpan, usize)>,
}

impl Spans {
    fn add(&mut self, span: MachineSpan) {
        if span.lasted_s < SHORT.as_secs_f64() {
            let last = self.open.as_mut().map(|(open, _)| open).or(self.kept.last_mut());
            if let Some(last) = last {
                *last = last.clone().with(&span);
                return;
            }
        }
        let each = self.each.max(1);
        let (open, looks) = match self.open.take() {
            None => (span, 1),
            Some((open, looks)) => (open.with(&span), looks + 1),
        };
        if looks < each {
            self.open = Some((open, looks));
            return;
        }
        self.kept.push(open);
        if self.kept.len() == SPANS_MAX {
            let pairs = self.kept.chunks(2).map(|pair| match pair {
                [first, second] => first.clone().with(second),
                rest => rest[0].clone(),
            });
            self.kept = pairs.collect();
            self.each = 2 * each;
        }
    }

    /// Returns the complete spans.
    fn so_far(&self) -> Vec<MachineSpan> {
        self.kept.clone()
    }

    fn all(mut self) -> Vec<MachineSpan> {
        self.kept.extend(self.open.map(|(open, _)| open));
        self.kept
    }
}

/// Nanoseconds that each thread of a process has waited for a CPU so far, by thread number.
type Waits = BTreeMap<u64, u64>;

/// The kernel's counts at one moment.
struct KernelCounts {
    at: Instant,
    unix_s: f64,
    cpu_times: Option<CpuTimes>,
    waits: Option<Waits>,
    server_waits: Option<Waits>,
    resent: Option<u64>,
    interrupts: Option<u64>,
}

impl KernelCounts {
    fn new(servers: &[u32], cpus: &[usize]) -> Self {
        let mut server_waits: Option<Waits> = None;
        for pid in servers {
            if let Some(waits) = waits(&pid.to_string(), |_| true) {
                server_waits.get_or_insert_default().extend(waits);
            }
        }
        let interrupts = fs::read_to_string("/proc/interrupts").ok();
        Self {
            at: Instant::now(),
            unix_s: now_s(),
            cpu_times: machine::cpu_times(),
            waits: waits("self", carries_load),
            server_waits,
            resent: fs::read_to_string("/proc/net/snmp").ok().and_then(|text| resent(&text)),
            interrupts: interrupts.and_then(|text| interrupts_on(&text, cpus)),
        }
    }

    /// Returns the changes from this sample to the next.
    fn until(&self, next: &Self, cpus: &[usize]) -> MachineSpan {
        let spent = self.cpu_times.zip(next.cpu_times).map(|(then, now)| now.since(then));
        let waited = |old: &Option<Waits>, new: &Option<Waits>| {
            let (old, new) = (old.as_ref()?, new.as_ref()?);
            // A thread that ended meanwhile takes its count along.
            let grown = new.iter().map(|(thread, ns)| {
                ns.saturating_sub(old.get(thread).copied().unwrap_or_default())
            });
            Some(grown.sum::<u64>() as f64 / 1e9)
        };
        let grown = |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?));
        MachineSpan {
            from_s: self.unix_s,
            lasted_s: next.at.saturating_duration_since(self.at).as_secs_f64(),
            stolen: spent.and_then(CpuTimes::steal_share),
            wait_s: waited(&self.waits, &next.waits),
            server_wait_s: waited(&self.server_waits, &next.server_waits),
            resent: grown(self.resent, next.resent),
            interrupts: grown(self.interrupts, next.interrupts),
            mhz: frequency_mhz(Path::new("/sys/devices/system/cpu"), cpus),
        }
    }
}

/// Returns whether this program's thread with this name carries load; waits of others delay no request.
fn carries_load(name: &str) -> bool {
    ["worker-", "receiver-", "source-reader"].iter().any(|of| name.starts_with(of))
}

/// Reads the waiting time so far of these threads of a process (a number, or `self`).
fn waits(process: &str, counts: fn(&str) -> bool) -> Option<Waits> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let threads = tasks.flatten().filter_map(|task| {
        fs::read_to_string(task.path().join("comm")).ok().filter(|name| counts(name))?;
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let waited_ns = text.split_whitespace().nth(1)?.parse().ok()?;
        Some((task.file_name().to_str()?.parse().ok()?, waited_ns))
    });
    Some(threads.take(THREADS_MAX).collect())
}

/// Parses the TCP segments retransmitted so far in `/proc/net/snmp`: a line of names, and one of their
/// values.
fn resent(text: &str) -> Option<u64> {
    let mut tcp = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let mut columns = tcp.next()?.split(' ').zip(tcp.next()?.split(' '));
    columns.find(|(name, _)| *name == "RetransSegs")?.1.parse().ok()
}

/// Parses the interrupts on these CPUs so far in `/proc/interrupts`, which has a column for each online CPU.
fn interrupts_on(text: &str, cpus: &[usize]) -> Option<u64> {
    let mut lines = text.lines();
    let number = |name: &str| name.strip_prefix("CPU")?.parse::<usize>().ok();
    let columns: Vec<Option<usize>> = lines.next()?.split_whitespace().map(number).collect();
    let mut sum = 0u64;
    for line in lines {
        let counts = line.split_whitespace().skip(1).map_while(|count| count.parse::<u64>().ok());
        let ours = counts
            .zip(&columns)
            .filter(|(_, column)| column.is_some_and(|cpu| cpus.contains(&cpu)));
        sum += ours.map(|(count, _)| count).sum::<u64>();
    }
    Some(sum)
}

/// Computes the mean frequency of these CPUs, if the kernel reports it.
fn frequency_mhz(root: &Path, cpus: &[usize]) -> Option<f64> {
    let speeds = cpus.iter().filter_map(|cpu| {
        let path = root.join(format!("cpu{cpu}/cpufreq/scaling_cur_freq"));
        fs::read_to_string(path).ok()?.trim().parse::<f64>().ok()
    });
    let known: Vec<f64> = speeds.collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64 / 1e3)
}

/// Begins to sample this machine and these of its processes, and to publish to `so_far`. `None` if no
/// thread can be started.
pub(super) fn sample_machine(
    servers: Vec<u32>,
    so_far: Option<WatchSoFar>,
) -> Option<Background<Vec<MachineSpan>>> {
    Background::start("machine", move |stopped| {
        let (cpus, mut due) = (local::own_cpus(), Instant::now());
        let mut spans = Spans::default();
        let mut last = KernelCounts::new(&servers, &cpus);
        loop {
            // Looks that this thread was kept from are not made up for.
            while due <= Instant::now() {
                due += EVERY;
            }
            let ended = is_stopped(&stopped, due.saturating_duration_since(Instant::now()));
            let next = KernelCounts::new(&servers, &cpus);
            spans.add(last.until(&next, &cpus));
            last = next;
            so_far.iter().for_each(|so_far| so_far.set_machine(spans.so_far()));
            if ended {
                return spans.all();
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    fn span(from_s: f64) -> MachineSpan {
        MachineSpan {
            from_s,
            lasted_s: 0.25,
            stolen: Some(0.1),
            wait_s: Some(0.01),
            server_wait_s: None,
            resent: Some(1),
            interrupts: Some(3),
            mhz: Some(2000.0),
        }
    }

    #[test]
    fn there_are_never_too_many_spans_and_nothing_is_lost() {
        let mut spans = Spans::default();
        const ALL: usize = 10_000;
        (0..ALL).for_each(|n| spans.add(span(n as f64 / 4.0)));
        let all = spans.all();
        assert!(all.len() < SPANS_MAX && all.len() >= SPANS_MAX / 2, "{}", all.len());
        assert_eq!(all.iter().filter_map(|s| s.interrupts).sum::<u64>(), 3 * ALL as u64);
        assert_eq!(all.iter().filter_map(|s| s.resent).sum::<u64>(), ALL as u64);
        let lasted: f64 = all.iter().map(|s| s.lasted_s).sum();
        assert!((lasted - ALL as f64 / 4.0).abs() < 1e-6, "{lasted}");
        let waited: f64 = all.iter().filter_map(|s| s.wait_s).sum();
        assert!((waited - ALL as f64 / 100.0).abs() < 1e-6, "{waited}");
        assert!(all.iter().all(|s| (s.stolen.unwrap() - 0.1).abs() < 1e-9));
        assert!(all.windows(2).all(|two| two[0].from_s < two[1].from_s));
        assert_eq!(all[0].server_wait_s, None);
    }

    #[test]
    fn a_short_span_is_part_of_the_one_before_it() {
        let short =
            |from_s: f64| MachineSpan { lasted_s: 0.001, wait_s: Some(2.0), ..span(from_s) };
        for each in [1, 2] {
            let mut spans = Spans { each, ..Spans::default() };
            let all = [short(0.0), span(0.001), short(0.251), span(0.252)];
            all.into_iter().for_each(|span| spans.add(span));
            let all = spans.all();
            let waited: Vec<f64> = all.iter().filter_map(|span| span.wait_s).collect();
            assert_eq!(all.len(), if each == 1 { 3 } else { 2 }, "{all:?}");
            assert!((waited.iter().sum::<f64>() - 4.02).abs() < 1e-9, "{waited:?}");
        }
    }

    #[test]
    fn interrupts_are_those_of_these_cpus() {
        let text = "           CPU0       CPU2\n  0:         44          1  IO-APIC  2-edge  timer\n\
                    NMI:          5          7   Non-maskable interrupts\nERR:          9\n";
        assert_eq!(interrupts_on(text, &[2]), Some(8));
        assert_eq!(interrupts_on(text, &[0, 1, 2]), Some(44 + 1 + 5 + 7 + 9));
        assert_eq!(interrupts_on("", &[0]), None);
    }

    #[test]
    fn a_frequency_is_the_mean_of_those_that_are_known() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(frequency_mhz(root.path(), &[0, 1]), None);
        for (cpu, khz) in [(0, "2000000\n"), (1, "3000000\n")] {
            let place = root.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("scaling_cur_freq"), khz).unwrap();
        }
        assert_eq!(frequency_mhz(root.path(), &[0, 1, 2]), Some(2500.0));
    }

    #[test]
    fn segments_that_were_sent_again_are_read_by_their_name() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: InSegs RetransSegs InErrs\nTcp: 90 17 3\nUdp: 1\n";
        assert_eq!(resent(text), Some(17));
        assert_eq!(resent("Tcp: InSegs\nTcp: 90\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_threads_that_carry_load_count() {
        let (stop, stopped) = channel::<()>();
        let (named, runs) = channel();
        // A thread gives itself its name before anything else.
        let thread = thread::Builder::new().name("worker-7".into());
        let worker =
            thread.spawn(move || named.send(()).is_ok() && stopped.recv().is_err()).unwrap();
        runs.recv().unwrap();
        let (all, ours) = (waits("self", |_| true).unwrap(), waits("self", carries_load).unwrap());
        assert!(!ours.is_empty() && ours.len() < all.len(), "{ours:?} {all:?}");
        drop(stop);
        assert!(worker.join().unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_is_seen_while_it_is_looked_at() {
        let sampler = sample_machine(vec![std::process::id()], None).unwrap();
        let spans = sampler.stop();
        let [span] = &spans[..] else { panic!("{spans:?}") };
        assert!(span.lasted_s >= 0.0 && span.from_s > 1e9);
        assert!(span.wait_s.is_some() && span.server_wait_s.is_some());
        assert!(span.interrupts.is_some() && span.resent.is_some());
    }
}
