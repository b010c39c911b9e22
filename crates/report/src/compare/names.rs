//! Names of servers, and the settings in which they differ.

use serde::Serialize;

use super::Subject;
use crate::quantity::fitted;

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingDifference {
    /// Name of the setting.
    pub name: String,
    /// Value on each server; `None` if a server does not know the setting.
    pub values: Vec<Option<String>>,
}

impl SettingDifference {
    /// The values in display form.
    pub fn shown(&self) -> Vec<String> {
        let shown = self.values.iter().map(|value| match value.as_deref() {
            Some("") => "\"\"".to_owned(),
            Some(value) => value.to_owned(),
            None => "no such setting".to_owned(),
        });
        shown.collect()
    }
}

/// Settings that always differ between servers without an effect on requests.
const PASSED_OVER: &str = "\
appenddirname appendfilename availability-zone bind bind-source-addr cluster-announce-bus-port \
cluster-announce-hostname cluster-announce-human-nodename cluster-announce-ip cluster-announce-port \
cluster-announce-tls-port cluster-config-file cluster-port dbfilename dir domain_socket inter \
logfile pidfile port proc-title-template replica-announce-ip replica-announce-port slave-announce-ip \
slave-announce-port syslog-ident tcpport tls-port unixsocket";

/// Settings that affect speed, in order of effect; the others follow by name.
const NOTABLE: &str = "\
io-threads num_threads appendonly appendfsync save maxmemory maxbytes maxmemory-policy io-threads-do-reads \
databases hz maxclients activedefrag lazyfree-lazy-user-del";

/// Most settings in a server's name.
const NAMED_MAX: usize = 2;

/// The settings in which servers differ, those that affect speed first. For different products, only settings
/// that all of them have.
pub fn differing_settings(subjects: &[Subject]) -> Vec<SettingDifference> {
    let known: Vec<&Subject> = subjects.iter().filter(|of| !of.settings.is_empty()).collect();
    if known.len() < subjects.len() {
        return Vec::new();
    }
    let one_product = subjects.windows(2).all(|pair| pair[0].server == pair[1].server);
    let mut names: Vec<&String> =
        subjects.iter().flat_map(|of| of.settings.iter().map(|(name, _)| name)).collect();
    names.sort_by_key(|name| {
        (NOTABLE.split(' ').position(|known| known == *name).unwrap_or(usize::MAX), *name)
    });
    names.dedup();
    let value = |of: &Subject, name: &str| {
        of.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let differences = names.into_iter().filter_map(|name| {
        let values: Vec<Option<String>> = subjects.iter().map(|of| value(of, name)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        let counts = one_product || values.iter().all(Option::is_some);
        let passed_over = PASSED_OVER.split(' ').any(|known| known == name);
        (differs && counts && !passed_over)
            .then(|| SettingDifference { name: name.clone(), values })
    });
    differences.collect()
}

/// Gives servers names: the chosen ones, or product and version, and if these are equal, the differing
/// settings.
pub fn name(subjects: &mut [Subject], chosen: &[Option<String>]) {
    let differences = differing_settings(subjects);
    let servers: Vec<String> = subjects.iter().map(|of| of.server.clone()).collect();
    let mut names: Vec<String> = servers.clone();
    let is_shared = |names: &[String], at: usize| {
        names.iter().enumerate().any(|(other, name)| other != at && *name == names[at])
    };
    let numbered = |at: usize| format!("{} (server {})", servers[at], at + 1);
    let apart: [&dyn Fn(usize) -> String; 5] = [
        &|at| match &subjects[at].program {
            Some(program) if program.contains('/') => format!("{} ({program})", servers[at]),
            _ => servers[at].clone(),
        },
        &|at| with_settings(&servers[at], &differences, at),
        &|at| match &subjects[at].file {
            Some(file) => file.rsplit('/').next().unwrap_or(file).to_owned(),
            None => format!("{} on {}", servers[at], subjects[at].address),
        },
        &|at| subjects[at].file.clone().unwrap_or_else(|| numbered(at)),
        &numbered,
    ];
    for name_of in apart {
        let shared: Vec<usize> = (0..names.len()).filter(|at| is_shared(&names, *at)).collect();
        let renamed: Vec<(usize, String)> =
            shared.into_iter().map(|at| (at, name_of(at))).collect();
        for (at, name) in renamed {
            names[at] = name;
        }
    }
    for (at, (subject, name)) in subjects.iter_mut().zip(names).enumerate() {
        subject.name = chosen.get(at).cloned().flatten().unwrap_or(name);
    }
}

/// Length of a setting's value above which it is left out of a name.
const VALUE_MAX: usize = 24;

fn with_settings(server: &str, differences: &[SettingDifference], at: usize) -> String {
    let short = differences
        .iter()
        .filter(|of| of.values.iter().flatten().all(|value| value.chars().count() <= VALUE_MAX))
        .take(NAMED_MAX);
    let named = short.map(|SettingDifference { name, values }| match values[at].as_deref() {
        Some("") => format!("{name} \"\""),
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() { server.to_owned() } else { format!("{server}, {named}") }
}

/// Names of at most `width` characters. Names that would be cut to the same text lose their common beginning,
/// since the difference comes after it.
pub fn shortened(names: &[String], width: usize) -> Vec<String> {
    let cut = |name: &str| fitted(name, width);
    let parts = names.iter().map(|name| {
        let short = cut(name);
        let alike: Vec<&String> = names.iter().filter(|other| cut(other) == short).collect();
        match common_part(name, &alike).filter(|_| alike.len() > 1) {
            Some(common) => cut(&name[common..]),
            None => short,
        }
    });
    parts.collect()
}

/// Finds the end of the common beginning of a name and others, after a product or a setting, if they share
/// any.
fn common_part(name: &str, others: &[&String]) -> Option<usize> {
    let parts = [", ", " on "].into_iter();
    let parts = parts.flat_map(|by| name.match_indices(by).map(move |(at, _)| at + by.len()));
    parts.filter(|at| others.iter().all(|other| other.get(..*at) == name.get(..*at))).max()
}

/// Longest name of a column, in characters.
const COLUMN_MAX: usize = 24;

/// Names for columns: without their common beginning, or the numbers of the servers if those are too long.
pub fn column_names(names: &[String]) -> Vec<String> {
    let parts = distinct_parts(names);
    if parts.iter().all(|part| part.chars().count() <= COLUMN_MAX) {
        return parts;
    }
    (1..=names.len()).map(|number| number.to_string()).collect()
}

/// Names without their common beginning.
pub fn distinct_parts(names: &[String]) -> Vec<String> {
    let Some((first, others)) = names.split_first() else { return Vec::new() };
    let common = common_part(first, &others.iter().collect::<Vec<_>>());
    let common = common.filter(|at| names.iter().all(|name| *at < name.len())).unwrap_or(0);
    names.iter().map(|name| name[common..].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_what_tells_them_apart() {
        let names = [
            "redis 7.0.15, io-threads 1, appendonly no",
            "redis 7.0.15, io-threads 2, appendonly yes",
        ];
        let names = names.map(str::to_owned);
        let short = shortened(&names, 25);
        assert_eq!(short, ["io-threads 1, appendonly…", "io-threads 2, appendonly…"]);
        assert_eq!(shortened(&names, 60), names);
        assert_eq!(shortened(&["a".to_owned(), "b, ".repeat(9)], 5), ["a", "b, b…"]);
        let places = ["redis 7.0.15 on 127.0.0.1:7111", "redis 7.0.15 on 127.0.0.1:7112"];
        let places = places.map(str::to_owned);
        assert_eq!(shortened(&places, 20), ["127.0.0.1:7111", "127.0.0.1:7112"]);
        let three = [&names[..], &["valkey 8.1.8".to_owned()]].concat();
        assert_eq!(shortened(&three, 25)[1..], ["io-threads 2, appendonly…", "valkey 8.1.8"]);
    }

    #[test]
    fn a_column_is_named_by_what_tells_it_apart() {
        let files = |n: u8| format!("thursday-before-the-upgrade-{n}.json");
        assert_eq!(column_names(&[files(1), files(2)]), ["1", "2"]);
        assert_eq!(column_names(&["a.json".to_owned(), "b.json".to_owned()]), ["a.json", "b.json"]);
        let of = |a: &str, b: &str| distinct_parts(&[a.to_owned(), b.to_owned()]);
        assert_eq!(
            of("redis 7.0.15, io-threads 1, save no", "redis 7.0.15, io-threads 2, save yes"),
            ["io-threads 1, save no", "io-threads 2, save yes"]
        );
        assert_eq!(of("redis 7.0.15 on h:1", "redis 7.0.15 on h:2"), ["h:1", "h:2"]);
        assert_eq!(of("redis 7.0.15", "valkey 8.1.8"), ["redis 7.0.15", "valkey 8.1.8"]);
        assert_eq!(of("a, b", "a, b"), ["b", "b"]);
    }

    fn subject(server: &str, address: &str, settings: &[(&str, &str)]) -> Subject {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let (server, address) = (server.to_owned(), address.to_owned());
        Subject { server, address, settings, ..Subject::default() }
    }

    fn named(mut subjects: Vec<Subject>, chosen: &[Option<String>]) -> Vec<String> {
        name(&mut subjects, chosen);
        subjects.into_iter().map(|subject| subject.name).collect()
    }

    #[test]
    fn servers_are_named_by_what_tells_them_apart() {
        let redis = |at, settings| subject("redis 7.0.15", at, settings);
        let valkey = subject("valkey 8.1.1", "x", &[]);
        assert_eq!(named(vec![redis("x", &[]), valkey], &[]), ["redis 7.0.15", "valkey 8.1.1"]);
        let one = [("io-threads", "1"), ("port", "1"), ("save", "")];
        let four = [("io-threads", "4"), ("port", "2"), ("save", "")];
        let both = || vec![redis("x", &one), redis("x", &four)];
        assert_eq!(
            named(both(), &[]),
            ["redis 7.0.15, io-threads 1", "redis 7.0.15, io-threads 4"]
        );
        let chosen = [None, Some("four".to_owned())];
        assert_eq!(named(both(), &chosen), ["redis 7.0.15, io-threads 1", "four"]);
        let limits = |last: &'static str| vec![("client-output-buffer-limit", last)];
        let long = [limits("normal 0 0 0 slave 2 1 60 pubsub 3 8 60"), limits("normal 0 0 0")];
        let apart = vec![redis("h:1", &long[0]), redis("h:2", &long[1])];
        assert_eq!(named(apart, &[]), ["redis 7.0.15 on h:1", "redis 7.0.15 on h:2"]);
        let apart = vec![redis("h:1", &[]), redis("h:2", &[])];
        assert_eq!(named(apart, &[]), ["redis 7.0.15 on h:1", "redis 7.0.15 on h:2"]);
        let started = |program: &str| Subject { program: Some(program.into()), ..redis("h", &[]) };
        assert_eq!(
            named(vec![started("./old/redis-server"), started("./new/redis-server")], &[]),
            ["redis 7.0.15 (./old/redis-server)", "redis 7.0.15 (./new/redis-server)"]
        );
        let saved = |file: &str| Subject { file: Some(file.into()), ..redis("h", &[]) };
        assert_eq!(named(vec![saved("d/1.json"), saved("d/2.json")], &[]), ["1.json", "2.json"]);
        assert_eq!(
            named(vec![saved("d/1.json"), saved("e/1.json")], &[]),
            ["d/1.json", "e/1.json"]
        );
        let alike = vec![redis("h", &[]), redis("h", &[])];
        assert_eq!(named(alike, &[]), ["redis 7.0.15 (server 1)", "redis 7.0.15 (server 2)"]);
    }

    #[test]
    fn every_setting_is_compared_but_what_always_differs() {
        let of = |server: &str, settings: &[(&str, &str)]| subject(server, "x", settings);
        let a = of(
            "redis 7",
            &[("zz", "1"), ("save", "60 1"), ("port", "1"), ("dir", "/a"), ("hz", "1")],
        );
        let b =
            of("redis 7", &[("zz", "2"), ("save", ""), ("port", "2"), ("dir", "/b"), ("hz", "1")]);
        let found = differing_settings(&[a.clone(), b]);
        let names: Vec<&str> = found.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["save", "zz"]);
        assert_eq!(found[0].values, [Some("60 1".to_owned()), Some(String::new())]);
        // What only one of two products knows is no difference in how they were started.
        let other = of("valkey 8", &[("zz", "1"), ("save", "60 1"), ("new", "1"), ("hz", "2")]);
        let names: Vec<String> =
            differing_settings(&[a.clone(), other]).into_iter().map(|of| of.name).collect();
        assert_eq!(names, ["hz"]);
        assert!(differing_settings(&[a, of("redis 7", &[])]).is_empty(), "one does not tell");
    }
}
