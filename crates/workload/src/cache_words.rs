//! Commands that every cache has, in any protocol: get a key, get several, or store one.
//!
//! Owns their form in each protocol, so that servers of different protocols get the same load. Commands are
//! read in Redis's words, with any placeholders; a command without an equivalent everywhere is refused by
//! name. Servers are compared by `get`, `mget` and `set` alone, which leave the same data as before.

use crate::{Arg, CommandSpec, Data, Piece, PlanParts, ProtocolKind, Slot, Target};

/// Command of a cache, in no protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheCommand {
    /// The value of a key.
    Get(Arg),
    /// The values of several.
    MultiGet(Vec<Arg>),
    /// Stores a value unconditionally or on a condition.
    Set {
        /// Key of the value.
        key: Arg,
        /// Value to store.
        value: Arg,
        /// Lifetime in seconds; `None` for ever.
        lifetime: Option<Arg>,
        /// Condition for storing it.
        when: StoreCondition,
    },
    /// Removes a key.
    Delete(Arg),
    /// Sets the remaining lifetime of an existing key, in seconds.
    Touch {
        /// The key.
        key: Arg,
        /// The seconds.
        lifetime: Arg,
    },
}

/// Condition for storing a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreCondition {
    /// No condition.
    Always,
    /// The key does not exist.
    IfAbsent,
    /// The key exists.
    IfPresent,
}

/// Lifetimes above this are absolute times to memcached.
pub const LIFETIME_MAX_S: u64 = 30 * 86_400;

impl CacheCommand {
    /// Parses a command for comparing servers, in Redis's words.
    ///
    /// # Errors
    /// Returns an error in words for a person if it is another command.
    pub fn read(command: &CommandSpec) -> Result<Self, String> {
        match Self::known(command)? {
            Some(
                known @ (Self::Get(_)
                | Self::MultiGet(_)
                | Self::Set { when: StoreCondition::Always, .. }),
            ) => Ok(known),
            _ => Err(format!(
                "{} does not exist in every protocol; to compare servers of different protocols, \
                 use get KEY, mget KEY KEY..., and set KEY VALUE or set KEY VALUE ex SECONDS",
                named(command)
            )),
        }
    }

    /// Parses a command of caches, in Redis's words.
    ///
    /// # Errors
    /// Returns an error in words for a person if it is another command.
    pub fn of_cache(command: &CommandSpec) -> Result<Self, String> {
        Self::known(command)?
            .ok_or_else(|| format!("{}: memcached has no such command", named(command)))
    }

    /// Parses a known command; `None` for any other.
    fn known(command: &CommandSpec) -> Result<Option<Self>, String> {
        let (name, args) = (command.name(), command.args.get(1..).unwrap_or_default());
        Ok(match (name.as_str(), args) {
            ("GET", [key]) => Some(Self::Get(key.clone())),
            ("MGET", [_, ..]) => Some(Self::MultiGet(args.to_vec())),
            ("SET", [key, value, options @ ..]) => Self::set(key, value, options)?,
            ("DEL", [key]) => Some(Self::Delete(key.clone())),
            ("EXPIRE", [key, seconds]) => {
                Some(Self::Touch { key: key.clone(), lifetime: within_limit(seconds)? })
            }
            _ => None,
        })
    }

    fn set(key: &Arg, value: &Arg, options: &[Arg]) -> Result<Option<Self>, String> {
        let (mut lifetime, mut when) = (None, StoreCondition::Always);
        let mut options = options.iter();
        while let Some(option) = options.next() {
            if is_word(option, "NX") {
                when = StoreCondition::IfAbsent;
            } else if is_word(option, "XX") {
                when = StoreCondition::IfPresent;
            } else if let (true, Some(seconds)) = (is_word(option, "EX"), options.next()) {
                lifetime = Some(within_limit(seconds)?);
            } else {
                return Ok(None);
            }
        }
        Ok(Some(Self::Set { key: key.clone(), value: value.clone(), lifetime, when }))
    }

    /// Converts the command to a protocol.
    ///
    /// # Errors
    /// Returns an error if the protocol has no equivalent.
    pub fn in_protocol(&self, protocol: ProtocolKind) -> Result<CommandSpec, String> {
        use ProtocolKind::{MemcacheBinary, MemcacheMeta, MemcacheText, Resp2, Resp3};
        let word = |word: &str| Arg::literal(word.as_bytes());
        let args = match (self, protocol) {
            (Self::Get(key), Resp2 | Resp3) => vec![word("GET"), key.clone()],
            (Self::Get(key), MemcacheText | MemcacheBinary) => vec![word("get"), key.clone()],
            (Self::Get(key), MemcacheMeta) => vec![word("mg"), key.clone(), word("v")],
            (Self::MultiGet(keys), Resp2 | Resp3) => with(word("MGET"), keys),
            // Of the meta commands none takes several keys.
            (Self::MultiGet(keys), MemcacheText | MemcacheMeta) => with(word("get"), keys),
            (Self::MultiGet(_), MemcacheBinary) => {
                return Err(
                    "in memcached's binary protocol, get takes one key; remove mget, or use \
                     --protocol memcache or memcache-meta"
                        .to_owned(),
                );
            }
            (Self::Set { key, value, lifetime, when }, Resp2 | Resp3) => {
                let mut args = vec![word("SET"), key.clone(), value.clone()];
                args.extend(when.pick([None, Some("NX"), Some("XX")]).map(word));
                args.extend(lifetime.iter().flat_map(|seconds| [word("EX"), seconds.clone()]));
                args
            }
            (Self::Set { key, value, lifetime, when }, MemcacheText | MemcacheBinary) => {
                let seconds = lifetime.clone().unwrap_or_else(|| word("0"));
                let name = word(when.pick(["set", "add", "replace"]));
                vec![name, key.clone(), word("0"), seconds, value.clone()]
            }
            (Self::Set { key, value, lifetime, when }, MemcacheMeta) => {
                let mut args = vec![word("ms"), key.clone()];
                args.extend(when.pick([None, Some("ME"), Some("MR")]).map(word));
                args.extend(lifetime.iter().map(lifetime_flag));
                args.push(value.clone());
                args
            }
            (Self::Delete(key), protocol) => {
                let name = match protocol {
                    Resp2 | Resp3 => "DEL",
                    MemcacheText | MemcacheBinary => "delete",
                    MemcacheMeta => "md",
                };
                vec![word(name), key.clone()]
            }
            (Self::Touch { key, lifetime }, Resp2 | Resp3) => {
                vec![word("EXPIRE"), key.clone(), lifetime.clone()]
            }
            (Self::Touch { key, lifetime }, MemcacheText | MemcacheBinary) => {
                vec![word("touch"), key.clone(), lifetime.clone()]
            }
            (Self::Touch { key, lifetime }, MemcacheMeta) => {
                vec![word("mg"), key.clone(), lifetime_flag(lifetime)]
            }
        };
        Ok(CommandSpec { args, inline: false })
    }

    /// Keys of the command.
    pub fn keys(&self) -> &[Arg] {
        match self {
            Self::Get(key)
            | Self::Set { key, .. }
            | Self::Delete(key)
            | Self::Touch { key, .. } => std::slice::from_ref(key),
            Self::MultiGet(keys) => keys,
        }
    }

    /// The command with a prefix before each key.
    pub fn prefixed(&self, prefix: &str) -> Self {
        let key = |key: &Arg| {
            let mut with = Arg::literal(prefix.as_bytes());
            with.pieces.extend(key.pieces.clone());
            with
        };
        match self {
            Self::Get(own) => Self::Get(key(own)),
            Self::MultiGet(keys) => Self::MultiGet(keys.iter().map(key).collect()),
            Self::Set { key: own, value, lifetime, when } => Self::Set {
                key: key(own),
                value: value.clone(),
                lifetime: lifetime.clone(),
                when: *when,
            },
            Self::Delete(own) => Self::Delete(key(own)),
            Self::Touch { key: own, lifetime } => {
                Self::Touch { key: key(own), lifetime: lifetime.clone() }
            }
        }
    }
}

impl StoreCondition {
    /// Picks one of three: for always, if absent, if present.
    fn pick<T>(self, [always, absent, present]: [T; 3]) -> T {
        match self {
            Self::Always => always,
            Self::IfAbsent => absent,
            Self::IfPresent => present,
        }
    }
}

/// Name of a command in errors.
fn named(command: &CommandSpec) -> String {
    Some(command.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| "a command".to_owned())
}

/// Flag of meta commands with an item's lifetime.
fn lifetime_flag(seconds: &Arg) -> Arg {
    let mut flag = Arg::literal(b"T");
    flag.pieces.extend(seconds.pieces.clone());
    flag
}

fn with(first: Arg, others: &[Arg]) -> Vec<Arg> {
    std::iter::once(first).chain(others.iter().cloned()).collect()
}

fn is_word(arg: &Arg, word: &str) -> bool {
    arg.fixed_bytes().is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
}

/// Checks a lifetime for a limit within which it means the same everywhere.
fn within_limit(seconds: &Arg) -> Result<Arg, String> {
    let most = match &seconds.pieces[..] {
        [Piece::Lifetime(lifetime)] => Some(lifetime.most_s),
        _ => seconds.fixed_bytes().and_then(|text| String::from_utf8(text).ok()?.parse().ok()),
    };
    match most {
        Some(1..=LIFETIME_MAX_S) => Ok(seconds.clone()),
        _ => Err("use a lifetime of 1 second to 30 days; memcached takes more as an absolute time"
            .to_owned()),
    }
}

impl PlanParts {
    /// Converts the load to another protocol. Before it runs, every key that it names is stored with `value`.
    ///
    /// # Errors
    /// Returns an error if one of its commands has no equivalent everywhere, or in that protocol.
    pub fn in_protocol(
        &self,
        protocol: ProtocolKind,
        target: Target,
        value: &Arg,
    ) -> Result<Self, String> {
        let commands: Vec<CacheCommand> =
            self.sequence.iter().map(CacheCommand::read).collect::<Result<_, _>>()?;
        let describe = |commands: &[CacheCommand]| -> Result<Vec<CommandSpec>, String> {
            commands.iter().map(|command| command.in_protocol(protocol)).collect()
        };
        let mut stored: Vec<CacheCommand> = Vec::new();
        for key in commands.iter().flat_map(CacheCommand::keys) {
            // Keys of one form differ in their numbers only, and each number is stored.
            let key = Arg { pieces: key.pieces.iter().map(of_its_form).collect() };
            let when = StoreCondition::Always;
            let set = CacheCommand::Set { key, value: value.clone(), lifetime: None, when };
            if !stored.contains(&set) {
                stored.push(set);
            }
        }
        Ok(Self {
            protocol,
            target,
            sequence: describe(&commands)?,
            setup: Vec::new(),
            data: Data { fill: Some(describe(&stored)?), ..self.data.clone() },
            ..self.clone()
        })
    }

    /// Number of keys per request, if each asks for several.
    pub fn keys_per_request(&self) -> Option<f64> {
        let command = if self.protocol.is_memcache() { "GET" } else { "MGET" };
        let keys = |asked: &CommandSpec| {
            let keys = asked.args.len().checked_sub(1)?;
            (asked.name() == command && keys > 1).then_some(keys)
        };
        let all: Option<Vec<usize>> = self.sequence.iter().map(keys).collect();
        let all = all.filter(|all| !all.is_empty() && self.mix.is_none())?;
        Some(all.iter().sum::<usize>() as f64 / all.len() as f64)
    }
}

fn of_its_form(piece: &Piece) -> Piece {
    match piece {
        Piece::Number(_) => Piece::Number(Slot::Key),
        piece => piece.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::parts;

    const ALL: [ProtocolKind; 4] = [
        ProtocolKind::Resp2,
        ProtocolKind::MemcacheText,
        ProtocolKind::MemcacheMeta,
        ProtocolKind::MemcacheBinary,
    ];

    fn in_protocols(line: &str) -> Vec<Result<String, String>> {
        let command = CommandSpec::parse(line.split(' '));
        let shown = |command: CommandSpec| {
            let texts = command.args.iter().map(|arg| {
                let pieces = arg.pieces.iter().map(|piece| match piece {
                    Piece::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                    Piece::Number(_) => "N".to_owned(),
                    other => format!("{other:?}"),
                });
                pieces.collect::<String>()
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        let read = CacheCommand::of_cache(&command).unwrap();
        ALL.iter().map(|protocol| read.in_protocol(*protocol).map(shown)).collect()
    }

    #[test]
    fn each_protocol_has_its_own_words_for_the_same() {
        let of = |words: [&str; 4]| words.map(|w| Ok(w.to_owned())).to_vec();
        assert_eq!(
            in_protocols("get k:__rand_int__"),
            of(["GET k:N", "get k:N", "mg k:N v", "get k:N"])
        );
        assert_eq!(
            in_protocols("set k v"),
            of(["SET k v", "set k 0 0 v", "ms k v", "set k 0 0 v"])
        );
        assert_eq!(
            in_protocols("SET k v ex 60"),
            of(["SET k v EX 60", "set k 0 60 v", "ms k T60 v", "set k 0 60 v"])
        );
        assert_eq!(
            in_protocols("set k v nx ex 60"),
            of(["SET k v NX EX 60", "add k 0 60 v", "ms k ME T60 v", "add k 0 60 v"])
        );
        assert_eq!(
            in_protocols("set k v XX"),
            of(["SET k v XX", "replace k 0 0 v", "ms k MR v", "replace k 0 0 v"])
        );
        assert_eq!(in_protocols("del k"), of(["DEL k", "delete k", "md k", "delete k"]));
        assert_eq!(
            in_protocols("expire k 60"),
            of(["EXPIRE k 60", "touch k 60", "mg k T60", "touch k 60"])
        );
        let several = in_protocols("mget a b");
        assert_eq!(several[..3], of(["MGET a b", "get a b", "get a b", ""])[..3]);
        assert!(several[3].as_ref().unwrap_err().contains("one key"));
    }

    #[test]
    fn what_means_something_else_elsewhere_is_refused() {
        for line in
            ["lpush k v", "incr k", "set k v nx", "set k v ex 2592001", "set k v ex 0", "get"]
        {
            let command = CommandSpec::parse(line.split(' '));
            assert!(CacheCommand::read(&command).is_err(), "{line}");
        }
        let del = CommandSpec::parse(["del", "k"]);
        assert!(CacheCommand::read(&del).is_err(), "nothing is there to be compared afterwards");
        for line in ["lpush k v", "set k v keepttl", "set k v ex", "hgetall k", "del a b"] {
            let command = CommandSpec::parse(line.split(' '));
            assert!(CacheCommand::of_cache(&command).is_err(), "{line}");
        }
    }

    #[test]
    fn a_plan_differs_in_its_words_only_and_stores_each_form_of_key_once() {
        let mut parts = parts();
        parts.sequence = vec![
            CommandSpec::parse(["get", "a:__rand_int__"]),
            CommandSpec::parse(["mget", "a:__key__", "b:__rand_1st__"]),
        ];
        let value = Arg::literal(b"v");
        let of = |protocol| parts.in_protocol(protocol, Target::default(), &value).unwrap();
        let [a, b] = [of(ProtocolKind::Resp2), of(ProtocolKind::MemcacheText)];
        assert_eq!(a.data.fill.as_ref().unwrap().len(), 2);
        assert_eq!(b.data.fill.as_ref().unwrap()[0].args.len(), 5);
        assert_eq!(
            (a.load.concurrency, a.data.keys, a.load.seed),
            (b.load.concurrency, b.data.keys, b.load.seed)
        );
        assert_eq!(parts.keys_per_request(), None, "one of its commands asks for one key");
        parts.sequence.remove(0);
        assert_eq!(parts.keys_per_request(), Some(2.0));
    }

    #[test]
    fn a_prefix_stands_before_each_key() {
        let command = CommandSpec::parse(["mget", "a", "b"]);
        let prefixed = CacheCommand::read(&command).unwrap().prefixed("s1:");
        let keys: Vec<_> = prefixed.keys().iter().filter_map(Arg::fixed_bytes).collect();
        assert_eq!(keys, [b"s1:a".to_vec(), b"s1:b".to_vec()]);
    }
}
