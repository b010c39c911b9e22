//! `--clients-start`: the announced steps of a run, the number of clients over time, and their load.

use std::fmt::Write as _;

use spec::Rate;
use workload::{JoinSchedule, Stage, limits};

use super::options::Options;

const NS_PER_S: u64 = 1_000_000_000;
/// Number of blocks of all clients.
const BAR: u64 = 20;

/// Clients of a thread, of `clients` in the end, at a time of a run.
pub(super) fn clients_at(joining: Option<JoinSchedule>, clients: u32, elapsed_ns: u64) -> u32 {
    joining
        .map_or(clients, |joining| joining.after(elapsed_ns / joining.every_ns.max(1)).min(clients))
}

/// Returns the rate of `each_per_s` requests a second on each connection that is there.
pub(super) fn rate(options: &Options, each_per_s: f64) -> Rate {
    let rate = |clients: u32| each_per_s * f64::from(clients) * f64::from(options.threads);
    match options.joining() {
        None => Rate::constant(rate(options.clients)),
        Some(joining) => Rate(stages(joining, options.clients, rate)),
    }
}

/// Returns a stage for each step up to `clients` clients; one ramp if there would be too many.
fn stages(joining: JoinSchedule, clients: u32, rate: impl Fn(u32) -> f64) -> Vec<Stage> {
    let steps =
        u64::from(clients.saturating_sub(joining.first)).div_ceil(joining.step.max(1).into());
    let all = Stage::steady(rate(clients), None);
    if steps < limits::STAGES_MAX as u64 {
        let stages =
            (0..steps).map(|step| Stage::steady(rate(joining.after(step)), Some(joining.every_ns)));
        stages.chain([all]).collect()
    } else {
        let lasts_ns = joining.every_ns.saturating_mul(steps);
        vec![Stage::ramp(rate(joining.first), rate(clients), Some(lasts_ns)), all]
    }
}

/// The steps of run number `run`, which lasts `seconds`.
pub(super) fn preview(
    run: u32,
    joining: JoinSchedule,
    clients: u32,
    threads: u16,
    seconds: u64,
) -> String {
    let every_s = joining.every_ns / NS_PER_S;
    let steps = u64::from(clients.saturating_sub(joining.first)).div_ceil(joining.step.into());
    let mut out =
        format!("[RUN #{run}] Client staircase pattern (per thread x {threads} threads):\n");
    for step in 0..=steps {
        let start = step * every_s;
        if step > 0 && start >= seconds {
            break;
        }
        let there = joining.after(step).min(clients);
        let is_last = there >= clients;
        let end = if is_last { seconds } else { seconds.min(start + every_s) };
        let bar = (u64::from(there) * BAR).div_ceil(u64::from(clients.max(1))).max(1);
        let bar = "█".repeat(bar as usize);
        let most = if is_last { "  (max)" } else { "" };
        let _ = writeln!(
            out,
            "  Step {step}: {start:>3}s - {end:>3}s : {there:>3} clients  {bar}{most}"
        );
    }
    let all = u64::from(clients) * u64::from(threads);
    let _ = writeln!(out, "  Total max connections: {clients} x {threads} = {all}");
    let needed = steps * every_s;
    let _ = if seconds >= needed {
        writeln!(out, "  Minimum time to reach max: {needed}s (test_time: {seconds}s OK)\n")
    } else {
        writeln!(
            out,
            "  WARNING: test_time ({seconds}s) < time to reach max clients ({needed}s), max will not be \
             reached\n"
        )
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: JoinSchedule = JoinSchedule { first: 1, step: 2, every_ns: 2 * NS_PER_S };

    #[test]
    fn steps_are_shown_until_all_are_there() {
        let text = preview(1, STEPS, 4, 2, 9);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "[RUN #1] Client staircase pattern (per thread x 2 threads):",
                "  Step 0:   0s -   2s :   1 clients  █████",
                "  Step 1:   2s -   4s :   3 clients  ███████████████",
                "  Step 2:   4s -   9s :   4 clients  ████████████████████  (max)",
                "  Total max connections: 4 x 2 = 8",
                "  Minimum time to reach max: 4s (test_time: 9s OK)",
                "",
            ]
        );
        let text = preview(1, STEPS, 40, 1, 3);
        assert!(text.contains("Step 1:   2s -   3s") && !text.contains("Step 2"), "{text}");
        assert!(
            text.contains("WARNING: test_time (3s) < time to reach max clients (40s)"),
            "{text}"
        );
    }

    #[test]
    fn each_connection_has_its_rate_once_it_is_there() {
        let steps = stages(STEPS, 4, |clients| 10.0 * f64::from(clients));
        let rates: Vec<_> = steps.iter().map(|s| (s.from_per_s, s.to_per_s, s.lasts_ns)).collect();
        let each = Some(2 * NS_PER_S);
        assert_eq!(rates, [(10.0, 10.0, each), (30.0, 30.0, each), (40.0, 40.0, None)]);
        let many = stages(JoinSchedule { step: 1, ..STEPS }, 5_000, f64::from);
        let [ramp, all] = &many[..] else { panic!("{many:?}") };
        assert_eq!((ramp.to_per_s, ramp.lasts_ns), (5e3, Some(4_999 * 2 * NS_PER_S)));
        assert_eq!((all.from_per_s, all.lasts_ns), (5e3, None));
    }

    #[test]
    fn clients_join_step_by_step() {
        let at = |seconds| clients_at(Some(STEPS), 4, seconds * NS_PER_S);
        assert_eq!([0, 1, 2, 4, 100].map(at), [1, 1, 3, 4, 4]);
        assert_eq!(clients_at(None, 4, 0), 4);
    }
}
