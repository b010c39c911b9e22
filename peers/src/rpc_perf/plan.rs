//! The workload of a configuration file: what is sent.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

use spec::{LoadSpec, Peer, Size};
use workload::{Content, KeyDist, KeySpace, MixStep, Operation, Pick, StepCondition};

use super::commands::Writer;
use super::config::Config;
use super::fault::{Fault, rule};
use super::keyspace::{KeyDistribution, Keyspace, Value};
use super::verb::{Kind, Protocol};
use crate::rpc_perf::layout::Role;

/// Weights of operations sum to this, about.
const WEIGHTS: f64 = 1e9;

/// Says in `spec` what a file sends, and returns what each operation is to the reports.
pub(super) fn describe(config: &Config, spec: &mut LoadSpec) -> Result<Vec<Role>, Fault> {
    let values = one_value(config);
    let firsts = firsts(config)?;
    let (mut operations, mut roles) = (Vec::new(), Vec::new());
    let all: f64 = config.workload.keyspace.iter().map(|keyspace| f64::from(keyspace.weight)).sum();
    if all == 0.0 {
        return Err(rule("[[workload.keyspace]]: no keyspace has a weight above 0"));
    }
    for (keyspace, first) in config.workload.keyspace.iter().zip(firsts) {
        let keys = keys(keyspace, first)?;
        let writer = Writer {
            protocol: config.general.protocol,
            keyspace,
            plan_has_values: values.is_some(),
        };
        let own: f64 = keyspace.commands.iter().map(|command| f64::from(command.weight)).sum();
        for command in &keyspace.commands {
            let share = f64::from(keyspace.weight) / all * f64::from(command.weight) / own;
            if share <= 0.0 {
                continue;
            }
            let sent = writer.commands(command);
            let operation = Operation {
                name: command.verb.name().to_owned(),
                weight: ((share * WEIGHTS).round() as u32).max(1),
                steps: vec![MixStep { commands: 1, when: StepCondition::Always }; sent.len()],
                keys: Some(keys.clone()),
            };
            operations.push((operation, sent));
            let (verb, looks_up) = (command.verb.name(), command.verb.looks_up());
            roles.push(Role { verb, looks_up });
        }
    }
    let bytes = config.workload.keyspace.iter().map(|keyspace| match keyspace.value() {
        Value::Bytes { len, .. } => u64::from(len),
        Value::Number => 19,
    });
    spec.data = spec.data.beside_a_tool();
    if let Some((len, content)) = values {
        (spec.data.size, spec.data.content) = (Some(Size::Fixed(len)), Some(content));
    }
    spec.send(operations, Pick::Drawn);
    spec.peer = Some(Peer {
        name: "rpc-perf".to_owned(),
        payload_bytes: bytes.max().unwrap_or(0),
        inline: config.general.protocol == Protocol::Ping,
        ..Peer::default()
    });
    Ok(roles)
}

/// Returns length and content of all values, if they are of one kind.
fn one_value(config: &Config) -> Option<(u32, Content)> {
    let storing = config.workload.keyspace.iter().filter(|keyspace| {
        keyspace.weight > 0 && keyspace.commands.iter().any(|command| command.verb.has_value())
    });
    let mut values = storing.map(Keyspace::value);
    let first = values.next()?;
    let Value::Bytes { len: len @ 1.., ratio_percent } = first else { return None };
    let content = match ratio_percent {
        100 => Content::Random,
        percent => Content::Compressible { ratio: f64::from(percent) / 100.0 },
    };
    values.all(|value| value == first).then_some((len, content))
}

/// The number of the first key of each keyspace: those of one length that hold the same kind of data
/// share their keys, and others have keys of their own.
fn firsts(config: &Config) -> Result<Vec<u64>, Fault> {
    let kind = |keyspace: &Keyspace| -> Option<Kind> {
        keyspace.commands.iter().find_map(|command| command.verb.kind())
    };
    let mut most: BTreeMap<(u32, Option<Kind>), u64> = BTreeMap::new();
    for keyspace in &config.workload.keyspace {
        let held = most.entry((keyspace.keys().len, kind(keyspace))).or_default();
        *held = (*held).max(keyspace.keys().count.into());
    }
    let keyspaces = config.workload.keyspace.iter().map(|keyspace| {
        let own = (keyspace.keys().len, kind(keyspace));
        let before = most.range((own.0, None)..own).map(|(_, count)| count).sum::<u64>();
        if before + u64::from(keyspace.keys().count) <= keyspace.keys().room() {
            return Ok(before);
        }
        Err(rule(format!(
            "{}: other keyspaces also have keys of {} letters and digits, of which there are \
             only {}; choose another klen",
            keyspace.name,
            own.0,
            keyspace.keys().room()
        )))
    });
    keyspaces.collect()
}

fn keys(keyspace: &Keyspace, first: u64) -> Result<KeySpace, Fault> {
    let draw: KeyDist = if keyspace.key_distribution == Some(KeyDistribution::Zipf) {
        "zipf:1".parse().map_err(rule)?
    } else {
        KeyDist::UNIFORM
    };
    let mut keys = KeySpace::new(Some(keyspace.keys().count.into()), draw);
    keys.numbered.first = first;
    Ok(keys)
}

/// Returns the seed of a run, as a number of --seed: from the text in the file, or from the time.
pub(super) fn seed(text: Option<&str>) -> i64 {
    let mut hasher = DefaultHasher::new();
    match text {
        Some(text) => text.hash(&mut hasher),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (now.as_nanos(), std::process::id()).hash(&mut hasher);
        }
    }
    (hasher.finish() >> 1) as i64
}
