//! A server of a comparison as it was typed: a file, an address, or a program with or without arguments.

use std::ffi::OsStr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use workload::secret;

use super::experiment::line::masked_uri;
use super::run::Options;
use spec::values::ProtocolArg;
use spec::{Program, ServerArgs, Uri};

/// A or B, as it was typed.
#[derive(Debug, PartialEq)]
pub(super) enum Side {
    /// A saved run.
    File(PathBuf),
    /// A server.
    Server(Word),
}

/// A server, as it was typed.
#[derive(Debug, PartialEq)]
pub(super) enum Word {
    Uri(String),
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
    Program { program: String, args: Vec<String> },
}

impl Side {
    pub(super) fn parse(word: &OsStr) -> Result<Self, String> {
        let path = Path::new(word);
        let text = word.to_str();
        if let Some(uri) = text.filter(|text| text.contains("://")) {
            return Ok(Self::Server(Word::Uri(uri.to_owned())));
        }
        if let Ok(file) = std::fs::metadata(path) {
            let program = file.permissions().mode() & 0o111 != 0;
            if file.file_type().is_socket() {
                return Ok(Self::Server(Word::Unix(path.to_owned())));
            }
            if file.is_file() && !program {
                return Ok(Self::File(path.to_owned()));
            }
            if file.is_file()
                && let Some(text) = text
            {
                // A name without a slash would be looked for on the PATH.
                let text = if text.contains('/') { text.to_owned() } else { format!("./{text}") };
                return Ok(Self::Server(Word::program(text)));
            }
        }
        if let Some((host, port)) = text.and_then(|text| text.rsplit_once(':'))
            && let Ok(port) = port.parse()
        {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let host = if host.is_empty() { "127.0.0.1" } else { host };
            return Ok(Self::Server(Word::Tcp { host: host.to_owned(), port }));
        }
        let shown = path.display();
        match text {
            Some(name) if !name.contains('/') && is_on_path(name) => {
                Ok(Self::Server(Word::program(name.to_owned())))
            }
            // A program and its arguments, in one word.
            Some(line) if line.contains(' ') => {
                let mut words = shell_words::split(line).map_err(|e| format!("{line}: {e}"))?;
                let first = words.first().cloned().unwrap_or_default();
                match Self::parse(OsStr::new(&first))? {
                    Self::Server(Word::Program { program, .. }) => {
                        let args = words.split_off(1);
                        Ok(Self::Server(Word::Program { program, args }))
                    }
                    _ => Err(format!("{first}: only a program can have arguments")),
                }
            }
            _ => {
                let shown = workload::typed_login::shown_address(&shown.to_string());
                Err(format!("{shown}: not a file, a program or an address (host:port)"))
            }
        }
    }
}

/// A or B to be shown: without passwords.
pub(super) fn shown(word: &str) -> String {
    if let Some(masked) = masked_uri(word) {
        return masked;
    }
    match Side::parse(OsStr::new(word)) {
        Ok(Side::Server(Word::Program { args, .. })) if !args.is_empty() => {
            let words = shell_words::split(word).unwrap_or_default();
            shell_words::join(secret::shown_arguments(&words))
        }
        _ => word.to_owned(),
    }
}

fn is_on_path(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|dir| dir.join(name).is_file())
}

impl Word {
    fn program(program: String) -> Self {
        Self::Program { program, args: Vec::new() }
    }

    /// Returns whether a word or `--protocol` says that the server speaks memcached's protocol.
    pub(super) fn is_memcache(&self, asked: Option<ProtocolArg>) -> bool {
        match self {
            Self::Uri(uri) => uri.starts_with("memcache://") || uri.starts_with("memcaches://"),
            Self::Program { program, .. } => {
                let name = Path::new(program).file_name().and_then(OsStr::to_str);
                name.is_some_and(|name| name.starts_with("memcached"))
            }
            Self::Unix(_) | Self::Tcp { .. } => {
                asked.is_some_and(|asked| asked != ProtocolArg::Resp)
            }
        }
    }

    /// Returns whether the address asks for TLS.
    fn is_secure(&self) -> bool {
        const SCHEMES: [&str; 3] = ["rediss://", "valkeys://", "memcaches://"];
        matches!(self, Self::Uri(uri) if SCHEMES.iter().any(|scheme| uri.starts_with(scheme)))
    }

    /// Makes this one of `sides` the server of a command line. Options for a started server, or for TLS, are
    /// dropped for the other sides.
    pub(super) fn put(&self, options: &mut Options, sides: &[Self]) {
        if !self.is_secure() && sides.iter().any(Self::is_secure) {
            options.leave_tls_to_others();
        }
        let server = &mut options.spec.server;
        match self {
            Self::Uri(uri) => server.uri = Some(Uri(uri.clone())),
            Self::Unix(path) => server.socket = Some(path.clone()),
            Self::Tcp { host, port } => {
                (server.host, server.port) = (Some(host.clone()), Some(*port));
            }
            Self::Program { program, args } => {
                server.spawn = Some(Program(Some(program.clone())));
                if !args.is_empty() {
                    let more =
                        server.spawn_args.take().into_iter().flat_map(|ServerArgs(more)| more);
                    server.spawn_args =
                        Some(ServerArgs(args.iter().cloned().chain(more).collect()));
                }
            }
        }
        let any_spawned = sides.iter().any(|side| matches!(side, Self::Program { .. }));
        if any_spawned && server.spawn.is_none() {
            (server.spawn_args, server.server_cpus, server.spawn_unix) = (None, None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(word: &str) -> Side {
        Side::parse(OsStr::new(word)).unwrap()
    }

    #[test]
    fn addresses_are_distinguished_from_files_and_programs() {
        let tcp = |host: &str, port| Side::Server(Word::Tcp { host: host.into(), port });
        assert_eq!(side("10.0.0.1:7000"), tcp("10.0.0.1", 7000));
        assert_eq!(side("[::1]:7000"), tcp("::1", 7000));
        assert_eq!(side(":7000"), tcp("127.0.0.1", 7000));
        assert_eq!(side("redis://h/1"), Side::Server(Word::Uri("redis://h/1".into())));
        assert_eq!(side("sh"), Side::Server(Word::program("sh".into())));
        assert_eq!(side("/bin/sh"), Side::Server(Word::program("/bin/sh".into())));
        let dir = tempfile::tempdir().unwrap();
        let (file, socket) = (dir.path().join("run.json"), dir.path().join("s"));
        std::fs::write(&file, "{}").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(Side::parse(file.as_os_str()).unwrap(), Side::File(file));
        assert_eq!(Side::parse(socket.as_os_str()).unwrap(), Side::Server(Word::Unix(socket)));
        for word in ["no-such-program", "/no/such", "host", "host:99999", ""] {
            assert!(Side::parse(OsStr::new(word)).unwrap_err().contains("host:port"), "{word}");
        }
    }

    #[test]
    fn a_program_may_have_its_arguments_behind_it_and_no_password_is_shown() {
        let args = ["-c", "exit 1"].map(str::to_owned).to_vec();
        let program = || "sh".to_owned();
        assert_eq!(
            side("sh -c 'exit 1'"),
            Side::Server(Word::Program { program: program(), args })
        );
        assert!(Side::parse(OsStr::new("127.0.0.1:1 --x")).is_err());
        assert_eq!(shown("sh --requirepass hunter2 --hz 5"), "sh --requirepass '***' --hz 5");
        assert_eq!(shown("redis://u:hunter2@h:1"), "redis://***@h:1");
    }

    #[test]
    fn what_is_spoken_is_reported_by_the_word_or_the_protocol() {
        let is = |text: &str, asked| match side(text) {
            Side::Server(word) => word.is_memcache(asked),
            Side::File(_) => panic!("{text} is not a server"),
        };
        assert!(is("memcache://h", None) && is("memcaches://h:1", None));
        assert!(!is("redis://h", Some(ProtocolArg::Memcache)) && !is("sh", None));
        assert!(is("h:1", Some(ProtocolArg::MemcacheMeta)) && !is("h:1", None));
    }
}
