//! Figures of a text of `INFO`. Owns the servers' names for them; [`super::server_use`] compares two texts.

use std::collections::BTreeMap;

/// The fields of a text of `INFO`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Info(BTreeMap<String, String>);

/// Calls of a command, and the server's time in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) calls: u64,
    pub(super) usec: u64,
}

impl FromIterator<(String, String)> for Info {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl Info {
    pub(super) fn parse(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| line.trim().split_once(':'));
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Returns these figures, and those of an earlier look where these lack them.
    pub(super) fn or(self, earlier: &Self) -> Self {
        Self(earlier.0.clone().into_iter().chain(self.0).collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Returns whether the server is a replica.
    pub(super) fn replica(&self) -> Option<bool> {
        self.text("role").map(|role| role == "slave" || role == "replica")
    }

    /// A number for which `-1` may mean that there is none.
    pub(super) fn signed(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    fn seconds(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|seconds: &f64| seconds.is_finite())
    }

    /// CPU seconds of the thread that executes commands: Redis 6.2 and later, and Valkey.
    pub(super) fn cpu_main_s(&self) -> Option<f64> {
        let [sys, user] = ["used_cpu_sys_main_thread", "used_cpu_user_main_thread"];
        Some(self.seconds(sys)? + self.seconds(user)?)
    }

    /// CPU seconds of the process, without its children.
    pub(super) fn cpu_process_s(&self) -> Option<f64> {
        Some(self.seconds("used_cpu_sys")? + self.seconds("used_cpu_user")?)
    }

    /// Seconds in which the main thread had work, on servers that distinguish work from polling: Valkey 9.1
    /// and later.
    pub(super) fn active_main_s(&self) -> Option<f64> {
        self.seconds("used_active_time_main_thread")
    }

    /// Seconds of activity of each I/O thread, by name.
    pub(super) fn active_io_s(&self) -> BTreeMap<&str, f64> {
        let named = self.0.keys().filter_map(|name| {
            name.strip_prefix("used_active_time_io_thread_").zip(self.seconds(name))
        });
        named.into_iter().collect()
    }

    /// Returns whether the server is Valkey, which reports its own version beside that of Redis.
    pub(super) fn is_valkey(&self) -> bool {
        self.text("valkey_version").is_some() || self.text("server_name") == Some("valkey")
    }

    /// Returns whether the server is memcached, whose first thread only accepts connections.
    pub(super) fn is_memcached(&self) -> bool {
        self.text("memcached_version").is_some()
    }

    /// Major version of Redis that it is, or is compatible with.
    pub(super) fn major(&self) -> Option<u64> {
        self.text("redis_version")?.split('.').next()?.parse().ok()
    }

    /// Returns whether a save of the data set is under way.
    pub(super) fn saving(&self) -> bool {
        self.number("rdb_bgsave_in_progress") == Some(1)
    }

    /// Returns whether the append-only file is being rewritten.
    pub(super) fn rewriting(&self) -> bool {
        self.number("aof_rewrite_in_progress") == Some(1)
    }

    /// Calls by command, in lower case as `commandstats` has them (`get`, `config|get`).
    pub(super) fn commands(&self) -> BTreeMap<String, Calls> {
        let numbers = self.0.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("cmdstat_")?.to_lowercase();
            let field = |wanted: &str| {
                let mut fields = value.split(',').filter_map(|field| field.split_once('='));
                fields.find(|(name, _)| *name == wanted)?.1.parse().ok()
            };
            Some((name, Calls { calls: field("calls")?, usec: field("usec")? }))
        });
        numbers.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_kind_are_read() {
        let info = Info::parse(
            "# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2.25\r\n\r\n# Commandstats\r\n\
             cmdstat_config|get:calls=2,usec=36,usec_per_call=18.00,rejected_calls=0\r\n\
             cmdstat_JSON.SET:calls=7,usec=9,usec_per_call=1.28\r\n\
             rdb_current_bgsave_time_sec:-1\r\n",
        );
        assert_eq!(info.cpu_process_s(), Some(3.75));
        assert_eq!(info.cpu_main_s(), None);
        assert_eq!(info.signed("rdb_current_bgsave_time_sec"), Some(-1));
        let commands = info.commands();
        assert_eq!(commands["config|get"], Calls { calls: 2, usec: 36 });
        assert_eq!(commands["json.set"].calls, 7);
    }

    #[test]
    fn nonsense_is_no_figure() {
        let info = Info::parse("used_cpu_sys:inf\r\nused_cpu_user:1\r\ncmdstat_get:calls=x,usec=1");
        assert_eq!(info.cpu_process_s(), None);
        assert!(info.commands().is_empty());
        assert_eq!(info.number("absent"), None);
    }
}
