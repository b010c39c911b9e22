use super::*;

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

#[test]
fn an_entry_of_slowlog_is_read_without_what_may_be_secret() {
    let item = |words: &[&str]| {
        Value::Array(vec![
            Value::Integer(7),
            Value::Integer(1_000),
            Value::Integer(78_500),
            Value::Array(words.iter().map(|word| bulk(word)).collect()),
            bulk("127.0.0.1:9"),
            bulk("job"),
        ])
    };
    let entry = command(&item(&["keys", "*"]), JournalKind::SlowCommand).unwrap();
    assert_eq!((entry.what.as_str(), entry.usec), ("KEYS *", Some(78_500)));
    assert_eq!((entry.from_s, entry.to_s), (1_000.0 - 0.0785, 1_001.0));
    assert_eq!(entry.client, "127.0.0.1:9 (job)");
    let what = |words| command(&item(words), JournalKind::SlowCommand).unwrap().what;
    assert_eq!(what(&["auth", "hunter2"]), "AUTH");
    assert_eq!(what(&["config", "set", "requirepass", "hunter2"]), "CONFIG set");
    assert_eq!(what(&["set", &"k".repeat(99)]), format!("SET {}…", "k".repeat(40)));
}

#[test]
fn a_save_tells_when_it_forked() {
    let before = Info::parse("rdb_last_save_time:100\ntotal_forks:0\nrdb_bgsave_in_progress:0");
    let after = "rdb_last_save_time:205\nrdb_last_bgsave_time_sec:3\ntotal_forks:1\n\
                 latest_fork_usec:8708\nrdb_bgsave_in_progress:0";
    let found = children(&before, &Info::parse(after), 150.0);
    let [save, fork] = &found[..] else { panic!("{found:?}") };
    assert_eq!((save.kind, save.from_s, save.to_s), (JournalKind::Save, 201.0, 206.0));
    assert_eq!((fork.kind, fork.usec, fork.from_s), (JournalKind::Fork, Some(8708), 201.0));
    assert_eq!(children(&before, &before, 150.0), []);
}

#[test]
fn samples_tell_what_changed_within_their_second() {
    let sample = |unix_s, forks, evicted| ServerSample {
        unix_s,
        forks: Some(forks),
        fork_usec: Some(900),
        evicted_keys: Some(evicted),
        ..ServerSample::default()
    };
    let samples = [sample(1.0, 0, 5), sample(2.0, 1, 5), sample(3.0, 1, 9)];
    let found = between_samples(&samples, 0.5);
    let entries: Vec<_> = found.iter().map(|e| (e.kind, e.from_s, e.usec, e.count)).collect();
    assert_eq!(
        entries,
        [(JournalKind::Fork, 1.5, Some(900), Some(1)), (JournalKind::Eviction, 2.5, None, Some(4)),]
    );
}

#[test]
fn a_rewrite_lasts_as_long_as_samples_see_its_child() {
    let sample = |unix_s, rewrites, saving| ServerSample {
        unix_s,
        aof_rewrites: Some(rewrites),
        saving,
        ..ServerSample::default()
    };
    let all = [(1.0, 0, false), (2.0, 1, true), (3.0, 1, true), (4.0, 1, false), (5.0, 1, false)];
    let found = between_samples(&all.map(|(s, n, saving)| sample(s, n, saving)), 0.5);
    let [rewrite] = &found[..] else { panic!("{found:?}") };
    assert_eq!((rewrite.kind, rewrite.from_s, rewrite.to_s), (JournalKind::Rewrite, 1.5, 4.5));
}

#[test]
fn versions_are_compared_by_their_numbers() {
    assert!(at_least("8.1.0", 8, 1) && at_least("9.0", 8, 1) && at_least("10.0", 8, 1));
    assert!(!at_least("8.0.9", 8, 1) && !at_least("", 8, 1));
}
