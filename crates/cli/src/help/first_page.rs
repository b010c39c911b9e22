//! The first pages of help, of a run and of `compare`: a summary, examples, and the options that most people
//! use. Every option is in `--help all` and the man page.

/// First page of a run, at most 60 lines of 100 columns. A test runs every line that begins with `$`.
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
  --timeout, --deadline TIME a request that takes, or in all waits, longer has failed
  --on WHERE                 several clients, one result: local:4, ssh:HOST,HOST
What is sent:
  -t LIST                    tests of the suite: ping,set,get,lrange_100,...
  -r N                       draw keys from 0 to N-1; --key-dist zipf for a few hot ones
  -d SIZE                    bytes of a value [3], or a distribution: uniform:100..4k
  --mix                      draw one of several commands, separated by ';', by weight
  --fill, --verify           write first what will be read; compare each value read with it
  --workload FILE            commands, load and phases from a TOML file or a preset
Results:
  -q, --csv, --json FILE     a line for each test; CSV; everything, for `keystorm show`
  --html FILE                a page with charts
  --slo TARGET               kept or missed, such as 'p99<2ms'; exit code 3 if missed
  --repeat N                 run each test N times; report means with 95 % intervals
  --metrics PORT             serve OpenMetrics while tests run

Subcommands (keystorm NAME --help):
  search, sweep, survey      find the highest rate; try combinations; measure the whole machine
  deliver, connect           measure messages to their subscribers; new connections, by stage
  record, describe           record the traffic of a server; find out what it is like
  replay                     send recorded traffic again; with compare --replay, to two servers
  impact                     the price of BGSAVE, DEL, scripts; which requests make others wait
  compare, doctor            compare two servers or saved runs; check what distorts results here
  suite, footprint           run a suite of specs; find what a key costs in memory
  show, merge                print or chart saved runs; add them up
  history, bisect            saved runs over time; the commit that changed a figure
  presets, sink              list presets; a server that does nothing, to measure clients with
  TOOL                       take command lines of another tool: memtier, ycsb, rpc-perf

More: keystorm --help all    every option
      keystorm help OPTION   one option, with examples: keystorm help --rps
      keystorm help TOPIC    a page of the documentation; keystorm help topics lists them
";

/// First page of `compare`.
pub(super) const COMPARE: &str = "\
Compares servers under one load, in turn, there and back, so that a slow moment of the machine
affects all; or two saved runs. Prints the ratio of throughput, latency percentiles and CPU per
request with a 95 % confidence interval, whether they differ, and what limited each. With --rps and
--slo it says which of the servers keeps the target, and at what cost.

Usage: keystorm compare SERVER SERVER... [OPTIONS] [--] [COMMAND ARGS...]

A SERVER is host:port, a URI (redis://, rediss://, valkey://, unix://, memcache://), a unix socket,
or a program to start, with its arguments in one word. Redis and memcached are compared on equal
terms. Two files that --json has saved are compared as they are.

Examples:
  Two servers that are started for it:
    $ keystorm compare redis-server valkey-server -t get -P 16 --duration 0.3
  To fail a build if the second is surely over 5 % worse:
    $ keystorm compare redis-server valkey-server -t set --duration 0.3 --fail-on-regression 5
  Redis and memcached, one core each:
    $ keystorm compare redis-server memcached --tables core --duration 0.2
  Which of three servers keeps a target at a rate, and at what cost:
    $ keystorm compare redis-server valkey-server memcached --rps 2k --slo 'p99<50ms' -t get \
--duration 0.2

Load, the same for all:
  -t LIST                    tests [default: set,get]; or a command at the end of the line
  -c N, -P N                 connections [50], requests in flight on each [1]
  --rps RATE                 requests per second, on a schedule; without it, as fast as it goes
  --duration TIME, -n N      length of each run [default: 1s after 0.2s of warm-up]
  -r N, -d SIZE              keys, bytes of a value
  --fill                     write first what will be read
Comparison:
  --repeat N                 blocks, in each of which every server runs twice [default: 5]
  --slo TARGET               a target at --rps, such as 'p99<2ms'; says which server keeps it
  --fail-on-regression PCT   exit with code 3 if the second is surely worse by more than this
  --inconclusive WHAT        an undecided gate: pass, fail or repeat [default: exit code 4]
  --errors PCT               share of a server's requests that may fail [default: 0.1]
  --name-a, --name-b NAME    names of the first two servers in results
  --replay FILE              recorded traffic as the load: shows what the second changes for it
Results:
  --html FILE, --json FILE   a page with charts; everything, for a later comparison
  --csv                      a line for each figure

More: keystorm compare --help all    every option, and the tables of equal terms
      keystorm help comparing        how to compare, and what the figures mean
";

/// First page of deliveries.
pub(super) const DELIVER: &str = "\
Measures how long messages take to their receivers, from when each was due, and counts those that
are lost, doubled or out of order.

Usage: keystorm deliver KIND [OPTIONS] [OPTIONS OF A RUN]

Kinds:
  pubsub        PUBLISH to SUBSCRIBE, PSUBSCRIBE (--patterns) or SSUBSCRIBE (--sharded)
  list          LPUSH to BRPOP, or to BLMOVE with LREM and others (--pop)
  zset          ZADD to BZPOPMIN and others (--zpop)
  stream        XADD to XREAD, or to XREADGROUP with XACK (--groups, --consumers)
  notify        a key that is written or expires, to the subscribers of that event (--event)
  replica       a write at the primary, until each replica has it
  invalidate    a write, until clients that cache the key hear of it (CLIENT TRACKING)

Examples:
  50 subscribers of one channel, 500 messages per second:
    $ keystorm deliver pubsub --channels 1 --subscribers 50 --rps 500 --duration 1s
  A queue as Sidekiq has it, with 25 workers:
    $ keystorm deliver --like=sidekiq --receivers 25 --rps 1k -n 2000
  The highest rate at which p99 of delivery stays below a target and nothing is lost:
    $ keystorm search --slo 'p99<100ms' --most 2k --duration 0.3 --no-curve deliver pubsub
  The same messages through two servers:
    $ keystorm compare redis-server valkey-server --rps 500 --duration 0.3 --repeat 2 deliver list

Load:
  --rps RATE                 messages per second, on a schedule; without it, as fast as it goes
  -n N, --duration TIME      messages, or how long
  -d SIZE                    bytes of a message [default: 128]
  --drain TIME               wait this long for the last messages [default: 5s]
  --like NAME                a queue as sidekiq, celery, bullmq or resque has it
Results:
  --slo TARGET               a target for the delivery: 'p99<5ms'
  --html FILE, --json FILE   a page with charts; everything, for a later comparison

More: keystorm deliver KIND --help    the options of a kind, such as how many receive
      keystorm deliver --help all     every option
      keystorm help messages          what is measured, and what the figures mean
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_on_a_page() {
        for page in [RUN, COMPARE, DELIVER] {
            assert!(page.lines().count() <= 60, "{} lines", page.lines().count());
            // An example has to stand on one line.
            for line in page.lines().filter(|line| !line.starts_with("    $ ")) {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }
}
