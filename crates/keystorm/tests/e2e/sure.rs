//! Comparisons that repeat until they are sure.

use crate::program::Keystorm;
use crate::server::Server;

fn compare(a: &Server, b: &Server, line: &str) -> crate::program::RunOutput {
    let (a, b) = (a.port(), b.port());
    Keystorm::new(&format!("compare 127.0.0.1:{a} 127.0.0.1:{b} --disturbed count {line}")).run()
}

#[test]
fn blocks_are_added_until_the_interval_is_narrow_or_the_time_is_too_short() {
    let (a, b) = (Server::redis(), Server::redis());
    let line = "-n 2000 --repeat 2 --until-sure=10 --sure-within 40s -t get";
    let ran = compare(&a, &b, line);
    // Which of the two depends on the machine; both say so.
    let (known, needs) =
        (ran.err.contains("GET: throughput is known to ±"), ran.err.contains("needs"));
    match ran.code.unwrap_or(-1) {
        0 => assert!(known && !needs, "{}", ran.err),
        4 => assert!(needs, "{}", ran.err),
        code => panic!("{code}: {} {}", ran.out, ran.err),
    }
    assert!(ran.out.contains("at least 2 blocks for each test"), "{}", ran.out);
    assert!(a.calls("get") >= 2 * 2 * 2000, "{}", a.calls("get"));
}

#[test]
fn what_would_take_too_long_is_not_begun() {
    let (a, b) = (Server::redis(), Server::redis());
    let line = "-n 1000 --warmup 0 --repeat 3 --until-sure=0.01 --sure-within 1s -t get";
    compare(&a, &b, line).exits(4).says(", not ±0.01 %, which needs ");
    assert_eq!(a.calls("get"), 3 * 2 * 1000);
}

#[test]
fn what_cannot_be_repeated_is_refused() {
    for (line, why) in [
        (
            "compare redis-server redis-server --sure-within 5m",
            "--sure-within requires --until-sure",
        ),
        ("compare redis-server redis-server --until-sure --repeat 1", "--repeat 2 or more"),
        ("compare redis-server redis-server --until-sure --rps 1k,2k", "without --slo or a list"),
        ("compare redis-server memcached --until-sure", "two servers of one protocol"),
        ("compare redis-server redis-server --until-sure=0", "from 0.01 to 50"),
        ("compare redis-server redis-server --until-sure 20 -t get", "write it behind =, as in"),
        (
            "compare redis-server redis-server --until-sure --fail-on-regression 5 --inconclusive repeat",
            "decides the number of repeats",
        ),
    ] {
        Keystorm::new(line).run().exits(2).says(why);
    }
}
