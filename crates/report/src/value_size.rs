//! Size of the returned values, which may differ from the size of values that the plan would write.
//!
//! Follows from the bytes of all replies if every one of them is a framed value.

use measure::{CommandTally, Measurement, NodeTally};
use workload::{CommandSpec, Plan, ProtocolKind};

/// Commands that are answered by one value or a null.
const SINGLE: [&str; 4] = ["GET", "GETEX", "GETDEL", "HGET"];
/// Commands that are answered by a list of values and nulls.
const LISTS: [&str; 2] = ["MGET", "HMGET"];
/// Relative difference up to which sizes are equal: replies at the edges of a measured part may count by
/// half.
const SAME: f64 = 0.02;
/// Approximate bytes of a redirect, such as `-MOVED 12345 10.0.0.1:6379`; and the share of all bytes up to
/// which that estimate is good enough.
const REDIRECT_BYTES: u64 = 32;
const REDIRECTS_SHARE: f64 = 0.01;

/// Mean size in bytes of the values that a plan read, if all its commands only read values.
pub fn value_size(plan: &Plan, measurement: &Measurement) -> Option<f64> {
    let total = &measurement.total;
    let connections = &total.connections;
    if total.errors.total() > 0 || connections.pushes > 0 {
        return None;
    }
    let redirects: u64 = measurement.nodes.iter().map(NodeTally::redirects).sum();
    let elsewhere = redirects.checked_mul(REDIRECT_BYTES)?;
    if elsewhere as f64 > REDIRECTS_SHARE * connections.bytes_in as f64 {
        return None;
    }
    let spec = plan.different_commands();
    let mut frames = Frames::default();
    for (command, tally) in spec.commands.iter().zip(&total.commands) {
        frames.add(command, tally, plan.protocol)?;
    }
    frames.around += frames.keys_echoed(connections.bytes_out)?;
    let bytes = connections.bytes_in.checked_sub(frames.around + elsewhere);
    let each = bytes.filter(|_| frames.values > 0)? as f64 / frames.values as f64;
    if plan.protocol == ProtocolKind::MemcacheBinary {
        return Some(each);
    }
    // A value is preceded by its length as a number.
    (1..=10).map(|digits| (digits, each - f64::from(digits))).find_map(|(digits, len)| {
        let fits = len >= 0.0 && (len.round() as u64).to_string().len() == digits as usize;
        fits.then_some(len)
    })
}

/// Bytes of replies other than those of their values.
#[derive(Debug, Default)]
struct Frames {
    values: u64,
    /// Bytes that are not part of a value, without the keys and lengths of existing values.
    around: u64,
    /// Keys requested, those of them that replies repeat, and request bytes beside keys. The length of keys
    /// follows from the bytes sent.
    asked: u64,
    echoed: u64,
    beside_keys: u64,
}

impl Frames {
    /// Adds the replies to a command. `None` unless all of them are known to be values.
    fn add(
        &mut self,
        command: &CommandSpec,
        tally: &CommandTally,
        protocol: ProtocolKind,
    ) -> Option<()> {
        match protocol {
            ProtocolKind::Resp2 => self.add_resp(command, tally, 5),
            ProtocolKind::Resp3 => self.add_resp(command, tally, 3),
            ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => {
                self.add_text(command, tally)
            }
            ProtocolKind::MemcacheBinary => self.add_binary(command, tally),
        }
    }

    fn add_resp(&mut self, command: &CommandSpec, tally: &CommandTally, null: u64) -> Option<()> {
        let name = command.name();
        let (values, missing) = if SINGLE.contains(&name.as_str()) {
            (tally.ok, tally.miss)
        } else if LISTS.contains(&name.as_str()) {
            let asked = command.several_asked()?.1.to_string().len() as u64;
            self.around += (tally.ok + tally.miss) * (1 + asked + 2);
            (tally.keys.found, tally.keys.asked.saturating_sub(tally.keys.found))
        } else {
            return None;
        };
        // A value is enclosed by "$LENGTH\r\n" and "\r\n".
        self.around += values * 5 + missing.checked_mul(null)?;
        self.values += values;
        Some(())
    }

    /// Adds replies of the form `VALUE key 0 length`, the value and `END`, or `VA length` and the value.
    /// Flags are 0 unless another program set them.
    fn add_text(&mut self, command: &CommandSpec, tally: &CommandTally) -> Option<()> {
        let (name, replies) = (command.name(), tally.ok + tally.miss);
        let one = command.args.len() == 2;
        if name == "GET" {
            let keys = (tally.keys.found, tally.keys.asked);
            let (found, asked) = if one { (tally.ok, replies) } else { keys };
            self.around += replies * 5 + found * 13;
            self.echoed += found;
            self.asked += asked;
            self.beside_keys += replies * 5 + asked;
            self.values += found;
        } else if name == "MG" && is_only_for_value(command) {
            self.around += tally.ok * 7 + tally.miss * 4;
            self.asked += replies;
            self.beside_keys += replies * 7;
            self.values += tally.ok;
        } else {
            return None;
        }
        Some(())
    }

    /// A header of 24 bytes, 4 of flags and the value, or a header and `Not found`.
    fn add_binary(&mut self, command: &CommandSpec, tally: &CommandTally) -> Option<()> {
        let is_get = command.name() == "GET" && command.args.len() == 2;
        is_get.then(|| {
            self.around += tally.ok * 28 + tally.miss * 33;
            self.values += tally.ok;
        })
    }

    /// Bytes of the keys in replies, given the bytes sent.
    fn keys_echoed(&self, bytes_out: u64) -> Option<u64> {
        if self.echoed == 0 {
            return Some(0);
        }
        let keys = bytes_out.checked_sub(self.beside_keys)? as f64;
        Some((keys * self.echoed as f64 / self.asked as f64).round() as u64)
    }
}

/// Returns whether a meta get asks only for the value: `mg key v`.
fn is_only_for_value(command: &CommandSpec) -> bool {
    let [_, _, flag] = &command.args[..] else { return false };
    flag.fixed_bytes().is_some_and(|word| word == b"v"[..])
}

/// Returns the size of values if it differs from the plan's.
pub fn other_value_size(plan: &Plan, measurement: &Measurement) -> Option<f64> {
    let drawn = plan.data.values.as_ref().is_some_and(|values| !values.sizes.is_fixed());
    let planned = plan.data.payload_bytes as f64;
    value_size(plan, measurement)
        .filter(|_| !drawn && plan.data.dataset.is_none())
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

    /// A run with these hits and misses of a memcached command, and bytes out and in.
    fn read_cached(line: &str, protocol: ProtocolKind, counts: [u64; 4]) -> Option<f64> {
        let mut run = fixture::complete();
        let sequence = vec![CommandSpec::parse(line.split(' '))];
        let plan = PlanParts { sequence, protocol, ..fixture::parts() }.build().unwrap();
        let total = &mut run.measurement.total;
        let [ok, miss, bytes_out, bytes_in] = counts;
        (total.commands[0].ok, total.commands[0].miss) = (ok, miss);
        (total.connections.bytes_out, total.connections.bytes_in) = (bytes_out, bytes_in);
        value_size(&plan, &run.measurement)
    }

    #[test]
    fn values_of_memcached_are_as_large_as_their_frames_say() {
        let hit = "VALUE key:7 0 108\r\n".len() as u64 + 108 + 2 + 5;
        let get = "get key:7\r\n".len() as u64;
        let text = |line, counts| read_cached(line, ProtocolKind::MemcacheText, counts);
        assert_eq!(text("get key:7", [10, 0, 10 * get, 10 * hit]), Some(108.0));
        assert_eq!(text("get key:7", [10, 30, 40 * get, 10 * hit + 30 * 5]), Some(108.0));
        assert_eq!(text("gets key:7", [10, 0, 10 * get, 10 * hit]), None, "a cas has any length");
        let meta = |line, counts| read_cached(line, ProtocolKind::MemcacheMeta, counts);
        let hit = "VA 10000\r\n".len() as u64 + 10_000 + 2;
        assert_eq!(meta("mg k v", [3, 2, 40, 3 * hit + 2 * 4]), Some(10_000.0));
        assert_eq!(meta("mg k v f", [3, 2, 40, 3 * hit + 2 * 4]), None);
        let counts = [4, 1, 125, 4 * (24 + 4 + 50) + 33];
        assert_eq!(read_cached("get k", ProtocolKind::MemcacheBinary, counts), Some(50.0));
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
