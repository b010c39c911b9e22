//! Records of known shape are described as what they are.

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

/// Numbers that look random and are the same each time.
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
    assert!(examples.contains(&"KEYS *") && examples.contains(&"LRANGE l 0 -1"), "{examples:?}");
    assert_eq!(found.warnings.len(), 4);
}
