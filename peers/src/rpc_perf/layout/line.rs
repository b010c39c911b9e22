//! A line of the metrics file. In JSON fields go by their names; in MessagePack by their places, with nothing between
//! one line and the next.

use std::io;
use std::time::{Duration, SystemTime};

use measure::Latency;
use serde::{Serialize, Serializer};

use super::buckets::{self, GROUPING_POWER, MAX_VALUE_POWER};
use super::metrics::{HISTOGRAMS, Metrics};

/// Everything so far.
#[derive(Serialize)]
pub(crate) struct Line<'m> {
    systemtime: SystemTime,
    #[serde(serialize_with = "map")]
    metadata: Metadata,
    counters: Vec<Entry<'m>>,
    gauges: Vec<Entry<'m>>,
    histograms: Vec<Entry<'m>>,
}

type Metadata = Vec<(&'static str, String)>;

#[derive(Serialize)]
struct Entry<'m> {
    name: &'m str,
    value: Value,
    #[serde(serialize_with = "map")]
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Histogram { config: Config, buckets: Vec<u64> },
    Sparse { config: Config, index: Vec<usize>, count: Vec<u64> },
}

/// Shape of every histogram.
#[derive(Serialize)]
struct Config {
    grouping_power: u32,
    max_value_power: u32,
}

const CONFIG: Config = Config { grouping_power: GROUPING_POWER, max_value_power: MAX_VALUE_POWER };

impl<'m> Line<'m> {
    /// Returns the line of a time; `every` is the time between two lines.
    pub(crate) fn new(
        metrics: &'m Metrics<'_>,
        at: SystemTime,
        every: Duration,
        sparse: bool,
    ) -> Self {
        let number = |name: &'m str, number: u64| {
            let (value, metadata) = (Value::Number(number), Vec::new());
            Entry { name, value, metadata }
        };
        let latencies = metrics.snapshot.total.latency.iter().map(Option::as_ref);
        let histograms = HISTOGRAMS.iter().zip(latencies).map(|(name, latency)| Entry {
            name,
            value: histogram(latency, sparse),
            metadata: vec![
                ("grouping_power", GROUPING_POWER.to_string()),
                ("max_value_power", MAX_VALUE_POWER.to_string()),
            ],
        });
        Self {
            systemtime: at.max(SystemTime::UNIX_EPOCH),
            metadata: vec![
                ("source", "rpc-perf".to_owned()),
                ("version", concat!("keystorm ", env!("CARGO_PKG_VERSION")).to_owned()),
                ("sampling_interval_ms", every.as_millis().to_string()),
            ],
            counters: metrics.counters.iter().map(|(name, count)| number(name, *count)).collect(),
            gauges: metrics.gauges.iter().map(|(name, value)| number(name, *value)).collect(),
            histograms: histograms.collect(),
        }
    }

    /// Formats the line as JSON, with names in order.
    pub(crate) fn json(&self) -> io::Result<Vec<u8>> {
        Ok(format!("{}\n", serde_json::to_value(self)?).into_bytes())
    }

    /// Formats the line as MessagePack.
    pub(crate) fn packed(&self) -> io::Result<Vec<u8>> {
        rmp_serde::to_vec(self).map_err(io::Error::other)
    }
}

fn histogram(latency: Option<&Latency>, sparse: bool) -> Value {
    if sparse {
        let (index, count) = buckets::held(latency).into_iter().unzip();
        Value::Sparse { config: CONFIG, index, count }
    } else {
        Value::Histogram { config: CONFIG, buckets: buckets::all(latency) }
    }
}

fn map<S: Serializer>(pairs: &Metadata, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, text)| (name, text)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::metrics::tests::snapshot;
    use super::*;

    /// The values of these fields, in this order.
    fn placed(value: &Value, fields: &[&str]) -> Value {
        assert_eq!(value.as_object().unwrap().len(), fields.len(), "{value}");
        fields.iter().map(|field| value[*field].clone()).collect()
    }

    #[test]
    fn lines_hold_what_those_of_json_hold_by_place_and_back_to_back() {
        let snapshot = snapshot();
        let metrics = Metrics::new(&snapshot);
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        for sparse in [false, true] {
            let every = Duration::from_millis(500);
            let lines = Line::new(&metrics, at, every, sparse);
            let line: Value = serde_json::from_slice(&lines.json().unwrap()).unwrap();
            let entries = |kind: &str| -> Value {
                let entry = |entry: &Value| {
                    let mut entry = entry.clone();
                    let value = &entry["value"];
                    if value.is_object() {
                        let fields: &[&str] = if sparse {
                            &["config", "index", "count"]
                        } else {
                            &["config", "buckets"]
                        };
                        let mut value = placed(value, fields);
                        value[0] = placed(&value[0], &["grouping_power", "max_value_power"]);
                        entry["value"] = value;
                    }
                    placed(&entry, &["name", "value", "metadata"])
                };
                line[kind].as_array().unwrap().iter().map(entry).collect()
            };
            let expected = json!([
                placed(&line["systemtime"], &["secs_since_epoch", "nanos_since_epoch"]),
                line["metadata"],
                entries("counters"),
                entries("gauges"),
                entries("histograms"),
            ]);
            let two = lines.packed().unwrap().repeat(2);
            let mut left = &two[..];
            let mut read = || rmp_serde::from_read::<_, Value>(&mut left).unwrap();
            assert_eq!([read(), read()], [expected.clone(), expected]);
            assert!(left.is_empty());
        }
    }
}
