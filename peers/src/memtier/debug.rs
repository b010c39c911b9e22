//! `--debug`: the settings, the progress of each thread every second, and the errors. Single requests are not
//! logged: that would cost more than the load itself.

use measure::Measurement;
use runner::Gauges;
use workload::Plan;

/// The plan, without its passwords.
pub(super) fn of_plan(plan: &Plan) -> String {
    match serde_json::to_string(plan) {
        Ok(plan) => format!("debug: plan: {plan}\n"),
        Err(error) => format!("debug: plan: {error}\n"),
    }
}

/// Threads at the end of a second.
pub(super) fn of_second(gauges: &[Gauges], elapsed_ns: u64) -> String {
    let seconds = elapsed_ns as f64 / 1e9;
    let threads = gauges.iter().enumerate().map(|(thread, gauges)| {
        let Gauges { connections, in_flight, cpu_ns, .. } = gauges;
        let cpu = *cpu_ns as f64 / 1e9;
        format!(
            "debug: {seconds:.1} s: thread {thread}: {connections} connections, {in_flight} requests in \
             flight, {cpu:.3} s of CPU time so far\n"
        )
    });
    threads.collect()
}

/// Connections and errors of a run that has ended.
pub(super) fn of_end(measurement: &Measurement) -> String {
    let connections = &measurement.total.connections;
    let mut text = format!(
        "debug: engine: {}\ndebug: connections: {} opened, {} lost, {} opened again; requests: {} lost \
         with them, {} timed out, {} unanswered at the end\n",
        measurement.engine,
        connections.connect.count(),
        connections.dropped,
        connections.reconnects,
        connections.lost,
        connections.timed_out,
        connections.unanswered,
    );
    let errors = &measurement.total.errors;
    for (kind, count) in errors.by_kind() {
        text += &format!("debug: {count} error replies of kind {}\n", report::escape(kind));
    }
    for example in errors.examples() {
        text += &format!("debug: for example: {}\n", report::escape(example));
    }
    text
}
