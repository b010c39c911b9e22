//! Descriptions of records with known properties.

use super::*;
use crate::Losses;

fn event(at_ns: u64, client: u64, words: &[&str]) -> Event {
    let mut event = Event::default();
    (event.at_ns, event.client) = (at_ns, client);
    words.iter().for_each(|word| event.push(word.as_bytes()));
    event
}

fn describe(events: impl IntoIterator<Item = Event>) -> Description {
    let source = Source::default();
    let mut describer = Describer::new(&source);
    events.into_iter().for_each(|event| describer.add(&event));
    describer.finish(&source, &Losses::default())
}

#[test]
fn who_introduces_itself_on_the_address_of_another_is_counted() {
    let words: [&[&str]; 9] = [
        &["HELLO", "3"],
        &["CLIENT", "SETINFO", "LIB-NAME", "a"],
        &["GET", "k"],
        &["AUTH", "again"],
        &["GET", "k"],
        &["HELLO", "3"],
        &["CLIENT", "SETINFO", "LIB-NAME", "a"],
        &["CLIENT", "SETINFO", "LIB-VER", "1"],
        &["GET", "k"],
    ];
    let found = describe((0..9).map(|at| event(at as u64 * 1000, 7, words[at])));
    assert_eq!((found.clients, found.connections_on_used_addresses), (Some(1), 1));
}

/// Reproducible numbers that look random.
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn a_known_mix_and_exponent_are_found() {
    for exponent in [0.7, 0.99, 1.2] {
        let weights: Vec<f64> = (1..=50_000).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sums: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        let mut state = 88_172_645_463_325_252;
        let events = (0..200_000_u64).map(|number| {
            let draw = random(&mut state) * sums[sums.len() - 1];
            let key = format!("item:{}", sums.partition_point(|sum| *sum < draw) * 7919 % 100_003);
            match number % 10 {
                0 => event(
                    number * 1_000_000,
                    number % 8,
                    &["SET", &key, &"x".repeat(100), "EX", "60"],
                ),
                _ => event(number * 1_000_000, number % 8, &["get", &key]),
            }
        });
        let found = describe(events);
        let zipf = found.zipf.unwrap();
        assert!((zipf.exponent - exponent).abs() < 0.05, "{exponent}: {zipf:?}");
        assert_eq!((&found.commands[0].name[..], found.commands[0].count), ("get", 180_000));
        assert_eq!((found.clients, found.patterns.len()), (Some(8), 1));
        let pattern = &found.patterns[0];
        assert_eq!(
            (&pattern.name[..], pattern.writes, pattern.ttls[0]),
            ("item:N", 20_000, (60, 20_000))
        );
        assert_eq!(pattern.value_bytes.unwrap().p50, 100);
        assert!((found.mean_per_s.unwrap() - 1000.0).abs() < 1.0 && found.stalls.is_empty());
        assert!(found.miss_ratio_curve.is_sorted_by(|a, b| a.size <= b.size));
    }
}

#[test]
fn commands_that_mean_trouble_are_named_with_an_example() {
    let mget: Vec<String> = (0..150).map(|n| format!("k{n}")).collect();
    let mget: Vec<&str> = std::iter::once("MGET").chain(mget.iter().map(String::as_str)).collect();
    let events = vec![
        event(0, 1, &["KEYS", "*"]),
        event(1, 1, &mget),
        event(2, 1, &["LRANGE", "l", "0", "-1"]),
        event(3, 1, &["MGET", "{a}1", "{a}2"]),
        event(4, 1, &["MULTI"]),
        event(5, 1, &["EXEC"]),
        event(6, 1, &["EVAL", "return 1", "0"]),
        event(7_000_000_000, 1, &["PING"]),
    ];
    let found = describe(events);
    assert_eq!(
        (found.multi_key, found.cross_slot, found.transactions, found.scripts),
        (2, 1, 1, 1)
    );
    let examples: Vec<&str> = found.warnings.iter().map(|warning| &warning.example[..]).collect();
    // What may have made the server stand still, what works on everything, scripts, and only then the rest.
    let first = ["EVAL return 1 0", "KEYS *", "EVAL return 1 0"];
    assert_eq!((&examples[..3], examples[5], examples.len()), (&first[..], "LRANGE l 0 -1", 6));
}

#[test]
fn a_stall_is_told_with_what_may_have_made_it() {
    let quiet =
        |from_ms: u64| (0..500).map(move |n| event((from_ms + n) * 1_000_000, 1, &["GET", "k"]));
    let keys = event(900_000_000, 2, &["KEYS", "*"]);
    let found = describe(quiet(0).chain([keys]).chain(quiet(901)));
    assert_eq!(found.stalls.len(), 1);
    let first = &found.warnings[0];
    assert_eq!(
        (&first.what[..], &first.example[..]),
        ("ended a stall that it may have caused", "KEYS *")
    );
}

#[test]
fn channels_are_no_keys_and_what_is_not_known_is_no_read() {
    let events = (0..100).map(|n| match n % 2 {
        0 => event(n, 1, &["PUBLISH", "news:7", "m"]),
        _ => event(n, 1, &["EVAL", "return 1", "1", "k:1"]),
    });
    let found = describe(events);
    assert_eq!((found.distinct_keys, found.key_accesses, found.patterns.len()), (1, 50, 1));
    let pattern = &found.patterns[0];
    assert_eq!((pattern.reads, pattern.writes, pattern.others), (0, 0, 50));
    let channel = &found.channels[0];
    assert_eq!((&channel.name[..], channel.distinct_keys, channel.others), ("news:N", 1, 50));
}

#[test]
fn absolute_times_are_lifetimes() {
    const S: u64 = 1_000_000_000;
    let events = (0..50).flat_map(|n| {
        let (at_ns, end) = (1_700_000_000 * S, (1_700_003_600 * 1000_u64).to_string());
        let key = format!("s:{n}");
        let words: [&[&str]; 2] = [&["SET", &key, "v", "PXAT", &end], &["PEXPIREAT", &key, &end]];
        words.map(|words| event(at_ns, 1, words))
    });
    assert_eq!(describe(events).patterns[0].ttls, [(3600, 100)]);
}

#[test]
fn a_law_is_named_only_where_keys_follow_one() {
    let mut state = 88_172_645_463_325_252;
    // Three patterns, each drawn evenly, with other numbers of keys.
    let events = (0..30_000_u64).map(|number| {
        let keys = [15_000.0, 4000.0, 1000.0][(number % 3) as usize];
        let key = format!(
            "{}:{}",
            ["a", "b", "c"][(number % 3) as usize],
            (random(&mut state) * keys) as u64
        );
        event(number * 1_000_000, 1, &["GET", &key])
    });
    let found = describe(events);
    assert!(found.zipf.is_none_or(|zipf| !zipf.fits), "{:?}", found.zipf);
    for (pattern, keys) in found.patterns.iter().zip([15_000_u64, 4000, 1000]) {
        assert!(pattern.zipf.is_none_or(|zipf| zipf.exponent == 0.0), "{:?}", pattern.zipf);
        assert!(pattern.even_keys.abs_diff(keys) < keys / 10, "{} {keys}", pattern.even_keys);
    }
}

#[test]
fn a_few_keys_of_another_pattern_make_no_law_of_even_ones() {
    let mut even = 0;
    for seed in 1..=8_u64 {
        let mut state = seed * 88_172_645_463_325_252;
        let events = (0..20_000_u64).map(|number| {
            let key = match number % 200 {
                0 => format!("h:{number}"),
                _ => format!("u:{}", (random(&mut state) * 5000.0) as u64),
            };
            event(number * 1_000_000, 1, &["GET", &key])
        });
        let found = describe(events);
        let is_even = found.patterns[0].zipf.is_some_and(|zipf| zipf.exponent == 0.0);
        let is_law = found.zipf.is_some_and(|zipf| zipf.fits && zipf.exponent > 0.0);
        assert!(!is_even || !is_law, "{seed}: {:?}", found.zipf);
        even += u32::from(is_even);
    }
    assert!(even >= 4, "{even}");
}
