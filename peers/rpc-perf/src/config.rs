//! A file of 5.x, read: what it says of the run, the server and the client.

use std::time::Duration;

use cli::workload_file::Source;
use toml::de::DeTable;
use workload::Secret;

use super::fault::Fault;
use super::keyspace::{self, Keyspace};
use super::rate::Ratelimit;
use super::table::Table;
use super::versions;

/// A file, checked.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) protocol: Protocol,
    /// Seconds of a window, and of all of them.
    pub(super) interval_s: u64,
    pub(super) duration_s: u64,
    /// Address of the admin port.
    pub(super) admin: String,
    pub(super) seed: Option<String>,
    pub(super) metrics: Option<Metrics>,
    pub(super) endpoints: Vec<String>,
    pub(super) client: Client,
    pub(super) tls: Option<Tls>,
    pub(super) ratelimit: Ratelimit,
    pub(super) keyspaces: Vec<Keyspace>,
    /// Remarks about what is not as it should be, and does no harm.
    pub(super) remarks: Vec<String>,
}

/// Protocol of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Resp,
    Memcache,
    Ping,
}

impl Protocol {
    /// Name in the first line of the output.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Resp => "Resp",
            Self::Memcache => "Memcache",
            Self::Ping => "Ping",
        }
    }
}

/// Format of a file of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricsFormat {
    Json,
    Msgpack,
}

/// A file of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metrics {
    pub(super) output: String,
    pub(super) format: MetricsFormat,
    pub(super) interval: Duration,
    pub(super) sparse: bool,
}

impl Metrics {
    /// Returns a remark about a run shorter than an interval, which leaves a file without a sample, as in rpc-perf.
    fn without_samples(&self, duration_s: u64) -> Option<String> {
        let (interval_s, output) = (self.interval.as_secs_f64(), &self.output);
        (interval_s > duration_s as f64).then(|| {
            format!(
                "metrics: interval is {interval_s} s and the run {duration_s} s long, so {output} \
                 will have no samples"
            )
        })
    }
}

/// Threads, connections and limits of the client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) threads: u16,
    pub(super) poolsize: u32,
    pub(super) concurrency: u32,
    pub(super) request_timeout_ms: u32,
    /// Connections that are closed and opened again each second, of all threads.
    pub(super) reconnect_rate: u32,
}

/// Files of TLS.
#[derive(Debug, Default)]
pub(super) struct Tls {
    pub(super) private_key: Option<String>,
    pub(super) private_key_password: Option<Secret>,
    pub(super) certificate: Option<String>,
    /// The rest of its chain, if that is in a file of its own.
    pub(super) certificate_chain: Option<String>,
    pub(super) ca_file: Option<String>,
    pub(super) verifies: bool,
}

/// Protocols that rpc-perf has, and keystorm does not.
const OTHERS: &str = "momento momento_http momento_protosocket momento_objectstore ping_grpc \
     ping_grpc_h2 ping_grpc_h3 blabber kafka mysql s3 http1";
/// Sections of other workloads.
const OTHER_SECTIONS: [&str; 5] = ["pubsub", "storage", "leaderboard", "oltp", "replay"];
/// Reason why both are refused.
const NOT_MEASURED: &str = "keystorm measures keyspaces of Redis, Valkey and memcached only";

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns the place and the reason if it is invalid.
    pub(super) fn read(source: &Source) -> Result<Self, Fault> {
        let parsed = DeTable::parse(&source.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Fault::File(source.fault(at, error.message()))
        })?;
        let root = Table::root(source, parsed.get_ref());
        versions::check(&root)?;
        Self::from_table(&root)
    }

    fn from_table(root: &Table<'_, '_>) -> Result<Self, Fault> {
        let section = |key: &str| {
            let table = root.table(key)?;
            table.ok_or_else(|| root.broken("", format!("[{key}] is missing")))
        };
        let general = section("general")?;
        let protocol = protocol(&general)?;
        let count = |key: &str| -> Result<u64, Fault> {
            let seconds = general.number::<u32>(key)?.filter(|seconds| *seconds > 0);
            let fault = || general.broken(key, "must be a number of seconds, at least 1");
            seconds.map(u64::from).ok_or_else(fault)
        };
        let (interval_s, duration_s) = (count("interval")?, count("duration")?);
        let admin = general.required("admin", general.text("admin")?)?;
        let seed = general.text("initial_seed")?;
        let metrics = metrics(root, &general)?;
        let debug = section("debug")?;
        debug_level(&debug)?;
        let target = section("target")?;
        let endpoints = endpoints(&target)?;
        if let Some(key) = OTHER_SECTIONS.into_iter().find(|key| root.has(key)) {
            return Err(root.refused(key, NOT_MEASURED));
        }
        let client_section = root.table("client")?.ok_or_else(|| {
            root.refused("client", "without it, rpc-perf sends nothing to measure")
        })?;
        let client = client(&client_section)?;
        let tls_section = root.table("tls")?;
        let tls = tls_section.as_ref().map(tls).transpose()?;
        let workload = section("workload")?;
        let threads = workload.number::<u16>("threads")?;
        // Workers make their own requests.
        workload.required("threads", threads)?;
        let others = ["topics", "stores", "leaderboard", "oltp"];
        if let Some(key) = others.into_iter().find(|key| workload.has(key)) {
            return Err(workload.refused(key, NOT_MEASURED));
        }
        let mut remarks = Vec::new();
        let ratelimit = Ratelimit::read(&workload, &mut remarks)?;
        let keyspaces = workload.tables("keyspace", "keyspace")?;
        if keyspaces.is_empty() {
            return Err(workload.broken("keyspace", "no keyspace is defined"));
        }
        let mut read = Vec::new();
        for table in &keyspaces {
            read.push(keyspace::read(table, protocol, &mut remarks)?);
            remarks.extend(table.unknown());
        }
        let sections = [root, &general, &debug, &target, &client_section, &workload];
        let unknown = sections.into_iter().chain(&tls_section).flat_map(Table::unknown);
        remarks.extend(unknown);
        remarks.extend(metrics.as_ref().and_then(|metrics| metrics.without_samples(duration_s)));
        Ok(Self {
            protocol,
            interval_s,
            duration_s,
            admin,
            seed,
            metrics,
            endpoints,
            client,
            tls,
            ratelimit,
            keyspaces: read,
            remarks,
        })
    }
}

fn protocol(general: &Table<'_, '_>) -> Result<Protocol, Fault> {
    let name = general.required("protocol", general.text("protocol")?)?;
    match name.as_str() {
        "resp" => return Ok(Protocol::Resp),
        "memcache" => return Ok(Protocol::Memcache),
        "ping" => return Ok(Protocol::Ping),
        _ => {}
    }
    if OTHERS.split(' ').any(|other| other == name) {
        return Err(general.refused("protocol", format!("{name}: {NOT_MEASURED}")));
    }
    let why = format!("unknown protocol {name:?}; expected resp, memcache or ping");
    Err(general.broken("protocol", why))
}

fn debug_level(debug: &Table<'_, '_>) -> Result<(), Fault> {
    for key in
        ["log_file", "log_backup", "log_max_size", "log_queue_depth", "log_single_message_size"]
    {
        debug.has(key);
    }
    let level = debug.text("log_level")?.unwrap_or_else(|| "info".to_owned());
    match level.to_lowercase().as_str() {
        "error" | "warn" | "info" | "debug" | "trace" => Ok(()),
        _ => Err(debug
            .broken("log_level", "expected \"error\", \"warn\", \"info\", \"debug\" or \"trace\"")),
    }
}

fn endpoints(target: &Table<'_, '_>) -> Result<Vec<String>, Fault> {
    let others = ["cache_name", "endpoint_override", "use_private_endpoints", "object_store_name"];
    if let Some(key) = others.into_iter().find(|key| target.has(key)) {
        return Err(target.refused(key, NOT_MEASURED));
    }
    let endpoints = target.required("endpoints", target.texts("endpoints")?)?;
    if endpoints.is_empty() {
        Err(target.broken("endpoints", "there is none"))
    } else {
        Ok(endpoints)
    }
}

fn client(client: &Table<'_, '_>) -> Result<Client, Fault> {
    let threads = client.required("threads", client.number::<u16>("threads")?)?;
    let poolsize = client.required("poolsize", client.number::<u32>("poolsize")?)?;
    client.required("connect_timeout", client.number::<u32>("connect_timeout")?)?;
    let timeout = client.number::<u32>("request_timeout")?;
    let request_timeout_ms = client.required("request_timeout", timeout)?;
    let concurrency = client.number::<u32>("concurrency")?.unwrap_or(1).max(1);
    for key in ["read_buffer_size", "write_buffer_size"] {
        client.number::<u32>(key)?;
    }
    Ok(Client {
        threads: threads.max(1),
        poolsize: poolsize.max(1),
        concurrency,
        request_timeout_ms,
        reconnect_rate: client.number::<u32>("reconnect_rate")?.unwrap_or(0),
    })
}

fn tls(tls: &Table<'_, '_>) -> Result<Tls, Fault> {
    tls.flag("use_sni")?;
    // Alone, either file may hold both.
    let (certificate, certificate_chain) =
        match (tls.text("certificate")?, tls.text("certificate_chain")?) {
            (None, chain) => (chain, None),
            both => both,
        };
    Ok(Tls {
        private_key: tls.text("private_key")?,
        private_key_password: tls.text("private_key_password")?.map(Secret::new),
        certificate,
        certificate_chain,
        ca_file: tls.text("ca_file")?,
        verifies: tls.flag("verify_hostname")?.unwrap_or(true),
    })
}

/// The file of metrics, which two sections may name.
fn metrics(root: &Table<'_, '_>, general: &Table<'_, '_>) -> Result<Option<Metrics>, Fault> {
    let old = match general.text("metrics_output")? {
        Some(output) => Some((
            output,
            general.text("metrics_format")?.unwrap_or_else(|| "json".to_owned()),
            time(general, "metrics_interval", "100ms")?,
        )),
        None => {
            for key in ["metrics_format", "metrics_interval"] {
                general.has(key);
            }
            None
        }
    };
    let Some(new) = root.table("metrics")? else {
        let Some((output, format, interval)) = old else { return Ok(None) };
        let format = metrics_format(general, "metrics_format", &format)?;
        return Ok(Some(Metrics { output, format, interval, sparse: false }));
    };
    let output = new.required("output", new.text("output")?)?;
    let format = new.required("format", new.text("format")?)?;
    let interval = time(&new, "interval", "1s")?;
    let outputs = (output, format, interval);
    if old.as_ref().is_some_and(|old| *old != outputs) {
        let why = "conflicts with the metrics in [general]; set it only once";
        return Err(new.broken("", why));
    }
    let (output, format, interval) = outputs;
    let format = metrics_format(&new, "format", &format)?;
    let batch = new.number::<u64>("batch_size")?;
    if batch.is_some_and(|size| !(100..=10_000_000).contains(&size)) {
        return Err(new.broken("batch_size", "must be from 100 to 10000000"));
    }
    let sparse = match new.text("histogram")?.as_deref() {
        None | Some("standard") => false,
        Some("sparse") => true,
        Some(_) => return Err(new.broken("histogram", "expected \"standard\" or \"sparse\"")),
    };
    Ok(Some(Metrics { output, format, interval, sparse }))
}

fn metrics_format(table: &Table<'_, '_>, key: &str, name: &str) -> Result<MetricsFormat, Fault> {
    match name {
        "json" => Ok(MetricsFormat::Json),
        "msgpack" => Ok(MetricsFormat::Msgpack),
        "parquet" => Err(table.refused(
            key,
            "parquet is not supported; use \"json\" or \"msgpack\", or --ks-json FILE for every \
             figure",
        )),
        _ => Err(table.broken(key, "expected \"json\", \"msgpack\" or \"parquet\"")),
    }
}

/// A time in words.
fn time(table: &Table<'_, '_>, key: &str, or: &str) -> Result<Duration, Fault> {
    let text = table.text(key)?.unwrap_or_else(|| or.to_owned());
    let time = humantime::parse_duration(&text).map_err(|why| {
        table.broken(key, format!("{text:?}: {why}; such as \"100ms\" or \"1s\""))
    })?;
    if time < Duration::from_millis(10) {
        Err(table.broken(key, "must be at least 10ms"))
    } else {
        Ok(time)
    }
}
