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
    let jitter = check_error(
        "thread-conn-start-min-jitter-micros must not be above thread-conn-start-max-jitter-micros.",
    );
    refuse(options.min_jitter > options.max_jitter, jitter)?;
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
    let both = check_error("UNIX domain socket and TCP cannot be used together.");
    refuse(options.unix_socket.is_some() && tcp, both)
}

fn refuse(is_fault: bool, fault: Fault) -> Result<(), Fault> {
    if is_fault { Err(fault) } else { Ok(()) }
}

/// Returns the name of the first of these options that was given.
fn first<'n>(options: &[(bool, &'n str)]) -> Option<&'n str> {
    options.iter().find(|(given, _)| *given).map(|(_, name)| *name)
}

fn of_protocol(options: &Options) -> Result<(), Fault> {
    if !options.protocol_kind().is_memcache() {
        return Ok(());
    }
    let others = options.cluster || options.wait_ratio.is_some() || !options.commands.is_empty();
    let of_redis = [
        (options.select_db.is_some(), "select-db"),
        (options.no_touch, "client-no-touch"),
        (options.data_offset > 0, "data-offset"),
        (others, "cluster-mode, wait-ratio and command"),
    ];
    if let Some(names) = first(&of_redis) {
        return Err(usage_error(format!("{names} can only be used with redis protocol.")));
    }
    let login = options.authenticate.as_ref();
    let text = usage_error("authenticate can only be used with redis or memcache_binary.");
    refuse(options.protocol == "memcache_text" && login.is_some(), text)?;
    let binary = usage_error("binary_memcache credentials must be in the form of USER:PASSWORD.");
    let is_whole = login.is_none_or(|login| login.contains(':'));
    refuse(options.protocol == "memcache_binary" && !is_whole, binary)
}

fn of_length(options: &Options, order: &[&'static str]) -> Result<(), Fault> {
    let at = |name| order.iter().position(|given| *given == name);
    let Some((time, requests)) = at("test-time").zip(at("requests")) else { return Ok(()) };
    // In this order both are taken there, and whichever ends first counts.
    let both = options.requests == Some(Requests::AllKeys) && time < requests;
    refuse(!both, usage_error("--test-time and --requests are mutually exclusive."))
}

fn of_steps(options: &Options) -> Result<(), Fault> {
    let given =
        [options.clients_start, options.clients_step, options.step_duration].map(|o| o.is_some());
    if given == [false; 3] {
        return Ok(());
    }
    let together = "clients-start, clients-step and step-duration must be given together.";
    refuse(given != [true; 3], check_error(together))?;
    let other_end = options.test_time.is_none() || options.requests.is_some();
    refuse(other_end, check_error("clients-start needs --test-time, and no --requests."))?;
    let all = options.clients_start >= Some(options.clients);
    refuse(all, check_error("clients-start must be below --clients."))?;
    let shared = "--clients-start with --replica-clients is not carried out by keystorm: connections \
                  are shared out by node there.";
    refuse(options.cluster && !options.has_clients(), check_error(shared))
}

fn of_keys(options: &Options) -> Result<(), Fault> {
    let (least, most) = (options.key_minimum, options.key_maximum);
    refuse(most < least, usage_error("key-maximum must be at least key-minimum."))?;
    let gaussian = options.patterns().contains(&Pattern::Gaussian)
        || options.commands.iter().any(|command| command.pattern == Pattern::Gaussian);
    let one = usage_error("key-pattern=G requires a key-maximum above key-minimum.");
    refuse(gaussian && most <= least, one)?;
    let shaped = options.key_stddev.is_some() || options.key_median.is_some();
    let shape = "key-stddev and key-median are only allowed together with key-pattern set to G.";
    refuse(shaped && !gaussian, usage_error(shape))?;
    let bounds = least as f64..=most as f64;
    let beyond = options.key_median.is_some_and(|median| !bounds.contains(&median));
    refuse(beyond, usage_error("key-median must be between key-minimum and key-maximum."))
}

fn of_values(options: &Options, given: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let ways = [options.data_size.is_some(), given("data-size-range"), given("data-size-list")];
    let several = ways.into_iter().filter(|given| *given).count() > 1;
    let one = "data-size, data-size-list and data-size-range are mutually exclusive.";
    refuse(several, usage_error(one))?;
    // R is what holds anyway.
    let by_key = options.size_by_key && !given("data-size-range");
    let range = usage_error("data-size-pattern S can only be used with data-size-range.");
    refuse(by_key, range)?;
    let expires = options.data_offset > 0 && options.expiry_range.is_some();
    refuse(expires, usage_error("data-offset cannot be used with expiry-range."))?;
    refuse(options.data_offset >= 1 << 29, usage_error("data-offset is limited to 512 MB."))?;
    let Some((least, most)) = options.expiry_range else { return Ok(()) };
    let at_once = "--expiry-range from 0 is carried out by keystorm with memcache_text only: a time \
                   to live is a second at least; see docs/memtier.md";
    refuse(least == 0 && options.protocol != "memcache_text", check_error(at_once))?;
    let drawn = "--expiry-range is carried out by keystorm with memcache_binary only if both ends \
                 are equal, such as 10-10; see docs/memtier.md";
    refuse(least != most && options.protocol == "memcache_binary", check_error(drawn))
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
    let both = check_error("--no-expiry and --expiry-range contradict each other.");
    refuse(options.no_expiry && options.expiry_range.is_some(), both)?;
    // Unsupported options.
    let refused = |names: &[&str], why: &str| {
        let with = "with --data-import is not carried out by keystorm";
        refused(names, &format!("{with}: {why}; see docs/memtier.md"))
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
    let is_unknown = options.data_verify && options.generate_keys && !sequential;
    refuse(is_unknown, check_error(unknown))
}

fn of_commands(options: &Options) -> Result<(), Fault> {
    if options.commands.is_empty() {
        return Ok(());
    }
    let ratio = usage_error("when using arbitrary command, ratio is not allowed.");
    refuse(options.ratio.is_some(), ratio)?;
    let pattern = "when using arbitrary command, key-pattern is given with command-key-pattern.";
    refuse(options.key_pattern.is_some(), usage_error(pattern))?;
    let parallel = options.commands.iter().filter(|given| given.pattern == Pattern::Parallel);
    let count = parallel.count();
    let all = usage_error("parallel key-pattern must be configured for all commands.");
    refuse(count > 0 && count < options.commands.len(), all)?;
    let several = usage_error("multi-key-get cannot be combined with --command.");
    refuse(options.multi_key_get > 0, several)?;
    let mut commands = options.commands.iter().filter(|_| options.cluster);
    if let Some(command) = commands.find(|given| !is_of_one_slot(&given.text, &options.key_prefix))
    {
        return Err(check_error(format!(
            "Cluster mode supports only a single key in a command, unless all have the same hash tag \
             {{…}}: {}",
            command.text
        )));
    }
    let waits = usage_error("wait-ratio cannot be used with arbitrary commands.");
    refuse(options.wait_ratio.is_some(), waits)
}

fn of_scans(options: &Options) -> Result<(), Fault> {
    if !options.scan_walk {
        // 0 is what holds anyway.
        let alone = "scan-incremental-max-iterations needs --scan-incremental-iteration.";
        return refuse(options.scan_most.is_some(), check_error(alone));
    }
    let contradicts = [
        (options.pipeline > 1, "a pipeline of 1"),
        (options.commands.is_empty(), "one --command: SCAN, SSCAN, HSCAN or ZSCAN with its cursor"),
        (options.commands.len() > 1, "exactly one --command (SCAN, SSCAN, HSCAN or ZSCAN)"),
        (options.cluster, "one server, and no cluster (--cluster-mode)"),
        (options.monitor_input.is_some(), "a command of its own, and no --monitor-input"),
    ];
    first(&contradicts).map_or(Ok(()), |needs| {
        Err(check_error(format!("scan-incremental-iteration needs {needs}.")))
    })
}

fn of_transactions(options: &Options) -> Result<(), Fault> {
    let alone = options.transaction && options.commands.is_empty();
    refuse(alone, check_error("--transaction requires --command."))?;
    if !options.is_in_one_piece() {
        return Ok(());
    }
    let not = [
        (
            options.retries(),
            "with --retry-on-error, though others of its commands may have been carried out,",
        ),
        (
            options.reconnect_interval > 0 || options.monitor_input.is_some(),
            "with --reconnect-interval or --monitor-input",
        ),
    ];
    first(&not).map_or(Ok(()), |why| {
        Err(check_error(format!(
            "--transaction {why} is not carried out by keystorm; see docs/memtier.md"
        )))
    })
}

/// Refuses what belongs to a port that is not given.
fn of_prometheus(options: &Options) -> Result<(), Fault> {
    let of_port = [
        (options.prometheus_address.is_some(), "bind-addr"),
        (!options.prometheus_labels.is_empty(), "run-label"),
        (options.prometheus_buckets.is_some(), "latency-buckets"),
    ];
    let alone = first(&of_port).filter(|_| options.prometheus_port.is_none());
    alone.map_or(Ok(()), |name| {
        Err(usage_error(format!("--prometheus-{name} requires --prometheus-port.")))
    })
}

fn of_connections(options: &Options) -> Result<(), Fault> {
    if options.cluster {
        let refused = [
            (options.reconnect_interval > 0, "reconnect-interval"),
            (options.wait_ratio.is_some(), "wait-ratio"),
            (options.unix_socket.is_some(), "unix-socket"),
        ];
        if let Some(name) = first(&refused) {
            return Err(usage_error(format!("cluster mode does not support {name} option.")));
        }
        let other_db = options.commands.is_empty() && options.select_db.is_some_and(|db| db > 0);
        refuse(other_db, check_error("a cluster has database 0 only."))?;
    }
    let several = options.multi_key_get > 0;
    let text = "multi-key-get is only supported with Redis protocols and memcache_text.";
    refuse(several && options.protocol == "memcache_binary", usage_error(text))?;
    let parts = usage_error("multi-key-get cannot be used with data-offset.");
    refuse(several && options.data_offset > 0, parts)
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
