use super::*;
use crate::{Run, fixture};
use host::{CommandUse, Setting};
use workload::{ClusterOptions, PlanParts};

fn kinds(run: &Run, server: ServerUse) -> Vec<WarningKind> {
    let watched = WatchRecord { servers: vec![server], ..WatchRecord::default() };
    warnings(&run.plan, &run.measurement, &watched).iter().map(|w| w.kind).collect()
}

fn command(name: &str, calls: u64, usec: u64) -> CommandUse {
    CommandUse { name: name.into(), calls, usec }
}

#[test]
fn each_thing_that_spoils_a_run_is_reported() {
    use WarningKind as W;
    let none = ServerUse::default;
    let setting =
        Setting { name: "save".into(), value: "60 1".into(), changed_from: Some("\x1b[2J".into()) };
    let cases = [
        (W::Saved, ServerUse { saved: Some(true), fork_usec: Some(1234), ..none() }),
        (W::Rewrote, ServerUse { rewrote: Some(true), ..none() }),
        (W::Monitored, ServerUse { monitors: Some(1), ..none() }),
        (W::Evicted, ServerUse { evicted_keys: Some(1), ..none() }),
        (W::Swapped, ServerUse { swap_bytes: Some(9_000_000), ..none() }),
        (
            W::Swapped,
            ServerUse {
                memory_rss_bytes: Some(50 << 20),
                memory_after_bytes: Some(100 << 20),
                ..none()
            },
        ),
        (W::Rejected, ServerUse { rejected_connections: Some(2), ..none() }),
        (W::SettingChanged, ServerUse { settings: vec![setting], ..none() }),
    ];
    let run = fixture::complete();
    assert_eq!(kinds(&run, none()), []);
    for (kind, server) in cases {
        let watched = WatchRecord { servers: vec![server], ..WatchRecord::default() };
        let found = warnings(&run.plan, &run.measurement, &watched);
        assert_eq!(found.iter().map(|w| w.kind).collect::<Vec<_>>(), [kind], "{found:?}");
        assert!(!found[0].text.contains(char::is_control), "{found:?}");
    }
    let stolen = |share| WatchRecord { stolen: Some(share), ..WatchRecord::default() };
    assert_eq!(warnings(&run.plan, &run.measurement, &stolen(0.01)), []);
    assert_eq!(warnings(&run.plan, &run.measurement, &stolen(0.2))[0].kind, W::Stolen);
}

#[test]
fn a_snapshot_is_reported_with_the_length_and_the_time_of_its_fork() {
    use host::{Journal, JournalEntry};
    let describe = |journal| {
        let (saved, fork_usec) = (Some(true), Some(8_708));
        let servers = vec![ServerUse { saved, fork_usec, journal, ..ServerUse::default() }];
        let run = fixture::complete();
        let watched = WatchRecord { servers, ..WatchRecord::default() };
        warnings(&run.plan, &run.measurement, &watched).swap_remove(0).text
    };
    let until = "the server took a snapshot during the test; the fork paused it for 8.71 ms";
    assert_eq!(describe(None), until);
    let fork = |from_s: f64| {
        let kind = JournalKind::Fork;
        JournalEntry { kind, from_s, to_s: from_s + 1.0, ..JournalEntry::default() }
    };
    // 14:03:22 by this clock; the server's is a minute ahead.
    let at = 86_400.0 + 14.0 * 3600.0 + 3.0 * 60.0 + 22.0;
    let entries = vec![fork(at + 60.0), fork(at)];
    let journal = Journal { entries, ahead_s: 60.0, ..Journal::default() };
    assert_eq!(describe(Some(journal)), format!("{until} at about 14:03:22 UTC"));
}

#[test]
fn of_memcached_it_is_reported_in_its_own_words() {
    use workload::{CommandSpec, ProtocolKind};
    let render = |protocol, depth, line: &str, server: ServerUse| {
        let run = fixture::changed(|parts| {
            parts.protocol = protocol;
            parts.load.concurrency.pipeline_depth = depth;
            parts.sequence = vec![CommandSpec::parse(line.split(' '))];
        });
        let watched = WatchRecord { servers: vec![server], ..WatchRecord::default() };
        let found = warnings(&run.plan, &run.measurement, &watched);
        found.into_iter().map(|warning| warning.text).collect::<Vec<_>>().join("; ")
    };
    let text = ProtocolKind::MemcacheText;
    let full =
        ServerUse { evicted_keys: Some(2), rejected_connections: Some(3), ..ServerUse::default() };
    let printed = render(text, 1, "get k", full.clone());
    assert!(
        printed.contains("below its memory limit (-m)") && printed.contains("-c)"),
        "{printed}"
    );
    assert!(!printed.contains("maxmemory") && !printed.contains("maxclients"), "{printed}");
    let of_redis = render(ProtocolKind::Resp2, 1, "get k", full);
    assert!(of_redis.contains("maxmemory") && of_redis.contains("maxclients"), "{of_redis}");
    for (protocol, depth, line, version, apart) in [
        (text, 10, "get k", "1.6.18", true),
        (ProtocolKind::MemcacheMeta, 10, "gat 60 k", "1.6.18", true),
        (text, 1, "get k", "1.6.18", false),
        (text, 10, "get k", "1.6.38", false),
        (text, 10, "mg k v", "1.6.18", false),
        (text, 10, "set k 0 0 v", "1.6.18", false),
        (ProtocolKind::MemcacheBinary, 10, "get k", "1.6.18", false),
    ] {
        let printed = render(
            protocol,
            depth,
            line,
            ServerUse { memcached_version: Some(version.to_owned()), ..ServerUse::default() },
        );
        assert_eq!(
            printed.contains("memcached 1.6.18 writes the reply to each get"),
            apart,
            "{line}"
        );
    }
}

#[test]
fn other_clients_are_what_is_left_of_the_servers_count() {
    // Its 2000 requests are all SET.
    let run = fixture::complete();
    let others = |commands: &[CommandUse]| {
        let server = ServerUse { by_command: commands.to_vec(), ..ServerUse::default() };
        !kinds(&run, server).is_empty()
    };
    assert!(!others(&[command("set", 2000, 900), command("info", 500, 900)]));
    assert!(!others(&[command("set", 2000, 900), command("config|get", 500, 900)]));
    assert!(!others(&[command("set", 2019, 900)]));
    assert!(others(&[command("set", 2020, 900)]));
    assert!(others(&[command("set", 2000, 900), command("get", 20, 0)]));
    assert!(!others(&[command("get", 9, 0)]));
}

#[test]
fn what_replicas_copy_is_not_others() {
    let by_command = vec![command("set", 2000, 900)];
    let server = |replica| ServerUse {
        by_command: by_command.clone(),
        replica: Some(replica),
        ..ServerUse::default()
    };
    let format_one = |run: &Run| {
        let servers = vec![server(false), server(true)];
        let watched = WatchRecord { servers, ..WatchRecord::default() };
        warnings(&run.plan, &run.measurement, &watched).len()
    };
    assert_eq!(format_one(&fixture::complete()), 1, "a replica alone has its master for a client");
    let cluster = |parts: &mut PlanParts| parts.target.cluster = Some(ClusterOptions::default());
    assert_eq!(format_one(&fixture::changed(cluster)), 0);
}

#[test]
fn one_slow_command_of_others_matters() {
    let mut run = fixture::complete();
    run.measurement.workers = vec![measure::WorkerUse {
        cpu_ns: 0,
        wall_ns: 1_000_000_000,
        system_ns: None,
        wait_ns: None,
    }];
    let others =
        |usec| ServerUse { by_command: vec![command("keys", 1, usec)], ..ServerUse::default() };
    assert_eq!(kinds(&run, others(9_000)), []);
    assert_eq!(kinds(&run, others(11_000)), [WarningKind::OtherClients]);
}

#[test]
fn what_a_script_calls_is_not_others() {
    let mut run = fixture::complete();
    let mut parts = fixture::parts();
    parts.sequence = vec![workload::CommandSpec::from_words(["EVAL", "x", "0"])];
    run.plan = parts.build().unwrap();
    let server = ServerUse {
        by_command: vec![command("eval", 2000, 900), command("get", 90_000, 900)],
        ..ServerUse::default()
    };
    assert_eq!(kinds(&run, server), []);
}

#[test]
fn misses_are_of_the_command_that_missed_where_another_is_repeated() {
    let set = || workload::CommandSpec::from_words(["SET", "k", "v"]);
    let mut run = fixture::changed(|parts| {
        parts.sequence = vec![set(), set(), workload::CommandSpec::from_words(["GET", "other"])];
    });
    let tallies = &mut run.measurement.total.commands;
    tallies.truncate(1);
    tallies.push(tallies[0].clone());
    (tallies[0].ok, tallies[0].miss) = (200, 0);
    (tallies[1].ok, tallies[1].miss) = (0, 100);
    let all = warnings(&run.plan, &run.measurement, &WatchRecord::default());
    let misses = all.iter().find(|warning| warning.kind == WarningKind::Misses).unwrap();
    assert!(
        misses.text.starts_with("100 of 100 replies to GET were misses; add --fill"),
        "{}",
        misses.text
    );
}

#[test]
fn our_own_looks_are_no_other_client() {
    let mut run = fixture::changed(|parts| {
        parts.sequence = vec![workload::CommandSpec::from_words(["INFO"])];
    });
    run.measurement.total.errors = measure::ErrorCounts::default();
    let server = ServerUse { by_command: vec![command("info", 2024, 1)], ..ServerUse::default() };
    assert_eq!(kinds(&run, server), []);
}
