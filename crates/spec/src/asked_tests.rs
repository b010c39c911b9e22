use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use naming::Text;
use proptest::prelude::*;
use workload::command_line::{TypedOperation, TypedStep};
use workload::{Arg, KeySpace, Piece, Plan, ProtocolKind, Slot, StepCondition};

use crate::commands::{CommandReader, inserts};
use crate::escape::{literal, of_other_tool};
use crate::round_trip_tests::{read, usual};
use crate::write::{PrintedOption, vocabulary};
use crate::{LoadOperation, LoadSpec, TypedLoad};

/// Options that leave nothing in a plan, or nothing that it has of them alone.
const WITHOUT_TRACE: [&str; 14] = [
    "hit_ratio",
    "idle",
    "maxdocs",
    "phase",
    "repeat",
    "repeats",
    "replay",
    "row_value",
    "settings",
    "start_at",
    "stdin_arg",
    "tests",
    "workload",
    "xml_root_element",
];

/// Other options, in lines that make plans. One that has a usual value is in a line of its own if it is in none of
/// these. `TABLE` is a file.
const LINES: &[&str] = &[
    "-h db -p 7000 --user ann -a x --dbnum 3 -3 -t get",
    "-h a,b:7 --hash modulo --protocol memcache-meta get k",
    "-s /run/db.sock --enable-tracking --no-touch -t set,lrange_100",
    "--mptcp --source-ip 127.0.0.2,::1 -t get",
    "--cluster --rfr yes --rfr-without wait --rfr-replicas 2 --rfr-connections 2:1 --rfr-also 1 -- eval 'return 1' 0",
    "--cluster --per-node --rps 10k --rps-per-node -t get",
    "--replicas a:1,[::1]:2 -t get",
    "--pool b:1,/run/b.sock -t get",
    "--spawn --spawn-unix --server-cpus 0,2-3 -- flushall",
    "--spawn=memcached --spawn-args '--threads 2' get k",
    "-u redis-sentinel://a:1,b:2/m -t get",
    "--password-command /bin/token -t get",
    "--tls --sni db --cacert ca.pem --cacertdir certs --cert c.pem --cert-chain chain.pem --key k.pem --insecure -t get",
    "--tls --tls-ciphers A --tls-ciphersuites B --tls-groups C --tls-protocols TLSv1.3 --tls-resume -k 0 -t get",
    "-c 100 -n 1500 --per-connection --time-limit 1.5m --warmup 100ms -P 16 --window rolling -t get",
    "--duration 2 --rps 1k/60s,1k..5k/10s,5k --arrivals poisson --shard 2/4 --window batch -t get",
    "--threads 2 --cpus 1,4 --engine epoll -k 0 --set requests-per-connection=2 --timeout 500 --deadline 1s -t get",
    "--reconnect yes --set reconnect-wait=5,2,100 --set reconnect-tries=3 --set reconnect-timeout=70 -t get",
    "--duration 1 --reconnect no --on-error count --set join=1+2/5s --set connect-spacing=1ms..5ms -t get",
    "--set renew=3 -r 9 --verify --fail-on-miss -- get k:__key__",
    "--connect --open-for end --close reset --burst 5 -n 10 -- ping",
    "--connect --open-for 2s --rps 100 -- ping",
    "--retry forever --retry-wait 5ms,2,1s --retry-jitter 0.25 --retry-queue 4 --retry-on LOADING,BUSY -P 4 -t get",
    "-n 9 --per-connection -r 1M --sequential --set first-key=5 --set unpadded --set keys-by=slice --set one-slot -- mget k:__rand_int__ k:__rand_int__",
    "-r 1000 --key-dist zipf:1.1 -d 100 --content compressible:2 --ttl 60..300 --fill --clean --hit-ratio 0.9 \
     --seed 7 -- get k:__key__",
    "-r 9 -d uniform:100..4k --set size-by=turn:5 --mix --set order=1,2:9 \
     -- get k:__key__ ';' set k:__key__ __data__",
    "-r 9 --fill --fill-with 'hset k:__key__ f 1 \";\" hset k:__key__ g 2' -- hgetall k:__key__",
    "--dataset TABLE --set rows-by=random -- set k:__rand_int__ __field:v__",
    "--num-functions 3 -t function_load",
    "--num-keys-in-fcall 2 -t fcall",
    "--name one --precision 4 --first-byte --kernel-stamps -t get",
    "--rps 1k --kernel-stamps=no --yes -- set a b ';' keys a ';>' get __reply__",
];

fn plans(spec: &LoadSpec, line: &str) -> Vec<Plan> {
    spec.plans(&mut Vec::new()).unwrap_or_else(|why| panic!("{line}: {why}"))
}

#[test]
fn the_words_of_a_plan_make_the_same_plan() {
    let mut table = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    table.write_all(b"k,v\n1,a\n2,b\n").unwrap();
    let path = table.path().display().to_string();
    let mut seen: BTreeSet<String> = WITHOUT_TRACE.map(str::to_owned).into();
    let mut lines: Vec<String> = LINES.iter().map(|line| line.replace("TABLE", &path)).collect();
    let known = |name: String| lines.iter().any(|line| line.contains(&name));
    let command = vocabulary();
    let others = command.get_arguments().filter_map(|option| {
        let given = PrintedOption { option: option.clone(), value: usual(option)? };
        let is_seen = seen.contains(option.get_id().as_str()) || known(given.name());
        (!is_seen).then(|| format!("{} -t get", shell_words::join(given.words())))
    });
    lines.extend(others.collect::<Vec<_>>());
    for line in &lines {
        let spec = read(&shell_words::split(line).unwrap()).unwrap();
        seen.extend(spec.given().unwrap().iter().map(|given| given.option.get_id().to_string()));
        for plan in plans(&spec, line) {
            let words = LoadSpec::of_plan(&plan).words().unwrap();
            let repeated = plans(&read(&words).unwrap(), line);
            let repeated = repeated.iter().find(|other| other.name == plan.name);
            let json = |plan: &Plan| serde_json::to_string_pretty(&plan.without_options()).unwrap();
            assert_eq!(repeated.map(json), Some(json(&plan)), "{line}: {words:?}");
        }
    }
    let all = command.get_arguments().map(|option| option.get_id().as_str());
    let unseen: Vec<&str> = all.filter(|id| !seen.contains(*id)).collect();
    assert_eq!(unseen, [""; 0], "options that no line has");
}

/// Texts that a reader of words may take for something else, alone or beside others.
const TEXTS: [&[u8]; 26] = [
    b"__rand_int__",
    b"__",
    b"_",
    b"key__",
    b"__key",
    b"__key:fnv,1__",
    b"__data__",
    b"__ttl__",
    b"__field:a__",
    b"__hex:61__",
    b"__hex:",
    b"61__",
    b"{tag}",
    b";",
    b";>",
    b"9",
    b"__reply",
    b"reply__",
    b"__insert__",
    b"__draw:",
    b"0..9__",
    b"\0",
    b"\xff",
    b"k:",
    b"__reply_or:x__",
    b"__cas__",
];

/// Placeholders, and what they are read as.
fn placeholders() -> Vec<(String, Piece)> {
    let derived = ["draw:0..9", "key:fnv,1", "random:9"]
        .map(|text| (format!("__{text}__"), Piece::Derived(text.parse().unwrap())));
    let others = [
        ("__rand_int__", Piece::Number(Slot::Fresh)),
        ("__key__", Piece::Number(Slot::Key)),
        ("__rand_3rd__", Piece::Number(Slot::Shared(3))),
        ("__data__", Piece::Value),
        ("__reply__", Piece::Reply { or: Vec::new() }),
        ("__reply_or:-__", Piece::Reply { or: b"-".to_vec() }),
    ];
    others.map(|(text, piece)| (text.to_owned(), piece)).into_iter().chain(derived).collect()
}

/// A text that may be a placeholder, or part of one.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let texts = prop::collection::vec(prop::sample::select(&TEXTS[..]), 1..4);
    prop_oneof![3 => texts.prop_map(|texts| texts.concat()), 1 => prop::collection::vec(any::<u8>(), 1..5)]
}

/// An argument of pieces, its texts in one piece each.
fn joined(pieces: impl Iterator<Item = Piece>) -> Arg {
    let mut joined = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Bytes(text)), Piece::Bytes(more)) => text.extend(more),
            (_, Piece::Bytes(text)) if text.is_empty() => {}
            (_, piece) => joined.push(piece),
        }
    }
    Arg { pieces: joined }
}

/// A word of texts and placeholders, and what it is read as.
fn word() -> impl Strategy<Value = (String, Arg)> {
    let text = text().prop_map(|text| (String::new(), Piece::Bytes(text)));
    let part = prop_oneof![4 => text, 2 => prop::sample::select(placeholders())];
    prop::collection::vec(part, 1..5).prop_map(|parts| {
        let arg = joined(parts.into_iter().map(|(_, piece)| piece));
        let known = placeholders();
        let named = |at: usize| {
            let piece = arg.pieces.get(at);
            known.iter().find(|(_, known)| Some(known) == piece).map_or("", |(name, _)| name)
        };
        let texts = arg.pieces.iter().enumerate().map(|(at, piece)| match piece {
            Piece::Bytes(text) => {
                literal(text, if at > 0 { named(at - 1) } else { "" }, named(at + 1))
            }
            _ => named(at).to_owned(),
        });
        (texts.collect(), arg.clone())
    })
}

/// Words as a command of keystorm's or of another tool's.
fn read_as(spec: &LoadSpec, words: &[Vec<u8>], is_own: bool) -> Result<Vec<Arg>, Text> {
    let mut reading = CommandReader::new(spec, ProtocolKind::Resp2, None, true, 3);
    reading.replies = is_own;
    let args = reading.command(words)?.args.into_iter();
    Ok(args.map(|arg| joined(arg.pieces.into_iter())).collect())
}

proptest! {
    #[test]
    fn commands_are_the_same_from_their_words(
        sequence in prop::collection::vec(prop::collection::vec(word(), 1..4), 1..4),
    ) {
        let words = |command: &Vec<(String, Arg)>| {
            command.iter().map(|(word, _)| word.clone().into_bytes()).collect()
        };
        let step = TypedStep {
            when: StepCondition::Always,
            commands: sequence.iter().map(words).collect(),
        };
        let typed = TypedOperation { weight: 1, steps: vec![step] };
        let operation = LoadOperation { typed, name: None, keys: None, places: Vec::new() };
        let load = TypedLoad { operations: vec![operation], stepped: true, ..TypedLoad::default() };
        let load = load.in_own_words(&KeySpace::default());
        let mut words = load.words(false);
        words.insert(0, "--".to_owned());
        let spec = read(&words).unwrap();
        prop_assert!(spec.command.iter().all(|word| !word.as_bytes().contains(&0)));
        let mut operations = spec.operations().unwrap();
        prop_assert_eq!(operations.iter_mut().map(inserts).collect::<Vec<_>>(), [Ok(false)]);
        let typed = operations[0].steps.iter().flat_map(|step| &step.commands);
        let again: Vec<_> = typed.map(|words| read_as(&spec, words, true).unwrap()).collect();
        let args = |command: &Vec<(String, Arg)>| command.iter().map(|(_, arg)| arg.clone()).collect();
        prop_assert_eq!(again, sequence.iter().map(args).collect::<Vec<Vec<_>>>(), "{:?}", words);
    }

    #[test]
    fn words_of_another_tool_mean_the_same(word in text()) {
        let spec = LoadSpec::default();
        let (own, theirs) = (of_other_tool(&word), read_as(&spec, &[word], false));
        if theirs.is_ok() {
            prop_assert_eq!(read_as(&spec, &[own.clone().into_bytes()], true), theirs, "{}", own);
        }
    }
}
