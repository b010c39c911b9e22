use super::*;
use crate::resp::Resp;
use workload::command_line::split_operations;
use workload::*;

pub(crate) fn plan(line: &str, keys: KeySpace, depth: u32, dataset: Option<Dataset>) -> Plan {
    let words: Vec<Vec<u8>> = line.split(' ').map(|w| w.as_bytes().to_vec()).collect();
    let columns = dataset.as_ref().map_or(vec![], |d| d.columns().to_vec());
    let [operation] = &split_operations(&words, false, false, 100).unwrap()[..] else { panic!() };
    let sequence = operation.steps[0].commands.iter().map(|command| {
        let args =
            command.iter().map(|w| Arg::literal(w).with_fields(&columns).unwrap().with_numbers());
        CommandSpec { args: args.collect(), inline: false }
    });
    let concurrency =
        Concurrency { connections: 1, pipeline_depth: depth, ..Concurrency::default() };
    PlanParts {
        name: line.into(),
        sequence: sequence.collect(),
        load: Load { concurrency, stop: Stop::Requests(1), seed: 7, ..Load::default() },
        data: Data { keys, dataset: dataset.map(Arc::new), ..Data::default() },
        ..PlanParts::default()
    }
    .build()
    .unwrap()
}

fn keys(draw: &str, range: u64) -> KeySpace {
    KeySpace::new(Some(range), draw.parse().unwrap())
}

fn turn(first: u64, sequences: u32, commands: u32) -> SequenceBatch {
    SequenceBatch { first, sequences, commands }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", " ").trim_end().to_owned()
}

#[test]
fn each_command_of_a_pipeline_gets_a_fresh_number() {
    let mut batch = Batch::new::<Resp>(&plan("GET k:__rand_int__", keys("sequential", 5), 3, None));
    assert_eq!(
        text(batch.fill(turn(4, 3, 3))),
        "*2 $3 GET $14 k:000000000004 *2 $3 GET $14 k:000000000000 *2 $3 GET $14 k:000000000001"
    );
}

#[test]
fn shared_slots_agree_within_a_sequence_and_fresh_ones_do_not() {
    let line =
        "SET __rand_1st__ __rand_2nd__ ; GET __rand_1st__ ; GET __rand_int__ ; GET __rand_int__";
    let mut batch = Batch::new::<Resp>(&plan(line, keys("uniform", 1 << 30), 2, None));
    let sent = text(batch.fill(turn(0, 2, 8)));
    let numbers: Vec<&str> = sent.split(' ').filter(|w| w.len() == 12).collect();
    assert_eq!(numbers[0], numbers[2]);
    assert_ne!(numbers[0], numbers[1], "slots have streams of their own");
    assert_ne!(numbers[3], numbers[4], "__rand_int__ is fresh at each occurrence");
    assert_ne!(numbers[0], numbers[5], "the next sequence draws anew");
}

#[test]
fn the_key_of_a_sequence_is_one_number_with_a_stream_of_its_own() {
    let line = "SET k:__key__ __key__ ; GET k:__key__ ; GET __rand_int__ ; GET __rand_1st__";
    let mut batch = Batch::new::<Resp>(&plan(line, keys("zipf:0.1", 1 << 30), 2, None));
    let sent = text(batch.fill(turn(0, 2, 8)));
    let numbers: Vec<&str> =
        sent.split(' ').map(|w| w.trim_start_matches("k:")).filter(|w| w.len() >= 12).collect();
    let [key, same, again, fresh, shared, next, ..] = numbers[..] else { panic!("{sent}") };
    assert!(key == same && key == again, "{sent}");
    assert!(key != fresh && key != shared && key != next, "{sent}");
    let mut literal = Batch::new::<Resp>(&plan("GET __key__", KeySpace::default(), 1, None));
    assert_eq!(text(literal.fill(turn(0, 1, 1))), "*2 $3 GET $7 __key__");
}

#[test]
fn the_last_turn_may_cut_a_sequence_short() {
    let line = "SET a b ; GET a ; DEL a";
    let mut batch = Batch::new::<Resp>(&plan(line, KeySpace::default(), 2, None));
    assert!(text(batch.fill(turn(0, 2, 5))).ends_with("*2 $3 GET $1 a"));
    assert!(text(batch.fill(turn(0, 2, 6))).ends_with("*2 $3 DEL $1 a"));
}

/// Slots computed before the bytes equal those of the keys in the bytes.
#[test]
fn slots_are_those_of_the_keys_that_are_sent() {
    let rows = vec![vec![b"{x}1".to_vec()], vec![b"a{b".to_vec()], vec![b"}".to_vec()]];
    let lines = [
        "GET k",
        "GET k:__rand_int__",
        "GET a__rand_1st__{__rand_2nd__:x}b",
        "SET __rand_int__:__rand_int__ v ; GET {t:__rand_int__ ; GET __rand_1st__",
        "GET k:{tag}:__rand_int__",
        "GET {a}:{tag}",
        "GET k:__field:id__:__rand_int__",
        "SET k:__key__ __rand_int__ ; GET {__key__}:__rand_int__",
        "GET __rand_int__{}{tag}",
    ];
    for (line, range) in lines.iter().flat_map(|l| [(l, None), (l, Some(1 << 20))]) {
        let data = line
            .contains("field")
            .then(|| Dataset::new("f".into(), vec!["id".into()], rows.clone()).unwrap());
        let mut plan = plan(line, KeySpace::new(range, KeyDist::UNIFORM), 1, data);
        plan = tagged(plan);
        let keys = vec![Some(1); plan.sequence.len()];
        let slots = Slots::new(&plan, &keys);
        let mut batch = Batch::new::<Resp>(&plan);
        let commands = plan.sequence.len();
        for number in 0..50 {
            let mut appended = Vec::new();
            for command in 0..commands {
                let mut bytes = Vec::new();
                batch.append(number, command..command + 1, &mut bytes);
                let Some((crate::resp::Value::Array(words), _)) =
                    crate::resp::Value::parse(&bytes).unwrap()
                else {
                    panic!("{line}")
                };
                let crate::resp::Value::Bulk(key) = &words[1] else { panic!("{line}") };
                let got = batch.slot(&slots, number.into(), command, &mut Vec::new());
                let key_text = String::from_utf8_lossy(key);
                assert_eq!(got, Some(crate::cluster::slot_of(key)), "{line}: {key_text}");
                appended.extend_from_slice(&bytes);
            }
            let whole = batch.fill(turn(number, 1, commands as u32));
            assert_eq!(text(whole), text(&appended), "{line}");
        }
    }
}

/// Puts the plan in cluster mode, in which `{tag}` is a placeholder.
fn tagged(plan: Plan) -> Plan {
    let mut parts = (*plan).clone();
    for arg in parts.sequence.iter_mut().flat_map(|c| &mut c.args) {
        *arg = arg.clone().with_tags();
    }
    parts.build().unwrap()
}

#[test]
fn without_a_range_placeholders_stay_text() {
    let mut batch = Batch::new::<Resp>(&plan("GET k:__rand_int__", KeySpace::default(), 1, None));
    assert_eq!(text(batch.fill(turn(0, 1, 1))), "*2 $3 GET $14 k:__rand_int__");
}

#[test]
fn wide_ranges_get_wider_numbers() {
    let range = 10_000_000_000_000;
    let mut batch =
        Batch::new::<Resp>(&plan("GET __rand_int__", keys("sequential", range), 1, None));
    assert_eq!(text(batch.fill(turn(range - 1, 1, 1))), "*2 $3 GET $13 9999999999999");
}

/// The commands of a batch, each as its words.
fn commands(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut rest = bytes;
    let mut commands = Vec::new();
    while let Some((value, len)) = crate::resp::Value::parse(rest).unwrap() {
        let crate::resp::Value::Array(words) = value else { panic!("{value:?}") };
        let words = words.into_iter().map(|word| match word {
            crate::resp::Value::Bulk(bytes) => bytes,
            other => panic!("{other:?}"),
        });
        commands.push(words.collect());
        rest = &rest[len..];
    }
    assert!(rest.is_empty());
    commands
}

fn valued(line: &str, spec: ValueSpec) -> Plan {
    let mut parts = (*plan(line, keys("uniform", 1 << 30), 4, None)).clone();
    for arg in parts.sequence.iter_mut().flat_map(|c| &mut c.args) {
        *arg = arg.clone().with_values();
    }
    parts.data.values = Some(spec);
    parts.build().unwrap()
}

#[test]
fn values_have_the_size_and_the_bytes_that_their_key_has() {
    let sizes: Sizes = "uniform:0..3k".parse().unwrap();
    let spec = |by| ValueSpec { sizes: sizes.clone(), by, content: Content::Random };
    let line = "SET k:__key__ <__data__> ; HSET __key__ __rand_int__ __data__ __data__ ; \
                MSET __rand_int__ __data__ __rand_int__ __data__ ; LPUSH l __data__";
    let values = Values::new(Content::Random, 7, 3000);
    let draws = sizes.draws();
    for by in [SizeBy::Key, SizeBy::Request] {
        let mut batch = Batch::new::<Resp>(&valued(line, spec(by)));
        let mut appended = Vec::new();
        (5..9).for_each(|n| (0..4).for_each(|c| batch.append(n, c..c + 1, &mut appended)));
        let sent = batch.fill(turn(5, 4, 16)).to_vec();
        assert_eq!(sent, appended, "whole or command by command");
        for (n, command) in commands(&sent).iter().enumerate() {
            let request = |nth: u64| (5 + n as u64 / 4) * 6 + nth;
            let number = |word: &[u8]| -> u64 {
                std::str::from_utf8(word).unwrap().trim_start_matches("k:").parse().unwrap()
            };
            // Where each value stands, whose it is, and which of the sequence.
            let holds = |word: &[u8], key: u64, place: u64| {
                let sized = if by == SizeBy::Key { key } else { request(place) };
                let len = workload::sizes::size_of(&*draws, 7, sized) as usize;
                assert_eq!(word.len(), len, "{by:?}, command {n}");
                assert_eq!(values.differs_at(key, 0, len, 0, word), None, "command {n}");
            };
            match n % 4 {
                0 => {
                    let inner = &command[2][1..command[2].len() - 1];
                    holds(inner, number(&command[1]), 0);
                }
                1 => {
                    holds(&command[3], number(&command[1]), 1);
                    holds(&command[4], number(&command[1]) + (1 << 56), 2);
                }
                2 => {
                    holds(&command[2], number(&command[1]), 3);
                    holds(&command[4], number(&command[3]), 4);
                }
                _ => holds(&command[2], request(5), 5),
            }
        }
    }
}

#[test]
fn cells_of_a_row_go_together_with_their_lengths() {
    let rows = vec![vec![b"1".to_vec(), b"one".to_vec()], vec![b"22".to_vec(), vec![b'x'; 120]]];
    let data = Dataset::new("f".into(), vec!["id".into(), "t".into()], rows).unwrap();
    let line = "SET d:__field:id__:__rand_int__ <__field:t__>";
    let mut batch = Batch::new::<Resp>(&plan(line, keys("sequential", 9), 2, Some(data)));
    let sent = text(batch.fill(turn(2, 2, 2)));
    let x = "x".repeat(120);
    assert_eq!(
        sent,
        format!(
            "*3 $3 SET $16 d:1:000000000002 $5 <one> *3 $3 SET $17 d:22:000000000003 $122 <{x}>"
        )
    );
}

#[test]
fn a_value_that_ends_a_command_is_no_part_of_the_next() {
    use crate::memcache::Binary;
    let args = |line: &str| {
        let args =
            line.split(' ').map(|word| Arg::literal(word.as_bytes()).with_values().with_numbers());
        CommandSpec { args: args.collect(), inline: false }
    };
    let mut parts = PlanParts::clone(&plan("PING", keys("sequential", 50), 3, None));
    parts.protocol = ProtocolKind::MemcacheBinary;
    parts.sequence = vec![args("set a:__key__ 0 0 __data__"), args("get b:__key__")];
    let sizes = "uniform:1..9".parse().unwrap();
    parts.data.values = Some(ValueSpec { sizes, by: SizeBy::Key, content: Content::default() });
    let mut batch = Batch::new::<Binary>(&parts.build().unwrap());
    let mut sent = batch.fill(turn(4, 3, 6));
    for number in 4..7 {
        for (opcode, extras, key) in [(1, 8, b'a'), (0, 0, b'b')] {
            let body = u32::from_be_bytes(sent[8..12].try_into().unwrap()) as usize;
            let (request, rest) = sent.split_at(24 + body);
            assert_eq!((request[1], request[4]), (opcode, extras));
            let named = &request[24 + usize::from(extras)..][..14];
            assert_eq!(named, format!("{}:{number:012}", key as char).as_bytes());
            assert_eq!(body > 14 + usize::from(extras), opcode == 1, "only set has a value");
            sent = rest;
        }
    }
    assert!(sent.is_empty());
    let mut alone = Vec::new();
    batch.append(4, 1..2, &mut alone);
    assert_eq!((alone[1], alone.len()), (0, 24 + 14));
}

#[test]
fn bare_numbers_have_as_many_digits_as_they_need() {
    let mut keys = keys("sequential", 200);
    keys.numbered = KeyNumbering { first: 9, bare: true, by: DrawnBy::Request };
    let plan = |line| plan(line, keys.clone(), 3, None);
    let mut batch = Batch::new::<Resp>(&plan("GET k:__rand_int__:x"));
    assert_eq!(text(batch.fill(turn(0, 2, 2))), "*2 $3 GET $5 k:9:x *2 $3 GET $6 k:10:x");
    let line = "MGET __rand_int__ __rand_int__ ; SET k__rand_int__ v__rand_int__";
    let mut batch = Batch::new::<Resp>(&plan(line));
    assert_eq!(text(batch.fill(turn(0, 1, 2))), "*3 $4 MGET $1 9 $2 10 *3 $3 SET $3 k11 $3 v12");
    assert_eq!(
        text(batch.fill(turn(24, 1, 2))),
        "*3 $4 MGET $3 105 $3 106 *3 $3 SET $4 k107 $4 v108"
    );
    let slots = Slots::new(&plan(line), &[Some(2), Some(1)]);
    let mut scratch = Vec::new();
    let mut slot = |command| batch.slot(&slots, 24.into(), command, &mut scratch);
    assert_eq!(slot(0), Some(crate::cluster::slot_of(b"106")));
    assert_eq!(slot(1), Some(crate::cluster::slot_of(b"k107")));
}

#[test]
fn the_keys_of_a_request_lie_in_one_slot_where_that_is_asked_for() {
    for bare in [false, true] {
        let mut keys = keys("uniform", 500_000);
        keys.numbered = KeyNumbering { first: 7, bare, by: DrawnBy::Request };
        let free = plan("MGET k:__rand_int__ k:__rand_int__ k:__rand_int__", keys.clone(), 1, None);
        keys.one_slot = Some(workload::OneGroup::default());
        let plan = plan("MGET k:__rand_int__ k:__rand_int__ k:__rand_int__", keys, 1, None);
        let (batch, drawn) = (Batch::new::<Resp>(&plan), Batch::new::<Resp>(&free));
        let slots = Slots::new(&plan, &[Some(1)]);
        for number in 0..500 {
            let keys = |batch: &Batch| {
                let mut out = Vec::new();
                batch.append(number, 0..1, &mut out);
                let words = text(&out);
                words.split(' ').filter(|w| w.starts_with("k:")).map(str::to_owned).collect()
            };
            let (of_slot, of_any): (Vec<String>, Vec<String>) = (keys(&batch), keys(&drawn));
            let of = |key: &String| crate::cluster::slot_of(key.as_bytes());
            assert_eq!(of_slot[0], of_any[0], "the first is drawn as ever");
            assert!(of_slot.iter().all(|key| of(key) == of(&of_slot[0])), "{of_slot:?}");
            assert!(of_slot[1] != of_slot[0] && of_slot[2] != of_slot[1], "{of_slot:?}");
            let slot = batch.slot(&slots, number.into(), 0, &mut Vec::new());
            assert_eq!(slot, Some(of(&of_slot[0])));
        }
    }
}

#[test]
fn bare_numbers_in_a_line_of_memcached_count_in_the_length_of_the_data() {
    use crate::memcache::{Binary, Text};
    let mut keys = keys("sequential", 200);
    keys.numbered = KeyNumbering { first: 9, bare: true, by: DrawnBy::Request };
    let mut parts = PlanParts::clone(&plan("set k__rand_int__ 0 0 v__rand_int__", keys, 1, None));
    parts.protocol = ProtocolKind::MemcacheText;
    let plan = parts.clone().build().unwrap();
    assert_eq!(text(Batch::new::<Text>(&plan).fill(turn(0, 1, 1))), "set k9 0 0 3 v10");
    parts.protocol = ProtocolKind::MemcacheBinary;
    let plan = parts.build().unwrap();
    let mut batch = Batch::new::<Binary>(&plan);
    let sent = batch.fill(turn(0, 1, 1));
    assert_eq!(
        (&sent[2..4], &sent[8..12], &sent[32..]),
        (&[0, 2][..], &[0, 0, 0, 13][..], &b"k9v10"[..])
    );
}

#[test]
fn sizes_go_by_the_rank_of_the_key_and_by_turns() {
    let mut keys = keys("sequential", 5);
    keys.numbered.first = 100;
    let sized = |sizes: &str, by| {
        let mut parts = PlanParts::clone(&plan("PING", keys.clone(), 1, None));
        let arg = |word: &str| Arg::literal(word.as_bytes()).with_values().with_numbers();
        let args = "SET __rand_int__ __data__".split(' ').map(arg).collect();
        parts.sequence = vec![CommandSpec { args, inline: false }];
        let sizes = sizes.parse().unwrap();
        parts.data.values = Some(ValueSpec { sizes, by, content: Content::Same });
        let mut batch = Batch::new::<Resp>(&parts.build().unwrap());
        let mut len = |n| text(batch.fill(turn(n, 1, 1))).split(' ').next_back().unwrap().len();
        (0..6).map(&mut len).collect::<Vec<_>>()
    };
    assert_eq!(sized("uniform:10..14", SizeBy::Rank), [10, 11, 12, 13, 14, 10]);
    assert_eq!(sized("sizes:10=1,20=2", SizeBy::Turn(3)), [10, 20, 20, 10, 20, 20]);
}

#[test]
fn a_run_of_one_command_has_the_bytes_of_each_alone() {
    let long = format!("SET {}:__key__ {}", "k".repeat(30), "v".repeat(40));
    for line in ["PING", "GET k:__key__", "GET __rand_int__", "SET k:__rand_1st__ __data__", &long]
    {
        for draw in ["uniform", "zipf"] {
            let batch = Batch::new::<Resp>(&plan(line, keys(draw, 1 << 50), 4, None));
            let (mut alone, mut run) = (Vec::new(), Vec::new());
            (u64::MAX - 2..=u64::MAX).chain(0..37).for_each(|n| batch.append(n, 0..1, &mut alone));
            batch.append_run(u64::MAX - 2, 40, 0, &mut run);
            assert_eq!(text(&run), text(&alone), "{line}");
        }
    }
}
