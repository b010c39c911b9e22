//! What `keystorm help OPTION` and the man pages say of options beyond the line or two of `--help all`.

use clap::Command;

/// Options of a run by the names of their fields, and what else there is to know of them.
const DETAILS: [(&str, &str); 38] = [
    ("hash", "`ketama` and `modulo` are as in libmemcached."),
    (
        "protocol",
        "RESP is that of Redis and Valkey. `memcache` is memcached's text protocol, `memcache-meta` the same with a \
         suite of meta commands, `memcache-binary` its binary protocol.",
    ),
    (
        "uri",
        "redis://[[user]:password@]host[:port][/db] or valkey://; rediss:// or valkeys:// for TLS; memcache:// or \
         memcaches://host[:port][,host...]; unix:///path?db=N; or \
         redis-sentinel://[[user:]password@]host[:26379][,host...]/NAME[/db] for the primary that Sentinel reports. \
         Percent-encode special characters; put IPv6 addresses in brackets.",
    ),
    (
        "password",
        "Other users of this machine can read a command line, but not the environment variable REDISCLI_AUTH.",
    ),
    (
        "rfr",
        "It applies to read-only commands in a cluster, or with --replicas. `nearest` is the node of a shard \
         that lately answered soonest.",
    ),
    (
        "rfr_without",
        "With `wait`, the run does not begin if a primary has no ready replica at the start.",
    ),
    ("rfr_connections", "With 2:1, each replica gets two connections for each one to a primary."),
    ("pool", "The servers are interchangeable: any request uses any connection."),
    ("spawn", "The server has no persistence. It is stopped after the run."),
    (
        "tls",
        "Called redis-benchmark or valkey-benchmark, keystorm does not require that the certificate matches the \
         host, as those tools do not.",
    ),
    ("connections", "This and all other counts and sizes accept k, M and G: 10k, 5M."),
    ("window", "redis-benchmark works like `batch`."),
    (
        "shard",
        "`env/N` takes the rank from a Kubernetes Indexed Job, which does not say how many processes there are.",
    ),
    ("engine", "`uring` is io_uring of Linux. `auto` takes the fastest that works here."),
    (
        "reconnect",
        "If lost connections are not reopened, the first loss ends the run, as in redis-benchmark.",
    ),
    ("timeout", "A request that exceeds it is counted as timed out."),
    (
        "deadline",
        "Reports then show the goodput: requests answered in time, per second. Requests that were sent are still waited for.",
    ),
    ("connect", "Latency includes opening the connection."),
    ("retry", "A request counts once, with its last result, and its latency includes the waits."),
    (
        "retry_wait",
        "FIRST[,FACTOR[,LONGEST]]; without a unit, milliseconds. Each further wait is FACTOR times as long, up to \
         LONGEST.",
    ),
    ("on", "The clients start together."),
    ("probe", "Its latencies come first in the report. With --on, the probe runs on this machine."),
    ("key_dist", "MEAN, SD, PERCENTILE and SHARE are in percent."),
    ("size", "lognormal, pareto and normal accept ,MIN..MAX as bounds."),
    ("content", "compressible:N is for a ratio of N to 1; same is the letter x."),
    ("ttl", "__ttl__ marks where the time goes."),
    (
        "verify",
        "It checks get, getex, getdel, mget, hget and hmget. The values may have been written by another \
         process with the same --seed, -r, -d and --content, which is random by default here.",
    ),
    ("replay", "The commands go over all connections."),
    (
        "format",
        "quiet is -q, csv is --csv. redis is the layout of redis-benchmark and valkey-benchmark.",
    ),
    ("distribution", "`full` prints every step."),
    ("keep", "Each run gets a file of its own there."),
    (
        "slo",
        "Every report says whether it was kept, missed or undecided. Separate several bounds with commas: p50, p99 \
         (or any percentile), mean or max below a time, errors below a share.",
    ),
    ("metrics", "They are for Prometheus. :9121 is on loopback only, too."),
    ("live", "It has figures, charts and outages so far, and a form that sets a mark."),
    (
        "kernel_stamps",
        "The kernel notes when replies arrive; `--kernel-stamps=no` switches that off.",
    ),
    (
        "no_verdict",
        "By default both are in the report, or on standard error if the format has no room for them.",
    ),
    (
        "set_server",
        "latency-monitor-threshold, slowlog-log-slower-than, slowlog-max-len and latency-tracking are changed, and \
         changed back afterwards.",
    ),
    ("on_error", "redis-benchmark works like `stop`."),
];

/// A command with the details of those of its options that mean the same as in a run.
pub(crate) fn detailed(mut command: Command, run: &Command) -> Command {
    for (id, details) in DETAILS {
        let Some(brief) = help_of(run, id) else { continue };
        if help_of(&command, id).as_ref() == Some(&brief) {
            command = command.mut_arg(id, |arg| arg.long_help(format!("{brief}\n\n{details}")));
        }
    }
    command
}

fn help_of(command: &Command, id: &str) -> Option<String> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == id)?;
    arg.get_help().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;
    use crate::tree::tree;

    #[test]
    fn every_detail_belongs_to_an_option_of_a_run() {
        let tree = tree();
        for (id, details) in DETAILS {
            let long =
                tree.get_arguments().find(|arg| arg.get_id() == id).and_then(Arg::get_long_help);
            assert!(long.is_some_and(|long| long.to_string().ends_with(details)), "{id}");
        }
    }
}
