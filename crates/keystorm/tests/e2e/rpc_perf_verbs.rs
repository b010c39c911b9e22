//! rpc-perf's verbs: which commands the server is sent for them.

use crate::memcached::Memcached;
use crate::rpc_perf::{File, unstamped};
use crate::server::Server;

/// What a server is sent of key spaces, a line for each different form of a command.
#[track_caller]
fn sent(keyspaces: &str) -> Vec<String> {
    let server = Server::redis();
    server.log_commands();
    File::from_port(server.port()).run(keyspaces).ok();
    let mut all = server.logged();
    let own = |line: &String| {
        let name = line.split(' ').next().unwrap();
        !["CONFIG", "INFO", "SLOWLOG", "COMMAND", "CLIENT", "HELLO"].contains(&name)
    };
    all.retain(own);
    all
}

#[test]
fn strings_are_set_added_replaced_and_live_as_long_as_asked() {
    let set = |ttl: &str, verb: &str| {
        let keyspace = format!("nkeys = 1\nklen = 4\nvlen = 3\nvkind = 'i64'\n{ttl}");
        let all = sent(&format!("{keyspace}\ncommands = [{{ verb = '{verb}' }}]"));
        let words: Vec<&str> = all[0].split(' ').collect();
        words[2].parse::<i64>().unwrap();
        [&words[..2], &words[3..]].concat().join(" ")
    };
    assert_eq!(set("", "set"), "SET 0000");
    assert_eq!(set("", "add"), "SET 0000 NX");
    assert_eq!(set("ttl = '15m'", "replace"), "SET 0000 XX EX 900");
    assert_eq!(set("ttl = '1500ms'", "add"), "SET 0000 NX PX 1500");
}

#[test]
fn every_verb_becomes_its_command() {
    let inner = "nkeys = 1\nklen = 2\ninner_keys_nkeys = 9\ninner_keys_klen = 1\nvkind = 'i64'\n";
    let all = |commands: &str, ttl: &str| {
        let mut all = sent(&format!("{inner}{ttl}\ncommands = [{commands}]"));
        let form = |line: &String| {
            let words = line.split(' ').enumerate().map(|(at, word)| match word {
                // What is drawn.
                _ if at > 1 && word.len() == 1 && word != "0" => "i",
                _ if at > 1 && (word.ends_with("e-9") || word.len() > 5) => "v",
                "0" if !["LRANGE", "ZRANGE"].iter().any(|name| line.starts_with(name)) => "i",
                _ => word,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        all = all.iter().map(form).collect();
        all.sort();
        all.dedup();
        all
    };
    let hashes = "{ verb = 'dictionary_set', cardinality = 2 }, { verb = 'hmget', cardinality = 3 }, \
                  { verb = 'hash_get' }, { verb = 'dictionary_fetch' }, { verb = 'hexists' }, \
                  { verb = 'hash_delete' }, { verb = 'hincrby' }, { verb = 'del' }";
    assert_eq!(
        all(hashes, "ttl = '1500ms'"),
        [
            "DEL 00",
            "HDEL 00 i",
            "HEXISTS 00 i",
            "HGET 00 i",
            "HGETALL 00",
            "HINCRBY 00 i v",
            "HMGET 00 i i i",
            "HSET 00 i v i v",
            "PEXPIRE 00 1500 NX",
        ]
    );
    let sets = "{ verb = 'sadd', cardinality = 5 }, { verb = 'smembers' }, { verb = 'set_remove' }";
    assert_eq!(
        all(sets, "ttl = '1m'"),
        ["EXPIRE 00 60 NX", "SADD 00 i i i i i", "SMEMBERS 00", "SREM 00 i"]
    );
    let sorted = "{ verb = 'zadd', cardinality = 2 }, { verb = 'zrange', start = 5, end = 10, weight = 1 }, \
                  { verb = 'sorted_set_increment' }, { verb = 'zrank' }, { verb = 'zrem' }, \
                  { verb = 'zmscore', cardinality = 2 }, { verb = 'zscore' }";
    assert_eq!(
        all(sorted, ""),
        [
            "ZADD 00 v i v i",
            "ZINCRBY 00 v i",
            "ZMSCORE 00 i i",
            "ZRANGE 00 i 10",
            "ZRANK 00 i",
            "ZREM 00 i",
            "ZSCORE 00 i",
        ]
    );
    let lists = "{ verb = 'lpush' }, { verb = 'rpop' }, { verb = 'lpop' }, { verb = 'list_fetch' }, \
                 { verb = 'llen' }";
    assert_eq!(all(lists, ""), ["LLEN 00", "LPOP 00", "LPUSH 00 i", "LRANGE 00 0 -1", "RPOP 00"]);
}

#[test]
fn a_list_that_is_cut_off_keeps_as_many_as_asked() {
    for (verb, trim) in [("lpush", "LTRIM 00 0 9"), ("rpush", "LTRIM 00 -10 -1")] {
        let server = Server::redis();
        server.log_commands();
        let keyspace = format!(
            "nkeys = 1\nklen = 2\ninner_keys_nkeys = 99\ninner_keys_klen = 2\n\
             commands = [{{ verb = '{verb}', cardinality = 3, truncate = 10 }}]"
        );
        File::from_port(server.port()).run(&keyspace).ok();
        assert_eq!(server.number(&["LLEN", "00"]), 10);
        assert!(server.logged().contains(&trim.to_owned()));
    }
}

#[test]
fn members_are_different_and_what_reads_them_hits() {
    let server = Server::redis();
    let keyspace = "nkeys = 1\nklen = 2\ninner_keys_nkeys = 5\ninner_keys_klen = 3\n";
    let add = format!("{keyspace}commands = [{{ verb = 'zadd', cardinality = 5 }}]");
    File::from_port(server.port()).run(&add).ok();
    assert_eq!(server.number(&["ZCARD", "00"]), 5);
    assert!(server.texts(&["ZRANGE", "00", "0", "-1"]).iter().all(|member| member.len() == 3));
    let range = format!(
        "{keyspace}commands = [{{ verb = 'zrange' }}, \
         {{ verb = 'zrange', by_score = true, start = 0, end = 1 }}]"
    );
    let ran = File::from_port(server.port()).with("duration", "duration = 3").run(&range).ok();
    let lines = unstamped(&ran.out);
    let windows: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("Client Response: ")).collect();
    let (all_hit, other): (Vec<&str>, Vec<&str>) =
        windows.iter().partition(|line| line.ends_with(" Hit: 100.00 %"));
    assert_eq!(windows.len(), 3);
    assert!(all_hit.iter().all(|line| line.starts_with("Success: 100.00 %")), "{windows:?}");
    // A machine that stands still for a second leaves a window empty.
    assert!(!all_hit.is_empty() && other.iter().all(|line| line.contains("NaN")), "{windows:?}");
}

#[test]
fn fields_and_members_hit_and_miss_one_by_one() {
    let server = Server::redis();
    for present in [&["HSET", "00", "0", "x"][..], &["ZADD", "02", "1", "0", "2", "1"]] {
        server.number(present);
    }
    let inner = "klen = 2\ninner_keys_nkeys = 3\ninner_keys_klen = 1\n";
    let keyspace =
        |keys: &str, commands: &str| format!("nkeys = {keys}\n{inner}commands = [{commands}]");
    // Hashes are 00 and 01, a sorted set is 02.
    let keyspaces = [
        keyspace("2", "{ verb = 'hmget', cardinality = 3 }, { verb = 'hexists' }"),
        keyspace("1", "{ verb = 'zmscore', cardinality = 3 }"),
    ];
    let file = File::from_port(server.port());
    let path = file.path("metrics.json");
    let section = format!("[debug]\n[metrics]\noutput = '{path}'\nformat = 'json'");
    let file = file.with("[debug]", &section).with("duration", "duration = 2");
    file.run(&keyspaces.join("---")).ok();
    let text = std::fs::read_to_string(&path).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let count = |name: &str| {
        let mut counters = last["counters"].as_array().unwrap().iter();
        counters.find(|counter| counter["name"] == name).unwrap()["value"].as_u64().unwrap()
    };
    let lookups = |verb: &str| ["ok", "hit", "miss"].map(|what| count(&format!("{verb}/{what}")));
    let [ok, hit, miss] = lookups("hash_get");
    assert_eq!(hit + miss, 3 * ok, "each field counts");
    assert!(hit > 0 && hit < ok, "one of three fields, of one of two keys: {hit} of {ok}");
    let [ok, hit, miss] = lookups("sorted_set_score");
    assert!(ok > 0);
    assert_eq!([hit, miss], [2 * ok, ok]);
    let [ok, hit, miss] = lookups("hash_exists");
    assert!(ok > 0);
    assert_eq!(hit + miss, ok);
    assert_eq!(
        count("client/response/hit"),
        ["hash_get", "sorted_set_score", "hash_exists"]
            .map(|verb| lookups(verb)[1])
            .iter()
            .sum::<u64>()
    );
}

#[test]
fn memcached_gets_its_own_commands_and_lifetimes() {
    let server = Memcached::new();
    let keyspace = "nkeys = 3\nklen = 5\nvlen = 7\nttl = '60500ms'\ncommands = [{ verb = 'set' }]";
    let ran = File::memcache(server.port()).run(keyspace).ok();
    assert_eq!(unstamped(&ran.out)[0], "Protocol: Memcache");
    assert!(server.say("mg 00002 t s\n").contains(" s7"), "it is there");
    let all = "nkeys = 3\nklen = 5\nvlen = 7\nttl = '15m'\ncommands = [{ verb = 'add' }, \
               { verb = 'replace' }, { verb = 'get', weight = 2 }, { verb = 'del' }]";
    let ran = File::memcache(server.port()).run(all).ok();
    assert!(ran.out.contains("Client Response: Success: 100.00 %"), "{}", ran.out);
    File::memcache(server.port()).run(&all.replace(", { verb = 'del' }", "")).ok();
    let seconds = server.say("mg 00002 t\n");
    let seconds = seconds.split_once('t').and_then(|(_, rest)| rest.split_whitespace().next());
    assert!((700..=900).contains(&seconds.unwrap().parse::<u32>().unwrap()), "{seconds:?}");
}

#[test]
fn the_ping_protocol_sends_lines() {
    let server = Server::redis();
    server.reset();
    let file = File::from_port(server.port()).speaking("ping");
    file.run("commands = [{ verb = 'ping' }]").ok();
    assert!(server.calls("ping") > 0);
}
