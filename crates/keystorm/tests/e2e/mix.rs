//! `--mix`, `;>` and `;?`: operations as the server saw them, and as reports tell of them.

use serde_json::Value;

use crate::record::{json, place, valid_by};
use crate::server::{Server, called, calls};

#[test]
fn a_mix_is_drawn_by_weight_whatever_carries_it() {
    let server = Server::redis();
    let line = "-q --mix -n 20000 -r 1000 --seed 3";
    let mix = "-- 9 get k:__key__ ';' 1 set k:__key__ __data__";
    let sent = |options: &str| {
        server.reset();
        server.run(&format!("{line} {options} {mix}")).ok();
        server.counts()
    };
    let first = sent("-c 1");
    assert_eq!(first["get"] + first["set"], 20_000, "-n counts operations");
    // Five standard deviations of a draw of one in ten are 212.
    assert!((1_788..=2_212).contains(&first["set"]), "{first:?}");
    for same in ["-c 9 -P 16", "--threads 3 -c 9", "--engine epoll --window rolling -P 4"] {
        assert_eq!(sent(same), first, "{same}");
    }
}

#[test]
fn a_test_has_the_name_that_it_was_given_or_the_shares_of_its_mix() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.display();
    let mix = "-- 95 get k:__key__ ';' 5 set k:__key__ __data__";
    let title = |line: &str| {
        let ran = server.run(&format!("-n 500 -r 10 --json {path} {line}")).ok();
        let name = json(&file)["tests"][0]["name"].as_str().unwrap().to_owned();
        assert!(ran.out.contains(&name), "{}", ran.out);
        name
    };
    assert_eq!(title(&format!("--mix {mix}")), "95 % get, 5 % set");
    assert_eq!(
        title("--mix -- 2 get a:__key__ ';' get b:__key__"),
        "66.7 % get a:__key__, 33.3 % get b:__key__"
    );
    assert_eq!(title("--mix --set order=turns -- 3 get k ';' incr n"), "3 get, incr in turns");
    assert_eq!(title(&format!("--name shop --mix {mix}")), "shop");
    assert_eq!(title("--name 'cold reads' -t get"), "cold reads");
    // What was done can be done again, and its name is printed.
    let plan = server.run("--name 'cold reads' --seed 1 -t get --print-plan").ok().out;
    assert!(plan.contains("\"named\": true"), "{plan}");
    server
        .run("--name shop -t get,set")
        .exits(2)
        .says("--name works with a single test only, and these are 2");
    server.run("--name '' -t get").exits(2).says("--name").says("expected a name of one line");
    let by_peer = server.run(&format!("--as redis-benchmark -n 100 -r 10 --mix {mix}")).ok();
    assert!(by_peer.out.contains("95 get k:__key__ ; 5 set k:__key__"), "{}", by_peer.out);
}

#[test]
fn a_cache_is_filled_on_its_misses_and_both_sides_count_them_alike() {
    let server = Server::valkey();
    let (_dir, file) = place();
    let aside = "get k:__key__ ';?' set k:__key__ __data__";
    let ran = server.run(&format!("-n 5000 -r 100 -P 4 --json {} {aside}", file.display())).ok();
    assert!(ran.out.contains("5000 operations ("), "{}", ran.out);
    let (hits, misses) = (server.info("keyspace_hits"), server.info("keyspace_misses"));
    assert_eq!((server.calls("get"), server.calls("set")), (5_000, misses));
    assert!(misses >= 100, "every key was missed once");
    let saved = json(&file);
    valid_by("keystorm.run.1.json", &saved);
    let test = &saved["tests"][0];
    let operation = &test["operations"][0];
    assert_eq!(operation["name"], "get ;? set");
    let count = |of: &Value, field: &str| of[field].as_u64().unwrap();
    assert_eq!((count(operation, "hits"), count(operation, "misses")), (hits, misses));
    assert_eq!(count(operation, "count"), 5_000);
    assert_eq!(count(test, "requests"), 5_000 + misses);
    let [get, set] = [0, 1].map(|n| &test["commands"][n]);
    assert_eq!((count(get, "ok"), count(get, "miss"), count(set, "ok")), (hits, misses, misses));
    for direction in ["bytes_out", "bytes_in"] {
        let whole = count(&test["connections"], direction);
        assert_eq!(count(get, direction) + count(set, direction), whole);
        assert_eq!(count(operation, direction), whole);
    }
}

#[test]
fn the_bytes_of_a_long_reply_are_those_of_all_its_reads() {
    const VALUE: u64 = 300_000;
    let server = Server::redis();
    let (_dir, file) = place();
    server
        .run(&format!("-q -n 10 -r 10 -d {VALUE} --key-dist sequential set k:__key__ __data__"))
        .ok();
    let reply = VALUE + format!("${VALUE}\r\n\r\n").len() as u64;
    for options in
        ["--engine uring", "--engine epoll", "--engine uring -P 4", "--engine epoll -P 4"]
    {
        let args = format!("-q -n 400 -c 5 -r 10 --json {} {options}", file.display());
        server.ask(&["config", "resetstat"]);
        server.run(&format!("{args} --mix -- 3 get k:__key__ ';' 1 get none:__key__")).ok();
        let test = &json(&file)["tests"][0];
        let count = |of: &Value, field: &str| of[field].as_u64().unwrap();
        let [found, none] = [0, 1].map(|n| &test["commands"][n]);
        assert_eq!(server.calls("get"), count(test, "requests"));
        assert_eq!(count(found, "bytes_in"), count(found, "ok") * reply, "{options}");
        assert_eq!(count(none, "bytes_in"), count(none, "miss") * 5, "{options}");
        let whole = count(&test["connections"], "bytes_in");
        assert_eq!(count(found, "bytes_in") + count(none, "bytes_in"), whole, "{options}");
    }
}

#[test]
fn every_layout_has_a_row_for_each_operation_and_one_for_the_whole() {
    let server = Server::redis();
    let mix = "--mix -n 2000 -r 10 -- 3 get k:__key__ ';' 1 set k:__key__ v ';>' del k:__key__";
    let csv = server.run(&format!("--csv {mix}")).ok().out;
    let names: Vec<&str> = csv.lines().skip(1).filter_map(|row| row.split('"').nth(1)).collect();
    let [whole, get, write] = names[..] else { panic!("{csv}") };
    assert_eq!((get, write), (&*format!("{whole}: get"), &*format!("{whole}: set ;> del")));
    let quiet = server.run(&format!("-q {mix}")).ok().out;
    assert!(quiet.contains("\n  get: ") && quiet.contains("\n  set ;> del: "), "{quiet}");
    let text = server.run(mix).ok().out;
    for row in ["\n  operation ", "\n  get  ", "set ;> del: SET", "set ;> del: DEL"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let (_dir, file) = place();
    let page = file.with_extension("html");
    server.run(&format!("--html {} -q {mix}", page.display())).ok();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("set ;&gt; del") && page.contains("bytes received"));
}

#[test]
fn a_schedule_is_of_operations() {
    let server = Server::redis();
    let line = "--rps 500 -n 500 -r 10 -q get k:__key__ ';>' set k:__key__ v ';>' get k:__key__";
    let ran = server.run(line).ok();
    assert!(ran.out.contains("operations per second"), "{}", ran.out);
    assert_eq!(server.counts(), calls([("get", 1000), ("set", 500)]));
}

#[test]
fn what_is_no_mix_is_a_usage_error() {
    let server = Server::redis();
    for (line, why) in [
        ("--mix", "--mix"),
        ("--mix -- 0 get k", "whole number from 1"),
        ("--mix -- -3 get k", "whole number from 1"),
        ("--mix -- ';'", "no operations"),
        ("get k ';>'", "must stand between two commands"),
        ("-- ';?' get k", "must stand between two commands"),
        ("set k v EX __ttl__", "--ttl"),
        ("--ttl 0 set k v", "1 second"),
    ] {
        server.run(&format!("-q -n 10 {line}")).exits(2).says(why);
    }
    assert_eq!(server.counts(), calls([]));
    // To the peers these are words like others.
    let (_dir, link) = called("redis-benchmark");
    let words = ["-p", &server.port().to_string(), "-n", "10", "-q", "echo", ";>"];
    crate::program::Keystorm::exec(link, words.map(str::to_owned)).run().ok();
    assert_eq!(server.calls("echo"), 10);
}

#[test]
fn keys_live_as_long_as_asked() {
    let server = Server::redis();
    let keys = "-q -n 200 -r 200 --sequential";
    server.run(&format!("{keys} --ttl 100..200 set k:__rand_int__ v")).ok();
    server.run(&format!("{keys} --ttl 1h -t set")).ok();
    server.run(&format!("{keys} --ttl 100..200 setex s:__rand_int__ __ttl__ v")).ok();
    let ttl = |key: String| server.number(&["TTL", &key]);
    let keys = server.keys();
    assert_eq!(keys.len(), 600);
    let mut seen = std::collections::BTreeSet::new();
    for key in keys {
        let (own, left) = (key.starts_with("key:"), ttl(key));
        let range = if own { 3_500..=3_600 } else { 40..=200 };
        assert!(range.contains(&left), "{left}");
        seen.insert(left);
    }
    assert!(seen.len() > 20, "{seen:?}");
    // What a fill writes lives as long, and what the plan writes itself as it says.
    server.run("-q -n 20 -r 20 --ttl 60 --fill get filled:__key__").ok();
    assert!((1..=60).contains(&ttl("filled:000000000007".to_owned())));
    let own = "-q -n 20 -r 20 --ttl 60 --fill get own:__key__ ; set own:__key__ v EX 9000";
    server.run(own).ok();
    assert!((8_900..=9_000).contains(&ttl("own:000000000007".to_owned())));
}

#[test]
fn a_later_step_has_the_value_that_an_earlier_one_brought() {
    let server = Server::redis();
    for n in 0..10 {
        server.ask(&["SET", &format!("a:{n:012}"), &format!("value {n}")]);
    }
    let copy =
        "get a:__key__ ';>' set b:__key__ '<__reply__>' ';>' set c:__key__ __reply_or:none__";
    server.run(&format!("-q -n 500 -r 20 -P 8 -c 3 {copy}")).ok();
    for n in 0..20 {
        let value = |key: &str| server.text(&["GET", &format!("{key}:{n:012}")]);
        let was = if n < 10 { format!("value {n}") } else { String::new() };
        let or = if n < 10 { was.clone() } else { "none".to_owned() };
        assert_eq!((value("b"), value("c")), (format!("<{was}>"), or), "{n}");
    }
    server.run("-q -n 10 set a __reply__").exits(2).says("__reply__");
    server.run("-q -n 10 get __reply_or:x__ ';>' get a").exits(2).says("__reply__");
    let (_dir, link) = called("redis-benchmark");
    let words = ["-p", &server.port().to_string(), "-n", "10", "-q", "set", "k", "__reply__"];
    crate::program::Keystorm::exec(link, words.map(str::to_owned)).run().ok();
    assert_eq!(server.text(&["GET", "k"]), "__reply__");
}

#[test]
fn a_later_step_has_the_number_or_the_status_that_came() {
    let server = Server::redis();
    for protocol in ["", "-3"] {
        server.ask(&["FLUSHALL"]);
        server.run(&format!("{protocol} -q -n 7 -c 1 incr id ';>' set by:__reply__ v")).ok();
        let mut keys = server.keys();
        keys.retain(|key| key.starts_with("by:"));
        keys.sort();
        assert_eq!(keys, (1..=7).map(|n| format!("by:{n}")).collect::<Vec<_>>());
        server.run(&format!("{protocol} -q -n 1 set a v ';>' set said __reply__")).ok();
        assert_eq!(server.text(&["GET", "said"]), "OK");
        // What was looked for, or that it is not there, outlives what a step in between says.
        let line = "-q -n 1 get id ';>' incr n ';>' set first __reply__";
        server.run(&format!("{protocol} {line}")).ok();
        assert_eq!(server.text(&["GET", "first"]), "7");
        let line = "-q -n 1 get nosuch ';>' ping ';>' set none __reply_or:none__";
        server.run(&format!("{protocol} {line}")).ok();
        assert_eq!(server.text(&["GET", "none"]), "none");
        // A transaction brings the first string in it.
        let line = "-q -n 1 multi ';' incr n ';' get said ';' exec ';>' set told __reply__";
        server.run(&format!("{protocol} {line}")).ok();
        assert_eq!(server.text(&["GET", "told"]), "OK");
    }
}

#[test]
fn a_walk_goes_on_with_the_cursor_that_came() {
    let server = Server::redis();
    server.run("-q -r 1000 -n 1000 --sequential -t set").ok();
    let scans = |line: &str| -> Vec<String> {
        server.log_commands();
        server.run(&format!("-q -c 1 {line}")).ok();
        let mut sent = server.logged();
        sent.retain(|line| line.starts_with("scan "));
        sent.iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
    };
    let begun = |sent: &[String]| sent.iter().filter(|cursor| *cursor == "0").count();
    let sent = scans("-n 20 scan 0 count 100 ';~' scan __reply__ count 100");
    assert!(sent.len() == 20 && (2..=10).contains(&begun(&sent)), "{sent:?}");
    let sent = scans("-n 20 scan 0 ';~4' scan __reply__");
    assert_eq!((sent.len(), begun(&sent)), (20, 4), "{sent:?}");
    // Beside others, each request of it goes on where the one before came to.
    let sent = scans("-n 200 --mix 1 scan 0 count 100 ';~' scan __reply__ count 100 ';' 1 ping");
    assert!(begun(&sent) * 3 < sent.len(), "{sent:?}");
    for (line, says) in [
        ("-P 2 scan 0 ';~' scan __reply__", "-P 2: ;~ needs"),
        ("scan 0 ';~' scan __reply__ ';>' ping", "between exactly one command"),
        ("--cluster scan 0 ';~' scan __reply__", ";~ works with one server only"),
    ] {
        server.run(&format!("-q -n 10 {line}")).exits(2).says(says);
    }
}
