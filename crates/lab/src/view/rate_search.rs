//! A search as tables, a chart and a page.

use report::page::{
    Block, Chart, Column, DataPoint, Page, Section, Series, Table, Tone, Unit, Verdict,
};

use super::{figure_cells, figure_names, incomplete, limited, warnings};
use crate::csv::Csv;
use crate::rate_search::{Phase, Rate, RateSearch, Trial};
use crate::{Document, Findings, SearchOutcome};
use report::slo::{Judgement, Measure, Outcome};

/// Describes one trial by itself; with too few requests, its measurements.
fn by_itself(Judgement { outcome, why, bounds, .. }: &Judgement) -> String {
    match outcome {
        Outcome::Kept => "yes".to_owned(),
        Outcome::Missed => format!("no: {why}"),
        Outcome::Undecided if bounds.is_empty() => why.clone(),
        Outcome::Undecided => bounds
            .iter()
            .map(|bound| format!("{} {}", bound.clause.measure, bound.clause.describe(bound.value)))
            .collect::<Vec<_>>()
            .join(", "),
        Outcome::Void => format!("void: {why}"),
    }
}

impl RateSearch {
    /// Describes the judgement of a rate from all of its trials, consistent with the result.
    fn kept(&self, Rate { rate_per_s, judgement, .. }: &Rate) -> String {
        let Judgement { outcome, why, bounds, .. } = judgement;
        let below = self.found().passes_per_s.filter(|passes| *passes > *rate_per_s);
        let is_within = bounds.iter().all(|bound| bound.value < bound.clause.below);
        match (outcome, below.map(report::grouped)) {
            (Outcome::Kept, _) => "yes".to_owned(),
            (Outcome::Undecided | Outcome::Void, Some(passes)) if is_within => {
                format!("yes: {passes}/s keep it")
            }
            (_, Some(passes)) => format!("unsteady: {why}, though {passes}/s keep it"),
            (Outcome::Missed, None) if !self.is_confirmed(*rate_per_s) => {
                format!("undecided: one trial missed it: {why}")
            }
            (Outcome::Missed, None) => format!("no: {why}"),
            (Outcome::Undecided, None) => format!("undecided: {why}"),
            (Outcome::Void, None) => format!("void: {why}"),
        }
    }

    /// Every trial of a phase, as a table.
    fn trial_table(&self, phase: Phase) -> Table {
        let mut columns = vec!["rate".to_owned()];
        let knee = self.found().passes_per_s.filter(|_| phase == Phase::Curve);
        columns.extend(knee.map(|_| "of found rate".to_owned()));
        columns.extend(figure_names(self.runs().unit()));
        columns.push(if phase == Phase::Curve { "kept" } else { "kept by itself" }.to_owned());
        let mut table = Table::new(columns);
        for trial in self.trials_of(phase) {
            let Trial { rate_per_s, judgement, figures, .. } = trial;
            let mut cells = vec![report::grouped(*rate_per_s)];
            cells.extend(knee.map(|knee| format!("{:.0} %", rate_per_s / knee * 100.0)));
            cells.extend(figure_cells(figures.throughput_rps, figures));
            let rate = self.rate_of(*rate_per_s).filter(|_| phase == Phase::Curve);
            cells.push(rate.map_or_else(|| by_itself(judgement), |rate| self.kept(rate)));
            table.row(cells);
        }
        table
    }

    /// Builds the table of every tried rate, from the lowest.
    fn rate_table(&self) -> Table {
        let mut rates: Vec<&Rate> = self.rates.iter().collect();
        rates.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let columns: [Column<'_, &Rate>; 4] = [
            ("rate", &|rate| report::grouped(rate.rate_per_s)),
            ("trials", &|rate| rate.trials.len().to_string()),
            ("void", &|rate| rate.void.to_string()),
            ("kept", &|rate| self.kept(rate)),
        ];
        Table::of(&columns, rates)
    }

    /// Latency against rate.
    pub fn chart(&self) -> Chart {
        let line = |name: &str, value: fn(&Trial) -> f64| {
            let points = self.trials_of(Phase::Curve).map(|trial| {
                let note = match trial.judgement.outcome {
                    Outcome::Void => format!("void: {}", trial.judgement.why),
                    _ => limited(&trial.figures),
                };
                DataPoint::at(trial.rate_per_s, value(trial)).noted(note)
            });
            let mut points: Vec<DataPoint> = points.collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series::new(name, points)
        };
        let bounded = self.slo.latency();
        let mut series = vec![
            line("p50", |t| t.figures.p50_ns as f64),
            line("p99", |t| t.figures.p99_ns as f64),
            line("p99.9", |t| t.figures.p999_ns as f64),
        ];
        if let Some(clause) = bounded {
            let known = [Measure::Quantile(0.5), Measure::Quantile(0.99), Measure::Quantile(0.999)];
            if !known.contains(&clause.measure) {
                series.push(line(&clause.measure.to_string(), |t| t.bounded_ns));
            }
        }
        let slo = bounded.map(|clause| (clause.below, clause.to_string()));
        let is_open = self.conclusion().answered == SearchOutcome::Open;
        let name = if is_open { "kept" } else { "found" };
        let knee = self.found().passes_per_s.map(|rate| (rate, name.to_owned()));
        Chart::rate_curve("Response time against rate", series, slo, knee)
    }

    /// The deciding trials: of the found rate, and of the lowest above it, which was missed or stayed
    /// undecided.
    fn deciding(&self) -> Vec<(String, usize)> {
        let found = self.found();
        let undecided = found.undecided_per_s.filter(|_| found.fails_per_s.is_none());
        let ends = [
            (found.passes_per_s, "kept"),
            (found.fails_per_s, "not kept"),
            (undecided, "undecided"),
        ];
        let named = ends.into_iter().filter_map(|(rate, what)| Some((self.rate_of(rate?)?, what)));
        let trials = named.flat_map(|(rate, what)| {
            rate.trials.iter().enumerate().map(move |(at, number)| {
                let rate = report::grouped(rate.rate_per_s);
                (format!("{rate}/s, {what}: trial {}", at + 1), *number)
            })
        });
        trials.collect()
    }
}

impl Findings for RateSearch {
    fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
        self.conclusion = self.concluded();
    }

    /// CSV with a line for each trial.
    fn to_csv(&self) -> String {
        let mut table = Csv::for_runs(["phase", "rate_per_s", "kept", "why"]);
        for Trial { phase, rate_per_s, judgement, figures, .. } in &self.trials {
            let kept = match judgement.outcome {
                // A closed loop is no trial of a rate.
                _ if *phase == Phase::Closed => "",
                Outcome::Kept => "true",
                Outcome::Missed => "false",
                Outcome::Undecided => "undecided",
                Outcome::Void => "void",
            };
            let why = if kept.is_empty() { String::new() } else { judgement.why.clone() };
            let phase = match phase {
                Phase::Closed => "closed",
                Phase::Search => "search",
                Phase::Curve => "curve",
            };
            let cells = [phase.to_owned(), format!("{rate_per_s:.2}"), kept.to_owned(), why];
            table.row(cells, figures);
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let conclusion = self.conclusion();
        let ended = match conclusion.rate_per_s {
            Some(_) if !self.complete() => ", so far",
            _ => "",
        };
        let headline = format!("{}: {}{ended}", self.test, conclusion.headline);
        let mut blocks = vec![Block::Verdict(Verdict::new(headline, conclusion.text.clone()))];
        let curve = self.trial_table(Phase::Curve);
        if !curve.rows.is_empty() {
            blocks.push(Block::Table(curve));
            blocks.extend((!quiet).then(|| Block::Chart(self.chart())));
        }
        if !quiet {
            blocks.extend(warnings(self.warnings()));
        }
        blocks
    }

    fn page(&self, command_line: &str) -> Page {
        let conclusion = self.conclusion().clone();
        let tone = match (conclusion.answered, conclusion.not_the_server) {
            (SearchOutcome::LowestMissed, _) => Tone::Bad,
            (SearchOutcome::Found | SearchOutcome::AtLeast, false) => Tone::Good,
            _ => Tone::Warning,
        };
        let mut lede = incomplete(self.complete());
        let shown = |rate: f64| Unit::PerSecond.show(rate);
        let found_rate = self.found().passes_per_s.and_then(|rate| self.rate_of(rate));
        let rate = conclusion.rate_per_s.map(|rate| ("rate".to_owned(), shown(rate)));
        let mut figures: Vec<(String, String)> = rate.into_iter().collect();
        if let (Some(low), Some(high)) = (conclusion.low_per_s, conclusion.high_per_s) {
            let interval = format!("{} – {}", shown(low), shown(high));
            figures.push(("95 % interval".to_owned(), interval));
        }
        let kept = found_rate.map_or(&[][..], |rate| &rate.judgement.bounds);
        figures.extend(kept.iter().map(|bound| {
            let value = bound.clause.describe(bound.value);
            (bound.clause.name(), format!("{} ({value})", bound.outcome.word()))
        }));
        let headline = format!("{}: {}", self.test, conclusion.headline);
        lede.push(Verdict { tone, figures, ..Verdict::new(headline, conclusion.text) });
        let text = "Latencies are response times, counted from when a request was due. The load \
            is an open loop: slow replies do not delay it. A rate is judged by all of its trials \
            together. A miss that delays by other programs or the hypervisor can explain makes no rate missed; \
            a trial in which the client itself did not do what was asked is void.";
        let text = Block::Text(text.to_owned());
        let rates = Section::new("Every rate", [Block::Table(self.rate_table())]);
        let trials = Block::Table(self.trial_table(Phase::Search));
        let around = |text| {
            let blocks =
                [text, Block::Chart(self.chart()), Block::Table(self.trial_table(Phase::Curve))];
            Section::new("Around the rate found", blocks)
        };
        let mut sections = match self.trials_of(Phase::Curve).next() {
            Some(_) => vec![around(text), rates, Section::new("Every trial", [trials])],
            None => vec![rates, Section::new("Every trial", [text, trials])],
        };
        sections.extend(super::incidents(self.runs(), &self.deciding()));
        let title = format!("{}: the highest rate that keeps {}", self.test, self.slo.text);
        super::page(&title, self.runs(), lede, sections, command_line)
    }
}
