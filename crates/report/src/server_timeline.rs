//! Samples of each server over time (`--sample`): its resource use and activity since the previous sample.

use host::ServerSample;

use crate::Run;

/// A server between two looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerPoint {
    /// Time of the sample, in seconds from the start of the measured part; negative during a warm-up.
    pub t_s: f64,
    /// Cores used by the process: 0.59 is 59 % of one.
    pub cores: Option<f64>,
    /// Cores used by the thread that executes commands.
    pub main_cores: Option<f64>,
    /// Bytes of data and overhead.
    pub memory_bytes: Option<u64>,
    /// Clients connected.
    pub clients: Option<u64>,
    /// Commands per second, of all clients.
    pub commands_per_s: Option<f64>,
    /// Bytes per second from clients.
    pub net_in_per_s: Option<f64>,
    /// Bytes per second to clients.
    pub net_out_per_s: Option<f64>,
    /// Keys evicted since the look before.
    pub evicted_keys: Option<u64>,
    /// Keys expired since the previous sample.
    pub expired_keys: Option<u64>,
    /// Processes forked since the look before.
    pub forks: Option<u64>,
    /// Connections taken since the look before.
    pub connections: Option<u64>,
    /// Set if the server was saving its data set or rewriting its append-only file.
    pub saving: bool,
}

/// The sampled servers, by address, with a point for each sample but the first.
pub fn server_timeline(run: &Run) -> Vec<(&str, Vec<ServerPoint>)> {
    let sampled = run.watched.servers.iter().filter(|server| server.samples.len() > 1);
    sampled
        .map(|server| {
            let pairs = server.samples.windows(2);
            let points = pairs.map(|pair| point(run, &pair[0], &pair[1])).collect();
            (server.address.as_str(), points)
        })
        .collect()
}

fn point(run: &Run, old: &ServerSample, new: &ServerSample) -> ServerPoint {
    let span_s = new.t_s - old.t_s;
    let per_s = |grown: Option<f64>| grown.map(|n| n / span_s).filter(|n| n.is_finite());
    let seconds = |old: Option<f64>, new: Option<f64>| Some((new? - old?).max(0.0));
    let grown = |old: Option<u64>, new: Option<u64>| Some(new?.saturating_sub(old?));
    let rate = |old, new| per_s(grown(old, new).map(|n| n as f64));
    ServerPoint {
        t_s: run.since_start_s(new.unix_s),
        cores: per_s(seconds(old.cpu_process_s, new.cpu_process_s)),
        main_cores: per_s(seconds(old.cpu_main_s, new.cpu_main_s)),
        memory_bytes: new.memory_bytes,
        clients: new.clients,
        commands_per_s: rate(old.commands, new.commands),
        net_in_per_s: rate(old.net_in_bytes, new.net_in_bytes),
        net_out_per_s: rate(old.net_out_bytes, new.net_out_bytes),
        evicted_keys: grown(old.evicted_keys, new.evicted_keys),
        expired_keys: grown(old.expired_keys, new.expired_keys),
        forks: grown(old.forks, new.forks),
        connections: grown(old.connections, new.connections),
        saving: new.saving,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use host::ServerUse;

    use super::*;
    use crate::fixture;

    #[test]
    fn counts_become_rates_between_two_looks() {
        let mut run = fixture::complete();
        run.measurement.started_at = UNIX_EPOCH + Duration::from_secs(1_000);
        let sample = |t_s: f64, commands, cpu| ServerSample {
            t_s,
            unix_s: 1_000.5 + t_s,
            commands: Some(commands),
            cpu_process_s: Some(cpu),
            memory_bytes: Some(7),
            ..ServerSample::default()
        };
        let samples = vec![sample(1.0, 100, 0.5), sample(3.0, 300, 1.5), sample(3.0, 300, 1.5)];
        let address = "a:1".to_owned();
        run.watched.servers = vec![ServerUse { address, samples, ..ServerUse::default() }];
        let timeline = server_timeline(&run);
        let [("a:1", points)] = &timeline[..] else { panic!("{timeline:?}") };
        assert_eq!((points[0].t_s, points[0].commands_per_s), (3.5, Some(100.0)));
        assert_eq!((points[0].cores, points[0].memory_bytes), (Some(0.5), Some(7)));
        assert_eq!(points[0].clients, None);
        assert_eq!(points[1].commands_per_s, None, "no time has passed");
        run.watched.servers[0].samples.truncate(1);
        assert!(server_timeline(&run).is_empty());
    }
}
