//! Conflicts between options.

use super::commands::is_of_one_slot;
use super::fault::{Fault, check_error, usage_error};
use super::options::Options;
use super::reading;
use super::values::{Pattern, Requests};

/// Refuses options that contradict each other. `order` has their names as they were given.
pub(super) fn check(options: &Options, order: &[&'static str]) -> Result<(), Fault> {
    let given = |name: &str| order.contains(&name);
    of_protocol(options)?;
    of_length(options, order)?;
    of_steps(options)?;
    let jitter = "thread-conn-start-min-jitter-micros must not be above \
                  thread-conn-start-max-jitter-micros.";
    refuse(check_error, &[(options.min_jitter > options.max_jitter, jitter)])?;
    of_keys(options)?;
    of_values(options, given)?;
    of_import(options, given)?;
    reading::check(options)?;
    of_commands(options)?;
    of_scans(options)?;
    of_transactions(options)?;
    of_prometheus(options)?;
    of_connections(options)?;
    let tcp = given("server") || given("host") || given("port");
    let both = "UNIX domain socket and TCP cannot be used together.";
    refuse(check_error, &[(options.unix_socket.is_some() && tcp, both)])
}

/// Refuses the first of these that is given.
fn refuse(fault: fn(&'static str) -> Fault, faults: &[(bool, &'static str)]) -> Result<(), Fault> {
    let given = faults.iter().find(|(given, _)| *given);
    given.map_or(Ok(()), |(_, why)| Err(fault(why)))
}

fn of_protocol(options: &Options) -> Result<(), Fault> {
    let memcache = options.protocol_kind().is_memcache();
    let of_redis = options.cluster || options.wait_ratio.is_some() || !options.commands.is_empty();
    let login = options.authenticate.as_ref();
    let faults = [
        (options.select_db.is_some(), "select-db can only be used with redis protocol."),
        (options.no_touch, "client-no-touch can only be used with redis protocol."),
        (options.data_offset > 0, "data-offset can only be used with redis protocol."),
        (of_redis, "cluster-mode, wait-ratio and command can only be used with redis protocol."),
        (
            options.protocol == "memcache_text" && login.is_some(),
            "authenticate can only be used with redis or memcache_binary.",
        ),
        (
            options.protocol == "memcache_binary"
                && login.is_some_and(|login| !login.contains(':')),
            "binary_memcache credentials must be in the form of USER:PASSWORD.",
        ),
    ];
    refuse(usage_error, if memcache { &faults } else { &[] })
}

fn of_length(options: &Options, order: &[&'static str]) -> Result<(), Fault> {
    let at = |name| order.iter().position(|given| *given == name);
    if let (Some(time), Some(requests)) = (at("test-time"), at("requests")) {
        // In this order both are taken there, and whichever ends first counts.
        let both = options.requests == Some(Requests::AllKeys) && time < requests;
        let exclusive = "--test-time and --requests are mutually exclusive.";
        return refuse(usage_error, &[(!both, exclusive)]);
    }
    Ok(())
}

fn of_steps(options: &Options) -> Result<(), Fault> {
    let given =
        [options.clients_start, options.clients_step, options.step_duration].map(|o| o.is_some());
    if given == [false; 3] {
        return Ok(());
    }
    let other_end = options.test_time.is_none() || options.requests.is_some();
    let faults = [
        (
            given != [true; 3],
            "clients-start, clients-step and step-duration must be given together.",
        ),
        (other_end, "clients-start needs --test-time, and no --requests."),
        (options.clients_start >= Some(options.clients), "clients-start must be below --clients."),
        (
            options.cluster && !options.has_clients(),
            "--clients-start with --replica-clients is not carried out by keystorm: connections are \
             shared out by node there.",
        ),
    ];
    refuse(check_error, &faults)
}

fn of_keys(options: &Options) -> Result<(), Fault> {
    let (least, most) = (options.key_minimum, options.key_maximum);
    let gaussian = options.patterns().contains(&Pattern::Gaussian)
        || options.commands.iter().any(|command| command.pattern == Pattern::Gaussian);
    let shaped = options.key_stddev.is_some() || options.key_median.is_some();
    let bounds = least as f64..=most as f64;
    let beyond = options.key_median.is_some_and(|median| !bounds.contains(&median));
    let faults = [
        (most < least, "key-maximum must be at least key-minimum."),
        (gaussian && most <= least, "key-pattern=G requires a key-maximum above key-minimum."),
        (
            shaped && !gaussian,
            "key-stddev and key-median are only allowed together with key-pattern set to G.",
        ),
        (beyond, "key-median must be between key-minimum and key-maximum."),
    ];
    refuse(usage_error, &faults)
}

fn of_values(options: &Options, given: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let ways = [options.data_size.is_some(), given("data-size-range"), given("data-size-list")];
    let several = ways.into_iter().filter(|given| *given).count() > 1;
    // R is what holds anyway.
    let by_key = options.size_by_key && !given("data-size-range");
    let expires = |is: fn(u64, u64) -> bool| options.expiry_range.is_some_and(|(a, b)| is(a, b));
    let faults = [
        (several, "data-size, data-size-list and data-size-range are mutually exclusive."),
        (by_key, "data-size-pattern S can only be used with data-size-range."),
        (
            options.data_offset > 0 && options.expiry_range.is_some(),
            "data-offset cannot be used with expiry-range.",
        ),
        (options.data_offset >= 1 << 29, "data-offset is limited to 512 MB."),
    ];
    refuse(usage_error, &faults)?;
    let faults = [
        (
            expires(|least, _| least == 0) && options.protocol != "memcache_text",
            "--expiry-range from 0 is carried out by keystorm with memcache_text only: a time to \
             live is a second at least; see docs/memtier.md",
        ),
        (
            expires(|least, most| least != most) && options.protocol == "memcache_binary",
            "--expiry-range is carried out by keystorm with memcache_binary only if both ends are \
             equal, such as 10-10; see docs/memtier.md",
        ),
    ];
    refuse(check_error, &faults)
}

fn of_import(options: &Options, given: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let refused = |names: &[&str], with: &str| {
        let name = names.iter().find(|name| given(name));
        name.map_or(Ok(()), |name| Err(check_error(format!("--{name} {with}."))))
    };
    if options.data_import.is_none() {
        let of_import = ["data-verify", "verify-only", "no-expiry"];
        return refused(&of_import, "is only valid with --data-import");
    }
    let sizes = ["data-size", "data-size-list", "data-size-range", "random-data", "cluster-mode"];
    refused(&sizes, "cannot be used with --data-import")?;
    if !options.generate_keys {
        let keys = ["key-minimum", "key-maximum", "key-prefix"];
        refused(&keys, "can only be used with --data-import and --generate-keys")?;
    }
    if options.no_expiry && options.expiry_range.is_some() {
        return Err(check_error("--no-expiry and --expiry-range contradict each other."));
    }
    // Unsupported options.
    let refused = |names: &[&str], why: &str| {
        refused(
            names,
            &format!(
                "with --data-import is not carried out by keystorm: {why}; see docs/memtier.md"
            ),
        )
    };
    refused(&["command"], "its items are those of SET and GET")?;
    if !options.generate_keys {
        refused(&["multi-key-get"], "a request takes one item")?;
    }
    if options.data_verify {
        refused(&["data-offset"], "with --data-verify whole values are compared")?;
    }
    let sequential = options.patterns()[0] == Pattern::Sequential;
    let unknown = "--data-verify with --generate-keys needs --key-pattern S:R, or another that \
                   begins with S: else nobody knows which item of the file a key was given last";
    refuse(check_error, &[(options.data_verify && options.generate_keys && !sequential, unknown)])
}

fn of_commands(options: &Options) -> Result<(), Fault> {
    if options.commands.is_empty() {
        return Ok(());
    }
    let count =
        options.commands.iter().filter(|command| command.pattern == Pattern::Parallel).count();
    let faults = [
        (options.ratio.is_some(), "when using arbitrary command, ratio is not allowed."),
        (
            options.key_pattern.is_some(),
            "when using arbitrary command, key-pattern is given with command-key-pattern.",
        ),
        (
            count > 0 && count < options.commands.len(),
            "parallel key-pattern must be configured for all commands.",
        ),
        (options.multi_key_get > 0, "multi-key-get cannot be combined with --command."),
    ];
    refuse(usage_error, &faults)?;
    let prefix = &options.key_prefix;
    if options.cluster
        && let Some(command) =
            options.commands.iter().find(|command| !is_of_one_slot(&command.text, prefix))
    {
        return Err(check_error(format!(
            "Cluster mode supports only a single key in a command, unless all have the same hash tag \
             {{…}}: {}",
            command.text
        )));
    }
    let waits = "wait-ratio cannot be used with arbitrary commands.";
    refuse(usage_error, &[(options.wait_ratio.is_some(), waits)])
}

fn of_scans(options: &Options) -> Result<(), Fault> {
    let walk = "scan-incremental-iteration";
    if !options.scan_walk {
        // 0 is what holds anyway.
        let alone = "scan-incremental-max-iterations needs --scan-incremental-iteration.";
        return refuse(check_error, &[(options.scan_most.is_some(), alone)]);
    }
    let contradicts = [
        (options.pipeline > 1, "a pipeline of 1"),
        (options.commands.is_empty(), "one --command: SCAN, SSCAN, HSCAN or ZSCAN with its cursor"),
        (options.commands.len() > 1, "exactly one --command (SCAN, SSCAN, HSCAN or ZSCAN)"),
        (options.cluster, "one server, and no cluster (--cluster-mode)"),
        (options.monitor_input.is_some(), "a command of its own, and no --monitor-input"),
    ];
    match contradicts.into_iter().find(|(given, _)| *given) {
        Some((_, needs)) => Err(check_error(format!("{walk} needs {needs}."))),
        None => Ok(()),
    }
}

fn of_transactions(options: &Options) -> Result<(), Fault> {
    if options.transaction && options.commands.is_empty() {
        return Err(check_error("--transaction requires --command."));
    }
    if !options.is_in_one_piece() {
        return Ok(());
    }
    let not = |why: &str| {
        Err(check_error(format!(
            "--transaction {why} is not carried out by keystorm; see docs/memtier.md"
        )))
    };
    if options.retries() {
        return not(
            "with --retry-on-error, though others of its commands may have been carried out,",
        );
    }
    if options.reconnect_interval > 0 || options.monitor_input.is_some() {
        return not("with --reconnect-interval or --monitor-input");
    }
    Ok(())
}

/// Refuses what belongs to a port that is not given.
fn of_prometheus(options: &Options) -> Result<(), Fault> {
    let of_port = [
        (options.prometheus_address.is_some(), "bind-addr"),
        (!options.prometheus_labels.is_empty(), "run-label"),
        (options.prometheus_buckets.is_some(), "latency-buckets"),
    ];
    match of_port.into_iter().find(|(given, _)| *given && options.prometheus_port.is_none()) {
        Some((_, name)) => {
            Err(usage_error(format!("--prometheus-{name} requires --prometheus-port.")))
        }
        None => Ok(()),
    }
}

fn of_connections(options: &Options) -> Result<(), Fault> {
    if options.cluster {
        let refused = [
            (options.reconnect_interval > 0, "reconnect-interval"),
            (options.wait_ratio.is_some(), "wait-ratio"),
            (options.unix_socket.is_some(), "unix-socket"),
        ];
        if let Some((_, name)) = refused.into_iter().find(|(given, _)| *given) {
            return Err(usage_error(format!("cluster mode does not support {name} option.")));
        }
        if options.commands.is_empty() && options.select_db.is_some_and(|db| db > 0) {
            return Err(check_error("a cluster has database 0 only."));
        }
    }
    let several = options.multi_key_get > 0;
    let faults = [
        (
            several && options.protocol == "memcache_binary",
            "multi-key-get is only supported with Redis protocols and memcache_text.",
        ),
        (several && options.data_offset > 0, "multi-key-get cannot be used with data-offset."),
    ];
    refuse(usage_error, &faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(line: &str) -> Result<(), Fault> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let given = super::super::words::read(&words, |_| None).unwrap().given;
        let order: Vec<&'static str> = given.iter().map(|given| given.name).collect();
        check(&Options::read(&given).unwrap(), &order)
    }

    #[test]
    fn options_that_contradict_each_other_are_refused_with_the_usage() {
        for (line, says) in [
            ("--test-time 1 -n 5", "mutually exclusive"),
            ("-n 5 --test-time 1", "mutually exclusive"),
            ("--command PING --ratio 1:1", "ratio is not allowed"),
            ("--command PING --key-pattern R:R", "command-key-pattern"),
            ("--data-size 3 --data-size-range 1-2", "mutually exclusive"),
            ("--key-median 5", "set to G"),
            ("-P memcache_text -a x", "authenticate"),
            ("-P memcache_binary -a x", "USER:PASSWORD"),
            ("-P memcache_text --select-db 1", "select-db"),
            ("--cluster-mode --wait-ratio 1:1", "wait-ratio"),
            ("--prometheus-bind-addr [::1]", "--prometheus-bind-addr requires --prometheus-port."),
        ] {
            let Err(Fault::Usage(error)) = check_line(line) else { panic!("{line}") };
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn others_are_refused_without() {
        for (line, says) in [
            ("-S s.sock -p 6379", "cannot be used together"),
            ("--clients-start 1 --test-time 3", "must be given together"),
            ("--clients-start 1 --clients-step 1 --step-duration 1", "needs --test-time"),
            (
                "--clients-start 50 --clients-step 1 --step-duration 1 --test-time 3",
                "below --clients",
            ),
            ("--expiry-range 0-3", "--expiry-range from 0"),
            ("--data-verify", "only valid with --data-import"),
            ("--no-expiry", "only valid with --data-import"),
            ("--data-import f -d 3", "--data-size cannot be used"),
            ("--data-import f -R", "--random-data cannot be used"),
            ("--data-import f --cluster-mode", "--cluster-mode cannot be used"),
            ("--data-import f --key-prefix p", "--generate-keys"),
            ("--data-import f --data-verify --generate-keys", "--key-pattern S:R"),
            ("--scan-incremental-max-iterations 3", "needs --scan-incremental-iteration"),
            ("--scan-incremental-iteration", "one --command"),
            ("--transaction", "--transaction requires --command"),
            ("--transaction --command GET --read-preference nearest", "mutually exclusive"),
            ("--cluster-mode --read-server h:1", "mutually exclusive"),
            (
                "--read-server h:1 --read-preference nearest --clients-start 1 --clients-step 1 \
              --step-duration 1 --test-time 9",
                "--clients-start with --read-server",
            ),
            ("--verify-only", "only valid with --data-import"),
            ("--scan-incremental-iteration --command SCAN --pipeline 2", "a pipeline of 1"),
            ("--scan-incremental-iteration --command SCAN --cluster-mode", "one server"),
        ] {
            let Err(Fault::Check(error)) = check_line(line) else { panic!("{line}") };
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn what_may_stand_together_does() {
        for line in [
            "",
            "--key-pattern G:R --key-median 5 --key-maximum 10",
            "--command SET --command-key-pattern G --key-stddev 3",
            "-S s.sock",
            "--test-time 2 -n allkeys",
            "--command MULTI --command EXEC --transaction --pipeline 9",
            "--data-size-range 1-5 --data-size-pattern S",
            "--data-size-pattern=R",
            "--data-offset=0 -P memcache_text",
            "--generate-keys",
            "--scan-incremental-max-iterations=0",
            "--reconnect-backoff-factor 2",
            "--command-stats-breakdown=COMMAND",
            "--print-percentiles=50,",
        ] {
            assert_eq!(check_line(line), Ok(()), "{line}");
        }
    }
}
