//! Conversion of typed commands to the sequence of a plan or the operations of a mix.

use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use naming::{DATASET, MIX, ORDER, RFR_ALSO, ROW_VALUE, STDIN_ARG, TTL, Text, text};
use workload::command_line::{TypedOperation, TypedStep, split_operations};
use workload::{
    Arg, CacheCommand, CommandSpec, Credentials, Data, Dataset, Endpoint, KeyDist, KeySpace, Mix,
    MixStep, Operation, Pick, Piece, PlanParts, ProtocolKind, limits, streams,
};

use crate::first_word::check_command;
use crate::typed_load::{LoadOperation, TypedLoad, operation_names};
use crate::values::Count;
use crate::{LoadSpec, dataset, harmful, memcache, title};

/// Error about a dataset that no command uses.
pub(crate) fn fields_wanted() -> Text {
    text!(
        "{DATASET}: Dataset mode requires a command with field placeholders, such as: set doc:__rand_int__ \
         __field:title__"
    )
}

impl LoadSpec {
    /// Parses the words of the command into operations.
    ///
    /// # Errors
    /// Returns an error if the words make no valid operations.
    pub fn operations(&self) -> Result<Vec<TypedOperation>, Text> {
        let stepped = may_have_steps(self);
        split_operations(&words(self)?, self.data.mix, stepped, limits::SEQUENCE_MAX)
    }

    /// The load that the words of the command are.
    ///
    /// # Errors
    /// Returns an error if the words make no valid operations.
    pub fn typed(&self, login: Option<&Credentials>) -> Result<TypedLoad, Text> {
        let name = title::of_words(&typed_words(self), login);
        if self.dialect.minds_slips {
            check_command(&typed_words(self), self.data.mix)?;
        }
        let alone = |typed| LoadOperation { typed, name: None, keys: None, places: Vec::new() };
        let operations = self.operations()?.into_iter().map(alone).collect();
        let (mixed, stepped) = (self.data.mix, may_have_steps(self));
        Ok(TypedLoad { name, mixed, stepped, operations, ..TypedLoad::default() })
    }
}

fn may_have_steps(options: &LoadSpec) -> bool {
    options.data.mix || options.dialect.has_steps
}

/// The words of the commands.
fn words(options: &LoadSpec) -> Result<Vec<Vec<u8>>, Text> {
    let mut words = typed_words(options);
    if options.data.stdin_arg {
        let mut last = Vec::new();
        let read = streams::input().read_to_end(&mut last);
        read.map_err(|e| text!("{STDIN_ARG}: reading the last argument from standard input: {e}"))?;
        words.push(last);
    }
    Ok(words)
}

fn typed_words(options: &LoadSpec) -> Vec<Vec<u8>> {
    options.command.iter().map(|word| word.clone().into_vec()).collect()
}

/// The plan of a load, checked for slips if it was given on the command line.
pub(crate) fn parts(
    base: PlanParts,
    options: &LoadSpec,
    load: TypedLoad,
) -> Result<PlanParts, Text> {
    let login = base.target.credentials.clone();
    let parts = given(base, options, load)?;
    if options.given.is_some() {
        return Ok(parts);
    }
    let is_private = matches!(parts.target.endpoint, Endpoint::Spawned { .. });
    let minds_harm = options.dialect.minds_slips && !options.yes && !is_private;
    if minds_harm {
        harmful::check(&parts.sequence)?;
    }
    let mix = title::of_mix(&parts, login.as_ref()).filter(|_| options.dialect.has_steps);
    let name = mix.unwrap_or_else(|| parts.name.clone());
    Ok(PlanParts { name, minds_harm, ..parts })
}

fn given(base: PlanParts, options: &LoadSpec, given: TypedLoad) -> Result<PlanParts, Text> {
    let mixed = given.is_mix();
    if options.data.order.is_some() && !given.mixed {
        return Err(text!("{ORDER} requires operations: {MIX}, or [[operation]] in a file"));
    }
    let TypedLoad { name, mut operations, stepped, translated, loaded_by, .. } = given;
    let dataset = dataset_of(options)?;
    let (varies, value_len) = (base.data.values.is_some(), base.data.payload_bytes as u32);
    let mut reading =
        CommandReader::new(options, base.protocol, dataset.as_ref(), varies, value_len);
    (reading.replies, reading.translated) = (stepped, translated);
    let (mut sequence, mut sizes) = (Vec::new(), Vec::new());
    for LoadOperation { typed, places, keys, .. } in &mut operations {
        let space = keys.as_ref().unwrap_or(&base.data.keys);
        // A walk through the range inserts the keys of the range.
        if stepped && inserts(typed)? && space.draw != KeyDist::SEQUENTIAL {
            *keys = Some(KeySpace { draw: KeyDist::INSERT, ..space.clone() });
        }
        let first = sequence.len();
        for words in typed.steps.iter().flat_map(|step| &step.commands) {
            let place = places.get(sequence.len() - first);
            let placed = |why: Text| place.map_or_else(|| why.clone(), |at| text!("{at}: {why}"));
            sequence.push(reading.command(words).map_err(placed)?);
        }
        let size = |command: &CommandSpec| {
            let values = command.values() * u64::from(reading.value_len);
            wire::encoded_len(base.protocol, command) + values
        };
        let step = typed.steps.first().map_or(0, |step| step.commands.len());
        sizes.push(sequence[first..first + step].iter().map(size).sum::<u64>());
    }
    let also = &options.server.replicas.rfr_also;
    if let Some(beyond) = also.iter().find(|number| **number as usize > sequence.len()) {
        let count = sequence.len();
        return Err(text!("{RFR_ALSO} {beyond}: the number of commands is {count}"));
    }
    if dataset.is_some() && !reading.has_field && options.peer.is_none() {
        return Err(fields_wanted());
    }
    if base.protocol.is_memcache() && !reading.has_lifetime {
        check_lifetime(options, &sequence)?;
    }
    let weights = operations.iter().map(|operation| u64::from(operation.typed.weight));
    let sum = weights.clone().zip(sizes).map(|(weight, size)| weight * size).sum::<u64>();
    let data = Data {
        // The whole payload of such a command under the name of another tool.
        payload_bytes: if stepped {
            base.data.payload_bytes
        } else {
            sum / weights.sum::<u64>().max(1)
        },
        loaded_by,
        dataset: dataset.map(Arc::new),
        ..base.data
    };
    Ok(PlanParts {
        name,
        sequence,
        data,
        // A single operation may have keys of its own, too.
        mix: (mixed || operations.iter().any(|operation| operation.keys.is_some()))
            .then(|| mix(&operations, options.data.order.clone().unwrap_or_default())),
        read_only: also.iter().map(|number| number - 1).collect(),
        ..base
    })
}

/// Returns whether a command has a form of Redis that memcached lacks: `set KEY VALUE`, with or without `ex
/// SECONDS`, and `mget`. It means the same in a run as in a comparison.
fn in_redis_words(command: &CommandSpec) -> bool {
    let is_ex = |arg: &Arg| match arg.pieces.as_slice() {
        [Piece::Bytes(bytes)] => bytes.eq_ignore_ascii_case(b"EX"),
        _ => false,
    };
    match (command.name().as_str(), command.args.as_slice()) {
        ("SET", [_, _, _]) => true,
        ("SET", [_, _, _, option, _]) => is_ex(option),
        ("MGET", _) => true,
        _ => false,
    }
}

/// Turns words into commands.
pub(crate) struct CommandReader<'o> {
    options: &'o LoadSpec,
    protocol: ProtocolKind,
    dataset: Option<&'o Dataset>,
    /// Set if values are drawn; otherwise they are consecutive parts of the classic payload, of a fixed length.
    varies: bool,
    value_len: u32,
    skip: u64,
    has_field: bool,
    /// Set if a command contains a lifetime.
    has_lifetime: bool,
    /// Set if commands are read in Redis's words and translated for the protocol.
    translated: bool,
    /// Set if arguments may contain replies of earlier steps.
    pub(crate) replies: bool,
}

impl<'o> CommandReader<'o> {
    /// Creates a reader; values are drawn if `varies`, and otherwise have `value_len` bytes.
    pub(crate) fn new(
        options: &'o LoadSpec,
        protocol: ProtocolKind,
        dataset: Option<&'o Dataset>,
        varies: bool,
        value_len: u32,
    ) -> Self {
        Self {
            options,
            protocol,
            dataset,
            varies,
            value_len,
            skip: 0,
            has_field: false,
            has_lifetime: false,
            translated: false,
            replies: true,
        }
    }

    pub(crate) fn command(&mut self, words: &[Vec<u8>]) -> Result<CommandSpec, Text> {
        let args: Result<Vec<Arg>, Text> = words.iter().map(|word| self.arg(word)).collect();
        let command = CommandSpec::from(args?);
        let by_redis = self.translated || in_redis_words(&command);
        let translated = by_redis && self.protocol.is_memcache();
        self.has_lifetime |= translated;
        let command = match self.options.data.ttl {
            // A command of memcached has an argument for the lifetime.
            Some(_) if self.protocol.is_memcache() && !translated => command,
            Some(lifetime) => command.with_lifetime(lifetime),
            None => command,
        };
        if translated {
            Ok(CacheCommand::of_cache(&command)?.in_protocol(self.protocol)?)
        } else {
            Ok(command)
        }
    }

    fn arg(&mut self, word: &[u8]) -> Result<Arg, Text> {
        let arg = self.with_placeholders(word)?.with_numbers();
        // At last, so that nothing in the bytes is a placeholder.
        Ok(if self.replies { arg.with_bytes() } else { arg })
    }

    fn with_placeholders(&mut self, word: &[u8]) -> Result<Arg, Text> {
        let arg = Arg::literal(word);
        let arg = if self.replies { arg.with_replies().with_derived()? } else { arg };
        let has_tokens = self.replies && self.protocol.is_memcache();
        let arg = if has_tokens { arg.with_cas() } else { arg };
        let arg = if self.options.server.cluster { arg.with_tags() } else { arg };
        self.has_lifetime |= self.translated || arg.names_lifetime();
        let arg = match self.options.data.ttl {
            Some(lifetime) => arg.with_lifetimes(lifetime),
            None if arg.names_lifetime() => {
                return Err(text!("__ttl__ requires {TTL}"));
            }
            None => arg,
        };
        let Some(dataset) = self.dataset else {
            if arg.names_field() {
                return Err(text!("a __field:name__ placeholder requires {DATASET} FILE"));
            }
            return Ok(if self.varies {
                arg.with_values()
            } else {
                arg.with_data(self.value_len, &mut self.skip)
            });
        };
        if word.windows(8).any(|w| w == b"__data__") {
            return Err(text!("__data__ placeholders cannot be used with {DATASET} option"));
        }
        self.has_field |= arg.names_field();
        arg.with_fields(dataset.columns()).map_err(|field| {
            let columns = dataset.columns().join(", ");
            text!(
                "Field placeholder '__field:{field}__' not found in dataset fields; available: \
                 {columns}"
            )
        })
    }
}

/// Refuses a lifetime that no command has a place for: memcached would never receive it.
fn check_lifetime(options: &LoadSpec, sequence: &[CommandSpec]) -> Result<(), Text> {
    let Some(lifetime) = options.data.ttl else { return Ok(()) };
    let of_fill = options.data.fill_with.as_ref();
    let filled = of_fill.is_some_and(|with| Arg::literal(with.as_bytes()).names_lifetime());
    // Reads need no lifetime, as on Redis.
    if filled || !sequence.iter().any(memcache::stores) {
        return Ok(());
    }
    Err(text!(
        "{TTL} {lifetime}: memcached commands have an argument for it: write __ttl__ there, such \
         as: set k:__key__ 0 __ttl__ __data__"
    ))
}

/// Beginning of the placeholder for a key that the operation inserts; `__` or `:` and a format follow.
const INSERT_PLACEHOLDER: &str = "__insert";
/// Beginning of the placeholder for an existing key.
const KEY_PLACEHOLDER: &str = "__key";

/// Returns whether an operation inserts its key, and replaces the key by `__key__`.
pub(crate) fn inserts(operation: &mut TypedOperation) -> Result<bool, Text> {
    let (key, insert) = (KEY_PLACEHOLDER.as_bytes(), INSERT_PLACEHOLDER.as_bytes());
    let begins = |word: &[u8], text: &[u8]| {
        let rest = word.strip_prefix(text);
        rest.is_some_and(|rest| rest.starts_with(b"__") || rest.starts_with(b":"))
    };
    let has = |word: &[u8], text: &[u8]| (0..word.len()).any(|at| begins(&word[at..], text));
    let mut words: Vec<&mut Vec<u8>> =
        operation.steps.iter_mut().flat_map(|step| &mut step.commands).flatten().collect();
    if !words.iter().any(|word| has(word, insert)) {
        return Ok(false);
    }
    if words.iter().any(|word| has(word, key)) {
        return Err(text!(
            "{INSERT_PLACEHOLDER}__ and __key__ in one operation: an operation has one key, \
             either new or existing; make two operations with {MIX}"
        ));
    }
    for word in &mut words {
        let mut rest = &word[..];
        let mut replaced = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let (part, skip) =
                if begins(rest, insert) { (key, insert.len()) } else { (&rest[..1], 1) };
            replaced.extend_from_slice(part);
            rest = &rest[skip..];
        }
        **word = replaced;
    }
    Ok(true)
}

/// The mix of operations, whose commands are in the sequence one after another.
fn mix(given: &[LoadOperation], pick: Pick) -> Mix {
    let typed: Vec<&TypedOperation> = given.iter().map(|operation| &operation.typed).collect();
    let names = operation_names(&typed);
    let operations =
        given.iter().zip(names).map(|(LoadOperation { typed, name, keys, .. }, by_commands)| {
            let steps = typed.steps.iter().map(|TypedStep { when, commands }| MixStep {
                commands: commands.len() as u32,
                when: *when,
            });
            Operation {
                name: name.clone().unwrap_or(by_commands),
                weight: typed.weight,
                steps: steps.collect(),
                keys: keys.clone(),
            }
        });
    Mix { operations: operations.collect(), pick }
}

fn dataset_of(options: &LoadSpec) -> Result<Option<Dataset>, Text> {
    let row = options.data.xml_root_element.as_deref();
    let rows_max =
        options.data.maxdocs.and_then(|Count(n)| usize::try_from(n).ok()).filter(|n| *n > 0);
    let known = options.peer.as_ref().and_then(|peer| peer.rows.as_deref().cloned());
    let path = options.data.dataset.as_deref().filter(|_| known.is_none());
    let read = path.map(|path| dataset::read(path, row, rows_max)).transpose()?;
    let Some(dataset) = known.or(read) else { return Ok(None) };
    let dataset = dataset.taken_by(options.data.rows_by.unwrap_or_default());
    let Some(value) = &options.data.row_value else { return Ok(Some(dataset)) };
    let column = dataset.columns().iter().position(|column| column == value);
    let column = column.ok_or_else(|| {
        let columns = dataset.columns().join(", ");
        text!("{ROW_VALUE}={value}: no such column in the dataset; available: {columns}")
    })?;
    Ok(Some(dataset.with_values(column)))
}
