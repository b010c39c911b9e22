//! Values of its options: numbers, ratios, ranges, lists, words and key patterns. A reader gets the name of the option
//! for its error, and the text.

use spec::Address;
use workload::ProtocolKind;
use workload::typed_login::shown_address;

use super::fault::{Fault, usage_error};

/// Nodes that answer reads, and what reads do that are for a replica where there is none; the defaults first.
pub(super) const PRIMARY: &str = "primary";
pub(super) const SECONDARY: &str = "secondary";
pub(super) const NEAREST: &str = "nearest";
pub(super) const PREFERENCES: &[&str] = &[PRIMARY, SECONDARY, "secondaryPreferred", NEAREST];
pub(super) const FALLBACKS: &[&str] = &["error", "queue", PRIMARY];

/// Longest run, in seconds.
const SECONDS_MAX: u64 = 366 * 86_400;

/// An option without a value.
pub(super) fn flag(_: &str, _: &str) -> Result<bool, Fault> {
    Ok(true)
}

pub(super) fn text(_: &str, text: &str) -> Result<String, Fault> {
    Ok(text.to_owned())
}

/// A text; an empty one counts as not given.
pub(super) fn non_empty(_: &str, text: &str) -> Result<Option<String>, Fault> {
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// A whole number from 0 on, nothing before or behind it.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// A number from `least` on.
fn at_least(name: &str, text: &str, least: u64) -> Result<u64, Fault> {
    number(text).filter(|number| *number >= least).ok_or_else(|| {
        let bound = if least > 0 { "greater than zero" } else { "greater than or equal to zero" };
        usage_error(format!("{name} must be {bound}."))
    })
}

/// Reads a number of at least `least` that fits into 32 bits.
fn small(name: &str, text: &str, least: u64) -> Result<u32, Fault> {
    let number = at_least(name, text, least)?;
    u32::try_from(number).map_err(|_| usage_error(format!("{name} {number} is too large.")))
}

/// A number from 1 on.
pub(super) fn whole(name: &str, text: &str) -> Result<u64, Fault> {
    at_least(name, text, 1)
}

/// A number from 0 on that fits into 32 bits.
pub(super) fn natural(name: &str, text: &str) -> Result<u32, Fault> {
    small(name, text, 0)
}

/// A number from 1 on that fits into 32 bits.
pub(super) fn positive(name: &str, text: &str) -> Result<u32, Fault> {
    small(name, text, 1)
}

/// Reads a number; 0 is no limit.
pub(super) fn limit(name: &str, text: &str) -> Result<Option<u32>, Fault> {
    Ok(Some(natural(name, text)?).filter(|limit| *limit > 0))
}

/// Seconds of a run.
pub(super) fn seconds(name: &str, text: &str) -> Result<u64, Fault> {
    Ok(whole(name, text)?.min(SECONDS_MAX))
}

/// Number of retries; none for no limit.
pub(super) fn retries(name: &str, text: &str) -> Result<Option<u32>, Fault> {
    let most = if text == "-1" { Ok(None) } else { natural(name, text).map(Some) };
    most.map_err(|_| {
        usage_error("max-retries must be -1 (unlimited), 0 (disabled) or a positive number.")
    })
}

pub(super) fn retry_factor(name: &str, text: &str) -> Result<f64, Fault> {
    let factor = finite(text).filter(|factor| *factor >= 0.0);
    factor.ok_or_else(|| usage_error(format!("{name} must be greater than or equal to zero.")))
}

/// A decimal number above 0.
pub(super) fn decimal(name: &str, text: &str) -> Result<f64, Fault> {
    let number = finite(text).filter(|number| *number > 0.0);
    number.ok_or_else(|| usage_error(format!("{name} must be finite and greater than zero.")))
}

/// Per cent, from 0 on.
pub(super) fn percent(name: &str, text: &str) -> Result<f64, Fault> {
    let number = finite(text).filter(|number| *number >= 0.0);
    number.ok_or_else(|| usage_error(format!("{name} must be a percentage of at least zero.")))
}

/// A decimal number.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Two numbers, if both fit into 32 bits.
fn both_small(numbers: [u64; 2]) -> Option<(u32, u32)> {
    let [a, b] = numbers.map(|number| u32::try_from(number).ok());
    a.zip(b)
}

/// `A:B`.
pub(super) fn ratio(name: &str, text: &str) -> Result<(u32, u32), Fault> {
    let parts = text.split_once(':').and_then(|(a, b)| Some([number(a)?, number(b)?]));
    let parts = parts.and_then(both_small).filter(|parts| *parts != (0, 0));
    parts.ok_or_else(|| usage_error(format!("{name} must be expressed as [0-n]:[0-n].")))
}

/// `A-B`, the smaller one first; both at least `least`.
fn range(name: &str, text: &str, least: u64) -> Result<(u64, u64), Fault> {
    let parts = text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    let sorted = parts.map(|(a, b)| (a.min(b), a.max(b)));
    sorted.filter(|(a, b)| *a >= least && *b >= 1).ok_or_else(|| {
        usage_error(format!("{name} must be expressed as [{least}-n]-[{}-n].", least.max(1)))
    })
}

/// `A-B`, from 0 on.
pub(super) fn span(name: &str, text: &str) -> Result<(u64, u64), Fault> {
    range(name, text, 0)
}

/// `A-B`, from 0 on, of numbers that fit into 32 bits.
pub(super) fn small_range(name: &str, text: &str) -> Result<(u32, u32), Fault> {
    let both = both_small(span(name, text)?.into());
    both.ok_or_else(|| usage_error(format!("{name} must not be above {}.", u32::MAX)))
}

/// `SIZE:WEIGHT,…`.
pub(super) fn size_list(text: &str) -> Result<Vec<(u32, u32)>, Fault> {
    let items = text.split(',').map(|item| {
        let (size, weight) = item.split_once(':')?;
        let small = |text| u32::try_from(number(text)?).ok().filter(|number| *number > 0);
        Some((small(size)?, small(weight)?))
    });
    let list: Option<Vec<_>> = items.collect();
    list.ok_or_else(|| {
        usage_error("data-size-list must be expressed as [size1:weight1],...,[sizeN:weightN].")
    })
}

/// Versions of TLS, one by one.
pub(super) fn tls_protocols(_: &str, text: &str) -> Result<String, Fault> {
    let known = ["tlsv1", "tlsv1.1", "tlsv1.2", "tlsv1.3"];
    if text.split(',').all(|word| known.contains(&&*word.trim().to_lowercase())) {
        Ok(text.to_owned())
    } else {
        Err(usage_error(
            "tls-protocols must be a comma separated list of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3.",
        ))
    }
}

/// `50,99,99.9`.
pub(super) fn percentiles(_: &str, text: &str) -> Result<Vec<f64>, Fault> {
    let one = |text: &str| text.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
    // A comma behind the last is taken there.
    let text = text.strip_suffix(',').unwrap_or(text);
    let all: Option<Vec<f64>> = text.split(',').map(one).collect();
    all.ok_or_else(|| {
        usage_error("quantiles must be expressed as [0.0-100.0],[0.0-100.0](,[0.0-100.0])+ .")
    })
}

/// Pattern by which keys are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// At random.
    Random,
    /// In order, each connection all of them.
    Sequential,
    /// In order, each connection a part of its own.
    Parallel,
    /// Around a middle.
    Gaussian,
    /// The lower the likelier.
    Zipf,
}

/// Patterns by their letters.
const PATTERNS: [(char, Pattern); 5] = [
    ('R', Pattern::Random),
    ('S', Pattern::Sequential),
    ('P', Pattern::Parallel),
    ('G', Pattern::Gaussian),
    ('Z', Pattern::Zipf),
];

impl Pattern {
    fn from_letter(letter: char) -> Option<Self> {
        PATTERNS.iter().find(|(own, _)| *own == letter).map(|(_, pattern)| *pattern)
    }

    /// Reads a pattern for both SETs and GETs.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Fault> {
        let mut letters = text.chars();
        let one = letters.next().and_then(Self::from_letter).filter(|_| letters.next().is_none());
        one.ok_or_else(|| usage_error(format!("{name} must be one of S, R, Z, G or P.")))
    }

    /// `SET:GET`.
    pub(super) fn pair(_: &str, text: &str) -> Result<[Self; 2], Fault> {
        let letters: Vec<char> = text.chars().collect();
        let both = match letters[..] {
            [set, ':', get] => Self::from_letter(set).zip(Self::from_letter(get)),
            _ => None,
        };
        let (set, get) = both.ok_or_else(|| {
            usage_error("key-pattern must be in the format of \"S:S\" or \"R:R\" or \"P:P\" or \"G:G\" or \"Z:Z\" or any pair.")
        })?;
        if (set == Self::Parallel) != (get == Self::Parallel) {
            return Err(usage_error(
                "parallel key-pattern must be configured for both SET and GET commands.",
            ));
        }
        Ok([set, get])
    }

    /// Letter of the pattern.
    pub(super) fn letter(self) -> char {
        PATTERNS[self as usize].0
    }
}

/// A protocol by its name.
pub(super) fn protocol_kind(name: &str) -> Option<ProtocolKind> {
    Some(match name {
        "redis" | "resp2" => ProtocolKind::Resp2,
        "resp3" => ProtocolKind::Resp3,
        "memcache_text" => ProtocolKind::MemcacheText,
        "memcache_binary" => ProtocolKind::MemcacheBinary,
        _ => return None,
    })
}

pub(super) fn protocol(_: &str, text: &str) -> Result<String, Fault> {
    protocol_kind(text).map(|_| text.to_owned()).ok_or_else(|| {
        usage_error(
            "supported protocols are 'memcache_text', 'memcache_binary', 'redis', 'resp2' and \
             'resp3'.",
        )
    })
}

pub(super) fn port(_: &str, text: &str) -> Result<u16, Fault> {
    // memtier_benchmark takes the last 16 bits of larger numbers, which no user wants.
    let port = number(text).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    port.ok_or_else(|| usage_error("port must be a number in the range [1-65535]."))
}

/// Number of requests that each connection sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    Number(u64),
    /// A request for each key.
    AllKeys,
}

pub(super) fn requests(name: &str, text: &str) -> Result<Requests, Fault> {
    match text {
        "allkeys" => Ok(Requests::AllKeys),
        _ => whole(name, text).map(Requests::Number),
    }
}

pub(super) fn sizes(name: &str, text: &str) -> Result<(u32, u32), Fault> {
    let both = both_small(range(name, text, 1)?.into());
    both.ok_or_else(|| usage_error(format!("{name} {text} is too large.")))
}

pub(super) fn exponent(_: &str, text: &str) -> Result<f64, Fault> {
    let exponent = text.parse::<f64>().ok().filter(|exponent| *exponent > 0.0 && *exponent < 5.0);
    exponent.ok_or_else(|| usage_error("key-zipf-exp must be within interval (0, 5)."))
}

/// Returns whether a text is the second of two words.
pub(super) fn one_of(name: &str, text: &str, first: &str, second: &str) -> Result<bool, Fault> {
    match text {
        text if text == first => Ok(false),
        text if text == second => Ok(true),
        _ => Err(usage_error(format!("{name} must be either {first} or {second}."))),
    }
}

/// Finds a text among these words.
pub(super) fn word(name: &str, text: &str, known: &[&'static str]) -> Result<&'static str, Fault> {
    let found = known.iter().find(|word| **word == text).copied();
    found.ok_or_else(|| usage_error(format!("--{name} must be one of: {}.", known.join(", "))))
}

/// A server of its own beside the one that is asked.
pub(super) fn read_server(text: &str) -> Result<Address, Fault> {
    text.parse().map_err(|_| {
        usage_error(format!("--read-server: expected HOST:PORT, got '{}'.", shown_address(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_to_their_last_character() {
        assert_eq!(
            (number("10"), number("1k"), number("-1"), number("")),
            (Some(10), None, None, None)
        );
        assert_eq!(ratio("ratio", "1:10"), Ok((1, 10)));
        assert!(ratio("ratio", "0:0").is_err() && ratio("ratio", "1:x").is_err());
        assert_eq!(range("data-size-range", "20-10", 1), Ok((10, 20)));
        assert!(range("data-size-range", "0-10", 1).is_err());
        assert_eq!(size_list("10:1,20:2"), Ok(vec![(10, 1), (20, 2)]));
        assert!(size_list("10:0").is_err() && size_list("0:1").is_err());
        assert_eq!(percentiles("", "99.9,50"), Ok(vec![99.9, 50.0]));
        assert_eq!(percentiles("", "50,"), Ok(vec![50.0]));
        assert!(percentiles("", "101").is_err() && percentiles("", ",").is_err());
    }

    #[test]
    fn patterns_are_pairs_of_capital_letters() {
        assert_eq!(Pattern::pair("", "R:S"), Ok([Pattern::Random, Pattern::Sequential]));
        for (bad, says) in [("r:r", "format"), ("R", "format"), ("P:R", "both SET and GET")] {
            let Err(Fault::Usage(line)) = Pattern::pair("", bad) else { panic!("{bad}") };
            assert!(line.contains(says), "{line}");
        }
    }
}
