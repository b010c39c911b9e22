//! The plan of the options: operations in the order of memtier_benchmark, each with the keys of its pattern.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::affinity;
use spec::values::{
    Count, Cpus, KeepAlive, Milliseconds, OnErrorArg, Positive, Seconds, Threads, WindowArg,
};
use spec::{DataOptions, LoadOptions, LoadSpec, Peer, Size};
use workload::escape::escaped;
use workload::{Backoff, Content, OneGroup, PeerOptions, Pick, SizeBy, Span, limits};

use super::fault::{Fault, check_error};
use super::items::Items;
use super::operations::{Operations, Words, between, one};
use super::options::{Options, Sizes};
use super::values::Pattern;
use super::{import, monitor, order, retrying, staircase, user_commands};

/// Longest value, in bytes, that a plan contains literally.
const LITERAL_MAX: u32 = 4096;
/// Number of different commands above which latencies have fewer digits, for the memory that they take.
const MANY: usize = 200;
/// Seed that all connections draw from, run after run.
const SEED: i64 = 0x006d_656d_7469_6572;
const NS_PER_S: u64 = 1_000_000_000;

/// Says in `spec` what is sent, how fast and over which connections; warnings are added to `notes`.
pub(super) fn describe(
    options: &Options,
    spec: &mut LoadSpec,
    notes: &mut Vec<String>,
) -> Result<Items, Fault> {
    let imported = import::read(options, notes)?;
    spec.data = spec.data.beside_a_tool();
    spec.data.seed = Some(Count(seed(options)));
    (spec.data.fail_on_miss, spec.data.hit_ratio) = (false, None);
    let value = values(options, &mut spec.data)?;
    let items = Items::new(options, &value, imported.as_ref())?;
    let input = options.monitor_input.as_ref().filter(|_| !options.commands.is_empty());
    let capture = input.map(|path| monitor::load(path, notes)).transpose()?.unwrap_or_default();
    let (mut operations, pick) = if options.commands.is_empty() {
        built_in(options, &items)?
    } else {
        user_commands::operations(options, &value, &capture.commands, notes)?
    };
    if options.cluster {
        let commands = operations.iter_mut().flat_map(|(_, commands)| commands);
        commands.flatten().for_each(|word| *word = word.replace("{tag}", &escaped(b"{tag}")));
    }
    // Of a transaction each request number is all of its commands.
    let in_one = match &operations[..] {
        [(_, commands)] if options.is_in_one_piece() => commands.len() as u64,
        _ => 1,
    };
    let mean = match (&imported, &spec.data.size, options.sizes()) {
        (Some(imported), ..) => imported.mean_len,
        (None, Some(Size::Drawn(sizes)), _) => sizes.draws().mean() as u64,
        (None, _, Sizes::One(size)) => u64::from(size),
        (None, ..) => 0,
    };
    load(options, &mut spec.load, in_one)?;
    // There it is the rate of each connection.
    spec.server.replicas.rps_per_node = options.has_clients() && options.rate_limiting > 0;
    let has_replicas = options.cluster || !spec.server.replicas.replicas.is_empty();
    spec.server.replicas.rfr_also = declared_reads(options, has_replicas);
    spec.recording.on_error.get_or_insert(OnErrorArg::Count);
    if operations.iter().map(|(_, commands)| commands.len()).sum::<usize>() > MANY {
        // Its output has two digits.
        spec.recording.precision = Some(Count(2));
    }
    if options.commands.is_empty() {
        spec.data.ttl = items.lifetimes;
    }
    import::describe(options, &mut spec.data);
    if pick == Pick::Row {
        monitor::describe(options, &mut spec.data);
    } else {
        spec.send(operations, pick);
    }
    spec.peer = Some(Peer {
        name: "memtier".to_owned(),
        payload_bytes: mean,
        rows: imported.map(|imported| Arc::new(imported.items)),
        capture: monitor::is_shared(options).then(|| Arc::new(capture)),
        options: PeerOptions {
            each_failure: options.failed_keys_file.is_some(),
            per_position: options.miss_tracking && !options.commands.is_empty(),
            by_connection: options.client_stats.is_some(),
            ..PeerOptions::default()
        },
        ..Peer::default()
    });
    Ok(items)
}

/// Says how much is sent, how fast, and over which connections. `in_one` commands share a request number.
fn load(options: &Options, load: &mut LoadOptions, in_one: u64) -> Result<(), Fault> {
    let connections = options.connections();
    let possible = u32::try_from(connections).map_err(|_| {
        let most = limits::CONNECTIONS_MAX;
        check_error(format!("--threads times --clients is {connections}; the maximum is {most}"))
    })?;
    load.connections = Some(Count(possible));
    load.threads = Some(Threads::Number(options.threads.into()));
    load.pipeline = Some(Count(u64::from(options.pipeline).div_ceil(in_one) as i64));
    load.window = Some(WindowArg::Rolling);
    // Lines that all connections share are counted over all of them.
    let shared = monitor::is_shared(options);
    load.per_connection = !shared;
    let each = options.requests_each();
    let all = each.map(|each| if shared { each.saturating_mul(connections) } else { each });
    let time = options.test_time.map(|seconds| Seconds(Duration::from_secs(seconds)));
    load.end_after(all.map(|all| Count(all.div_ceil(in_one))), time);
    if options.rate_limiting > 0 {
        load.rate = Some(staircase::rate(options, options.rate_limiting as f64 / in_one as f64));
    }
    if options.reconnect_interval > 0 {
        load.keep_alive = Some(KeepAlive(false));
        let each = u32::try_from(options.reconnect_interval).unwrap_or(u32::MAX);
        load.connecting.requests_per_connection = Some(Positive(each));
    }
    let cpus = affinity::allowed();
    if options.pin_threads && !cpus.is_empty() {
        load.cpus.get_or_insert(Cpus(cpus));
    }
    load.connecting.join = options.joining();
    load.connecting.connect_spacing = options.spacing();
    load.reconnect.get_or_insert(options.reconnect_on_error.into());
    if options.reconnect_on_error {
        load.connecting.reconnect_timeout = options
            .connection_timeout
            .map(|seconds| Milliseconds(Duration::from_secs(seconds.into())));
        load.connecting.reconnect_tries = options.reconnect_attempts.map(Count);
        // As in memtier_benchmark: a second, multiplied by the factor each time, up to a minute.
        load.connecting.reconnect_wait = options.reconnect_backoff_factor.map(|factor| Backoff {
            first_ns: NS_PER_S,
            factor,
            longest_ns: 60 * NS_PER_S,
        });
    }
    load.retrying = retrying::of_load(options);
    Ok(())
}

/// Returns the seed of a run, which is a number with a sign.
fn seed(options: &Options) -> i64 {
    if !options.randomize {
        return SEED;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ((now.as_nanos() as u64) ^ u64::from(std::process::id()).rotate_left(32)) as i64
}

/// Returns the word that is a value in a command, and says in `data` of what values where they are not written out.
fn values(options: &Options, data: &mut DataOptions) -> Result<String, Fault> {
    let (sizes, by) = match options.sizes() {
        Sizes::One(size) if size <= LITERAL_MAX && !options.random_data => {
            return Ok("x".repeat(size as usize));
        }
        Sizes::One(size) => (size.to_string(), None),
        Sizes::Range(least, most) => {
            let by = if options.size_by_key { SizeBy::Rank } else { SizeBy::Request };
            (format!("uniform:{least}..{most}"), Some(by))
        }
        Sizes::List(list) => {
            let items = list.iter().map(|(size, weight)| format!("{size}={weight}"));
            let turn: u32 = list.iter().fold(0, |sum, (_, weight)| sum.saturating_add(*weight));
            let sizes = format!("sizes:{}", items.collect::<Vec<_>>().join(","));
            (sizes, Some(SizeBy::Turn(turn)))
        }
    };
    let sizes: workload::Sizes =
        sizes.parse().map_err(|why: String| check_error(format!("data size: {why}")))?;
    data.size = Some(if by.is_some() { Size::Drawn(sizes) } else { Size::Fixed(sizes.largest()) });
    data.size_by = by;
    data.content = Some(if options.random_data { Content::Random } else { Content::Same });
    Ok("__data__".to_owned())
}

/// Returns the operations of its own SET, GET and WAIT.
fn built_in(options: &Options, items: &Items) -> Result<Operations, Fault> {
    let (sets, gets) = options.turn();
    let (calls, rest) = match options.multi_key_get {
        0 => (gets, 0),
        keys => (gets / keys, gets % keys),
    };
    let mut spans = order::order((sets, calls), options.wait_ratio)?;
    spans.extend((rest > 0).then_some(Span { operation: order::REST, times: 1 }));
    if rest > 0 && matches!(options.patterns()[1], Pattern::Sequential | Pattern::Parallel) {
        return Err(check_error(format!(
            "--multi-key-get {} with keys in order is carried out by keystorm where it divides the GETs \
             of --ratio, which are {gets}; see docs/memtier.md",
            options.multi_key_get
        )));
    }
    let [set_keys, mut get_keys] = items.keys.clone();
    // A node answers for keys of one slot only.
    get_keys.one_slot = (options.cluster && options.multi_key_get > 0).then(OneGroup::default);
    let all = [
        ("SET", set_command(options, items), set_keys),
        ("GET", get_command(options, &items.key, options.multi_key_get), get_keys.clone()),
        ("GET", get_command(options, &items.key, rest), get_keys.clone()),
        ("WAIT", wait_command(options), get_keys),
    ];
    // Operations that are never sent are left out, and the others numbered anew.
    let (mut operations, mut numbers) = (Vec::new(), [0; 4]);
    for (old, (name, command, keys)) in (0..).zip(all) {
        let own = spans.iter().filter(|span| span.operation == old).map(|span| span.times);
        let weight: u32 = own.sum();
        if weight > 0 {
            numbers[old as usize] = operations.len() as u32;
            operations.push((one(name, weight, keys), vec![command]));
        }
    }
    let renumbered = spans
        .iter()
        .map(|span| Span { operation: numbers[span.operation as usize], times: span.times });
    let pick = match options.wait_ratio {
        None => Pick::InOrder,
        Some(_) => Pick::Spans(renumbered.collect()),
    };
    Ok((operations, pick))
}

fn set_command(options: &Options, items: &Items) -> Words {
    let Items { key, value, lifetime, .. } = items.clone();
    match (options.protocol_kind().is_memcache(), lifetime) {
        (true, lifetime) => {
            vec!["set".into(), key, "0".into(), lifetime.unwrap_or_else(|| "0".into()), value]
        }
        (false, Some(lifetime)) => vec!["SETEX".into(), key, lifetime, value],
        (false, None) if options.data_offset > 0 => {
            vec!["SETRANGE".into(), key, options.data_offset.to_string(), value]
        }
        (false, None) => vec!["SET".into(), key, value],
    }
}

pub(super) fn get_command(options: &Options, key: &str, keys: u32) -> Words {
    let of_several = |name: &str| {
        let keys = std::iter::repeat_n(key, keys.max(1) as usize);
        std::iter::once(name).chain(keys).map(String::from).collect()
    };
    if options.protocol_kind().is_memcache() {
        of_several("get")
    } else if keys > 0 {
        // Also of one key, so that all replies are alike.
        of_several("MGET")
    } else if options.data_offset > 0 {
        vec!["GETRANGE".into(), key.into(), options.data_offset.to_string(), "-1".into()]
    } else {
        vec!["GET".into(), key.into()]
    }
}

/// WAIT for as many replicas and milliseconds as are drawn for it.
fn wait_command(options: &Options) -> Words {
    // 0 milliseconds would be without end.
    let (least_ms, most_ms) = options.wait_timeout;
    let within_ms = if least_ms == most_ms { least_ms } else { least_ms.max(1) };
    let (least, most) = options.num_slaves;
    vec!["WAIT".into(), between(least, most, 1), between(within_ms, most_ms, 2)]
}

/// The positions of the commands that are declared to read, from 1.
fn declared_reads(options: &Options, has_replicas: bool) -> Vec<u32> {
    let own = options.commands.iter().filter(|given| !monitor::is_all(&given.text));
    (1..).zip(own).filter(|(_, given)| given.is_read && has_replicas).map(|(at, _)| at).collect()
}
