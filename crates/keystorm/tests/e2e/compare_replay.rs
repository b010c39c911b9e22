//! `keystorm compare --replay`: recorded traffic on two servers in turn, and what the second changes.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::listener::Listener;
use crate::program::{Keystorm, RunOutput};
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
        "compare 127.0.0.1:{} 127.0.0.1:{} --replay {file} --name-a old --name-b new --fail-on-regression 50 --disturbed count --html {}",
        a.port(),
        b.port(),
        page.display()
    );
    let ran = Keystorm::new(&line).decided().exits(3);
    let ran = ran
        .prints("Gate failed: new is worse than old by more than 50 % in p50 of HGETALL (")
        .prints("40 commands of");
    let ran = ran.prints("compared answers are alike");
    ran.prints("5 blocks for each test; in each, every server runs twice");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Gate failed") && page.contains("HGETALL"));
    assert!(page.contains("Both servers were asked 40 commands"));
}

#[test]
fn two_milliseconds_more_are_found_as_just_that() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (server(None), server(Some(Duration::from_millis(2))));
    let commands = ["GET user:1", "HGETALL session:1", "SET user:2 v", "HGETALL session:2"];
    let file = record(dir.path(), 50, &commands);
    let line = format!(
        "compare 127.0.0.1:{} 127.0.0.1:{} --replay {file} --json - --yes --disturbed=count --fail-on-regression=99",
        a.port(),
        b.port()
    );
    let ran = Keystorm::new(&line).run();
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let judged = |list: &str| -> Vec<String> {
        let all = document["regression"][list].as_array().unwrap().iter();
        all.map(|of| of["test"].as_str().unwrap().to_owned()).collect()
    };
    let check = "two milliseconds of HGETALL";
    if judged("not_excluded").contains(&"HGETALL".to_owned()) {
        return skip(check, format!("{ran:?}"));
    }
    let worse = judged("found");
    let is_just_that =
        ran.code == Some(3) && !worse.is_empty() && worse.iter().all(|of| of == "HGETALL");
    holds_when_quiet(check, is_just_that, format!("{ran:?}"));
}

/// Compares two servers that answer some commands differently: the servers, what was printed, and the document.
fn differing() -> (Server, Server, RunOutput, serde_json::Value) {
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
        "compare 127.0.0.1:{} 127.0.0.1:{} --replay {file} --repeat 2 --disturbed count --json {}",
        a.port(),
        b.port(),
        json.display()
    );
    let ran = Keystorm::new(&line).run();
    let saved = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    (a, b, ran, saved)
}

#[test]
fn an_answer_that_differs_is_printed_with_its_shortest_example() {
    let (_a, _b, ran, _) = differing();
    let ran = ran.exits(3).prints("3 of 8 compared answers differ");
    let ran = ran.prints("Gate failed: ").prints("answers some of this traffic");
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "LRANGE list 0 -1 is answered [1, 2] and [2, 1]";
    assert!(text.contains(says) && text.contains("GET gone is answered value and"), "{text}");
}

#[test]
fn an_answer_that_differs_is_saved_with_its_count_and_example() {
    let (a, b, _, saved) = differing();
    assert_eq!(saved["schema"], "keystorm.compare/1");
    assert_eq!(saved["regression"]["state"], "failed");
    let differences = saved["replayed"]["answers"]["differences"].as_array().unwrap();
    let found: Vec<(&str, u64)> = differences
        .iter()
        .map(|of| (of["command"].as_str().unwrap(), of["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [("LRANGE", 2), ("GET", 1)]);
    assert_eq!(differences[1]["example"][2], "(nothing)");
    // Two runs in each of two blocks, and once for the answers.
    assert_eq!((a.calls("get"), b.calls("get")), (10, 10));
}

#[test]
fn the_same_program_twice_is_not_found_to_be_worse() {
    let dir = tempfile::tempdir().unwrap();
    let commands = ["GET user:1", "SET user:2 value", "LRANGE list 0 -1", "LPUSH list x"];
    let file = record(dir.path(), 20, &commands);
    let json = dir.path().join("rehearsal.json");
    // Twice as slow would be worse: a busy machine makes nothing so much slower on one side alone.
    let line = format!(
        "compare redis-server redis-server --replay {file} --name-a old --name-b new --prefill \
         --repeat 3 --fail-on-regression 99 --disturbed count --slo p50<1s --budget 1s --csv --json {}",
        json.display()
    );
    let ran = Keystorm::new(&line).run();
    let ran = ran.says("Started redis").says("2 keys written first");
    let ran = ran.prints(": LRANGE\",\"p50_ms\",").says("new keeps p50<1s ");
    let kept = ran.err.contains("new keeps p50<1s up to ");
    holds_when_quiet("a speed is found that keeps the target", kept, &ran.err);
    let saved = std::fs::read_to_string(json).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    // On a machine that is busy with other things the runs may say nothing.
    let state = saved["regression"]["state"].as_str().unwrap();
    assert_ne!(state, "failed", "{ran:?}");
    assert_eq!(ran.code, Some(if state == "passed" { 0 } else { 4 }), "{state}: {ran:?}");
    assert_eq!(saved["complete"], true);
    let operations = saved["tests"][0]["servers"][1]["operations"].as_array().unwrap();
    let cpu = |of: &serde_json::Value| of["figures"]["server_cpu_us_per_request"].is_object();
    assert!(operations.len() == 4 && operations.iter().all(cpu), "{operations:?}");
    assert_eq!(saved["replayed"]["head_room"]["target"], "p50<1s");
    assert_eq!(saved["replayed"]["head_room"]["sides"].as_array().unwrap().len(), 2);
}

#[test]
fn what_does_not_go_with_a_record_is_refused_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), 1, &["GET a"]);
    let refused = |words: &str, says: &str| {
        Keystorm::new(words).run().exits(2).says(says);
    };
    let line = format!("compare h:1 h:2 --replay {file}");
    refused(&format!("{line} --speed max"), "--slo");
    refused(&format!("{line} --cluster"), "keystorm replay sends to a cluster");
    refused(&format!("{line} -t get"), "-t does not go with a record, which says what is sent");
    refused(&format!("{line} --rps 5"), "--rps does not go with a record");
    refused(&format!("{line} -- get a"), "--replay does not go with a command");
    refused(&format!("{line} --spawn"), "the servers are named by the first words");
    refused("compare h:1 h:2 --prefill", "--prefill requires --replay");
    refused(&format!("compare h:1 h:2 h:3 --replay {file}"), "name two servers");
    refused(&format!("compare {file} {file} --replay {file}"), "these are saved runs");
    let now = "keystorm rehearse is now keystorm compare A B --replay FILE";
    refused(&format!("rehearse {file} --a h:1 --b h:2"), now);
}

#[test]
fn a_record_that_writes_needs_yes_on_a_server_with_data() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::redis();
    server.ask(&["SET", "precious", "1"]);
    let file = record(dir.path(), 1, &["SET a 1"]);
    let line = format!("compare redis-server 127.0.0.1:{} --replay {file}", server.port());
    Keystorm::new(&line).run().exits(2).says("--yes");
    assert_eq!(server.calls("set"), 1);
}
