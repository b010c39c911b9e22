//! The tests of `redis-benchmark` and `valkey-benchmark` as data.
//!
//! Owns their names, order, titles and commands. The front end decides which run.

use crate::{Arg, CommandSpec, Piece};

/// Parameters of the suite's commands.
#[derive(Debug, Clone, Copy)]
pub struct SuiteShape {
    /// Bytes of every value.
    pub value_len: u32,
    /// Bytes of the payload stream already used; advances by one value for each run of the suite.
    pub value_skip: u64,
    /// Set if `-r` was given; `ZADD` then draws its scores, too.
    pub randomised: bool,
    /// Functions in the library that `FUNCTION LOAD` loads.
    pub functions: u32,
    /// Keys that `FCALL` passes.
    pub fcall_keys: u32,
    /// Set if `ZADD` names its member `element:__rand_int__`, as `redis-benchmark` does, instead of
    /// `element:__rand_1st__`, as `valkey-benchmark` does.
    pub redis_zadd: bool,
    /// Set if keys get a `{tag}`, which spreads them over the slots of a cluster.
    pub cluster: bool,
}

/// Maximum number of functions that `FUNCTION LOAD` loads: a script of about a megabyte.
pub const FUNCTIONS_MAX: u32 = 10_000;
/// Name of that library.
pub const LIBRARY: &str = "benchlib";
/// Maximum number of keys that `FCALL` passes: servers take no command of more than 1,048,576 words.
pub const FCALL_KEYS_MAX: u32 = 1_000_000;

/// Tools with a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `redis-benchmark` since 7.0 at the latest, and `valkey-benchmark`.
    Redis,
    /// `redis-benchmark` after 7.0, and `valkey-benchmark`.
    RedisAfter70,
    /// `valkey-benchmark`.
    Valkey,
}

/// Test of the suite.
#[derive(Debug, Clone, Copy)]
pub struct SuiteTest {
    /// Names in `-t`.
    pub names: &'static [&'static str],
    /// The title that reports print.
    pub title: &'static str,
    /// Set if it runs when no `-t` is given.
    pub by_default: bool,
    /// Tools with this test.
    pub origin: Origin,
    command: fn(&SuiteShape) -> CommandSpec,
    setup: Option<fn(&SuiteShape) -> CommandSpec>,
}

impl SuiteTest {
    /// The command that the test repeats.
    pub fn command(&self, shape: &SuiteShape) -> CommandSpec {
        let command = (self.command)(shape);
        if shape.cluster { tagged(command) } else { command }
    }

    /// Number of different tags of its key in cluster mode, in a run of `requests` requests; `None` for one
    /// of every slot. Each list that LRANGE reads has as many elements as it reads, so there are as many
    /// lists as that many `LPUSH`es fill.
    pub fn tags(&self, requests: Option<u64>) -> Option<u16> {
        /// Elements that the longest LRANGE reads.
        const ELEMENTS: u64 = 600;
        /// Maximum number of lists: enough to give each of many primaries some.
        const LISTS_MAX: u64 = 256;
        /// Number of lists for a run by time, which fills few.
        const LISTS: u64 = 16;
        let is_lrange = self.names.iter().any(|name| name.starts_with("lrange"));
        let lists = requests.map_or(LISTS, |requests| requests / ELEMENTS);
        is_lrange.then_some(lists.clamp(1, LISTS_MAX) as u16)
    }

    /// The command to send once before it, if any.
    pub fn setup(&self, shape: &SuiteShape) -> Option<CommandSpec> {
        self.setup.map(|setup| setup(shape))
    }
}

const fn test(
    names: &'static [&'static str],
    title: &'static str,
    command: fn(&SuiteShape) -> CommandSpec,
) -> SuiteTest {
    SuiteTest { names, title, by_default: true, origin: Origin::Redis, command, setup: None }
}

const fn valkey(
    names: &'static [&'static str],
    title: &'static str,
    command: fn(&SuiteShape) -> CommandSpec,
    setup: Option<fn(&SuiteShape) -> CommandSpec>,
) -> SuiteTest {
    SuiteTest { names, title, by_default: true, origin: Origin::Valkey, command, setup }
}

const LRANGE_ALL: &[&str] =
    &["lrange", "lrange_100", "lrange_300", "lrange_450", "lrange_500", "lrange_600"];

/// All tests in order.
pub const SUITE: &[SuiteTest] = &[
    test(&["ping_inline", "ping"], "PING_INLINE", |_| CommandSpec {
        inline: true,
        ..CommandSpec::from_words(["PING"])
    }),
    test(&["ping_mbulk", "ping"], "PING_MBULK", |_| CommandSpec::from_words(["PING"])),
    test(&["set"], "SET", |s| with_value(&["SET", "key:__rand_int__"], s)),
    test(&["get"], "GET", |_| CommandSpec::parse(["GET", "key:__rand_int__"])),
    test(&["incr"], "INCR", |_| CommandSpec::parse(["INCR", "counter:__rand_int__"])),
    test(&["lpush"], "LPUSH", |s| with_value(&["LPUSH", "mylist"], s)),
    test(&["rpush"], "RPUSH", |s| with_value(&["RPUSH", "mylist"], s)),
    test(&["lpop"], "LPOP", |_| CommandSpec::from_words(["LPOP", "mylist"])),
    test(&["rpop"], "RPOP", |_| CommandSpec::from_words(["RPOP", "mylist"])),
    test(&["sadd"], "SADD", |_| CommandSpec::parse(["SADD", "myset", "element:__rand_int__"])),
    test(&["hset"], "HSET", |s| with_value(&["HSET", "myhash", "element:__rand_int__"], s)),
    test(&["spop"], "SPOP", |_| CommandSpec::from_words(["SPOP", "myset"])),
    test(&["zadd"], "ZADD", zadd),
    test(&["zpopmin"], "ZPOPMIN", |_| CommandSpec::from_words(["ZPOPMIN", "myzset"])),
    test(LRANGE_ALL, "LPUSH (needed to benchmark LRANGE)", |s| with_value(&["LPUSH", "mylist"], s)),
    test(&["lrange", "lrange_100"], "LRANGE_100 (first 100 elements)", |_| lrange("99")),
    test(&["lrange", "lrange_300"], "LRANGE_300 (first 300 elements)", |_| lrange("299")),
    SuiteTest {
        by_default: false,
        ..test(&["lrange_450"], "LRANGE_450 (first 450 elements)", |_| lrange("449"))
    },
    test(&["lrange", "lrange_500"], "LRANGE_500 (first 500 elements)", |_| lrange("499")),
    test(&["lrange", "lrange_600"], "LRANGE_600 (first 600 elements)", |_| lrange("599")),
    test(&["mset"], "MSET (10 keys)", mset),
    valkey(
        &["mget"],
        "MGET (10 keys)",
        |_| CommandSpec::parse(std::iter::once("MGET").chain(["key:__rand_int__"; 10])),
        None,
    ),
    SuiteTest {
        origin: Origin::RedisAfter70,
        ..test(&["xadd"], "XADD", |s| with_value(&["XADD", "mystream", "*", "myfield"], s))
    },
    valkey(&["function_load"], "FUNCTION LOAD", |s| function_load(s.functions, false), None),
    valkey(&["fcall"], "FCALL", fcall, Some(|s| function_load(1, s.fcall_keys > 0))),
];

/// All names that `-t` accepts, in the order of the suite.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for name in SUITE.iter().flat_map(|t| t.names) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}

/// Puts a tag into the keys of a command: `key:{tag}:__rand_int__`, `mylist:{tag}`.
fn tagged(mut command: CommandSpec) -> CommandSpec {
    const NUMBERED: [&[u8]; 2] = [b"key:", b"counter:"];
    const NAMED: [&[u8]; 5] = [b"mylist", b"myset", b"myhash", b"myzset", b"mystream"];
    for arg in command.args.iter_mut().skip(1) {
        let Some(Piece::Bytes(name)) = arg.pieces.first_mut() else { continue };
        let is_function_key =
            name.strip_prefix(b"key").is_some_and(|n| n.iter().all(u8::is_ascii_digit));
        if NUMBERED.contains(&name.as_slice()) {
            arg.pieces.splice(1..1, [Piece::Tag, Piece::Bytes(b":".to_vec())]);
        } else if NAMED.contains(&name.as_slice()) || is_function_key {
            name.push(b':');
            arg.pieces.push(Piece::Tag);
        }
    }
    command
}

fn value(shape: &SuiteShape) -> Arg {
    Arg { pieces: vec![Piece::Fill { len: shape.value_len, skip: shape.value_skip }] }
}

fn with_value(words: &[&str], shape: &SuiteShape) -> CommandSpec {
    let mut command = CommandSpec::parse(words);
    command.args.push(value(shape));
    command
}

fn zadd(shape: &SuiteShape) -> CommandSpec {
    let score = if shape.randomised { "__rand_int__" } else { "0" };
    let member = if shape.redis_zadd { "element:__rand_int__" } else { "element:__rand_1st__" };
    CommandSpec::parse(["ZADD", "myzset", score, member])
}

fn lrange(last: &str) -> CommandSpec {
    CommandSpec::from_words(["LRANGE", "mylist", "0", last])
}

fn mset(shape: &SuiteShape) -> CommandSpec {
    let mut command = CommandSpec::from_words(["MSET"]);
    for _ in 0..10 {
        command.args.push(Arg::literal(b"key:__rand_int__").with_numbers());
        command.args.push(value(shape));
    }
    command
}

/// `FUNCTION LOAD REPLACE` of a library of `count` nearly empty functions.
fn function_load(count: u32, with_keys: bool) -> CommandSpec {
    let mut script = format!("#!lua name={LIBRARY}\n");
    for n in (1..=count).rev() {
        let (parameters, result) = if with_keys { ("keys, args", "keys[0]") } else { ("", "0") };
        // `redis` is the object's name that both servers know; `server` is Valkey's alone.
        script += &format!(
            "local function foo{n}({parameters})\nreturn {result}\nend\n\
             redis.register_function('foo{n}', foo{n})\n"
        );
    }
    CommandSpec::from_words(["FUNCTION", "LOAD", "REPLACE", &script])
}

fn fcall(shape: &SuiteShape) -> CommandSpec {
    let mut command = CommandSpec::from_words(["FCALL", "foo1", &shape.fcall_keys.to_string()]);
    for n in 1..=shape.fcall_keys {
        command.args.push(Arg::literal(format!("key{n}").as_bytes()));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_and_titles_are_the_peers() {
        let titles: Vec<_> = SUITE.iter().filter(|t| t.by_default).map(|t| t.title).collect();
        assert_eq!(
            titles.join("|"),
            "PING_INLINE|PING_MBULK|SET|GET|INCR|LPUSH|RPUSH|LPOP|RPOP|SADD|HSET|SPOP|ZADD|ZPOPMIN|\
             LPUSH (needed to benchmark LRANGE)|LRANGE_100 (first 100 elements)|\
             LRANGE_300 (first 300 elements)|LRANGE_500 (first 500 elements)|\
             LRANGE_600 (first 600 elements)|MSET (10 keys)|MGET (10 keys)|XADD|FUNCTION LOAD|FCALL"
        );
    }

    #[test]
    fn in_cluster_mode_every_key_has_a_tag() {
        let shape = SuiteShape {
            value_len: 3,
            value_skip: 0,
            randomised: true,
            functions: 1,
            fcall_keys: 2,
            redis_zadd: false,
            cluster: true,
        };
        for test in SUITE {
            let command = test.command(&shape);
            let tags = |arg: &Arg| arg.pieces.iter().filter(|p| **p == Piece::Tag).count();
            let count: usize = command.args.iter().map(tags).sum();
            let expected = match test.names[0] {
                "ping_inline" | "ping_mbulk" | "function_load" => 0,
                "mset" | "mget" => 10,
                "fcall" => 2,
                _ => 1,
            };
            assert_eq!(count, expected, "{}", test.title);
        }
    }

    #[test]
    fn lists_of_a_cluster_have_as_many_elements_as_are_read() {
        let tags = |name: &str, requests| {
            let all = SUITE.iter().filter(|test| test.names.contains(&name));
            all.map(|test| test.tags(requests)).collect::<Vec<_>>()
        };
        assert_eq!(tags("lpush", Some(100_000)), [None]);
        // The LPUSHes that fill the lists, and the test itself.
        assert_eq!(tags("lrange_600", Some(100_000)), [Some(166); 2]);
        assert_eq!(tags("lrange_450", Some(599)), [Some(1); 2]);
        assert_eq!(tags("lrange_100", Some(9_000_000)), [Some(256); 2]);
        assert_eq!(tags("lrange_100", None), [Some(16); 2]);
    }

    #[test]
    fn every_name_is_lower_case_and_listed_once() {
        let names = names();
        assert!(names.iter().all(|n| n.to_lowercase() == **n));
        assert!(names.contains(&"lrange_450") && names.contains(&"ping"));
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    }
}
