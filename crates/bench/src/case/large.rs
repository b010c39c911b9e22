//! Cases of large values, received and sent.

use super::{BARE_SET, BASE, BareLoop, Base, Case, Data, bare_read};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Returns the length of a reply with a bulk string of this many bytes.
const fn reply_bytes(value: usize) -> usize {
    value + 1 + value.ilog10() as usize + 1 + 2 + 2
}

const fn get(name: &'static str, title: &'static str, value_bytes: usize) -> Case {
    Case {
        name,
        title,
        args: "get large",
        base: bare_read(&["GET", "large"], 0, reply_bytes(value_bytes)),
        data: Data::Value(value_bytes),
        cpu_most: 0.50,
        rate_least: 1.0,
        ..BASE
    }
}

pub(super) const CASES: &[Case] = &[
    Case { requests: 60_000, ..get("get-64k", "GET of 64 KiB", 64 * KIB) },
    Case { requests: 4_000, connections: 10, ..get("get-1m", "GET of 1 MiB", MIB) },
    Case { requests: 60, connections: 2, ..get("get-64m", "GET of 64 MiB", 64 * MIB) },
    Case {
        name: "set-1m",
        title: "SET of 1 MiB",
        requests: 4_000,
        connections: 10,
        args: "-d 1048576 -t set",
        base: Base::Bare(BareLoop { value_bytes: MIB, ..BARE_SET }),
        cpu_most: 0.95,
        rate_least: 1.0,
        ..BASE
    },
];
