//! The decision as the document `keystorm.decision/1`, fixed by
//! `docs/schema/keystorm.decision.1.json`.

use serde_json::{Value, json};

use super::{Candidate, Decision, Question, RateCurve, SCHEMA};
use crate::compare::{differing_settings, document, subject_value};
use crate::record::steady;

/// The text of the document, with a line end behind it.
///
/// # Errors
/// A figure has no JSON.
pub fn to_json(decision: &Decision) -> serde_json::Result<String> {
    let Decision { target, subjects, how, complete, questions, pairs, warnings, .. } = decision;
    let document = json!({
        "schema": SCHEMA,
        "keystorm": env!("CARGO_PKG_VERSION"),
        "complete": complete,
        "target": target,
        "how": how,
        "servers": subjects.iter().map(subject_value).collect::<Vec<_>>(),
        "differing_settings": differing_settings(subjects),
        "answers": questions.iter().map(|of| question(of, target.as_deref())).collect::<Vec<_>>(),
        "curves": decision.curves().iter().filter(|of| of.has_several()).map(curve).collect::<Vec<_>>(),
        "comparisons": pairs.iter().map(document).collect::<Vec<_>>(),
        "warnings": warnings,
        "regression": decision.gate().map(|state| json!({
            "allowed_percent": pairs.first().and_then(|pair| pair.threshold),
            "state": state,
            "told": decision.gate_notes(),
        })),
    });
    Ok(steady(&crate::json::pretty(&document)?) + "\n")
}

/// Returns the joint result of the rates of one load; the figures of each rate are an answer's.
fn curve(curve: &RateCurve<'_>) -> Value {
    let servers = curve.rates.first().map_or(&[][..], |first| &first.candidates);
    let server = |(side, of): (usize, &Candidate)| {
        let knee = curve.knee(side);
        json!({
            "name": of.name,
            "knee_rps": knee.rate_rps,
            "next_rps": knee.next.map(|(rate, _)| rate),
            "next_kept": knee.next.map(|(_, state)| state),
        })
    };
    json!({
        "name": curve.name,
        "rates_rps": curve.rates.iter().map(|question| question.rate_rps).collect::<Vec<_>>(),
        "answer": curve.answer(),
        "worth": curve.worth(),
        "servers": servers.iter().enumerate().map(server).collect::<Vec<_>>(),
    })
}

fn question(question: &Question, target: Option<&str>) -> Value {
    json!({
        "name": question.name,
        "rate_rps": question.rate_rps,
        "answer": question.answer(target),
        "worth": question.worth(),
        "servers": question.candidates.iter().map(candidate).collect::<Vec<_>>(),
    })
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "name": candidate.name,
        "kept": candidate.kept,
        "why": candidate.why,
        "clauses": candidate.clauses,
        "runs": candidate.runs,
        "throughput_rps": candidate.throughput_rps,
        "p50_ms": candidate.p50_ms,
        "p99_ms": candidate.p99_ms,
        "server_cpu_us_per_request": candidate.server_cpu_us,
        "client_cpu_us_per_request": candidate.client_cpu_us,
        "cores": candidate.cores(),
        "memory_bytes": candidate.memory_bytes,
        "limit_rps": candidate.limit.map(|(limit, _)| limit),
        "limit_limited_by": candidate.limit.map(|(_, by)| by),
        "share_of_limit": candidate.share_of_limit(),
        "failed_percent": candidate.failures.percent(),
        "found_share": candidate.found,
    })
}
