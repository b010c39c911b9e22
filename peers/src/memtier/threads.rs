//! CPU usage of the threads, per second and on average, and warnings about threads that use too much.

use engine::thread_cpu;
use measure::WorkerUse;
use runner::Gauges;

use crate::memtier::layout::CpuSecond;

/// Watches the threads of one run.
pub(super) struct Threads {
    /// CPU usage (%) above which a thread is reported.
    threshold: Option<f64>,
    /// Threads that were reported already.
    reported: Vec<bool>,
    /// CPU time of each so far, and of the one that adds up, when the last second ended.
    used_ns: Vec<u64>,
    main_ns: u64,
    at_ns: u64,
    seconds: Vec<CpuSecond>,
}

impl Threads {
    /// Returns the usage of `threads` threads.
    pub(super) fn new(threads: u16, threshold: Option<f64>) -> Self {
        let threads = usize::from(threads);
        Self {
            threshold,
            reported: vec![false; threads],
            used_ns: vec![0; threads],
            main_ns: own_ns(),
            at_ns: 0,
            seconds: Vec::new(),
        }
    }

    /// Ends a second; returns its warnings.
    pub(super) fn second(&mut self, gauges: &[Gauges], elapsed_ns: u64) -> Vec<String> {
        let span_ns = elapsed_ns.saturating_sub(self.at_ns).max(1) as f64;
        let percent = |now: u64, before: u64| 100.0 * now.saturating_sub(before) as f64 / span_ns;
        let main_ns = own_ns();
        let threads: Vec<f64> = gauges
            .iter()
            .zip(&self.used_ns)
            // Figures of a worker are some milliseconds old, and a thread has one CPU.
            .map(|(gauges, before)| percent(gauges.cpu_ns, *before).min(100.0))
            .collect();
        let mut lines = Vec::new();
        for (thread, used) in threads.iter().enumerate() {
            let above = self.threshold.is_some_and(|threshold| *used > threshold);
            if above && !std::mem::replace(&mut self.reported[thread], true) {
                lines.push(format!(
                    "\nwarning: high CPU on thread {thread}: {used:.1}% of a core; the client may be \
                     what limits the run\n"
                ));
            }
        }
        self.seconds.push(CpuSecond { main: percent(main_ns, self.main_ns), threads });
        self.used_ns = gauges.iter().map(|gauges| gauges.cpu_ns).collect();
        (self.main_ns, self.at_ns) = (main_ns, elapsed_ns);
        lines
    }

    /// Returns the use in each second of a run that has ended, the last part of a second included.
    pub(super) fn taken(&mut self, workers: &[WorkerUse], elapsed_ns: u64) -> Vec<CpuSecond> {
        if elapsed_ns > self.at_ns {
            // A partial second is too short to report a thread by.
            self.reported.fill(true);
            let gauges =
                workers.iter().map(|worker| Gauges { cpu_ns: worker.cpu_ns, ..Gauges::default() });
            self.second(&gauges.collect::<Vec<_>>(), elapsed_ns);
        }
        std::mem::take(&mut self.seconds)
    }

    /// The warnings about a run that has ended.
    pub(super) fn averages(&self, workers: &[WorkerUse]) -> Vec<String> {
        let above = |(thread, used): (usize, &WorkerUse)| {
            let percent = 100.0 * used.busy();
            let threshold = self.threshold.filter(|threshold| percent > *threshold)?;
            Some(format!(
                "warning: thread {thread} averaged {percent:.1}% of a core over the run, above \
                 {threshold}%\n"
            ))
        };
        workers.iter().enumerate().filter_map(above).collect()
    }
}

/// CPU time of the calling thread.
fn own_ns() -> u64 {
    u64::try_from(thread_cpu().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_reported_once_and_on_average() {
        let gauges = |cpu_ns: [u64; 2]| cpu_ns.map(|cpu_ns| Gauges { cpu_ns, ..Gauges::default() });
        let mut threads = Threads::new(2, Some(50.0));
        let second = 1_000_000_000;
        let lines = threads.second(&gauges([900_000_000, 100_000_000]), second);
        assert!(lines.len() == 1 && lines[0].contains("high CPU on thread 0: 90.0%"), "{lines:?}");
        assert!(threads.second(&gauges([1_800_000_000, 200_000_000]), 2 * second).is_empty());
        let last = [1_850_000_000, 200_000_000];
        let last =
            last.map(|cpu_ns| WorkerUse { cpu_ns, wall_ns: 1, system_ns: None, wait_ns: None });
        let seconds = threads.taken(&last, 2 * second + second / 10);
        let used: Vec<_> = seconds.iter().map(|second| second.threads.clone()).collect();
        assert_eq!(used, [[90.0, 10.0], [90.0, 10.0], [50.0, 0.0]]);
        let used = |cpu_ns| WorkerUse { cpu_ns, wall_ns: 10, system_ns: None, wait_ns: None };
        let lines = threads.averages(&[used(9), used(1)]);
        assert!(lines.len() == 1 && lines[0].contains("thread 0 averaged 90.0% of a core over"));
    }
}
