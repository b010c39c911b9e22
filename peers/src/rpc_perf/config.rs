//! A file of 5.x: what it says of the run, the server and the client.

use std::time::Duration;

use cli::workload_file::Source;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use workload::Secret;

use super::document::{Document, flag};
use super::fault::Fault;
use super::keyspace::Keyspace;
use super::rate::Ratelimit;
use super::verb::Protocol;
use super::versions;

/// A file, checked.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) general: General,
    #[serde(skip_serializing)]
    pub(super) metrics: Option<Metrics>,
    pub(super) debug: Debugging,
    pub(super) target: Target,
    pub(super) client: Client,
    #[serde(skip_serializing)]
    pub(super) tls: Option<Tls>,
    pub(super) workload: Workload,
    /// Remarks about what is not as it should be, and does no harm.
    #[serde(skip)]
    pub(super) remarks: Vec<String>,
}

/// The run.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct General {
    pub(super) protocol: Protocol,
    /// Seconds of a window, and of all of them.
    #[serde(deserialize_with = "seconds")]
    pub(super) interval: u32,
    #[serde(deserialize_with = "seconds")]
    pub(super) duration: u32,
    /// Address of the admin port.
    pub(super) admin: String,
    pub(super) initial_seed: Option<String>,
    /// The file of metrics, in versions without `[metrics]`.
    #[serde(skip_serializing)]
    pub(super) metrics_output: Option<String>,
    #[serde(skip_serializing)]
    pub(super) metrics_format: Option<MetricsFormat>,
    #[serde(default = "tenth_of_second", deserialize_with = "interval", skip_serializing)]
    pub(super) metrics_interval: Duration,
}

/// A file of metrics.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metrics {
    pub(super) output: String,
    pub(super) format: MetricsFormat,
    #[serde(default = "second", deserialize_with = "interval")]
    pub(super) interval: Duration,
    pub(super) batch_size: Option<u32>,
    #[serde(default)]
    pub(super) histogram: Histogram,
}

/// Format of a file of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MetricsFormat {
    #[default]
    Json,
    Msgpack,
}

/// Form of histograms in a file of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Histogram {
    #[default]
    Standard,
    Sparse,
}

/// The log of rpc-perf.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Debugging {}

/// The servers.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) endpoints: Vec<String>,
}

/// Threads, connections and limits of the client.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Client {
    pub(super) threads: u16,
    pub(super) poolsize: u32,
    pub(super) connect_timeout: u32,
    /// In milliseconds.
    pub(super) request_timeout: u32,
    pub(super) concurrency: Option<u32>,
    /// Connections that are closed and opened again each second, of all threads.
    pub(super) reconnect_rate: Option<u32>,
    pub(super) read_buffer_size: Option<u32>,
    pub(super) write_buffer_size: Option<u32>,
}

/// Files of TLS.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) private_key: Option<String>,
    pub(super) private_key_password: Option<Secret>,
    /// The certificate and the rest of its chain. Alone, either file may hold both.
    pub(super) certificate: Option<String>,
    pub(super) certificate_chain: Option<String>,
    pub(super) ca_file: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) verify_hostname: Option<bool>,
}

/// The load.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    /// Generators of requests. Here, workers make their own.
    pub(super) threads: u16,
    pub(super) ratelimit: Ratelimit,
    #[serde(default)]
    pub(super) keyspace: Vec<Keyspace>,
}

/// Protocols that rpc-perf has, and keystorm does not.
const OTHER_PROTOCOLS: &str = "momento momento_http momento_protosocket momento_objectstore ping_grpc \
     ping_grpc_h2 ping_grpc_h3 blabber kafka mysql s3 http1";
/// Sections and keys of other workloads.
const OTHERS: &str = "[pubsub], [storage], [leaderboard], [oltp], [replay], [target] cache_name, \
     [target] endpoint_override, [target] use_private_endpoints, [target] object_store_name, \
     [workload] topics, [workload] stores, [workload] leaderboard, [workload.oltp]";
/// Reason why both are refused.
const NOT_MEASURED: &str = "keystorm measures keyspaces of Redis, Valkey and memcached only";
const NO_PARQUET: &str =
    "parquet is not supported; use \"json\" or \"msgpack\", or --ks-json FILE for every figure";
/// Keys that have no effect.
const SILENT: &str = "[debug] log_level, [debug] log_file, [debug] log_backup, [debug] log_max_size, \
     [debug] log_queue_depth, [debug] log_single_message_size, [tls] use_sni";
const LOG_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns the place and the reason if it is invalid.
    pub(super) fn read(source: &Source) -> Result<Self, Fault> {
        let mut file = Document::parse(source)?;
        versions::check(&file)?;
        refuse_others(&file)?;
        // A number in 5.0 to 5.3.
        file.wrap("ratelimit", "start");
        let (config, remarks) = file.read::<Self>(SILENT)?;
        Self { remarks, ..config }.checked(&file)
    }

    fn checked(mut self, file: &Document<'_>) -> Result<Self, Fault> {
        let level = file.text("[debug] log_level").unwrap_or("info").to_lowercase();
        if !LOG_LEVELS.contains(&level.as_str()) {
            let why = format!("expected one of {}", LOG_LEVELS.join(", "));
            return Err(file.broken("[debug] log_level", why));
        }
        if self.target.endpoints.is_empty() {
            return Err(file.broken("[target] endpoints", "there is none"));
        }
        self.metrics = self.metrics(file)?;
        self.workload.ratelimit.check(file)?;
        if self.workload.keyspace.is_empty() {
            return Err(file.broken("[workload] keyspace", "no keyspace is defined"));
        }
        for (n, keyspace) in (1..).zip(&mut self.workload.keyspace) {
            keyspace.name = format!("keyspace {n}");
            keyspace.check(self.general.protocol, file, &mut self.remarks)?;
        }
        let duration_s = f64::from(self.general.duration);
        self.remarks.extend(self.metrics.as_ref().and_then(|of| of.without_samples(duration_s)));
        Ok(self)
    }

    /// The file of metrics, which two sections may name.
    fn metrics(&mut self, file: &Document<'_>) -> Result<Option<Metrics>, Fault> {
        let General { metrics_output, metrics_format, metrics_interval, .. } = &self.general;
        let old = metrics_output.as_ref().map(|output| Metrics {
            output: output.clone(),
            format: metrics_format.unwrap_or_default(),
            interval: *metrics_interval,
            batch_size: None,
            histogram: Histogram::Standard,
        });
        let Some(new) = self.metrics.take() else { return Ok(old) };
        let outputs = |of: &Metrics| (of.output.clone(), of.format, of.interval);
        if old.is_some_and(|old| outputs(&old) != outputs(&new)) {
            let why = "conflicts with the metrics in [general]; set it only once";
            return Err(file.broken("[metrics]", why));
        }
        if new.batch_size.is_some_and(|size| !(100..=10_000_000).contains(&size)) {
            return Err(file.broken("[metrics] batch_size", "must be from 100 to 10000000"));
        }
        Ok(Some(new))
    }
}

impl Metrics {
    /// Returns a remark about a run shorter than an interval, which leaves a file without a sample, as in rpc-perf.
    fn without_samples(&self, duration_s: f64) -> Option<String> {
        let (interval_s, output) = (self.interval.as_secs_f64(), &self.output);
        (interval_s > duration_s).then(|| {
            format!(
                "metrics: interval is {interval_s} s and the run {duration_s} s long, so {output} \
                 will have no samples"
            )
        })
    }
}

/// Refuses by name what is for other systems.
fn refuse_others(file: &Document<'_>) -> Result<(), Fault> {
    if let Some(name) = OTHERS.split(", ").find(|name| file.has(name)) {
        return Err(file.refused(name, NOT_MEASURED));
    }
    let protocol = file.text("[general] protocol").unwrap_or_default();
    if OTHER_PROTOCOLS.split(' ').any(|other| other == protocol) {
        return Err(file.refused("[general] protocol", format!("{protocol}: {NOT_MEASURED}")));
    }
    let formats = ["[general] metrics_format", "[metrics] format"];
    if let Some(name) = formats.into_iter().find(|name| file.text(name) == Some("parquet")) {
        return Err(file.refused(name, NO_PARQUET));
    }
    if file.has("[general]") && !file.has("[client]") {
        return Err(file.refused("[client]", "without it, rpc-perf sends nothing to measure"));
    }
    Ok(())
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let seconds = u32::deserialize(from).ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| D::Error::custom("must be a number of seconds, at least 1"))
}

fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    match humantime::parse_duration(&text) {
        Ok(time) if time >= Duration::from_millis(10) => Ok(time),
        Ok(_) => Err(D::Error::custom("must be at least 10ms")),
        Err(why) => Err(D::Error::custom(format!("{text:?}: {why}; such as \"100ms\" or \"1s\""))),
    }
}

fn second() -> Duration {
    Duration::from_secs(1)
}

fn tenth_of_second() -> Duration {
    Duration::from_millis(100)
}
