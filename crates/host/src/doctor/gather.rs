//! Gathering of evidence about a server, with plain blocking questions on a separate connection.
//!
//! Owns the questions and the handling of refusals; checks interpret the answers. No question changes the
//! server or touches a key.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::memcache::MemcacheClient;
use crate::watch::COMMANDS;
use crate::{Address, Client, HostFacts, machine, printable};
use wire::resp::Value;
use workload::suite::{Origin, SUITE, SuiteShape};

use crate::doctor::{
    Clients, Evidence, Info, Load, MemcacheEvidence, MemcachedCounts, RoundTrips, ServerEvidence,
    ServerLocation, SlowCommand, Traffic,
};

/// Maximum number of round trips measured.
const TRIPS_MAX: usize = 1000;

/// Gathers all evidence, in about `patience`, for which this machine and the server are watched. Without a
/// server, `client` is the reason.
pub fn gather<T: Read + Write>(
    client: Result<(&Address, &mut Client<T>), String>,
    load: Load,
    patience: Duration,
) -> Evidence {
    gather_with(client, load, patience, |evidence, client| {
        evidence.server = client.map(|client| {
            // A user who may do nothing is refused, and that takes as long as an answer.
            let ping = || client.ask(&[b"PING"]).map(drop).map_err(|error| error.to_string());
            evidence.round_trips = round_trips(ping, patience / 2);
            server(client, &evidence.location, patience / 2)
        });
    })
}

/// Gathers the evidence about a memcached.
pub fn gather_memcache(
    client: Result<(&Address, &mut MemcacheClient), String>,
    load: Load,
    patience: Duration,
) -> Evidence {
    gather_with(client, load, patience, |evidence, client| {
        evidence.memcache = Some(client.and_then(|client| {
            evidence.round_trips = round_trips(|| client.nothing(), patience / 2);
            memcache(client, patience / 2)
        }));
    })
}

/// Gathers the evidence of this machine before and after a look at a server.
fn gather_with<C>(
    client: Result<(&Address, C), String>,
    load: Load,
    patience: Duration,
    look: impl FnOnce(&mut Evidence, Result<C, String>),
) -> Evidence {
    let mut before = HostFacts::read();
    before.load.running_beside = crate::machine::running_beside();
    let begun = Instant::now();
    let mut evidence = Evidence::of_host(before, load);
    match &client {
        Ok((address, _)) => evidence.location = locate(address),
        Err(reason) => evidence.round_trips = Err(reason.clone()),
    }
    look(&mut evidence, client.map(|(_, client)| client));
    std::thread::sleep(patience.saturating_sub(begun.elapsed()));
    let after = HostFacts::read();
    let times = after.load.cpu_times.zip(evidence.host.load.cpu_times);
    evidence.meanwhile = times.map(|(after, before)| after.since(before));
    evidence
}

/// Locates a server. An address to which a socket can be bound here is this machine's.
pub fn locate(address: &Address) -> ServerLocation {
    let ip = match address {
        Address::Unix(_) => return ServerLocation::Unix,
        Address::Tcp(address) => address.ip(),
    };
    let ip = match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    };
    if ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok() {
        return ServerLocation::Local;
    }
    ServerLocation::Remote { address: ip, interface: machine::interface_to(Path::new("/"), ip) }
}

/// A refused or failed question, in words.
fn ask<T: Read + Write>(client: &mut Client<T>, words: &[&[u8]]) -> Result<Value, String> {
    let name = || {
        let shown = words.iter().take(2).map(|w| String::from_utf8_lossy(w).into_owned());
        shown.collect::<Vec<_>>().join(" ")
    };
    match client.ask(words) {
        Ok(Value::Error(text)) => {
            Err(format!("the server refused {}: {}", name(), printable(&text)))
        }
        Ok(value) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

fn text<T: Read + Write>(client: &mut Client<T>, words: &[&[u8]]) -> Result<String, String> {
    let name = String::from_utf8_lossy(words[0]).into_owned();
    ask(client, words)?.text().ok_or_else(|| format!("the reply to {name} is not text"))
}

fn round_trips(
    mut ask: impl FnMut() -> Result<(), String>,
    patience: Duration,
) -> Result<RoundTrips, String> {
    let begun = Instant::now();
    let mut samples = Vec::with_capacity(TRIPS_MAX);
    while samples.len() < TRIPS_MAX && begun.elapsed() < patience {
        let sent = Instant::now();
        ask()?;
        samples.push(sent.elapsed());
    }
    RoundTrips::from_samples(samples).ok_or_else(|| "no reply came in time".to_owned())
}

/// Names of memcached's counts of keys of reads, and of changes.
fn memcache_commands() -> impl Iterator<Item = &'static str> {
    let of_keys = COMMANDS.iter().filter(|(name, _)| !["flush_all", "me"].contains(name));
    of_keys.flat_map(|(_, counts)| counts.iter().copied())
}

/// Maximum number of connections that memcached is asked to list, as it stops for each.
const LISTED_MAX: u64 = 1000;

fn memcache(client: &mut MemcacheClient, patience: Duration) -> Result<MemcacheEvidence, String> {
    let begun = Instant::now();
    let stats = |client: &mut MemcacheClient, which| -> Result<BTreeMap<String, String>, String> {
        Ok(client.stats(which)?.into_iter().collect())
    };
    let first = stats(client, None)?;
    let settings = stats(client, Some("settings"));
    let listening = first.get("curr_connections").and_then(|n| n.parse::<u64>().ok());
    let listening = listening.filter(|n| *n <= LISTED_MAX).and_then(|_| {
        let listed = stats(client, Some("conns")).ok()?;
        let in_state = listed
            .iter()
            .filter(|(name, value)| name.ends_with(":state") && *value == "conn_listening");
        Some(in_state.count() as u64)
    });
    std::thread::sleep(patience.saturating_sub(begun.elapsed()));
    let seconds = begun.elapsed().as_secs_f64();
    let grown = stats(client, None).and_then(|after| {
        if !memcache_commands().any(|name| after.contains_key(name)) {
            return Err("the server's stats count no commands".to_owned());
        }
        let grown = |name: &str| {
            let number = |of: &BTreeMap<String, String>| of.get(name)?.parse::<u64>().ok();
            number(&after).zip(number(&first)).map_or(0, |(new, old)| new.saturating_sub(old))
        };
        let commands = memcache_commands().map(grown).sum();
        Ok(MemcachedCounts { commands, evictions: grown("evictions"), seconds })
    });
    Ok(MemcacheEvidence { stats: first, settings, grown, listening })
}

fn server<T: Read + Write>(
    client: &mut Client<T>,
    location: &ServerLocation,
    patience: Duration,
) -> ServerEvidence {
    let begun = Instant::now();
    // Servers before Redis 7 know no `everything` but `all`; some others know neither.
    let info_words: [&[&[u8]]; 2] = [&[b"INFO", b"everything"], &[b"INFO"]];
    let info = match text(client, info_words[0]) {
        Ok(text) => Ok(text),
        Err(_) => text(client, info_words[1]),
    }
    .map(|text| Info::parse(&text));
    let first = Instant::now();
    let mut ours = 0;
    let mut counted = |n: u64| ours += n;
    let config = config(client);
    let own = text(client, &[b"CLIENT", b"ID"]).ok();
    let clients = text(client, &[b"CLIENT", b"LIST"]).and_then(|text| {
        let none = "the reply to CLIENT LIST lists no client, not even this one";
        Clients::parse(&text, own.as_deref()).ok_or_else(|| none.to_owned())
    });
    let slowlog = ask(client, &[b"SLOWLOG", b"LEN"]).and_then(|value| match value {
        Value::Integer(n) => Ok(u64::try_from(n).unwrap_or(0)),
        _ => Err("the reply to SLOWLOG LEN is not a number".to_owned()),
    });
    let slow_commands = ask(client, &[b"SLOWLOG", b"GET", b"128"]);
    let slow_commands = slow_commands.map(|reply| slowest(&reply)).unwrap_or_default();
    let latency_events = ask(client, &[b"LATENCY", b"LATEST"]).and_then(|value| {
        latency_events(&value).ok_or_else(|| "the reply to LATENCY LATEST is not a list".to_owned())
    });
    counted(6);
    let commands = suite_commands();
    let missing_commands = missing(client, &commands);
    counted(1);
    let (forbidden_commands, asked) = forbidden(client, &commands);
    counted(asked);
    let data_filesystem = match (&config, location.is_here()) {
        (Ok(config), true) => data_filesystem(config.get("dir").map(String::as_str)),
        (Err(reason), _) => Err(reason.clone()),
        (_, false) => Err("the server is on another machine".to_owned()),
    };
    std::thread::sleep(patience.saturating_sub(begun.elapsed()));
    let traffic = traffic(client, &info, first, ours);
    ServerEvidence {
        info,
        config,
        clients,
        slowlog,
        slow_commands,
        latency_events,
        missing_commands,
        forbidden_commands,
        traffic,
        data_filesystem,
    }
}

/// The commands of a slow log, the slowest first.
fn slowest(reply: &Value) -> Vec<SlowCommand> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let commands = crate::slow_commands(reply).into_iter().map(|entry| SlowCommand {
        what: entry.what,
        ran: Duration::from_micros(entry.usec.unwrap_or_default()),
        ago: now.saturating_sub(Duration::from_secs_f64(entry.to_s.max(0.0))),
    });
    let mut all: Vec<SlowCommand> = commands.collect();
    all.sort_by_key(|entry| std::cmp::Reverse(entry.ran));
    all
}

/// Counts the commands that the server executed since its first `INFO`, without `ours` and that `INFO`
/// itself.
fn traffic<T: Read + Write>(
    client: &mut Client<T>,
    before: &Result<Info, String>,
    first: Instant,
    ours: u64,
) -> Result<Traffic, String> {
    let before = before.as_ref().map_err(Clone::clone)?.number("total_commands_processed")?;
    let seconds = first.elapsed().as_secs_f64();
    let after = Info::parse(&text(client, &[b"INFO", b"stats"])?);
    let after = after.number("total_commands_processed")?;
    let commands = (after - before).max(0.0) as u64;
    Ok(Traffic { commands: commands.saturating_sub(ours + 1), seconds })
}

/// Reads `CONFIG GET *`, in RESP2's or RESP3's form.
fn config<T: Read + Write>(client: &mut Client<T>) -> Result<BTreeMap<String, String>, String> {
    let reply = ask(client, &[b"CONFIG", b"GET", b"*"])?;
    let pairs = reply.pairs().ok_or("the reply to CONFIG GET is not a list")?;
    let texts = pairs.iter().filter_map(|(name, value)| Some((name.text()?, value.text()?)));
    // Passwords are none of our business, so they are not even kept.
    Ok(texts.filter(|(name, _)| !name.contains("pass") && !name.contains("auth")).collect())
}

/// Parses `[[event, when, latest ms, longest ms], ...]`; `None` for anything else.
fn latency_events(value: &Value) -> Option<Vec<(String, u64)>> {
    let events = value.items()?.iter().map(|value| {
        let fields = value.items()?;
        Some((fields.first()?.text()?, fields.get(3)?.text()?.parse().ok()?))
    });
    events.collect()
}

/// The commands of the suite, without repetition, with valid arguments.
fn suite_commands() -> Vec<Vec<Vec<u8>>> {
    let shape = SuiteShape {
        value_len: 3,
        value_skip: 0,
        randomised: false,
        functions: 1,
        fcall_keys: 1,
        redis_zadd: false,
        cluster: false,
    };
    let mut commands: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    let suite = SUITE.iter().filter(|test| test.by_default && test.origin != Origin::Valkey);
    for command in
        suite.flat_map(|test| test.setup(&shape).into_iter().chain([test.command(&shape)]))
    {
        // Inline commands are one argument with spaces.
        let words = command.args.iter().map(|arg| arg.fixed_bytes().unwrap_or(b"1".to_vec()));
        let words: Vec<Vec<u8>> = words.collect();
        let Some(first) = words.first() else { continue };
        let name = first.trim_ascii().to_ascii_uppercase();
        if !command.inline {
            commands.entry(name).or_insert(words);
        }
    }
    commands.into_values().collect()
}

fn name(command: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&command[0]).to_uppercase()
}

/// Commands that the server does not know.
fn missing<T: Read + Write>(
    client: &mut Client<T>,
    commands: &[Vec<Vec<u8>>],
) -> Result<Vec<String>, String> {
    // What a run and the doctor ask, beside what the suite sends.
    let names: Vec<String> =
        commands.iter().map(|c| name(c)).chain(["INFO", "CONFIG"].map(str::to_owned)).collect();
    let mut words: Vec<&[u8]> = vec![b"COMMAND", b"INFO"];
    words.extend(names.iter().map(String::as_bytes));
    let Value::Array(known) = ask(client, &words)? else {
        return Err("the reply to COMMAND INFO is not a list".to_owned());
    };
    if known.len() != names.len() {
        return Err(format!(
            "the reply to COMMAND INFO has {} entries for {} commands",
            known.len(),
            names.len()
        ));
    }
    let gone = |value: &Value| match value {
        Value::Null => true,
        Value::Array(fields) => fields.is_empty(),
        _ => false,
    };
    Ok(names.into_iter().zip(&known).filter(|(_, v)| gone(v)).map(|(name, _)| name).collect())
}

/// Commands that the user may not run, and the number of questions asked.
fn forbidden<T: Read + Write>(
    client: &mut Client<T>,
    commands: &[Vec<Vec<u8>>],
) -> (Result<Vec<String>, String>, u64) {
    let user = match text(client, &[b"ACL", b"WHOAMI"]) {
        Ok(user) => user,
        Err(reason) => return (Err(reason), 1),
    };
    let mut forbidden = Vec::new();
    for (at, command) in (2..).zip(commands) {
        let mut words: Vec<&[u8]> = vec![b"ACL", b"DRYRUN", user.as_bytes()];
        words.extend(command.iter().map(Vec::as_slice));
        match client.ask(&words) {
            Ok(Value::Simple(_)) => {}
            // Redis answers a string that says which permission is missing.
            Ok(Value::Bulk(_)) => forbidden.push(name(command)),
            // A command that is not there is the business of another check.
            Ok(Value::Error(text)) if text.windows(9).any(|w| w == b"not found") => {}
            Ok(Value::Error(text)) => {
                let text = printable(&text);
                return (Err(format!("the server refused ACL DRYRUN: {text}")), at);
            }
            Ok(_) => return (Err("the reply to ACL DRYRUN is not text".to_owned()), at),
            Err(error) => return (Err(error.to_string()), at),
        }
    }
    (Ok(forbidden), 1 + commands.len() as u64)
}

/// The file system of a directory of a server on this machine.
fn data_filesystem(dir: Option<&str>) -> Result<String, String> {
    let dir = dir.ok_or("the server has no setting dir")?;
    if !Path::new(dir).is_dir() {
        return Err(format!("{dir} is not visible from here; is the server in a container?"));
    }
    let mounts = std::fs::read_to_string("/proc/mounts");
    let mounts = mounts.map_err(|e| format!("/proc/mounts: {e}"))?;
    filesystem_of(&mounts, Path::new(dir)).ok_or_else(|| format!("nothing is mounted for {dir}"))
}

/// Type of the mount of a path, according to a text of `/proc/mounts`. Of several mounts at one place the
/// last is visible.
pub fn filesystem_of(mounts: &str, path: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        // Spaces and the like are octal there.
        let point = words.next()?.replace("\\040", " ").replace("\\011", "\t");
        path.starts_with(&point).then_some((point.len(), words.next()?))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_and_last_mount_counts() {
        let mounts = "/dev/sda / ext4 rw 0 0\nsrv:/x /data nfs4 rw 0 0\nnone /data/a\\040b tmpfs rw 0 0\n\
                      /dev/sdb /late xfs rw 0 0\nsrv:/y /late nfs rw 0 0\n";
        let of = |path: &str| filesystem_of(mounts, Path::new(path)).unwrap();
        assert_eq!(of("/var/lib/redis"), "ext4");
        assert_eq!(of("/data/redis"), "nfs4");
        assert_eq!(of("/database"), "ext4");
        assert_eq!(of("/data/a b/c"), "tmpfs");
        assert_eq!(of("/late"), "nfs");
        assert_eq!(filesystem_of("", Path::new("/")), None);
    }

    #[test]
    fn an_address_of_ours_is_here_and_others_are_not() {
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        assert_eq!(locate(&tcp("127.0.0.1:1")), ServerLocation::Local);
        assert_eq!(locate(&tcp("[::ffff:127.0.0.1]:1")), ServerLocation::Local);
        // TEST-NET-3 is nobody's: <https://www.rfc-editor.org/rfc/rfc5737>
        assert!(matches!(locate(&tcp("203.0.113.9:1")), ServerLocation::Remote { .. }));
        assert_eq!(locate(&Address::Unix("/s".into())), ServerLocation::Unix);
    }

    #[test]
    fn the_suite_has_commands_to_ask_for() {
        let names: Vec<String> = suite_commands().iter().map(|c| name(c)).collect();
        for expected in ["SET", "GET", "LPUSH", "LRANGE", "ZADD"] {
            assert!(names.iter().any(|name| name == expected), "{names:?}");
        }
    }
}
