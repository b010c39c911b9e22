//! The words of a command line: `bin/ycsb`'s order, and the options of its client.

use std::ffi::OsString;
use std::path::Path;

use cli::ks_options::{self, PREFIX};

use super::properties::Properties;

/// Phase of a benchmark: what is done with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Records are inserted.
    Load,
    /// Operations are drawn.
    Run,
}

/// Whose model of data and commands is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    Redis,
    Memcached,
}

/// A command line, read.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) phase: Phase,
    pub(super) binding: Binding,
    /// Properties of files, and over them those that were typed.
    pub(super) properties: Properties,
    /// Options of keystorm's own, without their `--ks-`.
    pub(super) own: Vec<OsString>,
    pub(super) print_plan: bool,
    /// Set if the equal workload file of keystorm is wanted, not a run.
    pub(super) as_keystorm: bool,
    /// Destination of verdicts.
    pub(super) verdict: Option<OsString>,
    /// Options that the script that starts YCSB would pass to Java.
    pub(super) for_java: Vec<&'static str>,
    /// Command line as it was typed, without passwords.
    pub(super) shown: String,
}

impl Arguments {
    /// Reads the words behind the program's name; `None` if they ask for help.
    pub(super) fn read(args: Vec<OsString>) -> Result<Option<Self>, String> {
        let words: Result<Vec<String>, _> = args.into_iter().map(OsString::into_string).collect();
        let words = words.map_err(|word| format!("{}: not UTF-8", word.to_string_lossy()))?;
        if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
            return Ok(None);
        }
        let shown = shown(&words);
        let mut words = words.into_iter();
        let mut read = Self {
            phase: phase(words.next().as_deref())?,
            binding: bound(words.next().as_deref())?,
            properties: Properties::default(),
            own: Vec::new(),
            print_plan: false,
            as_keystorm: false,
            verdict: None,
            for_java: Vec::new(),
            shown,
        };
        let mut typed = Properties::default();
        while let Some(word) = words.next() {
            let mut value = |what: &str| words.next().ok_or(format!("{word}: {what} is missing"));
            match word.as_str() {
                "-threads" => typed.set("threadcount", &value("the number of threads")?),
                "-target" => typed.set("target", &value("the rate")?),
                "-load" => read.phase = Phase::Load,
                "-t" => read.phase = Phase::Run,
                "-s" => typed.set("status", "true"),
                "-l" => typed.set("label", &value("the label")?),
                "-db" => read.binding = of_class(&value("the class")?)?,
                "-P" => {
                    let path = value("the file")?;
                    read.properties.overlay(&Properties::of_file(Path::new(&path))?);
                }
                "-p" => {
                    let pair = value("name=value")?;
                    let (name, value) = pair
                        .split_once('=')
                        .ok_or_else(|| format!("-p {pair}: must be name=value"))?;
                    typed.set(name, value);
                }
                "-cp" => {
                    value("the path")?;
                    read.for_java.push("-cp");
                }
                "-jvm-args" => {
                    value("the word for Java")?;
                    read.for_java.push("-jvm-args");
                }
                _ if word.starts_with("-jvm-args=") => read.for_java.push("-jvm-args"),
                "--print-plan" | "--ks-print-plan" => read.print_plan = true,
                "--ks-verdict" => read.verdict = Some(value("the place")?.into()),
                "--as" | "--ks-as" => match value("the name")?.as_str() {
                    "keystorm" => read.as_keystorm = true,
                    other => return Err(format!("--as {other}: only --as keystorm exists")),
                },
                _ if word.starts_with(PREFIX) => {
                    let own = ks_options::option(&word, || words.next())?;
                    read.own.extend(own.into_iter().map(OsString::from));
                }
                _ => return Err(unknown(&word)),
            }
        }
        read.properties.overlay(&typed);
        Ok(Some(read))
    }
}

/// The phase that the first word names.
fn phase(word: Option<&str>) -> Result<Phase, String> {
    match word {
        Some("load") => Ok(Phase::Load),
        Some("run") => Ok(Phase::Run),
        Some("shell") => {
            Err("shell: use redis-cli for single operations; expected load or run".to_owned())
        }
        other => {
            let other = other.unwrap_or_default();
            Err(format!(
                "{other:?} is not a command; expected load or run, such as: ycsb run redis \
                 -P workloads/workloada -p redis.host=127.0.0.1"
            ))
        }
    }
}

fn unknown(word: &str) -> String {
    format!(
        "{word}: ycsb has no such option; set its properties with -p name=value. keystorm options \
         begin with {PREFIX}"
    )
}

fn bound(name: Option<&str>) -> Result<Binding, String> {
    // A suffix after a dash selects a variant of the same binding.
    let base = name.map(|name| name.split('-').next().unwrap_or_default());
    match base {
        Some("redis") => Ok(Binding::Redis),
        Some("memcached") => Ok(Binding::Memcached),
        Some("basic" | "basicnots") => {
            Err("basic: this binding uses no server, so there is nothing to measure".to_owned())
        }
        None | Some("") => Err("the database is missing; expected redis or memcached".to_owned()),
        Some(_) => Err(format!(
            "{}: keystorm measures Redis, Valkey and memcached; expected redis or memcached",
            name.unwrap_or_default()
        )),
    }
}

fn of_class(class: &str) -> Result<Binding, String> {
    match class.rsplit('.').next() {
        Some("RedisClient") => Ok(Binding::Redis),
        Some("MemcachedClient") => Ok(Binding::Memcached),
        _ => Err(format!(
            "-db {class}: expected site.ycsb.db.RedisClient or site.ycsb.db.MemcachedClient"
        )),
    }
}

/// The words with passwords masked.
fn shown(words: &[String]) -> String {
    let words = words.iter().map(|word| match word.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}=***"),
        _ => word.clone(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        let words = line.split(' ').map(OsString::from).collect();
        Arguments::read(words)?.ok_or_else(|| "help".to_owned())
    }

    #[test]
    fn the_command_line_beats_files_and_the_later_word_the_earlier() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).unwrap();
            dir.path().join(name).display().to_string()
        };
        let (a, b) = (file("a", "k=a\nother=a\n"), file("b", "k=b\nother=b\n"));
        let line = format!("run redis -P {a} -p k=1=2 -P {b} -p threadcount=8 -threads 4 -p e=");
        let arguments = read(&line).unwrap();
        let of = |name| arguments.properties.get(name).unwrap();
        assert_eq!([of("k"), of("other"), of("threadcount"), of("e")], ["1=2", "b", "4", ""]);
        assert_eq!((arguments.phase, arguments.binding), (Phase::Run, Binding::Redis));
        let later = read("load redis -threads 4 -p threadcount=8 -s -l x -t").unwrap();
        assert_eq!(later.properties.get("threadcount"), Some("8"));
        assert_eq!((later.properties.get("status"), later.phase), (Some("true"), Phase::Run));
    }

    #[test]
    fn workloads_need_no_file_and_options_of_ours_a_prefix() {
        let arguments =
            read("load memcached -P workloads/workloadf --ks-json=f --ks-json g --ks-insecure");
        let arguments = arguments.unwrap();
        assert_eq!(arguments.properties.get("readmodifywriteproportion"), Some("0.5"));
        for path in ["./workloads/workloadf", "workloadf"] {
            let there = read(&format!("run redis -P {path}")).unwrap();
            assert_eq!(there.properties.get("readmodifywriteproportion"), Some("0.5"), "{path}");
        }
        assert_eq!(arguments.own, ["--json=f", "--json", "g", "--insecure"]);
        assert!(read("load redis -p redis.password=hunter2").unwrap().shown.ends_with("=***"));
    }

    #[test]
    fn what_is_not_carried_out_is_refused_by_name() {
        for (line, why) in [
            ("shell redis", "redis-cli"),
            ("walk redis", "load or run"),
            ("run", "database is missing"),
            ("run basic", "nothing to measure"),
            ("run mongodb-async", "mongodb-async"),
            ("run redis -jvm-args", "the word for Java is missing"),
            ("run redis -foo", "-foo: ycsb has no such option"),
            ("run redis -p x", "name=value"),
            ("run redis -threads", "is missing"),
            ("run redis -db site.ycsb.BasicDB", "RedisClient"),
            ("run redis -P /no/such", "/no/such"),
            ("run redis -P ./typo/workloada", "./typo/workloada"),
            ("run redis --ks-what", "no option --what"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
