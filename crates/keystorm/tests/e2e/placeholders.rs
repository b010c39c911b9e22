//! Placeholders: what stands in a command's arguments for what each request makes of it.

use crate::server::Server;

#[test]
fn every_command_of_a_pipeline_and_every_repeat_gets_a_fresh_number() {
    let server = Server::redis();
    // So many keys that two draws hardly ever meet.
    let wide = "-q -r 1000000000000 -n 1200";
    for line in [
        "-c 1 -P 50 sadd s __rand_int__",
        "-c 20 -P 7 --threads 3 sadd s __rand_int__",
        "-c 2 3 sadd s __rand_int__",
        "-c 2 -P 5 --window rolling 4 sadd s __rand_int__",
        "-k 0 -P 10 sadd s __rand_int__",
        "-c 3 sadd s __rand_int__ ';' sadd s __rand_int__",
    ] {
        server.reset();
        server.run(&format!("{wide} {line}")).ok();
        assert_eq!(server.number(&["SCARD", "s"]), 1200, "{line}");
    }
    server.reset();
    server.run(&format!("{wide} sadd s __rand_int__ a:__rand_int__:__rand_int__")).ok();
    assert_eq!(server.number(&["SCARD", "s"]), 2400, "each place has its own");
    let members = server.texts(&["SMEMBERS", "s"]);
    let twins = members.iter().filter_map(|m| m.strip_prefix("a:")?.split_once(':'));
    assert!(twins.into_iter().all(|(first, second)| first != second));
}

#[test]
fn numbered_placeholders_are_one_number_throughout_a_sequence() {
    let server = Server::valkey();
    server
        .run(
            "-q -r 1000000000000 -n 900 -c 5 -P 10 sadd a __rand_1st__ ';' \
             sadd b __rand_1st__ ';' sadd c __rand_2nd__",
        )
        .ok();
    assert_eq!(server.number(&["SCARD", "a"]), 300);
    assert_eq!(server.texts(&["SDIFF", "a", "b"]), [""; 0]);
    assert_eq!(server.texts(&["SINTER", "a", "c"]), [""; 0]);
    server.reset();
    let nine = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th"];
    let nine = nine.map(|n| format!("__rand_{n}__")).join(" ");
    server.run(&format!("-q -r 1000000000000 -n 100 sadd s {nine}")).ok();
    assert_eq!(server.number(&["SCARD", "s"]), 900);
    server.reset();
    // Repeats of a command belong to one sequence.
    server.run("-q -r 1000000000000 -n 100 5 sadd s __rand_1st__").ok();
    assert_eq!(server.number(&["SCARD", "s"]), 20);
}

#[test]
fn data_has_the_length_asked_for_and_the_bytes_of_the_peers() {
    let server = Server::redis();
    server.run("-q -n 10 -d 20 set k __data__").ok();
    let value = server.text(&["GET", "k"]);
    assert!(value.len() == 20 && value.starts_with("VXKeHogK"), "{value}");
    server.run("-q -n 10 -d 5 set k <__data__>").ok();
    assert_eq!(server.text(&["GET", "k"]), "<VXKeH>");
}

#[test]
fn key_spaces_go_beyond_32_and_beyond_40_bits() {
    let server = Server::redis();
    server.run("-q -r 100000000000000 -n 1000 set key:__rand_int__ v").ok();
    let keys = server.keys();
    assert_eq!(keys.len(), 1000);
    assert!(keys.iter().all(|k| k.len() == "key:".len() + 14), "{:?}", keys.first());
    assert!(keys.last().unwrap().as_str() > "key:90000000000000");
    server.reset();
    server.run("-q -r 18446744073709551615 -n 1000 set key:__rand_int__ v").ok();
    let keys = server.keys();
    let largest: u64 = keys.last().unwrap()["key:".len()..].parse().unwrap();
    assert!(keys.len() == 1000 && largest > 1 << 63, "{largest}");
}

#[test]
fn a_key_space_of_one_or_none_has_one_key() {
    let server = Server::redis();
    for range in ["1", "0", "-5"] {
        server.reset();
        server.run(&format!("-q -r {range} -n 100 set key:__rand_int__ v")).ok();
        assert_eq!(server.keys(), ["key:000000000000"], "-r {range}");
    }
}

#[test]
fn without_a_key_space_placeholders_are_literal() {
    let server = Server::redis();
    server.run("-q -n 100 set key:__rand_int__:__rand_1st__ v").ok();
    assert_eq!(server.keys(), ["key:__rand_int__:__rand_1st__"]);
}

#[test]
fn sequential_keys_cover_the_key_space_exactly_once() {
    let server = Server::redis();
    let shapes = ["--threads 3 -c 7 -P 5", "-c 1", "-c 50 -P 16 --window rolling", "-k 0 -P 9"];
    for shape in shapes {
        for (n, times) in [(1050, "1"), (2100, "2")] {
            server.reset();
            let line = format!("-q -n {n} -r 1050 --sequential {shape} incr k:__rand_int__");
            server.run(&line).ok();
            let keys = server.keys();
            let expected: Vec<String> = (0..1050).map(|k| format!("k:{k:012}")).collect();
            assert_eq!(keys, expected, "{line}");
            let mut words = vec!["MGET"];
            words.extend(keys.iter().map(String::as_str));
            assert!(server.texts(&words).iter().all(|value| value == times), "{line}");
        }
    }
}

#[test]
fn sequential_keys_of_a_sequence_and_of_many_places_are_covered_once_too() {
    let server = Server::redis();
    for line in [
        "-n 1000 sadd s __rand_int__ ';' sadd s __rand_int__",
        "-n 500 sadd s __rand_int__ __rand_int__",
        "-n 1000 4 sadd s __rand_int__",
    ] {
        server.reset();
        let shape = "-q -r 1000 --sequential --threads 3 -c 7 -P 5";
        server.run(&format!("{shape} {line}")).ok();
        assert_eq!(server.number(&["SCARD", "s"]), 1000, "{line}");
    }
}

#[test]
fn a_warm_up_takes_no_sequential_key_away() {
    let server = Server::redis();
    let shape = "-q --warmup 0.2 -n 1000 -r 1000 --sequential --threads 2 -c 7 -P 5";
    server.run(&format!("{shape} incr k:__rand_int__")).ok();
    assert_eq!(server.number(&["DBSIZE"]), 1000);
}

#[test]
fn a_seed_reproduces_the_keys_whatever_the_threads() {
    let server = Server::redis();
    let keys = |options: &str| {
        server.reset();
        server.run(&format!("-q -n 500 -r 1000000000 {options} set key:__rand_int__ v")).ok();
        server.keys()
    };
    let first = keys("--seed 7 -c 10");
    assert!(first.len() > 495);
    for same in ["--seed 7 -c 10", "--seed 7 --threads 3 -c 4", "--seed 7 -P 16 --window rolling"] {
        assert_eq!(keys(same), first, "{same}");
    }
    assert_ne!(keys("--seed 8 -c 10"), first);
    assert_ne!(keys(""), keys(""), "without a seed every run has its own keys");
}
