//! Files of older versions, converted.

use super::*;

fn convert(text: &str) -> (String, Config) {
    let source = |text: &str| Source {
        name: "old.toml".to_owned(),
        text: text.to_owned(),
        is_preset: false,
    };
    let new = converted(&source(text)).unwrap();
    let config = Config::read(&source(&new)).unwrap_or_else(|why| panic!("{why:?}\n{new}"));
    (new, config)
}

#[test]
fn a_file_of_4_keeps_its_rate_connections_and_commands() {
    let (text, config) = convert(
        "[general]\nprotocol = 'redis_resp'\ninterval = 60\nwindows = 5\nservice = false\nthreads = 4\n\
         admin = '127.0.0.1:9090'\n[target]\nendpoints = ['127.0.0.1:6379']\n[connection]\n\
         poolsize = 25\n[request]\nratelimit = 50000\n[[keyspace]]\ncommands = [\n\
         { verb = 'get', weight = 8 }, { verb = 'set', weight = 2 }]\nlength = 3\n\
         values = [{ length = 16 }]\nttl = 0\nbatch_size = 1\n",
    );
    assert_eq!((config.general.interval, config.general.duration), (60, 300));
    assert_eq!((config.client.poolsize, config.client.threads), (100, 4));
    assert_eq!(config.workload.keyspace[0].keys().count, 52 * 52 * 52);
    assert_eq!(config.workload.keyspace[0].commands.len(), 2);
    assert!(text.contains("start = 50000") && text.contains("general] service"), "{text}");
}

#[test]
fn a_file_of_3_has_a_keyspace_for_each_length_of_values() {
    let (text, config) = convert(
        "[general]\nprotocol = 'memcache'\nclients = 2\npoolsize = 3\nrequest_timeout = 200_000\n\
         warmup_hitrate = 0.9\nendpoints = ['127.0.0.1:11211']\n[[keyspace]]\nlength = 8\n\
         count = 10_000\nweight = 9\ncommands = [{ action = 'get', weight = 4 }, { action = 'set' }]\n\
         values = [{ length = 64, weight = 8 }, { length = 128, weight = 1 }]\n",
    );
    let spaces = config.workload.keyspace.iter().map(|space| (space.weight, space.keys().count));
    assert_eq!(spaces.collect::<Vec<_>>(), [(72, 10_000), (9, 10_000)]);
    assert_eq!((config.client.poolsize, config.client.request_timeout), (6, 200));
    assert!(text.contains("--ks-fill"), "{text}");
}

/// Two key spaces of 4.0, the first with values of two lengths.
fn four(values: &str, more: &str) -> String {
    format!(
        "[general]\nprotocol = 'redis'\ninterval = 1\nwindows = 3\n[target]\nendpoints = ['127.0.0.1:6379']\n\
         [request]\nratelimit = 1000\n[[keyspace]]\nweight = 1\ncommands = [{{ verb = 'get' }}]\n\
         length = 12\ncardinality = 1000\nvalues = [{values}]\n{more}[[keyspace]]\nweight = 3\n\
         commands = [{{ verb = 'get' }}]\nlength = 14\ncardinality = 1000\nvalues = [{{ length = 16 }}]\n"
    )
}

#[test]
fn a_keyspace_that_is_split_keeps_its_share() {
    let weights = |values: &str| {
        let (_, config) = convert(&four(values, ""));
        config.workload.keyspace.iter().map(|space| space.weight).collect::<Vec<_>>()
    };
    assert_eq!(weights("{ length = 16, weight = 3 }, { length = 1024, weight = 1 }"), [3, 1, 12]);
    assert_eq!(weights("{ length = 16 }"), [1, 3]);
    let of = weights("{ length = 1, weight = 4_000_000_007 }, { length = 2, weight = 1 }");
    let share = f64::from(of[0] + of[1]) / of.iter().map(|weight| f64::from(*weight)).sum::<f64>();
    assert!((share - 0.25).abs() < 0.01, "{of:?}");
}

#[test]
fn skewed_keys_stay_skewed() {
    for (line, zipf, lost) in [
        ("key_distribution = { model = 'zipf' }\n", true, ""),
        ("key_distribution = { model = 'Zipf', parameters = { s = 1.2 } }\n", true, "exponent"),
        ("key_distribution = 'zipf'\n", true, ""),
        ("key_distribution = { model = 'uniform' }\n", false, ""),
        ("key_distribution = { model = 'hot' }\n", false, "key_distribution hot"),
    ] {
        let (text, _) = convert(&four("{ length = 16 }", line));
        assert_eq!(text.contains("\nkey_distribution = \"zipf\"\n"), zipf, "{line}: {text}");
        assert!(text.contains(lost) && !text.contains("unknown key"), "{line}: {text}");
    }
}

#[test]
fn what_is_written_can_be_carried_out() {
    let old = "[general]\nthreads = 4\nconnections = 25\ninterval = 1\nduration = 10\nwindows = 0\n\
               [[workload]]\nname = 'set'\nmethod = 'set'\nrate = 10\n";
    let (text, config) = convert(old);
    assert!(
        text.contains("vlen = 1\n") && text.contains("# Not converted: no length of values"),
        "{text}"
    );
    assert_eq!(
        (config.general.duration, text.contains("# Not converted: windows = 0")),
        (50, true),
        "{text}"
    );
    // Nothing of it can be.
    let none = old.replace("method = 'set'", "method = 'nope'");
    let source = Source { name: "old.toml".to_owned(), text: none, is_preset: false };
    let Err(Fault::File(why) | Fault::Usage(why)) = converted(&source) else { panic!() };
    assert!(why.contains("old.toml, converted"), "{why}");
}

#[test]
fn a_file_of_2_has_its_rates_as_weights() {
    let (text, config) = convert(
        "[general]\nprotocol = 'redis'\nrequest-timeout = 200\n[[workload]]\nname = 'get'\n\
         method = 'get'\nrate = 40000\n[[workload.parameter]]\nstyle = 'random'\nsize = 3\n\
         [[workload]]\nmethod = 'set'\nrate = 10000\n[[workload.parameter]]\nsize = 3\n\
         [[workload.parameter]]\nsize = 4\n",
    );
    let weights: Vec<u32> = config.workload.keyspace.iter().map(|space| space.weight).collect();
    assert_eq!(weights, [40_000, 10_000]);
    assert!(text.contains("start = 50000") && text.contains("set endpoints"), "{text}");
    assert!(
        converted(&Source { name: "new".to_owned(), text, is_preset: false }).is_err(),
        "it is of 5.x now"
    );
}
