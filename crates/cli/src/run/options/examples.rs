//! What stands below the options in the help of a run.

/// Every line that begins with `$` is run by a test.
pub(super) const EXAMPLES: &str = "\
Examples:
  Start a private server, measure it, and stop it:
    $ keystorm --spawn -q

  The whole suite against 127.0.0.1:6379:
    $ keystorm

  Some tests, 20 connections, 50,000 requests each, as CSV:
    $ keystorm -t ping,set,get -c 20 -n 50000 --csv

  Fill the server with a million keys, each exactly once:
    $ keystorm -t set -n 1000000 -r 1000000 --sequential -P 16 -q

  GETs at 10,000 requests per second for 2 seconds, with the keys written first:
    $ keystorm -t get --fill -r 100k --rps 10000 --duration 2

  Any command, here with a random key and 100 bytes of data:
    $ keystorm -r 10000 -n 10000 -d 100 set user:__rand_int__ __data__

  Read and then write each key, with a few hot keys:
    $ keystorm --fill -r 10k -n 10000 --key-dist zipf get user:__key__ ';' set user:__key__ __data__

  Nine reads to one write, drawn at random; and a cache that fills on a miss:
    $ keystorm --mix --fill -r 10k -n 10000 -- 9 get user:__key__ ';' 1 set user:__key__ __data__
    $ keystorm -r 1000 -n 10000 get user:__key__ ';?' set user:__key__ __data__

  A preset workload, with more keys and at a fixed rate:
    $ keystorm --workload ycsb-b -r 10k -n 10000 --rps 10k -P 16

  A cluster, through any of its nodes:
    keystorm --cluster -h 10.0.0.1 -r 1000000 set user:__rand_int__ __data__

  A transaction:
    $ keystorm -r 1000 -n 20000 -- multi ';' set k:__rand_1st__ __data__ ';' incr hits ';' exec

Command lines of other tools, also accepted under their own names:
  keystorm memtier     memtier_benchmark
  keystorm ycsb        YCSB, for Redis and memcached
  keystorm rpc-perf    rpc-perf, for Redis and memcached

Subcommands, each with its own --help:
  keystorm compare     compare two servers or saved runs: ratios with confidence intervals
  keystorm sweep       run every combination of listed option values: a table and a chart
  keystorm search      find the highest rate that keeps a target such as p99<1ms
  keystorm deliver     measure how long messages take to their subscribers, and count them
  keystorm connect     measure how long new connections take, each stage of that, and how many fail
  keystorm record      record the traffic of a server, a cluster or memcached
  keystorm describe    find out what recorded traffic is like; make a workload file of it
  keystorm replay      send recorded traffic again, at the times at which it was recorded
  keystorm impact      measure what BGSAVE, DEL, a slow script and others cost other requests, or
                       which kind of request in a mix makes the others wait
  keystorm survey      measure how fast Redis is on this machine: a page with charts
  keystorm suite       measure many specs of commands, and find what a new version changes
  keystorm footprint   find out what a key costs in memory, and where encodings change
  keystorm presets     list the presets of --workload
  keystorm doctor      check this machine and a server for what distorts results; measure the
                       limits of this client
  keystorm sink        serve canned replies, to measure clients against
  keystorm show        print a saved run in any format, or make a page of several
  keystorm merge       add up saved runs of several clients
  keystorm history     show saved runs over time, and the steps in them
  keystorm bisect      find the commit that made a server slower or faster
  keystorm man         print the man pages or write them to a directory
  keystorm completions print completions for bash, zsh or fish
  keystorm help        print this help, that of a subcommand or an option, or a page of the
                       documentation (keystorm help topics lists them)";
