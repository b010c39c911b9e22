//! The measurements of a bisection, in a file from which it resumes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use console::place::Place;
use serde::{Deserialize, Serialize};

/// The name of the layout.
const SCHEMA: &str = "keystorm.bisect/1";

/// The results so far.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    schema: String,
    /// The two commits and the measured figure. A search for anything else cannot resume with these results.
    good: String,
    bad: String,
    load: String,
    metric: String,
    /// For each commit, logarithms of the ratio of its figure to that of the good commit, one for each pair of runs.
    pub(super) measured: BTreeMap<String, Vec<f64>>,
    /// Commits that cannot be measured, with the reason.
    pub(super) skipped: BTreeMap<String, String>,
    /// The commits of the answer, once there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) found: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) probability: Option<f64>,
}

/// The file of a search, and its content.
pub(super) struct ResultFile {
    place: Place,
    pub(super) results: Results,
}

impl ResultFile {
    /// The results of an earlier search for the same change, or empty ones.
    ///
    /// # Errors
    /// Returns an error if the folder belongs to another search, or cannot be written.
    pub(super) fn open(
        state: &Path,
        [good, bad]: [&str; 2],
        (load, metric): (String, &str),
    ) -> Result<Self> {
        let path = state.join("results.json");
        let place = Place::new("--state", &path)?;
        let new = Results {
            schema: SCHEMA.to_owned(),
            good: good.to_owned(),
            bad: bad.to_owned(),
            load,
            metric: metric.to_owned(),
            measured: BTreeMap::new(),
            skipped: BTreeMap::new(),
            found: Vec::new(),
            probability: None,
        };
        let Ok(text) = fs::read(&path) else { return Ok(Self { place, results: new }) };
        let fault = || format!("{}: not a result of a bisection", path.display());
        let before: Results = serde_json::from_slice(&text).with_context(fault)?;
        let of = |results: &Results| {
            let Results { schema, good, bad, load, metric, .. } = results;
            [schema, good, bad, load, metric].map(String::clone)
        };
        if of(&before) != of(&new) {
            bail!(
                "--state {}: it has the results of another search (commits, load or metric differ); name another folder",
                state.display()
            );
        }
        Ok(Self { place, results: before })
    }

    /// Saves the results.
    pub(super) fn save(&self) -> Result<()> {
        self.place.write((report::json::pretty(&self.results)? + "\n").as_bytes())
    }
}
