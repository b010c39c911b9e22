//! Facts of this machine, determined once.

use std::sync::OnceLock;

use host::HostFacts;

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
