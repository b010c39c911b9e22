//! CPU use of threads: in total, and second by second.

use measure::WorkerUse;

use super::json::{Entry, Json, entry};

/// Per cent of a CPU that threads used in a second.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CpuSecond {
    /// The thread that adds up.
    pub(crate) main: f64,
    /// Usage of the threads that send and receive.
    pub(crate) threads: Vec<f64>,
}

/// CPU use of the threads of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuUse {
    /// Threads that send and receive.
    pub(super) workers: Vec<WorkerUse>,
    /// Usage in each second, if that was watched.
    pub(crate) seconds: Vec<CpuSecond>,
}

impl CpuUse {
    /// Returns its entries in the file.
    pub(super) fn json(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        if !self.workers.is_empty() {
            entries.push(entry("CPU", self.in_all()));
        }
        if !self.seconds.is_empty() {
            let seconds = (1u64..).zip(&self.seconds).map(|(number, second)| {
                let main = entry("Main Thread", Json::decimal(second.main, 2));
                let threads = second.threads.iter().enumerate();
                let threads = threads.map(|(n, used)| (thread(n), Json::decimal(*used, 2)));
                (number.to_string(), Json::Object([main].into_iter().chain(threads).collect()))
            });
            entries.push(entry("CPU Stats", Json::Object(seconds.collect())));
        }
        entries
    }

    fn in_all(&self) -> Json {
        let workers = &self.workers;
        let sum = |of: fn(&WorkerUse) -> u64| workers.iter().map(of).sum::<u64>();
        let (cpu_ns, walls_ns) = (sum(|worker| worker.cpu_ns), sum(|worker| worker.wall_ns));
        let system_ns = sum(kernel_ns);
        let wall_ns = workers.iter().map(|worker| worker.wall_ns).max().unwrap_or_default();
        let mean = ratio(cpu_ns, walls_ns) * 100.0;
        let threads = self.seconds.iter().flat_map(|second| &second.threads);
        let peak = threads.copied().fold(mean, f64::max);
        let each = workers.iter().enumerate().map(|(n, worker)| {
            let times = times("", worker.cpu_ns, kernel_ns(worker), worker.wall_ns);
            (thread(n), Json::Object(times.into()))
        });
        let mut entries: Vec<Entry> = times("cpu_", cpu_ns, system_ns, wall_ns).into();
        entries.extend([
            entry("avg_cpu_utilization_pct", Json::decimal(mean, 2)),
            entry("peak_cpu_utilization_pct", Json::decimal(peak, 2)),
            entry("threads_counted", Json::whole(workers.len() as u64)),
            entry("Per Thread", Json::Object(each.collect())),
        ]);
        Json::Object(entries)
    }
}

fn thread(number: usize) -> String {
    format!("Thread {number}")
}

/// Time in the kernel. A thread that met no tick of the clock was in its own code, as `getrusage` counts it.
fn kernel_ns(worker: &WorkerUse) -> u64 {
    worker.system_ns.unwrap_or_default()
}

/// Seconds of its own code, of the kernel's, of both and of the clock, and cores, under keys that begin with `start`.
fn times(start: &str, cpu_ns: u64, system_ns: u64, wall_ns: u64) -> [Entry; 5] {
    let seconds = |ns: u64| ns as f64 / 1e9;
    [
        ("user_seconds", seconds(cpu_ns.saturating_sub(system_ns))),
        ("sys_seconds", seconds(system_ns)),
        ("total_seconds", seconds(cpu_ns)),
        ("wall_seconds", seconds(wall_ns)),
        ("cores_used", ratio(cpu_ns, wall_ns)),
    ]
    .map(|(key, number)| (format!("{start}{key}"), Json::decimal(number, 6)))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_reported_one_by_one_and_together() {
        let worker = |cpu_ns, system_ns| WorkerUse {
            cpu_ns,
            system_ns,
            wall_ns: 2_000_000_000,
            wait_ns: None,
        };
        let seconds = vec![CpuSecond { main: 1.0, threads: vec![90.0, 20.5] }];
        let workers = vec![worker(1_500_000_000, Some(500_000_000)), worker(500_000_000, Some(0))];
        let used = CpuUse { workers, seconds };
        let file = Json::Object(used.json()).file();
        let value: serde_json::Value = serde_json::from_str(&file).unwrap();
        assert_eq!(
            value["CPU"],
            serde_json::json!({
                "cpu_user_seconds": 1.5,
                "cpu_sys_seconds": 0.5,
                "cpu_total_seconds": 2.0,
                "cpu_wall_seconds": 2.0,
                "cpu_cores_used": 1.0,
                "avg_cpu_utilization_pct": 50.0,
                "peak_cpu_utilization_pct": 90.0,
                "threads_counted": 2,
                "Per Thread": {
                    "Thread 0": {"user_seconds": 1.0, "sys_seconds": 0.5, "total_seconds": 1.5,
                        "wall_seconds": 2.0, "cores_used": 0.75},
                    "Thread 1": {"user_seconds": 0.5, "sys_seconds": 0.0, "total_seconds": 0.5,
                        "wall_seconds": 2.0, "cores_used": 0.25},
                },
            })
        );
        assert_eq!(value["CPU Stats"]["1"]["Thread 1"], 20.5);
        // Threads that met no tick, and runs that were not watched.
        let used = CpuUse { workers: vec![worker(9_000_000, None)], seconds: Vec::new() };
        let file = Json::Object(used.json()).file();
        let value: serde_json::Value = serde_json::from_str(&file).unwrap();
        let [user, system] =
            ["cpu_user_seconds", "cpu_sys_seconds"].map(|name| &value["CPU"][name]);
        assert_eq!((user.as_f64(), system.as_f64()), (Some(0.009), Some(0.0)));
        assert!(value.get("CPU Stats").is_none());
        assert!(CpuUse::default().json().is_empty());
    }
}
