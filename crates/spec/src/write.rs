//! A specification in writing: what differs from the default, as words of a command line or as lines of a document.
//!
//! Names, order and shape of options are those that clap knows, values and keys those that serde writes.

use std::sync::OnceLock;

use clap::{Arg, Args, Command};
use serde_json::{Map, Value};

use crate::LoadSpec;

/// The options of a load.
#[must_use]
pub fn vocabulary() -> Command {
    LoadSpec::augment_args(Command::new("load").disable_help_flag(true))
}

/// The key of an option in documents.
#[must_use]
pub fn key(option: &Arg) -> String {
    option.get_id().as_str().replace('_', "-")
}

/// The options that stand behind `--set`, by their long names: those that few people type, and that other tools'
/// command lines ask for.
#[must_use]
pub fn settings() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let command = vocabulary();
        let hidden = command.get_arguments().filter(|option| option.is_hide_set());
        let names = hidden.filter_map(|option| option.get_long().map(str::to_owned));
        names.map(|name| &*name.leak()).collect()
    })
}

/// An option that is given, with its value as documents have it.
#[derive(Debug, Clone)]
pub struct PrintedOption {
    /// The option.
    pub option: Arg,
    /// Value of the option.
    pub value: Value,
}

impl LoadSpec {
    /// The options that differ from the default, in the order of the help.
    ///
    /// # Errors
    /// A word of it is not UTF-8.
    pub fn given(&self) -> Result<Vec<PrintedOption>, serde_json::Error> {
        let (mut own, default) = (fields(self)?, fields(&Self::default())?);
        own.retain(|key, value| default.get(key) != Some(value));
        let command = vocabulary();
        let options = command.get_arguments();
        let given = |option: &Arg| {
            let value = own.remove(&key(option))?;
            Some(PrintedOption { option: option.clone(), value })
        };
        Ok(options.filter_map(given).collect())
    }

    /// The first option that is given here, and is another in a load that was made of this one, or that its
    /// [`PreparedLoad`](crate::PreparedLoad) has no use for.
    #[must_use]
    pub fn overridden_in(&self, made: &Self) -> Option<String> {
        let meant = if made.prepared.is_some() {
            Self { data: made.data.beside_commands(), ..made.clone() }
        } else {
            made.clone()
        };
        let meant = fields(&meant).ok()?;
        let is_other =
            |given: &&PrintedOption| meant.get(&key(&given.option)) != Some(&given.value);
        let given = self.given().ok()?;
        let name = given.iter().find(is_other)?.option.get_long()?;
        Some(name.to_owned())
    }

    /// The words that ask for it, without the name of the program. Passwords in them are `***`.
    ///
    /// # Errors
    /// A word of it is not UTF-8.
    pub fn words(&self) -> Result<Vec<String>, serde_json::Error> {
        Ok(self.given()?.iter().flat_map(PrintedOption::words).collect())
    }

    /// The lines of a document that says it.
    ///
    /// # Errors
    /// A word of it is not UTF-8.
    pub fn toml(&self) -> Result<String, serde_json::Error> {
        Ok(self.given()?.iter().map(PrintedOption::line).collect())
    }
}

fn fields(spec: &LoadSpec) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(spec)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

impl PrintedOption {
    /// Name of the option as people write it: `-c`, `--rps`, `--set order`, or `the command`.
    #[must_use]
    pub fn name(&self) -> String {
        let option = &self.option;
        match (option.get_short(), option.get_long()) {
            (Some(short), _) => format!("-{short}"),
            (None, Some(long)) if option.is_hide_set() => format!("--set {long}"),
            (None, Some(long)) => format!("--{long}"),
            (None, None) => "the command".to_owned(),
        }
    }

    /// The value in one word; nothing if the option takes none.
    #[must_use]
    pub fn argument(&self) -> String {
        match (self.option.is_positional(), self.option.get_action().takes_values()) {
            (true, _) => shell_words::join(texts(&self.value)),
            (false, true) => self.text(),
            (false, false) => String::new(),
        }
    }

    /// Writes the option and its value as words of a command line.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let (name, value) = (self.name(), self.argument());
        if self.option.is_positional() {
            return std::iter::once("--".to_owned()).chain(texts(&self.value)).collect();
        }
        let has_value = self.option.get_action().takes_values();
        if let Some(setting) = name.strip_prefix("--set ") {
            let set = if has_value { format!("{setting}={value}") } else { setting.to_owned() };
            return vec!["--set".to_owned(), set];
        }
        match (has_value, self.option.is_require_equals_set()) {
            (false, _) => vec![name],
            (true, true) if value.is_empty() || value == "yes" => vec![name],
            (true, true) => vec![format!("{name}={value}")],
            (true, false) => vec![name, value],
        }
    }

    /// Returns the value as it stands behind the option.
    fn text(&self) -> String {
        let is_named =
            self.option.get_possible_values().iter().any(|name| name.matches("yes", false));
        match (&self.value, is_named) {
            (Value::Bool(yes), true) => if *yes { "yes" } else { "no" }.to_owned(),
            (Value::Bool(yes), false) => u8::from(*yes).to_string(),
            (value, _) => texts(value).join(","),
        }
    }

    /// Writes the option and its value as a line of TOML, whose values look like those of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} = {}\n", key(&self.option), self.value).replace('\u{7f}', "\\u007f")
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::FromArgMatches;
    use workload::{KeySpace, Mix, PeerOptions, Pick};

    use super::*;
    use crate::PreparedLoad;
    use crate::values::Count;

    /// Every option, in lines that are possible.
    const LINES: &[&str] = &[
        "-h db -p 7000 --hash modulo --protocol memcache-meta --user ann --dbnum 3 -3",
        "-s /run/db.sock --enable-tracking --no-touch --mptcp --source-ip 127.0.0.2,::1",
        "--cluster --rfr nearest --rfr-without wait --rfr-replicas 2 --rfr-connections 2:1 --rfr-also 1,3",
        "--cluster --per-node --rps 10k --rps-per-node",
        "--replicas a:1,[::1]:2 --pool b:1,/run/b.sock",
        "--spawn --spawn-unix --server-cpus 0,2-3",
        "--spawn=memcached --spawn-args --threads__2",
        "-u redis://db:7/2 --password-command /bin/token",
        "-a hidden",
        "--tls --sni db --cacert ca.pem --cacertdir certs --insecure --cert c.pem --cert-chain chain.pem --key k.pem",
        "--tls --tls-ciphers A --tls-ciphersuites B --tls-groups C --tls-protocols TLSv1.3 --tls-resume",
        "-c 10k -n 1.5M --per-connection --time-limit 1.5m --warmup 100ms -P 16 --window rolling",
        "--duration 2 --rps 1k/60s,1k..5k/10s,5k --arrivals poisson --shard 2/4 --start-at 4102444800",
        "--threads auto --cpus 1,4 --engine epoll -k 0 --reconnect yes --timeout 500 --deadline 1s",
        "--reconnect no -I --set join=1+2/5s --set connect-spacing=1ms..5ms --set requests-per-connection=2",
        "--connect --open-for end --close reset --burst 5 -l",
        "--open-for 2s --connect --set renew=3 --set reconnect-wait=5,2,100 --set reconnect-tries=3",
        "--set reconnect-timeout=70 --repeat 3",
        "--retry forever --retry-wait 5ms,2,1s --retry-jitter 0.25 --retry-queue 4 --retry-on LOADING,BUSY",
        "--workload w.toml --phase load,run",
        "-t get,set -r 1M --sequential --set first-key=5 --set unpadded --set keys-by=slice --set one-slot",
        "--key-dist zipf:1.1 -d 100 --content compressible:2 --ttl 60..300 --fill --clean --hit-ratio 0.9 --seed -7",
        "-d uniform:100..4k --set size-by=turn:5 --verify --fail-on-miss --mix --set order=1,2:9",
        "--fill --fill-with hset__k__f__v -x --dataset d.xml --xml-root-element doc --maxdocs -1",
        "--dataset d.csv --verify --set rows-by=key --set row-value=v",
        "--replay m.log --num-functions 3 --num-keys-in-fcall 2 -d -5 -r -3",
        "--name one --precision 4 --first-byte --kernel-stamps --on-error count --yes",
        "--kernel-stamps=no -- get k:__key__ ; set k v",
    ];

    pub(crate) fn read(words: &[String]) -> LoadSpec {
        // What stands behind --set is read as an option, before the others.
        let mut words = words.to_vec();
        while let Some(at) = words.iter().position(|word| word == "--set") {
            words.remove(at);
            words[at] = format!("--{}", words[at]);
        }
        let words = std::iter::once("load".to_owned()).chain(words);
        let command = vocabulary().args_override_self(true);
        let matches = command.try_get_matches_from(words);
        LoadSpec::from_arg_matches(&matches.unwrap_or_else(|e| panic!("{e}"))).unwrap()
    }

    fn typed(line: &str) -> LoadSpec {
        let word = |word: &str| word.replace("__", " ").replace("k: key ", "k:__key__");
        read(&line.split(' ').map(word).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_is_read_from_its_words_and_documents() {
        let mut seen = Vec::new();
        for line in LINES {
            let spec = typed(line);
            let given = spec.given().unwrap();
            seen.extend(given.iter().map(|given| given.option.get_id().as_str().to_owned()));
            let fields = fields(&spec).unwrap();
            let same = |other: &LoadSpec, from: &str| {
                assert_eq!(super::fields(other).unwrap(), fields, "{line}: {from}");
            };
            let words = spec.words().unwrap();
            same(&read(&words), &words.join(" "));
            let text = spec.toml().unwrap();
            same(&toml::from_str(&text).unwrap(), &text);
            let text = serde_json::to_string(&spec).unwrap();
            same(&serde_json::from_str(&text).unwrap(), &text);
        }
        let command = vocabulary();
        let all = command.get_arguments().map(|option| option.get_id().as_str());
        let unseen: Vec<&str> =
            all.filter(|id| *id != "settings" && !seen.iter().any(|seen| seen == id)).collect();
        assert_eq!(unseen, [""; 0], "options that no line has");
    }

    #[test]
    fn an_option_that_another_tool_leaves_no_room_for_is_named() {
        let commands = || PreparedLoad {
            name: "tool".to_owned(),
            sequence: Vec::new(),
            mix: Mix { operations: Vec::new(), pick: Pick::Drawn },
            read_only: Vec::new(),
            keys: KeySpace::default(),
            dataset: None,
            values: None,
            payload_bytes: 0,
            peer: PeerOptions::default(),
        };
        for (line, overridden) in [
            ("--rps 5 --fill", None),
            ("-c 5", None),
            ("-c 6", Some("clients")),
            ("--duration 9", Some("duration")),
            ("--set order=turns", Some("order")),
            ("--content random", Some("content")),
        ] {
            let mut made = typed(line);
            made.load.connections = Some(Count(5));
            made.load.duration = None;
            made.prepared = Some(commands());
            assert_eq!(typed(line).overridden_in(&made).as_deref(), overridden, "{line}");
        }
    }

    #[test]
    fn what_is_not_asked_for_is_not_written() {
        assert_eq!(LoadSpec::default().words().unwrap(), [""; 0]);
        assert_eq!(
            typed("-c 5 --rps 10k -t get").toml().unwrap(),
            "connections = 5\nrate = 10000\ntests = \"get\"\n"
        );
    }

    #[test]
    fn no_password_is_written() {
        for line in [
            "-a hunter2",
            "-u redis://me:hunter2@h:1/2",
            "--password-command hunter2",
            "--spawn --spawn-args --requirepass__hunter2",
            "-- auth hunter2",
        ] {
            let spec = typed(line);
            let written = format!("{:?} {}", spec.words().unwrap(), spec.toml().unwrap());
            assert!(written.contains("***") && !written.contains("hunter2"), "{line}: {written}");
        }
    }
}
