//! Which server options name, and what contradicts.

use clap::FromArgMatches;

use super::*;
use crate::LoadSpec;
use crate::dialect::{KEYSTORM, VALKEY_BENCHMARK};
use crate::write::vocabulary;

fn read(line: &str, peer: bool) -> Result<Target, naming::Text> {
    let words = std::iter::once("load").chain(line.split(' ').filter(|w| !w.is_empty()));
    let matches = vocabulary().args_override_self(true).get_matches_from(words);
    let mut spec = LoadSpec::from_arg_matches(&matches).unwrap();
    spec.server.after_uri = OptionsAfterUri::from_matches(&matches);
    target(&spec.server, if peer { VALKEY_BENCHMARK } else { KEYSTORM })
}

fn place(line: &str, peer: bool) -> String {
    read(line, peer).unwrap().endpoint.to_string()
}

#[test]
fn by_a_peers_name_the_last_word_counts() {
    for (line, expected) in [
        ("", "127.0.0.1:6379"),
        ("-u redis://127.0.0.1 -p 12000", "127.0.0.1:12000"),
        ("-p 12000 -u redis://127.0.0.1", "127.0.0.1:12000"),
        ("-p 1 -u redis://127.0.0.1:12000", "127.0.0.1:12000"),
        ("-u redis://127.0.0.1:12000 -p 1", "127.0.0.1:1"),
        ("-u redis://a:1 -h b", "b:1"),
        ("-h b -u redis://a:1", "a:1"),
        ("-p 1 -u redis://a:2 -p 3", "a:3"),
        ("-s /run/s -u redis://a:2", "/run/s"),
    ] {
        assert_eq!(place(line, true), expected, "{line}");
    }
    let login = |line: &str| {
        let target = read(line, true).unwrap();
        let Credentials { user, password } = target.credentials.unwrap();
        (user.unwrap_or_default(), password.reveal().to_owned(), target.db)
    };
    let of_uri = ("u".to_owned(), "x".to_owned(), 3);
    assert_eq!(login("--dbnum 1 -a y --user v -u redis://u:x@h/3"), of_uri);
    let of_options = ("v".to_owned(), "y".to_owned(), 1);
    assert_eq!(login("-u redis://u:x@h/3 --dbnum 1 -a y --user v"), of_options);
}

#[test]
fn several_memcached_servers_share_out_keys() {
    let memcached = |line: &str| read(&format!("--protocol memcache {line}"), false);
    for (line, servers, hash) in [
        ("-h a,b:7 -p 9", "a:9,b:7", "ketama"),
        ("-h a,b --hash modulo", "a:11211,b:11211", "modulo"),
        ("-u memcache://a,b:7 --hash modulo", "a:11211,b:7", "modulo"),
    ] {
        let target = memcached(line).unwrap();
        let (_, found) = target.ring().unwrap();
        assert_eq!(
            (target.endpoint.to_string(), found.to_string()),
            (servers.to_owned(), hash.to_owned())
        );
    }
    // One is named as an entry of a list is.
    for (line, place) in [
        ("-h a", "a:11211"),
        ("-h a:7", "a:7"),
        ("-h a:7 -p 7", "a:7"),
        ("-h a -p 9", "a:9"),
        ("-h ::1 -p 9", "[::1]:9"),
        ("-h [::1]:7", "[::1]:7"),
        ("-h fe80::1%eth0", "[fe80::1%eth0]:11211"),
        ("-h /run/m.sock", "/run/m.sock"),
        ("-u memcache:///run/m%20c.sock", "/run/m c.sock"),
        ("-u memcache://a:7/", "a:7"),
    ] {
        assert_eq!(memcached(line).unwrap().endpoint.to_string(), place, "{line}");
    }
    for (line, says) in [
        ("-h a --hash modulo", "--hash requires several"),
        ("-h /run/m.sock --hash modulo", "--hash requires several"),
        ("-h a:7 -p 9", "-p 9: -h names port 7; remove one of the two"),
        ("-h a:x", "-h: \"a:x\" is not a host"),
        ("-u memcache://a/3", "-u: memcached has no databases"),
        ("--dbnum 3", "--dbnum: memcached has no databases"),
        ("--cluster", "--cluster: memcached has no cluster mode"),
        ("-h a,,b", "-h: \"\" is not a host"),
        ("-h a,b -u memcache://a", "-u names a:11211"),
    ] {
        let error = memcached(line).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn by_our_own_name_what_contradicts_is_refused() {
    for (line, expected) in [
        ("-u redis://127.0.0.1 -p 12000", "127.0.0.1:12000"),
        ("-p 12000 -h a -u redis://a:12000", "a:12000"),
        ("-s /run/s -u unix:///run/s", "/run/s"),
        ("-s /run/s -p 12000", "/run/s"),
    ] {
        assert_eq!(place(line, false), expected, "{line}");
    }
    for (line, says) in [
        (
            "-u rediss://a:1 -p 2",
            "-p 2: -u names a:1; remove one of the two, or write -u rediss://a:2",
        ),
        (
            "-h b -u redis://a",
            "-h b: -u names a:6379; remove one of the two, or write -u redis://b:6379",
        ),
        ("-h b -p 7 -u redis://a:7", "-u redis://b:7"),
        ("-u unix:///run/s -p 2", "-p 2: -u names /run/s; remove one of the two"),
        ("-u redis://a -s /run/s", "-s /run/s: -u names a:6379"),
        ("-u redis://a/3 --dbnum 4", "--dbnum 4: -u names database 3"),
        ("-u redis://:hunter2@a -a hunter3", "-a: -u has another password"),
        ("-u redis://u:hunter2@a --user v", "--user: -u has another user"),
    ] {
        let error = read(line, false).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("hunter"), "{line}: {error}");
    }
}
