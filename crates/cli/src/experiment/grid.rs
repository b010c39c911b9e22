//! Grid of options with lists of values: every combination is an ordinary command line.
//!
//! Owns which options may be lists, and the order of the points: the first option typed varies slowest.

use std::collections::HashSet;

use lab::Axis;
use naming::{
    ARRIVALS, CONNECTIONS, DURATION, ENGINE, KEEP_ALIVE, KEY_RANGE, OptionId, PIPELINE, PRECISION,
    RATE, REQUESTS, SIZE, THREADS, WARMUP, WINDOW,
};

use super::super::deliver;
use super::lists::{ValueKind, values};
use super::typed_line::{TypedLine, TypedOption};

/// Maximum number of points of a grid.
pub(super) const POINTS_MAX: usize = 10_000;

/// The options of a load that may be lists; of deliveries, numbers may. Tests (`-t`) are a separate list with a row
/// for each.
const SWEPT: [(OptionId, ValueKind); 14] = [
    (CONNECTIONS, ValueKind::Whole),
    (PIPELINE, ValueKind::Whole),
    (SIZE, ValueKind::Whole),
    (KEY_RANGE, ValueKind::Whole),
    (REQUESTS, ValueKind::Whole),
    (KEEP_ALIVE, ValueKind::Whole),
    (THREADS, ValueKind::Whole),
    (DURATION, ValueKind::Time),
    (WARMUP, ValueKind::Time),
    (RATE, ValueKind::Rate),
    (ENGINE, ValueKind::Name),
    (WINDOW, ValueKind::Name),
    (ARRIVALS, ValueKind::Name),
    (PRECISION, ValueKind::Whole),
];

/// A grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    /// Varying axes.
    pub(super) axes: Vec<Axis>,
    line: TypedLine,
}

impl Grid {
    /// Creates the grid of a command line. Of repeated options the last counts, as in a run. Without axes
    /// there is one point.
    ///
    /// # Errors
    /// Returns an error in words for a person for an impossible range, or too many points.
    pub(super) fn from_line(line: TypedLine) -> Result<Self, String> {
        let is_delivery = line.rest.first().is_some_and(|word| word == deliver::WORD);
        let numbers = if is_delivery { deliver::numbers() } else { Vec::new() };
        let swept = |name: &str| {
            let of_load = SWEPT.iter().find(|(option, _)| option.word() == name);
            let of_messages = numbers.iter().any(|option| option == name);
            of_load.map(|(_, kind)| *kind).or(of_messages.then_some(ValueKind::Whole))
        };
        let mut later = HashSet::new();
        let mut options = Vec::new();
        for given in line.options.into_iter().rev() {
            if swept(&given.name).is_none() || later.insert(given.name.clone()) {
                options.push(given);
            }
        }
        options.reverse();
        let mut axes = Vec::new();
        for TypedOption { name, value } in &mut options {
            let (Some(kind), Some(text)) = (swept(name), value.as_ref()) else { continue };
            let Some(text) = text.to_str() else { continue };
            let values = values(kind, text).map_err(|why| format!("{name} {text}: {why}"))?;
            match &values[..] {
                [one] => *value = Some(one.into()),
                _ => axes.push(Axis { option: name.clone(), values }),
            }
        }
        let line = TypedLine { options, rest: line.rest };
        let points = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
        if points.is_none_or(|n| n > POINTS_MAX) {
            return Err(format!("the lists make more than {POINTS_MAX} points; use fewer values"));
        }
        Ok(Self { axes, line })
    }

    /// Every point, the last axis varying fastest: the value of each axis, and the command line with them.
    pub(super) fn points(&self) -> Vec<(Vec<String>, TypedLine)> {
        let count: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|number| self.point(number)).collect()
    }

    fn point(&self, number: usize) -> (Vec<String>, TypedLine) {
        let mut left = number;
        let mut settings: Vec<String> = Vec::new();
        for axis in self.axes.iter().rev() {
            settings.push(axis.values[left % axis.values.len()].clone());
            left /= axis.values.len();
        }
        settings.reverse();
        let mut line = self.line.clone();
        for (axis, value) in self.axes.iter().zip(&settings) {
            for given in line.options.iter_mut().filter(|given| given.name == axis.option) {
                given.value = Some(value.into());
            }
        }
        (settings, line)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::experiment::typed_line::Arity;

    fn grid(text: &str) -> Result<Grid, String> {
        Grid::from_line(TypedLine::parse(
            text.split_whitespace().map(OsString::from).collect(),
            |name| match name {
                "-q" | "--csv" => Some(Arity::Nothing),
                "--spawn" => Some(Arity::Attached),
                _ => Some(Arity::Value),
            },
        ))
    }

    fn lines(text: &str) -> Vec<String> {
        let word = |word: &OsString| word.to_string_lossy().into_owned();
        let points = grid(text).unwrap().points().into_iter();
        points
            .map(|(_, line)| line.words().iter().map(word).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn every_combination_is_a_command_line() {
        assert_eq!(
            lines("-q -P 1,16 -t set -c 1,10,100 -- get k"),
            [
                "-q -P 1 -t set -c 1 -- get k",
                "-q -P 1 -t set -c 10 -- get k",
                "-q -P 1 -t set -c 100 -- get k",
                "-q -P 16 -t set -c 1 -- get k",
                "-q -P 16 -t set -c 10 -- get k",
                "-q -P 16 -t set -c 100 -- get k",
            ]
        );
        let grid = grid("-P 1,16 -c 1,10,100").unwrap();
        assert_eq!(grid.axes[0].option, "-P");
        assert_eq!(grid.points()[4].0, ["16", "10"]);
    }

    #[test]
    fn a_line_without_lists_is_one_point() {
        assert_eq!(lines("-d 1k -t set,get --cpus 0,1"), ["-d 1000 -t set,get --cpus=0,1"]);
    }

    #[test]
    fn of_an_option_given_twice_the_last_counts() {
        assert_eq!(lines("-c 1,2 -P 1 -c 3,4"), ["-P 1 -c 3", "-P 1 -c 4"]);
        assert_eq!(lines("-c 1,2 -c 5"), ["-c 5"]);
    }

    #[test]
    fn a_grid_has_a_bound() {
        assert!(grid("-c 1..5/100 -n 1..900/900 -r 1..900/900").unwrap_err().contains("points"));
        assert!(grid("-c 1..0").unwrap_err().starts_with("-c 1..0: "));
    }
}
