//! Clients that have been started and have introduced themselves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use naming::ON;
use report::{Warning, WarningKind};

use crate::launcher::{self, ClientOutput, Event, Launcher};
use crate::line::{FromClient, Hello, ToClient};
use crate::roster::Client;
use crate::{LaunchError, On, roster};

/// Longest wait for a client to introduce itself, as a login may ask for a password first.
const HELLO: Duration = Duration::from_secs(120);
/// Silence after which a client, which reports once a second, is suspected to be lost.
const SUSPECTED: Duration = Duration::from_secs(3);
/// Silence after which a client is lost.
pub(crate) const SILENT: Duration = Duration::from_secs(10);
/// Time between checks for silent clients. A check that comes late, because the coordinator was stopped,
/// counts as one.
const LOOK: Duration = Duration::from_millis(100);

/// Rule for the other clients when one is lost while load runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The others stop at once.
    #[default]
    Stop,
    /// The others continue with their own shares.
    GoOn,
}

/// Clients that are ready for plans. They end when this is dropped.
pub struct Fleet {
    pub(crate) launcher: Box<dyn Launcher>,
    events: Receiver<Event>,
    pub(crate) clients: Vec<Client>,
    pub(crate) on_loss: OnLoss,
    /// Start of the coordinator's clock.
    pub(crate) epoch: Instant,
    /// This process, to recognise clients on this machine.
    pub(crate) ours: Hello,
    pub(crate) on: On,
    /// Time of the last look for silent clients.
    looked: Instant,
}

/// The next news of a client.
pub(crate) enum News {
    FromClient(Box<FromClient>),
    Lost,
}

impl Fleet {
    /// Places clients and waits for their introductions.
    ///
    /// # Errors
    /// Returns an error with the remedy if one cannot be placed or has another version.
    pub fn gather(
        on: &On,
        version: &str,
        on_loss: OnLoss,
        interrupted: &AtomicBool,
    ) -> Result<Self, LaunchError> {
        let (sender, events) = channel();
        let launcher = launcher::launch(on, &sender)?;
        let names = launcher.names();
        let of = names.len();
        let named = names.into_iter().enumerate();
        let clients = named.map(|(index, name)| Client::new(index, of, name)).collect();
        let ours = Hello::of_this_process(version);
        let epoch = Instant::now();
        let on = on.clone();
        let mut fleet = Self { launcher, events, clients, on_loss, epoch, ours, on, looked: epoch };
        fleet.greet(interrupted)?;
        Ok(fleet)
    }

    fn greet(&mut self, interrupted: &AtomicBool) -> Result<(), LaunchError> {
        let fault = |fleet: &Self, why: String| LaunchError(format!("{ON} {}: {why}", fleet.on));
        let deadline = Instant::now() + HELLO;
        while self.clients.iter().any(|c| c.hello.is_none() && c.lost.is_none()) {
            if interrupted.load(Ordering::Relaxed) {
                return Err(fault(self, "interrupted before all clients had connected".to_owned()));
            }
            if Instant::now() > deadline {
                let silent = self.clients.iter().filter(|c| c.hello.is_none());
                let silent = silent.map(|c| c.called.clone()).collect::<Vec<_>>().join(", ");
                let limit = HELLO.as_secs();
                return Err(fault(self, format!("no message from {silent} within {limit} s")));
            }
            if let Some((client, _, News::FromClient(text))) = self.hear(LOOK, false)
                && let FromClient::Hello(hello) = *text
            {
                self.clients[client].hello = Some(*hello);
            }
        }
        let lost = |c: &Client| Some(format!("{}: {}", c.called, c.lost.as_ref()?));
        let lost: Vec<String> = self.clients.iter().filter_map(lost).collect();
        if !lost.is_empty() {
            return Err(fault(self, lost.join("; ")));
        }
        roster::check(&self.clients, &self.ours).map_err(|LaunchError(why)| fault(self, why))
    }

    /// Returns the number of clients.
    pub fn count(&self) -> u32 {
        self.clients.len() as u32
    }

    /// Returns whether a client is on the coordinator's machine.
    pub(crate) fn is_here(&self, client: usize) -> bool {
        let theirs = self.clients[client].hello.as_ref().and_then(|hello| hello.machine.clone());
        theirs.is_some() && theirs == self.ours.machine
    }

    /// Collects the warnings about the clients.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut found = roster::warnings(&self.clients, self.on.is_here());
        for client in self.clients.iter().filter(|c| c.was_silent >= SUSPECTED) {
            let silent_s = client.was_silent.as_secs_f64();
            let text = format!("{} was silent for {silent_s:.1} s and came back", client.called);
            found.push(Warning::about(WarningKind::ClientSilent, &client.called, text));
        }
        found
    }

    /// Waits at most this long for the next message or loss of a client. With `watched`, a client that is
    /// silent for too long is lost.
    pub(crate) fn hear(
        &mut self,
        patience: Duration,
        watched: bool,
    ) -> Option<(usize, Instant, News)> {
        // Not only when nothing is heard: of many clients one always speaks.
        if watched && let Some(client) = self.silent(Instant::now()) {
            return Some((client, Instant::now(), News::Lost));
        }
        match self.events.recv_timeout(patience.min(LOOK)) {
            Ok(Event { client: Some(client), at, what: ClientOutput::Line(line) }) => {
                if self.clients[client].lost.is_some() {
                    return None;
                }
                self.clients[client].heard();
                match serde_json::from_slice(line.as_bytes()) {
                    Ok(FromClient::Alive(_)) => None,
                    Ok(message) => Some((client, at, News::FromClient(Box::new(message)))),
                    Err(error) => {
                        let message: String = line.chars().take(80).collect();
                        let why = format!(
                            "it sent a line that is not part of the protocol \
                            ({error}): {message}"
                        );
                        self.lose(client, why);
                        Some((client, at, News::Lost))
                    }
                }
            }
            Ok(Event { client: Some(client), at, what: ClientOutput::Lost(why) }) => {
                self.clients[client].lost.is_none().then(|| {
                    self.lose(client, why);
                    (client, at, News::Lost)
                })
            }
            Ok(Event { client: None, at, what: ClientOutput::Lost(why) }) => {
                let mut alive = (0..self.clients.len()).filter(|c| self.clients[*c].lost.is_none());
                let first = alive.next()?;
                let rest: Vec<usize> = alive.collect();
                // The others follow: losses are reported one by one.
                rest.into_iter().for_each(|client| self.lose(client, why.clone()));
                self.lose(first, why);
                Some((first, at, News::Lost))
            }
            Ok(Event { client: None, .. }) | Err(_) => None,
        }
    }

    /// Adds the time since the last check to the silence of all clients, and returns one whose silence is too
    /// long.
    fn silent(&mut self, now: Instant) -> Option<usize> {
        let passed = now.saturating_duration_since(self.looked).min(LOOK);
        self.looked = now;
        for client in self.clients.iter_mut().filter(|c| c.lost.is_none()) {
            client.silent += passed;
        }
        let client = self.clients.iter().position(|c| c.lost.is_none() && c.silent >= SILENT)?;
        self.lose(client, format!("no message for {} s", SILENT.as_secs()));
        Some(client)
    }

    /// Gives a client up.
    pub(crate) fn lose(&mut self, client: usize, why: String) {
        self.clients[client].lost = Some(why);
        self.launcher.cut(client);
    }

    /// Sends a message to a client. If that fails, the launcher reports the client as lost.
    pub(crate) fn tell(&mut self, client: usize, message: &ToClient) {
        if self.clients[client].lost.is_some() {
            return;
        }
        match message.to_line() {
            Ok(line) => drop(self.launcher.tell(client, &line)),
            Err(error) => self.lose(client, format!("cannot send to it: {error}")),
        }
    }

    /// Converts an instant to the coordinator's clock.
    pub(crate) fn on_clock(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::Sender;

    use super::*;

    /// A launcher whose clients say only what a test prescribes.
    struct SilentLauncher;

    impl Launcher for SilentLauncher {
        fn names(&self) -> Vec<String> {
            vec![String::new(); 2]
        }

        fn tell(&mut self, _client: usize, _line: &str) -> io::Result<()> {
            Ok(())
        }

        fn cut(&mut self, _client: usize) {}
    }

    fn fleet() -> (Sender<Event>, Fleet) {
        let (sender, events) = channel();
        let epoch = Instant::now();
        let clients = (0..2).map(|index| Client::new(index, 2, String::new())).collect();
        let fleet = Fleet {
            launcher: Box::new(SilentLauncher),
            events,
            clients,
            on_loss: OnLoss::Stop,
            epoch,
            ours: Hello::of_this_process("1"),
            on: "local:2".parse().unwrap(),
            looked: epoch,
        };
        (sender, fleet)
    }

    #[test]
    fn a_silent_client_is_noticed_though_others_speak_all_the_time() {
        let (says, mut fleet) = fleet();
        for looks in 0.. {
            let what = ClientOutput::Line("{\"alive\":1}".to_owned());
            says.send(Event { client: Some(0), at: Instant::now(), what }).unwrap();
            // Time passes between two looks, and each finds a line.
            fleet.looked = Instant::now().checked_sub(Duration::from_millis(50)).unwrap();
            match fleet.hear(LOOK, true) {
                None => assert!(looks < 1000, "nobody is missed"),
                Some((client, _, News::Lost)) => {
                    assert!(client == 1 && looks > 50, "{client} after {looks}");
                    break;
                }
                Some((_, _, News::FromClient(_))) => panic!("a sign of life is no news"),
            }
        }
        assert_eq!(fleet.clients[1].lost.as_deref(), Some("no message for 10 s"));
        // It has spoken since it was looked last.
        assert!(fleet.clients[0].lost.is_none() && fleet.clients[0].silent <= LOOK);
    }

    #[test]
    fn a_time_in_which_we_were_stopped_is_nobodys_silence() {
        let (_says, mut fleet) = fleet();
        let stopped = fleet.epoch + Duration::from_secs(60);
        assert_eq!(fleet.silent(stopped), None);
        assert_eq!(fleet.clients[0].silent, LOOK);
    }
}
