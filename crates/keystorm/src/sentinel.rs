//! Finding the primary that a group of sentinels watches.
//!
//! Owns the two questions: a sentinel is asked for the address (`SENTINEL GET-MASTER-ADDR-BY-NAME`), and the
//! server there for its `ROLE`, since a sentinel may be outdated.
//! <https://redis.io/docs/latest/develop/reference/sentinel-clients/>

use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

use host::{Address, Client, Patience, Transport};
use wire::resp::Value;
use workload::{Credentials, Target};

use crate::password;

/// Time limits for one sentinel, as others may know the answer.
const PATIENCE: Patience =
    Patience { connect: Duration::from_millis(500), reply: Duration::from_millis(500) };

/// A group of sentinels, and the name of the wanted primary.
#[derive(Debug, Clone)]
pub(crate) struct Sentinels {
    hosts: Vec<(String, u16)>,
    name: String,
    credentials: Option<Credentials>,
    /// Local addresses to ask from, the same as for the load.
    sources: Vec<IpAddr>,
}

impl Sentinels {
    pub(crate) fn new(hosts: &[(String, u16)], name: &str, target: &Target) -> Self {
        // Without the password that cannot be had now, the sentinel says what it lacks.
        let credentials = password::credentials(target).ok().flatten();
        let sources = target.sources.clone();
        Self { hosts: hosts.to_vec(), name: name.to_owned(), credentials, sources }
    }

    /// The address of the primary, from the first sentinel with a valid answer.
    ///
    /// # Errors
    /// Returns the answer of each, in words for a person.
    pub(crate) fn primary(&self) -> Result<Address, String> {
        let mut reasons = Vec::new();
        for (host, port) in &self.hosts {
            match self.primary_by(host, *port) {
                Ok(address) => return Ok(address),
                Err(why) => reasons.push(format!("{host}:{port}: {why}")),
            }
        }
        let (name, reasons) = (&self.name, reasons.join("; "));
        Err(format!("no sentinel knows the primary of {name:?}: {reasons}"))
    }

    fn primary_by(&self, host: &str, port: u16) -> Result<Address, String> {
        let mut sentinel = self.connect(host, port)?;
        let question = [b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME".as_slice(), self.name.as_bytes()];
        let mut answer = ask(&mut sentinel, &question)?;
        if matches!(&answer, Value::Error(text) if text.starts_with(b"NOAUTH")) {
            self.log_in(&mut sentinel)?;
            answer = ask(&mut sentinel, &question)?;
        }
        let (host, port) = match answer {
            Value::Array(items) => match items.as_slice() {
                [host, port] => (host.text(), port.text().and_then(|port| port.parse().ok())),
                _ => (None, None),
            },
            Value::Error(text) => return Err(String::from_utf8_lossy(&text).into_owned()),
            _ => return Err(format!("it knows no primary named {:?}", self.name)),
        };
        let (host, port) = host.zip(port).ok_or("its reply has no address")?;
        self.check_role(&host, port)?;
        let found = addresses(&host, port)?;
        found.into_iter().next().ok_or_else(|| format!("{host} does not resolve to an address"))
    }

    fn check_role(&self, host: &str, port: u16) -> Result<(), String> {
        let at = |why: String| format!("the primary should be {host}:{port}, but {why}");
        let mut server = self.connect(host, port).map_err(at)?;
        self.log_in(&mut server).map_err(at)?;
        match ask(&mut server, &[b"ROLE"]).map_err(at)? {
            Value::Array(items) => match items.first().and_then(Value::text).as_deref() {
                Some("master") => Ok(()),
                role => Err(at(format!("its role is {}", role.unwrap_or("unknown")))),
            },
            // A user who may not ask gets the benefit of the doubt, and so does a server that
            // reads its data: it is the primary, and will say itself when it is ready.
            Value::Error(text) if text.starts_with(b"NOPERM") || text.starts_with(b"LOADING") => {
                Ok(())
            }
            _ => Err(at("it does not report its role".to_owned())),
        }
    }

    fn connect(&self, host: &str, port: u16) -> Result<Client<Transport>, String> {
        let mut failure = format!("{host} does not resolve to an address");
        for address in addresses(host, port)? {
            match Client::reach(&address, None, &self.sources, PATIENCE) {
                Ok(client) => return Ok(client),
                Err(error) => failure = error.to_string(),
            }
        }
        Err(failure)
    }

    fn log_in(&self, client: &mut Client<Transport>) -> Result<(), String> {
        let Some(Credentials { user, password }) = &self.credentials else { return Ok(()) };
        let mut words: Vec<&[u8]> = vec![b"AUTH"];
        words.extend(user.as_deref().map(str::as_bytes));
        words.push(password.reveal().as_bytes());
        match ask(client, &words)? {
            Value::Error(_) => Err("it refuses the login".to_owned()),
            _ => Ok(()),
        }
    }
}

impl runner::Resolver for Sentinels {
    fn resolve(&self) -> Option<Address> {
        self.primary().ok()
    }
}

fn addresses(host: &str, port: u16) -> Result<Vec<Address>, String> {
    let found = (host, port).to_socket_addrs().map_err(|e| e.to_string())?;
    Ok(found.map(Address::Tcp).collect())
}

fn ask(client: &mut Client<Transport>, words: &[&[u8]]) -> Result<Value, String> {
    client.ask(words).map_err(|e| e.to_string())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn sentinels_are_asked_from_where_load_is_sent() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let from: IpAddr = [127, 0, 0, 9].into();
        let target = Target { sources: vec![from], ..Target::default() };
        let asked_from = thread::spawn(move || listener.accept().unwrap().1.ip());
        let sentinels = Sentinels::new(&[("127.0.0.1".to_owned(), port)], "mine", &target);
        assert!(sentinels.primary().is_err(), "it does not answer");
        assert_eq!(asked_from.join().unwrap(), from);
    }
}
