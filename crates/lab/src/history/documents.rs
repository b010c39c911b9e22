//! Saved documents of experiments as entries: the instructions of profiles, and what crashes cost by setting.

use crate::durability::SettingResult;
use crate::origin::Origin;
use crate::{Durability, Profile};
use report::Metric;

use crate::history::{Entry, Figure};

/// Schemas of the documents, as they are quoted in them.
const PROFILE: &str = "\"keystorm.profile/1\"";
const DURABILITY: &str = "\"keystorm.durability/1\"";

/// The entries of a document of an experiment; `None` if it is none of these.
pub(crate) fn entries(file: &str, text: &[u8]) -> Option<Result<Vec<Entry>, String>> {
    // A reformatted document may have its schema at the end.
    let shown = std::str::from_utf8(text).unwrap_or_default();
    let read = if shown.contains(PROFILE) {
        serde_json::from_slice(text).map(|of| profile_entries(file, &of))
    } else if shown.contains(DURABILITY) {
        serde_json::from_slice(text).map(|of| durability_entries(file, &of))
    } else {
        return None;
    };
    Some(read.map_err(|error| error.to_string()))
}

/// The entries of a profile, one for each test. Of two servers the new one counts.
fn profile_entries(file: &str, of: &Profile) -> Vec<Entry> {
    let Some(server) = of.servers.last() else { return Vec::new() };
    let program = server.program.split(' ').next().unwrap_or_default();
    let measured = of.tests.iter().filter(|test| test.servers.len() == of.servers.len());
    let entry = |test: &crate::profile::ProfiledTest| {
        let work = &test.servers.last()?.instructions;
        let figure = Figure::without_noise(Metric::Instructions, work.mean, work.interval);
        Some(Entry {
            test: test.name.clone(),
            load: format!("profile {}", test.load),
            options: test.options.clone(),
            target: program.rsplit('/').next().unwrap_or_default().to_owned(),
            server: server.name.clone(),
            runs: work.values.len(),
            complete: of.complete,
            ..empty_entry(file, &of.origin, vec![figure])
        })
    };
    measured.filter_map(entry).collect()
}

/// The entries of crashes, one for each setting: speed without a crash, and lost writes as failed requests.
fn durability_entries(file: &str, of: &Durability) -> Vec<Entry> {
    let entry = |setting: &SettingResult| {
        let figure = |metric: Metric, mean: f64| Figure::without_noise(metric, mean, None);
        let figures = [
            setting.throughput_rps.map(|rps| figure(Metric::Throughput, rps)),
            setting.p99_ms.map(|ms| figure(Metric::P99, ms)),
        ];
        Entry {
            test: format!("{}, {}", of.crash, setting.name),
            load: format!("durability {} {} {}", of.crash, setting.about, of.load),
            options: of.options.clone(),
            target: of.target.clone(),
            server: of.server.clone(),
            runs: setting.crashes.len(),
            complete: of.complete && setting.failure.is_none(),
            failed: setting.lost() as f64 / setting.acknowledged().max(1) as f64,
            ..empty_entry(file, &of.origin, figures.into_iter().flatten().collect())
        }
    };
    of.settings.iter().map(entry).collect()
}

/// An entry of a file that names no test yet.
fn empty_entry(file: &str, origin: &Origin, figures: Vec<Figure>) -> Entry {
    Entry {
        file: file.to_owned(),
        client: origin.client.clone(),
        machine: origin.machine.clone(),
        cpu: origin.cpu.clone(),
        kernel: origin.kernel.clone(),
        started_ms: origin.started_ms,
        limited_by: "–".to_owned(),
        figures,
        ..Entry::default()
    }
}
