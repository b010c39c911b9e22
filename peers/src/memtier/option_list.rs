//! Every option of memtier_benchmark from 2.3.1 to 2.5.0, and `--client-no-touch`: its names, and whether it takes a
//! value, as the help has them.

/// The version whose ways are kept.
pub(super) const VERSION: &str = "2.4.4";

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OptionNames {
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    /// Set if it takes a value.
    pub(super) takes: bool,
}

/// The help: every option in groups, its short name, long name and value before what it does.
pub(super) const USAGE: &str = include_str!("usage.txt");
/// Heading of keystorm's options that need no `ks-` prefix here; `--ks-verdict` and others do.
const OURS: &str = "Of keystorm:";

impl OptionNames {
    /// Reads a line of the help; `None` for one that begins no option.
    fn from_line(line: &'static str) -> Option<Self> {
        let line = line.strip_prefix("  ")?;
        let (short, line) = match line.strip_prefix('-') {
            Some(short) => (short.chars().next(), short.get(1..)?.strip_prefix(", ")?),
            None => (None, line.strip_prefix("    ")?),
        };
        let named = line.strip_prefix("--")?.split(' ').next()?;
        let (name, takes) = named.split_once('=').map_or((named, false), |(name, _)| (name, true));
        Some(Self { name, short, takes })
    }
}

fn options(help: &'static str) -> impl Iterator<Item = OptionNames> {
    help.lines().filter_map(OptionNames::from_line)
}

/// Every option of the original's.
pub(super) fn known() -> impl Iterator<Item = OptionNames> {
    options(USAGE.split(OURS).next().unwrap_or_default())
}

/// keystorm's options that need no prefix.
pub(super) fn ours() -> impl Iterator<Item = OptionNames> {
    let all = options(USAGE.split(OURS).nth(1).unwrap_or_default());
    all.filter(|option| !option.name.starts_with("ks-"))
}

/// The error for a command line that makes no sense.
pub(super) fn short_usage() -> String {
    let first = USAGE.lines().next().unwrap_or_default();
    format!(
        "{first}\nSee memtier_benchmark --help for the options (-h is --host), docs/memtier.md for what differs.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_names_of_its_own() {
        let all: Vec<OptionNames> = known().chain(ours()).collect();
        assert_eq!(all.len(), 113);
        for (at, known) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(known.name, other.name);
                assert!(known.short.is_none() || known.short != other.short, "{}", known.name);
            }
        }
        let port = OptionNames { name: "port", short: Some('p'), takes: true };
        assert!(all.contains(&port));
        assert!(ours().eq(
            [("print-plan", false), ("as", true)].map(|(name, takes)| OptionNames {
                name,
                short: None,
                takes
            })
        ));
    }

    #[test]
    fn lines_of_help_fit_a_terminal() {
        assert!(USAGE.lines().skip(2).all(|line| line.chars().count() <= 100));
        assert!(short_usage().lines().count() == 2);
    }
}
