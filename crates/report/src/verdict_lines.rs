//! Verdicts and warnings for layouts without room for them: printed beside them after all tests, without
//! repetition.

use crate::{Finding, LimitedBy, Summary, TextGroups, WarningTopic, escape};

/// Gathers the lines.
#[derive(Debug, Clone, Default)]
pub struct VerdictLines {
    verdicts: TextGroups<(LimitedBy, Option<Finding>)>,
    /// Results of targets.
    targets: Vec<String>,
    warnings: TextGroups<WarningTopic>,
}

impl VerdictLines {
    /// Adds a test.
    pub fn add(&mut self, summary: &Summary<'_>) {
        let title = &summary.title;
        let target = summary.target();
        self.targets.extend(target.map(|of| format!("{title}: target {}", of.sentence())));
        let verdict = &summary.run.verdict;
        let line = format!("{title}: {}", escape(verdict.line()));
        self.verdicts.add((verdict.limited_by, verdict.finding), &line);
        for warning in &summary.run.warnings {
            let line = format!("{title}: warning: {}", escape(&warning.text));
            self.warnings.add(warning.topic(), &line);
        }
    }

    /// Returns the collected lines, safe for a terminal, and forgets them.
    pub fn lines(&mut self) -> Vec<String> {
        let Self { verdicts, targets, warnings } = std::mem::take(self);
        let line = |(line, tests): (&str, usize)| match tests - 1 {
            0 => line.to_owned(),
            1 => format!("{line} (similar in 1 more test)"),
            more => format!("{line} (similar in {more} more tests)"),
        };
        let found = verdicts.iter().chain(warnings.iter()).map(line);
        targets.into_iter().chain(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Warning, WarningKind, fixture};

    #[test]
    fn what_differs_in_figures_only_is_stated_once() {
        let mut aside = VerdictLines::default();
        let (complete, mut limited) = (fixture::complete(), fixture::limited());
        limited.warnings = vec![Warning::about(WarningKind::Machine, "load", "load: 2.5 tasks")];
        let mut like = limited.clone();
        like.warnings[0].text = "load: 3 tasks, and more words".to_owned();
        like.verdict.text = like.verdict.text.replace("99 %", "97 %");
        for run in [&complete, &limited, &like] {
            aside.add(&Summary::from_run(run));
        }
        let lines = aside.lines();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("SET: limited by: unknown"), "{lines:?}");
        assert!(lines[1].starts_with("SET: limited by: server: main thread 99 %"), "{lines:?}");
        assert!(lines[1].ends_with(" (similar in 1 more test)"), "{lines:?}");
        assert_eq!(lines[2], "SET: warning: load: 2.5 tasks (similar in 1 more test)");
        assert!(aside.lines().is_empty());
    }
}
