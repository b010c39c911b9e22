//! Figures of connections that each carry one request.

use measure::ConnectStages;

use crate::LatencyFigures;
use crate::csv::CsvRow;
use crate::metric::COLUMNS;

/// The name and the times of each stage of opening, in their order; without TLS or a login there is none.
pub(crate) fn stages(of: &ConnectStages) -> Vec<(&'static str, LatencyFigures)> {
    let ConnectStages { connected, tls, login, first_reply } = of;
    let stages = [
        ("connect", Some(connected)),
        ("TLS handshake", Some(tls).filter(|of| of.count() > 0)),
        ("login", Some(login).filter(|of| of.count() > 0)),
        ("first reply", Some(first_reply)),
    ];
    let stages = stages.into_iter();
    stages.filter_map(|(name, of)| Some((name, LatencyFigures::from_latency(of?)))).collect()
}

/// The row of a stage of a test with this name in a table for programs.
pub(crate) fn csv_row(test: &str, (stage, figures): &(&str, LatencyFigures)) -> CsvRow {
    let mut row = vec![
        ("test", test.to_owned()),
        ("stage", (*stage).to_owned()),
        ("connections", figures.count.to_string()),
    ];
    let names = ["avg_ms", "min_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"];
    row.extend(names.into_iter().zip(figures.cells(COLUMNS)));
    row
}
