//! Settings of rpc-perf's files in place of keystorm's options in messages.

use std::borrow::Cow;

use naming::OptionId;
use naming::advice::{
    ADD_TLS, ADDRESS, LOGIN, MEMCACHE_TEXT, NEW_PASSWORD, SPEAK_RESP, STRAY_PASSWORD,
};
use naming::{CONNECTIONS, DURATION, HOST, PIPELINE, PORT, THREADS, TIMEOUT};

/// The location in a file, and the text there, if there is one.
pub(super) fn word(option: OptionId) -> Option<Cow<'static, str>> {
    let word = match option {
        STRAY_PASSWORD => "the password from [target] endpoints",
        NEW_PASSWORD => "redis://USER:PASSWORD@HOST:PORT in [target] endpoints",
        LOGIN | ADDRESS | HOST | PORT => "[target] endpoints",
        SPEAK_RESP => "use protocol = \"resp\"",
        MEMCACHE_TEXT => "protocol = \"memcache\"",
        ADD_TLS => "use rediss:// in [target] endpoints, or [tls]",
        CONNECTIONS => "[client] poolsize",
        PIPELINE => "[client] concurrency",
        THREADS => "[client] threads",
        TIMEOUT => "[client] request_timeout",
        DURATION => "[general] duration",
        _ => return None,
    };
    Some(word.into())
}
