//! Figures of connections that each carry one request.

use measure::ConnectStages;

use crate::LatencyFigures;
use crate::csv::CsvRow;
use crate::metric::COLUMNS;

/// Times of the stages of opening a connection, in the order of the stages.
#[derive(Debug, Clone, Copy)]
pub struct ConnectFigures {
    /// Time until the connection was open.
    pub connected: LatencyFigures,
    /// Time of the TLS handshake, with TLS.
    pub tls: Option<LatencyFigures>,
    /// Time until the replies to the login were in, if there was a login.
    pub login: Option<LatencyFigures>,
    /// Time from the request to its reply.
    pub first_reply: LatencyFigures,
}

impl ConnectFigures {
    /// Makes the figures of these stages.
    pub fn new(stages: &ConnectStages) -> Self {
        let ConnectStages { connected, tls, login, first_reply } = stages;
        let any = |latency| Some(LatencyFigures::from_latency(latency)).filter(|of| of.count > 0);
        Self {
            connected: LatencyFigures::from_latency(connected),
            tls: any(tls),
            login: any(login),
            first_reply: LatencyFigures::from_latency(first_reply),
        }
    }

    /// Returns the name and the figures of each stage.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &LatencyFigures)> {
        let Self { connected, tls, login, first_reply } = self;
        let rows = [
            ("connect", Some(connected)),
            ("TLS handshake", tls.as_ref()),
            ("login", login.as_ref()),
            ("first reply", Some(first_reply)),
        ];
        rows.into_iter().filter_map(|(name, figures)| Some((name, figures?)))
    }

    /// Returns the rows of a test with this name in a table for programs.
    pub(crate) fn csv_rows(&self, test: &str) -> Vec<CsvRow> {
        let rows = self.stages().map(|(stage, figures)| {
            let mut row = vec![
                ("test", test.to_owned()),
                ("stage", stage.to_owned()),
                ("connections", figures.count.to_string()),
            ];
            let names = ["avg_ms", "min_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"];
            row.extend(names.into_iter().zip(figures.cells(COLUMNS)));
            row
        });
        rows.collect()
    }
}
