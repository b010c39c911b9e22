//! Saved profiles: the instructions of each request as a figure over time.

use lab::Profile;
use report::Metric;

use crate::{Entry, Figure};

/// Schema of a profile, as it is quoted in one.
pub(crate) const SCHEMA: &str = "\"keystorm.profile/1\"";

/// The entries of a profile, one for each test. Of two servers the new one counts.
///
/// # Errors
/// The text is no profile.
pub(crate) fn entries(file: &str, text: &[u8]) -> Result<Vec<Entry>, String> {
    let of: Profile = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let Some(server) = of.servers.last() else { return Ok(Vec::new()) };
    let program = server.program.split(' ').next().unwrap_or_default();
    let measured = of.tests.iter().filter(|test| test.servers.len() == of.servers.len());
    let entry = |test: &lab::profile::ProfiledTest| {
        let work = &test.servers.last()?.instructions;
        Some(Entry {
            file: file.to_owned(),
            test: test.name.clone(),
            load: format!("profile {}", test.load),
            options: test.options.clone(),
            target: program.rsplit('/').next().unwrap_or_default().to_owned(),
            server: server.name.clone(),
            client: of.client.clone(),
            machine: of.machine.clone(),
            cpu: of.cpu.clone(),
            kernel: of.kernel.clone(),
            started_ms: of.started_ms,
            runs: work.values.len(),
            complete: of.complete,
            disturbed: None,
            noise: 0.0,
            failed: 0.0,
            limited_by: "–".to_owned(),
            figures: vec![Figure {
                metric: Metric::Instructions.name().to_owned(),
                mean: work.mean,
                interval: work.interval,
                without_noise: work.mean,
            }],
        })
    };
    Ok(measured.filter_map(entry).collect())
}
