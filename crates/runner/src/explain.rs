//! Failures in words for a person: the server's message and the remedy.

use std::io;

use engine::{Address, Reason};
use measure::Failure;
use naming::advice::USER_AND_PASSWORD;
use naming::{
    CLOSE, CLUSTER, CONNECTIONS, KEY_RANGE, PASSWORD, RECONNECT, SIZE, SOURCE_IP, TIMEOUT, Text,
    USER, text,
};
use wire::Reply;

/// Error line that memcached sends to clients beyond its option -c, before it hangs up.
const MEMCACHED_IS_FULL: &str = "ERROR Too many open connections";
/// Longest part of a server's text that is kept.
const TEXT_MAX: usize = 300;

/// Text of an error reply, cut to a bounded length and not escaped.
pub(crate) fn text(bytes: &[u8]) -> String {
    if bytes.len() <= TEXT_MAX {
        return wire::spelled(bytes);
    }
    // Not in the middle of a character.
    let start = (TEXT_MAX - 3..=TEXT_MAX).rev().find(|at: &usize| bytes[*at] & 0xc0 != 0x80);
    let end = start.unwrap_or(TEXT_MAX);
    wire::spelled(&bytes[..end]) + "…"
}

/// Returns the kind of an error reply, its first word. For memcached it is the whole text, because the first
/// word says only whose fault it is and the rest never varies.
pub(crate) fn kind(text: &str) -> &str {
    let first = text.split(' ').next().unwrap_or_default();
    if matches!(first, "CLIENT_ERROR" | "SERVER_ERROR") { text } else { first }
}

/// Returns the failure of a run that ends with an error reply.
pub(crate) fn error_reply(text: &str) -> Failure {
    Failure::from_server(match hint(text) {
        Some(hint) => format!("Error from server: {text} ({hint})"),
        None => format!("Error from server: {text}"),
    })
}

/// Returns the failure of a cluster run in which no node took a request during the whole search for one.
pub(crate) fn given_up(text: &str) -> Failure {
    let hint = match kind(text) {
        "CLUSTERDOWN" => {
            "no node has served this slot for 60 s: assign it to one, as redis-cli --cluster fix does, or start \
             the node that has it"
        }
        "MOVED" | "ASK" => {
            "for 60 s each node has named another one: look at CLUSTER SLOTS of all nodes"
        }
        "TRYAGAIN" => {
            "for 60 s the keys of this request were at two nodes: end the move of their slot"
        }
        _ => return error_reply(text),
    };
    Failure::from_server(format!("Error from server: {text} ({hint})"))
}

/// Returns advice about an error whose cause is known.
pub(crate) fn hint(text: &str) -> Option<Text> {
    Some(match kind(text) {
        _ if text.starts_with("ERR unknown command") => "this server has no such command".into(),
        _ if text.to_ascii_lowercase().starts_with("err unknown subcommand") => {
            "this server has no such subcommand".into()
        }
        _ if text.contains("max number of clients") => {
            text!("lower {CONNECTIONS}, or raise the server's maxclients")
        }
        _ if text.starts_with(MEMCACHED_IS_FULL) => {
            text!("lower {CONNECTIONS}, or start memcached with a higher -c")
        }
        "ERROR" if text == "ERROR" => {
            "memcached does not know this command, or not with this number of arguments".into()
        }
        _ if text.starts_with("CLIENT_ERROR unauthenticated") => {
            text!("the server requires a login: use {USER_AND_PASSWORD}")
        }
        _ if text.starts_with("SERVER_ERROR object too large") => {
            text!("values exceed the server's item limit (option -I): use a smaller {SIZE}")
        }
        _ if ["SERVER_ERROR out of memory", "OUT_OF_MEMORY"]
            .iter()
            .any(|s| text.starts_with(s)) =>
        {
            text!(
                "the server evicts nothing (-M), or too slowly: give it more memory (-m), or use a smaller {SIZE}"
            )
        }
        "CROSSSLOT" => {
            "the keys of one command must be in one hash slot: put the same {tag} into all of them"
                .into()
        }
        "MOVED" | "ASK" | "CLUSTERDOWN" => {
            text!("this server is a cluster node: add {CLUSTER}")
        }
        "DENIED" | "-DENIED" => {
            "the server is in protected mode and accepts no clients from this address: set a \
             password there, or run keystorm on its machine"
                .into()
        }
        "NOAUTH" => text!(
            "the server requires a password: use {PASSWORD}, with {USER} for an ACL user, or set REDISCLI_AUTH"
        ),
        "NOPERM" => text!(
            "the user lacks the permission: grant it, or log in as another user with {USER_AND_PASSWORD}"
        ),
        "OOM" => text!(
            "the server is at its maxmemory: raise it, choose an eviction policy, or use a smaller {KEY_RANGE} or \
             {SIZE}"
        ),
        "READONLY" => "this server is a replica: send writes to its primary".into(),
        "LOADING" => "the server is still loading its data set: try again when it is done".into(),
        "MISCONF" => "the server cannot save to disk and so refuses writes".into(),
        _ => return None,
    })
}

/// Returns whether a reply that answers no request is a server's refusal of the client.
pub(crate) fn turns_away(reply: &Reply<'_>) -> bool {
    matches!(reply, Reply::Error(bytes) if is_passing(&text(bytes)))
}

/// Returns the failure for a reply without a request.
pub(crate) fn unexpected(reply: &Reply<'_>) -> Failure {
    match reply {
        Reply::Error(bytes) => error_reply(&text(bytes)),
        _ => Failure::new("the server sent a reply to no request"),
    }
}

/// Returns whether an error reply says that the server is unable to serve for now.
pub(crate) fn is_passing(text: &str) -> bool {
    text.contains("max number of clients")
        || text.starts_with(MEMCACHED_IS_FULL)
        || matches!(
            kind(text),
            "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY" | "READONLY"
        )
}

/// Kind of the error for a connection whose opening was not answered in time.
pub(crate) const NO_ANSWER: &str = "no-answer";

/// Returns the kind of error for an attempt to open a connection that failed for this reason.
pub(crate) fn opening_failure(why: &str) -> &str {
    const KINDS: [(&str, &str); 8] = [
        ("Connection refused", "connection-refused"),
        ("connection refused", "connection-refused"),
        ("Connection reset", "connection-reset"),
        ("connection reset", "connection-reset"),
        ("Resource temporarily unavailable", "backlog-full"),
        ("the server closed", "closed-by-server"),
        ("no answer within", NO_ANSWER),
        ("Connection timed out", NO_ANSWER),
    ];
    match KINDS.iter().find(|(begin, _)| why.starts_with(begin)) {
        Some((_, kind)) => kind,
        None if kind(why).chars().all(|c| c.is_ascii_uppercase()) => kind(why),
        None => "connection-failed",
    }
}

/// Returns whether a connection could not be opened because this machine lacks something, so that waiting for
/// the server does not help.
pub(crate) fn is_ours(reason: &Reason) -> bool {
    match reason {
        Reason::Failed(error) => {
            error.kind() == io::ErrorKind::AddrNotAvailable
                || matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
        }
        Reason::ByPeer => false,
    }
}

/// Describes the failure of a request that took too long.
pub(crate) fn timed_out(server: impl std::fmt::Display, ms: f64) -> String {
    format!(
        "{server}: a request was not answered within {ms} ms ({TIMEOUT}); with {RECONNECT} yes \
         it is counted and the run continues"
    )
}

/// Describes the failure to reopen a lost connection, after the last try.
pub(crate) fn not_reopened(address: &Address, tries: u32) -> String {
    let tries = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
    format!("{address}: a lost connection could not be opened again, after {tries} in a row")
}

/// Describes the failure to open a connection.
pub(crate) fn connect_failed(address: &Address, reason: &Reason) -> String {
    let hint = match reason {
        Reason::Failed(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            text!(
                ": no local port is free; use fewer connections ({CONNECTIONS}), connect from more addresses \
             ({SOURCE_IP}), or where connections are closed and opened all the time, close them by \
             a reset ({CLOSE} reset) or allow earlier reuse of ports: sysctl -w \
             net.ipv4.tcp_tw_reuse=1"
            )
        }
        Reason::Failed(error) if error.raw_os_error() == Some(EMFILE) => {
            ": too few file descriptors; raise the limit with ulimit -n".into()
        }
        _ => Text::default(),
    };
    format!("Could not connect to server at {address}: {reason}{hint}")
}

const EMFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
const ENFILE: i32 = rustix::io::Errno::NFILE.raw_os_error();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_not_told_to_be_taken_for_one() {
        for text in ["CLUSTERDOWN Hash slot not served", "MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN x"] {
            let failure = given_up(text);
            assert!(failure.is_of_server() && failure.text.contains(text), "{}", failure.text);
            assert!(!failure.text.contains("add --cluster"), "{}", failure.text);
        }
        assert_eq!(given_up("OOM x").text, error_reply("OOM x").text);
    }

    #[test]
    fn what_a_server_stated_is_quoted_verbatim() {
        assert_eq!(text(b"ERR   two  spaces \\ \"q\" "), "ERR   two  spaces \\ \"q\" ");
        assert_eq!(text(b"ERR \xff\xc3\xa9\xc3"), "ERR \\xffé\\xc3");
        let long = |before: usize| format!("{}éé", "x".repeat(before)).into_bytes();
        assert_eq!(text(&long(298)), format!("{}é…", "x".repeat(298)));
        assert_eq!(text(&long(299)), format!("{}…", "x".repeat(299)));
        assert_eq!(text(&long(296)), format!("{}éé", "x".repeat(296)));
    }
}
