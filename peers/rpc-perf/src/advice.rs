//! Where rpc-perf's files say what keystorm has an option for.

use cli::advice::Words;

pub(super) const WORDS: Words = Words {
    phrases: &[
        ("-a, and unset REDISCLI_AUTH if it is set", "the password from [target] endpoints"),
        (
            "-a PASSWORD (and --user NAME for an ACL user) or in the environment variable REDISCLI_AUTH",
            "redis://USER:PASSWORD@HOST:PORT in [target] endpoints",
        ),
        ("-a (or REDISCLI_AUTH) and --user", "[target] endpoints"),
        ("remove --protocol", "use protocol = \"resp\""),
        ("use --protocol memcache", "use protocol = \"memcache\""),
        ("add --tls", "use rediss:// in [target] endpoints, or [tls]"),
        ("connections (-c)", "connections ([client] poolsize)"),
        ("--timeout", "[client] request_timeout"),
        ("-h and -p", "[target] endpoints"),
        ("-h", "[target] endpoints"),
    ],
    has: |_| false,
};
