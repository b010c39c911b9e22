//! Ports of this machine in `TIME_WAIT`: a warning before none is left.

use host::HostFacts;
use report::{Warning, WarningKind, grouped};
use workload::{Endpoint, Plan};

/// Share of the ports in `TIME_WAIT` from which there is a warning.
const SHARE: f64 = 0.5;

/// The warning about ports in `TIME_WAIT` after keystorm closed their connections, in a run of new
/// connections.
pub(crate) fn warning(plan: &Plan) -> Option<Warning> {
    let per_request = plan.load.concurrency.per_request?;
    if per_request.reset || matches!(plan.target.endpoint, Endpoint::Unix(_)) {
        return None;
    }
    let ports = host::local_ports()?;
    let ports = u64::from(ports.end() - ports.start()) + 1;
    exhausted(HostFacts::read().network.time_wait?, ports)
}

fn exhausted(waiting: u64, ports: u64) -> Option<Warning> {
    (waiting as f64 >= SHARE * ports as f64).then(|| {
        let text = format!(
            "{} local ports wait after their connection was closed (TIME_WAIT), and this machine connects from {}: \
             where none is left, connections fail; --close reset frees each at once, --source-ip adds addresses",
            grouped(waiting as f64),
            grouped(ports as f64)
        );
        Warning::new(WarningKind::LocalPorts, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_before_they_are_used_up() {
        assert_eq!(exhausted(1_000, 28_232), None);
        let warning = exhausted(20_000, 28_232).unwrap();
        assert_eq!(warning.kind, WarningKind::LocalPorts);
        assert!(warning.text.starts_with("20,000 local ports"), "{}", warning.text);
    }
}
