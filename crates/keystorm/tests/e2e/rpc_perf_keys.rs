//! Keys and values of rpc-perf's files: how long, how many, whose, and what is in them.

use crate::rpc_perf::File;
use crate::server::Server;

#[test]
fn keys_are_as_long_as_asked_and_the_same_in_every_run() {
    let server = Server::redis();
    let keyspace = "nkeys = 20\nklen = 20\nvlen = 8\ncommands = [{ verb = 'set' }]";
    File::from_port(server.port()).run(keyspace).ok();
    let keys = server.keys();
    assert_eq!(keys.len(), 20);
    assert!(keys.iter().all(|key| key.len() == 20), "{keys:?}");
    let seeded =
        File::from_port(server.port()).with("admin", "admin = '127.0.0.1:0'\ninitial_seed = 'x'");
    seeded.run(keyspace).ok();
    assert_eq!(server.keys(), keys);
}

#[test]
fn keyspaces_of_one_length_share_keys_only_where_they_hold_the_same() {
    let server = Server::redis();
    server.reset();
    let keyspaces = "nkeys = 9\nklen = 3\nvlen = 8\ncommands = [{ verb = 'set' }]\n---\n\
                     nkeys = 5\nklen = 3\ncommands = [{ verb = 'get' }]\n---\n\
                     nkeys = 9\nklen = 3\ninner_keys_nkeys = 2\ninner_keys_klen = 1\n\
                     commands = [{ verb = 'sadd' }]";
    let ran = File::from_port(server.port()).run(keyspaces).ok();
    assert!(ran.out.contains("Client Response: Success: 100.00 %"), "{}", ran.out);
    assert_eq!(server.keys().len(), 18);
    let kind = |key: &str| server.text(&["TYPE", key]);
    assert_eq!(
        [kind("000"), kind("008"), kind("009"), kind("00H")],
        ["string", "string", "set", "set"]
    );
    let counts = server.counts();
    let third = counts["set"] + counts["get"] + counts["sadd"];
    for name in ["set", "get", "sadd"] {
        let share = counts[name] as f64 / third as f64;
        assert!((0.2..0.5).contains(&share), "{counts:?}");
    }
}

#[test]
fn zipf_keys_begin_with_the_first_and_end_with_the_last() {
    let server = Server::redis();
    let keyspace =
        "nkeys = 9\nklen = 1\nkey_distribution = 'zipf'\nvlen = 4\ncommands = [{ verb = 'set' }]";
    File::from_port(server.port()).with("start", "start = 2000").run(keyspace).ok();
    assert_eq!(server.keys(), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn values_are_random_bytes_that_compress_as_asked() {
    let server = Server::redis();
    let get = |key: &str| {
        let wire::resp::Value::Bulk(bytes) = server.ask(&["GET", key]) else { panic!("{key}") };
        bytes
    };
    let distinct = |bytes: &[u8]| bytes.iter().collect::<std::collections::BTreeSet<_>>().len();
    // Of one kind in the whole file, and of several.
    let one = "nkeys = 1\nklen = 1\nvlen = 4096\ncommands = [{ verb = 'set' }]";
    let two = format!(
        "{one}\n---\nnkeys = 1\nklen = 2\nvlen = 2048\ncompression_ratio = 4.0\ncommands = [{{ verb = 'set' }}]"
    );
    for keyspaces in [one, &two] {
        server.reset();
        File::from_port(server.port()).run(keyspaces).ok();
        let value = get("0");
        assert!(value.len() == 4096 && distinct(&value) == 256, "{}", distinct(&value));
    }
    let compressible = get("00");
    let filler = compressible.iter().filter(|byte| **byte == b'x').count();
    assert!(compressible.len() == 2048 && (1500..1600).contains(&filler), "{filler}");
}

#[test]
fn what_is_read_may_be_written_before() {
    let server = Server::redis();
    let file = File::from_port(server.port());
    let keyspaces = "nkeys = 20\nklen = 6\nvlen = 16\ncommands = [{ verb = 'get' }, \
                     { verb = 'set', weight = 0 }]";
    let ran = file.line(keyspaces, "--ks-fill").run().ok();
    assert!(ran.out.contains("Hit: 100.00 %"), "{}", ran.out);
    assert_eq!(server.keys().len(), 20);
}
