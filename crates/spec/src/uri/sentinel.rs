//! `redis-sentinel://[[user:]password@]host[:port][,host[:port]…]/NAME[/db]`.

use naming::{Text, URI, text};
use workload::Endpoint;
use workload::typed_login::shown_address;

use super::{UriParts, decoded, host_and_port, login};

/// The port of sentinels.
const PORT: u16 = 26379;

/// Returns what follows the scheme, if it is that of sentinels.
pub(crate) fn rest(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    matches!(scheme, "redis-sentinel" | "valkey-sentinel").then_some(rest)
}

/// Reads what follows the scheme. The login is that of the server, and of sentinels that ask for
/// one.
///
/// # Errors
/// Returns an error if it is invalid. The error never quotes a possible password.
pub(crate) fn parse(rest: &str) -> Result<UriParts, Text> {
    let shape = || text!("{URI}: expected redis-sentinel://host:26379,host:26379/NAME");
    let (authority, path) = rest.split_once('/').ok_or_else(shape)?;
    let (user, password, hosts) = login(authority)?;
    let (name, db) = match path.trim_end_matches('/').split_once('/') {
        Some((name, db)) => {
            let fault = || text!("{URI}: what follows the name is not a database number");
            (name, Some(db.parse().map_err(|_| fault())?))
        }
        None => (path.trim_end_matches('/'), None),
    };
    let hosts = hosts.split(',').map(|text| {
        let found = host_and_port(text, PORT).transpose()?;
        found.ok_or_else(|| {
            text!("{URI}: {:?} is not a host and port of a sentinel", shown_address(text))
        })
    });
    let sentinels: Result<Vec<_>, Text> = hosts.collect();
    let (sentinels, name) = (sentinels?, decoded(name)?);
    if name.is_empty() {
        return Err(shape());
    }
    let endpoint = Endpoint::Sentinel { sentinels, name };
    Ok(UriParts { endpoint, port: None, user, password, db, tls: false, memcache: Some(false) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<UriParts, Text> {
        parse(rest(text).unwrap())
    }

    #[test]
    fn every_part_is_read() {
        let got = read("redis-sentinel://us%40er:p%2Fw@a:1,[::1]:2,c,[::2]/my%20name/3").unwrap();
        let sentinels = [("a", 1), ("::1", 2), ("c", PORT), ("::2", PORT)];
        let sentinels = sentinels.map(|(host, port)| (host.to_owned(), port)).to_vec();
        assert_eq!(got.endpoint, Endpoint::Sentinel { sentinels, name: "my name".into() });
        let login = (got.user.as_deref(), got.password.as_deref(), got.db);
        assert_eq!(login, (Some("us@er"), Some("p/w"), Some(3)));
        let bare = read("valkey-sentinel://secret@h/m").unwrap();
        assert_eq!((bare.user, bare.password.as_deref(), bare.db), (None, Some("secret"), None));
    }

    #[test]
    fn what_makes_no_sense_is_stated_without_the_password() {
        for bad in ["h", "/m", "h/", "h:x/m", "h:99999/m", "[::1/m", "[::1]2/m", "h,,i/m", "h/m/x"]
        {
            let error = parse(&format!("u:hunter2@{bad}")).unwrap_err().to_string();
            assert!(error.starts_with("-u: ") && !error.contains("hunter2"), "{bad}: {error}");
        }
    }

    #[test]
    fn other_schemes_are_not_ours() {
        assert_eq!(rest("redis://h"), None);
        assert_eq!(rest("hunter2"), None);
    }
}
