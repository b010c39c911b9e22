//! The cost of crashes as a table, a chart and a page.

use measure::statistics::{Interval, Share};
use report::compare::GateState;
use report::grouped;
use report::page::{
    Axis as ChartAxis, Block, Chart, Column, DataPoint, Page, Section, Table, Unit, Verdict,
};
use serde_json::Value;
use workload::quantity::{counted, noun};

use super::{again, capital, incomplete, or_dash, warnings};
use crate::Findings;
use crate::csv::Csv;
use crate::durability::{Crash, Durability, SettingResult, greatest_share};

/// Explanation of the method, for people.
const METHOD: &str = "Lost: writes that the server had acknowledged and that are not there after the crash. RPO: age of \
    the oldest of them when the server crashed. RTO: time from the last successful write to the next. The rate and p99 \
    are those of a run without a crash. A write without a reply may be there or not; both are right.";

/// Figures of a crash in CSV, by their names in the document.
const FIGURES: [&str; 10] = [
    "at_s",
    "acknowledged",
    "lost",
    "rpo_s",
    "rto_s",
    "unacknowledged",
    "doubled",
    "out_of_order",
    "damaged",
    "read_and_gone",
];

/// A count of a crash.
type Count = fn(&Crash) -> u64;

/// Counts of a crash that no server should have.
const FAULTS: [(&str, Count); 4] = [
    ("doubled", |crash| crash.doubled),
    ("out of order", |crash| crash.out_of_order),
    ("damaged", |crash| crash.damaged),
    ("read before they were lost", |crash| crash.read_and_gone),
];

impl Durability {
    /// The table of settings.
    fn table(&self) -> Table {
        let rpo_s = |setting: &SettingResult| setting.worst()?.rpo_s;
        let columns: [Column<'_, &SettingResult>; 9] = [
            ("setting", &|of| of.name.clone()),
            ("crashes", &|of| of.crashes.len().to_string()),
            ("acknowledged", &|of| grouped(of.acknowledged() as f64)),
            ("lost", &|of| grouped(of.lost() as f64)),
            ("with a loss", &|of| lossy(of)),
            ("RPO", &|of| or_dash(rpo_s(of).map(span))),
            ("RTO", &|of| match of.longest_outage_s() {
                None if !of.crashes.is_empty() => "no recovery".to_owned(),
                outage_s => or_dash(outage_s.map(span)),
            }),
            ("writes/s", &|of| or_dash(of.throughput_rps.map(grouped))),
            ("p99 (ms)", &|of| or_dash(of.p99_ms.map(|ms| format!("{ms:.3}")))),
        ];
        Table::of(&columns, &self.settings)
    }

    /// Lines about settings that could not be measured, and about faults.
    fn notes(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for setting in &self.settings {
            if let Some(why) = &setting.failure {
                lines.push(format!("{}: {why}", setting.name));
            }
            for (name, count) in FAULTS {
                let sum: u64 = setting.crashes.iter().map(count).sum();
                if sum > 0 {
                    let writes = format!("{} {}", grouped(sum as f64), noun(sum, "write"));
                    lines.push(format!("{}: {writes} {name}", setting.name));
                }
            }
        }
        lines
    }

    /// The answer in a sentence.
    fn sentence(&self) -> Option<String> {
        let measured = || self.settings.iter().filter(|setting| !setting.crashes.is_empty());
        let calm_ms = measured().find_map(|setting| setting.p99_ms);
        let parts: Vec<String> = measured()
            .map(|setting| {
                let dearer = setting.p99_ms.zip(calm_ms).map(|(own, first)| own - first);
                let dearer = dearer.filter(|ms| *ms >= 0.05);
                let cost = dearer.map_or(String::new(), |ms| format!(", p99 +{ms:.1} ms"));
                format!("{}: {}{cost}", setting.name, losses(setting))
            })
            .collect();
        let crashes = measured().map(|setting| setting.crashes.len()).max()?;
        let crashes = format!("{crashes} {}", if crashes == 1 { "crash" } else { "crashes" });
        let each = if parts.len() > 1 { " of each setting" } else { "" };
        Some(format!("{}, {crashes}{each}. {}.", capital(&self.crash), parts.join("; ")))
    }

    /// Draws the writes that one crash lost at most, by setting.
    fn chart(&self) -> Option<Chart> {
        let names: Vec<&str> = self.settings.iter().map(|setting| setting.name.as_str()).collect();
        let axis = ChartAxis::linear("seconds of acknowledged writes lost", Unit::Seconds);
        let points = self.settings.iter().enumerate().map(|(at, setting)| {
            let worst = setting.worst();
            let note = worst.map_or("none lost".to_owned(), |crash| counted(crash.lost, "write"));
            let rpo_s = worst.and_then(|crash| crash.rpo_s).unwrap_or(0.0);
            DataPoint::at(at as f64, rpo_s).noted(note)
        });
        let chart = Chart::bars("Oldest lost write of any crash", names, axis);
        self.has_lost().then(|| chart.with(self.crash.clone(), points))
    }

    fn has_lost(&self) -> bool {
        self.settings.iter().any(|setting| setting.lost() > 0)
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let missed = self.missed();
        let gate = (!self.targets.is_empty()).then(|| {
            if missed.is_empty() {
                let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
                GateState::Passed.verdict(format!("Every setting keeps {}.", targets.join(", ")))
            } else {
                GateState::Failed.verdict(format!("{}.", missed.join("; ")))
            }
        });
        let headline = if self.has_lost() {
            "Acknowledged writes were lost"
        } else {
            "No acknowledged write was lost"
        };
        let answer = self.sentence().map(|text| Verdict::new(headline, text));
        gate.into_iter().chain(answer).collect()
    }
}

/// Losses by the crashes of a setting, in words.
fn losses(setting: &SettingResult) -> String {
    let writes = setting.acknowledged();
    match setting.worst() {
        Some(worst) => format!(
            "up to {} of acknowledged writes lost ({})",
            span(worst.rpo_s.unwrap_or(0.0)),
            grouped(setting.crashes.iter().map(|crash| crash.lost).max().unwrap_or(0) as f64)
        ),
        None => format!(
            "none of {} lost (at most {}, 95 %)",
            grouped(writes as f64),
            percent(greatest_share(writes))
        ),
    }
}

/// The crashes of a setting that lost a write, with the interval of their share.
fn lossy(setting: &SettingResult) -> String {
    let (lossy, all) = (setting.lossy(), setting.crashes.len());
    let share = Share { share: lossy as f64 / all.max(1) as f64, effective: all as f64 };
    let Interval { low, high } = share.interval();
    let interval = format!(" ({:.0} to {:.0} %)", low * 100.0, high * 100.0);
    format!("{lossy} of {all}{}", if all > 1 { interval } else { String::new() })
}

/// A length of time in words.
fn span(seconds: f64) -> String {
    match seconds {
        // Times of acknowledgements are a millisecond late at most.
        short if short < 0.001 => "under 1 ms".to_owned(),
        short if short < 0.1 => format!("{:.1} ms", short * 1e3),
        long => format!("{long:.2} s"),
    }
}

/// A share below one in percent, with two digits that count.
fn percent(share: f64) -> String {
    let percent = share.min(1.0) * 100.0;
    let digits = (1.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{percent:.digits$} %")
}

impl Findings for Durability {
    fn is_empty(&self) -> bool {
        self.settings.iter().all(|setting| setting.crashes.is_empty() && setting.failure.is_none())
    }

    fn set_complete(&mut self) {
        self.complete = true;
    }

    /// A row for each crash.
    fn to_csv(&self) -> String {
        let mut table = Csv::new(&[&["setting"], &FIGURES[..]].concat());
        for setting in &self.settings {
            for crash in &setting.crashes {
                let crash = serde_json::to_value(crash).unwrap_or_default();
                let cells = FIGURES.iter().map(|name| match &crash[*name] {
                    Value::Null => String::new(),
                    value => value.to_string(),
                });
                table.write([setting.name.clone()].into_iter().chain(cells));
            }
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        if !quiet {
            blocks.push(Block::Text(METHOD.to_owned()));
        }
        blocks.extend(self.verdicts().into_iter().map(Block::Verdict));
        blocks
    }

    fn remarks(&self) -> Vec<String> {
        self.notes()
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete);
        lede.extend(self.verdicts());
        let mut blocks: Vec<Block> = self.chart().map(Block::Chart).into_iter().collect();
        blocks.extend([Block::Table(self.table()), Block::Text(METHOD.to_owned())]);
        blocks.extend(warnings(self.notes()));
        let settings = self.settings.iter().map(|of| (of.name.clone(), of.about.clone()));
        Page {
            title: format!("What a crash costs on {}", self.server),
            versions: vec![self.server.clone()],
            lede,
            sections: vec![
                Section::new(capital(&self.crash), blocks),
                Section::new("Settings", [Block::pairs(settings)]),
                again(command_line),
            ],
            ..Page::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::{CrashKind, SCHEMA, Target};
    use crate::origin::Origin;

    fn durability() -> Durability {
        let targets = Target::parse("lost<1").unwrap();
        let mut found = Durability {
            schema: SCHEMA.to_owned(),
            complete: false,
            origin: Origin::default(),
            server: "redis 7.0.15".to_owned(),
            target: "redis-server".to_owned(),
            load: String::new(),
            options: Vec::new(),
            crash: CrashKind::Power.phrase(),
            planned: 2,
            settings: Vec::new(),
            targets,
        };
        let crash = |lost, rpo_s| Crash {
            acknowledged: 1_050_000,
            lost,
            rpo_s,
            rto_s: Some(0.3),
            ..Crash::default()
        };
        let setting = |name: &str, p99_ms, crashes: [Crash; 2]| SettingResult {
            name: name.to_owned(),
            p99_ms: Some(p99_ms),
            throughput_rps: Some(90_000.0),
            crashes: crashes.into(),
            ..SettingResult::default()
        };
        let lossy = [crash(27_472, Some(0.46)), crash(9_872, Some(0.2))];
        found.settings.push(setting("everysec", 1.0, lossy));
        found.settings.push(setting("always", 3.3, [crash(0, None); 2]));
        found
    }

    #[test]
    fn the_answer_is_a_sentence_that_can_be_quoted() {
        let text = durability().sentence().unwrap();
        assert_eq!(
            text,
            "Loss of power, 2 crashes of each setting. everysec: up to 0.46 s of acknowledged writes lost (27,472); \
             always: none of 2,100,000 lost (at most 0.00014 %, 95 %), p99 +2.3 ms."
        );
        let gate = &durability().verdicts()[0];
        assert_eq!(gate.headline, "Gate failed");
        assert!(
            gate.text.contains("everysec: 27,472 acknowledged writes lost by one crash (lost<1)"),
            "{}",
            gate.text
        );
    }

    #[test]
    fn faults_are_named_with_their_setting() {
        let mut found = durability();
        found.settings[1].crashes[0].doubled = 1;
        found.settings[1].crashes[1].read_and_gone = 2;
        let notes = found.notes();
        assert_eq!(
            notes,
            ["always: 1 write doubled", "always: 2 writes read before they were lost"]
        );
        let csv = found.to_csv();
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows.len(), 5);
        assert!(
            rows[0].starts_with("\"setting\",\"at_s\"") && rows[0].ends_with("\"read_and_gone\"")
        );
        let first = "\"everysec\",\"0.0\",\"1050000\",\"27472\",\"0.46\",\"0.3\"";
        assert!(rows[1].starts_with(first), "{}", rows[1]);
        assert!(
            rows[3].contains("\"0\",\"\",\"0.3\""),
            "no age where nothing was lost: {}",
            rows[3]
        );
        let again: Durability = serde_json::from_str(&found.to_json().unwrap()).unwrap();
        assert_eq!(again, found);
    }
}
