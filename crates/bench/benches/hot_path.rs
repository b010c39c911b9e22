//! Cost of each part of the hot path by itself: encoding, decoding, keys, recording.
//!
//! `make microbench` runs all, `make microbench ARGS=decode` those whose name holds a word. The
//! throughput is per request, reply, element or sample, as each benchmark says. The kernel is not
//! in these figures; with it, `make compare` measures.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use measure::{Latency, Outcome, Sample, Tally, TallyShape};
use wire::resp::{Resp, RespDecoder};
use wire::{Batch, Decode};
use workload::keys::{KEY_DRAWS, Uniform};
use workload::{
    Arg, CommandSpec, Concurrency, Content, Data, KeyDist, KeyDraw, KeySpace, Load, Plan,
    PlanParts, SequenceBatch, SizeBy, Stop, ValueSpec,
};

/// Keys, as `-r 1000000` has them.
const KEYS: u64 = 1_000_000;
/// Operations in one measured turn where a single one is shorter than reading a clock.
const OPS: usize = 1_000;
/// Turns between two looks at the clock. Left to itself the harness decides by the first turn, which
/// finds the caches cold.
const TURNS: u32 = 1_000;
/// Seed of the key numbers; any number does.
const SEED: u64 = 7;

fn main() {
    divan::main();
}

/// `SET key:__rand_int__ xxx -r 1000000`, a pipeline at a time. Items are requests.
#[divan::bench(args = [1, 16], sample_size = TURNS)]
fn encode_set(bencher: Bencher<'_, '_>, depth: u32) {
    encode(bencher, &set_plan(depth));
}

fn encode(bencher: Bencher<'_, '_>, plan: &Plan) {
    let depth = plan.load.concurrency.pipeline_depth;
    let mut batch = Batch::new::<Resp>(plan);
    let mut first = 0;
    bencher.counter(ItemsCount::new(depth)).bench_local(|| {
        let turn = SequenceBatch { first, sequences: depth, commands: depth };
        first += u64::from(depth);
        black_box(batch.fill(turn).len())
    });
}

/// Encodes a pipeline of `SET key:__key__ __data__ -r 1000000 --key-dist zipf -d uniform:100..4k`.
#[divan::bench(args = [1, 16], sample_size = TURNS)]
fn encode_set_varied(bencher: Bencher<'_, '_>, depth: u32) {
    let mut parts = (*set_plan(depth)).clone();
    let words = ["SET", "key:__key__", "__data__"];
    let args = words.map(|word| Arg::literal(word.as_bytes()).with_values().with_numbers());
    parts.sequence = vec![CommandSpec { args: args.into(), inline: false }];
    parts.data.keys.draw = "zipf".parse().expect("a distribution of keys");
    let sizes = "uniform:100..4k".parse().expect("a distribution of sizes");
    parts.data.values = Some(ValueSpec { sizes, by: SizeBy::Key, content: Content::Random });
    encode(bencher, &parts.build().expect("a valid plan"));
}

/// The reply to `LRANGE mylist 0 599`, elements of 3 bytes. Items are elements.
#[divan::bench(sample_size = TURNS)]
fn decode_lrange_600(bencher: Bencher<'_, '_>) {
    let input = [&b"*600\r\n"[..], &b"$3\r\nxxx\r\n".repeat(600)].concat();
    decode(bencher, &input, 600);
}

/// The reply to a `GET` of 4 KiB. Items are replies.
#[divan::bench(sample_size = TURNS)]
fn decode_bulk_4k(bencher: Bencher<'_, '_>) {
    let input = [&b"$4096\r\n"[..], &[b'x'; 4096], b"\r\n"].concat();
    decode(bencher, &input, 1);
}

/// The replies to a pipeline of 16 `SET`. Items are replies.
#[divan::bench(sample_size = TURNS)]
fn decode_ok_16(bencher: Bencher<'_, '_>) {
    decode(bencher, &b"+OK\r\n".repeat(16), 16);
}

/// Draws a key, by each distribution. Items are keys.
#[divan::bench(args = distributions())]
fn draw_key(bencher: Bencher<'_, '_>, dist: &KeyDist) {
    let keys = dist.over(KEYS);
    let mut index = 0;
    bencher.counter(ItemsCount::new(OPS)).bench_local(|| {
        for _ in 0..OPS {
            black_box(keys.draw(black_box(SEED.into()), index));
            index += 1;
        }
    });
}

/// Draws set up, by each distribution, over the widest range that reports have seen.
#[divan::bench(args = distributions())]
fn set_up_keys(bencher: Bencher<'_, '_>, dist: &KeyDist) {
    bencher.bench_local(|| dist.over(black_box(1_000_000_000)));
}

/// An example of every distribution, and exponents of zipf to either side of 1.
fn distributions() -> impl Iterator<Item = KeyDist> {
    let examples = KEY_DRAWS.iter().map(|row| row.example);
    let texts = examples.chain(["zipf:0.5", "zipf:1", "zipf:1.5"]);
    texts.map(|text| text.parse().expect("an example of the table"))
}

/// Records a reply, as in a closed loop. Items are samples.
#[divan::bench]
fn record_tally(bencher: Bencher<'_, '_>) {
    let mut tally = Tally::new(&TallyShape {
        commands: 1,
        precision: 3,
        scheduled: false,
        first_byte: false,
        operations: 0,
        separate_failures: false,
        places: 0,
        spans: false,
        deadline_ns: None,
    });
    let samples: Vec<Sample> = latencies_ns()
        .map(|ns| Sample {
            command: 0,
            outcome: Outcome::Ok,
            count: 1,
            bytes: 0,
            intended_ns: 1_000,
            sent_ns: 1_000,
            first_byte_ns: 1_000 + ns,
            arrived_ns: None,
            done_ns: 1_000 + ns,
        })
        .collect();
    bencher.counter(ItemsCount::new(samples.len())).bench_local(|| {
        for sample in &samples {
            tally.record(black_box(sample));
        }
    });
}

/// The replies of one pipeline that share a latency, by number. Items are calls, not replies.
#[divan::bench(args = [1, 16])]
fn record_latency(bencher: Bencher<'_, '_>, count: u64) {
    let mut latency = Latency::new(3);
    let values: Vec<u64> = latencies_ns().collect();
    bencher.counter(ItemsCount::new(values.len())).bench_local(|| {
        for ns in &values {
            latency.record_n(black_box(*ns), black_box(count));
        }
    });
}

/// Decodes all of `input` with one decoder, as a read would bring it.
fn decode(bencher: Bencher<'_, '_>, input: &[u8], items: usize) {
    let mut decoder = RespDecoder::default();
    bencher.counter(BytesCount::of_slice(input)).counter(ItemsCount::new(items)).bench_local(
        || {
            let mut rest = black_box(input);
            let mut replies = 0;
            while !rest.is_empty() {
                let step = decoder.decode(rest).expect("the input is RESP");
                rest = &rest[step.consumed..];
                replies += usize::from(step.reply.is_some());
            }
            replies
        },
    );
}

/// Latencies from 0.1 to 0.9 ms, in no order that a branch predictor could learn.
fn latencies_ns() -> impl Iterator<Item = u64> {
    let spread = Uniform { range: 800_000 };
    (0..OPS as u64).map(move |index| 100_000 + spread.draw(SEED.into(), index))
}

fn set_plan(depth: u32) -> Plan {
    let concurrency =
        Concurrency { connections: 1, pipeline_depth: depth, ..Concurrency::default() };
    PlanParts {
        name: "SET".into(),
        sequence: vec![CommandSpec::parse(["SET", "key:__rand_int__", "xxx"])],
        load: Load { concurrency, stop: Stop::Requests(1), seed: SEED, ..Load::default() },
        data: Data { keys: KeySpace::new(Some(KEYS), KeyDist::UNIFORM), ..Data::default() },
        ..PlanParts::default()
    }
    .build()
    .expect("a valid plan")
}
