//! Work of a server for each request: instructions, by function, from runs of two lengths, and the difference
//! of another server.
//!
//! The slope between the lengths excludes the cost of the start. Each start has an address layout and a hash
//! seed of its own; several starts give each figure its interval, and two servers are compared start by start.

mod callgrind;
mod difference;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::origin::Origin;
use measure::statistics::Mean;

pub(crate) use callgrind::is_library;
pub use callgrind::{Cost, Counts};
pub use difference::{Change, Difference};

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.profile/1";
/// Share of the busiest thread's work below which a thread only serves the server itself, such as timers.
const THREAD_SHARE_MIN: f64 = 0.05;
/// Parts of the names of libc's vectorised functions, such as `__strcasecmp_avx2`.
const VECTORISED: [&str; 3] = ["_avx", "_evex", "_sse"];
/// Functions that are called less often are not known well enough to say what a call takes.
const CALLS_MIN: f64 = 0.05;
/// Most instructions that a call of a vectorised function takes more where a string lies near the end of a page.
const PLACE_MAX: f64 = 24.0;
/// Functions with fewer instructions in all are left out.
const INSTRUCTIONS_MIN: f64 = 0.5;

/// Instrument that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// Valgrind's tool: every instruction, by function, on a simulated processor.
    Callgrind,
    /// Counters of the processor, by the program `perf`: all instructions together, at full speed.
    Perf,
}

/// Measurements so far. Reads and writes as the document `keystorm.profile/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The name of the layout.
    pub schema: String,
    /// Set if everything has been measured as planned.
    pub complete: bool,
    /// Instrument that counts.
    pub counter: Counter,
    /// Version of the instrument.
    pub counter_version: String,
    /// Number of times that each server is started for each test and length.
    pub starts: u32,
    /// Largest increase in per cent that is allowed, if that was asked for.
    pub threshold: Option<f64>,
    /// Time, client and machine.
    #[serde(flatten)]
    pub origin: Origin,
    /// The server, or the old one and the new one.
    pub servers: Vec<ProfiledServer>,
    /// The tests that were measured, in their order.
    pub tests: Vec<ProfiledTest>,
}

/// A server that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledServer {
    /// Product and version.
    pub name: String,
    /// The program and its arguments.
    pub program: String,
}

/// Load that was measured on each server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfiledTest {
    /// Name of the test.
    pub name: String,
    /// Identity of its load: equal for equal loads, whatever the server.
    pub load: String,
    /// The load as options and their values.
    pub options: Vec<(String, String)>,
    /// Requests of the two lengths.
    pub requests: [u64; 2],
    /// Work on each server, as far as it has been measured.
    pub servers: Vec<Work>,
    /// Difference of the second server from the first.
    pub difference: Option<Difference>,
}

/// Work of a server for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Instructions.
    pub instructions: Figure,
    /// System calls; `None` where they are not counted.
    pub system_calls: Option<Figure>,
    /// Calls that hand out memory; `None` where the program does not name the functions that do.
    pub allocations: Option<Figure>,
    /// Functions, the costliest first; none where they are not counted.
    pub functions: Vec<Function>,
}

/// A figure over several starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// Range that holds the true mean 95 times in 100; `None` of a single start.
    pub interval: Option<(f64, f64)>,
    /// Values of the starts.
    pub values: Vec<f64>,
}

/// A function, in instructions for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Name of the function; `[libc.so.6]` for those of a library that have none.
    pub name: String,
    /// Instructions of its own.
    pub own: f64,
    /// Instructions including those of called functions; `None` for a library.
    pub inclusive: Option<f64>,
}

impl Figure {
    fn from_values(values: Vec<f64>) -> Option<Self> {
        let Mean { mean, interval, .. } = Mean::from_values(&values)?;
        Some(Self { mean, interval: interval.map(|of| (of.low, of.high)), values })
    }
}

/// Counts of each request by one start: the slope between the threads' counts of runs of two lengths, `requests` apart.
/// `None` where the longer one has not more instructions.
pub fn slope(short: &[Counts], long: &[Counts], requests: f64) -> Option<Counts> {
    let none = Counts::default();
    let threads = long.iter().zip(short.iter().chain(std::iter::repeat(&none)));
    let growth = |long: &Counts, short: &Counts| long.instructions - short.instructions;
    let most = threads.clone().map(|(long, short)| growth(long, short)).fold(0.0, f64::max);
    let mut slope = Counts::default();
    for (long, short) in threads {
        if growth(long, short) > most * THREAD_SHARE_MIN {
            slope.add(long, requests);
            slope.add(short, -requests);
        }
    }
    (slope.instructions > 0.0).then_some(slope)
}

impl Work {
    /// The work of a server by these starts; `None` without any.
    pub fn from_starts(starts: &[Counts]) -> Option<Self> {
        let figure = |of: fn(&Counts) -> Option<f64>| {
            Figure::from_values(starts.iter().map(of).collect::<Option<_>>()?)
        };
        let mut mean = Counts::default();
        starts.iter().for_each(|of| mean.add(of, starts.len() as f64));
        mean.functions.retain(|_, cost| cost.own.max(cost.inclusive) >= INSTRUCTIONS_MIN);
        let functions = mean.functions.into_iter().map(|(name, Cost { own, inclusive, .. })| {
            let inclusive = (!is_library(&name)).then_some(inclusive);
            Function { name, own, inclusive }
        });
        let mut functions: Vec<Function> = functions.collect();
        functions.sort_by(|a, b| b.own.total_cmp(&a.own));
        Some(Self {
            instructions: figure(|counts| Some(counts.instructions))?,
            system_calls: figure(|counts| counts.system_calls),
            allocations: figure(|counts| counts.allocations),
            functions,
        })
    }
}

/// Takes off what vectorised functions of libc need more where strings lie badly in memory, which differs from start to
/// start: each call of them counts with the least that one took in any of these starts with as many calls.
pub fn aligned(starts: &[Counts]) -> Vec<Counts> {
    let group = |name: &str, calls: f64| (name.to_owned(), (calls / CALLS_MIN).round() as u64);
    let mut least: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for (name, cost) in starts.iter().flat_map(|counts| &counts.functions) {
        if cost.calls >= CALLS_MIN && VECTORISED.iter().any(|part| name.contains(part)) {
            let each = least.entry(group(name, cost.calls)).or_insert(f64::INFINITY);
            *each = each.min(cost.own / cost.calls);
        }
    }
    let mut aligned = starts.to_vec();
    for counts in &mut aligned {
        for (name, cost) in &mut counts.functions {
            let Some(each) = least.get(&group(name, cost.calls)) else { continue };
            let more = cost.own - cost.calls * each;
            // More than that is work.
            if more <= cost.calls * PLACE_MAX {
                cost.own -= more;
                cost.inclusive -= more;
                counts.instructions -= more;
            }
        }
    }
    aligned
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Counts of a thread with these functions, each with instructions of its own.
    pub(crate) fn counts(functions: &[(&str, f64)]) -> Counts {
        let costs = functions.iter().map(|(name, own)| {
            ((*name).to_owned(), Cost { own: *own, inclusive: *own, calls: 2.0 })
        });
        Counts {
            instructions: functions.iter().map(|(_, own)| own).sum(),
            system_calls: Some(2.0),
            allocations: None,
            functions: costs.collect(),
        }
    }

    #[test]
    fn a_slope_has_neither_what_a_start_costs_nor_other_threads() {
        let short = [counts(&[("init", 900.0), ("get", 1e6)]), counts(&[("timer", 10.0)])];
        let long = [
            counts(&[("init", 900.0), ("get", 2e6), ("late", 500.0)]),
            counts(&[("timer", 40_000.0)]),
            counts(&[("io", 1e6)]),
        ];
        let slope = slope(&short, &long, 1000.0).unwrap();
        assert_eq!(slope.instructions, 2000.5);
        let own: Vec<_> = slope.functions.iter().map(|(name, cost)| (&**name, cost.own)).collect();
        assert_eq!(own, [("get", 1000.0), ("init", 0.0), ("io", 1000.0), ("late", 0.5)]);
        assert_eq!((slope.system_calls, slope.allocations), (Some(0.002), None));
        assert_eq!(super::slope(&long, &long, 1000.0), None);
    }

    #[test]
    fn work_is_the_mean_of_the_starts_with_its_interval() {
        let starts = [10.0, 11.0, 12.0]
            .map(|own| counts(&[("get", own), ("[libc.so.6]", 2.0), ("no", 0.1)]));
        let work = Work::from_starts(&starts).unwrap();
        assert!((work.instructions.mean - 13.1).abs() < 1e-9);
        let (low, high) = work.instructions.interval.unwrap();
        assert!((10.5..10.7).contains(&low) && (15.5..15.7).contains(&high), "{low} {high}");
        let names: Vec<_> = work.functions.iter().map(|of| (&*of.name, of.inclusive)).collect();
        assert_eq!(names, [("get", Some(11.0)), ("[libc.so.6]", None)]);
        assert_eq!((work.allocations, Work::from_starts(&[])), (None, None));
    }

    #[test]
    fn where_strings_lie_in_memory_is_no_work() {
        let start = |compare: f64| {
            counts(&[("get", 100.0), ("__strcasecmp_avx2", compare), ("str", compare)])
        };
        let found = aligned(&[start(44.0), start(66.0)]);
        assert_eq!(found.iter().map(|of| of.instructions).collect::<Vec<_>>(), [188.0, 210.0]);
        assert_eq!(found[1].functions["__strcasecmp_avx2"].own, 44.0);
        let longer = aligned(&[start(44.0), start(144.0)]);
        assert_eq!(longer[1].instructions, 388.0, "so much is no matter of a place");
    }
}
