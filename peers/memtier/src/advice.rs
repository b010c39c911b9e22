//! What memtier_benchmark's options are where keystorm advises one of its own.

use cli::advice::Words;

use super::option_list::{OURS, known};

pub(super) const WORDS: Words = Words {
    phrases: &[
        ("-a, and unset REDISCLI_AUTH if it is set", "--authenticate"),
        (
            "-a PASSWORD (and --user NAME for an ACL user) or in the environment variable REDISCLI_AUTH",
            "--authenticate, as PASSWORD or USER:PASSWORD",
        ),
        ("-a (or REDISCLI_AUTH) and --user", "--authenticate"),
        ("--user and -a", "--authenticate"),
        ("remove --user", "leave out the user of --authenticate"),
        ("remove --protocol", "use --protocol redis"),
        ("--protocol memcache-binary", "--protocol memcache_binary"),
        ("--protocol memcache", "--protocol memcache_text"),
        ("connections (-c)", "connections (--threads times --clients)"),
        ("--dbnum", "--select-db"),
        ("--cluster", "--cluster-mode"),
        ("-h", "--host"),
        ("-p", "--port"),
    ],
    has: |option| {
        let name = option.trim_start_matches('-');
        known().chain(OURS).any(|known| known.name == name)
    },
};
