//! Checks of the kernel's limits: files, ports, and waiting connections.

use super::{asked, here, known};
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

/// Files open beside the connections.
const OTHER_FILES: u64 = 64;
/// Minimum limit of open files that suits most tests of many connections.
const FILES_COMFORTABLE: u64 = 10_000;

pub(super) fn files(evidence: &Evidence) -> Verdict {
    let facts = &evidence.host;
    let soft = known(&facts.open_files_soft)?;
    // keystorm raises the soft limit to the hard one by itself.
    let most = facts.open_files_hard.map_or(u64::MAX, |hard| hard.max(soft));
    let hard = facts.open_files_hard.map_or("no hard limit".to_owned(), |n| format!("hard {n}"));
    let seen = format!("soft {soft}, {hard}");
    let needed = u64::from(evidence.load.connections) + OTHER_FILES;
    let mend = format!("ulimit -Hn {}, as root or in limits.conf", needed.max(FILES_COMFORTABLE));
    Ok(if most < needed {
        let why = format!("-c {} needs {needed} open files", evidence.load.connections);
        Outcome::bad(seen, why, mend)
    } else if most < FILES_COMFORTABLE {
        let why = "a test with many connections will run out of open files";
        Outcome::warn(seen, why, mend)
    } else {
        Outcome::ok(seen)
    })
}

const WIDEN: &str = "sysctl -w net.ipv4.ip_local_port_range='1024 65535', or a unix socket (-s), \
                     or more addresses (--source-ip)";

pub(super) fn ports(evidence: &Evidence) -> Verdict {
    let network = &evidence.host.network;
    let (first, last) = known(&network.local_ports)?;
    let all = u64::from(last - first) + 1;
    let seen = format!("{first} to {last}: {all} ports");
    let needed = u64::from(evidence.load.connections);
    let why = |what: &str| format!("each connection to one address needs a port, and {what}");
    if needed > all {
        let why = why(&format!("-c {needed} needs more ports than there are"));
        return Ok(Outcome::bad(seen, why, WIDEN));
    }
    let Some(resting) = network.time_wait else {
        return Err(format!("{seen}; this machine does not report how many are in TIME_WAIT"));
    };
    let seen = format!("{seen}, {resting} in TIME_WAIT");
    Ok(if needed.saturating_add(resting) > all {
        Outcome::warn(seen, why("ports in TIME_WAIT may not be free yet"), WIDEN)
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn tw_reuse(evidence: &Evidence) -> Verdict {
    let value = known(&evidence.host.network.tcp_tw_reuse)?;
    let seen = match value {
        0 => "0 (never)".to_owned(),
        1 => "1 (always)".to_owned(),
        2 => "2 (on the loopback)".to_owned(),
        n => n.to_string(),
    };
    let remote = matches!(evidence.location, crate::doctor::ServerLocation::Remote { .. });
    let reuses = value == 1 || (value == 2 && !remote);
    Ok(if evidence.load.keep_alive || reuses {
        Outcome::ok(seen)
    } else {
        Outcome::warn(
            seen,
            "with -k 0 each pipeline opens a connection, and its port is then blocked for a \
             minute: a few hundred connections per second use up all ports",
            "sysctl -w net.ipv4.tcp_tw_reuse=1",
        )
    })
}

pub(super) fn backlog(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    if evidence.location == crate::doctor::ServerLocation::Unix {
        return Ok(Outcome::ok("a unix socket; clients wait until they are accepted"));
    }
    let asked = server.number("tcp-backlog")?;
    queue(evidence, u64::try_from(asked).unwrap_or(0), "--tcp-backlog")
}

/// Checks the queue of connections waiting to be accepted, for a server whose `option` requests this length.
pub(super) fn queue(evidence: &Evidence, asked: u64, option: &str) -> Verdict {
    here(evidence)?;
    let most = known(&evidence.host.network.somaxconn)?;
    let queue = asked.min(most);
    let seen = format!("{} {asked}, somaxconn {most}", option.trim_start_matches("--"));
    let why = |what: &str| {
        format!(
            "{what}; connections that find the queue full wait a second \
        or more"
        )
    };
    let connections = u64::from(evidence.load.connections);
    Ok(if queue < connections.min(128) {
        let mend = format!(
            "sysctl -w net.core.somaxconn=4096, and start the server with {option} {}",
            connections.max(511)
        );
        Outcome::bad(seen, why(&format!("at most {queue} can wait to be accepted")), mend)
    } else if asked > most {
        let mend = format!("sysctl -w net.core.somaxconn={asked}, and restart the server");
        Outcome::warn(seen, why("the kernel cuts the queue that the server asked for"), mend)
    } else {
        Outcome::ok(seen)
    })
}
