//! Checks of the processors: clock speed, and virtualisation.

use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

pub(super) fn governor(evidence: &Evidence) -> Verdict {
    let governors = &evidence.host.cpu.governors;
    if governors.is_empty() {
        return Err(match evidence.host.cpu.hypervisor {
            Some(_) => "decided by the hypervisor; check on the host".to_owned(),
            None => "not reported by this machine".to_owned(),
        });
    }
    let seen = governors.join(", ");
    let why = "the clock follows the load: at low rates latencies are those of a slow clock, and \
        runs differ";
    let mend = "cpupower frequency-set -g performance";
    let is_fast = governors.iter().all(|g| g == "performance");
    let is_slow = governors.iter().any(|g| g == "powersave" || g == "conservative");
    Ok(Outcome::graded(is_slow, !is_fast, seen, why, mend))
}

pub(super) fn turbo(evidence: &Evidence) -> Verdict {
    Ok(if super::known(&evidence.host.cpu.turbo)? {
        Outcome::warn(
            "on",
            "the clock depends on temperature and on how many cores are busy; a short run is \
             faster than a long one",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost; or leave it on and repeat runs",
        )
    } else {
        Outcome::ok("off")
    })
}

pub(super) fn virtual_machine(evidence: &Evidence) -> Verdict {
    let cpu = &evidence.host.cpu;
    Ok(match &cpu.hypervisor {
        Some(name) => Outcome::warn(
            format!("yes: {name}"),
            "neighbours and the hypervisor take time that is not visible here, and system calls \
             and interrupts cost more than on bare metal",
            "measure on bare metal for absolute figures; here, compare side by side and repeat \
             runs",
        ),
        None if cpu.model.is_none() => return Err("not reported by this machine".to_owned()),
        None => Outcome::ok("no"),
    })
}

/// Clocks that are read without a system call.
const FAST_CLOCKS: [&str; 4] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

pub(super) fn clock_source(evidence: &Evidence) -> Verdict {
    let clock = super::known(&evidence.host.cpu.clocksource)?;
    let is_slow = !FAST_CLOCKS.contains(&clock.as_str());
    Ok(Outcome::ok(clock).warn_if(
        is_slow,
        "reading the time is a system call with this clock, and client and server read it for \
             every batch",
        "boot with tsc=reliable, or: echo tsc > \
             /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ))
}
