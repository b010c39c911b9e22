//! Text form of distributions: a name and parameters, such as `zipf:1.2`, `hotspot:80/20` or
//! `uniform:100..4k`.

use std::ops::RangeInclusive;

use crate::quantity;

/// A row of a table of distributions. `M` makes a distribution from parameters.
pub struct Row<M> {
    /// Name before its parameters.
    pub name: &'static str,
    /// Form, with optional parameters in brackets.
    pub form: &'static str,
    /// Example with all parameters.
    pub example: &'static str,
    /// Parses the parameters after the colon, if there is one. Errors name the fault and the possible values.
    pub(crate) make: M,
}

/// Creates a row.
pub(crate) const fn row<M: Copy>(
    name: &'static str,
    form: &'static str,
    example: &'static str,
    make: M,
) -> Row<M> {
    Row { name, form, example, make }
}

/// Serialises a type as the text that it displays and parses.
macro_rules! saved_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use saved_as_text;

/// Returns the forms of a table, between commas.
pub fn forms<M>(rows: &[Row<M>]) -> String {
    rows.iter().map(|row| row.form).collect::<Vec<_>>().join(", ")
}

/// Finds the row that `text` names and calls its `make` with the parameters. `what` is the table's content in
/// the error.
pub(crate) fn read<M, T>(
    what: &str,
    rows: &[Row<M>],
    text: &str,
    made: impl FnOnce(&M, Option<&str>) -> Result<T, String>,
) -> Result<T, String> {
    let (name, parameters) =
        text.split_once(':').map_or((text, None), |(name, parameters)| (name, Some(parameters)));
    let row = rows.iter().find(|row| row.name == name);
    let Row { form, example, make, .. } =
        row.ok_or_else(|| format!("unknown {what} {name:?}; available: {}", forms(rows)))?;
    made(make, parameters).map_err(|fault| {
        let such_as = if form == example { String::new() } else { format!(", such as {example}") };
        format!("{text:?}: {fault}; expected {form}{such_as}")
    })
}

/// Refuses parameters of a distribution without any.
pub(crate) fn none(parameters: Option<&str>) -> Result<(), String> {
    parameters.map_or(Ok(()), |_| Err("it takes no parameters".to_owned()))
}

/// A number within bounds; `what` names it in the error.
pub(crate) fn number(text: &str, what: &str, possible: RangeInclusive<f64>) -> Result<f64, String> {
    match quantity::number(text) {
        Some(number) if possible.contains(&number) => Ok(number),
        _ => {
            let (least, most) = (possible.start(), possible.end());
            Err(format!("{text:?} is not a valid {what}; expected a number from {least} to {most}"))
        }
    }
}

/// Two percentages separated by `separator`, as fractions. Each is above 0 and up to 100.
pub(crate) fn shares(text: &str, separator: char, what: [&str; 2]) -> Result<[f64; 2], String> {
    let Some((first, second)) = text.split_once(separator) else {
        return Err(format!("{} and {} must be separated by {separator}", what[0], what[1]));
    };
    let share = |text, what| number(text, what, PERCENT_MIN..=100.0).map(|part| part / 100.0);
    Ok([share(first, what[0])?, share(second, what[1])?])
}

/// Minimum percentage: a thousand-millionth of the whole.
const PERCENT_MIN: f64 = 1e-7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_factors_and_bounds() {
        assert_eq!(number("1.5k", "size", 1.0..=2000.0), Ok(1500.0));
        for bad in ["", "x", "nan", "inf", "0", "2001", "k", "1e99", "-1"] {
            let error = number(bad, "size", 1.0..=2000.0).unwrap_err();
            assert!(
                error.contains("not a valid size") && error.contains("from 1 to 2000"),
                "{error}"
            );
        }
        assert_eq!(shares("80/20", '/', ["share", "part"]), Ok([0.8, 0.2]));
        for bad in ["80", "80/", "/20", "0/20", "80/101", "80:20"] {
            assert!(shares(bad, '/', ["share", "part"]).is_err(), "{bad}");
        }
    }
}
