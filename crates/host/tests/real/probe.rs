//! The probe against real servers, and against some that are none.

use crate::servers::{redis, that_says};
use host::{Address, Client, Listen, Login, Patience, ProbeError, Questions, ServerConfig, probe};
use wire::resp::Value;

const NOBODY: Login<'_> = Login { user: None, password: None, db: 0, tls: None, sources: &[] };

fn password(password: &str) -> Login<'_> {
    Login { password: Some(password), ..NOBODY }
}

/// Probes, and checks that the error says all of this.
fn refused(address: &Address, login: Login<'_>, parts: &[&str]) -> ProbeError {
    let error = probe(address, login, Questions::All).expect_err("a refusal");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} should contain {part:?}");
    }
    let secret = login.password.unwrap_or("no such text");
    assert!(!text.contains(secret), "{text:?} has the password");
    let debug = format!("{error:?}");
    assert!(!debug.contains(secret), "{debug:?} has the password");
    error
}

#[test]
fn a_server_tells_what_it_is() {
    for listen in [Listen::Loopback, Listen::Unix] {
        let server = redis(&[], listen);
        let facts =
            probe(server.address(), Login { db: 15, ..NOBODY }, Questions::All).unwrap().facts;
        assert_eq!(facts.product.as_deref(), Some("redis"));
        assert_eq!(facts.version.as_deref(), server.version());
        let config = ServerConfig { save: String::new(), appendonly: "no".into() };
        assert_eq!(facts.config, Some(config));
    }
}

#[test]
fn the_probe_leaves_the_counts_of_load_alone() {
    let server = redis(&[], Listen::Unix);
    probe(server.address(), NOBODY, Questions::All).unwrap();
    let mut client = Client::connect(server.address(), Patience::default()).unwrap();
    let stats = client.ask(&[b"INFO", b"commandstats"]).unwrap();
    let stats = stats.text().unwrap();
    let mut names: Vec<&str> =
        stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["config|get", "info"]);
}

#[test]
fn passwords_missing_wrong_and_unwanted() {
    let server = redis(&["--requirepass", "s3cret"], Listen::Unix);
    let at = server.address();
    refused(at, NOBODY, &["requires a password", "NOAUTH", "-a", "--user", "REDISCLI_AUTH"]);
    let parts = ["did not accept the password of the default user", "WRONGPASS"];
    let error = refused(at, password("hunter2"), &parts);
    assert!(matches!(error, ProbeError::WrongPassword(_)));
    let named = Login { user: Some("nobody"), ..password("hunter2") };
    refused(at, named, &["WRONGPASS", "user 'nobody'"]);
    assert!(probe(at, password("s3cret"), Questions::All).unwrap().facts.config.is_some());

    let open = redis(&[], Listen::Unix);
    refused(open.address(), password("hunter2"), &["has no password set", "Remove -a"]);
}

#[test]
fn a_user_who_may_not_ask_is_let_in_all_the_same() {
    let rules = "--user worker on >w0rker-s3cret ~* &* +@all -config -info -select";
    let rules: Vec<&str> = rules.split(' ').collect();
    let server = redis(&rules, Listen::Unix);
    let worker = Login { user: Some("worker"), ..password("w0rker-s3cret") };
    assert_eq!(probe(server.address(), worker, Questions::All).unwrap().facts, Default::default());
    let parts = ["refused SELECT: NOPERM", "+select"];
    refused(server.address(), Login { db: 1, ..worker }, &parts);
}

#[test]
fn a_database_that_is_not_there() {
    let server = redis(&["--databases", "4"], Listen::Unix);
    assert!(probe(server.address(), Login { db: 3, ..NOBODY }, Questions::All).is_ok());
    let parts = ["no database 4", "--dbnum", "`databases`"];
    refused(server.address(), Login { db: 4, ..NOBODY }, &parts);

    let node = redis(&["--cluster-enabled", "yes"], Listen::Unix);
    let parts = ["no database 1", "cluster mode"];
    refused(node.address(), Login { db: 1, ..NOBODY }, &parts);
}

#[test]
fn a_server_that_is_full() {
    for listen in [Listen::Loopback, Listen::Unix] {
        let server = redis(&["--maxclients", "1"], listen);
        let mut first = Client::connect(server.address(), Patience::default()).unwrap();
        // The connection that found the server ready may still be on its way out.
        while !matches!(first.ask(&[b"INFO"]), Ok(Value::Bulk(_))) {
            first = Client::connect(server.address(), Patience::default()).unwrap();
        }
        let error = refused(server.address(), NOBODY, &["maxclients", "max number"]);
        assert!(matches!(error, ProbeError::TooManyClients(_)));
    }
}

#[test]
fn what_servers_say_to_clients_they_do_not_take() {
    let denied = that_says(b"-DENIED Redis is running in protected mode because ...\r\n");
    refused(&denied, NOBODY, &["is in protected mode and accepts no clients"]);
    let loading = that_says(b"-LOADING Redis is loading the dataset in memory\r\n");
    refused(&loading, NOBODY, &["is still loading its data set from disk"]);
    let old = that_says(b"-ERR wrong number of arguments for 'auth' command\r\n");
    let named = Login { user: Some("u"), ..password("hunter2") };
    refused(&old, named, &["remove --user"]);
    let unaware =
        that_says(b"-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n");
    refused(&unaware, password("hunter2"), &["refused AUTH", "'***'"]);
    let rude = that_says(b"-WRONGPASS \x1b[31mred\r\n");
    refused(&rude, password("hunter2"), &["\\u{1b}[31mred"]);
}

#[test]
fn what_is_no_server_of_this_kind() {
    let web = that_says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let parts = ["does not speak RESP", "HTTP/1.1 400", "check -h and -p"];
    let error = refused(&web, NOBODY, &parts);
    assert!(matches!(error, ProbeError::Broken(_)));
    let ray = that_says(b"\x00\x00\x18\x04\x00\x00\x00\x00\x00\x00\x04\x00@\x00\x00");
    refused(&ray, NOBODY, &["HTTP/2", "Ray", "check -h and -p"]);
    let closing = that_says(b"");
    refused(&closing, NOBODY, &["closed the connection"]);
    let gone = Address::Unix("/nonexistent/socket".into());
    let parts = ["/nonexistent/socket", "socket does not exist", "--spawn"];
    let error = refused(&gone, NOBODY, &parts);
    assert!(matches!(error, ProbeError::Unreachable(_)));
}
