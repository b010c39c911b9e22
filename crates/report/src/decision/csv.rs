//! The rates of a load as CSV: a line for each rate and server.

use std::io::{self, Write};

use super::{Decision, RateCurve, TargetState};
use crate::escape;
use crate::format::write_row;

const COLUMNS: [&str; 9] = [
    "test",
    "server",
    "rate_rps",
    "kept",
    "throughput_rps",
    "p50_ms",
    "p99_ms",
    "server_cpu_us_per_request",
    "client_cpu_us_per_request",
];

/// The loads that have several rates, behind an empty line; nothing where there is none.
///
/// # Errors
/// `out` cannot be written.
pub fn write_csv_curves(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    let curves = decision.curves();
    if !curves.iter().any(RateCurve::has_several) {
        return Ok(());
    }
    writeln!(out)?;
    write_row(&COLUMNS.map(str::to_owned), out)?;
    for curve in curves.iter().filter(|curve| curve.has_several()) {
        for question in &curve.rates {
            for (side, of) in question.candidates.iter().enumerate() {
                let number =
                    |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
                write_row(
                    &[
                        escape(curve.name),
                        escape(&of.name),
                        number(question.rate_rps),
                        curve.state(question, side).map_or("", word).to_owned(),
                        number(of.throughput_rps),
                        number(of.p50_ms),
                        number(of.p99_ms),
                        number(of.server_cpu_us),
                        number(of.client_cpu_us),
                    ],
                    out,
                )?;
            }
        }
    }
    Ok(())
}

/// The stable word for what became of a target.
fn word(state: TargetState) -> &'static str {
    match state {
        TargetState::Yes => "yes",
        TargetState::No => "no",
        TargetState::Undecided => "undecided",
        TargetState::Void => "void",
    }
}
