//! A line of the metrics file in MessagePack: what the line of JSON holds, with fields by their place and not
//! by their name, and with nothing between one and the next.

use std::io;
use std::time::{Duration, SystemTime};

use measure::Latency;
use rmp::encode::{ValueWriteError, write_array_len, write_map_len, write_str, write_uint};

use super::buckets;
use super::metrics::{HISTOGRAMS, Metrics, SHAPE, about};

type PackResult = Result<(), ValueWriteError>;

impl Metrics<'_> {
    /// Formats a line of the file as [`line`](Self::line) does, packed.
    ///
    /// # Errors
    /// Returns no error: writing to memory cannot fail.
    pub(crate) fn packed(
        &self,
        at: SystemTime,
        every: Duration,
        sparse: bool,
    ) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.pack(at, every, sparse, &mut out)?;
        Ok(out)
    }

    fn pack(&self, at: SystemTime, every: Duration, sparse: bool, out: &mut Vec<u8>) -> PackResult {
        let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        write_array_len(out, 5)?;
        numbers(&[since.as_secs(), since.subsec_nanos().into()], out)?;
        texts(&about(every), out)?;
        length(self.counters.len(), out)?;
        for (name, count) in &self.counters {
            plain(name, *count, out)?;
        }
        length(self.gauges.len(), out)?;
        for (name, value) in &self.gauges {
            plain(name, *value, out)?;
        }
        length(HISTOGRAMS.len(), out)?;
        for (name, latency) in HISTOGRAMS.iter().zip(&self.snapshot.total.latency) {
            write_array_len(out, 3)?;
            write_str(out, name)?;
            histogram(latency.as_ref(), sparse, out)?;
            texts(&SHAPE.map(|(name, value)| (name, value.to_string())), out)?;
        }
        Ok(())
    }
}

/// A name, a number, and empty metadata.
fn plain(name: &str, value: u64, out: &mut Vec<u8>) -> PackResult {
    write_array_len(out, 3)?;
    write_str(out, name)?;
    write_uint(out, value)?;
    write_map_len(out, 0).map(|_| ())
}

fn histogram(latency: Option<&Latency>, sparse: bool, out: &mut Vec<u8>) -> PackResult {
    let config = SHAPE.map(|(_, value)| u64::from(value));
    if sparse {
        let held = buckets::held(latency);
        let (index, count): (Vec<u64>, Vec<u64>) =
            held.into_iter().map(|(index, count)| (index as u64, count)).unzip();
        write_array_len(out, 3)?;
        numbers(&config, out)?;
        numbers(&index, out)?;
        return numbers(&count, out);
    }
    write_array_len(out, 2)?;
    numbers(&config, out)?;
    numbers(&buckets::all(latency), out)
}

fn numbers(all: &[u64], out: &mut Vec<u8>) -> PackResult {
    length(all.len(), out)?;
    all.iter().try_for_each(|number| write_uint(out, *number).map(|_| ()))
}

fn texts(all: &[(&str, String)], out: &mut Vec<u8>) -> PackResult {
    write_map_len(out, all.len() as u32)?;
    all.iter().try_for_each(|(name, text)| {
        write_str(out, name)?;
        write_str(out, text)
    })
}

/// Writes that an array of `of` elements follows.
fn length(of: usize, out: &mut Vec<u8>) -> PackResult {
    write_array_len(out, of as u32).map(|_| ())
}

#[cfg(test)]
mod tests {
    use rmp::Marker;
    use rmp::decode::{read_array_len, read_int, read_map_len, read_str_len};
    use serde_json::{Map, Value, json};

    use super::super::metrics::tests::snapshot;
    use super::*;

    /// The next value of some bytes.
    fn read(bytes: &mut &[u8]) -> Value {
        match Marker::from_u8(bytes[0]) {
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
                let count = read_array_len(bytes).unwrap();
                (0..count).map(|_| read(bytes)).collect()
            }
            Marker::FixMap(_) | Marker::Map16 => {
                let count = read_map_len(bytes).unwrap();
                let mut entry = |_| (read(bytes).as_str().unwrap().to_owned(), read(bytes));
                Value::Object((0..count).map(&mut entry).collect::<Map<_, _>>())
            }
            Marker::FixStr(_) | Marker::Str8 => {
                let len = read_str_len(bytes).unwrap() as usize;
                let (text, rest) = bytes.split_at(len);
                *bytes = rest;
                json!(std::str::from_utf8(text).unwrap())
            }
            _ => json!(read_int::<u64, _>(bytes).unwrap()),
        }
    }

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
            let line: Value = serde_json::from_str(&metrics.line(at, every, sparse)).unwrap();
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
            let two = metrics.packed(at, every, sparse).unwrap().repeat(2);
            let mut left = &two[..];
            assert_eq!([read(&mut left), read(&mut left)], [expected.clone(), expected]);
            assert!(left.is_empty());
        }
    }
}
