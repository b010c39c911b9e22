//! Commands that stop, empty, change or hold up a server. They need `--yes`, except on a server that is started for
//! the run: a wrong guess such as `keystorm shutdown` would send 100,000 of them.
//!
//! The lists here are checked before a server is reached. Commands that they lack, such as those of modules, are
//! judged by the flags in the server's own description, if it has one.

use naming::{Text, YES, text};
use workload::CommandSpec;

/// Commands that are harmful with any arguments, each with its harm.
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
const PARTS: [(&str, &[&str], &str); 7] = [
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
];

/// Commands that block with this word only.
const MAY_BLOCK: [&str; 2] = ["XREAD", "XREADGROUP"];
const BLOCK: &str = "BLOCK";
/// Commands that have their place among others: WATCH before a transaction, the others behind a write.
const AMONG_OTHERS: [&str; 3] = ["WAIT", "WAITAOF", WATCH];
const WATCH: &str = "WATCH";

/// Commands that are flagged as dangerous, because they are slow or tell much, and do no harm.
const HARMLESS: [&str; 5] = ["INFO", "LASTSAVE", "RESTORE", "ROLE", "SORT"];
/// Subcommands, of modules too, that only look at what they are about.
const LOOKING: [&str; 19] = [
    "CAT",
    "COUNT-FAILURE-REPORTS",
    "DOCTOR",
    "DRYRUN",
    "GET",
    "GETUSER",
    "GRAPH",
    "HELP",
    "HISTOGRAM",
    "HISTORY",
    "INFO",
    "LATEST",
    "LEN",
    "LIST",
    "LOG",
    "REPLICAS",
    "SLAVES",
    "USERS",
    "WHOAMI",
];

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
pub(crate) fn check(commands: &[CommandSpec]) -> Result<(), Text> {
    let Some((name, harm)) = commands.iter().find_map(harm) else { return Ok(()) };
    if commands.len() > 1 && AMONG_OTHERS.contains(&name.as_str()) {
        return Ok(());
    }
    Err(refusal(&name, harm))
}

/// Refuses a command of several, or the only one, that is harmful by the flags and categories which its server `has`
/// for it.
///
/// # Errors
/// Returns an error if the command is harmful.
pub fn check_described(
    command: &CommandSpec,
    is_alone: bool,
    has: impl Fn(&str) -> bool,
) -> Result<(), Text> {
    let name = command.name();
    let words = fixed_words(command);
    let blocks = has("blocking")
        && (is_alone || !AMONG_OTHERS.contains(&name.as_str()))
        && (!MAY_BLOCK.contains(&name.as_str()) || words.iter().any(|word| word == BLOCK));
    let looks = HARMLESS.contains(&name.as_str())
        || words.first().is_some_and(|word| LOOKING.contains(&word.as_str()));
    let flag = ["admin", "dangerous"].into_iter().find(|flag| has(flag));
    match flag {
        _ if blocks => Err(refusal(&name, BLOCKS)),
        Some(flag) if !looks && !has("readonly") => {
            Err(refusal(&name, &format!("the server flags it as {flag}")))
        }
        _ => Ok(()),
    }
}

fn refusal(name: &str, harm: &str) -> Text {
    let lower = name.to_lowercase();
    let instead = if ACTS.contains(&&*lower) {
        format!("; keystorm impact --of {lower} measures what one costs others")
    } else if LOOKS.contains(&&*lower) {
        "; keystorm record records what clients send, and keystorm doctor looks at the server"
            .to_owned()
    } else {
        String::new()
    };
    text!(
        "{lower} is a command of the server, not of keystorm, and {harm}: add {YES} to send it again and \
         again{instead}"
    )
}

/// The words behind a command's name that are the same in each request, in upper case.
fn fixed_words(command: &CommandSpec) -> Vec<String> {
    let words = command.args.iter().skip(1).filter_map(workload::Arg::fixed_bytes);
    words.map(|word| String::from_utf8_lossy(&word).to_uppercase()).collect()
}

/// Name and harm of a command, if it is harmful.
fn harm(command: &CommandSpec) -> Option<(String, &'static str)> {
    let name = command.name();
    if let Some((_, harm)) = WHOLE.iter().find(|(known, _)| *known == name) {
        return Some((name, harm));
    }
    let words = fixed_words(command);
    if MAY_BLOCK.contains(&name.as_str()) && words.iter().any(|word| word == BLOCK) {
        return Some((name, BLOCKS));
    }
    let (_, parts, harm) = PARTS.iter().find(|(known, ..)| *known == name)?;
    let part = words.iter().find(|word| parts.contains(&word.as_str()))?;
    Some((format!("{name} {part}"), harm))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(line: &str) -> Result<(), Text> {
        check(&[CommandSpec::parse(line.split(' '))])
    }

    #[test]
    fn what_harms_a_server_is_refused_and_what_only_reads_is_not() {
        for line in
            ["shutdown", "FAILOVER", "blpop q 0", "config set save 1", "client pause 1", "keys *"]
        {
            let name = line.split(' ').next().unwrap().to_lowercase();
            let why = checked(line).unwrap_err().to_string();
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
        let why = checked("xreadgroup group g c block 0 streams s >").unwrap_err().to_string();
        assert!(why.starts_with("xreadgroup is a command"), "{why}");
        let why = checked("failover").unwrap_err().to_string();
        assert!(
            why.ends_with("keystorm impact --of failover measures what one costs others"),
            "{why}"
        );
    }

    #[test]
    fn flags_of_a_server_decide_on_what_no_list_has() {
        let described = |line: &str, is_alone, flags: &str| {
            let command = CommandSpec::parse(line.split(' '));
            check_described(&command, is_alone, |flag| flags.split(' ').any(|word| word == flag))
        };
        let why =
            described("ft.dropindex i", true, "write slow dangerous").unwrap_err().to_string();
        assert!(why.starts_with("ft.dropindex is a command of the server, "), "{why}");
        assert!(why.contains(" and the server flags it as dangerous: add --yes "), "{why}");
        for (line, flags) in [
            ("slowlog reset", "admin loading"),
            ("pfselftest", "admin slow dangerous"),
            ("tair.pop q 0", "write blocking"),
            ("wait 1 0", "blocking connection"),
            ("xread block 0 streams s 0", "readonly blocking"),
        ] {
            assert!(described(line, true, flags).is_err(), "{line}");
        }
        for (line, flags) in [
            ("get k", "readonly fast"),
            ("sort l", "write slow dangerous"),
            ("sort_ro l", "readonly slow dangerous"),
            ("info", "loading slow dangerous"),
            ("config get save", "admin slow dangerous"),
            ("ft.config get TIMEOUT", "admin"),
            ("xread streams s 0", "readonly blocking"),
        ] {
            assert_eq!(described(line, true, flags), Ok(()), "{line}");
        }
        assert_eq!(described("wait 1 100", false, "blocking connection"), Ok(()));
        assert!(described("blpop q 1", false, "blocking").is_err());
    }
}
