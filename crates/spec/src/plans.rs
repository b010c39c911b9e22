//! The plans of a requested load: one for each test.

use naming::{
    ARRIVALS, DATASET, DURATION, KEY_RANGE, MIX, NAME, NUM_FUNCTIONS, NUM_KEYS_IN_FCALL, ORDER,
    OptionId, PHASE, RATE, REQUESTS, RFR_ALSO, TESTS, TIME_LIMIT, Text, XML_ROOT_ELEMENT, text,
};
use workload::suite::{FCALL_KEYS_MAX, FUNCTIONS_MAX, Origin, SUITE, SuiteShape, SuiteTest, names};
use workload::{Data, Lifetime, Plan, PlanParts, Stop};

use crate::values::{Count, TestName};
use crate::{LoadSpec, SpecError, TypedLoad, base, commands, ineffective, memcache, reads, replay};

/// Default of `--num-functions`.
const FUNCTIONS_DEFAULT: u32 = 10;

impl LoadSpec {
    /// The checked plans of a load: one for each test. Remarks for the user are added to `notes`.
    ///
    /// # Errors
    /// Returns the reason, in words for the person who typed it, if the options make no sense.
    pub fn plans(&self, notes: &mut Vec<String>) -> Result<Vec<Plan>, SpecError> {
        match &self.delivery {
            Some(receivers) => receivers.senders_of(self)?.checked_plans(notes),
            None => self.checked_plans(notes),
        }
        .map_err(SpecError::from)
    }

    fn checked_plans(&self, notes: &mut Vec<String>) -> Result<Vec<Plan>, Text> {
        check_length(self)?;
        notes.extend(self::notes(self));
        replay::check(self)?;
        let base = base::base(self, notes)?;
        check_load(self)?;
        let given = match &self.given {
            None if !self.command.is_empty() && self.data.replay.is_none() => {
                Some(self.typed(base.target.credentials.as_ref())?)
            }
            given => given.clone(),
        };
        let parts = tests(self, base, given.clone(), notes)?;
        notes.extend(ineffective::notes(self, &parts));
        built(self, given, parts)
    }

    /// Returns whether tests of the suite are what is sent.
    pub fn is_suite(&self) -> bool {
        let of_receivers = self.delivery.is_some();
        let others = self.given.is_some() || self.data.replay.is_some() || of_receivers;
        self.command.is_empty() && !others
    }
}

/// Checks options of a run's length, and those that require another option.
fn check_length(options: &LoadSpec) -> Result<(), Text> {
    if options.load.requests.is_some() && options.load.duration.is_some() {
        return Err(text!("Options {REQUESTS} and {DURATION} are mutually exclusive."));
    }
    let counted = options.load.requests.is_some() || options.data.replay.is_some();
    if options.load.time_limit.is_some() && !counted {
        return Err(text!("{TIME_LIMIT} requires {REQUESTS}; without it, use {DURATION}"));
    }
    if options.load.arrivals.is_some() && options.load.rate.is_none() {
        return Err(text!("{ARRIVALS} requires a rate, {RATE}"));
    }
    if options.data.xml_root_element.is_some() && options.data.dataset.is_none() {
        return Err(text!("{XML_ROOT_ELEMENT} requires an XML file ({DATASET})"));
    }
    Ok(())
}

/// Checks options that require commands, operations, or tests of the suite.
fn check_load(options: &LoadSpec) -> Result<(), Text> {
    let suite = options.is_suite();
    if suite && options.data.dataset.is_some() {
        return Err(commands::fields_wanted());
    }
    if options.given.is_none()
        && options.data.order.is_some()
        && (suite || options.data.replay.is_some())
    {
        return Err(text!("{ORDER} requires operations: {MIX}, or [[operation]] in a file"));
    }
    if suite && !options.server.replicas.rfr_also.is_empty() {
        return Err(text!("{RFR_ALSO}: requires commands, such as: eval 'return 1' 0"));
    }
    if suite && options.data.mix {
        return Err(text!(
            "{MIX}: requires commands, such as: {MIX} {KEY_RANGE} 1M -- 9 get k:__key__ ';' 1 set \
             k:__key__ __data__"
        ));
    }
    for (option, number, most) in [
        (NUM_FUNCTIONS, functions(options), FUNCTIONS_MAX),
        (NUM_KEYS_IN_FCALL, fcall_keys(options), FCALL_KEYS_MAX),
    ] {
        if number > most {
            return Err(text!("{option} {number}: the maximum is {most}"));
        }
    }
    Ok(())
}

fn functions(options: &LoadSpec) -> u32 {
    options.data.num_functions.map_or(FUNCTIONS_DEFAULT, |Count(number)| number)
}

fn fcall_keys(options: &LoadSpec) -> u32 {
    options.data.num_keys_in_fcall.map_or(1, |Count(number)| number)
}

/// Returns what each test sends: tests of the suite, commands, a file's operations, or a capture.
fn tests(
    options: &LoadSpec,
    base: PlanParts,
    given: Option<TypedLoad>,
    notes: &mut Vec<String>,
) -> Result<Vec<PlanParts>, Text> {
    let value_len = base.data.payload_bytes as u32;
    let is_memcache = base.protocol.is_memcache();
    if is_memcache && options.peer.is_none() {
        memcache::check_lifetime(options.data.ttl)?;
    }
    let varies = base.data.values.is_some();
    let mut parts: Vec<PlanParts> = if let Some(given) = given {
        vec![commands::parts(base, options, given)?]
    } else if let Some(path) = &options.data.replay {
        vec![replay::parts(base, options, path, notes)?]
    } else if is_memcache {
        memcache::suite(&base, options)?
    } else {
        let shape = SuiteShape {
            value_len,
            value_skip: 0,
            randomised: base.data.keys.range.is_some(),
            functions: functions(options),
            fcall_keys: fcall_keys(options),
            redis_zadd: options.dialect.suite_of_redis,
            cluster: options.server.cluster,
        };
        let tests = chosen(options)?;
        tests.into_iter().map(|test| suite_parts(&base, test, &shape, options.data.ttl)).collect()
    };
    if let Some(peer) = &options.peer {
        let has_size = options.data.size.is_some();
        parts.iter_mut().try_for_each(|parts| peer.complete(parts, has_size))?;
    }
    if is_memcache {
        let given = options.load.requests.is_some();
        parts.iter_mut().try_for_each(|parts| memcache::complete(parts, given))?;
    }
    // Others' commands are filled as far as that is possible, as those of the suite.
    let lenient = options.is_suite() || options.peer.is_some();
    reads::prepare(&mut parts, options, lenient, varies, value_len)?;
    if let Some(TestName(name)) = &options.recording.name {
        single(NAME, parts.len())?;
        for parts in &mut parts {
            (parts.name, parts.named) = (name.clone(), true);
        }
    }
    Ok(parts)
}

/// The plans of tests, checked.
fn built(
    options: &LoadSpec,
    given: Option<TypedLoad>,
    mut parts: Vec<PlanParts>,
) -> Result<Vec<Plan>, Text> {
    let depth = parts.first().map_or(1, |parts| parts.load.concurrency.pipeline_depth);
    if let Some(retry) = options.load.retrying.plan(depth) {
        parts = parts.into_iter().map(|parts| parts.retrying(retry.clone())).collect();
    }
    for parts in &mut parts {
        parts.asked = options.asking_for(given.clone(), parts);
        let operations = parts.mix.iter_mut().flat_map(|mix| &mut mix.operations);
        for (operation, weight) in operations.zip(&options.data.weights) {
            operation.weight = *weight;
        }
        options.delivery.iter().try_for_each(|receivers| receivers.add_to(parts))?;
    }
    let plans: Vec<Plan> = parts.into_iter().map(PlanParts::build).collect::<Result<_, _>>()?;
    plans.iter().try_for_each(|plan| memcache::check_ring(plan, options.load.idle))?;
    Ok(plans)
}

/// Refuses an option for a single test if there are several tests.
///
/// # Errors
/// Returns an error if there is more than one test.
pub fn single(option: OptionId, tests: usize) -> Result<(), Text> {
    if tests <= 1 {
        return Ok(());
    }
    Err(text!(
        "{option} works with a single test only, and these are {tests}; name one with {TESTS}, or one \
         phase of a workload with {PHASE}"
    ))
}

/// Warnings in the peers' words.
fn notes(options: &LoadSpec) -> Vec<String> {
    let mut notes = Vec::new();
    let warning = options.dialect.warning;
    if !options.load.keeps_alive() && options.dialect.mentions_keep_alive {
        notes.push(format!(
            "{warning}: Keepalive disabled. You probably need 'echo 1 > \
             /proc/sys/net/ipv4/tcp_tw_reuse' for Linux and 'sudo sysctl -w \
             net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests"
        ));
    }
    if !options.command.is_empty() && options.data.tests.is_some() {
        notes.push(format!("{warning}: Option {TESTS} is ignored."));
    }
    notes
}

/// The tests that `-t` names, in the order of the suite.
fn chosen(options: &LoadSpec) -> Result<Vec<&'static SuiteTest>, Text> {
    let Some(tests) = options.data.tests.as_deref() else {
        let has = |t: &SuiteTest| !options.dialect.suite_of_redis || t.origin == Origin::Redis;
        return Ok(SUITE.iter().filter(|t| t.by_default && has(t)).collect());
    };
    let asked = tests.to_lowercase();
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
    let known = names();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        return Err(text!("{TESTS}: unknown test {unknown:?}; available: {known}"));
    }
    if asked.is_empty() {
        return Err(text!("{TESTS}: no test named; available: {}", known.join(", ")));
    }
    Ok(SUITE.iter().filter(|t| t.names.iter().any(|n| asked.contains(n))).collect())
}

fn suite_parts(
    base: &PlanParts,
    test: &SuiteTest,
    shape: &SuiteShape,
    lifetime: Option<Lifetime>,
) -> PlanParts {
    let command = test.command(shape);
    let command = if base.data.values.is_some() { command.with_values() } else { command };
    let command = match lifetime {
        Some(lifetime) => command.with_lifetime(lifetime),
        None => command,
    };
    let requests = match base.load.stop {
        Stop::Requests(requests) => Some(requests),
        Stop::AfterNs(_) => None,
    };
    let tags = test.tags(requests).filter(|_| shape.cluster);
    PlanParts {
        name: test.title.to_owned(),
        setup: test.setup(shape).into_iter().collect(),
        sequence: vec![command],
        data: Data { tags, ..base.data.clone() },
        ..base.clone()
    }
}
