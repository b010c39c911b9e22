//! What YCSB's properties are where keystorm advises an option of its own.

use cli::advice::Words;

pub(super) const WORDS: Words = Words {
    phrases: &[
        ("-a, and unset REDISCLI_AUTH if it is set", "redis.password"),
        (
            "-a PASSWORD (and --user NAME for an ACL user) or in the environment variable REDISCLI_AUTH",
            "-p redis.password=PASSWORD",
        ),
        ("-a (or REDISCLI_AUTH) and --user", "redis.password"),
        ("--user and -a", "--ks-user and --ks-a"),
        ("connections (-c)", "connections (-threads)"),
        ("--timeout", "redis.timeout or memcached.opTimeoutMillis"),
        ("remove --protocol", "use the binding redis"),
        ("use --protocol redis", "use the binding redis"),
        ("use --protocol memcache", "use the binding memcached"),
        ("--cluster", "-p redis.cluster=true"),
        ("-h", "redis.host"),
        ("-p", "redis.port"),
    ],
    has: |_| false,
};
