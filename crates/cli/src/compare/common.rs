//! Parts that all kinds of sides have in common: the load where none is given, blocks, refusals.

use naming::{CPUS, ON, OptionId, SERVER_CPUS};
use workload::{Plan, Target};

use super::super::UsageError;
use super::super::run::ParsedArgs;
use super::super::side::Word;

pub(super) const NAME: &str = "keystorm compare";
/// The load where none is given.
pub(super) const TESTS_DEFAULT: &str = "set,get";
pub(super) const SECONDS_DEFAULT: f64 = 1.0;
pub(super) const WARMUP_DEFAULT: f64 = 0.2;
/// Five ratios make an interval of 2.8 standard errors to either side; with three it is 4.3, and more
/// than ten gain little.
const BLOCKS_DEFAULT: u32 = 5;

/// Returns the same plan for another server: the seed included, which a second parse would choose anew.
pub(super) fn on(plan: &Plan, target: &Target) -> Result<Plan, UsageError> {
    Ok(plan.with(|parts| parts.target = target.clone())?)
}

/// Returns whether servers and client are to have CPUs of their own: if this process starts all servers, and no option
/// names CPUs or other clients.
pub(super) fn places(typed: &ParsedArgs, words: &[Word]) -> bool {
    let own = words.iter().all(|word| matches!(word, Word::Program { .. }));
    own && !typed.typed().any(|id| OptionId::any_has(&[CPUS, SERVER_CPUS, ON], id))
}

/// Returns how many blocks there are, in each of which every server runs twice.
pub(super) fn blocks(typed: &ParsedArgs) -> u32 {
    typed.matches().get_one::<u32>("repeats").copied().unwrap_or(BLOCKS_DEFAULT)
}

pub(super) fn usage<T>(text: &str) -> Result<T, UsageError> {
    Err(UsageError(text.to_owned()))
}

pub(super) fn refuse(typed: &ParsedArgs, ids: &[OptionId], why: &str) -> Result<(), UsageError> {
    match typed.typed().find(|id| OptionId::any_has(ids, id)) {
        Some(id) => usage(&format!("{} {why}", typed.written(id))),
        None => Ok(()),
    }
}
