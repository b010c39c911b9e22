//! Its progress line.

use super::sums::Sum;

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Progress {
    /// Number of the run, from 1.
    pub(crate) run: u32,
    /// Percentage of the planned work.
    pub(crate) percent: f64,
    /// Whole seconds since its start.
    pub(crate) seconds: u64,
    /// Threads.
    pub(crate) threads: u16,
    /// Connections of each thread.
    pub(crate) clients: u32,
    /// Sums so far.
    pub(crate) sum: Sum,
    /// Requests per second, since the last line and of the whole run.
    pub(crate) rates: [f64; 2],
    /// Bytes per second in both directions, since the last line and of the whole run.
    pub(crate) bytes: [f64; 2],
    /// Mean latencies in milliseconds, since the last line and of the whole run.
    pub(crate) latencies_ms: [f64; 2],
    /// Sums when the last line was written, where requests are sent again that fail.
    pub(crate) retried_since: Option<Sum>,
}

impl Progress {
    /// The line, without what ends it.
    pub(crate) fn line(&self) -> String {
        let Self { run, percent, seconds, threads, clients, .. } = self;
        let Sum { requests, errors, retries, retried, lost, .. } = self.sum;
        let lost = match lost {
            0 => String::new(),
            lost => format!(" {lost} conn errors"),
        };
        let [rate, mean_rate] = self.rates.map(|rate| rate as u64);
        let [bytes, mean_bytes] = self.bytes.map(size);
        let [latency, mean_latency] = self.latencies_ms;
        let retried = self.retried_since.map_or(String::new(), |before| {
            let more_errors = errors.saturating_sub(before.errors);
            let more_retries = retries.saturating_sub(before.retries);
            format!(
                ", errors {errors} (+{more_errors}) retries {retries} (+{more_retries}) retried_ops \
                 {retried}"
            )
        });
        format!(
            "[RUN #{run} {percent:.0}%, {seconds:>3} secs] {threads:>2} threads {clients:>2} \
             conns{lost}: {requests:>11} ops, {rate:>7} (avg: {mean_rate:>7}) ops/sec, {bytes}/sec (avg: \
             {mean_bytes}/sec), {latency:>5.2} (avg: {mean_latency:>5.2}) msec latency{retried}"
        )
    }
}

/// Bytes as it writes them: in kilobytes at least.
pub(super) fn size(bytes: f64) -> String {
    let (mut value, mut unit) = (bytes / 1024.0, "KB");
    for larger in ["MB", "GB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    format!("{value:.2}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_original() {
        let progress = Progress {
            run: 1,
            percent: 42.0,
            seconds: 3,
            threads: 4,
            clients: 50,
            sum: Sum { requests: 842_113, ..Sum::default() },
            rates: [281_004.7, 280_704.0],
            bytes: [11.64 * 1048576.0, 11.62 * 1048576.0],
            latencies_ms: [0.71, 0.71],
            retried_since: None,
        };
        assert_eq!(
            progress.line(),
            "[RUN #1 42%,   3 secs]  4 threads 50 conns:      842113 ops,  281004 (avg:  280704) \
             ops/sec, 11.64MB/sec (avg: 11.62MB/sec),  0.71 (avg:  0.71) msec latency"
        );
        let before = Sum { errors: 1, retries: 4, retried: 3, ..Sum::default() };
        let sum = Sum { errors: 3, retries: 9, retried: 5, ..Sum::default() };
        let retrying = Progress { sum, retried_since: Some(before), ..progress };
        assert!(
            retrying.line().ends_with(" msec latency, errors 3 (+2) retries 9 (+5) retried_ops 5")
        );
        let lost = Progress { sum: Sum { lost: 7, ..Sum::default() }, ..progress };
        assert!(lost.line().contains(" 50 conns 7 conn errors: "));
        assert_eq!([0.0, 512.0, 5e9].map(size), ["0.00KB", "0.50KB", "4.66GB"]);
    }
}
