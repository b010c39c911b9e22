//! Passwords in typed addresses: a word that no address parser accepts may still contain one.

use std::net::Ipv6Addr;

use crate::secret::HIDDEN;

/// Length below which a password may be part of any word, and is hidden only in its address.
const SHORT: usize = 6;

/// Returns a typed address without its login and any text after the port.
pub fn shown_address(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (login, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => (format!("{HIDDEN}@"), rest),
        None => (String::new(), rest),
    };
    let servers: Vec<String> = rest.split(',').map(without_third).collect();
    format!("{scheme}{login}{}", servers.join(","))
}

/// Returns `host:port` of `host:port:password`.
fn without_third(server: &str) -> String {
    match third(server) {
        Some(at) => format!("{}:{HIDDEN}", &server[..at]),
        None => server.to_owned(),
    }
}

/// Offset of the colon after `host:port`.
fn third(server: &str) -> Option<usize> {
    let host = match server.starts_with('[') {
        true => server.find(']')?,
        false if server.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()) => {
            return None;
        }
        false => 0,
    };
    server[host..].match_indices(':').nth(1).map(|(at, _)| host + at)
}

/// Logins in the addresses of a command line, to be hidden in messages about it.
#[derive(Debug, Default)]
pub struct TypedLogins {
    /// Logins: the typed text, and its replacement.
    logins: Vec<(String, String)>,
    /// `host:port:password`, which may also be a key of the test, and so is hidden in errors only.
    thirds: Vec<(String, String)>,
}

impl TypedLogins {
    /// Finds the logins in these words, which may be values after an `=`.
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut found = Self::default();
        for word in words {
            let after_equals = word.split_once('=').map(|(_, value)| value);
            let value = after_equals.filter(|_| word.starts_with('-')).unwrap_or(word);
            if let Some((login, host)) = login(value) {
                found.add_login(login, host);
            }
            let thirds = [Some(word), after_equals].into_iter().flatten().filter(has_third);
            found.thirds.extend(thirds.map(|word| (word.to_owned(), shown_address(word))));
        }
        found
    }

    fn add_login(&mut self, login: &str, host: &str) {
        self.logins.push((format!("{login}@"), format!("{HIDDEN}@")));
        let password = login.rsplit_once(':').map_or(login, |(_, password)| password);
        let is_long = password.len() >= SHORT && password != host;
        self.logins.extend(is_long.then(|| (password.to_owned(), HIDDEN.to_owned())));
    }

    /// The text without logins.
    pub fn hide(&self, text: &str) -> String {
        replaced(text, &self.logins)
    }

    /// Hides the logins, and text after the port of an address, in an error.
    pub fn hide_in_error(&self, text: &str) -> String {
        self.hide(&replaced(text, &self.thirds))
    }
}

fn replaced(text: &str, pairs: &[(String, String)]) -> String {
    pairs.iter().fold(text.to_owned(), |text, (typed, shown)| text.replace(typed, shown))
}

/// Returns whether a server in a word has text after its port, which is a number.
fn has_third(word: &&str) -> bool {
    let servers = word.split_once("://").map_or(*word, |(_, servers)| servers);
    servers.split(',').any(|server| third(server).is_some_and(|at| has_port(&server[..at])))
}

fn has_port(server: &str) -> bool {
    server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// Returns whether a word is the address of a server: a URI, or a host and its port, perhaps with a password
/// after it.
pub fn is_address(word: &str) -> bool {
    word.contains("://") || has_port(word) || has_third(&word)
}

/// Returns the login and the host, if a word is an address with both, rather than an e-mail address or the
/// location of clients.
fn login(word: &str) -> Option<(&str, &str)> {
    let (login, host) = word.rsplit_once('@')?;
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let is_place = login.starts_with("ssh:");
    let is_login = (login.contains(':') || has_port) && !is_place && !word.contains(' ');
    let after_scheme = login.rsplit_once('/').map_or(login, |(_, login)| login);
    // A password may have slashes, but the scheme has two.
    let login = login.split_once("://").map_or(after_scheme, |(_, login)| login);
    (is_login && !login.is_empty() && login != ":").then_some((login, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_passwords() {
        for (typed, shown) in [
            ("h:1", "h:1"),
            ("::1", "::1"),
            ("[::1]:7", "[::1]:7"),
            ("h:1:hunter2", "h:1:***"),
            ("a:1,h:1:hunter2", "a:1,h:1:***"),
            ("u:hunter2@h:x", "***@h:x"),
            ("redis://:hunter2@h:99999", "redis://***@h:99999"),
            ("redis://h:1:hunter2", "redis://h:1:***"),
            ("[::1]:7:hunter2", "[::1]:7:***"),
            ("redis:/:hun@ter2@h", "***@h"),
        ] {
            assert_eq!(shown_address(typed), shown);
        }
    }

    #[test]
    fn whatever_is_stated_of_a_typed_login_does_not_have_it() {
        for typed in [
            "redis://:hunter2@h:99999",
            "--replicas=redis://u:hunter2@h",
            "u:hunter2@h",
            "hunter2@h:1",
            ":hunter2@h",
            "redis:/:hunter2@h:1",
            "redis://:hunter2@[::1",
        ] {
            let logins = TypedLogins::new([typed]);
            for text in [format!("{typed}: no address"), "\"hunter2@h\" is no port".to_owned()] {
                assert!(!logins.hide(&text).contains("hunter2"), "{typed}: {}", logins.hide(&text));
            }
        }
        let logins = TypedLogins::new(["me@example.org", "ssh:load@h1", "k:1", "-n"]);
        assert_eq!(logins.hide("me@example.org load@h1 k:1"), "me@example.org load@h1 k:1");
    }

    #[test]
    fn a_word_behind_a_port_is_in_no_error() {
        for typed in [
            "h:1:hunter2",
            "-s=h:1:hunter2",
            "-predis.host=h:1:hunter2",
            "redis.host=127.0.0.1:1:u:hunter2",
            "redis://h:1:hunter2",
            "a:1,[::1]:1:hunter2",
        ] {
            let logins = TypedLogins::new([typed]);
            let shown = logins.hide_in_error(&format!("{typed}: no address"));
            assert!(!shown.contains("hunter2"), "{typed}: {shown}");
        }
        let logins = TypedLogins::new(["user:1:name", "a:b:c", "::1"]);
        assert_eq!(logins.hide("get user:1:name"), "get user:1:name", "a key, in no error");
        assert_eq!(logins.hide_in_error("a:b:c ::1"), "a:b:c ::1");
        assert!(is_address("h:1") && is_address("h:1:hunter2") && is_address("redis://h"));
        assert!(!is_address("get") && !is_address("a:b:c"));
    }
}
