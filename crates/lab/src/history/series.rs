//! Entries that belong together: one load on one server from one machine, over time.

use measure::statistics::{LevelStep, steps};
use report::{KEPT, Metric};

use crate::history::Entry;

/// The property that entries of a series share, in addition to load and server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The name of the machine that generated the load.
    #[default]
    Machine,
    /// The model of its processor, independent of the machine's name: for CI runners with a new name each
    /// time.
    Processor,
}

/// Entries of one load on one server from one machine, in order of time.
#[derive(Debug, Clone)]
pub struct Series {
    /// Unique name among all series.
    pub name: String,
    /// The machine, or its processor.
    pub machine: String,
    /// Entries of the series; never empty.
    pub entries: Vec<Entry>,
}

/// The series of entries that are sorted by time, in the order of their first entries.
pub fn series(entries: &[Entry], grouping: Grouping) -> Vec<Series> {
    let machine = |entry: &Entry| match grouping {
        Grouping::Machine => entry.machine.clone(),
        Grouping::Processor => entry.cpu.clone(),
    };
    let mut all: Vec<Series> = Vec::new();
    for entry in entries {
        let same = all.iter_mut().find(|series| {
            let first = &series.entries[0];
            (&first.test, &first.load, &first.target) == (&entry.test, &entry.load, &entry.target)
                && series.machine == machine(entry)
        });
        match same {
            Some(series) => series.entries.push(entry.clone()),
            None => all.push(Series {
                name: entry.test.clone(),
                machine: machine(entry),
                entries: vec![entry.clone()],
            }),
        }
    }
    name(&mut all);
    all
}

/// Gives each series of one test a name that shows how it differs from the others.
fn name(all: &mut [Series]) {
    let names: Vec<String> = all
        .iter()
        .map(|series| {
            let alike = all.iter().filter(|other| other.entries[0].test == series.entries[0].test);
            let others: Vec<&Series> = alike.collect();
            let differs =
                |of: &dyn Fn(&Series) -> String| others.iter().any(|o| of(o) != of(series));
            let first = &series.entries[0];
            let mut parts = differing_options(series, &others);
            if differs(&|of| of.entries[0].target.clone()) {
                parts.push(first.target.clone());
            }
            if differs(&|of| of.machine.clone()) {
                parts.push(format!(
                    "from {}",
                    if series.machine.is_empty() {
                        "a machine without a name"
                    } else {
                        &series.machine
                    }
                ));
            }
            let parts = parts.join(", ");
            if parts.is_empty() { first.test.clone() } else { format!("{} ({parts})", first.test) }
        })
        .collect();
    for (at, name) in names.iter().enumerate() {
        let before = names[..at].iter().filter(|other| *other == name).count();
        all[at].name = if before == 0 { name.clone() } else { format!("{name} #{}", before + 1) };
    }
}

/// The options of a series that differ from those of another one.
fn differing_options(series: &Series, others: &[&Series]) -> Vec<String> {
    let value = |of: &Series, option: &str| {
        of.entries[0].options.iter().find(|(known, _)| known == option).map(|(_, v)| v.clone())
    };
    let options = &series.entries[0].options;
    let differing = options.iter().filter(|(option, own)| {
        others.iter().any(|other| value(other, option).as_ref() != Some(own))
    });
    differing
        .map(|(option, value)| match value.as_str() {
            "given" => option.clone(),
            value => format!("{option} {value}"),
        })
        .collect()
}

impl Series {
    /// The latest entry.
    pub fn newest(&self) -> &Entry {
        &self.entries[self.entries.len() - 1]
    }

    /// The indices and values of the entries that count for a figure: complete ones that have it and, unless
    /// `disturbed` is set, in which the client did its work.
    pub fn values(&self, metric: Metric, disturbed: bool) -> (Vec<usize>, Vec<f64>) {
        let all = self.entries.iter().enumerate().filter(|(_, entry)| entry.counts(disturbed));
        all.filter_map(|(at, entry)| Some((at, entry.figure(metric)?.mean))).unzip()
    }

    /// The steps of a figure over the whole series, with indices into its entries.
    pub fn steps(&self, metric: Metric, disturbed: bool) -> Vec<LevelStep> {
        let (places, values) = self.values(metric, disturbed);
        let place = |at: usize| places.get(at).copied().unwrap_or(at);
        // Those that a gate watches are looked at as a gate does.
        let watched = report::compare::WATCHED;
        let figures = if watched.contains(&metric) { watched.len() } else { KEPT.len() };
        let found = steps(&values, figures).into_iter();
        found
            .map(|step| LevelStep {
                at: place(step.at),
                range: (place(step.range.0), place(step.range.1)),
                ..step
            })
            .collect()
    }

    /// Returns the differences between two neighbouring entries other than figures, such as the server's
    /// version.
    pub fn changes(&self, at: usize) -> Vec<String> {
        let Some((before, now)) =
            at.checked_sub(1).and_then(|b| self.entries.get(b).zip(self.entries.get(at)))
        else {
            return Vec::new();
        };
        let pairs = [
            ("server", &before.server, &now.server),
            ("keystorm", &before.client, &now.client),
            ("machine", &before.machine, &now.machine),
            ("processor", &before.cpu, &now.cpu),
            ("kernel", &before.kernel, &now.kernel),
        ];
        let changed = pairs.into_iter().filter(|(_, before, now)| before != now);
        changed.map(|(what, before, now)| format!("{what}: {before} → {now}")).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::history::Figure;

    /// An entry of a `GET` at this time with this throughput.
    pub(crate) fn entry(started_ms: u64, rate: f64) -> Entry {
        Entry {
            file: format!("{started_ms}.json"),
            test: "GET".into(),
            load: "a".into(),
            options: vec![("-P".into(), "1".into())],
            target: "valkey-server".into(),
            server: "valkey 8.1.8".into(),
            client: "0.1.0".into(),
            machine: "vm".into(),
            cpu: "Xeon".into(),
            kernel: "6.1".into(),
            started_ms,
            runs: 3,
            complete: true,
            disturbed: None,
            noise: 0.0,
            failed: 0.0,
            limited_by: "server".into(),
            figures: vec![Figure {
                metric: Metric::Throughput.name().into(),
                mean: rate,
                interval: None,
                without_noise: rate,
            }],
        }
    }

    #[test]
    fn entries_of_one_load_server_and_machine_are_a_series() {
        let mut all: Vec<Entry> = (0..6).map(|n| entry(n, 100.0)).collect();
        (all[1].load, all[1].options[0].1) = ("b".into(), "16".into());
        all[2].target = "redis-server".into();
        all[3].machine = "other".into();
        all[4].server = "valkey 9.0.0".into();
        let found = series(&all, Grouping::Machine);
        let names: Vec<(&str, usize)> =
            found.iter().map(|s| (s.name.as_str(), s.entries.len())).collect();
        let expected = [
            ("GET (-P 1, valkey-server, from vm)", 3),
            ("GET (-P 16, valkey-server, from vm)", 1),
            ("GET (-P 1, redis-server, from vm)", 1),
            ("GET (-P 1, valkey-server, from other)", 1),
        ];
        assert_eq!(names, expected);
        assert_eq!(found[0].changes(1), ["server: valkey 8.1.8 → valkey 9.0.0"]);
        assert_eq!(series(&all, Grouping::Processor).len(), 3);
    }

    #[test]
    fn runs_that_do_not_count_are_passed_over_and_steps_keep_their_numbers() {
        let mut all: Vec<Entry> = (0..40)
            .map(|n| {
                let level = if n < 20 { 100.0 } else { 90.0 };
                entry(n, level * (1.0 + 0.002 * ((n * 7 % 5) as f64)))
            })
            .collect();
        all[3].complete = false;
        all[4].disturbed = Some("others".into());
        let series = &series(&all, Grouping::Machine)[0];
        assert_eq!(series.values(Metric::Throughput, false).0.len(), 38);
        assert_eq!(series.values(Metric::Throughput, true).0.len(), 39);
        let steps = series.steps(Metric::Throughput, false);
        assert_eq!(steps.iter().map(|step| step.at).collect::<Vec<_>>(), [20]);
    }
}
