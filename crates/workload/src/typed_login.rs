//! Passwords in addresses that were typed: a word that no reader of addresses takes may still hold one.

use std::net::Ipv6Addr;

use crate::secret::HIDDEN;

/// A shorter password may be part of any word, and is hidden only where it stands in its address.
const SHORT: usize = 6;

/// What was typed for an address, without the login in it and what stands behind a port.
#[must_use]
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

/// `host:port` of `host:port:password`.
fn without_third(server: &str) -> String {
    let is_ipv6 = || server.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    let after_port = server.match_indices(':').nth(1).map(|(at, _)| at);
    match after_port {
        Some(at) if !server.starts_with('[') && !is_ipv6() => {
            format!("{}:{HIDDEN}", &server[..at])
        }
        _ => server.to_owned(),
    }
}

/// Logins in the addresses of a command line, to hide them in messages about it.
#[derive(Debug, Default)]
pub struct TypedLogins(Vec<(String, String)>);

impl TypedLogins {
    /// Those in these words, which may be values behind an option's `=`.
    #[must_use]
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut found = Vec::new();
        for word in words {
            let value = match word.starts_with('-').then(|| word.split_once('=')).flatten() {
                Some((_, value)) => value,
                None => word,
            };
            let Some((login, host)) = login(value) else { continue };
            found.push((format!("{login}@"), format!("{HIDDEN}@")));
            let password = login.rsplit_once(':').map_or(login, |(_, password)| password);
            let is_long = password.len() >= SHORT && password != host;
            found.extend(is_long.then(|| (password.to_owned(), HIDDEN.to_owned())));
        }
        Self(found)
    }

    /// The text without them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let hide = |text: String, (typed, shown): &(String, String)| text.replace(typed, shown);
        self.0.iter().fold(text.to_owned(), hide)
    }
}

/// Who logs in and where, if a word is an address that says so: not an e-mail address, nor a place of clients.
fn login(word: &str) -> Option<(&str, &str)> {
    let (login, host) = word.rsplit_once('@')?;
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| is_number(port));
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
            ("redis:/:hun@ter2@h", "***@h"),
        ] {
            assert_eq!(shown_address(typed), shown);
        }
    }

    #[test]
    fn whatever_is_said_of_a_typed_login_does_not_have_it() {
        for typed in [
            "redis://:hunter2@h:99999",
            "--replicas=redis://u:hunter2@h",
            "u:hunter2@h",
            "hunter2@h:1",
            ":hunter2@h",
            "redis:/:hunter2@h:1",
            "redis://:hunter2@[::1",
        ] {
            let logins = TypedLogins::of([typed]);
            for said in [format!("{typed}: no address"), "\"hunter2@h\" is no port".to_owned()] {
                assert!(!logins.hide(&said).contains("hunter2"), "{typed}: {}", logins.hide(&said));
            }
        }
        let logins = TypedLogins::of(["me@example.org", "ssh:load@h1", "k:1", "-n"]);
        assert_eq!(logins.hide("me@example.org load@h1 k:1"), "me@example.org load@h1 k:1");
    }
}
