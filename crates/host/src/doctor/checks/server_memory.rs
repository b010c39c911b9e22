//! Checks of the server's memory: its limit, and its behaviour there.

use super::{asked, bytes, for_private};
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

/// Room below which a common load, a million small keys, does not fit.
const ROOM_BYTES: f64 = (64 << 20) as f64;

pub(super) fn limit(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let info = server.info.as_ref().map_err(Clone::clone)?;
    let used = info.number("used_memory")?;
    let most = match server.number("maxmemory") {
        Ok(most) => most as f64,
        Err(_) => info.number("maxmemory")?,
    };
    if most <= 0.0 {
        return Ok(Outcome::ok(format!("no limit, {} used", bytes(used as u64))));
    }
    let seen = format!("{} of {} used", bytes(used as u64), bytes(most as u64));
    let mend = for_private(server, "CONFIG SET maxmemory 0, or a limit well above the data set");
    Ok(if used >= most * 0.9 {
        let why = "at the limit writes are refused (OOM) or keys evicted for each of them";
        Outcome::bad(seen, why, mend)
    } else if most - used < ROOM_BYTES {
        let why = format!(
            "a load of writes uses up the {} that are left, and then writes are refused (OOM) or \
             keys evicted",
            bytes((most - used) as u64)
        );
        Outcome::bad(seen, why, mend)
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn policy(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let policy = server.setting("maxmemory-policy")?;
    Ok(if policy == "noeviction" || server.number("maxmemory")? <= 0 {
        Outcome::ok(policy)
    } else {
        Outcome::warn(
            policy,
            "once the limit is reached, each write pays for evictions, and reads of evicted keys miss",
            for_private(
                server,
                "CONFIG SET maxmemory-policy noeviction, unless eviction is what you measure",
            ),
        )
    })
}

/// Minimum amount of data for a meaningful ratio; with less, the program's own memory decides it.
const RATIO_FROM_BYTES: f64 = (100 << 20) as f64;

pub(super) fn fragmentation(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let info = server.info.as_ref().map_err(Clone::clone)?;
    let used = info.number("used_memory")?;
    let ratio = info.number("mem_fragmentation_ratio")?;
    let seen = format!("{ratio:.2}, {} used", bytes(used as u64));
    if used < RATIO_FROM_BYTES {
        return Err(format!("{seen}: too little data to judge"));
    }
    Ok(if ratio < 0.9 {
        Outcome::bad(
            seen,
            "the server has less memory than it uses: part of it is swapped out",
            for_private(server, "free memory on the server's machine, then restart the server"),
        )
    } else if ratio > 1.5 {
        Outcome::warn(
            seen,
            "memory is scattered: more cache misses, and less room than it seems",
            match server.is_of_others() {
                Some(_) => "CONFIG SET activedefrag yes and wait",
                None => "restart the server, or CONFIG SET activedefrag yes and wait",
            },
        )
    } else {
        Outcome::ok(seen)
    })
}
