//! CPU use of a worker's thread while load runs, by the kernel's clocks.

use std::time::{Duration, Instant};

use engine::{run_delay_ns, thread_cpu, thread_ticks};
use measure::WorkerUse;

/// The clocks of the calling thread at a time.
pub(crate) struct ThreadClocks {
    ticks: Option<[u64; 2]>,
    cpu: Duration,
    waited_ns: Option<u64>,
    wall: Instant,
}

impl ThreadClocks {
    pub(crate) fn read() -> Self {
        let (ticks, cpu) = (thread_ticks(), thread_cpu());
        Self { ticks, cpu, waited_ns: run_delay_ns(), wall: Instant::now() }
    }

    /// CPU time of the calling thread since this reading, without `spun_ns` of busy-waiting.
    pub(crate) fn used_since(&self, spun_ns: u64) -> WorkerUse {
        let cpu_ns = (thread_cpu() - self.cpu).as_nanos() as u64;
        let cpu_ns = cpu_ns.saturating_sub(spun_ns);
        let system_ns = self.ticks.zip(thread_ticks()).and_then(|(then, now)| {
            let [user, system] = [0, 1].map(|of| now[of].saturating_sub(then[of]));
            // Ticks are coarse and say how it is divided; how much it was is known.
            let all = user + system;
            (all > 0).then(|| (cpu_ns as f64 * system as f64 / all as f64) as u64)
        });
        let wall_ns = self.wall.elapsed().as_nanos() as u64;
        let waited_ns = run_delay_ns().zip(self.waited_ns);
        let wait_ns = waited_ns.map(|(now, then)| now.saturating_sub(then));
        WorkerUse { cpu_ns, system_ns, wall_ns, wait_ns }
    }
}
