//! The size of the values that came back, which may be another than that of those the plan would write.
//!
//! Follows from the bytes of all replies where every one of them is a value as RESP frames it.

use measure::Measurement;
use workload::{Plan, ProtocolKind};

/// Commands that are answered by one value or a null.
const SINGLE: [&str; 4] = ["GET", "GETEX", "GETDEL", "HGET"];
/// Commands that are answered by a list of values and nulls.
const LISTS: [&str; 2] = ["MGET", "HMGET"];
/// Replies at the edges of a measured part may count by half, so sizes that differ by less are the same.
const SAME: f64 = 0.02;

/// The mean size in bytes of the values that a plan read, if all its commands only read values.
#[must_use]
pub fn value_size(plan: &Plan, measurement: &Measurement) -> Option<f64> {
    let total = &measurement.total;
    let connections = &total.connections;
    let others = total.errors.total() > 0 || connections.pushes > 0;
    if others || plan.protocol.is_memcache() || plan.target.is_cluster() {
        return None;
    }
    let null = if plan.protocol == ProtocolKind::Resp3 { 3 } else { 5 };
    let (mut values, mut around) = (0, 0);
    for (command, tally) in plan.different_commands().commands.iter().zip(&total.commands) {
        let name = command.name();
        if SINGLE.contains(&name.as_str()) {
            values += tally.ok;
            around += tally.miss.checked_mul(null)?;
        } else if LISTS.contains(&name.as_str()) {
            let asked = command.several_asked()?.1.to_string().len() as u64;
            values += tally.keys.found;
            let missing = tally.keys.asked.saturating_sub(tally.keys.found);
            around += (tally.ok + tally.miss) * (1 + asked + 2) + missing.checked_mul(null)?;
        } else {
            return None;
        }
    }
    let bytes = connections.bytes_in.checked_sub(around).filter(|_| values > 0)? as f64;
    let each = bytes / values as f64;
    // A value stands between "$LENGTH\r\n" and "\r\n".
    (1..=10).map(|digits| (digits, each - 5.0 - f64::from(digits))).find_map(|(digits, len)| {
        let fits = len >= 0.0 && (len.round() as u64).to_string().len() == digits as usize;
        fits.then_some(len)
    })
}

/// The same if it is another than the plan's.
#[must_use]
pub fn other_value_size(plan: &Plan, measurement: &Measurement) -> Option<f64> {
    let drawn = plan.values.as_ref().is_some_and(|values| !values.sizes.is_fixed());
    let planned = plan.payload_bytes as f64;
    value_size(plan, measurement)
        .filter(|_| !drawn && plan.dataset.is_none())
        .filter(|read| (read - planned).abs() > 1.0 + SAME * planned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use workload::{CommandSpec, PlanParts};

    fn read(line: &str, [ok, miss]: [u64; 2], bytes: u64) -> Option<f64> {
        let mut run = fixture::complete();
        let sequence = vec![CommandSpec::parse(line.split(' '))];
        let plan = PlanParts { sequence, ..fixture::parts() }.build().unwrap();
        let total = &mut run.measurement.total;
        (total.commands[0].ok, total.commands[0].miss) = (ok, miss);
        total.connections.bytes_in = bytes;
        value_size(&plan, &run.measurement)
    }

    #[test]
    fn values_are_as_large_as_their_frames_say() {
        assert_eq!(read("GET a", [10, 0], 10 * (6 + 108 + 2)), Some(108.0));
        assert_eq!(read("GET a", [10, 5], 10 * (4 + 3 + 2) + 5 * 5), Some(3.0));
        assert_eq!(read("GET a", [2, 0], (4 + 5 + 2) + (4 + 6 + 2)), Some(5.5), "the mean");
        assert_eq!(read("GET a", [0, 7], 35), None);
        assert_eq!(read("SET a b", [10, 0], 50), None);
    }
}
