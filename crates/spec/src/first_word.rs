//! Refuses a first word that cannot be a command of the server: an address, a program, or a command with its
//! weight behind it (`get:9`).

use std::path::Path;

use naming::{HOST, MIX, PORT, SPAWN, Text, URI, text};
use workload::typed_login::{is_address, shown_address};

/// Refuses the name of a program or a server in place of a command, and in a mix a weight after its command.
pub(crate) fn check_command(words: &[Vec<u8>], mixed: bool) -> Result<(), Text> {
    let Some(first) = words.first() else { return Ok(()) };
    let first = String::from_utf8_lossy(first);
    if mixed && let Some((name, weight)) = weight_behind(&first) {
        let bounds = if weight == 0 { " and must be above 0" } else { "" };
        return Err(text!(
            "{MIX} {first}: a weight stands before its command{bounds}, as in {MIX} {} {name} \
             k:__key__ ';' 1 ...",
            weight.max(1)
        ));
    }
    if is_address(&first) {
        return Err(text!(
            "{} is a server, not a command; name the server with {HOST} and {PORT}, or {URI} URI; \
             keystorm compare compares several",
            shown_address(&first)
        ));
    }
    let name = first.rsplit('/').next().unwrap_or_default();
    if PROGRAMS.contains(&name) || first.contains('/') && Path::new(&*first).is_file() {
        return Err(text!(
            "{first} is a program, not a command; {SPAWN}={first} starts a server for the run, and \
             keystorm compare compares several"
        ));
    }
    Ok(())
}

/// A command and its weight where they are written as one word, `get:9`. Large numbers are ports.
fn weight_behind(word: &str) -> Option<(&str, u32)> {
    const WEIGHT_MAX: u32 = 1000;
    let (name, weight) = word.split_once(':')?;
    let is_command = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let weight = weight.parse().ok().filter(|weight| *weight <= WEIGHT_MAX && is_command)?;
    Some((name, weight))
}

/// Servers that people start by these names.
const PROGRAMS: [&str; 7] = [
    "redis-server",
    "valkey-server",
    "memcached",
    "keydb-server",
    "dragonfly",
    "kvrocks",
    "garnet-server",
];
