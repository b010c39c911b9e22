//! Specifications drawn from values of every field: each is the same again from its words, its TOML and its JSON.

use std::collections::BTreeMap;

use clap::error::ErrorKind;
use clap::{Arg, FromArgMatches};
use proptest::prelude::*;
use serde_json::Value;

use crate::LoadSpec;
use crate::document::{self, Fields, options_in};
use crate::write::{fields, given_fields, key, vocabulary};

/// Values of options, by their keys in documents, beside [`usual`] ones. Passwords are what is written of them.
const VALUES: &str = r#"
host = ["db", "a,b:11212", "[::1]:7", "-"]
hash = ["ketama", "modulo", "spymemcached"]
protocol = ["resp", "memcache", "memcache-meta", "memcache-binary"]
port = [0, 7000, 65535]
socket = ["/run/db.sock", "@abstract", "a b"]
uri = ["redis://db:7/2", "redis-sentinel://a,b:2/m", "unix:///s?db=3", "rediss://h"]
password = ["***"]
password-command = ["***"]
user = ["ann", "-x", "ä b"]
dbnum = [0, 3]
rfr = ["no", "yes", "all", "nearest"]
rfr-without = ["primary", "wait"]
rfr-replicas = [1, 9]
rfr-connections = ["2:1"]
rfr-also = [[1], [1, 3]]
replicas = [["a:1"], ["a:1", "[::1]:2"]]
pool = [["b:1"], ["b:1", "/run/b.sock"]]
spawn = ["", "memcached", "/a b/redis-server"]
spawn-args = ["--threads 2", "--save '' --dir 'a b'"]
server-cpus = [0, "0,2,3"]
source-ip = [["127.0.0.2"], ["127.0.0.2", "::1"]]
sni = ["db"]
cacert = ["ca.pem"]
cacertdir = ["certs"]
cert = ["-c.pem"]
cert-chain = ["chain.pem"]
key = ["k.pem"]
tls-ciphers = ["A:B", "-ALL"]
tls-ciphersuites = ["B"]
tls-groups = ["C"]
tls-protocols = ["TLSv1.2,TLSv1.3"]
connections = [0, 1, 10000, 4294967295]
requests = [1, 18446744073709551615]
time-limit = ["500ms", 90]
duration = [2, "1.5m", "1ns"]
warmup = [0, "100ms"]
pipeline = [16, -1, 0]
window = ["batch", "rolling"]
rate = [0, 10000, 0.5, "1k..5k/10s", "1k/60s,1k..5k/10s,5k", "10k,20k,40k/10s"]
arrivals = ["constant", "poisson"]
shard = ["2/4", "1/1"]
start-at = [4102444800, "2100-01-01T00:00:00.25Z"]
threads = ["auto", 0, 4, -1]
cpus = [1, "0,2,3"]
engine = ["auto", "uring", "epoll"]
keep-alive = [true, false]
reconnect = [true, false]
timeout = [500, "2s", "250us"]
deadline = [1, "1.5s"]
open-for = ["2s", "end", 0]
close = ["fin", "reset"]
burst = [5]
join = ["1+2/5s"]
connect-spacing = ["1ms", "1ms..5ms"]
requests-per-connection = [1, 20]
renew = [0, 3]
reconnect-wait = ["5ms", "5ms,2,100ms", "5,1.5,100"]
reconnect-tries = [3]
reconnect-timeout = [70, "2s"]
retry = [0, 5, "forever"]
retry-wait = ["5ms,2,1s"]
retry-jitter = [0, 0.25]
retry-queue = [4]
retry-on = ["LOADING,BUSY"]
repeats = [1, 1000]
workload = ["w.toml", "-", "ycsb-a"]
phase = ["load,run"]
tests = ["get,set", "5"]
key-range = [0, 1000000]
key-dist = ["uniform", "zipf:1.1", "zipf-scattered", "hotspot:0.9/0.1", "latest", "file:a b.csv#id"]
size = [0, -5, 100, "uniform:100..4k", "lognormal:1k,1.2,64..100k", "sizes:3=9,100=1"]
size-by = ["key", "request", "rank", "turn:5"]
content = ["classic", "random", "compressible:2.5", "same"]
ttl = [60, "60..300"]
fill-with = ["hset user:__key__ name '__data__'"]
hit-ratio = [0.9, 1, "0.50"]
order = ["drawn", "turns", "1,2:9"]
dataset = ["d.xml", "a b.csv"]
replay = ["m.log"]
rows-by = ["request", "random", "key", "turn"]
row-value = ["v"]
xml-root-element = ["doc"]
maxdocs = [-1, 5]
num-functions = [3]
num-keys-in-fcall = [3]
seed = [-7, 0, 9223372036854775807]
first-key = [0, 5]
keys-by = ["request", "connection", "operation", "slice"]
name = ["one", "ä b"]
precision = [4, 0, -1]
kernel-stamps = [true, false]
on-error = ["stop", "count"]
command = [["get", "k:__key__", ";", "set", "k", ""], ["--", "-x", "a \"b\" \\ 'ü'\t\u007f"]]
"#;

type Values = BTreeMap<String, Vec<Value>>;

/// The options that are given, by their keys in documents.
fn options() -> Vec<String> {
    let command = vocabulary();
    let all = command.get_arguments().filter(|option| option.get_id() != "settings");
    all.map(key).collect()
}

/// Values that are in a list of this length at places that any numbers are for.
fn picked(values: &[Value], at: u8) -> Value {
    values[usize::from(at) % values.len()].clone()
}

/// Reads words, with those behind `--set` as the options that they are.
pub(crate) fn read(words: &[String]) -> Result<LoadSpec, clap::Error> {
    let mut words = words.to_vec();
    let set = |words: &[String]| {
        let mut options = words.iter().take_while(|word| *word != "--");
        options.position(|word| word == "--set")
    };
    while let Some(at) = set(&words) {
        words.remove(at);
        words[at] = format!("--{}", words[at]);
    }
    let words = std::iter::once("load".to_owned()).chain(words);
    LoadSpec::from_arg_matches(&vocabulary().try_get_matches_from(words)?)
}

/// The fields without those that others exclude, and with those that others require.
fn possible(mut given: Fields, values: &Values) -> (Fields, LoadSpec) {
    for _ in 0..100 {
        let spec: LoadSpec = serde_json::from_value(Value::Object(given.clone())).unwrap();
        let words = spec.words().unwrap();
        let Err(error) = read(&words) else { return (given, spec) };
        let mut options = options_in(&error);
        if error.kind() == ErrorKind::ArgumentConflict {
            options.truncate(1);
        }
        assert!(!options.is_empty(), "{words:?}: {error}");
        for option in options.iter().map(|id| id.replace('_', "-")) {
            match error.kind() {
                ErrorKind::ArgumentConflict => {
                    given.remove(&option);
                }
                ErrorKind::MissingRequiredArgument => {
                    given.insert(option.clone(), picked(&values[&option], 0));
                }
                _ => panic!("{words:?}: {error}"),
            }
        }
    }
    panic!("options exclude and require each other: {given:?}");
}

/// The value of an option that takes none, or a time.
pub(crate) fn usual(option: &Arg) -> Option<Value> {
    if !option.get_action().takes_values() {
        return Some(true.into());
    }
    option.get_value_names().is_some_and(|names| names[..] == ["TIME"]).then(|| "2s".into())
}

fn all_values() -> Values {
    let mut values: Values = toml::from_str(VALUES).unwrap();
    for option in vocabulary().get_arguments() {
        if let Some(usual) = usual(option) {
            values.entry(key(option)).or_insert_with(|| vec![usual]);
        }
    }
    values
}

/// Checks that a specification is the same again; `Debug` shows what no document has, too.
fn check(spec: &LoadSpec) {
    let whole = |spec: &LoadSpec| format!("{spec:?}\n{:?}", fields(spec).unwrap());
    let words = spec.words().unwrap();
    assert_eq!(whole(&read(&words).unwrap()), whole(spec), "{words:?}");
    let text = toml::to_string(&given_fields(spec).unwrap()).unwrap();
    assert_eq!(whole(&toml::from_str(&text).unwrap()), whole(spec), "{text}");
    let text = serde_json::to_string(spec).unwrap();
    assert_eq!(whole(&serde_json::from_str(&text).unwrap()), whole(spec), "{text}");
}

#[test]
fn every_option_has_values_and_each_is_the_same_again() {
    let values = all_values();
    let default = fields(&LoadSpec::default()).unwrap();
    let mut known: Vec<String> = options();
    known.sort();
    assert_eq!(values.keys().cloned().collect::<Vec<_>>(), known, "options with values here");
    let wrong = values.iter().flat_map(|(option, of_option)| {
        of_option.iter().filter_map(|value| document::value(option, value.clone()).err())
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    for (option, of_option) in &values {
        assert!(!of_option.is_empty(), "{option}");
        for value in of_option {
            let given = Fields::from_iter([(option.clone(), value.clone())]);
            let (given, spec) = possible(given, &values);
            assert!(given.contains_key(option), "{option} excludes what it requires");
            assert_ne!(fields(&spec).unwrap()[option], default[option], "{option}: {value}");
            check(&spec);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_as_the_same(
        picks in prop::collection::vec(prop::option::weighted(0.2, any::<u8>()), options().len())
    ) {
        let values = all_values();
        let drawn = options().into_iter().zip(picks);
        let drawn = drawn.filter_map(|(option, pick)| {
            let value = picked(&values[&option], pick?);
            Some((option, value))
        });
        check(&possible(drawn.collect(), &values).1);
    }
}
