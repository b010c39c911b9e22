//! `keystorm rehearse`: recorded traffic on two servers in turn, and what the second changes.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::listener::Listener;
use crate::program::Keystorm;
use crate::real_clock::{holds_when_quiet, skip};
use crate::server::Server;

/// How much longer the slow server takes: far more than a busy machine adds.
const LONGER: Duration = Duration::from_millis(100);

/// A record of so many rounds, 10 ms apart, of these commands, each of a client of its own.
fn record(dir: &Path, rounds: usize, commands: &[&str]) -> String {
    let mut text = String::new();
    for round in 0..rounds {
        for (client, command) in commands.iter().enumerate() {
            let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
            let us = round * 10_000 + client * 100;
            text += &format!("1700000000.{us:06} [0 10.0.0.1:{client}] {}\n", words.join(" "));
        }
    }
    let path = dir.join("monitor.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A server that answers everything alike, and `HGETALL` as soon as it wants.
fn server(longer: Option<Duration>) -> Listener {
    Listener::that_answers(move |words| match words[0].to_uppercase().as_str() {
        "CONFIG" => "*0\r\n",
        "INFO" => "$15\r\nredis_version:7\r\n",
        "HGETALL" => {
            if let Some(longer) = longer {
                thread::sleep(longer);
            }
            "*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
        }
        _ => "$5\r\nvalue\r\n",
    })
}

#[test]
fn a_command_that_is_slower_on_the_second_server_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (server(None), server(Some(LONGER)));
    let commands = ["GET user:1", "HGETALL session:1", "HGETALL session:2", "GET user:2"];
    let file = record(dir.path(), 10, &commands);
    let page = dir.path().join("page.html");
    let line = format!(
        "rehearse {file} --a 127.0.0.1:{} --b 127.0.0.1:{} --name-a old --name-b new --allow 50 --count-disturbed --html {}",
        a.port(),
        b.port(),
        page.display()
    );
    let ran = Keystorm::new(&line).run().exits(3);
    let ran = ran
        .prints("new is worse than old for this traffic")
        .prints("Slower: ")
        .prints("HGETALL p50");
    let ran = ran.prints("answers that were compared are alike");
    ran.prints("5 blocks, in which each server runs twice");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("By command") && page.contains("HGETALL"));
}

#[test]
fn two_milliseconds_more_are_found_as_just_that() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (server(None), server(Some(Duration::from_millis(2))));
    let commands = ["GET user:1", "HGETALL session:1", "SET user:2 v", "HGETALL session:2"];
    let file = record(dir.path(), 50, &commands);
    let line = format!(
        "rehearse {file} --a 127.0.0.1:{} --b 127.0.0.1:{} --csv --yes --count-disturbed --allow 100",
        a.port(),
        b.port()
    );
    let ran = Keystorm::new(&line).run();
    let judged = |word: &str| -> Vec<&str> {
        ran.out.lines().filter(|line| line.ends_with(&format!("\"{word}\""))).collect()
    };
    let of_hgetall = |line: &&str| line.contains("\"HGETALL\",");
    let check = "two milliseconds of HGETALL";
    if judged("undecided").iter().any(of_hgetall) {
        return skip(check, format!("{ran:?}"));
    }
    let worse = judged("worse");
    let is_just_that = ran.code == Some(3) && !worse.is_empty() && worse.iter().all(of_hgetall);
    holds_when_quiet(check, is_just_that, format!("{ran:?}"));
}

#[test]
fn an_answer_that_differs_is_found_with_its_shortest_example() {
    let (a, b) = (Server::redis(), Server::redis());
    for (server, order) in [(&a, ["1", "2"]), (&b, ["2", "1"])] {
        server.ask(&["RPUSH", "list", order[0], order[1]]);
        server.ask(&["SADD", "set", order[0], order[1], "word"]);
        server.ask(&["SET", "same", "value"]);
        server.ask(&["SET", "wrong", "text"]);
    }
    a.ask(&["SET", "gone", "value"]);
    let dir = tempfile::tempdir().unwrap();
    let commands = [
        "GET same",
        "SMEMBERS set",
        "LRANGE list 0 -1",
        "LRANGE list -9 -1",
        "GET gone",
        "TIME",
        "LLEN wrong",
        "RANDOMKEY",
    ];
    let file = record(dir.path(), 1, &commands);
    let json = dir.path().join("rehearsal.json");
    let line = format!(
        "rehearse {file} --a 127.0.0.1:{} --b 127.0.0.1:{} --repeat 2 --count-disturbed --json {}",
        a.port(),
        b.port(),
        json.display()
    );
    let ran = Keystorm::new(&line).run().exits(3);
    let ran = ran.prints("3 of 8 answers that were compared differ");
    ran.prints("LRANGE list 0 -1").prints("[1, 2]").prints("[2, 1]").prints("GET gone");
    let saved: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(saved["schema"], "keystorm.rehearsal/1");
    let differences = saved["answers"]["differences"].as_array().unwrap();
    let found: Vec<(&str, u64)> = differences
        .iter()
        .map(|of| (of["command"].as_str().unwrap(), of["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [("LRANGE", 2), ("GET", 1)]);
    assert_eq!(differences[1]["example"][2], "(nothing)");
    Keystorm::new(&format!("show {}", json.display())).run().ok().prints("requests completed");
    // Two runs in each of two blocks, and once for the answers.
    assert_eq!((a.calls("get"), b.calls("get")), (10, 10));
}

#[test]
fn the_same_program_twice_is_not_found_to_be_worse() {
    let dir = tempfile::tempdir().unwrap();
    let commands = ["GET user:1", "SET user:2 value", "LRANGE list 0 -1", "LPUSH list x"];
    let file = record(dir.path(), 20, &commands);
    let json = dir.path().join("rehearsal.json");
    // Ten times as slow would be worse: a busy machine makes nothing so much slower on one side alone.
    let line = format!(
        "rehearse {file} --a redis-server --b redis-server --name-a old --name-b new --prefill \
         --repeat 3 --allow 900 --count-disturbed --slo p50<1s --budget 1s --csv --json {}",
        json.display()
    );
    let ran = Keystorm::new(&line).run();
    // On a machine that is busy with other things the runs may say nothing.
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:?}");
    let ran = ran.says("Started redis").says("2 keys written first");
    ran.prints("\"judgement\"").prints("\"LRANGE\"");
    let saved = std::fs::read_to_string(json).unwrap();
    assert!(saved.contains("\"complete\": true") && saved.contains("\"figure\": \"cpu\""));
    assert!(
        saved.contains("each run on a server of its own") && saved.contains("\"head_room\": {")
    );
}

#[test]
fn what_is_no_rehearsal_is_refused_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), 1, &["GET a"]);
    let refused = |words: &str, says: &str| {
        Keystorm::new(&format!("rehearse {words}")).run().exits(2).says(says);
    };
    refused(&file, "--a <SERVER>");
    refused("--a redis-server --b redis-server", "name the file");
    refused(&format!("{file} --a redis-server --b {file}"), "this is a file");
    refused(&format!("{file} --a h:1 --b h:2 --spawn"), "by --a and --b");
    refused(&format!("{file} --a h:1 --b h:2 --speed max"), "--slo");
    refused(&format!("{file} --a h:1 --b h:2 --cluster"), "of single servers");
    refused(
        &format!("{file} --a h:1 --b h:2 -t get"),
        "-t does not go with a record: it says what is sent",
    );
    let server = Server::redis();
    server.ask(&["SET", "precious", "1"]);
    let file = record(dir.path(), 1, &["SET a 1"]);
    refused(&format!("{file} --a redis-server --b 127.0.0.1:{}", server.port()), "--yes");
}
