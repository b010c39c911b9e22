//! Sections of its JSON file.

use std::time::UNIX_EPOCH;

use super::distribution::distribution;
use super::json::{Entry, Json, entry};
use super::seconds::{SecondRow, Times};
use super::section::Row;
use super::table::plural;
use super::{Lookup, RunFigures, Section, Style};

/// A section of the file, by its title.
pub(crate) fn json_section(section: &Section, style: &Style) -> Entry {
    let Section { title, figures } = section;
    let cluster = figures.cluster;
    let mut percentiles = style.percentiles.clone();
    percentiles.sort_by(f64::total_cmp);
    let mut entries = vec![entry("Runtime", runtime(figures))];
    for (at, (name, row)) in figures.names.iter().zip(&figures.rows).enumerate() {
        let seconds = figures.over_time.iter().map(|second| (second.index, &second.rows[at]));
        let seconds = time_serie(seconds, &percentiles);
        if style.leaves_out_sets && name == "SET" {
            continue;
        }
        let is_wait = figures.built_in && name == "WAIT";
        entries.push(entry(&plural(name), row_json(row, is_wait, cluster, seconds, &percentiles)));
    }
    if !figures.lookups.is_empty() {
        let lookups = figures.lookups.iter().map(|lookup| (lookup.name.clone(), keys_json(lookup)));
        entries.push(entry("Per-Key Misses", Json::Object(lookups.collect())));
    }
    let seconds = figures.over_time.iter().map(|second| (second.index, &second.total));
    let seconds = time_serie(seconds, &percentiles);
    entries.push(entry("Totals", row_json(&figures.totals, false, cluster, seconds, &percentiles)));
    let active = figures.active();
    if !active.is_empty() {
        let clients = |(each, all): &(u32, u32)| {
            let number = |number: u32| Json::whole(number.into());
            let both = [("Clients per thread", number(*each)), ("Total clients", number(*all))];
            Json::Object(both.map(|(key, value)| entry(key, value)).into())
        };
        let seconds = active.iter().enumerate();
        let seconds = seconds.map(|(second, active)| (second.to_string(), clients(active)));
        entries.push(entry("Active Clients", Json::Object(seconds.collect())));
    }
    entries.extend(figures.cpu.json());
    let [primary, replica] = figures.endpoints.requests;
    // Where replicas may answer, who did.
    if figures.endpoints.nodes[1] > 0 {
        let share = primary as f64 / (primary + replica).max(1) as f64;
        entries.push(entry(
            "Read Routing",
            Json::Object(vec![
                entry("Ops from Primary", Json::whole(primary)),
                entry("Ops from Replica", Json::whole(replica)),
                entry("Primary Fraction", Json::decimal(share, 6)),
            ]),
        ));
    }
    if style.distributions {
        for (name, row) in figures.names.iter().zip(&figures.rows) {
            let steps = distribution(&row.cells).into_iter().map(|step| {
                Json::Object(vec![
                    entry("<=msec", Json::decimal(step.ms, 3)),
                    entry("percent", Json::decimal(step.percent, 3)),
                ])
            });
            entries.push(entry(name, Json::Array(steps.collect())));
        }
    }
    (title.clone(), Json::Object(entries))
}

fn keys_json(lookup: &Lookup) -> Json {
    let Lookup { hits, misses, places, .. } = lookup;
    let all = [("Total".to_owned(), [*hits, *misses])].into_iter();
    let places = places.iter().enumerate().map(|(at, counts)| (format!("key[{at}]"), *counts));
    let members = all.chain(places).flat_map(|(of, [hits, misses])| {
        [(format!("{of} Hits"), Json::whole(hits)), (format!("{of} Misses"), Json::whole(misses))]
    });
    Json::Object(members.collect())
}

fn runtime(run: &RunFigures) -> Json {
    let start_ms = run.started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let length_ms = (run.elapsed_s * 1000.0).round() as u64;
    Json::Object(vec![
        entry("Start time", Json::whole(start_ms)),
        entry("Finish time", Json::whole(start_ms + length_ms)),
        entry("Total duration", Json::whole(length_ms)),
        entry("Time unit", Json::text("MILLISECONDS")),
        entry("Interrupted", Json::text(run.interrupted.to_string())),
    ])
}

fn row_json(row: &Row, is_wait: bool, cluster: bool, seconds: Json, percentiles: &[f64]) -> Json {
    let rate = |number| Json::decimal(number, 2);
    let ms = |number| Json::decimal(number, 3);
    // WAIT rows have latencies only.
    let average = row.average_ms().filter(|_| !is_wait).unwrap_or_default();
    let accumulated = if is_wait { 0.0 } else { row.accumulated_ms };
    let kilobytes = |number: f64| rate(if is_wait { 0.0 } else { number });
    let mut entries = vec![
        entry("Count", Json::whole(row.count)),
        entry("Ops/sec", rate(row.rates.ops)),
        entry("Hits/sec", rate(row.rates.hits)),
        entry("Misses/sec", rate(row.rates.misses)),
    ];
    if cluster {
        entries.extend([
            entry("MOVED/sec", rate(row.rates.moved)),
            entry("ASK/sec", rate(row.rates.asked)),
        ]);
    }
    entries.extend([
        entry("Connection Errors/sec", rate(row.rates.connection_errors)),
        entry("Connection Errors", Json::whole(row.connection_errors)),
        entry("Latency", ms(average)),
        entry("Average Latency", ms(average)),
        entry("Accumulated Latency", Json::whole(accumulated.round() as u64)),
        entry("Min Latency", ms(row.cells.min_ms())),
        entry("Max Latency", ms(row.cells.max_ms())),
        entry("KB/sec", kilobytes(row.rates.kilobytes())),
        entry("KB/sec RX/TX", kilobytes(row.rates.kilobytes())),
        entry("KB/sec RX", kilobytes(row.rates.received)),
        entry("KB/sec TX", kilobytes(row.rates.sent)),
        entry("Time-Serie", seconds),
    ]);
    let keys = keys(percentiles, 3);
    let values = percentiles.iter().map(|percentile| ms(row.cells.percentile_ms(*percentile)));
    let mut latencies: Vec<Entry> = keys.into_iter().zip(values).collect();
    let encoded = vec![entry("Compressed Histogram", Json::text(row.cells.encoded()))];
    latencies.push(entry("Histogram log format", Json::Object(encoded)));
    entries.push(entry("Percentile Latencies", Json::Object(latencies)));
    Json::Object(entries)
}

fn time_serie<'s>(
    seconds: impl Iterator<Item = (u64, &'s SecondRow)>,
    percentiles: &[f64],
) -> Json {
    let keys = keys(percentiles, 2);
    let ms = |number| Json::decimal(number, 3);
    let second = |row: &SecondRow| {
        let mut entries = vec![
            entry("Bytes RX", Json::whole(row.received)),
            entry("Bytes TX", Json::whole(row.sent)),
            entry("Count", Json::whole(row.count)),
        ];
        // Of nothing but errors there are zeros, as in the figures of the whole run.
        let none = || Times { percentiles_ms: vec![0.0; keys.len()], ..Times::default() };
        if let Some(times) = row.times.clone().or_else(|| (row.count > 0).then(none)) {
            let Times { average_ms, accumulated_ms, min_ms, max_ms, percentiles_ms } = times;
            entries.extend([
                entry("Average Latency", ms(average_ms)),
                entry("Accumulated Latency", Json::whole(accumulated_ms.round() as u64)),
                entry("Min Latency", ms(min_ms)),
                entry("Max Latency", ms(max_ms)),
            ]);
            let values = percentiles_ms.iter().map(|value| ms(*value));
            entries.extend(keys.iter().cloned().zip(values));
        }
        Json::Object(entries)
    };
    Json::Object(seconds.map(|(index, row)| (index.to_string(), second(row))).collect())
}

/// Percentiles as keys: cut to six characters, as there, and in full where that would make two of them
/// one.
fn keys(percentiles: &[f64], digits: usize) -> Vec<String> {
    let short: Vec<String> = percentiles
        .iter()
        .map(|percentile| format!("p{percentile:.digits$}").chars().take(6).collect::<String>())
        .collect();
    let is_unique = |key: &String| short.iter().filter(|other| *other == key).count() == 1;
    let keys = short.iter().zip(percentiles).map(|(key, percentile)| {
        if is_unique(key) { key.clone() } else { format!("p{percentile}") }
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_keys_of_six_characters() {
        let percentiles = [0.0, 0.5, 5.0, 50.0, 99.0, 99.9, 100.0];
        assert_eq!(
            keys(&percentiles, 3),
            ["p0.000", "p0.500", "p5.000", "p50.00", "p99.00", "p99.90", "p100.0"]
        );
        assert_eq!(keys(&percentiles, 2)[..3], ["p0.00", "p0.50", "p5.00"]);
        assert_eq!(keys(&[99.99, 99.999], 3), ["p99.99", "p99.999"], "there both are p99.99");
    }
}
