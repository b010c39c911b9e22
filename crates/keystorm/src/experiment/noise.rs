//! Latency that this machine alone adds, measured for a moment before an experiment: a smaller difference
//! between servers cannot be seen, and no smaller target be judged.

use std::time::Duration;

use cli::console::diagnostics::{self, ClosedPipe};
use host::machine::{Delays, Intrinsic};

/// Duration; long enough to meet programs that run ten times a second.
const MOMENT: Duration = Duration::from_millis(400);
/// Delays at p99 and p99.9 from which there is a warning, in microseconds.
const P99_US: f64 = 200.0;
const P999_US: f64 = 1_000.0;

/// Warns about a machine whose own delays affect the results. Takes 0.4 s.
pub(crate) fn warn() -> Result<(), ClosedPipe> {
    warning(&Intrinsic::measure(MOMENT)).iter().try_for_each(diagnostics::say)
}

fn warning(found: &Intrinsic) -> Option<String> {
    let worst = |of: fn(&Delays) -> f64| f64::max(of(&found.busy), of(&found.timers));
    let (p99_us, p999_us) = (worst(|delays| delays.p99_us), worst(|delays| delays.p999_us));
    (p99_us >= P99_US || p999_us >= P999_US).then(|| {
        format!(
            "warning: this machine delays programs by {:.2} ms at p99 and {:.2} ms at p99.9 even without a \
             server: a smaller difference in latency need not be the servers'. See keystorm doctor --intrinsic",
            p99_us / 1e3,
            p999_us / 1e3
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(p99_us: f64, p999_us: f64) -> Intrinsic {
        let timers = Delays { p99_us, p999_us, ..Delays::default() };
        let busy = Delays::default();
        Intrinsic { seconds: 0.2, busy, timers, interrupted: 0.0, stolen: None, waited: None }
    }

    #[test]
    fn a_quiet_machine_gets_no_line() {
        assert_eq!(warning(&found(80.0, 400.0)), None);
    }

    #[test]
    fn the_worse_of_both_is_named() {
        let text = warning(&found(250.0, 7_900.0)).unwrap();
        assert!(text.contains("by 0.25 ms at p99 and 7.90 ms at p99.9"), "{text}");
    }
}
