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
    /// For each kind of verdict and of warning, the first test that had it, in the order of
    /// [`TextGroups::iter`].
    titles: [Vec<String>; 2],
}

impl VerdictLines {
    /// Adds a test.
    pub fn add(&mut self, summary: &Summary<'_>) {
        let Self { verdicts, targets, warnings, titles: [of_verdicts, of_warnings] } = self;
        let target = summary.target();
        targets.extend(target.map(|of| format!("{}: target {}", summary.title, of.sentence())));
        let title = || summary.title.clone();
        let verdict = &summary.run.verdict;
        let key = (verdict.limited_by, verdict.finding);
        of_verdicts.extend(verdicts.add(key, &verdict.line()).then(title));
        for warning in &summary.run.warnings {
            of_warnings.extend(warnings.add_warning(warning).then(title));
        }
    }

    /// Returns the collected lines, safe for a terminal, and forgets them.
    pub fn lines(&mut self) -> Vec<String> {
        let Self { verdicts, targets, warnings, titles: [of_verdicts, of_warnings] } =
            std::mem::take(self);
        let line = |what: &'static str| {
            move |(title, (text, tests)): (String, (&str, usize))| {
                let like = match tests - 1 {
                    0 => String::new(),
                    1 => " (similar in 1 more test)".to_owned(),
                    more => format!(" (similar in {more} more tests)"),
                };
                format!("{title}: {what}{}{like}", escape(text))
            }
        };
        let limited = of_verdicts.into_iter().zip(verdicts.iter()).map(line(""));
        let limited = targets.into_iter().chain(limited);
        limited.chain(of_warnings.into_iter().zip(warnings.iter()).map(line("warning: "))).collect()
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
