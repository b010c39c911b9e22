//! The first page of help of a run: what keystorm is, examples, and the options that most people use. Every
//! option is in `keystorm --help all` and the man page.

/// At most 60 lines of 100 columns. Every line that begins with `$` is run by a test.
pub(super) const RUN: &str = "\
keystorm measures how fast a Redis, Valkey or memcached server is, how long its users wait,
and what limited both.

Usage: keystorm [OPTIONS] [--] [COMMAND ARGS...]
       keystorm SUBCOMMAND [OPTIONS]

Examples:
  $ keystorm --spawn -q                                      the suite, on a private server
  $ keystorm -t get --fill -r 100k --rps 10k --duration 2    10,000 GETs/s, keys written first
  $ keystorm -r 10k -n 10000 -d 100 set user:__key__ __data__    any command, with keys and values
  $ keystorm --workload ycsb-b -r 10k -n 10000               a preset: 95 % reads, 5 % updates
    keystorm search --spawn -t get -r 100k --slo 'p99<1ms'   the highest rate that keeps a target
    keystorm compare redis-server valkey-server -t set,get   two servers, with confidence intervals

Server:
  -h HOST, -p PORT           where it is [default: 127.0.0.1, 6379]; -s PATH for a unix socket
  -u URI                     the same as a URI: redis://, rediss://, unix://, memcache://, ...
  -a PASSWORD, --user NAME   login; REDISCLI_AUTH in the environment keeps the password private
  --tls, --cacert FILE       TLS, and the authority to trust
  --cluster                  a cluster, through any of its nodes
  --protocol memcache        memcached, by its text protocol
  --spawn[=PROGRAM]          start a private server for this run, and stop it afterwards
Load:
  -c N, -P N, --threads N    connections [50], requests in flight on each [1], threads
  -n N                       requests in all [default: 100000]
  --duration TIME            run for this long instead: 10s, 5m
  --warmup TIME              do not measure before this time
  --rps RATE                 requests per second: 10k; a ramp, 10k..100k/30s; steps, 10k,20k/10s
  --timeout TIME             a request that takes longer has failed
  --on WHERE                 several clients, one result: local:4, ssh:HOST,HOST
What is sent:
  -t LIST                    tests of the suite: ping,set,get,lrange_100,...
  -r N                       draw keys from 0 to N-1; --key-dist zipf for a few hot ones
  -d SIZE                    bytes of a value [3], or a distribution: uniform:100..4k
  --mix                      draw one of several commands, separated by ';', by weight
  --fill                     write first what will be read
  --verify                   compare each value read with what was written
  --workload FILE            commands, load and phases from a TOML file or a preset
Results:
  -q, --csv, --json FILE     a line for each test; CSV; everything, for `keystorm show`
  --html FILE                a page with charts
  --repeat N                 run each test N times; report means with 95 % intervals
  --metrics PORT             serve OpenMetrics while tests run

Subcommands (keystorm NAME --help):
  search, sweep, survey      find the highest rate; try combinations; measure the whole machine
  compare, doctor            compare two servers or saved runs; check what distorts results
  show, report, merge        print, chart or add up saved runs
  presets, sink, calibrate   list presets; a server that does nothing; the client's own limits
  memtier, ycsb, rpc-perf    take command lines of memtier_benchmark, YCSB and rpc-perf

More: keystorm --help all    every option
      keystorm help OPTION   one option, with examples: keystorm help --rps
      keystorm help TOPIC    a page of the documentation; keystorm help topics lists them
";

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;
    use crate::{OWN, topics};

    #[test]
    fn it_fits_on_a_page() {
        assert!(RUN.lines().count() <= 60, "{} lines", RUN.lines().count());
        for line in RUN.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn its_options_and_subcommands_exist() {
        let mut tree = crate::tree::tree();
        tree.build();
        let names = |command: &Command| -> Vec<String> {
            let of = |arg: &Arg| {
                let short = arg.get_short().map(|short| format!("-{short}"));
                short.into_iter().chain(arg.get_long().map(|long| format!("--{long}")))
            };
            command.get_arguments().flat_map(of).collect()
        };
        let known: Vec<String> =
            std::iter::once(&tree).chain(tree.get_subcommands()).flat_map(names).collect();
        let words = RUN
            .split([' ', ',', '[', ']', '=', '(', ')', ':', ';', '\n'])
            .filter(|word| word.starts_with('-'));
        for word in words.filter(|word| *word != "--") {
            assert!(known.iter().any(|name| name == word), "{word}");
        }
        let (_, list) = RUN.split_once("Subcommands").expect("a list");
        let (list, _) = list.split_once("\n\n").expect("its end");
        let listed = list.lines().filter_map(|line| line.strip_prefix("  ")?.get(..27));
        for name in listed.flat_map(|names| names.split(", ")).map(str::trim) {
            // Other tools are no commands of ours, and each has a page.
            let found = OWN.iter().any(|front| front.names().contains(&name))
                || topics::page(name).is_some();
            assert!(found || name.is_empty(), "{name}");
        }
    }
}
