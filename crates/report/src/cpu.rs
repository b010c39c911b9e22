//! CPU time per request, at the server and at the client.

use std::fmt;

use crate::{CountUnit, Figures, Finding, Metric, Summary};

/// CPU time for each request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuFigures {
    /// Microseconds of the servers' processes; `None` if they do not report it.
    pub server_us: Option<f64>,
    /// Microseconds of keystorm's workers; `None` if the system does not report it.
    pub client_us: Option<f64>,
    /// Cores used by the servers: 0.59 is 59 % of one.
    pub server_cores: Option<f64>,
    /// Cores used by keystorm's workers.
    pub client_cores: Option<f64>,
    /// Unit that a CPU time is for.
    pub unit: CountUnit,
}

impl CpuFigures {
    /// Makes the figures of a run, by the definitions of [`Metric`].
    pub fn from_summary(summary: &Summary<'_>) -> Self {
        let figures = Figures::from_summary(summary);
        let [server_us, client_us] = [Metric::ServerCpu, Metric::ClientCpu].map(|m| figures.get(m));
        // In a short load, observation before and after it costs the server a large part of its CPU time.
        let is_short = summary.run.verdict.finding == Some(Finding::Short);
        let cores = |us: Option<f64>| {
            let per_s = summary.requests as f64 / summary.elapsed_s;
            us.map(|us| us * per_s / 1e6).filter(|cores| cores.is_finite())
        };
        let server_cores = cores(server_us.filter(|_| !is_short));
        let client_cores = cores(client_us);
        let unit = CountUnit::from_plan(&summary.run.plan);
        Self { server_us, client_us, server_cores, client_cores, unit }
    }

    /// Returns whether neither time is known.
    pub fn is_unknown(&self) -> bool {
        self.server_us.is_none() && self.client_us.is_none()
    }
}

/// `server 19.8 µs/request (59 % of one core), client 16.4`.
impl fmt::Display for CpuFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |us: f64| if us < 99.95 { format!("{us:.1}") } else { format!("{us:.0}") };
        let per = self.unit.singular();
        let side = |name, us_each, cores: Option<f64>| {
            let of = cores.map(|cores| format!(" ({:.0} % of one core)", cores * 100.0));
            format!("{name} {} µs/{per}{}", us(us_each), of.unwrap_or_default())
        };
        match (self.server_us, self.client_us) {
            (Some(server), client) => {
                f.write_str(&side("server", server, self.server_cores))?;
                client.map_or(Ok(()), |client| write!(f, ", client {}", us(client)))
            }
            (None, Some(client)) => {
                write!(f, "{}, server unknown", side("client", client, self.client_cores))
            }
            (None, None) => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use host::ServerUse;
    use measure::WorkerUse;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_request_has_its_cost_at_both_ends() {
        let mut run = fixture::complete();
        assert!(CpuFigures::from_summary(&Summary::from_run(&run)).is_unknown());
        let (cpu_ns, wall_ns) = (13_000_000, 26_000_000);
        run.measurement.workers = vec![WorkerUse { cpu_ns, wall_ns, ..WorkerUse::default() }];
        let describe =
            |run: &crate::Run| CpuFigures::from_summary(&Summary::from_run(run)).to_string();
        assert_eq!(describe(&run), "client 6.5 µs/request (50 % of one core), server unknown");
        run.watched.servers =
            vec![ServerUse { cpu_process_s: Some(0.0195), ..ServerUse::default() }];
        assert_eq!(describe(&run), "server 9.8 µs/request, client 6.5", "the load was short");
        run.verdict.finding = None;
        assert_eq!(describe(&run), "server 9.8 µs/request (75 % of one core), client 6.5");
        run.measurement.workers.clear();
        assert!(!describe(&run).contains("inf"));
    }
}
