//! What was typed, as plans: one for each test.

use report::Persona;
use report::slo::Slo;
use workload::suite::{FCALL_KEYS_MAX, FUNCTIONS_MAX, Origin, SUITE, SuiteShape, SuiteTest, names};
use workload::{Data, Lifetime, Plan, PlanParts, Stop};

use super::commands::TypedLoad;
use super::options::Options;
use super::target::OptionsAfterUri;
use super::values::OnErrorArg;
use super::{base, commands, ineffective, memcache, output, reads, replay};
use crate::{Action, Job};

/// The highest rate of --probe: beyond it, a probe would be a load itself.
const PROBE_MAX: f64 = 100_000.0;
/// Options of a single test.
pub(super) const START_AT: &str = "--start-at";
pub(crate) const NAME: &str = "--name";

/// Turns options into a job. `persona` is the name that was called, `after` has the options that stand after
/// `-u`, and `given` is what a workload file sends.
///
/// # Errors
/// What makes no sense, in words for the person who typed it.
pub(super) fn job(
    mut options: Options,
    persona: Persona,
    after: OptionsAfterUri,
    given: Option<TypedLoad>,
) -> Result<Job, String> {
    check_length(&options)?;
    let mut notes = notes(&options, persona);
    replay::check(&options)?;
    let suite = options.command.is_empty() && given.is_none() && options.data.replay.is_none();
    let output = output::output(&options, persona, suite)?;
    let slo = options.results.slo.clone();
    // A target for errors is one for a run that goes on in spite of them.
    if slo.as_ref().is_some_and(Slo::bounds_errors) {
        options.results.on_error.get_or_insert(OnErrorArg::Count);
    }
    let action = match options.load.idle {
        true => Action::Idle,
        false => Action::Run { repeat: options.load.repeat },
    };
    let base = base::base(&options, persona, after, &mut notes)?;
    check_load(&options, suite, given.is_some())?;
    let parts = tests(&options, persona, (base, given), suite, &mut notes)?;
    notes.extend(ineffective::notes(&options, persona, &parts));
    let plans = built(&options, parts)?;
    slo.iter().try_for_each(|slo| slo.check_plans(&plans))?;
    let start_at = options.load.start_at;
    if start_at.is_some() {
        single(START_AT, plans.len())?;
    }
    let repeats = options.load.repeats.unwrap_or(1);
    let probe = options.clients.probe.map(|rate| rate as f64);
    if probe.is_some_and(|rate| !(1.0..=PROBE_MAX).contains(&rate)) {
        return Err(format!("--probe: must be between 1 and {PROBE_MAX} requests per second"));
    }
    let server_clock = options.clients.server_clock(&plans)?;
    let several = options.clients.several(&plans)?;
    let greeting = String::new();
    Ok(Job {
        plans,
        slo,
        last: None,
        action,
        repeats,
        output,
        notes,
        remarks: Vec::new(),
        greeting,
        start_at,
        several,
        server_clock,
        probe,
    })
}

/// Checks options of a run's length, and those that require another option.
fn check_length(options: &Options) -> Result<(), String> {
    if let Some(refusal) = options.later.refused() {
        return Err(refusal);
    }
    if options.load.requests.is_some() && options.load.duration.is_some() {
        return Err("Options -n and --duration are mutually exclusive.".into());
    }
    let counted = options.load.requests.is_some() || options.data.replay.is_some();
    if options.load.time_limit.is_some() && !counted {
        return Err("--time-limit requires -n; without it, use --duration".into());
    }
    if options.data.xml_root_element.is_some() && options.data.dataset.is_none() {
        return Err("--xml-root-element requires an XML file (--dataset)".into());
    }
    Ok(())
}

/// Checks options that require commands, operations, or tests of the suite.
fn check_load(options: &Options, suite: bool, given: bool) -> Result<(), String> {
    if suite && options.data.dataset.is_some() {
        return Err(commands::FIELDS_WANTED.into());
    }
    if !given && options.data.order.is_some() && (suite || options.data.replay.is_some()) {
        return Err("--set order requires operations: --mix, or [[operation]] in a file".to_owned());
    }
    if suite && !options.server.replicas.rfr_also.is_empty() {
        return Err("--rfr-also: requires commands, such as: eval 'return 1' 0".into());
    }
    if suite && options.data.mix {
        return Err("--mix: requires commands, such as: --mix -r 1M -- 9 get k:__key__ ';' 1 set \
             k:__key__ __data__"
            .into());
    }
    for (option, number, most) in [
        ("--num-functions", options.data.num_functions, FUNCTIONS_MAX),
        ("--num-keys-in-fcall", options.data.num_keys_in_fcall, FCALL_KEYS_MAX),
    ] {
        if number > most {
            return Err(format!("{option} {number}: the maximum is {most}"));
        }
    }
    Ok(())
}

/// What each test sends: tests of the suite, commands, a file's operations, or a capture.
fn tests(
    options: &Options,
    persona: Persona,
    (base, given): (PlanParts, Option<TypedLoad>),
    suite: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<PlanParts>, String> {
    let value_len = base.data.payload_bytes as u32;
    let is_memcache = base.protocol.is_memcache();
    if is_memcache {
        memcache::check_lifetime(options.data.ttl)?;
    }
    let varies = base.data.values.is_some();
    let mut parts: Vec<PlanParts> = if suite && is_memcache {
        memcache::suite(&base, options)?
    } else if suite {
        let shape = SuiteShape {
            value_len,
            value_skip: 0,
            randomised: base.data.keys.range.is_some(),
            functions: options.data.num_functions,
            fcall_keys: options.data.num_keys_in_fcall,
            redis_zadd: persona.suite_of_redis,
            cluster: options.server.cluster,
        };
        let tests = chosen(options.data.tests.as_deref(), persona)?;
        tests.into_iter().map(|test| suite_parts(&base, test, &shape, options.data.ttl)).collect()
    } else {
        vec![match (given, options.data.replay.as_deref()) {
            (Some(given), _) => commands::given(base, options, given)?,
            (None, Some(path)) => replay::parts(base, options, path, notes)?,
            (None, None) => commands::parts(base, options, persona)?,
        }]
    };
    if is_memcache {
        let given = options.load.requests.is_some();
        parts.iter_mut().try_for_each(|parts| memcache::complete(parts, given))?;
    }
    reads::prepare(&mut parts, options, suite, (varies, value_len))?;
    if let Some(name) = &options.results.name {
        single(NAME, parts.len())?;
        for parts in &mut parts {
            (parts.name, parts.named) = (name.clone(), true);
        }
    }
    Ok(parts)
}

/// The plans of tests, checked.
fn built(options: &Options, mut parts: Vec<PlanParts>) -> Result<Vec<Plan>, String> {
    if let Some(retry) = options.load.retrying.plan(parts.first().map_or(1, depth)) {
        parts = parts.into_iter().map(|parts| parts.retrying(retry.clone())).collect();
    }
    let plans: Result<Vec<Plan>, _> = parts.into_iter().map(PlanParts::build).collect();
    let plans = plans.map_err(|e| e.to_string())?;
    plans.iter().try_for_each(|plan| memcache::check_ring(plan, options.load.idle))?;
    plans.iter().try_for_each(runner::check_memory)?;
    Ok(plans)
}

fn depth(parts: &PlanParts) -> u32 {
    parts.load.concurrency.pipeline_depth
}

/// Refuses an option that is for a single test if there are several.
pub(crate) fn single(option: &str, tests: usize) -> Result<(), String> {
    if tests <= 1 {
        return Ok(());
    }
    Err(format!(
        "{option} works with a single test only, and these are {tests}; name one with -t, or one \
         phase of a workload with --phase"
    ))
}

/// Warnings in the peers' words.
fn notes(options: &Options, persona: Persona) -> Vec<String> {
    let mut notes = Vec::new();
    let warning = persona.warning();
    if options.exit_on_error {
        let why = match persona {
            _ if !persona.is_peer() => {
                "An error reply ends the run unless --on-error count says otherwise."
            }
            _ => "We now immediately exit on error to avoid false results.",
        };
        notes.push(format!("{warning}: -e option has no effect. {why}"));
    }
    if options.load.keep_alive == 0 && !options.server.login_by_words {
        notes.push(format!(
            "{warning}: Keepalive disabled. You probably need 'echo 1 > \
             /proc/sys/net/ipv4/tcp_tw_reuse' for Linux and 'sudo sysctl -w \
             net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests"
        ));
    }
    if !options.command.is_empty() && options.data.tests.is_some() {
        notes.push(format!("{warning}: Option -t is ignored."));
    }
    notes
}

/// The tests that `-t` names, in the order of the suite.
fn chosen(tests: Option<&str>, persona: Persona) -> Result<Vec<&'static SuiteTest>, String> {
    let Some(tests) = tests else {
        let has = |t: &SuiteTest| !persona.suite_of_redis || t.origin == Origin::Redis;
        let by_default = |t: &&SuiteTest| t.by_default && has(t);
        return Ok(SUITE.iter().filter(by_default).collect());
    };
    let asked = tests.to_lowercase();
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
    let known = names();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        return Err(format!("-t: unknown test {unknown:?}; available: {known}"));
    }
    if asked.is_empty() {
        return Err(format!("-t: no test named; available: {}", known.join(", ")));
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
