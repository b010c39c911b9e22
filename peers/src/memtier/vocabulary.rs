//! memtier_benchmark's options in place of keystorm's in messages.

use std::borrow::Cow;

use naming::advice::{
    ADD_TLS, ADDRESS, LOGIN, MEMCACHE_BINARY, MEMCACHE_TEXT, NEW_PASSWORD, REMOVE_USER, SPEAK_RESP,
    STRAY_PASSWORD, USER_AND_PASSWORD,
};
use naming::{
    CLUSTER, CONNECTIONS, DBNUM, DURATION, HOST, KEY_RANGE, OptionId, PASSWORD, PIPELINE, PORT,
    RATE, REQUESTS, SIZE, SOCKET, URI, VERIFY,
};

use super::option_list::{known, ours};

/// The option, or what is done with it, where there is one.
pub(super) fn word(option: OptionId) -> Option<Cow<'static, str>> {
    let word = match option {
        STRAY_PASSWORD | LOGIN | USER_AND_PASSWORD | PASSWORD => "--authenticate",
        NEW_PASSWORD => "--authenticate, as PASSWORD or USER:PASSWORD",
        REMOVE_USER => "leave out the user of --authenticate",
        SPEAK_RESP => "use --protocol redis",
        ADD_TLS => "add --tls",
        MEMCACHE_BINARY => "--protocol memcache_binary",
        MEMCACHE_TEXT => "--protocol memcache_text",
        CONNECTIONS => "--threads times --clients",
        REQUESTS => "--requests",
        DURATION => "--test-time",
        RATE => "--rate-limiting",
        PIPELINE => "--pipeline",
        SIZE => "--data-size",
        KEY_RANGE => "--key-maximum",
        VERIFY => "--data-verify",
        DBNUM => "--select-db",
        CLUSTER => "--cluster-mode",
        ADDRESS => "--host and --port",
        HOST => "--host",
        PORT => "--port",
        SOCKET => "--unix-socket",
        URI => "--uri",
        other => {
            let word = other.word();
            let is_its_own = |name: &str| known().chain(ours()).any(|known| known.name == name);
            return word.strip_prefix("--").is_some_and(is_its_own).then_some(word);
        }
    };
    Some(word.into())
}
