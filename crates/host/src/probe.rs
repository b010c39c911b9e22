//! Probe of a server before load runs: login, and identity.
//!
//! Owns the order of the questions and the words for a refusal. `runner` handles further needs of a load's
//! connection (`HELLO`, tracking).

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use engine::TlsContext;
use naming::advice::{LOGIN, NEW_PASSWORD, REMOVE_USER, STRAY_PASSWORD};
use naming::{DBNUM, SOCKET, SOURCE_IP, SPAWN, Text, text};
use thiserror::Error;
use wire::resp::Value;

use crate::client_error::FailureKind;
use crate::facts::info_field;
use crate::text::printable;
use crate::{
    Address, Client, ClientError, Patience, ProbeResult, Questions, ServerConfig, ServerFacts,
    Transport, mask,
};

/// Credentials, the database to use, and the way to connect.
#[derive(Clone, Copy, Default)]
pub struct Login<'a> {
    /// The ACL user; `None` for the `default` user's password.
    pub user: Option<&'a str>,
    /// The password, if there is one.
    pub password: Option<&'a str>,
    /// The database; 0 needs no command.
    pub db: u32,
    /// TLS settings; `None` without TLS.
    pub tls: Option<&'a TlsContext>,
    /// Local addresses to connect from; empty for the kernel's choice.
    pub sources: &'a [IpAddr],
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, password, db, tls, sources } = self;
        let password = password.map(|_| "***");
        f.debug_struct("Login")
            .field("user", user)
            .field("password", &password)
            .field("db", db)
            .field("tls", &tls.is_some())
            .field("sources", sources)
            .finish()
    }
}

/// Reason why a server cannot be measured, in words for a person, with the remedy. No text has a password,
/// and a server's text is escaped.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// There is no server at this address.
    #[error("{0}. Is a server running there? {SPAWN} starts a private one for this run", SPAWN = SPAWN)]
    Unreachable(ClientError),
    /// The server accepted the connection, but no conversation followed.
    #[error(transparent)]
    Broken(#[from] ClientError),
    /// This machine has no port left to connect from.
    #[error("{0}")]
    NoPort(Text),
    /// The password, or the user, is wrong.
    #[error("{0}")]
    WrongPassword(Text),
    /// The server has all the clients that it allows.
    #[error("{0}")]
    TooManyClients(Text),
    /// The server refuses what the run requires.
    #[error("{0}")]
    Refused(Text),
}

impl ProbeError {
    /// The server of this address accepts no more clients.
    pub(crate) fn too_many_clients(address: &Address, reply: &str) -> Self {
        Self::TooManyClients(text!(
            "Error from server: {reply}. {address} accepts no more clients: raise its `maxclients` setting \
             (memcached: option -c) or close other connections to it"
        ))
    }

    /// The server of this address refused a command; `hint` is advice with a space before it.
    pub(crate) fn refused(address: &Address, command: &str, reply: &str, hint: &Text) -> Self {
        Self::Refused(text!("{address} refused {command}: {reply}{hint}"))
    }
}

/// Logs in, selects the database and asks these questions. Takes at most five seconds to connect and five for
/// each answer.
///
/// A server that answers gets no `PING` and no command with a key, so that its counts of the run's commands
/// are only the run's. Whatever it does not report is unknown, whether it refuses the question, closes the
/// connection or stays silent. A completely silent server is asked again, on new connections, for a `PING`
/// and for a key that does not exist.
///
/// # Errors
/// Returns an error if the server is missing, refuses the login, answers nothing, or is another kind of
/// server.
pub fn probe(
    address: &Address,
    login: Login<'_>,
    questions: Questions,
) -> Result<ProbeResult, ProbeError> {
    if questions == Questions::None && login.password.is_none() && login.db == 0 {
        return is_there(address, login).map(|()| ProbeResult::default());
    }
    let mut asking = Conversation::begin(address, login, Patience::default())?;
    let mut probed = ProbeResult::default();
    match asking.facts(questions, &mut probed.facts) {
        Ok(()) => Ok(probed),
        Err(ProbeError::Broken(why)) if why.is_silence() => {
            if !asking.client.has_heard() && !answers_anything(address, login)? {
                return Err(ProbeError::Broken(why));
            }
            probed.silence = Some(why.text.to_string());
            Ok(probed)
        }
        Err(error) => Err(error),
    }
}

/// Time limits for a simpler question, after a server has not answered the first one.
pub(crate) const SECOND_PATIENCE: Patience =
    Patience { connect: Duration::from_secs(5), reply: Duration::from_secs(2) };

/// A key that no data set holds.
pub(crate) const NO_KEY: &str = "keystorm-probe";

/// Checks whether a server that hides its facts answers commands like the load's.
fn answers_anything(address: &Address, login: Login<'_>) -> Result<bool, ProbeError> {
    for question in [&["PING"][..], &["GET", NO_KEY]] {
        let answer = Conversation::begin(address, login, SECOND_PATIENCE)
            .and_then(|mut asking| asking.ask(question).map(drop));
        match answer {
            // One that is gone by now has answered nothing either; the first silence says more.
            Err(ProbeError::Broken(why)) if why.is_silence() => {}
            Err(ProbeError::Unreachable(_)) => return Ok(false),
            answered => return answered.map(|()| true),
        }
    }
    Ok(false)
}

/// Connects, logs in and selects the database, for callers with further questions. Takes at most as long as
/// [`probe`].
///
/// # Errors
/// Returns the errors of [`probe`].
pub fn log_in(address: &Address, login: Login<'_>) -> Result<Client<Transport>, ProbeError> {
    log_in_within(address, login, Patience::default())
}

/// Connects and logs in as [`log_in`], with a patience of the caller's choice.
///
/// # Errors
/// Returns an error as [`probe`] does.
pub fn log_in_within(
    address: &Address,
    login: Login<'_>,
    patience: Patience,
) -> Result<Client<Transport>, ProbeError> {
    Conversation::begin(address, login, patience).map(|asking| asking.client)
}

/// A new connection.
pub(crate) fn connected(
    address: &Address,
    login: Login<'_>,
    patience: Patience,
) -> Result<Client<Transport>, ProbeError> {
    Client::reach(address, login.tls, login.sources, patience).map_err(unconnected)
}

fn unconnected(error: ClientError) -> ProbeError {
    match error.kind {
        FailureKind::NoPort => ProbeError::NoPort(text!(
            "{error}: connections that are open or were closed within the last minute use them all. Wait a \
             minute, connect from more local addresses ({SOURCE_IP}), or use a unix socket ({SOCKET})"
        )),
        FailureKind::Unreachable => ProbeError::Unreachable(error),
        _ => ProbeError::Broken(error),
    }
}

/// Checks that a server accepts a connection, without a question.
pub(crate) fn is_there(address: &Address, login: Login<'_>) -> Result<(), ProbeError> {
    let (sources, patience) = (login.sources, Patience::default());
    let reached = match login.tls {
        Some(tls) => Client::reach_and_listen(address, tls, sources, patience),
        None => Client::reach(address, None, sources, patience),
    };
    reached.map(drop).map_err(unconnected)
}

struct Conversation<'a> {
    client: Client<Transport>,
    address: &'a Address,
    login: Login<'a>,
}

impl<'a> Conversation<'a> {
    /// Connects, logs in and selects the database.
    fn begin(
        address: &'a Address,
        login: Login<'a>,
        patience: Patience,
    ) -> Result<Self, ProbeError> {
        let client = connected(address, login, patience)?;
        let mut asking = Self { client, address, login };
        asking.log_in()?;
        asking.select()?;
        Ok(asking)
    }

    /// The reply to a command, or its error text.
    fn ask(&mut self, args: &[&str]) -> Result<Result<Value, String>, ProbeError> {
        let args: Vec<&[u8]> = args.iter().map(|a| a.as_bytes()).collect();
        match self.client.ask(&args)? {
            Value::Error(text) => {
                let reply = self.shown(&text);
                self.let_in(&reply)?;
                Ok(Err(reply))
            }
            value => Ok(Ok(value)),
        }
    }

    /// The reply to a question that a server may refuse.
    fn optional(&mut self, args: &[&str]) -> Result<Option<Value>, ProbeError> {
        Ok(self.ask(args)?.ok())
    }

    /// Prepares a server's reply for a terminal and for a following full stop. Servers that do not know a
    /// command quote its arguments, so the password is masked.
    fn shown(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches(['.', '?', '!', ' ']);
        printable(match self.login.password {
            Some(password) => mask::without(password, text),
            None => text.to_owned(),
        })
    }

    /// Checks a reply for errors of any command with which a server refuses clients, or this one.
    fn let_in(&self, reply: &str) -> Result<(), ProbeError> {
        let address = self.address;
        Err(ProbeError::Refused(match reply.split_whitespace().next() {
            Some("DENIED") => text!(
                "{address} is in protected mode and accepts no clients from other machines: set a password \
                 there, or run keystorm on that machine. Its reply: {reply}"
            ),
            Some("LOADING") => self.loading(reply),
            _ if reply.contains("max number of clients") => {
                return Err(ProbeError::too_many_clients(address, reply));
            }
            // The latter is the answer to any command before Redis 6, which had no NOAUTH for some of them.
            first if first == Some("NOAUTH") || reply.contains("operation not permitted") => {
                text!("{address} requires a password: {reply}. Set it with {NEW_PASSWORD}")
            }
            _ => return Ok(()),
        }))
    }

    fn loading(&self, reply: &str) -> Text {
        let address = self.address;
        text!(
            "{address} is still loading its data set from disk: {reply}. Try again when it is done"
        )
    }

    fn log_in(&mut self) -> Result<(), ProbeError> {
        let Login { user, password, .. } = self.login;
        let reply = match (user, password) {
            (_, None) => return Ok(()),
            (Some(user), Some(password)) => self.ask(&["AUTH", user, password])?,
            (None, Some(password)) => self.ask(&["AUTH", password])?,
        };
        let Err(reply) = reply else { return Ok(()) };
        let address = self.address;
        Err(if reply.starts_with("WRONGPASS") || reply.contains("invalid password") {
            let who = match user {
                Some(user) => format!("user '{}'", printable(user)),
                None => "the default user".to_owned(),
            };
            let text =
                text!("{address} did not accept the password of {who}: {reply}. Check {LOGIN}");
            ProbeError::WrongPassword(text)
        } else if reply.contains("no password is set")
            || reply.contains("without any password configured")
        {
            let text = text!("{address} has no password set: {reply}. Remove {STRAY_PASSWORD}");
            ProbeError::Refused(text)
        } else {
            let hint = if user.is_some() && reply.contains("wrong number of arguments") {
                text!(". Servers before Redis 6 have no users: {REMOVE_USER}")
            } else {
                Text::default()
            };
            ProbeError::refused(address, "AUTH", &reply, &hint)
        })
    }

    fn select(&mut self) -> Result<(), ProbeError> {
        let db = self.login.db;
        if db == 0 {
            return Ok(());
        }
        let Err(reply) = self.ask(&["SELECT", &db.to_string()])? else {
            return Ok(());
        };
        // `invalid DB index` is what servers before Redis 6 say; `not allowed in cluster mode`
        // what every cluster node says.
        if reply.contains("DB index") || reply.contains("cluster mode") {
            return Err(ProbeError::Refused(text!(
                "{} has no database {db}: {reply}. {DBNUM} must be below the server's `databases` setting (16 \
                 by default; cluster mode has only database 0)",
                self.address
            )));
        }
        let hint = if reply.starts_with("NOPERM") {
            text!(". The user needs the permission +select; otherwise remove {DBNUM}")
        } else {
            Text::default()
        };
        Err(ProbeError::refused(self.address, "SELECT", &reply, &hint))
    }

    /// Asks for the server's facts. After an error, `facts` has those reported before.
    fn facts(&mut self, questions: Questions, facts: &mut ServerFacts) -> Result<(), ProbeError> {
        if questions == Questions::None {
            return Ok(());
        }
        facts.config = self.config()?;
        if questions == Questions::Settings {
            return Ok(());
        }
        if let Some(info) = self.optional(&["INFO"])?.as_ref().and_then(Value::text) {
            self.still_loading(&info)?;
            *facts = std::mem::take(facts).with_info(&info);
        }
        Ok(())
    }

    fn config(&mut self) -> Result<Option<ServerConfig>, ProbeError> {
        let save = self.optional(&["CONFIG", "GET", "save"])?;
        let appendonly = self.optional(&["CONFIG", "GET", "appendonly"])?;
        let (save, appendonly) =
            (save.as_ref().and_then(setting), appendonly.as_ref().and_then(setting));
        Ok(save.zip(appendonly).map(|(save, appendonly)| ServerConfig { save, appendonly }))
    }

    /// Checks a text of `INFO` for a server that is still loading, which would refuse the load.
    fn still_loading(&self, info: &str) -> Result<(), ProbeError> {
        if info_field(info, "loading") == Some("1") {
            return Err(ProbeError::Refused(self.loading("INFO has loading:1")));
        }
        Ok(())
    }
}

/// The single value of a `CONFIG GET`, in RESP2's or RESP3's form.
fn setting(reply: &Value) -> Option<String> {
    reply.pairs()?.first()?.1.text()
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
