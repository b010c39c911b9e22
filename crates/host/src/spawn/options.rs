//! Arguments with which a started server listens at an address and stays in the foreground.

use std::ffi::OsString;
use std::path::Path;

use crate::Address;

/// Family of a spawned server's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpawnKind {
    /// Options of Redis and Valkey.
    #[default]
    Redis,
    /// Options of memcached.
    Memcached,
}

impl SpawnKind {
    /// Programs to try by default: one with a free licence first.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Redis => &["valkey-server", "redis-server"],
            Self::Memcached => &["memcached"],
        }
    }

    /// Returns whether keystorm sets this option, since it must reach the server, read its output and end it.
    pub(super) fn reserves(self, arg: &str) -> bool {
        match self {
            Self::Redis => ["--port", "--unixsocket", "--daemonize", "--logfile", "--dir"]
                .iter()
                .any(|reserved| arg.eq_ignore_ascii_case(reserved)),
            Self::Memcached => {
                let long =
                    ["--port", "--udp-port", "--unix-socket", "--listen", "--daemon", "--pidfile"];
                // A value may follow its letter directly.
                let short = ["-p", "-U", "-s", "-l", "-d", "-P"];
                long.iter().any(|name| arg.split('=').next() == Some(name))
                    || !arg.starts_with("--") && short.iter().any(|name| arg.starts_with(name))
            }
        }
    }

    /// The arguments of a server that listens only there. The user's come last and take precedence.
    pub(super) fn arguments(self, own: &[String], address: &Address, home: &Path) -> Vec<OsString> {
        match self {
            Self::Redis => redis(own, address, home),
            Self::Memcached => memcached(own, address),
        }
    }
}

fn redis(own: &[String], address: &Address, home: &Path) -> Vec<OsString> {
    let (file, options) = match own.split_first() {
        Some((first, rest)) if !first.starts_with('-') => (Some(first), rest),
        _ => (None, own),
    };
    let mut args: Vec<OsString> = file.into_iter().map(OsString::from).collect();
    match address {
        Address::Tcp(tcp) => {
            args.extend(["--bind".into(), tcp.ip().to_string().into()]);
            args.extend(["--port".into(), tcp.port().to_string().into()]);
        }
        Address::Unix(path) => {
            args.extend(["--port", "0", "--unixsocket"].map(OsString::from));
            args.push(path.into());
        }
    }
    // An empty log file is the standard output, so that what a server says before it has read
    // its options and what it says after them end up in one place.
    let fixed = ["--save", "", "--appendonly", "no", "--daemonize", "no"];
    args.extend(fixed.map(OsString::from));
    args.extend(["--logfile", "", "--dir"].map(OsString::from));
    args.push(home.into());
    args.extend(options.iter().map(OsString::from));
    args
}

/// Memory for a test; with its default of 64 MB, evictions would soon dominate.
const MEMORY_MB: &str = "1024";

fn memcached(own: &[String], address: &Address) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    match address {
        Address::Tcp(tcp) => {
            args.extend(["-l".into(), tcp.ip().to_string().into()]);
            args.extend(["-p".into(), tcp.port().to_string().into()]);
        }
        Address::Unix(path) => args.extend(["-s".into(), path.into()]),
    }
    args.extend(["-U", "0", "-m", MEMORY_MB].map(OsString::from));
    // memcached refuses to run as root without `-u root`; a process that changes its user would outlive
    // keystorm.
    if rustix::process::getuid().is_root() {
        args.extend(["-u", "root"].map(OsString::from));
    }
    args.extend(own.iter().map(OsString::from));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keystorm_decides_is_reserved_in_either_spelling() {
        let is = |arg: &str| SpawnKind::Memcached.reserves(arg);
        assert!(is("-p") && is("-p11211") && is("--port=1") && is("--daemon") && is("-l"));
        assert!(!is("-m") && !is("-t") && !is("--threads=4") && !is("-o") && !is("--protocol"));
        assert!(SpawnKind::Redis.reserves("--PORT") && !SpawnKind::Redis.reserves("--io-threads"));
    }

    #[test]
    fn a_configuration_file_goes_first_and_options_last() {
        let own = ["my.conf", "--maxclients", "5"].map(String::from);
        let args = SpawnKind::Redis.arguments(&own, &Address::Unix("/h/s".into()), Path::new("/h"));
        let args: Vec<&str> = args.iter().map(|a| a.to_str().unwrap()).collect();
        assert_eq!(args[..4], ["my.conf", "--port", "0", "--unixsocket"]);
        assert_eq!(args[args.len() - 2..], ["--maxclients", "5"]);
        assert!(args.windows(2).any(|pair| pair == ["--save", ""]));
    }

    #[test]
    fn memcached_listens_where_it_is_asked_to_and_takes_no_datagrams() {
        let own = ["-m".to_owned(), "64".to_owned()];
        let tcp = Address::Tcp("127.0.0.1:7000".parse().unwrap());
        let args = SpawnKind::Memcached.arguments(&own, &tcp, Path::new("/h"));
        let text: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert!(text.join(" ").starts_with("-l 127.0.0.1 -p 7000 -U 0 "), "{text:?}");
        assert_eq!(&text[text.len() - 2..], ["-m", "64"], "what the user says comes last");
        let unix =
            SpawnKind::Memcached.arguments(&[], &Address::Unix("/h/s".into()), Path::new("/h"));
        assert_eq!(&unix[..2], ["-s", "/h/s"]);
    }
}
