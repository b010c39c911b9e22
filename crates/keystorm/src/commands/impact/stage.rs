//! The server as acts see it: sends commands, reads the server's reports, and restores everything at the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use cli::console::diagnostics;
use host::{Address, Client, Patience, ServerProcess, Transport, info_field};
use lab::impact::Condition;
use wire::resp::Value;
use workload::{Plan, Target};

use super::migration;
use crate::server::login;
use crate::speaker::Speaker;
use crate::test_bed::TestBed;
use crate::{info, setting};

/// Prefix of the keys of acts.
const KEY: &str = "keystorm:impact:";
/// Time limit for a command of an act.
const PATIENCE: Duration = Duration::from_secs(120);
/// Settings that record slow moments, with the values for a server that keystorm started.
const MONITORS: [(&str, &str); 2] =
    [("latency-monitor-threshold", "1"), ("slowlog-log-slower-than", "1000")];

/// The server, and the changes to undo.
pub(super) struct Stage<'b> {
    bed: &'b TestBed<'b>,
    target: &'b Target,
    speaker: Mutex<Speaker>,
    /// Section of `INFO` that contains each field.
    sections: BTreeMap<String, String>,
    /// Process of the server, if it runs on this machine.
    process: Option<ServerProcess>,
    /// Commands to send at the end, and settings to restore.
    undo: Mutex<Vec<String>>,
    changed: Mutex<Vec<(String, String)>>,
}

/// A setting and its value.
pub(super) type Setting = (String, String);

impl<'b> Stage<'b> {
    /// The server of a test bed, with monitors switched on if keystorm started it.
    ///
    /// # Errors
    /// Returns an error if it cannot be reached.
    pub(super) fn new(bed: &'b TestBed<'_>, plan: &'b Plan) -> Result<Self> {
        let target = &plan.target;
        let mut speaker = connect(bed, target)?;
        let (sections, process) = match &mut speaker {
            Speaker::Resp(client) => {
                let text = info::text(client, None)?;
                (sections(&text), ServerProcess::from_info(&text))
            }
            Speaker::Memcache(_) => (BTreeMap::new(), None),
        };
        let stage = Self {
            bed,
            target,
            speaker: Mutex::new(speaker),
            sections,
            process,
            undo: Mutex::default(),
            changed: Mutex::default(),
        };
        if bed.server.is_own() && !plan.protocol.is_memcache() {
            for (name, value) in MONITORS {
                stage.send(&format!("CONFIG SET {name} {value}"))?;
            }
        }
        Ok(stage)
    }

    fn speaker(&self) -> MutexGuard<'_, Speaker> {
        self.speaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command of an act, as typed, on a separate connection, since it may take long.
    ///
    /// # Errors
    /// Returns an error if the server refuses it, or does not answer.
    pub(super) fn send_slowly(&self, command: &str) -> Result<()> {
        let words = words(command)?;
        let mut own = connect(self.bed, self.target)?;
        ask(&mut own, &words).map(drop)
    }

    /// Sends a command on the existing connection.
    ///
    /// # Errors
    /// Returns an error if the server refuses it, or does not answer.
    pub(super) fn send(&self, command: &str) -> Result<()> {
        let words = words(&command.replace("{key}", KEY))?;
        ask(&mut self.speaker(), &words).map(drop)
    }

    /// Adds commands to send at the end.
    pub(super) fn will_undo(&self, commands: &[String]) {
        let mut undo = self.undo.lock().unwrap_or_else(PoisonError::into_inner);
        undo.extend(commands.iter().map(|command| command.replace("{key}", KEY)));
    }

    /// A field of the server's report on itself; `None` if there is no such field. Only the section of `INFO`
    /// with the field is requested, since some servers stand still for a complete one while they free memory.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    fn field(&self, name: &str) -> Result<Option<String>> {
        match &mut *self.speaker() {
            Speaker::Resp(client) => {
                let section = self.sections.get(name).map(String::as_str);
                let text = info::text(client, section)?;
                Ok(info_field(&text, name).map(str::to_owned))
            }
            Speaker::Memcache(client) => {
                let stats = client.stats(None).map_err(anyhow::Error::msg)?;
                Ok(stats
                    .iter()
                    .find(|(field, _)| *field == name)
                    .map(|(_, value)| value.to_owned()))
            }
        }
    }

    /// Returns whether a condition is met.
    ///
    /// # Errors
    /// Returns an error if the server does not report it.
    pub(super) fn holds(&self, condition: &Condition<'_>) -> Result<bool> {
        // To say what memory it has, a server may wait until it has freed some, and its clients with it.
        let is_memory = self.sections.get(condition.field).is_some_and(|name| name == "memory");
        if is_memory && self.process.is_some_and(ServerProcess::works_in_background) {
            return Ok(false);
        }
        Ok(self.field(condition.field)?.is_some_and(|value| condition.holds(&value)))
    }

    /// Bytes of memory that the server uses on its machine, including copies by a forked child. On this
    /// machine they are read from the kernel.
    pub(super) fn memory(&self) -> Option<u64> {
        if let Some(bytes) = self.process.and_then(ServerProcess::bytes_with_copies) {
            return Some(bytes);
        }
        let number = |name: &str| self.field(name).ok()??.parse::<u64>().ok();
        let own = number("used_memory_rss").or_else(|| number("bytes"))?;
        Some(own.saturating_add(number("current_cow_size").unwrap_or(0)))
    }

    /// A command with its placeholders filled: `{used_memory*0.8}` is a field of INFO times a number.
    ///
    /// # Errors
    /// Returns an error if the server has no such field.
    pub(super) fn filled(&self, command: &str) -> Result<String> {
        let mut text = command.replace("{key}", KEY);
        if text.contains("{other-node}") {
            text = text.replace("{other-node}", &self.other_node()?);
        }
        let Some((before, rest)) = text.split_once('{') else { return Ok(text) };
        let Some((inside, after)) = rest.split_once('}') else { return Ok(text) };
        let Some((field, factor)) = inside.split_once('*') else { return Ok(text.clone()) };
        let Ok(factor) = factor.parse::<f64>() else { return Ok(text.clone()) };
        let value = self.field(field)?.and_then(|value| value.parse::<f64>().ok());
        let value = value.ok_or_else(|| anyhow!("the server does not tell its {field}"))?;
        Ok(format!("{before}{:.0}{after}", value * factor))
    }

    /// The id of another primary of the cluster.
    fn other_node(&self) -> Result<String> {
        let reply = ask(&mut self.speaker(), &[b"CLUSTER".to_vec(), b"NODES".to_vec()])?;
        let text = reply.unwrap_or_default();
        let other = text.lines().find(|line| line.contains("master") && !line.contains("myself"));
        let id = other.and_then(|line| line.split(' ').next());
        id.map(str::to_owned).ok_or_else(|| anyhow!("the cluster has no other primary"))
    }

    /// Reads the values of settings, to be restored later, at the end at the latest.
    ///
    /// # Errors
    /// Returns an error if the server does not report one.
    pub(super) fn settings(&self, names: &[String]) -> Result<Vec<Setting>> {
        let mut found = Vec::new();
        for name in names {
            let Speaker::Resp(client) = &mut *self.speaker() else {
                bail!("memcached has no settings to restore");
            };
            let value = setting::value(client, name)?;
            let value = value.ok_or_else(|| anyhow!("the server has no setting {name}"))?;
            found.push((name.clone(), value));
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.extend(found.iter().cloned());
        Ok(found)
    }

    /// Restores settings.
    ///
    /// # Errors
    /// Returns an error if the server refuses one.
    pub(super) fn restore(&self, settings: &[Setting]) -> Result<()> {
        for (name, value) in settings {
            let words = [&b"CONFIG"[..], b"SET", name.as_bytes(), value.as_bytes()];
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
            ask(&mut self.speaker(), &words).with_context(|| format!("restoring {name}"))?;
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.retain(|setting| !settings.contains(setting));
        Ok(())
    }

    /// Connects like a new replica, requests all data, and reads them.
    ///
    /// # Errors
    /// Returns an error if the server refuses.
    pub(super) fn full_sync(&self, stopped: &dyn Fn() -> bool) -> Result<u64> {
        match connect(self.bed, self.target)? {
            Speaker::Resp(mut client) => Ok(client.full_sync(stopped)?),
            Speaker::Memcache(_) => bail!("memcached has no replicas"),
        }
    }

    /// Moves `count` slots to another primary and back.
    ///
    /// # Errors
    /// Returns an error if there is no other primary, or a node refuses.
    pub(super) fn migrate_slots(&self, count: u16, stopped: &dyn Fn() -> bool) -> Result<()> {
        let Speaker::Resp(asked) = connect(self.bed, self.target)? else {
            bail!("memcached has no slots")
        };
        let to = |address: &Address| connect_to(address, self.bed, self.target);
        migration::there_and_back(count, self.target.credentials.as_ref(), *asked, to, stopped)
    }

    /// Undoes all changes, and names on standard error those that cannot be undone.
    pub(super) fn put_back(&self) {
        // A server that was started for the acts ends with them.
        if self.bed.server.is_own() {
            return;
        }
        let changed =
            std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
        let undo = std::mem::take(&mut *self.undo.lock().unwrap_or_else(PoisonError::into_inner));
        match connect(self.bed, self.target) {
            Ok(fresh) => *self.speaker() = fresh,
            Err(error) => {
                let address = &self.bed.server.address;
                let _ = diagnostics::say(format_args!(
                    "warning: {address} does not answer, so what the acts changed could not be put back: {error:#}"
                ));
                return;
            }
        }
        if let Err(error) = self.restore(&changed) {
            let _ = diagnostics::say(format_args!("warning: {error:#}"));
        }
        for command in undo {
            // An act that did not begin cannot be undone.
            let _ = self.send(&command);
        }
    }
}

fn connect(bed: &TestBed<'_>, target: &Target) -> Result<Speaker> {
    let server = &bed.server;
    if server.protocol().is_memcache() {
        return Speaker::open(server, target);
    }
    Ok(Speaker::Resp(Box::new(connect_to(&server.address_now(), bed, target)?)))
}

/// A connection to this server, or to another of its cluster.
fn connect_to(address: &Address, bed: &TestBed<'_>, target: &Target) -> Result<Client<Transport>> {
    let patience = Patience { reply: PATIENCE, ..Patience::default() };
    Ok(host::log_in_within(address, login(target, bed.server.tls.as_ref()), patience)?)
}

fn words(command: &str) -> Result<Vec<Vec<u8>>> {
    let words = shell_words::split(command).with_context(|| format!("the command {command:?}"))?;
    Ok(words.into_iter().map(String::into_bytes).collect())
}

/// The reply as text, if it is a text.
fn ask(speaker: &mut Speaker, words: &[Vec<u8>]) -> Result<Option<String>> {
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    match speaker {
        Speaker::Resp(client) => match client.ask(&words)? {
            Value::Error(text) => bail!("{}", report::escape(&*String::from_utf8_lossy(&text))),
            value => Ok(value.text()),
        },
        Speaker::Memcache(client) => match client.ask(&words)? {
            Ok(()) => Ok(None),
            Err(text) => bail!("{}", report::escape(&*text)),
        },
    }
}

/// Returns the section of `INFO` for each field in this text.
fn sections(text: &str) -> BTreeMap<String, String> {
    let mut section = "";
    let mut fields = BTreeMap::new();
    for line in text.lines() {
        match (line.strip_prefix("# "), line.split_once(':')) {
            (Some(name), _) => section = name.trim_end(),
            (None, Some((field, _))) if !section.is_empty() => {
                fields.insert(field.to_owned(), section.to_ascii_lowercase());
            }
            _ => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn fields_are_looked_for_in_their_section() {
        let fields = sections("# Memory\r\nused_memory:1\r\n\r\n# Persistence\r\nloading:0\r\n");
        assert_eq!(fields.get("loading").map(String::as_str), Some("persistence"));
        assert_eq!(fields.get("used_memory").map(String::as_str), Some("memory"));
        assert_eq!(fields.len(), 2);
    }
}
