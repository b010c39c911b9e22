//! The same loads for every server, read off one command line.

use lab::terms::started_alike;
use naming::{RATE, SLO};
use report::slo::Slo;
use workload::{Plan, PlanParts};

use super::super::run::ParsedArgs;
use super::super::side::Word;
use super::super::{Job, UsageError};
use super::arguments::{NAMED, SERVER_OPTIONS};
use super::common::{SECONDS_DEFAULT, TESTS_DEFAULT, WARMUP_DEFAULT, blocks, on, places, refuse};
use super::job::{ComparedLoad, LiveSides, Sides};
use super::terms::{EqualLoad, equal};
use spec::values::{Count, OnErrorArg, ProtocolArg};

/// The servers with their loads, and the job of the other options; `further` is the same command line at
/// further rates, `decides` is set if an answer is requested.
pub(super) fn sides(
    typed: &ParsedArgs,
    further: &[ParsedArgs],
    words: &[Word],
    asked: Option<ProtocolArg>,
    slo: Option<Slo>,
    decides: bool,
) -> Result<(Sides, Job), UsageError> {
    let is_memcache: Vec<bool> = words.iter().map(|word| word.is_memcache(asked)).collect();
    let mixed = is_memcache.windows(2).any(|pair| pair[0] != pair[1]);
    let read = |typed: &ParsedArgs| {
        if mixed { in_each_protocol(typed, words, asked) } else { alike(typed, words) }
    };
    let (mut loads, job) = read(typed)?;
    for typed in further {
        loads.extend(read(typed)?.0);
    }
    // All rates of a load in a row.
    let names: Vec<String> = loads.iter().map(|(name, _)| name.clone()).collect();
    loads.sort_by_key(|(name, _)| names.iter().position(|of| of == name));
    if slo.is_some() && loads.iter().any(|(_, plans)| plans[0].load.pace.schedule().is_none()) {
        return Err(UsageError(format!(
            "{SLO}: a target is kept at a rate; name it with {RATE}, such as {RATE} 30k"
        )));
    }
    for (slo, (_, plans)) in slo.iter().flat_map(|slo| loads.iter().map(move |load| (slo, load))) {
        slo.check_plans(plans).map_err(UsageError)?;
    }
    let is_open = |plans: &[Plan]| plans.iter().all(|plan| plan.load.pace.schedule().is_some());
    // How fast each load goes where an answer is requested, once for all its rates.
    let mut limits = Vec::new();
    if decides && let Some((_, plans)) = loads.iter().find(|(_, plans)| is_open(plans)) {
        let (mut closed, seed) = (typed.clone(), plans[0].load.seed);
        closed.complete(move |spec| {
            (spec.load.rate, spec.load.arrivals, spec.load.window) = (None, None, None);
            // One fill is enough for all.
            spec.data.seed = Some(Count(seed as i64));
        });
        limits = read(&closed)?.0;
    }
    let loads = loads.into_iter().map(|(name, plans)| {
        let at = limits.iter().position(|(of, _)| *of == name).filter(|_| is_open(&plans));
        let limits = at.map_or(Vec::new(), |at| limits.swap_remove(at).1);
        let at_rate = if further.is_empty() { String::new() } else { at_rate(&plans) };
        ComparedLoad { name, at_rate, plans, limits }
    });
    let loads = loads.collect();
    let (blocks, places) = (blocks(typed), places(typed, words));
    let sides = LiveSides { loads, blocks, decides, slo, mixed, places, replayed: None };
    Ok((Sides::Live(Box::new(sides)), job))
}

/// Returns what distinguishes a load from itself at other rates.
fn at_rate(plans: &[Plan]) -> String {
    let rate = plans.first().and_then(|plan| {
        let rate = plan.load.pace.schedule()?.rate_per_s()?;
        Some(plan.own_rate_per_s(rate))
    });
    rate.map_or(String::new(), |rate| format!(" at {}/s", report::grouped(rate)))
}

/// A load by its name, with a plan for each server.
type NamedLoad = (String, Vec<Plan>);

/// Reads the loads of servers that speak one protocol.
fn alike(typed: &ParsedArgs, words: &[Word]) -> Result<(Vec<NamedLoad>, Job), UsageError> {
    refuse(typed, &SERVER_OPTIONS, NAMED)?;
    let job = |word: &Word| {
        typed.job_with(|options| {
            options.load_default(TESTS_DEFAULT, SECONDS_DEFAULT, WARMUP_DEFAULT);
            // A comparison prints each server's share of them.
            options.spec.recording.on_error.get_or_insert(OnErrorArg::Count);
            word.put(options, words);
        })
    };
    let mut jobs = words.iter().map(job).collect::<Result<Vec<_>, _>>()?;
    let targets: Vec<_> = jobs
        .iter()
        .map(|job| job.plans.first().map(|plan| plan.target.clone()).unwrap_or_default())
        .collect();
    let mut first = jobs.swap_remove(0);
    let loads = std::mem::take(&mut first.plans).into_iter().map(|plan| {
        let name = plan.name.clone();
        let plans = targets.iter().map(|target| on(&plan, target)).collect::<Result<_, _>>()?;
        Ok((name, plans))
    });
    Ok((loads.collect::<Result<_, UsageError>>()?, first))
}

/// Reads the loads of servers that do not: each is read in the words of Redis, and translated for each.
fn in_each_protocol(
    typed: &ParsedArgs,
    words: &[Word],
    asked: Option<ProtocolArg>,
) -> Result<(Vec<NamedLoad>, Job), UsageError> {
    let EqualLoad { sides, tests, job } = equal(typed, words, asked, TESTS_DEFAULT)?;
    let loads = tests.into_iter().map(|test| {
        let plans = sides.iter().map(|side| -> Result<Plan, UsageError> {
            let target = started_alike(side, &test.load);
            let parts = test.load.in_protocol(side.protocol, target, &test.value);
            let parts = parts.map_err(UsageError)?;
            Ok(PlanParts { name: test.name.clone(), ..parts }.build()?)
        });
        let plans = plans.collect::<Result<_, _>>()?;
        Ok((test.name.clone(), plans))
    });
    Ok((loads.collect::<Result<_, UsageError>>()?, job))
}
