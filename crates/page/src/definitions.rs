//! Definitions of the figures on a page: a sentence for a tooltip, and a link to the chapter with the
//! details.

/// Base address of the handbook's chapters that pages link to.
const DOCS: &str = "https://github.com/keystorm/keystorm/blob/main/docs/";

/// Returns the meaning of the figure with this name, and a link to its chapter. `None` for names that need no
/// definition.
pub(crate) fn definition(name: &str) -> Option<(&'static str, String)> {
    let bare = name.strip_suffix(" (ms)").or_else(|| name.strip_suffix(" (UTC)")).unwrap_or(name);
    let (_, meaning, chapter) =
        DEFINITIONS.iter().find(|(names, ..)| names.contains(&bare.to_lowercase().as_str()))?;
    Some((meaning, format!("{DOCS}{chapter}")))
}

type Row = (&'static [&'static str], &'static str, &'static str);

const DEFINITIONS: &[Row] = &[
    (
        &["requests per second", "requests/s", "per second", "throughput"],
        "Answered requests, error replies included, divided by the length of the measured part.",
        "measuring.md#when-counting-begins-and-ends",
    ),
    (
        &["median", "p50"],
        "Half of all response times were at most this. A response time counts from when a request \
         was due to its reply.",
        "measuring.md#two-latencies",
    ),
    (
        &["95th percentile", "p95"],
        "95 % of all response times were at most this.",
        "measuring.md#histograms-and-rounding",
    ),
    (
        &["99th percentile", "p99"],
        "99 % of all response times were at most this: one request in a hundred took longer.",
        "measuring.md#histograms-and-rounding",
    ),
    (
        &["99.9th percentile", "p99.9"],
        "99.9 % of all response times were at most this: one request in a thousand took longer.",
        "measuring.md#histograms-and-rounding",
    ),
    (&["max"], "The longest response time, exact.", "measuring.md#histograms-and-rounding"),
    (&["avg"], "The exact mean of all response times.", "measuring.md#histograms-and-rounding"),
    (
        &["median of the probe", "99th percentile of the probe"],
        "Response time of a client with one connection and a low rate, during the load: what a quiet \
         user of the server sees.",
        "measuring.md#two-latencies",
    ),
    (
        &["requests", "count"],
        "Requests that were answered in the measured part, error replies included.",
        "measuring.md#when-counting-begins-and-ends",
    ),
    (&["errors", "kind of error"], "Replies that were errors.", "measuring.md#errors"),
    (
        &["server cpu/request"],
        "CPU time of the server's process divided by the requests that it answered.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["client cpu/request"],
        "CPU time of keystorm's worker threads divided by the requests that they sent.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["server cpu/delivery"],
        "CPU time of the server's process divided by the deliveries that receivers had.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["client cpu/delivery"],
        "CPU time of keystorm's threads, of senders and receivers, divided by the deliveries that \
         receivers had.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["server cpu"],
        "CPU time of the server's process divided by the time: 100 % is one core.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["schedule", "misses allowed: none"],
        "Whether requests were sent when they were due (at most 1 % over 10 ms late), or whether \
         what was demanded of the replies held.",
        "measuring.md#schedules",
    ),
    (
        &["hits", "misses"],
        "Replies to commands that look something up: found, and not found.",
        "measuring.md#errors",
    ),
    (
        &["limited by"],
        "What kept the rate from being higher, or the latency from being lower.",
        "measuring.md#what-limited-the-run",
    ),
    (
        &["busy"],
        "Share of the time in which the thread was on a CPU.",
        "measuring.md#where-the-evidence-comes-from",
    ),
    (
        &["back at 95 % of", "lasted"],
        "Of an outage: from the last success before it to the first after it, and when the rate of \
         the second before it was reached again.",
        "measuring.md#outages",
    ),
    (
        &["what went on"],
        "What the server, keystorm and the requests reported at that moment; the server's clock is \
         compared with this machine's.",
        "measuring.md#worst-moments",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_leads_to_a_heading_that_is_there() {
        let chapter = std::fs::read_to_string(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measuring.md"),
        )
        .unwrap();
        let anchors: Vec<String> = chapter
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-"))
            .collect();
        for (names, meaning, place) in DEFINITIONS {
            let anchor = place.split_once('#').unwrap().1;
            assert!(anchors.iter().any(|known| known == anchor), "{names:?}: {place}");
            assert!(meaning.ends_with('.') && !names.is_empty());
            assert!(names.iter().all(|name| definition(name).is_some()), "{names:?}");
        }
        assert!(definition("p99 (ms)").is_some() && definition("test").is_none());
    }
}
