//! Commands that stop, empty, change or hold up a server, which is easily done by a guess: `keystorm shutdown` would
//! send it 100,000 times. They take `--yes`, except to a server that is started for the run.

use workload::CommandSpec;

/// Commands that are harmful with any arguments, and what each does.
const WHOLE: [(&str, &str); 31] = [
    ("BGREWRITEAOF", FORKS),
    ("BGSAVE", FORKS),
    ("BLMOVE", BLOCKS),
    ("BLMPOP", BLOCKS),
    ("BLPOP", BLOCKS),
    ("BRPOP", BLOCKS),
    ("BRPOPLPUSH", BLOCKS),
    ("BZMPOP", BLOCKS),
    ("BZPOPMAX", BLOCKS),
    ("BZPOPMIN", BLOCKS),
    ("DEBUG", "can stop or crash the server"),
    ("FAILOVER", ROLES),
    ("FLUSHALL", DELETES),
    ("FLUSHDB", DELETES),
    ("FLUSH_ALL", DELETES),
    ("KEYS", "holds up everybody while it walks all keys"),
    ("MIGRATE", DELETES),
    ("MONITOR", STREAMS),
    ("PSUBSCRIBE", STREAMS),
    ("PSYNC", STREAMS),
    ("REPLCONF", ROLES),
    ("REPLICAOF", ROLES),
    ("SAVE", "holds up everybody while it writes a snapshot"),
    ("SHUTDOWN", "stops the server"),
    ("SLAVEOF", ROLES),
    ("SSUBSCRIBE", STREAMS),
    ("SUBSCRIBE", STREAMS),
    ("SWAPDB", DELETES),
    ("SYNC", STREAMS),
    ("VERBOSITY", CHANGES),
    (WATCH, "changes nothing by itself, and memcached answers it with a stream"),
];

/// Commands that are harmful with one of these words behind them.
const PARTS: [(&str, &[&str], &str); 8] = [
    ("ACL", &["DELUSER", "LOAD", "SAVE", "SETUSER"], CHANGES),
    ("CLIENT", &["KILL", "PAUSE", "UNPAUSE"], "holds up or disconnects everybody"),
    (
        "CLUSTER",
        &[
            "ADDSLOTS",
            "DELSLOTS",
            "FAILOVER",
            "FLUSHSLOTS",
            "FORGET",
            "MEET",
            "REPLICATE",
            "RESET",
            "SETSLOT",
        ],
        ROLES,
    ),
    ("CONFIG", &["RESETSTAT", "REWRITE", "SET"], CHANGES),
    ("FUNCTION", &["DELETE", "FLUSH", "KILL", "RESTORE"], DELETES),
    ("MODULE", &["LOAD", "LOADEX", "UNLOAD"], CHANGES),
    ("SCRIPT", &["FLUSH", "KILL"], DELETES),
    ("XREADGROUP", &["BLOCK"], BLOCKS),
];

const WATCH: &str = "WATCH";

const BLOCKS: &str = "waits on the server, and a reply may never come";
const CHANGES: &str = "changes the server's settings";
const DELETES: &str = "deletes what is stored, or moves it away";
const FORKS: &str = "makes the server fork";
const ROLES: &str = "changes the roles of servers";
const STREAMS: &str = "is answered by a stream that has no end";

/// Acts of `keystorm impact`, which measures what one such command costs others.
const ACTS: [&str; 4] = ["bgsave", "failover", "flushall", "keys"];
/// Commands that look like a wish to see what a server is doing.
const LOOKS: [&str; 2] = ["monitor", "watch"];

/// Refuses commands that harm a server.
pub(crate) fn check(commands: &[CommandSpec]) -> Result<(), String> {
    let Some((name, harm)) = commands.iter().find_map(harm) else { return Ok(()) };
    // Before a transaction it has its place.
    if name == WATCH && commands.len() > 1 {
        return Ok(());
    }
    let lower = name.to_lowercase();
    let instead = if ACTS.contains(&&*lower) {
        format!("; keystorm impact --of {lower} measures what one costs others")
    } else if LOOKS.contains(&&*lower) {
        "; keystorm record records what clients send, and keystorm doctor looks at the server"
            .to_owned()
    } else {
        String::new()
    };
    Err(format!(
        "{lower} is a command of the server, not of keystorm, and {harm}: add --yes to send it again and \
         again{instead}"
    ))
}

/// A command's name and what it does to a server, if that is harm.
fn harm(command: &CommandSpec) -> Option<(String, &'static str)> {
    let name = command.name();
    if let Some((_, harm)) = WHOLE.iter().find(|(known, _)| *known == name) {
        return Some((name, harm));
    }
    let words = command.args.get(1..)?.iter().filter_map(workload::Arg::fixed_bytes);
    let words = words.map(|word| String::from_utf8_lossy(&word).to_uppercase());
    let words: Vec<String> = words.collect();
    if name == "XREAD" && words.iter().any(|word| word == "BLOCK") {
        return Some((name, BLOCKS));
    }
    let (_, parts, harm) = PARTS.iter().find(|(known, ..)| *known == name)?;
    let part = words.iter().find(|word| parts.contains(&word.as_str()))?;
    Some((format!("{name} {part}"), harm))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(line: &str) -> Result<(), String> {
        check(&[CommandSpec::parse(line.split(' '))])
    }

    #[test]
    fn what_harms_a_server_is_refused_and_what_only_reads_is_not() {
        for line in
            ["shutdown", "FAILOVER", "blpop q 0", "config set save 1", "client pause 1", "keys *"]
        {
            let name = line.split(' ').next().unwrap().to_lowercase();
            let why = checked(line).unwrap_err();
            assert!(why.starts_with(&name) && why.contains("add --yes"), "{why}");
        }
        for line in
            ["get k", "config get save", "client list", "info", "xread streams s 0", "sort l"]
        {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
        assert!(checked("xread block 0 streams s 0").is_err());
        let transaction = ["watch k", "multi", "incr k", "exec"];
        let transaction = transaction.map(|line| CommandSpec::parse(line.split(' ')));
        assert_eq!(check(&transaction), Ok(()));
        let why = checked("failover").unwrap_err();
        assert!(
            why.ends_with("keystorm impact --of failover measures what one costs others"),
            "{why}"
        );
    }
}
