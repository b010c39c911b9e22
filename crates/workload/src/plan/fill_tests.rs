use super::super::tests::parts;
use super::*;
use crate::ProtocolKind;

/// Parts that send these commands and are filled, over 50 keys unless `change` says otherwise.
fn read(sequence: Vec<CommandSpec>, change: impl FnOnce(&mut PlanParts)) -> PlanParts {
    let mut parts = PlanParts { sequence, ..parts() };
    parts.data.keys = KeySpace::new(Some(50), KeyDist::UNIFORM);
    parts.data.fill = Some(Vec::new());
    change(&mut parts);
    parts
}

fn fill(lines: &[&str], with: &[&str]) -> Fill {
    let of = |lines: &[&str]| -> Vec<CommandSpec> {
        lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect()
    };
    read(of(lines), |parts| parts.data.fill = Some(of(with))).filled_by()
}

fn written(fill: &Fill) -> Vec<(String, u64)> {
    let key = |arg: &Arg| match &arg.pieces[..] {
        [Piece::Bytes(text), Piece::Number(Slot::Key)] => String::from_utf8_lossy(text).into(),
        other => format!("{other:?}"),
    };
    let written = fill.parts.iter().map(|parts| match parts.load.stop {
        Stop::Requests(n) => (key(&parts.sequence[0].args[1]), n),
        Stop::AfterNs(_) => unreachable!("keys are counted"),
    });
    written.collect()
}

#[test]
fn each_form_of_key_that_is_read_is_written_once() {
    let sets =
        fill(&["GET a:__rand_int__", "SET a:__rand_int__ v", "MGET a:__key__ b:__rand_1st__"], &[]);
    assert_eq!(written(&sets), [("a:".to_owned(), 50), ("b:".to_owned(), 50)]);
    assert_eq!(sets.parts[0].sequence[0].args[2].fixed_bytes().unwrap(), b"v");
    assert!(sets.unfillable.is_empty());
    sets.parts.into_iter().for_each(|parts| drop(parts.build().unwrap()));
}

#[test]
fn what_is_written_is_what_is_read_or_is_refused() {
    let of = |line: &str, range: Option<u64>| {
        let sequence = line.split(" ; ").map(|line| CommandSpec::parse(line.split(' '))).collect();
        read(sequence, |parts| parts.data.keys.range = range).filled_by()
    };
    let first = |fill: &Fill| {
        let plan = fill.parts[0].clone().build().unwrap();
        (plan.sequence[0].clone(), plan.own_requests(), plan.keys_filled())
    };
    // A key without a number, and one whose placeholder stays as it is, are one key.
    let (set, requests, keys) = first(&of("GET fixed", Some(50)));
    assert_eq!((set.args[1].clone(), requests, keys), (Arg::literal(b"fixed"), Some(1), 1));
    let alone = of("GET k:__rand_int__", None);
    let (set, _, keys) = first(&alone);
    assert_eq!((typed(&set.args[1]), keys), ("k:__rand_int__".to_owned(), 1));
    for (line, why) in [
        ("GET k:__rand_int__:__rand_1st__", "k:__rand_int__:__rand_1st__ has several numbers"),
        ("GET __rand_int____rand_int__", "several numbers"),
    ] {
        let fill = of(line, Some(50));
        assert!(fill.parts.is_empty() && fill.unforeseen[0].contains(why), "{line}");
    }
    assert_eq!(first(&of("GET {__key__}:__key__", Some(50))).2, 50, "one number");
    // Only what is known beforehand, and says what is written, is taken from a SET of the plan.
    let own = of("GET k:__key__ ; SET j:__key__ w ; SET k:__key__ v NX PX 5 GET", Some(50));
    let words = first(&own).0.args.into_iter().filter_map(|arg| arg.fixed_bytes());
    let words: Vec<_> = words.map(|word| String::from_utf8(word).unwrap()).collect();
    assert_eq!(words, ["SET", "v", "PX", "5"]);
    let mut copy = CommandSpec::from_words(["SET", "b"]);
    copy.args.push(Arg { pieces: vec![Piece::Reply { or: Vec::new() }] });
    let sequence = vec![CommandSpec::parse(["GET", "a:__key__"]), copy];
    let plan = read(sequence, |_| ());
    assert!(!plan.filled_by().parts[0].sequence[0].names_reply());
}

#[test]
fn keys_live_as_long_as_the_plan_says_of_its_fill() {
    let words = |line: &str, protocol: ProtocolKind| {
        let sequence = line.split(';').map(|line| CommandSpec::parse(line.split(' '))).collect();
        let parts = read(sequence, |parts| {
            parts.protocol = protocol;
            parts.data.fill_lifetime = Some("60".parse().unwrap());
        });
        let fill = parts.filled_by();
        let args = fill.parts[0].sequence[0].args.iter().filter_map(Arg::fixed_bytes);
        args.map(|word| String::from_utf8(word).unwrap()).collect::<Vec<_>>().join(" ")
    };
    let (redis, memcached) = (ProtocolKind::Resp2, ProtocolKind::MemcacheText);
    assert_eq!(words("GET k:__key__", redis), "SET VXK EX 60");
    assert_eq!(words("GET k:__key__;SET k:__key__ v EX 5", redis), "SET v EX 5");
    assert_eq!(words("get k:__key__", memcached), "set 0 60 VXK");
    assert_eq!(words("get k:__key__;set k:__key__ 0 5 v", memcached), "set 0 5 v");
}

#[test]
fn stores_of_memcached_are_retried_unless_several_commands_write_a_key() {
    for (with, retried) in [
        (&[][..], true),
        (&["set n:__key__ 0 0 v"], true),
        (&["set n:__key__ 0 0 v", "set m:__key__ 0 0 w"], false),
        (&["append n:__key__ 0 0 v"], false),
    ] {
        let with = with.iter().map(|line| CommandSpec::parse(line.split(' '))).collect();
        let plan = read(vec![CommandSpec::parse(["get", "n:__key__"])], |parts| {
            parts.protocol = ProtocolKind::MemcacheText;
            parts.data.fill = Some(with);
        });
        let fill = plan.filled_by().parts.remove(0);
        let (removes, plan) = (fill.removed_by().build().unwrap(), fill.build().unwrap());
        assert_eq!((plan.recovery.retry.is_some(), plan.mix.is_some()), (retried, retried));
        assert!(removes.recovery.retry.is_none() && removes.mix.is_none());
    }
}

#[test]
fn what_reads_no_strings_must_name_how_to_be_filled() {
    let unfillable = fill(&["HGETALL h:__key__", "SADD s:__key__ x"], &[]);
    assert_eq!(
        (unfillable.parts.len(), &unfillable.unfillable[..]),
        (0, &["HGETALL".to_owned()][..])
    );
    let filled = fill(&["HGETALL h:__key__"], &["HSET h:__rand_int__ a 1", "HSET h:__key__ b 2"]);
    assert_eq!(written(&filled), [("h:".to_owned(), 100)]);
}

#[test]
fn replies_of_nothing_tell_of_what_is_looked_for_and_not_of_what_is_written() {
    let looks = |line: &str, protocol| CommandSpec::parse(line.split(' ')).looks_for(protocol);
    let redis = ["get k", "HMGET h a", "zpopmin z", "getdel k", "JSON.GET k", "object freq k"];
    let others = ["set k v nx", "eval x 0", "FCALL f 0", "JSON.SET k v nx", "ping", "xread $"];
    assert!(redis.into_iter().all(|line| looks(line, ProtocolKind::Resp3)));
    assert!(!others.into_iter().any(|line| looks(line, ProtocolKind::Resp3)));
    let memcache = ProtocolKind::MemcacheText;
    assert!(looks("get k", memcache) && looks("incr k 1", memcache));
    assert!(!looks("add k 0 0 v", memcache) && !looks("cas k 0 0 v 1", memcache));
}

#[test]
fn what_memcached_must_have_is_set_with_flags_and_a_lifetime() {
    let fill = |lines: &[&str]| {
        let sequence =
            lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect::<Vec<_>>();
        read(sequence, |parts| parts.protocol = ProtocolKind::MemcacheText).filled_by()
    };
    let words = |fill: &Fill| -> Vec<Vec<u8>> {
        let args = &fill.parts[0].sequence[0].args;
        args.iter().filter_map(Arg::fixed_bytes).collect()
    };
    let read = fill(&["gat 60 a:__rand_int__ b:__rand_int__", "mg a:__key__ v"]);
    assert_eq!(written(&read), [("a:".to_owned(), 50), ("b:".to_owned(), 50)]);
    assert_eq!(words(&read), [&b"set"[..], b"0", b"0", b"VXK"]);
    let own = fill(&["get a:__key__", "set a:__key__ 5 60 v"]);
    assert_eq!(words(&own), [&b"set"[..], b"5", b"60", b"v"]);
    let unfillable = fill(&["incr n:__key__ 1", "set k:__key__ 0 0 v"]);
    assert_eq!((unfillable.parts.len(), &unfillable.unfillable[..]), (0, &["INCR".to_owned()][..]));
}
