//! `keystorm durability`: what real servers keep by each setting, and a scripted server's faults to the exact number.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::broker::{listening, words};
use crate::program::Keystorm;
use crate::record::valid_by;
use crate::server::Server;

fn document(line: &str) -> Value {
    let ran = Keystorm::new(&format!("durability --format json {line}")).run().ok();
    let document = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.durability.1.json", &document);
    document
}

/// Sum of a figure over all crashes of a setting.
fn sum(document: &Value, setting: usize, figure: &str) -> u64 {
    let crashes = document["settings"][setting]["crashes"].as_array().unwrap();
    crashes.iter().map(|crash| crash[figure].as_u64().unwrap()).sum()
}

#[test]
fn a_killed_server_keeps_what_its_log_has() {
    let line = "--spawn=redis-server --crashes 1 -c 4 -P 4 -d 20 --settings none,always";
    let found = document(line);
    assert_eq!(
        (&found["complete"], &found["crash"]),
        (&true.into(), &"kill -9 and restart".into())
    );
    let (lost, all) = (sum(&found, 0, "lost"), sum(&found, 0, "acknowledged"));
    assert!(0 < lost && lost <= all, "{lost} of {all}: nothing was written to a file");
    let rpo_s = found["settings"][0]["crashes"][0]["rpo_s"].as_f64().unwrap();
    assert!(rpo_s > 0.3, "{rpo_s}: the first write was lost, too");
    assert_eq!([sum(&found, 1, "lost"), sum(&found, 1, "read_and_gone")], [0, 0]);
    for setting in [0, 1] {
        let faults = ["doubled", "out_of_order", "damaged"].map(|name| sum(&found, setting, name));
        assert_eq!(faults, [0, 0, 0]);
        assert!(found["settings"][setting]["crashes"][0]["rto_s"].as_f64().is_some());
    }
}

#[test]
fn a_loss_of_power_takes_what_was_not_synchronised() {
    let line =
        "--spawn=redis-server --crash power --crashes 1 -c 4 -P 4 --settings everysec,always";
    let found = document(line);
    assert_eq!(sum(&found, 1, "lost"), 0, "{found}");
    // A second is the most that everysec promises; twice that where the disk is slow.
    let rpo_s = &found["settings"][0]["crashes"][0]["rpo_s"];
    assert!(rpo_s.is_null() || rpo_s.as_f64().unwrap() < 5.0, "{found}");
    assert!(sum(&found, 0, "acknowledged") > 0);
}

#[test]
fn a_replica_takes_over_and_a_gate_is_held_against_every_setting() {
    let line = "durability --spawn=redis-server --crash failover --crashes 1 -c 4 --rps 2000";
    let safe = Keystorm::new(&format!("{line} --settings wait1 --slo lost<1")).run().ok();
    safe.prints("Gate passed").prints("wait1: none of ").prints(" lost (at most ");
    let line =
        "durability --spawn=redis-server --crashes 1 -c 4 --settings none --slo lost<1,rto<soon";
    let refused = Keystorm::new(line).run().exits(2);
    refused.says("--slo: \"rto<soon\" is no target; write lost<1, rpo<100ms or rto<5s");
    let line = line.replace(",rto<soon", "");
    let failed = Keystorm::new(&line).run().exits(3);
    failed.prints("Gate failed").prints("acknowledged writes lost by one crash (lost<1)");
}

#[test]
fn what_cannot_be_crashed_is_refused_with_what_to_do() {
    let server = Server::redis();
    let port = server.port();
    for (line, says) in [
        (format!("-p {port} --crash true"), "which keystorm did not start: add --yes to go ahead"),
        (format!("-p {port}"), "keystorm crashes only servers that it starts; add --spawn"),
        (
            format!("-p {port} --crash true --yes --settings none,wait1"),
            "a given server has its own",
        ),
        (
            "--spawn=redis-server --crash reboot".to_owned(),
            "know kill, power, failover, stop and cut",
        ),
        (
            "--spawn=redis-server --settings allways".to_owned(),
            "unknown setting \"allways\"; did you mean always?",
        ),
        ("--spawn=redis-server -t set".to_owned(), "-t: durability writes numbered values"),
    ] {
        Keystorm::new(&format!("durability {line}")).run().exits(2).says(says);
    }
    let memcached = Keystorm::new("durability --spawn=memcached").run().ok();
    assert_eq!(memcached.out, "memcached keeps nothing on disk: every crash loses every write\n");
    let failed = Keystorm::new(&format!("durability -p {port} --crash false --yes --crashes 1"));
    failed.run().exits(1).says("\"false\" failed: exit status: 1");
    assert_eq!(server.number(&["EXISTS", "keystorm:durability"]), 0, "nothing is left behind");
}

#[test]
fn a_server_that_is_cut_off_goes_on_for_three_seconds_and_loses_them() {
    let dir = tempfile::tempdir().unwrap();
    let (file, kept) = (dir.path().join("mine.toml"), dir.path().join("kept"));
    std::fs::create_dir(&kept).unwrap();
    let own = "[[setting]]\nname = \"safe\"\nwait = \"WAIT 1 500\"\nreplica = true\n";
    std::fs::write(&file, own).unwrap();
    let saved = kept.join("cut.json");
    let line = format!(
        "durability --spawn=redis-server --crash cut --crashes 1 -c 2 --rps 1k --settings none,{} --json {}",
        file.display(),
        saved.display()
    );
    Keystorm::new(&line).run().ok();
    let found: Value = serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
    valid_by("keystorm.durability.1.json", &found);
    assert_eq!(found["settings"][1]["name"], "safe");
    assert!(sum(&found, 0, "lost") > 0, "{found}");
    let rpo_s = found["settings"][0]["crashes"][0]["rpo_s"].as_f64().unwrap();
    assert!(rpo_s > 2.5, "{rpo_s}: the first lost write is one after the cut");
    assert_eq!([sum(&found, 1, "lost"), sum(&found, 1, "doubled")], [0, 0]);
    let history = Keystorm::new(&format!("history {}", kept.display())).run().ok();
    history.prints("network cut and failover, none").prints("network cut and failover, safe");
    std::fs::write(&file, own.replace("wait", "waits")).unwrap();
    Keystorm::new(&line).run().exits(2).says("mine.toml: line 3: unknown field `waits`");
    std::fs::write(&file, "setting = []").unwrap();
    let alone = line.replace("none,", "");
    Keystorm::new(&alone).run().exits(2).says("mine.toml: it has no [[setting]]");
}

#[test]
fn the_writes_of_several_clients_are_added_up() {
    let line = "--spawn=redis-server --crashes 1 -c 5 --rps 2k --on local:2 --settings none,always";
    let found = document(line);
    let (lost, all) = (sum(&found, 0, "lost"), sum(&found, 0, "acknowledged"));
    assert!(0 < lost && lost <= all, "{lost} of {all}");
    let faults = ["lost", "doubled", "out_of_order", "damaged"].map(|name| sum(&found, 1, name));
    assert_eq!(faults, [0; 4], "{found}");
    let moved = "durability --spawn=redis-server --crash failover --on local:2";
    Keystorm::new(moved).run().exits(2).says("clients elsewhere follow no server of --spawn");
}

/// Fault of a scripted server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A write is acknowledged and not kept.
    Lost,
    Doubled,
    /// A write is there once more after ten others.
    BroughtBack,
    Reordered,
    /// The connection ends behind the acknowledgement, and the write is not kept.
    Dropped,
}

#[derive(Default)]
struct Lists {
    values: Vec<Vec<u8>>,
    writes: u64,
    held: Vec<(u64, Vec<u8>)>,
    faults: u64,
    /// Faults of the list that was there before.
    faults_before: u64,
}

/// A server of a list that makes three faults, and counts them.
fn faulty(fault: Fault) -> (u16, Arc<Mutex<Lists>>) {
    let lists = Arc::<Mutex<Lists>>::default();
    let shared = Arc::clone(&lists);
    (listening(move |stream| serve(stream, fault, &shared)), lists)
}

fn serve(mut stream: TcpStream, fault: Fault, lists: &Mutex<Lists>) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    while let Some(words) = words(&mut input) {
        let reply = match words[0].to_ascii_uppercase().as_slice() {
            b"RPUSH" => {
                let drops = push(&mut lists.lock().unwrap(), &words[2], fault);
                if drops {
                    let _ = stream.write_all(b":1\r\n");
                    return;
                }
                b":1\r\n".to_vec()
            }
            b"LRANGE" => {
                let mut lists = lists.lock().unwrap();
                if words[2] == b"0" {
                    let held = std::mem::take(&mut lists.held);
                    lists.values.extend(held.into_iter().map(|(_, value)| value));
                }
                range(&lists.values, &words[2], &words[3])
            }
            b"UNLINK" => {
                let mut lists = lists.lock().unwrap();
                *lists = Lists { faults_before: lists.faults, ..Lists::default() };
                b":1\r\n".to_vec()
            }
            b"EXISTS" => b":0\r\n".to_vec(),
            b"HELLO" => b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n".to_vec(),
            b"CONFIG" => b"*0\r\n".to_vec(),
            b"INFO" => b"$15\r\nredis_version:7\r\n".to_vec(),
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        if stream.write_all(&reply).is_err() {
            return;
        }
    }
}

/// Adds a write; returns whether the connection is to end.
fn push(lists: &mut Lists, value: &[u8], fault: Fault) -> bool {
    lists.writes += 1;
    // None is made near the end, where a reply may come too late.
    let is_due = [500, 1000, 1500].contains(&lists.writes) && fault != Fault::None;
    lists.faults += u64::from(is_due);
    match fault {
        Fault::Lost | Fault::Dropped if is_due => return fault == Fault::Dropped,
        Fault::Reordered if is_due => {
            lists.held.push((lists.writes + 40, value.to_vec()));
            return false;
        }
        _ => lists.values.push(value.to_vec()),
    }
    if is_due && fault == Fault::Doubled {
        lists.values.push(value.to_vec());
    }
    if is_due && fault == Fault::BroughtBack {
        lists.held.push((lists.writes + 10, value.to_vec()));
    }
    let due: Vec<_> = lists.held.extract_if(.., |(at, _)| *at <= lists.writes).collect();
    lists.values.extend(due.into_iter().map(|(_, value)| value));
    false
}

fn range(values: &[Vec<u8>], from: &[u8], to: &[u8]) -> Vec<u8> {
    let place = |text: &[u8]| {
        let place: i64 = std::str::from_utf8(text).unwrap().parse().unwrap();
        if place < 0 { (values.len() as i64 + place).max(0) } else { place }
    };
    let to = (place(to) + 1).min(values.len() as i64);
    let asked = values.get(place(from) as usize..to as usize).unwrap_or_default();
    let mut reply = format!("*{}\r\n", asked.len()).into_bytes();
    for value in asked {
        reply.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
        reply.extend_from_slice(value);
        reply.extend_from_slice(b"\r\n");
    }
    reply
}

#[test]
fn every_fault_of_a_scripted_server_is_counted_exactly() {
    let names = ["lost", "doubled", "out_of_order", "damaged"];
    for (fault, counted, resp) in [
        (Fault::None, None, "-3"),
        (Fault::Lost, Some("lost"), ""),
        (Fault::Doubled, Some("doubled"), "-3"),
        (Fault::BroughtBack, Some("doubled"), ""),
        (Fault::Reordered, Some("out_of_order"), "-3"),
        (Fault::Dropped, Some("lost"), ""),
    ] {
        let (port, lists) = faulty(fault);
        let line = format!("-p {port} --crash true --yes --crashes 1 -c 4 {resp} --rps 5k");
        let found = document(&line);
        let (writes, made) = (sum(&found, 0, "acknowledged"), lists.lock().unwrap().faults_before);
        let expected = if counted.is_some() { made } else { 0 };
        for name in names {
            let wanted = if Some(name) == counted { expected } else { 0 };
            assert_eq!(sum(&found, 0, name), wanted, "{fault:?}: {name} of {writes}");
        }
        assert_eq!(expected > 0, counted.is_some(), "{fault:?} after {writes}");
    }
}
