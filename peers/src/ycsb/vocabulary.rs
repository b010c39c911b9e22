//! YCSB's properties in place of keystorm's options in messages.

use std::borrow::Cow;

use naming::advice::{
    ADDRESS, LOGIN, MEMCACHE_TEXT, NEW_PASSWORD, SPEAK_RESP, STRAY_PASSWORD, USER_AND_PASSWORD,
};
use naming::{
    CLUSTER, CONNECTIONS, DURATION, HOST, KEY_RANGE, OptionId, PASSWORD, PORT, RATE, REQUESTS,
    SIZE, TIME_LIMIT, TIMEOUT,
};

/// The property, or what is done with it, where there is one.
pub(super) fn word(option: OptionId) -> Option<Cow<'static, str>> {
    let word = match option {
        STRAY_PASSWORD | LOGIN | PASSWORD => "redis.password",
        NEW_PASSWORD => "-p redis.password=PASSWORD",
        USER_AND_PASSWORD => "--ks-user and --ks-a",
        SPEAK_RESP => "use the binding redis",
        MEMCACHE_TEXT => "the binding memcached",
        CLUSTER => "-p redis.cluster=true",
        ADDRESS => "redis.host and redis.port",
        HOST => "redis.host",
        PORT => "redis.port",
        CONNECTIONS => "-threads",
        RATE => "-target",
        REQUESTS => "operationcount",
        DURATION | TIME_LIMIT => "maxexecutiontime",
        KEY_RANGE => "recordcount",
        SIZE => "fieldlength",
        TIMEOUT => "redis.timeout or memcached.opTimeoutMillis",
        _ => return None,
    };
    Some(word.into())
}
