//! Identities of options that messages name, each with its word on keystorm's own command line.

use super::OptionId;

macro_rules! options {
    (@word) => { None };
    (@word $word:literal) => { Some($word) };
    ($($field:ident $(= $word:literal)?,)+) => {
        $(
            #[doc = concat!("`", stringify!($field), "`.")]
            pub const $field: OptionId =
                OptionId { field: stringify!($field), word: options!(@word $($word)?) };
        )+
        /// Every option of these.
        pub const OPTIONS: &[OptionId] = &[$($field),+];
    };
}

// One without a word is written as its field.
options! {
    HOST = "-h", PORT = "-p", SOCKET = "-s", URI = "-u", PASSWORD = "-a", RESP3 = "-3", CONNECTIONS = "-c",
    REQUESTS = "-n", PIPELINE = "-P", RATE = "--rps", KEEP_ALIVE = "-k", JOIN = "--set join",
    CONNECT_SPACING = "--set connect-spacing", REQUESTS_PER_CONNECTION = "--set requests-per-connection",
    RENEW = "--set renew", RECONNECT_WAIT = "--set reconnect-wait", RECONNECT_TRIES = "--set reconnect-tries",
    RECONNECT_TIMEOUT = "--set reconnect-timeout", TESTS = "-t", KEY_RANGE = "-r",
    FIRST_KEY = "--set first-key", UNPADDED = "--set unpadded", KEYS_BY = "--set keys-by",
    ONE_SLOT = "--set one-slot", SIZE = "-d",
    SIZE_BY = "--set size-by", ORDER = "--set order", STDIN_ARG = "-x", ROWS_BY = "--set rows-by",
    ROW_VALUE = "--set row-value", IDLE = "-I", REPEAT = "-l",
    CALLED = "--as", QUIET = "-q", EXIT_ON_ERROR = "-e", REPEATS = "--repeat", SETTINGS = "--set",
    HASH, PROTOCOL, POOL, SOURCE_IP, MPTCP, USER, PASSWORD_COMMAND, DBNUM, ENABLE_TRACKING, NO_TOUCH, CLUSTER, RFR,
    RFR_WITHOUT, RFR_REPLICAS, RFR_CONNECTIONS, RFR_ALSO, PER_NODE, RPS_PER_NODE, REPLICAS, SPAWN, SPAWN_ARGS,
    SPAWN_UNIX, SERVER_CPUS, TLS, SNI, CACERT, CACERTDIR, INSECURE, CERT, CERT_CHAIN, KEY, TLS_CIPHERS,
    TLS_CIPHERSUITES, TLS_GROUPS, TLS_PROTOCOLS, TLS_RESUME, THREADS, CPUS, ENGINE, DURATION, TIME_LIMIT, WARMUP,
    WINDOW, ARRIVALS, SHARD, START_AT, CONNECT, OPEN_FOR, CLOSE, BURST, RECONNECT, TIMEOUT, DEADLINE, RETRY,
    RETRY_WAIT, RETRY_JITTER, RETRY_QUEUE, RETRY_ON, KEY_DIST, SEQUENTIAL, CONTENT, TTL, FILL, FILL_WITH, CLEAN,
    HIT_RATIO, VERIFY, FAIL_ON_MISS, MIX, SEED, WORKLOAD, PHASE, DATASET, XML_ROOT_ELEMENT, MAXDOCS, REPLAY,
    NUM_FUNCTIONS, NUM_KEYS_IN_FCALL, NAME, PRECISION, FIRST_BYTE, ON_ERROR, YES, PER_CONNECTION, ON, PROBE, SLO,
    CLOCK, JSON, HDR, HTML, SVG, KEEP, LIVE, METRICS, RING, RECEIVER_THREADS, WRITERS, DRAIN, GROUPS, WAIT,
    WAITAOF, BETWEEN_CLIENTS, CSV, FORMAT, KERNEL_STAMPS, PRINT_PLAN, PRINT_WORKLOAD, TABLES, CORES,
    FAIL_ON_REGRESSION, METRIC, ERRORS, INCONCLUSIVE, NAME_A, NAME_B,
}

/// Advice that is one phrase in a tool, and maybe another option in the next.
pub mod advice {
    use crate::OptionId;

    macro_rules! phrases {
        ($($name:ident = $words:literal,)+) => {$(
            #[doc = concat!("`", $words, "`.")]
            pub const $name: OptionId = OptionId { field: stringify!($name), word: Some($words) };
        )+};
    }

    phrases! {
        ADDRESS = "-h and -p",
        USER_AND_PASSWORD = "--user and -a",
        LOGIN = "-a (or REDISCLI_AUTH) and --user",
        NEW_PASSWORD = "-a PASSWORD (and --user NAME for an ACL user) or in the environment variable REDISCLI_AUTH",
        STRAY_PASSWORD = "-a, and unset REDISCLI_AUTH if it is set",
        REMOVE_USER = "remove --user",
        ADD_TLS = "add --tls",
        SPEAK_RESP = "remove --protocol",
        MEMCACHE_TEXT = "--protocol memcache",
        MEMCACHE_BINARY = "--protocol memcache-binary",
    }
}
