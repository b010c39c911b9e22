//! Facts of this machine, determined once.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use host::HostFacts;
use lab::origin::Origin;

/// Facts of this machine before this process loads it, as the load of an experiment's first part is no fault
/// of the machine in its second.
pub(crate) fn machine() -> &'static HostFacts {
    static FOUND: OnceLock<HostFacts> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut facts = HostFacts::read();
        facts.load.running_beside = host::machine::running_beside();
        facts
    })
}

/// Origin of a document whose measurements begin now.
pub(crate) fn origin() -> Origin {
    let host = machine();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Origin {
        started_ms: since.as_millis() as u64,
        client: env!("CARGO_PKG_VERSION").to_owned(),
        machine: host.hostname.clone().unwrap_or_default(),
        cpu: host.cpu.model.clone().unwrap_or_default(),
        kernel: host.kernel.clone().unwrap_or_default(),
    }
}
