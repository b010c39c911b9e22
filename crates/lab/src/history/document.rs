//! JSON documents of a history and of a judgement.

use measure::statistics::LevelStep;
use report::compare::GateState;
use report::{KEPT, Metric};
use serde_json::{Map, Value, json};

use crate::history::{Entry, Extent, FigureJudgement, Finding, Judgement, Series};

/// The name of the layout of a history.
pub const SCHEMA: &str = "keystorm.history/1";
/// The name of the layout of a judgement.
const BASELINE_SCHEMA: &str = "keystorm.baseline/1";

/// All series with their entries and steps.
pub fn document(all: &[Series], disturbed: bool) -> Value {
    let series = all.iter().map(|series| {
        let steps = KEPT.into_iter().filter_map(|metric| {
            let steps = series.steps(metric, disturbed);
            let steps: Vec<Value> = steps.iter().map(|step| of_step(step, series)).collect();
            (!steps.is_empty()).then(|| (metric.name().to_owned(), Value::Array(steps)))
        });
        json!({
            "name": series.name,
            "machine": series.machine,
            "entries": series.entries.iter().map(of_entry).collect::<Vec<_>>(),
            "steps": steps.collect::<Map<_, _>>(),
        })
    });
    json!({ "schema": SCHEMA, "series": series.collect::<Vec<_>>() })
}

fn of_entry(entry: &Entry) -> Value {
    let figures = entry.figures.iter().map(|figure| {
        let value = json!({
            "mean": figure.mean,
            "low": figure.interval.map(|interval| interval.0),
            "high": figure.interval.map(|interval| interval.1),
            "without_noise": figure.without_noise,
        });
        (figure.metric.clone(), value)
    });
    json!({
        "file": entry.file,
        "test": entry.test,
        "started_at": report::wall_clock_rfc3339(entry.started(), 0),
        "server": entry.server,
        "target": entry.target,
        "client": entry.client,
        "machine": entry.machine,
        "processor": entry.cpu,
        "kernel": entry.kernel,
        "runs": entry.runs,
        "complete": entry.complete,
        "disturbed": entry.disturbed,
        "noise": entry.noise,
        "failed": entry.failed,
        "limited_by": entry.limited_by,
        "figures": figures.collect::<Map<_, _>>(),
    })
}

fn of_step(step: &LevelStep, series: &Series) -> Value {
    let file = |at: usize| series.entries.get(at).map(|entry| entry.file.clone());
    json!({
        "at": step.at,
        "file": file(step.at),
        "from": step.range.0,
        "to": step.range.1,
        "ratio": step.ratio.ratio,
        "low": step.ratio.interval.map(|interval| interval.low),
        "high": step.ratio.interval.map(|interval| interval.high),
        "p": step.p,
        "changes": series.changes(step.at),
    })
}

/// The findings about the newest runs as a document.
pub fn judged(all: &[Judgement], gate: GateState, sentences: &[String]) -> Value {
    let tests = all.iter().map(|judgement| {
        json!({
            "name": judgement.name,
            "file": judgement.series.newest().file,
            "runs": judgement.counted,
            "failed": judgement.series.newest().failed,
            "figures": judgement.figures.iter().map(|f| of_figure(f, &judgement.series)).collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": BASELINE_SCHEMA,
        "gate": gate,
        "sentences": sentences,
        "tests": tests.collect::<Vec<_>>(),
    })
}

fn of_figure(figure: &FigureJudgement, series: &Series) -> Value {
    let finding = match figure.finding {
        Finding::LevelStep { at, range, ratio, runs, extent } => json!({
            "kind": "step",
            "at": at,
            "file": series.entries[at].file,
            "from": range.0,
            "to": range.1,
            "ratio": ratio.ratio,
            "low": ratio.interval.map(|interval| interval.low),
            "high": ratio.interval.map(|interval| interval.high),
            "runs_before": runs[0],
            "runs_after": runs[1],
            "beyond": extent == Extent::Beyond,
            "changes": series.changes(at),
        }),
        Finding::Off { ratio, runs, extent, noise } => json!({
            "kind": "off",
            "ratio": ratio,
            "runs": runs,
            "beyond": extent == Extent::Beyond,
            "noise": noise,
        }),
        Finding::Level => json!({ "kind": "level" }),
        Finding::TooFew => json!({ "kind": "too-few" }),
    };
    json!({
        "metric": Metric::name(figure.metric),
        "newest": figure.newest,
        "expected_low": figure.expected.map(|interval| interval.low),
        "expected_high": figure.expected.map(|interval| interval.high),
        "smallest_visible": figure.smallest_visible,
        "worse": figure.is_worse(),
        "finding": finding,
    })
}
