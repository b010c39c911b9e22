//! Operations in words, and the keys that their patterns take.

use workload::derived::DrawnNumber;
use workload::{
    DerivedText, DrawnBy, KeyDist, KeyNumbering, KeySpace, MixStep, Operation, Pick, StepCondition,
};

use super::fault::{Fault, check_error};
use super::options::Options;
use super::values::Pattern;

/// The words of a command, with placeholders in them.
pub(super) type Words = Vec<String>;

/// Operations, each with its commands, and their order, which may be that of the lines of a capture.
pub(super) type Operations = (Vec<(Operation, Vec<Words>)>, Pick);

/// Placeholder of a key that is drawn for each of its places.
pub(super) const DRAWN_KEY: &str = "__rand_int__";

/// An operation of one command.
pub(super) fn one(name: &str, weight: u32, keys: KeySpace) -> Operation {
    let steps = vec![MixStep { commands: 1, when: StepCondition::Always }];
    Operation { name: name.to_owned(), weight, steps, keys: Some(keys) }
}

/// A number between two, drawn apart from those of other streams.
pub(super) fn between(least: u32, most: u32, stream: u8) -> String {
    if least == most {
        return least.to_string();
    }
    let number = DrawnNumber { least, most, stream, ..DrawnNumber::default() };
    format!("__{}__", DerivedText::Drawn(number))
}

/// The keys that a pattern takes.
pub(super) fn keys(options: &Options, pattern: Pattern) -> Result<KeySpace, Fault> {
    let (mut first, mut range) = (options.key_minimum, options.keys());
    if pattern == Pattern::Zipf && first == 0 {
        // There is no rank 0.
        (first, range) = (1, range.saturating_sub(1).max(1));
    }
    let dist = match pattern {
        Pattern::Random => "uniform".to_owned(),
        Pattern::Sequential | Pattern::Parallel => "sequential".to_owned(),
        // A key's number is its rank.
        Pattern::Zipf => match options.key_zipf_exp.unwrap_or(1.0).max(0.01) {
            exponent if first == 1 => format!("zipf:{exponent}"),
            exponent => format!("zipf:{exponent},{first}"),
        },
        Pattern::Gaussian => {
            let keys = range as f64;
            let middle =
                options.key_median.map_or(0.5, |median| (median - first as f64 + 0.5) / keys);
            let deviation = options.key_stddev.map_or(1.0 / 6.0, |deviation| deviation / keys);
            format!("gaussian:{},{}", middle.clamp(0.0, 1.0) * 100.0, deviation * 100.0)
        }
    };
    let draw: KeyDist = dist
        .parse()
        .map_err(|why: String| check_error(format!("key-pattern {}: {why}", pattern.letter())))?;
    let by = match pattern {
        Pattern::Sequential => DrawnBy::Operation,
        Pattern::Parallel => DrawnBy::Slice,
        _ if options.distinct_client_seed => DrawnBy::Request,
        _ => DrawnBy::Connection,
    };
    let numbered = KeyNumbering { first, bare: true, by };
    Ok(KeySpace { range: Some(range), draw, numbered, one_slot: None })
}
