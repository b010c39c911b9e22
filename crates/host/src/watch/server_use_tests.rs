use super::*;

/// A reply of Redis 7, reduced to the parsed fields: recorded from 7.0.15.
const REDIS_7: &str = "\
# Server\r\nredis_version:7.0.15\r\nrun_id:3ea45a8e06b0\r\nprocess_id:1\r\nio_threads_active:0\r\n\
# Memory\r\nused_memory:916224\r\nused_memory_rss:12050432\r\nmaxmemory:0\r\n\
# Persistence\r\nrdb_bgsave_in_progress:0\r\nrdb_last_save_time:1795271474\r\nrdb_saves:0\r\n\
aof_rewrite_in_progress:0\r\naof_last_rewrite_time_sec:-1\r\naof_rewrites:0\r\n\
# Stats\r\ntotal_commands_processed:10\r\ntotal_net_input_bytes:31\r\n\
total_net_output_bytes:5\r\nrejected_connections:0\r\nexpired_keys:0\r\nevicted_keys:0\r\n\
keyspace_hits:0\r\nkeyspace_misses:0\r\nlatest_fork_usec:0\r\ntotal_forks:0\r\n\
# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\
# CPU\r\nused_cpu_sys:0.015488\r\nused_cpu_user:0.000665\r\n\
used_cpu_sys_main_thread:0.011985\r\nused_cpu_user_main_thread:0.003995\r\n\
# Commandstats\r\ncmdstat_get:calls=10,usec=20,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n";

/// A reply of Redis 5, which has no CPU time of the main thread, and no counts of saves or forks.
const REDIS_5: &str = "\
# Server\r\nredis_version:5.0.14\r\nrun_id:aa\r\n\
# Persistence\r\nrdb_bgsave_in_progress:0\r\nrdb_last_save_time:100\r\n\
aof_rewrite_in_progress:0\r\naof_last_rewrite_time_sec:-1\r\n\
# Stats\r\ntotal_commands_processed:10\r\nlatest_fork_usec:77\r\n\
# CPU\r\nused_cpu_sys:1.00\r\nused_cpu_user:2.00\r\n\
# Commandstats\r\ncmdstat_set:calls=1,usec=3,usec_per_call=3.00\r\n";

fn look(text: &str, changes: &[(&str, &str)]) -> Snapshot {
    let mut text = text.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    Snapshot { info: Info::parse(&text), ..Snapshot::default() }
}

#[test]
fn figures_are_differences() {
    let after = look(
        REDIS_7,
        &[
            ("used_cpu_sys_main_thread:0.011985", "used_cpu_sys_main_thread:0.511985"),
            ("used_cpu_user_main_thread:0.003995", "used_cpu_user_main_thread:0.253995"),
            ("total_commands_processed:10", "total_commands_processed:1010"),
            ("keyspace_misses:0", "keyspace_misses:7"),
            ("evicted_keys:0", "evicted_keys:3"),
            ("get:calls=10,usec=20", "get:calls=1000,usec=420"),
            ("used_memory:916224", "used_memory:1000000"),
        ],
    );
    let used = ServerUse::between(&look(REDIS_7, &[]), &after).unwrap();
    assert_eq!(used.commands, Some(1000));
    assert_eq!((used.hits, used.misses, used.evicted_keys), (Some(0), Some(7), Some(3)));
    let get = CommandUse { name: "get".into(), calls: 990, usec: 400 };
    assert_eq!((used.executing_s(), used.by_command.as_slice()), (Some(0.0004), &[get][..]));
    assert_eq!(
        (used.memory_before_bytes, used.memory_after_bytes),
        (Some(916_224), Some(1_000_000))
    );
    assert_eq!((used.saved, used.rewrote, used.fork_usec), (Some(false), Some(false), None));
    assert_eq!(used.replica, Some(false));
    let promoted = look(REDIS_7, &[("role:master", "role:slave")]);
    assert_eq!(ServerUse::between(&promoted, &after).unwrap().replica, Some(true));
    let busy = used.busy(1.0).unwrap();
    assert!((busy.cpu - 0.75).abs() < 1e-9 && busy.part == BusyPart::MainThread, "{busy:?}");
    assert_eq!(used.busy(0.0), None);
}

#[test]
fn older_servers_tell_the_process_and_only_the_time_of_a_save() {
    let after =
        look(REDIS_5, &[("used_cpu_user:2.00", "used_cpu_user:2.40"), ("time:100", "time:101")]);
    let used = ServerUse::between(&look(REDIS_5, &[]), &after).unwrap();
    let busy = used.busy(1.0).unwrap();
    assert!((busy.cpu - 0.4).abs() < 1e-9 && busy.part == BusyPart::Process, "{busy:?}");
    assert_eq!((used.saved, used.rewrote), (Some(true), Some(false)));
    assert_eq!((used.forks, used.fork_usec, used.hits), (None, None, None));
}

#[test]
fn saves_and_rewrites_are_seen_whether_counted_or_running() {
    for (field, saved, rewrote) in [
        ("rdb_saves:", true, false),
        ("rdb_bgsave_in_progress:", true, false),
        ("aof_rewrites:", false, true),
        ("aof_rewrite_in_progress:", false, true),
    ] {
        let during = look(REDIS_7, &[(&format!("{field}0"), &format!("{field}1"))]);
        let used = ServerUse::between(&look(REDIS_7, &[]), &during).unwrap();
        assert_eq!((used.saved, used.rewrote), (Some(saved), Some(rewrote)), "{field}");
    }
}

#[test]
fn two_lives_of_a_server_are_not_compared() {
    let before = look(REDIS_7, &[]);
    let restarted = look(REDIS_7, &[("run_id:3ea45a8e06b0", "run_id:ff")]);
    assert!(ServerUse::between(&before, &restarted).unwrap_err().contains("restarted"));
    let reset = look(REDIS_7, &[("processed:10", "processed:1")]);
    assert!(ServerUse::between(&before, &reset).unwrap_err().contains("reset"));
}

#[test]
fn a_server_that_says_nothing_is_known_by_nothing() {
    let sink = Snapshot { info: Info::parse("redis_version:7\r\n"), ..Snapshot::default() };
    let used = ServerUse::between(&sink, &sink).unwrap();
    assert_eq!(used, ServerUse::default());
    assert_eq!(used.busy(1.0), None);
}

#[test]
fn threads_share_the_work_unless_one_has_more() {
    let of = |main: f64, process: f64, threads| {
        let used = ServerUse {
            cpu_main_s: Some(main),
            cpu_process_s: Some(process),
            threads,
            ..ServerUse::default()
        };
        let busy = used.busy(1.0).unwrap();
        (busy.cpu, busy.part)
    };
    assert_eq!(of(0.9, 2.0, Some(4)), (0.9, BusyPart::MainThread));
    assert_eq!(of(0.5, 3.2, Some(4)), (0.8, BusyPart::Threads));
    // Threads for deleting and syncing are no part of it.
    assert_eq!(of(0.5, 3.2, Some(1)), (0.5, BusyPart::MainThread));
}

/// A Valkey with I/O threads, before and after a second in which it polled.
fn polled(changes: &[(&str, &str)]) -> ServerUse {
    let valkey = "run_id:1\nvalkey_version:9.1.0\nserver_name:valkey\nredis_version:7.2.4\n\
        used_cpu_sys:0.0\nused_cpu_user:MANY\nused_cpu_sys_main_thread:0.0\n\
        used_cpu_user_main_thread:CPU\nACTIVE";
    let mut before = look(valkey, &[("MANY", "0.0"), ("CPU", "0.0"), ("ACTIVE", "")]);
    let active = "used_active_time_main_thread:0.5\nused_active_time_io_thread_1:1.0\n";
    let with_active = changes.iter().any(|(name, _)| *name == "MAIN");
    if with_active {
        before = look(valkey, &[("MANY", "0.0"), ("CPU", "0.0"), ("ACTIVE", active)]);
    }
    let mut text = valkey.replace("MANY", "3.9").replace("CPU", "0.98");
    let later = "used_active_time_main_thread:MAIN\nused_active_time_io_thread_1:IO\n";
    text = text.replace("ACTIVE", if with_active { later } else { "" });
    changes.iter().for_each(|(from, to)| text = text.replace(from, to));
    let mut after = Snapshot { info: Info::parse(&text), ..Snapshot::default() };
    for snapshot in [&mut before, &mut after] {
        snapshot.settings = vec![("io-threads".to_owned(), "4".to_owned())];
    }
    ServerUse::between(&before, &after).unwrap()
}

#[test]
fn a_thread_that_polls_is_not_claimed_to_be_busy() {
    let busy = polled(&[]).busy(1.0).unwrap();
    assert_eq!((busy.cpu, busy.part, busy.polls), (0.98, BusyPart::MainThread, true));
    let of = |main, io| polled(&[("MAIN", main), ("IO", io)]).busy(1.0).unwrap();
    let busy = of("0.8", "1.2");
    assert!((busy.cpu - 0.3).abs() < 1e-9 && busy.part == BusyPart::MainThread, "{busy:?}");
    let busy = of("0.8", "1.95");
    assert!((busy.cpu - 0.95).abs() < 1e-9 && busy.part == BusyPart::IoThread, "{busy:?}");
    assert!(!busy.polls, "it tells work from polling");
}

#[test]
fn io_threads_of_an_old_redis_poll_and_those_of_a_new_one_sleep() {
    let of = |version: &str| {
        let text = format!("run_id:1\nredis_version:{version}\nio_threads_active:1\n");
        let settings = vec![("io-threads".to_owned(), "4".to_owned())];
        let mut snapshot = Snapshot { settings, ..Snapshot::default() };
        snapshot.info = Info::parse(&text);
        let used = ServerUse::between(&snapshot, &snapshot).unwrap();
        let (cpu_main_s, cpu_process_s) = (Some(0.5), Some(3.8));
        ServerUse { cpu_main_s, cpu_process_s, ..used }.busy(1.0).unwrap().part
    };
    assert_eq!((of("7.0.15"), of("8.0.1")), (BusyPart::MainThread, BusyPart::Threads));
}

#[test]
fn a_process_here_tells_what_info_does_not() {
    let local = |run_ns, wait_ns| {
        let (throttled_ns, swap_bytes) = (Some(wait_ns / 2), Some(wait_ns));
        let workers = crate::watch::workers::Workers::new();
        Some(LocalUse {
            run_ns,
            wait_ns,
            throttled_ns,
            swap_bytes,
            resident_bytes: None,
            cpus: vec![1],
            workers,
        })
    };
    let mut before = look("run_id:1", &[]);
    let mut after = before.clone();
    (before.local, after.local) = (local(0, 0), local(500_000_000, 600_000_000));
    let used = ServerUse::between(&before, &after).unwrap();
    let busy = used.busy(1.0).unwrap();
    assert_eq!((busy.cpu, busy.wait), (0.5, 0.5));
    assert_eq!(used.cpu_throttled_s, Some(0.3));
    assert_eq!((used.swap_grown_bytes, used.cpus), (Some(600_000_000), vec![1]));
}

#[test]
fn the_time_of_a_transaction_is_counted_once() {
    let command = |name: &str, usec| CommandUse { name: name.into(), calls: 1, usec };
    let by_command = vec![command("set", 70), command("exec", 100), command("multi", 10)];
    let used = ServerUse { by_command, ..ServerUse::default() };
    assert_eq!(used.executing_s(), Some(100e-6));
}

#[test]
fn a_changed_setting_is_reported_with_its_past() {
    let setting = |value: &str| vec![("save".to_owned(), value.to_owned())];
    let before = Snapshot { settings: setting(""), ..Snapshot::default() };
    let after = Snapshot { settings: setting("60 1"), ..Snapshot::default() };
    let used = ServerUse::between(&before, &after).unwrap();
    assert_eq!(used.settings[0].changed_from.as_deref(), Some(""));
    assert_eq!(used.setting("save"), Some("60 1"));
}
