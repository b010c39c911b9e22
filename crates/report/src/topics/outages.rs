//! Outages in words.

use measure::{Failures, Outage};
use workload::quantity::counted;

use crate::outages::{only_waited, server_name};
use crate::{Run, escape};

/// Describes an outage in a line each for its length and server, for what failed, and for its end; `at` writes a moment
/// of the run.
pub fn story(run: &Run, outage: &Outage, at: impl Fn(u64) -> String) -> Vec<String> {
    let of_messages = run.plan.has_receivers();
    let noun = if of_messages { "messages" } else { "requests" };
    let node = server_name(&run.plan, &run.measurement, outage);
    let node = node.map_or(String::new(), |name| format!("{}: ", escape(name)));
    let end = if outage.to_the_end { "the end at " } else { "" };
    let (from, to) = (at(outage.from_ns), at(outage.to_ns));
    let length_s = outage.length_ns() as f64 / 1e9;
    let mut lines =
        vec![format!("{node}nothing succeeded for {length_s:.2} s, from {from} to {end}{to}")];
    lines.push(match outage.first_failure_ns {
        Some(ns) => {
            let Failures { errors, lost, timed_out } = outage.failures;
            let errors = counted(errors, "error");
            format!("requests failed from {}: {lost} lost, {timed_out} timed out, {errors}", at(ns))
        }
        None if outage.to_the_end && run.measurement.total.connections.unanswered > 0 => {
            "requests had no reply when it ended".to_owned()
        }
        None => only_waited(of_messages).to_owned(),
    });
    lines.extend(outage.rate_before_per_s.map(|rate| {
        let rate = format!("back to 95 % of the {rate:.0} {noun} per second before");
        match outage.recovered_ns {
            Some(ns) => format!("{rate} at {}", at(ns)),
            None => format!("not {rate}"),
        }
    }));
    lines
}
