//! Identity of the clients, and properties that spoil a run or forbid it.

use std::fs;
use std::time::Duration;

use host::HostFacts;
use report::{Warning, WarningKind, client_called};

use crate::LaunchError;
use crate::line::{CONTRACT, Hello};

/// A client of the fleet.
pub(crate) struct Client {
    /// The launcher's name for it.
    pub(crate) name: String,
    /// `client 3 of 4 (NAME)`.
    pub(crate) called: String,
    pub(crate) hello: Option<Hello>,
    /// Reason why it is lost, if it is.
    pub(crate) lost: Option<String>,
    /// Time since its last message.
    pub(crate) silent: Duration,
    /// Longest silence of the client before it spoke again.
    pub(crate) was_silent: Duration,
}

impl Client {
    pub(crate) fn new(index: usize, of: usize, name: String) -> Self {
        let called = client_called(index, of, &name);
        let (silent, was_silent) = (Duration::ZERO, Duration::ZERO);
        Self { name, called, hello: None, lost: None, silent, was_silent }
    }

    pub(crate) fn heard(&mut self) {
        self.was_silent = self.was_silent.max(std::mem::take(&mut self.silent));
    }
}

impl Hello {
    /// The introduction of this process.
    pub fn of_this_process(version: &str) -> Self {
        let facts = HostFacts::read();
        let niceness = rustix::process::getpriority_process(None).unwrap_or(0);
        Self {
            contract: CONTRACT,
            version: version.to_owned(),
            pid: std::process::id(),
            host: facts.hostname,
            machine: machine(),
            cpus: facts.cpu.allowed,
            quota: facts.cpu.quota,
            nice: niceness,
        }
    }
}

/// Identity of the running kernel, regardless of the host's name, as containers on one machine share it.
fn machine() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Refuses clients of another version, whose results would come from another program.
pub(crate) fn check(clients: &[Client], ours: &Hello) -> Result<(), LaunchError> {
    let others = clients.iter().filter_map(|client| {
        let hello = client.hello.as_ref()?;
        let same = hello.version == ours.version && hello.contract == ours.contract;
        (!same).then(|| format!("{} is keystorm {}", client.called, hello.version))
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(LaunchError(format!(
        "{}, and this is {}; install the same version everywhere",
        others.join(", "),
        ours.version
    )))
}

/// Collects warnings about the clients. Clients of `local:` share a machine on purpose.
pub(crate) fn warnings(clients: &[Client], here_by_intent: bool) -> Vec<Warning> {
    let mut lines = Vec::new();
    // Each is about a client as it is, which no run changes.
    let mut hampered = |text: String| {
        lines.push(Warning::about(WarningKind::ClientHampered, text.clone(), text));
    };
    let known = || clients.iter().filter_map(|c| Some((&c.called, c.hello.as_ref()?)));
    for (called, hello) in known() {
        if hello.nice > 0 {
            let nice = hello.nice;
            hampered(format!(
                "{called} runs at niceness {nice}: everything else on its machine has priority"
            ));
        }
        if let Some(cpus) = hello.quota {
            hampered(format!("{called} has a CPU quota of {cpus} CPUs"));
        }
    }
    if here_by_intent {
        return lines;
    }
    for (at, (called, hello)) in known().enumerate() {
        let same = |other: &Hello| hello.machine.is_some() && other.machine == hello.machine;
        if let Some((before, _)) = known().take(at).find(|(_, other)| same(other)) {
            hampered(format!("{before} and {called} share one machine"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: usize, change: impl FnOnce(&mut Hello)) -> Client {
        let mut client = Client::new(number, 3, ["a", "b", "c"][number].to_owned());
        let mut hello = Hello::of_this_process("1");
        (hello.machine, hello.nice, hello.quota) = (Some(number.to_string()), 0, None);
        change(&mut hello);
        client.hello = Some(hello);
        client
    }

    #[test]
    fn other_versions_are_refused_by_name() {
        let ours = Hello::of_this_process("1");
        assert_eq!(check(&[client(0, |_| ())], &ours), Ok(()));
        let clients = [client(0, |_| ()), client(1, |h| h.version = "2".into())];
        let error = check(&clients, &ours).unwrap_err().to_string();
        assert!(error.starts_with("client 2 of 3 (b) is keystorm 2, and this is 1; "), "{error}");
        assert!(check(&[client(2, |h| h.contract += 1)], &ours).is_err());
    }

    #[test]
    fn what_slows_a_client_down_is_reported() {
        let clients = [
            client(0, |_| ()),
            client(1, |h| h.nice = 15),
            client(2, |h| (h.machine, h.quota) = (Some("0".into()), Some(1.5))),
        ];
        let found = warnings(&clients, false);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].text.contains("client 2 of 3 (b) runs at niceness 15"));
        assert!(found[1].text.contains("client 3 of 3 (c) has a CPU quota of 1.5"));
        assert!(
            found[2].text.starts_with("client 1 of 3 (a) and client 3 of 3 (c) share one machine")
        );
        assert_eq!(warnings(&clients, true).len(), 2);
    }
}
