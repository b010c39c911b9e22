//! Several runs of one plan as one result: means, their intervals, and whether these allow a conclusion.
//!
//! Owns the grouping and selection of runs. [`measure::statistics`] has the arithmetic, [`Metric`] the figures,
//! [`format`](crate::format) and [`record`](crate::record) the layouts.

use measure::Ending;
use measure::statistics::{Interval, Mean};

use crate::slo::{Observation, Slo, SloResult};
use crate::{Cause, CountUnit, Disturbance, Figures, Metric, Repeat, Summary, escape};

/// The runs of one plan.
#[derive(Debug, Clone)]
pub struct Repeats {
    /// The plan's name, unescaped.
    pub name: String,
    /// Unit of rates and CPU times.
    pub unit: CountUnit,
    /// Requested number of runs.
    pub planned: u32,
    /// Figures of the runs that ended as planned. Others are left out of every mean.
    pub figures: Vec<Figures>,
    /// Disturbances by other programs or the hypervisor that decided some runs.
    pub disturbed: Vec<Cause>,
    /// Evidence of the runs for their targets.
    seen: Vec<(Slo, Observation)>,
    /// The number of the latest run.
    last: u32,
}

/// Metrics whose spread decides whether conclusions are possible; extremes vary by nature.
const WEIGHED: [Metric; 6] =
    [Metric::Throughput, Metric::P50, Metric::P90, Metric::P95, Metric::P99, Metric::P99_9];

impl Repeats {
    /// The plan's name, safe for a terminal.
    pub fn title(&self) -> String {
        escape(&self.name)
    }

    /// Returns the number of runs in the means.
    pub fn count(&self) -> usize {
        self.figures.len()
    }

    /// Returns the number of runs carried out, whatever their end.
    pub(crate) fn carried_out(&self) -> usize {
        self.last as usize
    }

    /// `5 repeats`, or `3 of 5 repeats`.
    pub fn counted(&self) -> String {
        match (self.count(), self.planned) {
            (count, planned) if count == planned as usize => format!("{planned} repeats"),
            (count, planned) => format!("{count} of {planned} repeats"),
        }
    }

    /// Mean of a metric over the runs; `None` if one of them lacks it. No figure is negative, so neither is
    /// any interval.
    pub fn mean(&self, metric: Metric) -> Option<Mean> {
        let values: Option<Vec<f64>> = self.figures.iter().map(|f| f.get(metric)).collect();
        let mean = Mean::from_values(&values?)?;
        let possible =
            mean.interval.map(|Interval { low, high }| Interval { low: low.max(0.0), high });
        Some(Mean { interval: possible, ..mean })
    }

    /// Returns the joint result of their target; `None` without one.
    pub fn target(&self) -> Option<SloResult> {
        let (slo, _) = self.seen.first()?;
        let trials: Vec<Observation> = self.seen.iter().map(|(_, seen)| seen.clone()).collect();
        Some(SloResult::of_trials(slo, &trials))
    }

    /// Returns the reason why no conclusion is possible, with advice, in a sentence; `None` if one is.
    pub fn too_wide(&self) -> Option<String> {
        if let Some(cause) = self.disturbed.first() {
            return Some(format!(
                "do not draw conclusions: {} in {} of {} repeats",
                cause.describe(),
                self.disturbed.len(),
                self.count()
            ));
        }
        if self.count() < 2 {
            return Some(format!(
                "too few to draw conclusions: {} has no spread",
                if self.count() == 1 { "one run" } else { "nothing" }
            ));
        }
        let wide = WEIGHED.iter().filter_map(|metric| {
            let mean = self.mean(*metric).filter(Mean::too_wide)?;
            let name = self.unit.label(*metric).trim_end_matches(" (ms)");
            Some(format!("{name} {}", plus_minus(&mean)))
        });
        let wide: Vec<String> = wide.collect();
        (!wide.is_empty()).then(|| {
            format!("too wide to draw conclusions: {}; use more or longer repeats", wide.join(", "))
        })
    }
}

/// Half the interval as a share of the mean, such as `+- 1.2 %`.
pub(crate) fn plus_minus(mean: &Mean) -> String {
    match mean.spread() {
        Some(spread) if spread >= 1.0 => "± over 100 %".to_owned(),
        Some(spread) if spread.is_finite() => format!("± {:.1} %", spread * 100.0),
        _ => "± ?".to_owned(),
    }
}

/// Figures of a run that ended as planned, and the disturbance that decided it, if any.
#[derive(Debug, Clone)]
pub(crate) struct CountedRun {
    figures: Figures,
    unit: CountUnit,
    disturbed: Option<Cause>,
    /// The target, and the run's evidence for it.
    target: Option<(Slo, Observation)>,
}

/// Returns the figures of a run that counts.
pub(crate) fn counted(summary: &Summary<'_>) -> Option<CountedRun> {
    let run = summary.run;
    if run.measurement.ending != Ending::Complete {
        return None;
    }
    let disturbed =
        Disturbance::from_run(run).filter(|found| found.cause.by_others()).map(|found| found.cause);
    let target = run.slo.as_ref().map(|slo| (slo.clone(), Observation::new(slo, run)));
    let figures = Figures::from_summary(summary);
    Some(CountedRun { figures, unit: CountUnit::from_plan(&run.plan), disturbed, target })
}

/// Collects runs in order of arrival, and returns each group when its last run is there. Runs of several
/// groups may alternate.
#[derive(Debug, Default)]
pub struct RepeatCollector {
    open: Vec<Repeats>,
}

impl RepeatCollector {
    /// Takes a run, and returns its group if that is now complete.
    pub fn add(&mut self, summary: &Summary<'_>) -> Option<Repeats> {
        let run = summary.run;
        self.add_figures(&run.plan.name, run.repeat, counted(summary))
    }

    /// Adds a run by its figures alone, which are `None` if it did not end as planned.
    pub(crate) fn add_figures(
        &mut self,
        name: &str,
        repeat: Option<Repeat>,
        counted: Option<CountedRun>,
    ) -> Option<Repeats> {
        let Repeat { number, of } = repeat?;
        let open = self.open.iter().position(|open| {
            open.name == name && open.planned == of && open.last.checked_add(1) == Some(number)
        });
        let at = open.unwrap_or_else(|| {
            self.open.push(Repeats {
                name: name.to_owned(),
                unit: counted.as_ref().map(|counted| counted.unit).unwrap_or_default(),
                planned: of,
                figures: Vec::new(),
                disturbed: Vec::new(),
                seen: Vec::new(),
                last: number,
            });
            self.open.len() - 1
        });
        let group = &mut self.open[at];
        group.last = number;
        if let Some(CountedRun { figures, disturbed, target, .. }) = counted {
            group.figures.push(figures);
            group.disturbed.extend(disturbed);
            group.seen.extend(target);
        }
        (number == of).then(|| self.open.remove(at))
    }

    /// Returns the incomplete groups, as no more runs will come.
    pub fn end(&mut self) -> Vec<Repeats> {
        std::mem::take(&mut self.open)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Run, fixture};

    /// `of` runs, each a little slower than the one before.
    pub(crate) fn runs(of: u32) -> Vec<Run> {
        let runs = (1..=of).map(|number| {
            let mut run = fixture::complete();
            run.measurement.elapsed_ns += u64::from(number) * 100_000;
            run.repeat = Some(Repeat { number, of });
            run
        });
        runs.collect()
    }

    #[test]
    fn a_group_is_whole_with_its_last_run() {
        let mut gathering = RepeatCollector::default();
        let groups: Vec<_> =
            runs(3).iter().map(|run| gathering.add(&Summary::from_run(run))).collect();
        assert!(groups[0].is_none() && groups[1].is_none());
        let group = groups[2].as_ref().unwrap();
        assert_eq!((group.count(), group.counted().as_str()), (3, "3 repeats"));
        let mean = group.mean(Metric::Throughput).unwrap();
        assert!(mean.interval.unwrap().holds(2000.0 / 0.0262) && !mean.too_wide());
        assert_eq!(group.mean(Metric::ClientCpu), None);
        assert_eq!(group.too_wide(), None);
        assert!(gathering.end().is_empty());
    }

    #[test]
    fn no_interval_leaves_what_a_figure_can_be() {
        let mut runs = runs(3);
        runs[0].measurement.elapsed_ns /= 40;
        let mut gathering = RepeatCollector::default();
        let group =
            runs.iter().filter_map(|run| gathering.add(&Summary::from_run(run))).last().unwrap();
        let mean = group.mean(Metric::Throughput).unwrap();
        assert_eq!(mean.interval.unwrap().low, 0.0);
        assert!(mean.interval.unwrap().holds(mean.mean) && mean.too_wide());
        assert_eq!(plus_minus(&mean), "± over 100 %");
    }

    #[test]
    fn what_was_broken_off_counts_in_no_mean() {
        let mut runs = runs(4);
        runs[2].measurement.ending = Ending::Interrupted;
        let mut gathering = RepeatCollector::default();
        assert!(runs[..3].iter().all(|run| gathering.add(&Summary::from_run(run)).is_none()));
        let group = gathering.end().remove(0);
        assert_eq!(group.counted(), "2 of 4 repeats");
        let mut gathering = RepeatCollector::default();
        gathering.add(&Summary::from_run(&runs[0]));
        assert!(gathering.end()[0].too_wide().unwrap().contains("one run"));
    }

    #[test]
    fn tests_may_take_turns_and_other_numbers_begin_another_group() {
        let of_set = runs(3);
        let of_get = runs(3).into_iter().map(|mut run| {
            let mut parts = (*run.plan).clone();
            parts.name = "GET".into();
            run.plan = parts.build().unwrap();
            run
        });
        let turns: Vec<Run> =
            of_set.clone().into_iter().zip(of_get).flat_map(|(a, b)| [a, b]).collect();
        let mut gathering = RepeatCollector::default();
        let whole: Vec<_> =
            turns.iter().filter_map(|run| gathering.add(&Summary::from_run(run))).collect();
        let counts: Vec<_> = whole.iter().map(|r| (r.name.as_str(), r.count())).collect();
        assert_eq!(counts, [("SET", 3), ("GET", 3)]);
        gathering.add(&Summary::from_run(&of_set[0]));
        assert_eq!(gathering.add(&Summary::from_run(&of_set[2])).unwrap().count(), 1);
        assert!(gathering.add(&Summary::from_run(&fixture::errors())).is_none());
        assert_eq!(gathering.end().len(), 1);
    }

    #[test]
    fn a_wide_spread_is_reported_with_what_to_do() {
        let mut runs = runs(3);
        runs[1].measurement.elapsed_ns *= 2;
        let mut gathering = RepeatCollector::default();
        let group = runs.iter().find_map(|run| gathering.add(&Summary::from_run(run))).unwrap();
        let text = group.too_wide().unwrap();
        assert!(text.starts_with("too wide to draw conclusions: requests/s ± "), "{text}");
        assert!(!text.contains("p50") && text.contains("more or longer"), "{text}");
    }
}
