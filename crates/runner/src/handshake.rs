//! Commands that a connection sends before it carries load: login and settings.
//!
//! Their replies are awaited and never scored.

use engine::ConnId;
use naming::{DBNUM, ENABLE_TRACKING, NO_TOUCH, PASSWORD, RESP3, RFR, URI, USER};
use wire::{Decode, Protocol, Reply};
use workload::{Plan, ProtocolKind, ReadFrom, Secret, secret};

use crate::{Fatal, explain};

/// Bytes of the handshake, and the meaning of each of its commands for error messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) bytes: Vec<u8>,
    pub(crate) steps: Vec<Step>,
    /// Secrets that must not be quoted, even where the server quotes them.
    secrets: Vec<Secret>,
    /// The password in the handshake.
    password: Option<Secret>,
    /// Set if the password is asked for before each login.
    is_asked: bool,
    /// Connections that wait for the password.
    pub(crate) waiting: Vec<ConnId>,
}

/// Number of passwords masked in server messages: the newest ones.
const SECRETS_MAX: usize = 100;

/// Progress of a handshake by the replies of the server.
pub(crate) enum HandshakeReply {
    /// Replies to `steps` of its commands, in `consumed` bytes since the last call.
    Heard { steps: usize, consumed: usize },
    /// Refusal for the moment, with the reason, without passwords.
    NotNow(String),
}

/// Command of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Auth,
    Hello,
    Select(u32),
    Tracking,
    NoTouch,
    ReadOnly,
}

impl Handshake {
    /// Creates the handshake for a plan; empty if the plan asks for nothing.
    pub(crate) fn new<P: Protocol>(plan: &Plan) -> Self {
        let login = plan.target.credentials.as_ref();
        Self::with::<P>(plan, login.map(|login| login.password.clone()))
    }

    /// Replaces the password if it has changed.
    pub(crate) fn renew<P: Protocol>(&mut self, plan: &Plan, password: &Secret) {
        if self.password.as_ref() == Some(password) {
            return;
        }
        let Self { secrets, waiting, .. } = std::mem::take(self);
        *self = Self { waiting, ..Self::with::<P>(plan, Some(password.clone())) };
        // A server may still quote an earlier one.
        self.secrets.extend(secrets);
        self.secrets.dedup();
        self.secrets.truncate(SECRETS_MAX);
    }

    fn with<P: Protocol>(plan: &Plan, password: Option<Secret>) -> Self {
        let secrets = plan.secrets().into_iter().map(Secret::new);
        let mut handshake = Self {
            secrets: password.iter().cloned().chain(secrets).collect(),
            is_asked: plan.target.password_command.is_some(),
            ..Self::default()
        };
        handshake.secrets.retain(|secret| !secret.reveal().is_empty());
        let known = password.as_ref().map(Secret::reveal).unwrap_or_default();
        let mut add = |step, args: &[&str]| {
            let args: Vec<&[u8]> = args.iter().map(|a| a.as_bytes()).collect();
            P::encode(&args, &mut handshake.bytes);
            handshake.steps.push(step);
        };
        let target = &plan.target;
        if plan.protocol.is_memcache() {
            let login = target.credentials.as_ref().map(|login| {
                let user = login.user.as_deref().unwrap_or_default();
                memcache_login(plan.protocol, user, known)
            });
            if let Some(words) = login {
                add(Step::Auth, &words.iter().map(String::as_str).collect::<Vec<_>>());
            }
            return Self { password, ..handshake };
        }
        if let Some(login) = &target.credentials {
            match &login.user {
                Some(user) => add(Step::Auth, &["AUTH", user, known]),
                None => add(Step::Auth, &["AUTH", known]),
            }
        }
        if plan.protocol == ProtocolKind::Resp3 {
            add(Step::Hello, &["HELLO", "3"]);
        }
        if target.db != 0 {
            add(Step::Select(target.db), &["SELECT", &target.db.to_string()]);
        }
        if target.tracking {
            add(Step::Tracking, &["CLIENT", "TRACKING", "on"]);
        }
        if target.no_touch {
            add(Step::NoTouch, &["CLIENT", "NO-TOUCH", "on"]);
        }
        // A master takes it too, and may become a replica. In no cluster replicas answer reads as it is.
        if target.is_cluster() && target.cluster.is_some_and(|c| c.read_from != ReadFrom::Masters) {
            add(Step::ReadOnly, &["READONLY"]);
        }
        Self { password, ..handshake }
    }

    /// Continues reading replies on a connection of which `steps` are answered. With `reconnects`, a
    /// temporary refusal is [`HandshakeReply::NotNow`].
    ///
    /// # Errors
    /// Returns an error if the server refuses a command or does not speak the protocol.
    pub(crate) fn hear(
        &self,
        decoder: &mut impl Decode,
        inbox: &[u8],
        mut steps: usize,
        reconnects: bool,
    ) -> Result<HandshakeReply, Fatal> {
        let mut consumed = 0;
        while steps < self.steps.len() {
            let step = decoder.decode(&inbox[consumed..]).map_err(|e| Fatal::new(e.to_string()))?;
            consumed += step.consumed;
            match step.reply {
                None => break,
                Some(Reply::Error(text)) => {
                    let text = explain::text(text);
                    // One that was asked for may have been changed a moment ago.
                    let is_old = self.is_asked && explain::kind(&text) == "WRONGPASS";
                    if reconnects && (is_old || explain::is_passing(&text)) {
                        return Ok(HandshakeReply::NotNow(self.masked(text)));
                    }
                    return Err(self.refused(steps, &text));
                }
                Some(Reply::Push) => {}
                Some(_) => steps += 1,
            }
        }
        Ok(HandshakeReply::Heard { steps, consumed })
    }

    /// Describes the refusal of step number `step`.
    pub(crate) fn refused(&self, step: usize, error: &str) -> Fatal {
        self.steps[step].refused(&self.masked(error.to_owned()))
    }

    /// Returns the failure of a run that ends with an error reply, without the passwords that the reply quotes.
    pub(crate) fn fatal(&self, error: &[u8]) -> Fatal {
        explain::error_reply(&self.masked(explain::text(error)))
    }

    /// Masks the passwords that a server's reply quotes.
    pub(crate) fn masked(&self, text: String) -> String {
        secret::masked(text, self.secrets.iter().map(Secret::reveal))
    }
}

/// Returns the words of a login to memcached: a `set` whose data are user and password, or SASL PLAIN (RFC 4616).
/// <https://docs.memcached.org/features/authentication/>
fn memcache_login(protocol: ProtocolKind, user: &str, password: &str) -> Vec<String> {
    match protocol {
        ProtocolKind::MemcacheBinary => {
            vec!["sasl_auth".into(), "PLAIN".into(), format!("\0{user}\0{password}")]
        }
        _ => {
            vec!["set".into(), "login".into(), "0".into(), "0".into(), format!("{user} {password}")]
        }
    }
}

impl Step {
    fn refused(self, error: &str) -> Fatal {
        if error.contains("max number of clients") {
            return explain::error_reply(error); // The answer to any first command.
        }
        Fatal::new(match self {
            Self::Auth => {
                format!("the server refused the login ({PASSWORD}, {USER}, {URI}): {error}")
            }
            Self::Hello => format!("the server does not speak RESP3 ({RESP3}): {error}"),
            Self::Select(db) => format!("the server refused database {db} ({DBNUM}): {error}"),
            Self::ReadOnly => format!("the server refused READONLY ({RFR}): {error}"),
            Self::NoTouch => format!("the server refused CLIENT NO-TOUCH ({NO_TOUCH}): {error}"),
            Self::Tracking => {
                format!("the server refused client tracking ({ENABLE_TRACKING}): {error}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::memcache_login;
    use wire::Protocol;
    use wire::memcache::{Binary, Text};
    use workload::ProtocolKind;

    fn sent<P: Protocol>(protocol: ProtocolKind) -> Vec<u8> {
        let words = memcache_login(protocol, "ann", "pw");
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut out = Vec::new();
        P::encode(&words, &mut out);
        out
    }

    #[test]
    fn memcached_is_logged_in_to_by_data_or_by_sasl() {
        let lines = sent::<Text>(ProtocolKind::MemcacheMeta);
        assert_eq!(lines, b"set login 0 0 6\r\nann pw\r\n");
        let binary = sent::<Binary>(ProtocolKind::MemcacheBinary);
        assert_eq!((binary[1], &binary[2..4], binary[11]), (0x21, &[0, 5][..], 12));
        assert_eq!(&binary[24..], b"PLAIN\0ann\0pw");
    }
}
