//! Connections that were lost and could not be opened again before the run ended, with the reason.

use measure::{Ending, Measurement, NotReopened};
use workload::quantity::counted;

/// Maximum number of servers that a line names; further ones are counted.
const NAMED_MAX: usize = 3;

/// The servers concerned for each reason, and a line for a person; unescaped. Empty for a failed run, whose
/// end states the reason.
pub(super) fn not_reopened(measurement: &Measurement) -> Vec<(String, String)> {
    if matches!(measurement.ending, Ending::Failed(_)) {
        return Vec::new();
    }
    let all = &measurement.total.connections.not_reopened;
    let mut reasons: Vec<&str> = all.iter().map(|one| one.reason.as_str()).collect();
    reasons.sort();
    reasons.dedup();
    let lines = reasons.into_iter().map(|reason| {
        let of_reason: Vec<&NotReopened> = all.iter().filter(|one| one.reason == reason).collect();
        line(reason, &of_reason)
    });
    lines.collect()
}

/// Connections that failed for the same reason.
fn line(reason: &str, of_reason: &[&NotReopened]) -> (String, String) {
    let connections = of_reason.iter().map(|one| one.connections).fold(0, u64::saturating_add);
    let named: Vec<&str> =
        of_reason.iter().take(NAMED_MAX).map(|one| one.server.as_str()).collect();
    let mut servers = named.join(", ");
    if of_reason.len() > NAMED_MAX {
        let more = counted((of_reason.len() - NAMED_MAX) as u64, "more server");
        servers = format!("{servers} and {more}");
    }
    let verb = if connections == 1 { "was" } else { "were" };
    let lost = counted(connections, "connection");
    let text = format!(
        "{lost} to {servers} {verb} lost and could not be opened again; the last attempt \
         failed: {reason}"
    );
    (servers, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use measure::Failure;

    #[test]
    fn each_reason_has_one_line() {
        let mut measurement = fixture::complete().measurement;
        assert_eq!(not_reopened(&measurement), []);
        let tally = &mut measurement.total.connections;
        for server in ["a:1", "b:1", "c:1", "d:1", "a:1"] {
            tally.add_not_reopened(server.to_owned(), "connection refused".to_owned());
        }
        tally.add_not_reopened("t:1".to_owned(), "no TLS".to_owned());
        let refused = "5 connections to a:1, b:1, c:1 and 1 more server were lost and could not be opened \
                       again; the last attempt failed: connection refused";
        let plain = "1 connection to t:1 was lost and could not be opened again; the last attempt failed: \
                     no TLS";
        let lines: Vec<String> =
            not_reopened(&measurement).into_iter().map(|(_, text)| text).collect();
        assert_eq!(lines, [refused, plain]);
        measurement.ending = Ending::Failed(Failure::new("the server is away"));
        assert_eq!(not_reopened(&measurement), []);
    }
}
