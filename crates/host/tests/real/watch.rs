//! Watching real servers.

use std::thread;
use std::time::{Duration, Instant};

use host::{BusyPart, Listen, Login, Subject, Watch, WatchRecord, log_in};
use wire::resp::Value;

use crate::servers::redis;

const NOBODY: Login<'_> = Login { user: None, password: None, db: 0, tls: None, sources: &[] };

/// Watches a server that gets 500 keys that it lacks, for a sample at least. Returns also the most samples
/// that there may be.
fn watched_gets(listen: Listen) -> (WatchRecord, usize) {
    let server = redis(&[], listen);
    let watch = Watch::new(vec![server.address().clone()], true, |address, _| {
        log_in(address, NOBODY).map(Subject::Resp)
    });
    let begun = watch.begin();
    let mut client = log_in(server.address(), NOBODY).expect("a login");
    for _ in 0..500 {
        client.ask(&[b"GET", b"nothing"]).expect("an answer");
    }
    // The watch asks for INFO once a second: twice more, so that one sample is complete. Each
    // question here is an INFO too.
    let began = Instant::now();
    let mut asked = 0;
    let mut infos = || {
        asked += 1;
        let info =
            client.ask(&[b"INFO", b"commandstats"]).expect("an answer").text().expect("text");
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_info:calls="));
        let calls = line.and_then(|line| line.split(',').next());
        calls.map_or(0, |calls| calls.parse::<u64>().expect("a number")) - asked
    };
    let before = infos();
    while infos() < before + 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "no samples");
        thread::sleep(Duration::from_millis(10));
    }
    let watched = watch.end(begun);
    (watched, began.elapsed().as_secs() as usize + 1)
}

#[test]
fn what_a_server_did_between_two_looks_is_known() {
    for listen in [Listen::Loopback, Listen::Unix] {
        let (watched, _) = watched_gets(listen);
        let used = watched.servers.first().expect("a server");
        assert_eq!((used.hits, used.misses), (Some(0), Some(500)));
        let get = used.by_command.iter().find(|c| c.name == "get").expect("commands");
        assert_eq!(get.calls, 500);
        assert!(used.cpu_main_s.is_some_and(|s| s > 0.0) && used.cpu_process_s.is_some());
        assert!(used.net_in_bytes >= Some(500 * 26), "{used:?}");
        assert_eq!((watched.unseen, watched.link), (None, None));
    }
}

#[test]
fn the_state_of_a_server_and_its_samples_are_known() {
    for listen in [Listen::Loopback, Listen::Unix] {
        let (watched, samples_max) = watched_gets(listen);
        let used = watched.servers.first().expect("a server");
        assert_eq!(used.busy(1.0).map(|busy| busy.part), Some(BusyPart::MainThread));
        assert_eq!((used.saved, used.rewrote, used.monitors), (Some(false), Some(false), Some(0)));
        assert_eq!((used.setting("io-threads"), used.threads), (Some("1"), Some(1)));
        assert!(used.memory_before_bytes.is_some() && used.evicted_keys == Some(0));
        assert!(cfg!(not(target_os = "linux")) || used.cpu_wait_s.is_some(), "it runs here");
        assert!((1..=samples_max).contains(&used.samples.len()), "{:?}", used.samples);
        assert!(used.samples[0].commands >= Some(1) && used.samples[0].t_s >= 1.0);
        assert!(watched.idle_round_trip_ns.is_some_and(|ns| ns > 0));
    }
}

#[test]
fn a_server_that_forbids_all_of_it_is_stated_to() {
    let server = redis(&[], Listen::Unix);
    let mut admin = log_in(server.address(), NOBODY).unwrap();
    let watch = Watch::new(vec![server.address().clone()], true, |address, _| {
        log_in(address, NOBODY).map(Subject::Resp)
    });
    let rules = ["ACL", "SETUSER", "default", "-info", "-config", "-client|list"];
    let rules: Vec<&[u8]> = rules.iter().map(|word| word.as_bytes()).collect();
    assert_eq!(admin.ask(&rules).unwrap(), Value::Simple(b"OK".into()));
    let watched = watch.end(watch.begin());
    assert!(watched.servers.is_empty());
    assert!(watched.unseen.is_some_and(|why| why.contains("NOPERM")));
    assert!(watched.idle_round_trip_ns.is_some());
}

#[test]
fn a_server_that_is_gone_is_stated_to() {
    let server = redis(&[], Listen::Unix);
    let address = server.address().clone();
    let watch = Watch::new(vec![address.clone()], false, |address, _| {
        log_in(address, NOBODY).map(Subject::Resp)
    });
    let begun = watch.begin();
    drop(server);
    let watched = watch.end(begun);
    assert!(watched.servers.is_empty());
    assert!(watched.unseen.is_some_and(|why| why.contains("could not connect")));
}
