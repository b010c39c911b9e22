//! How many more runs it takes until the newest level is known to so much of the level before.

use report::compare::called;

use crate::judgement::{FigureJudgement, Finding, Judgement};

/// For each figure how well it is known beside those before it, and how many runs more make it known within `share`.
/// Whether all are known so well.
#[must_use]
pub fn more_runs(all: &[Judgement], share: f64) -> (Vec<String>, bool) {
    let mut is_sure = !all.is_empty();
    let mut lines = Vec::new();
    for judgement in all {
        is_sure &= !judgement.figures.is_empty();
        for figure in &judgement.figures {
            let (text, known) = of_figure(figure, share);
            is_sure &= known;
            lines.push(format!("{} of {}: {text}.", called(figure.metric), judgement.name));
        }
    }
    (lines, is_sure)
}

fn of_figure(figure: &FigureJudgement, share: f64) -> (String, bool) {
    let percent = |share: f64| format!("±{:.1} %", share * 100.0);
    let wanted = percent(share);
    // After a step there are two levels; else the newest run alone is the new one.
    let (half, needed, there) = match figure.finding {
        Finding::Step { ratio, runs, .. } => {
            let needed = ratio.count_within(share);
            (ratio.half_width(), needed, runs[0].min(runs[1]))
        }
        _ => (None, figure.forecast.and_then(|of| of.count_within(share)), 1),
    };
    if half.is_some_and(|half| half <= share) || needed.is_some_and(|needed| needed <= there) {
        return (format!("its change is known to {wanted}"), true);
    }
    let known =
        half.map_or(String::new(), |half| format!("its change is known to {}; ", percent(half)));
    let text = match (needed, figure.forecast) {
        (Some(needed), _) => {
            let more = workload::quantity::counted((needed - there) as u64, "more run");
            format!("{known}{wanted} needs about {more} of the newest")
        }
        (None, Some(_)) => {
            format!(
                "{known}no number of runs makes it {wanted}, since those before it are too few for that"
            )
        }
        (None, None) => {
            format!("{known}there are too few runs before it to tell what {wanted} needs")
        }
    };
    (text, false)
}

#[cfg(test)]
mod tests {
    use statistics::Noise;

    use super::*;
    use crate::judgement::{Terms, judge};
    use crate::series::tests::entry;
    use crate::{Grouping, series};

    fn judged(count: usize) -> Vec<Judgement> {
        let mut noise = Noise::new(11);
        let entries: Vec<_> = (0..count as u64)
            .map(|at| entry(at, 50_000.0 * (0.02 * noise.normal()).exp()))
            .collect();
        let terms = Terms { last: 60, percent: None, disturbed: false };
        judge(&series(&entries, Grouping::Machine), &|_| true, terms)
    }

    #[test]
    fn it_is_said_how_many_runs_more_it_takes() {
        let (lines, is_sure) = more_runs(&judged(40), 0.012);
        assert!(!is_sure && lines[0].contains(": ±1.2 % needs about "), "{lines:?}");
        assert!(lines[0].ends_with(" of the newest."), "{lines:?}");
        let (lines, is_sure) = more_runs(&judged(40), 0.2);
        assert!(is_sure && lines[0].ends_with("its change is known to ±20.0 %."), "{lines:?}");
        let (lines, _) = more_runs(&judged(40), 0.001);
        assert!(lines[0].contains("no number of runs makes it ±0.1 %"), "{lines:?}");
        let (lines, _) = more_runs(&judged(2), 0.02);
        assert!(lines[0].contains("too few runs before it"), "{lines:?}");
        assert!(!more_runs(&[], 0.02).1);
    }
}
