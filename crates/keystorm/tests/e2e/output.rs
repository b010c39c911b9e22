//! The layouts, to the byte except for figures.

use crate::mask::masked;
use crate::server::Server;

/// What a run prints, masked, with marks so that white space at either end counts.
/// The layout of what a line prints. How many rows rest on few replies, and are marked, depends on the run.
fn layout(server: &Server, line: &str) -> String {
    let masked = masked(&server.run(line).ok().out);
    let is_marked = |line: &&str| line.ends_with(" *") || line.starts_with("  * ");
    let mut lines: Vec<&str> = masked.split('\n').filter(|line| !is_marked(line)).collect();
    lines.dedup_by(|row, before| row == before && row.contains(" <= "));
    format!("[{}]", lines.join("\n"))
}

#[test]
fn the_quiet_layout() {
    let server = Server::redis();
    insta::assert_snapshot!(layout(&server, "-q -n 1000 -t ping,lrange_100"), @"
    [PING_INLINE: # requests per second, p50=# msec, p99=# msec, limited by ...
    PING_MBULK: # requests per second, p50=# msec, p99=# msec, limited by ...
    LPUSH (needed to benchmark LRANGE): # requests per second, p50=# msec, p99=# msec, limited by ...
    LRANGE_100 (first # elements): # requests per second, p50=# msec, p99=# msec, limited by ...

    ]
    ");
    insta::assert_snapshot!(layout(&server, "-q -n 1000 set k v"), @"
    [set k v: # requests per second, p50=# msec, p99=# msec, limited by ...
    ]
    ");
}

#[test]
fn the_csv_layout() {
    let server = Server::redis();
    let out = server.run("--csv -n 1000 -t set,lrange_100").ok().out;
    let mut lines = out.lines();
    assert_eq!(
        lines.next().unwrap(),
        "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
         \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\",\"hits\",\"misses\",\
         \"server_cpu_us_per_request\",\"client_cpu_us_per_request\""
    );
    let figures = ",\"#\"".repeat(11);
    let titles = ["SET", "LPUSH (needed to benchmark LRANGE)", "LRANGE_100 (first # elements)"];
    let rows: Vec<String> = lines.map(masked).collect();
    assert_eq!(rows, titles.map(|title| format!("\"{title}\"{figures}")));
    assert!(out.ends_with("\"\n") && !out.contains("\n\n"));
    let quoted = server.run("--csv -n 10 echo 'a\"b,c'").ok();
    quoted.prints("\n\"echo a\"\"b,c\",\"");
}

#[test]
fn the_text_layout() {
    let server = Server::redis();
    insta::assert_snapshot!(layout(&server, "-n 1000 -c 20 -P 2 -t set"), @r##"
    [====== SET ======
      # requests completed in # seconds
      # connections, pipeline of #, values of # bytes, # thread
      redis #, save "", appendonly no

      throughput: # requests/s
                             avg     min     p50     p95     p99     max
      latency (ms) # # # # # #
      CPU: ...
      limited by: ...

    Latency by percentile:
      # % <= # ms #

    Replies within a latency:
      # % <= # ms #
    ]
    "##);
    insta::assert_snapshot!(layout(&server, "-n 1000 --threads 2 -k 0 get k"), @r##"
    [====== get k ======
      # requests completed in # seconds
      # connections, one per pipeline of #, values of # bytes, # threads
      redis #, save "", appendonly no

      throughput: # requests/s
                             avg     min     p50     p95     p99     max
      latency (ms) # # # # # #
      CPU: ...
      # hits, # misses
      hit ratio: # %, # % as counted by the server
      limited by: ...

    Latency by percentile:
      # % <= # ms #

    Replies within a latency:
      # % <= # ms #
    ]
    "##);
}

#[test]
fn several_tests_end_in_one_table_of_80_columns() {
    let server = Server::redis();
    let ran = server.run("-n 500 -t set,get").ok();
    let table: Vec<&str> =
        ran.out.split("====== 2 tests ======\n").nth(1).unwrap().lines().collect();
    let head = ["test", "requests/s", "p50", "(ms)", "p99", "(ms)", "max", "(ms)", "limited", "by"];
    assert_eq!(table[0].split_whitespace().collect::<Vec<_>>(), head);
    assert!(table[1].starts_with("  SET ") && table[2].starts_with("  GET "), "{table:?}");
    assert!(table[..3].iter().all(|line| line.chars().count() <= 80), "{table:?}");
    let few = ran.out.matches(" % <= ").count();
    let ran = server.run("-n 500 -t set,get --distribution full").ok();
    assert!(ran.out.matches(" % <= ").count() > few, "{}", ran.out);
}

#[test]
fn the_peers_layout() {
    let server = Server::redis();
    insta::assert_snapshot!(layout(&server, "--format redis -n 1000 -c 20 -P 2 -t set"), @r##"
    [====== SET ======
      # requests completed in # seconds
      # parallel clients
      # bytes payload
      keep alive: #
      host configuration "save": 
      host configuration "appendonly": no
      multi-thread: no

    Latency by percentile distribution:
    #% <= # milliseconds (cumulative count #)

    Cumulative distribution of latencies:
    #% <= # milliseconds (cumulative count #)

    Summary:
      throughput summary: # requests per second
      latency summary (msec):
              avg       min       p50       p95       p99       max
                #         #         #         #         #         #

    ]
    "##);
}

#[test]
fn the_text_layout_of_a_paced_run() {
    let server = Server::redis();
    insta::assert_snapshot!(layout(&server, "--rps 2000 --duration 1 get k"), @r##"
    [====== get k ======
      # requests completed in # seconds
      # connections, pipeline of #, values of # bytes, # thread
      redis #, save "", appendonly no

      throughput: # requests/s of # requested
      avg min p50 p95 p99 p99.# max
      response time (ms) # # # # # #* #
      service time (ms) # # # # # #* #
      rate (requests/s) # # # # # - #
      schedule: ...
      response p99 # ms: # due to sent, # until it was back in this kernel, # until keystorm read it
      CPU: ...
      # hits, # misses
      hit ratio: # %, # % as counted by the server
      limited by: ...

    Latency by percentile:
      # % <= # ms #

    Replies within a latency:
      # % <= # ms #
    ]
    "##);
}

#[test]
fn the_classic_layout() {
    let server = Server::redis();
    insta::assert_snapshot!(layout(&server, "--format classic -n 1000 -t set"), @r##"
    [====== SET ======
      # requests completed in # seconds
      # parallel clients
      # bytes payload
      keep alive: #

    #% <= # milliseconds
    # requests per second
      limited by: ...


    ]
    "##);
}

#[test]
fn formats_have_names_as_well() {
    let server = Server::redis();
    for (short, named) in [("-q", "quiet"), ("--csv", "csv"), ("", "text")] {
        // What the machine did to one run stands in the output of that run alone.
        let mut outputs = (0..10).map(|_| {
            let short = masked(&server.run(&format!("{short} -n 200 -t set")).ok().out);
            let named = masked(&server.run(&format!("--format {named} -n 200 -t set")).ok().out);
            (short, named)
        });
        assert!(outputs.any(|(short, named)| short == named), "{short:?} is not {named}");
    }
}

#[test]
fn the_first_byte_adds_its_figures() {
    let server = Server::redis();
    let ran = server.run("--first-byte -n 1000 -P 4 get k").ok();
    let ran = ran.prints("\n  first byte (ms) ");
    let at = ran.out.find("first byte (ms)").unwrap();
    assert!(ran.out.find("  latency (ms) ").unwrap() < at);
    let quiet = server.run("--first-byte -q -n 1000 get k").ok();
    assert!(
        masked(&quiet.out).ends_with(
            "p50=# msec, p99=# msec, first byte p50=# msec, # hits, # misses, limited by ...\n"
        ),
        "{}",
        quiet.out
    );
    let csv = server.run("--first-byte --csv -n 1000 get k").ok();
    let columns: Vec<usize> = csv.out.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [14, 14], "{}", csv.out);
    server.run("--first-byte --format classic -n 1000 get k").ok().prints("latency to first byte");
}

#[test]
fn a_short_run_has_no_figure_that_is_none() {
    let server = Server::redis();
    for format in ["-q", "--csv", "", "--format classic", "--first-byte"] {
        for load in ["-n 1", "-n 1 -c 1 -P 1000", "-n 1 --rps 1", "--rps 5 --duration 0.1"] {
            let ran = server.run(&format!("{format} {load} -t get")).ok();
            let out = ran.out.to_lowercase();
            assert!(!out.contains("inf") && !out.contains("nan"), "{format} {load}: {out}");
        }
    }
}

#[test]
fn latencies_are_finer_than_the_peers() {
    let server = Server::redis();
    let out = server.run("-n 5000 -c 10 -t get").ok().out;
    let steps = out.lines().filter_map(|l| l.split("<= ").nth(1)?.split_whitespace().next());
    let micros = steps.filter_map(|ms| ms.replace('.', "").parse::<u64>().ok());
    assert!(micros.into_iter().any(|us| us % 8 != 7), "{out}");
}

#[test]
fn precision_is_taken_from_one_to_four_digits() {
    let server = Server::redis();
    for digits in 1..=4 {
        server.run(&format!("--precision {digits} -n 500 -t get")).ok();
    }
}
